/**
 * Tells who lives. Recipients and deliveries are in the hands of a worker, and a worker says every few seconds that it
 * lives: one count for all that it holds, so a long attempt needs no lease of its own. Others take back what it held when
 * they have seen its count unchanged for long enough, by their own monotonic clock: clocks of nodes need not agree, and
 * one that is set back or forward kills nobody.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Moment from "../runtime/Moment.ts"
import type { KnownWorker, ProcessInfo, WorkerHeartbeat } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as Loops from "./Loops.ts"
import { StoreClock } from "./StoreClock.ts"

/** How long a worker that says nothing is believed to live, by default. With the pace below, rescue takes 25 s at most. */
export const defaultLeaseMs = 15_000

/** How often a worker says that it lives, and how often it looks at the others. */
export const paceOf = (leaseMs: number): Duration.Duration => Duration.millis(leaseMs / 3)

/** @param misses beats that failed in a row */
const missed = (misses: number, cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Loops.isTold(misses) ? Effect.logWarning("Could not say that this process lives", cause) : Effect.void

/** For so long the store's answer to a beat is awaited. With the pause, two may fail in a row and the third is in time. */
const patienceOf = (leaseMs: number): Duration.Duration => Duration.millis(leaseMs / 5)

/** The pause after a beat that failed or was not answered in time: a store that is down is asked no more often. */
const pauseOf = (leaseMs: number): Duration.Duration => Duration.millis(leaseMs / 30)

export class Heartbeat extends Context.Tag("@sendwright/core/worker/Heartbeat")<
  Heartbeat,
  {
    readonly leaseMs: number
    /** A name under which recipients or deliveries can be claimed. */
    readonly register: Effect.Effect<string>
    /**
     * From here on it is dead, and what it still has is rescued. Also for a name under which a commit may
     * have claimed something that nobody knows of, because its answer was lost. The store forgets the name with the next
     * beat, and at the latest when the process ends; one that still has something is known by that until it is rescued.
     */
    readonly deregister: (worker: string) => Effect.Effect<void>
    /**
     * The same for a name under which nothing is under way, and all that was begun is settled: what it still holds is given
     * back as if it had not been claimed. Answers how many recipients that were. Until the store has done so the name lives.
     */
    readonly giveBack: (worker: string) => Effect.Effect<number>
    /** True when the name was given up so: a commit that comes later than its loss was known is found by the rescue. */
    readonly isGivenBack: (worker: string) => boolean
    /** Says now that this process lives; answers whether the store took it, which shows that it works. */
    readonly prove: Effect.Effect<boolean>
    /**
     * False when others may have rescued what the name claimed at that moment: for longer than the lease the store has heard
     * nothing of this process, as of one that is frozen.
     */
    readonly stillOwns: (worker: string, claimedAt: Moment.Moment) => boolean
    /** True when it is a name of this process that lives. */
    readonly isHere: (worker: string) => boolean
    /** For as long as the scope lasts this process claims by itself what is due, and says so. */
    readonly dispatch: Effect.Effect<void, never, Scope.Scope>
    /** True while a process over the store does; of one that died it is known when the lease is over. */
    readonly isDispatched: Effect.Effect<boolean, StorageError>
  }
>() {
  /** @param described what the process is; one that says so has a name for as long as it lives */
  static readonly layer = (
    leaseMs: number,
    described?: Omit<ProcessInfo, "startedAt">
  ): Layer.Layer<Heartbeat, never, JobStore | StoreClock> =>
    Layer.scoped(
      Heartbeat,
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { within } = yield* StoreClock
        const startedAt = yield* within(Time.now)
        const process = Ids.make(yield* Ids.RandomBytes).uuid(startedAt)
        const words = wordsOf(described, startedAt)
        let registered = 0
        const here = new Map<string, Span>()
        /** One for each commit whose answer was lost: too few to be forgotten. */
        const givenBack = new Set<string>()
        /** Names that the store may have heard of, and has not forgotten since. */
        const told = new Set<string>()
        const someone = yield* Effect.makeLatch()
        const clock = yield* Effect.clock
        let beats = 0
        /** True while the store has taken the last beat. */
        let isHeard = false
        let misses = 0
        const dispatching = dispatchingOver(jobs, leaseMs)

        const prove = Effect.flatMap(Time.now, (now) => {
          beats += 1
          isHeard = false
          const workers = [...here.keys()]
          const ended = [...told].filter((worker) => !here.has(worker))
          for (const worker of workers) told.add(worker)
          const saidAt = Moment.unsafeNow(clock)
          const dispatchesAt = dispatching.isHere() ? now : null
          const stored = jobs.heartbeat({ workers, ended, beats, dispatchesAt, ...words.of(workers, now) })
          const heard = Effect.map(stored, () => {
            const heard = Moment.unsafeNow(clock)
            isHeard = true
            words.heard(workers)
            misses = 0
            for (const worker of ended) told.delete(worker)
            for (const worker of workers) {
              // A worker that ended while this beat was under way is forgotten by the next beat.
              told.add(worker)
              const span = here.get(worker)
              if (span !== undefined) here.set(worker, prolonged(span, { said: saidAt, heard }, leaseMs))
            }
          })
          // A commit over a connection that is open at one end only takes long to fail, and cannot be interrupted. One that
          // is answered late counts all the same.
          return Effect.timeout(Effect.disconnect(Effect.uninterruptible(heard)), patienceOf(leaseMs))
        }).pipe(
          Effect.interruptible,
          Effect.as(true),
          Effect.catchAllCause((cause) => Effect.as(missed(++misses, cause), false))
        )
        // A process that stops does not wait for a store that is down, and a beat that is under way would write the names
        // anew: the rescue forgets them then.
        yield* Effect.addFinalizer(() =>
          isHeard && told.size > 0 ? within(sayLast(jobs, [...told], beats, words, leaseMs)) : Effect.void
        )
        const say = Effect.suspend(() =>
          here.size === 0 && told.size === 0
            ? Effect.zipRight(someone.close, someone.await)
            : Effect.flatMap(prove, (works) => Effect.sleep(works ? paceOf(leaseMs) : pauseOf(leaseMs)))
        )
        yield* Effect.forkScoped(within(Effect.forever(say)))

        const register = Effect.gen(function* () {
          registered += 1
          const worker = `${process}.${registered}`
          here.set(worker, enteredAt(Moment.unsafeNow(clock), leaseMs))
          yield* someone.open
          return worker
        })
        if (described !== undefined) yield* register
        const deregister = (worker: string): Effect.Effect<void> =>
          Effect.asVoid(Effect.sync(() => here.delete(worker)))

        const giveBack = (worker: string): Effect.Effect<number> =>
          Effect.suspend(() => {
            givenBack.add(worker)
            return givingBack(jobs, worker, leaseMs, deregister(worker))
          })

        return {
          leaseMs,
          register,
          deregister,
          giveBack,
          isGivenBack: (worker) => givenBack.has(worker),
          prove,
          stillOwns: (worker, claimedAt) =>
            isStillOwned(here.get(worker), claimedAt, Moment.unsafeNow(clock)),
          isHere: (worker) => here.has(worker),
          dispatch: dispatching.dispatch,
          isDispatched: dispatching.isDispatched
        }
      })
    )
}

/** A process's word on itself with each beat. The word says that the process has started until the store has heard that once. */
const wordsOf = (described: Omit<ProcessInfo, "startedAt"> | undefined, startedAt: Instant) => {
  let isKnown = false
  const process = (saidAt: Instant) => described && { ...described, startedAt, saidAt }
  return {
    process,
    of: (workers: ReadonlyArray<string>, now: Instant): Pick<WorkerHeartbeat, "happens" | "process"> => ({
      process: process(now),
      happens: isKnown || workers.length === 0 ? undefined : "process.started"
    }),
    heard: (workers: ReadonlyArray<string>): void => {
      if (workers.length > 0) isKnown = true
    }
  }
}

/** Tells the store the names of a process that ends; it may forget them. */
const sayLast = (
  jobs: Context.Tag.Service<JobStore>,
  ended: ReadonlyArray<string>,
  beats: number,
  { process }: ReturnType<typeof wordsOf>,
  leaseMs: number
): Effect.Effect<void> =>
  Effect.flatMap(Time.now, (now) =>
    jobs.heartbeat({
      ...{ workers: [], ended, beats, dispatchesAt: null },
      ...{ process: process(now), happens: "process.stopped" }
    })
  ).pipe(
    Effect.disconnect,
    Effect.timeout(patienceOf(leaseMs)),
    Effect.interruptible,
    Effect.catchAllCause((cause) =>
      Effect.logDebug("The names of this process are left to the rescue", cause)
    )
  )

/** Gives back what a name holds, and lets the name go then. Nobody waits for a database that does not answer. */
const givingBack = (
  jobs: Context.Tag.Service<JobStore>,
  worker: string,
  leaseMs: number,
  deregister: Effect.Effect<void>
): Effect.Effect<number> =>
  Effect.flatMap(Time.now, (now) =>
    Effect.timeout(Effect.disconnect(jobs.giveBack({ worker, now })), patienceOf(leaseMs))
  ).pipe(
    Effect.interruptible,
    Effect.zipLeft(deregister),
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logWarning("Could not give back what a lost commit may have claimed", cause), 0)
    )
  )

/** Says whether this process or another one claims by itself what is due. */
const dispatchingOver = (jobs: Context.Tag.Service<JobStore>, leaseMs: number) => {
  let here = 0
  return {
    isHere: () => here > 0,
    dispatch: Effect.acquireRelease(
      Effect.sync(() => {
        here += 1
      }),
      () =>
        Effect.sync(() => {
          here -= 1
        })
    ),
    isDispatched: Effect.suspend(() => {
      if (here > 0) return Effect.succeed(true)
      return Effect.zipWith(
        jobs.dispatchesAt,
        Time.now,
        (at, now) =>
          // In the future was written by a clock that was ahead; the next beat tells.
          at !== null && Math.abs(now - at) < leaseMs
      )
    })
  }
}

/**
 * A span in which nobody can rescue what a name claims, by the monotonic clock. Who watches gives a name up when two looks
 * that lie the lease apart find one count, and rescues what it had only while that is its count still (`observe`,
 * `JobStore.rescue`, `WebhookStore.rescue`). A count is seen no sooner than its beat was said, so until the lease after that
 * nobody has given the name up; and once the answer to the next beat is there nobody can by the count before. So a series of
 * beats proves the span from its first answer to the lease after its last word, as long as each answer came within the span
 * of those before.
 */
export interface Span {
  readonly since: Moment.Moment
  readonly until: Moment.Moment
}

/** Of a name that is new: nobody has seen anything of it, as if its first beat was heard at that moment. */
export const enteredAt = (now: Moment.Moment, leaseMs: number): Span => ({ since: now, until: now + leaseMs })

/** After a beat that the store has stored. When the answer came too late, what was claimed before it may be another's. */
export const prolonged = (
  { since, until }: Span,
  beat: { readonly said: Moment.Moment; readonly heard: Moment.Moment },
  leaseMs: number
): Span => ({
  since: beat.heard < until ? since : beat.heard,
  until: Math.max(until, beat.said + leaseMs)
})

/** True when nobody can have rescued what was claimed at that moment; false for a name that was left. */
export const isStillOwned = (span: Span | undefined, claimedAt: Moment.Moment, now: Moment.Moment): boolean =>
  span !== undefined && span.since <= claimedAt && now < span.until

interface Sight {
  readonly beats: number
  /** When it was first seen, by the monotonic clock, in nanoseconds. */
  readonly since: bigint
}

/** What was seen of the workers, and who is dead by it. */
export const observe = (
  before: ReadonlyMap<string, Sight>,
  workers: ReadonlyArray<KnownWorker>,
  now: bigint,
  leaseMs: number
): { readonly seen: ReadonlyMap<string, Sight>; readonly dead: ReadonlyArray<KnownWorker> } => {
  const seen = new Map(
    workers.map(({ beats, worker }): readonly [string, Sight] => {
      const known = before.get(worker)
      return [worker, known?.beats === beats ? known : { beats, since: now }]
    })
  )
  const lease = BigInt(Math.round(leaseMs)) * 1_000_000n
  const isSilent = (worker: string): boolean => now - (seen.get(worker)?.since ?? now) >= lease
  return { seen, dead: workers.filter(({ isDead, worker }) => isDead || isSilent(worker)) }
}
