import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

/**
 * A span of the operation below the caller's. There is none where the caller has none: spans are sampled at the
 * edge, and one costs more than most operations do.
 */
export const traced =
  <Args extends ReadonlyArray<unknown>, A, E, R>(
    name: string,
    operation: (...args: Args) => Effect.Effect<A, E, R>
  ): ((...args: Args) => Effect.Effect<A, E, R>) =>
  (...args) =>
    Effect.withFiberRuntime((fiber) =>
      Context.getOption(fiber.currentContext, Tracer.ParentSpan)._tag === "None"
        ? operation(...args)
        : Effect.withSpan(operation(...args), name, { captureStackTrace: false })
    )
