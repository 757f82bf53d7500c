/** Measures how late the event loop is: for so long everything else of the process had to wait, too. */
import { Metrics, Moment } from "@sendwright/core/adapter"
import * as Effect from "effect/Effect"

const everyMs = 250

export const watch: Effect.Effect<never> = Effect.suspend(() => {
  const late = Metrics.ofEventLoop()
  const once = Effect.gen(function* () {
    const began = yield* Moment.now
    yield* Effect.sleep(everyMs)
    late((yield* Moment.now) - began - everyMs)
  })
  return Effect.forever(once)
})
