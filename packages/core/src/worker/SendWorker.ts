/** Claims due recipients, attempts them, and hands in what became of them together with the next claim. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Job from "../domain/Job.ts"
import type { Provider } from "../domain/Session.ts"
import * as Turn from "../loop/Turn.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import * as Lines from "../sender/Lines.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import { ConsentStore } from "../storage/ConsentStore.ts"
import * as JobSteps from "../storage/JobSteps.ts"
import type { ClaimedJob, Settlement } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import * as Consequences from "./Consequences.ts"
import * as Dispatch from "./Dispatch.ts"
import type { Grace } from "./Grace.ts"
import { observe, Presence } from "./Presence.ts"
import { Wake } from "./Wake.ts"
import * as Window from "./Window.ts"

/** Takes one window after the other. What its attempts brought is kept until it is handed in. */
export interface Lane {
  /** Hands in what the last window brought and attempts the next; answers how many outcomes were had. */
  readonly step: Effect.Effect<number, StorageError>
  /** Hands in what is left, and takes nothing new. */
  readonly settle: Effect.Effect<void, StorageError>
  /** Whether there is something to hand in. */
  readonly isLoaded: () => boolean
  readonly leave: Effect.Effect<void>
}

export interface SendWorker {
  readonly open: Effect.Effect<Lane>
  /** Takes back what dead workers left, and ends the blocks of sessions that are over; answers how many recipients. */
  readonly rescue: Effect.Effect<number, StorageError>
}

export const make = (options: {
  /** Windows that are attempted side by side. */
  readonly lanes: number
  /** Recipients of a window that are attempted side by side. */
  readonly concurrency: number
  /** Once it has begun nothing new is taken. */
  readonly grace: Grace
}): Effect.Effect<
  SendWorker,
  never,
  ConsentStore | JobStore | Presence | SecretBox | Senders | SessionStore | TemplateStore | Wake
> =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const presence = yield* Presence
    const senders = yield* Senders
    const sessions = yield* SessionStore
    const wake = yield* Wake
    const open = yield* Lines.make
    const draw = yield* Consequences.make
    const consents = yield* ConsentStore
    const recoverable: ReadonlyArray<Provider> = [...senders.values()]
      .filter(canRecover)
      .map((sender) => sender.provider)
    // One who killed workers before is attempted while nothing else is: what dies with it is only itself.
    const attempts = yield* Effect.makeSemaphore(options.lanes)

    /** Of one session, account and purpose: what they have in common is asked for once. */
    const prepareAlike = Effect.fnUntraced(function* (alike: ReadonlyArray<ClaimedJob>) {
      const [first] = alike
      if (first === undefined) return []
      const { accountId, content, sessionId } = first
      const line = yield* Effect.flatMap(sessions.find(sessionId), open)
      const phones = alike.flatMap(({ recipients }) => recipients.map(({ phone }) => phone))
      const refusals = yield* consents.refusals({ accountId, phones, purpose: Job.purpose(content) })
      let next = 0
      return alike.map((job) => {
        const first = next
        next += job.recipients.length
        return { job, attempts: Dispatch.window(line, job, (place) => refusals.get(first + place)) }
      })
    })

    interface Prepared {
      readonly job: ClaimedJob
      readonly attempts: Dispatch.Attempts
    }

    const prepare = Effect.fnUntraced(function* (claimed: ReadonlyArray<ClaimedJob>) {
      const kindOf = ({ accountId, content, sessionId }: ClaimedJob) =>
        `${sessionId} ${accountId} ${Job.purpose(content)}`
      const prepared: Array<Prepared> = []
      for (const alike of JobSteps.groupBy(claimed, kindOf).values()) {
        const windows = yield* Effect.catchAll(prepareAlike(alike), (error) =>
          Effect.as(
            Effect.logError("A window could not begin", error),
            alike.map((job): Prepared => ({ job, attempts: Dispatch.released(job) }))
          )
        )
        prepared.push(...windows)
      }
      return prepared
    })

    /** Attempts the windows. When the process stops they have the grace to end, and then they are interrupted. */
    const attemptAll = (
      claimed: ReadonlyArray<ClaimedJob>,
      restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>,
      done: (settlements: ReadonlyArray<Settlement>) => void
    ): Effect.Effect<void> =>
      Effect.gen(function* () {
        const windows = yield* prepare(claimed)
        const alone = claimed.some(({ recipients }) => recipients.some(({ suspect }) => suspect))
        const fiber = yield* Dispatch.run(
          windows.map(({ attempts }) => attempts),
          options.concurrency
        ).pipe(
          attempts.withPermits(alone ? options.lanes : 1),
          Effect.interruptible,
          // A child would be interrupted with this fiber at once.
          Effect.forkDaemon
        )
        const end = Effect.zipRight(options.grace.within(Fiber.await(fiber)), Fiber.interrupt(fiber))
        // Before the outcomes are handed in: what waits for a pause must not be due before that is there.
        const consequences = Effect.suspend(() =>
          Effect.forEach(
            windows.filter(({ attempts }) => attempts.consequences().length > 0),
            ({ attempts, job }) => Effect.ignoreLogged(draw(job, attempts.consequences())),
            { discard: true }
          )
        )
        yield* restore(Fiber.join(fiber)).pipe(
          Effect.onInterrupt(() => end),
          Effect.ensuring(consequences),
          Effect.ensuring(Effect.sync(() => done(windows.flatMap((each) => each.attempts.settlements()))))
        )
      })

    const openLane: Effect.Effect<Lane> = Effect.map(presence.enter, (first) => {
      let worker = first
      let settlements: ReadonlyArray<Settlement> = []
      let size = options.concurrency
      const handIn = Effect.fnUntraced(function* (limit: number | null) {
        const now = yield* Clock.currentTimeMillis
        const atRisk = { limit: options.concurrency, recoverable }
        const claim = limit === null ? null : { worker, limit, atRisk }
        const { claimed } = yield* jobs.exchange({ now, settlements, claim })
        settlements = []
        return claimed
      })
      // The commit may have been made though its answer was lost: what it took is left to the rescue.
      const renew = Effect.gen(function* () {
        yield* presence.leave(worker)
        worker = yield* presence.enter
      })
      return {
        step: Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const limit = options.grace.hasBegun() ? null : size
            const claimed = yield* Effect.onError(handIn(limit), () => renew)
            if (options.grace.hasBegun()) {
              // The stop came while they were taken.
              settlements = claimed.flatMap((job) => Dispatch.released(job).settlements())
              return 0
            }
            const taken = claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)
            if (taken >= options.concurrency) yield* wake.sends.notify
            yield* Turn.taken
            const since = yield* Clock.currentTimeMillis
            yield* attemptAll(claimed, restore, (outcomes) => {
              settlements = outcomes
            })
            const tookMs = (yield* Clock.currentTimeMillis) - since
            size = Window.next(size, { recipients: settlements.length, tookMs }, options.concurrency)
            return settlements.length
          })
        ),
        settle: Effect.suspend(() => (settlements.length === 0 ? Effect.void : Effect.asVoid(handIn(null)))),
        isLoaded: () => settlements.length > 0,
        leave: Effect.suspend(() => presence.leave(worker))
      }
    })

    let seen: Parameters<typeof observe>[0] = new Map()

    const rescue = Effect.gen(function* () {
      const workers = yield* Effect.onError(jobs.holders, () =>
        // While nobody could say anything, nobody was silent.
        Effect.sync(() => {
          seen = new Map()
        })
      )
      const others = workers.filter(({ worker }) => !presence.isHere(worker))
      const observed = observe(seen, others, yield* Clock.currentTimeNanos, presence.leaseMs)
      seen = observed.seen
      yield* sessions.unblock({ now: yield* Clock.currentTimeMillis })
      let count = 0
      for (const worker of observed.dead) {
        const now = yield* Clock.currentTimeMillis
        count += yield* jobs.rescue({ worker, now, recoverable })
      }
      return count
    })

    return { open: openLane, rescue }
  })
