/** Claims due recipients, attempts them, and hands in what became of them together with the next claim. */
import * as Arrays from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Instant } from "../domain/Instant.ts"
import * as Job from "../domain/Job.ts"
import type { Provider } from "../domain/Session.ts"
import * as Deadlines from "../loop/Deadlines.ts"
import * as Moment from "../loop/Moment.ts"
import * as Turn from "../loop/Turn.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import * as Lines from "../sender/Lines.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import { ConsentStore } from "../storage/ConsentStore.ts"
import * as JobSteps from "../storage/JobSteps.ts"
import type { Claim, ClaimedJob, Settlement } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import * as BatchSize from "./BatchSize.ts"
import * as Consequences from "./Consequences.ts"
import * as Dispatch from "./Dispatch.ts"
import type { Grace } from "./Grace.ts"
import * as Isolate from "./Isolate.ts"
import * as PlainOutcome from "./PlainOutcome.ts"
import { Presence } from "./Presence.ts"
import * as Shares from "./Shares.ts"
import * as UnderWay from "./UnderWay.ts"
import { Wake } from "./Wake.ts"

/** Takes one window after the other. What its attempts brought is kept until it is handed in. */
export interface Lane {
  /** Hands in what was had and attempts the next window; answers how many recipients each was. */
  readonly step: Effect.Effect<{ readonly handedIn: number; readonly taken: number }, StorageError>
  /** Returns when nothing is under way. */
  readonly awaitIdle: Effect.Effect<void>
  /** Whether something is under way or to be handed in. */
  readonly isLoaded: () => boolean
  /** Gives what is under way the grace to end, and hands in what is left. */
  readonly leave: Effect.Effect<void>
}

export interface SendWorker {
  readonly open: Effect.Effect<Lane>
  /** When there is something to take for who may have it now. */
  readonly nextDue: Effect.Effect<Instant | null, StorageError>
  /**
   * True when a claim may find something though the last found nothing: a claim looks at some sessions only. False once
   * the grace has begun.
   */
  readonly hasDue: Effect.Effect<boolean, StorageError>
}

const isSuspect = ({ recipients }: ClaimedJob): boolean => recipients.some(({ suspect }) => suspect)

/** Parts a claim into batches that are attempted one after the other: the poison suspects come last, each by itself. */
const apart = (claimed: ReadonlyArray<ClaimedJob>): ReadonlyArray<ReadonlyArray<ClaimedJob>> => {
  const suspects = claimed.filter(isSuspect)
  if (suspects.length === 0) return [claimed]
  const others = claimed.filter((job) => !isSuspect(job))
  return [...(others.length === 0 ? [] : [others]), ...suspects.map((job) => [job])]
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
  ConsentStore | JobStore | Presence | Scope.Scope | SecretBox | Senders | SessionStore | TemplateStore | Wake
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
    const deadlines = yield* Deadlines.make
    const { concurrency, grace, lanes } = options
    const shares = Shares.make(lanes * concurrency, concurrency)
    // One who killed workers before is attempted while nothing else is: what dies with it is only itself.
    const most = lanes * (concurrency + 1)
    const permits = yield* Effect.makeSemaphore(most)
    // Who needs all of them would never have them while others go on to take one each.
    const gate = yield* Effect.makeSemaphore(1)
    const aside = (attempts: Effect.Effect<void>) =>
      Effect.zipRight(gate.withPermits(1)(Effect.void), permits.withPermits(1)(attempts))
    const alone = (attempts: Effect.Effect<void>) => gate.withPermits(1)(permits.withPermits(most)(attempts))

    /** Of one session, account and purpose: what they have in common is asked for once. */
    const prepareAlike = Effect.fnUntraced(function* (alike: ReadonlyArray<ClaimedJob>) {
      const [first] = alike
      if (first === undefined) return { parts: [], atRisk: false }
      const { accountId, content, sessionId } = first
      const line = yield* Effect.flatMap(sessions.find(sessionId), open)
      const phones = Arrays.flatMap(alike, ({ recipients }) => recipients.map(({ phone }) => phone))
      const refusals = yield* consents.refusals({ accountId, phones, purpose: Job.purpose(content) })
      let next = 0
      const parts = alike.map((job) => {
        const first = next
        next += job.recipients.length
        return { job, attempts: Dispatch.window(line, job, (place) => refusals.get(first + place)) }
      })
      return { parts, atRisk: line !== undefined && !canRecover(line.sender) }
    })

    const prepare = Effect.fnUntraced(function* (claimed: ReadonlyArray<ClaimedJob>) {
      const kindOf = ({ accountId, content, sessionId }: ClaimedJob) =>
        `${sessionId} ${accountId} ${Job.purpose(content)}`
      const parts: Array<UnderWay.Part> = []
      for (const alike of JobSteps.groupBy(claimed, kindOf).values()) {
        const prepared = yield* Effect.catchAllCause(prepareAlike(alike), (cause) =>
          Effect.as(Effect.logError("A window could not begin", cause), {
            parts: alike.map((job): UnderWay.Part => ({ job, attempts: Dispatch.released(job) })),
            atRisk: false
          })
        )
        // Those first of which a crash would leave unknown also who waits behind others.
        if (prepared.atRisk) parts.unshift(...prepared.parts)
        else parts.push(...prepared.parts)
      }
      return parts
    })

    const begin = Effect.fnUntraced(function* (claimed: ReadonlyArray<ClaimedJob>, slots: number) {
      const parts = yield* prepare(claimed)
      const permitted = claimed.some(isSuspect) ? alone : aside
      return yield* UnderWay.start(parts, { slots, deadlines, draw, grace, permitted, shares })
    })

    const openLane: Effect.Effect<Lane> = Effect.map(presence.enter, (first) => {
      let worker = first
      /** Names that are given up, and are left once nothing is under way under them. */
      let former: ReadonlyArray<string> = []
      let windows: ReadonlyArray<{ readonly worker: string; readonly window: UnderWay.UnderWay }> = []
      let settlements: ReadonlyArray<Settlement> = []
      let size = concurrency
      const free = (): number => windows.reduce((sum, { window }) => sum - window.left(), concurrency)

      const collect = Effect.gen(function* () {
        for (const { window } of windows) settlements = [...settlements, ...(yield* window.collect)]
        windows = windows.filter(({ window }) => window.left() > 0)
      })
      /** With nothing free nothing can be taken. */
      const wait = Effect.suspend(() => Effect.raceAll(windows.map(({ window }) => window.awaitNext)))
      const handIn = Effect.fnUntraced(function* (limit: number | null) {
        const now = yield* Clock.currentTimeMillis
        const atRisk = { limit: free(), recoverable }
        const claim = limit === null ? null : { worker, limit, without: shares.full(), atRisk }
        const exchange = (settlements: ReadonlyArray<Settlement>, claim: Claim | null) =>
          jobs.exchange({ now, settlements, claim })
        const { claimed } = yield* Isolate.orApart((some) => exchange(some, claim), {
          items: settlements,
          store: (some) => exchange(some, null),
          refused: (settlement, cause) =>
            Effect.zipRight(
              exchange([PlainOutcome.of(settlement) ?? settlement], null),
              Effect.logError(
                `An outcome of job ${settlement.jobId} (recipient ${settlement.index}) cannot be stored`,
                cause
              )
            )
        })
        settlements = []
        const held = new Set(windows.map(({ worker }) => worker))
        for (const name of former) if (!held.has(name)) yield* presence.leave(name)
        former = former.filter((name) => held.has(name))
        return claimed
      })
      // The commit may have been made though its answer was lost: what it took is left to the rescue.
      const renew = Effect.gen(function* () {
        former = [...former, worker]
        worker = yield* presence.enter
      })
      const take = Effect.gen(function* () {
        const claimed = yield* Effect.onError(handIn(grace.hasBegun() ? null : size), () => renew)
        if (grace.hasBegun()) {
          // The stop came while they were taken.
          settlements = Arrays.flatMap(claimed, (job) => Dispatch.released(job).settlements())
          return undefined
        }
        const taken = claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)
        if (taken === 0) return undefined
        if (taken >= concurrency) yield* wake.sends.notify
        yield* Turn.takenByWork
        const since = yield* Moment.now
        const begun: Array<UnderWay.UnderWay> = []
        for (const together of apart(claimed)) {
          const window = yield* begin(together, Math.max(1, free()))
          windows = [...windows, { worker, window }]
          begun.push(window)
        }
        return { begun, taken, since }
      })

      const step = (restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>) =>
        Effect.gen(function* () {
          yield* collect
          while (free() <= 0 && !grace.hasBegun()) {
            yield* restore(wait)
            yield* collect
          }
          const handedIn = settlements.length
          const next = yield* shares.claiming(take)
          if (next === undefined) return { handedIn, taken: 0 }
          const { begun, since, taken } = next
          for (const window of begun) {
            do {
              // Outcomes that came meanwhile are not kept back.
              if (settlements.length > 0) yield* handIn(null)
              yield* restore(window.wait)
              yield* collect
            } while (!window.hasBegun() && window.left() > 0)
          }
          const tookMs = (yield* Moment.now) - since
          size = BatchSize.next(size, { recipients: settlements.length, tookMs }, concurrency)
          return { handedIn, taken }
        })

      return {
        step: Effect.uninterruptibleMask(step),
        awaitIdle: Effect.suspend(() =>
          Effect.forEach(windows, ({ window }) => window.awaitEnd, { discard: true })
        ),
        isLoaded: () => windows.length > 0 || settlements.length > 0,
        leave: Effect.gen(function* () {
          for (const { window } of windows) yield* window.stop
          yield* collect
          if (settlements.length > 0) yield* Effect.ignoreLogged(handIn(null))
          for (const name of [...former, worker]) yield* presence.leave(name)
        })
      }
    })

    const nextDue = Effect.flatMap(Clock.currentTimeMillis, (now) => jobs.nextDue(now, shares.full()))
    const hasDue = Effect.gen(function* () {
      if (grace.hasBegun()) return false
      const now = yield* Clock.currentTimeMillis
      const next = yield* nextDue
      return next !== null && next <= now
    })

    return { open: openLane, nextDue, hasDue }
  })
