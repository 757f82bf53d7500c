/** Runs requests, each as one fiber. */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"

/**
 * Forks on the runtime that it is made in, without metrics of every fiber. Spans are off but where the adapter takes a
 * sample: they would cost more than most requests.
 */
export const runner = <R>() =>
  Effect.map(Effect.runtime<R>(), (runtime) =>
    Runtime.runFork(
      runtime.pipe(
        Runtime.disableRuntimeFlag(RuntimeFlags.RuntimeMetrics),
        Runtime.setFiberRef(FiberRef.currentTracerEnabled, false)
      )
    )
  )
