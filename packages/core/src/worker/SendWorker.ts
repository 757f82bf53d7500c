/** Claims due recipients, attempts them, and hands in what became of them together with the next claim. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Provider } from "../domain/Session.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import * as Lines from "../sender/Lines.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import type { ConsentStore } from "../storage/ConsentStore.ts"
import type { ClaimedJob, Settlement } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import * as Consequences from "./Consequences.ts"
import * as Dispatch from "./Dispatch.ts"
import type { Grace } from "./Grace.ts"
import { observe, Presence } from "./Presence.ts"

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
  /** Recipients per window. */
  readonly window: number
  /** Once it has begun nothing new is taken. */
  readonly grace: Grace
}): Effect.Effect<
  SendWorker,
  never,
  ConsentStore | JobStore | Presence | SecretBox | Senders | SessionStore | TemplateStore
> =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const presence = yield* Presence
    const senders = yield* Senders
    const sessions = yield* SessionStore
    const open = yield* Lines.make
    const draw = yield* Consequences.make
    const context = yield* Effect.context<ConsentStore>()
    const recoverable: ReadonlyArray<Provider> = [...senders.values()]
      .filter(canRecover)
      .map((sender) => sender.provider)
    // One who killed workers before is attempted while nothing else is: what dies with it is only itself.
    const attempts = yield* Effect.makeSemaphore(options.lanes)

    const prepare = (job: ClaimedJob): Effect.Effect<Dispatch.Attempts> =>
      Effect.flatMap(sessions.find(job.sessionId), open).pipe(
        Effect.flatMap((line) => Dispatch.window(line, job, options.window)),
        Effect.provide(context),
        Effect.catchAll((error) =>
          Effect.as(Effect.logError("A window could not begin", error), Dispatch.released(job))
        )
      )

    /** Attempts the windows. When the process stops they have the grace to end, and then they are interrupted. */
    const attemptAll = (
      claimed: ReadonlyArray<ClaimedJob>,
      restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>,
      done: (settlements: ReadonlyArray<Settlement>) => void
    ): Effect.Effect<void> =>
      Effect.gen(function* () {
        const windows = yield* Effect.forEach(claimed, prepare, { concurrency: "unbounded" })
        const alone = claimed.some(({ recipients }) => recipients.some(({ suspect }) => suspect))
        const runs = windows.map(({ run }) => run)
        const fiber = yield* Effect.all(runs, { concurrency: "unbounded", discard: true }).pipe(
          attempts.withPermits(alone ? options.lanes : 1),
          Effect.interruptible,
          // A child would be interrupted with this fiber at once.
          Effect.forkDaemon
        )
        const end = Effect.zipRight(options.grace.within(Fiber.await(fiber)), Fiber.interrupt(fiber))
        // Before the outcomes are handed in: what waits for a pause must not be due before that is there.
        const consequences = Effect.forEach(
          windows,
          (window, place) => {
            const job = claimed[place]
            return job === undefined ? Effect.void : Effect.ignoreLogged(draw(job, window.consequences()))
          },
          { discard: true }
        )
        yield* restore(Fiber.join(fiber)).pipe(
          Effect.onInterrupt(() => end),
          Effect.ensuring(consequences),
          Effect.ensuring(Effect.sync(() => done(windows.flatMap(({ settlements }) => settlements()))))
        )
      })

    const openLane: Effect.Effect<Lane> = Effect.map(presence.enter, (first) => {
      let worker = first
      let settlements: ReadonlyArray<Settlement> = []
      const handIn = Effect.fnUntraced(function* (limit: number | null) {
        const now = yield* Clock.currentTimeMillis
        const claim = limit === null ? null : { worker, limit }
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
            const limit = options.grace.hasBegun() ? null : options.window
            const claimed = yield* Effect.onError(handIn(limit), () => renew)
            if (options.grace.hasBegun()) {
              // The stop came while they were taken.
              settlements = claimed.flatMap((job) => Dispatch.released(job).settlements())
              return 0
            }
            yield* attemptAll(claimed, restore, (outcomes) => {
              settlements = outcomes
            })
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
