/** The ends of a process that are not graceful; the first signal is `NodeRuntime.runMain`'s, and stops it gracefully. */
import { constants } from "node:os"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"

/** From a terminal, `npm` passes on the SIGINT that the process was given already. */
const echoMs = 500

const exit = (code: number, reason: string): Effect.Effect<never> =>
  Effect.sync(() => {
    process.stderr.write(`${reason}\n`)
    process.exit(code)
  })

/**
 * Ends the process at a second signal, and when a stop outlasts its grace because something in it hangs. What was
 * acknowledged is on the disk by then, and what was in flight is taken up by the next worker.
 */
export const watch = (graceMs: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const signals = yield* Queue.unbounded<"SIGINT" | "SIGTERM">()
    // Never taken off: without a listener a signal is deadly to a process, and nothing to the first of a container.
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => signals.unsafeOffer(signal))
    const ungraceful = Effect.gen(function* () {
      const first = yield* Queue.take(signals)
      const since = yield* Clock.currentTimeMillis
      const second = Effect.repeat(Effect.zip(Queue.take(signals), Clock.currentTimeMillis), {
        until: ([signal, now]) => signal !== "SIGINT" || signal !== first || now - since >= echoMs
      })
      yield* Effect.raceFirst(
        Effect.flatMap(second, ([signal]) =>
          exit(128 + constants.signals[signal], `Stopped at once by a second signal, ${signal}.`)
        ),
        Effect.delay(exit(1, `The stop took longer than ${graceMs / 1000} s.`), graceMs)
      )
    })
    yield* Effect.forkDaemon(ungraceful)
  })
