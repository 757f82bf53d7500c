import * as Effect from "effect/Effect"
import * as Traces from "../runtime/Traces.ts"

/**
 * A refusal does not end its span as an error, because tracers record an error's text, which may quote a platform or
 * a message. Only the refusal's name is recorded. A storage failure is an error, with a text of our own.
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
 * Runs the operation in a span below the caller's. Without a caller's span, or a tracer that gets it, there is none: the
 * edge samples spans, and one costs more than most operations.
 */
export const spanIfTraced =
  <Args extends ReadonlyArray<unknown>, A, E extends { readonly _tag: string }, R>(
    name: string,
    operation: (...args: Args) => Effect.Effect<A, E, R>
  ): ((...args: Args) => Effect.Effect<A, E, R>) =>
  (...args) =>
    Effect.withFiberRuntime((fiber) =>
      fiber.currentSpan?.sampled === true && Traces.hasTracer(fiber)
        ? Effect.flatten(Effect.withSpan(aside(operation(...args)), name, { captureStackTrace: false }))
        : operation(...args)
    )
