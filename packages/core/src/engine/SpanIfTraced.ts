import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

/**
 * A refusal does not end its span as an error: tracers write an error's text, and that may quote a platform or a message.
 * Its name is told. A store that failed is an error, in our own words.
 */
const aside = <A, E extends { readonly _tag: string }, R>(operation: Effect.Effect<A, E, R>) =>
  Effect.matchEffect(operation, {
    onSuccess: (value) => Effect.succeed(Effect.succeed(value)),
    onFailure: (error) =>
      error._tag === "StorageError"
        ? Effect.fail(error)
        : Effect.as(Effect.annotateCurrentSpan("error.type", error._tag), Effect.fail(error))
  })

/**
 * A span of the operation below the caller's. There is none where the caller has none: spans are sampled at the
 * edge, and one costs more than most operations do.
 */
export const spanIfTraced =
  <Args extends ReadonlyArray<unknown>, A, E extends { readonly _tag: string }, R>(
    name: string,
    operation: (...args: Args) => Effect.Effect<A, E, R>
  ): ((...args: Args) => Effect.Effect<A, E, R>) =>
  (...args) =>
    Effect.withFiberRuntime((fiber) =>
      Context.getOption(fiber.currentContext, Tracer.ParentSpan)._tag === "None"
        ? operation(...args)
        : Effect.flatten(Effect.withSpan(aside(operation(...args)), name, { captureStackTrace: false }))
    )
