/** The loops of a worker: each outlives the failures and bugs of its steps, and how it fares can be asked. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { StorageError } from "../storage/StorageError.ts"

/** How long a loop waits after a step that failed. */
const pause = Duration.seconds(1)

/** How long its steps may fail, one after the other, before it counts as failing. */
export const toleratedMs = 10_000

/** The steps that failed since the last one that did not. */
export interface Run {
  readonly failures: number
  /** When the first of them failed, by the monotonic clock, in nanoseconds. */
  readonly since: bigint
  readonly reason: string
}

interface Loop {
  readonly name: string
  failing: Run | undefined
  ended: boolean
}

/** The operation that failed. Messages of drivers can quote data and addresses, and are left to the log. */
const reasonOf = (cause: Cause.Cause<StorageError>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => "a bug that the log tells",
    onSome: ({ operation }) => operation
  })

/** A cause that stays would fill the log: the first failure of a run is told, the second, the fourth, and so on. */
export const isTold = (failures: number): boolean => Number.isInteger(Math.log2(failures))

export const afterFailure = (run: Run | undefined, reason: string, now: bigint): Run => ({
  failures: (run?.failures ?? 0) + 1,
  since: run?.since ?? now,
  reason
})

/** The fault of a loop; undefined while it is well. */
export const faultOf = ({ ended, failing, name }: Readonly<Loop>, now: bigint): string | undefined => {
  if (ended) return `${name}: a loop has ended`
  if (failing === undefined || now - failing.since < BigInt(toleratedMs) * 1_000_000n) return undefined
  return `${name}: the last ${failing.failures} steps failed (${failing.reason})`
}

export interface Loops {
  /** Runs a step for ever: a failure is logged, and followed by a pause. */
  readonly run: (name: string, step: Effect.Effect<void, StorageError>) => Effect.Effect<never>
  /** The same of a step that no message waits for: it may rest for long, and is never among the faults. */
  readonly tend: (name: string, step: Effect.Effect<void, StorageError>) => Effect.Effect<never>
  /** One sentence for all loops that fail or have ended; null while none does. */
  readonly fault: Effect.Effect<string | null>
}

export const make = (): Loops => {
  const loops = new Set<Loop>()
  const repeat =
    (isVital: boolean): Loops["run"] =>
    (name, step) =>
      Effect.suspend(() => {
        const loop: Loop = { name, failing: undefined, ended: false }
        if (isVital) loops.add(loop)
        const succeeded = Effect.sync(() => {
          loop.failing = undefined
        })
        const failed = (cause: Cause.Cause<StorageError>) =>
          Effect.gen(function* () {
            const run = afterFailure(loop.failing, reasonOf(cause), yield* Clock.currentTimeNanos)
            loop.failing = run
            const { failures } = run
            if (failures === 1) yield* Effect.logError(`${name} failed`, cause)
            else if (isTold(failures))
              yield* Effect.logError(`${name} failed ${failures} times in a row`, cause)
            yield* Effect.sleep(pause)
          })
        return Effect.zipRight(step, succeeded).pipe(
          Effect.catchAllCause(failed),
          Effect.forever,
          Effect.onExit((exit) =>
            Effect.sync(() => {
              // A stop interrupts it, and then nobody misses it.
              if (Exit.isInterrupted(exit)) loops.delete(loop)
              else loop.ended = true
            })
          )
        )
      })
  return {
    run: repeat(true),
    tend: repeat(false),
    fault: Effect.map(Clock.currentTimeNanos, (now) => {
      const faults = new Set([...loops].flatMap((loop) => faultOf(loop, now) ?? []))
      return faults.size === 0 ? null : `${[...faults].join("; ")}.`
    })
  }
}
