/**
 * Tells who lives. Recipients and deliveries are in the hands of a worker, and a worker says every few seconds that it
 * lives: one count for all that it holds, so a long attempt needs no lease of its own. Others take back what it held when
 * they have seen its count unchanged for long enough, by their own monotonic clock: clocks of nodes need not agree, and
 * one that is set back or forward kills nobody.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Ids from "../domain/Ids.ts"
import * as Moment from "../loop/Moment.ts"
import type { Holder } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { StoreClock } from "./StoreClock.ts"

/** How long a worker that says nothing is believed to live, by default. With the pace below, rescue takes 25 s at most. */
export const defaultLeaseMs = 15_000

/** How often a worker says that it lives, and how often it looks at the others. */
export const paceOf = (leaseMs: number): Duration.Duration => Duration.millis(leaseMs / 3)

export class Presence extends Context.Tag("@sendwright/core/worker/Presence")<
  Presence,
  {
    readonly leaseMs: number
    /** A name under which recipients or deliveries can be taken. */
    readonly enter: Effect.Effect<string>
    /**
     * From here on it is dead, and what it still holds is taken back. Also for a name under which a commit may
     * have taken something that nobody knows of, because its answer was lost.
     */
    readonly leave: (worker: string) => Effect.Effect<void>
    /** Says now that this process lives; answers whether the store took it, which shows that it works. */
    readonly prove: Effect.Effect<boolean>
    /**
     * False when others may have taken back what a name of this process took since that moment: this process was held up
     * for longer than the lease, as a frozen one is.
     */
    readonly keeps: (since: Moment.Moment) => boolean
    /** True when it is a name of this process that lives. */
    readonly isHere: (worker: string) => boolean
    /** For as long as the scope lasts this process takes by itself what is due, and says so. */
    readonly dispatch: Effect.Effect<void, never, Scope.Scope>
    /** True while a process over the store does; of one that stopped it is known when the lease is over. */
    readonly isDispatched: Effect.Effect<boolean, StorageError>
  }
>() {
  static readonly layer = (leaseMs: number): Layer.Layer<Presence, never, JobStore | StoreClock> =>
    Layer.scoped(
      Presence,
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { within } = yield* StoreClock
        const ids = Ids.make(yield* Ids.RandomBytes)
        const process = ids.uuid(yield* Clock.currentTimeMillis)
        let entered = 0
        const here = new Set<string>()
        const someone = yield* Effect.makeLatch()
        const clock = yield* Effect.clock
        let beats = 0
        let dispatching = 0
        let believed: Span = { since: 0, until: 0 }

        const prove = Effect.flatMap(Clock.currentTimeMillis, (now) => {
          beats += 1
          const said = Moment.unsafeNow(clock)
          const beat = jobs.beat({ workers: [...here], beats, dispatchesAt: dispatching > 0 ? now : null })
          return Effect.map(beat, () => {
            believed = prolonged(believed, { said, heard: Moment.unsafeNow(clock) }, leaseMs)
          })
        }).pipe(
          Effect.as(true),
          Effect.catchAllCause((cause) =>
            Effect.as(Effect.logWarning("Could not say that this process lives", cause), false)
          )
        )
        const say = Effect.suspend(() =>
          here.size === 0
            ? Effect.zipRight(someone.close, someone.await)
            : Effect.zipRight(prove, Effect.sleep(paceOf(leaseMs)))
        )
        yield* Effect.forkScoped(within(Effect.forever(say)))

        const enter = Effect.gen(function* () {
          entered += 1
          const worker = `${process}.${entered}`
          here.add(worker)
          yield* someone.open
          return worker
        })
        const leave = (worker: string): Effect.Effect<void> =>
          Effect.sync(() => {
            here.delete(worker)
          })

        return {
          leaseMs,
          enter,
          leave,
          prove,
          keeps: (since) => isKept(believed, since, Moment.unsafeNow(clock), leaseMs),
          isHere: (worker) => here.has(worker),
          dispatch: Effect.acquireRelease(
            Effect.sync(() => {
              dispatching += 1
            }),
            () =>
              Effect.sync(() => {
                dispatching -= 1
              })
          ),
          isDispatched: Effect.suspend(() => {
            if (dispatching > 0) return Effect.succeed(true)
            return Effect.zipWith(
              jobs.dispatchesAt,
              Clock.currentTimeMillis,
              (at, now) =>
                // In the future was written by a clock that was ahead; the next beat tells.
                at !== null && Math.abs(now - at) < leaseMs
            )
          })
        }
      })
    )
}

/** A span in which nobody can take this process for dead, by the monotonic clock. */
export interface Span {
  readonly since: Moment.Moment
  readonly until: Moment.Moment
}

/**
 * After the process said that it lives. Whoever watches counts from when that was stored, which was no sooner than it was
 * said; and may have given the process up meanwhile when it was heard too late.
 */
export const prolonged = (
  { since, until }: Span,
  beat: { readonly said: Moment.Moment; readonly heard: Moment.Moment },
  leaseMs: number
): Span => ({
  since: beat.heard < until ? since : beat.said,
  until: Math.max(until, beat.said + leaseMs)
})

/** True when nobody can have taken back what was taken at that moment. */
export const isKept = (
  believed: Span,
  takenAt: Moment.Moment,
  now: Moment.Moment,
  leaseMs: number
): boolean => now < takenAt + leaseMs || (takenAt >= believed.since && now < believed.until)

/** The part that the names of one process share: what ends with one of them ended with the others. */
export const processOf = (worker: string): string => {
  const end = worker.lastIndexOf(".")
  return end === -1 ? worker : worker.slice(0, end)
}

interface Sight {
  readonly beats: number
  /** When it was first seen, by the monotonic clock, in nanoseconds. */
  readonly since: bigint
}

/** What was seen of the workers, and who is dead by it. */
export const observe = (
  before: ReadonlyMap<string, Sight>,
  workers: ReadonlyArray<Holder>,
  now: bigint,
  leaseMs: number
): { readonly seen: ReadonlyMap<string, Sight>; readonly dead: ReadonlyArray<string> } => {
  const seen = new Map(
    workers.map(({ beats, worker }): readonly [string, Sight] => {
      const known = before.get(worker)
      return [worker, known?.beats === beats ? known : { beats, since: now }]
    })
  )
  const lease = BigInt(Math.round(leaseMs)) * 1_000_000n
  const isSilent = (worker: string): boolean => now - (seen.get(worker)?.since ?? now) >= lease
  const dead = workers.flatMap(({ isDead, worker }) => (isDead || isSilent(worker) ? [worker] : []))
  return { seen, dead }
}
