/** Ends a process without a graceful stop. The graceful one, at the first signal, is `NodeRuntime.runMain`'s. */

import { constants } from "node:os"
import { Instant } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"

/** `npm` repeats a terminal's SIGINT, which the process got already, within this time. */
const echoMs = 500

const exit = (code: number, reason: string): Effect.Effect<never> =>
  Effect.sync(() => {
    process.stderr.write(`${reason}\n`)
    process.exit(code)
  })

/** How often a process that `npm` started looks for it. */
const lookMs = 500

/** `npm start` of any package, and `npx`: whoever ends these means the host. */
const isStartedByNpm = (event: string | undefined): boolean => event === "start" || event === "npx"

/**
 * Returns when the process that began this one is gone, if that was for `npm`. `npm` tells a signal to its shell, which
 * dies of it and tells nobody unless the script begins with `exec`; and a killed `npm` tells nobody at all. A host that
 * lived on would hold its database for nobody.
 */
const abandoned = (parent: number, event = process.env["npm_lifecycle_event"]): Effect.Effect<void> =>
  isStartedByNpm(event)
    ? Effect.repeat(
        Effect.delay(
          Effect.sync(() => process.ppid),
          lookMs
        ),
        { until: (now) => now !== parent }
      )
    : Effect.never

/**
 * Ends the process at a second signal, or when a stop outlasts its grace period because something hangs. Acknowledged
 * sends are on the disk by then, and the next worker rescues those in flight.
 */
export const watch = (graceMs: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const signals = yield* Queue.unbounded<"SIGINT" | "SIGTERM">()
    // Never removed: without a listener a signal kills the process immediately, except for a container's first process,
    // which ignores it.
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => signals.unsafeOffer(signal))
    const parent = process.ppid
    const stopAbandoned = Effect.gen(function* () {
      yield* abandoned(parent)
      yield* Effect.logWarning("The npm that started this host is gone.")
      yield* Effect.sync(() => process.kill(process.pid, "SIGTERM"))
      return yield* Queue.take(signals)
    })
    const ungraceful = Effect.gen(function* () {
      // After a signal nobody looks any more: a second one would end the stop that the first one began.
      const first = yield* Effect.raceFirst(Queue.take(signals), stopAbandoned)
      const since = yield* Instant.now
      const second = Effect.repeat(Effect.zip(Queue.take(signals), Instant.now), {
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
