/** The loop of messages: claims what the bulkhead has room for, attempts it in turn, and stores what became of it. */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { groupBy } from "../domain/GroupBy.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import { sessionsAtOnce } from "../domain/job/Claiming.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Provider } from "../domain/session/Session.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import type { GracePeriod } from "../runtime/GracePeriod.ts"
import * as Moment from "../runtime/Moment.ts"
import { Signals } from "../runtime/Signals.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import type { ConsentSource } from "../storage/ConsentSource.ts"
import type { HappeningStore } from "../storage/HappeningStore.ts"
import type { InboundStore } from "../storage/InboundStore.ts"
import type { Claim, DispatchedJob, Settlement, UnreadableJob } from "../storage/JobStore.ts"
import { JobStore, Outcome } from "../storage/JobStore.ts"
import type { RateCardStore } from "../storage/RateCardStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import * as Attempt from "./Attempt.ts"
import type { Asked, Fork } from "./AttemptQueue.ts"
import { AttemptQueue, type Ended, InFlight } from "./AttemptQueue.ts"
import type { Asking } from "./Bulkhead.ts"
import { Bulkhead } from "./Bulkhead.ts"
import { Circuits } from "./Circuits.ts"
import * as Deaths from "./Deaths.ts"
import type { Kind } from "./Dispatcher.ts"
import type { DispatchLoop, Verbs } from "./DispatchLoop.ts"
import * as Dispatching from "./DispatchLoop.ts"
import { EqualFailures, endsOf } from "./EqualFailures.ts"
import * as FailureActions from "./FailureActions.ts"
import { Heartbeat } from "./Heartbeat.ts"
import * as Isolate from "./Isolate.ts"
import * as PlainOutcome from "./PlainOutcome.ts"
import * as Prepare from "./Prepare.ts"
import { RefusedClaims } from "./RefusedClaims.ts"
import { StoreClock } from "./StoreClock.ts"

export interface SendLoop {
  /** @param grace once it has begun nothing is claimed, and what is under way has so much time */
  readonly open: (grace: GracePeriod) => Effect.Effect<DispatchLoop>
  /** Looks which session may have all slots, being the only one, forgets those that are idle, and looks who died. */
  readonly look: Effect.Effect<void, StorageError>
}

/** A claim: when it was asked for, and whose outages the store knew then. */
interface Claiming {
  readonly asking: Asking
  readonly at: Moment.Moment
  readonly known: ReadonlySet<string>
}

const kind: Omit<Kind<Settlement, DispatchedJob>, "idleMs"> = {
  settleMs: 25,
  looksFirst: false,
  plainOf: PlainOutcome.plainOutcomeOf,
  subjectOf: ({ jobId }) => jobId,
  released: (claimed) =>
    claimed.flatMap(({ fence, jobId, recipients }) =>
      recipients.map(({ index }) => ({
        jobId,
        fence,
        index,
        outcome: Outcome.Released({ maybeSent: false })
      }))
    )
}

const countOf = (claimed: ReadonlyArray<DispatchedJob>): number =>
  claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)

const reportUnreadable = (jobs: ReadonlyArray<UnreadableJob>): Effect.Effect<void> =>
  Effect.forEach(
    jobs,
    ({ cause, jobId }) =>
      Effect.logError(`Job ${jobId} is put off: its content cannot be read from the store`, cause),
    { discard: true }
  )

const isFull = (claimed: ReadonlyArray<DispatchedJob>, { limit }: Asking): boolean =>
  countOf(claimed) >= limit || new Set(claimed.map(({ sessionId }) => sessionId)).size >= sessionsAtOnce

/** The parts of a process that its dispatchers share. */
interface Parts {
  readonly jobs: Context.Tag.Service<JobStore>
  readonly heartbeat: Context.Tag.Service<Heartbeat>
  readonly signals: Context.Tag.Service<Signals>
  readonly circuits: Context.Tag.Service<Circuits>
  readonly applyActions: FailureActions.Apply
  readonly equal: Context.Tag.Service<EqualFailures>
  readonly prepare: Prepare.Prepare
  /** Platforms that can be asked about an attempt without an outcome. */
  readonly recoverable: ReadonlyArray<Provider>
  readonly bulkhead: Bulkhead
  readonly turns: AttemptQueue
  /** Sessions whose claims the store refuses ({@link RefusedClaims}), and until when they are put off. */
  readonly putOff: Map<string, Moment.Moment>
  readonly fork: Fork
  readonly monotonic: () => Moment.Moment
  readonly idleMs: number
}

const ofWholeSession: ReadonlySet<FailureCatalogue.Action> = new Set(["disconnect_session", "block_session"])

const templateOf = ({ content }: DispatchedJob) => (content.kind === "template" ? content.templateId : null)

/** True of a job that would meet the same: of the same session or, where the failure is of a template, of the same template. */
const meetsTheSame = ({ failures, batch }: Asked, job: DispatchedJob): boolean => {
  if (job.sessionId !== batch.job.sessionId) return false
  if (job.jobId === batch.job.jobId) return true
  const isOfSession = failures.some((failure) => ofWholeSession.has(FailureCatalogue.actionOf(failure)))
  return isOfSession || (templateOf(job) !== null && templateOf(job) === templateOf(batch.job))
}

/**
 * The acts that failures ask of the engine are done before their outcomes are stored: who waits for a pause must not be due
 * before it. Only their session waits for that.
 */
const act = ({ applyActions, fork, monotonic, turns }: Parts, inFlight: InFlight): void => {
  for (const [sessionId, asked] of inFlight.act()) {
    turns.release(({ batch }) => asked.some((each) => meetsTheSame(each, batch.job)))
    const all = Effect.forEach(
      asked,
      ({ failures, batch: { attempts, job, since } }) =>
        Effect.catchAllCause(
          applyActions(job, failures, { connection: attempts.connection, since }),
          (cause) => Effect.logError(`What failures of job ${job.jobId} ask for could not be done`, cause)
        ),
      { discard: true }
    )
    fork(
      Effect.ensuring(
        all,
        Effect.sync(() => inFlight.acted(sessionId, monotonic()))
      )
    )
  }
}

/**
 * Attempts that end one after the other with one failure stop their session; the recipients of the session that are in hand go
 * back.
 */
const noteEnds = ({ equal, turns }: Parts, ended: ReadonlyArray<Ended>): Effect.Effect<void> =>
  Effect.forEach(
    groupBy(ended, ({ batch }) => batch.job.sessionId),
    ([sessionId, some]) => {
      const session = some[0]?.batch.job.session ?? { id: sessionId, failing: null }
      const ends = some.flatMap(({ batch: { attempts, since }, address, settlement: { outcome } }) =>
        address === null ? [] : endsOf(outcome, address, { connection: attempts.connection, since })
      )
      return equal.note(session, "answer", ends).pipe(
        Effect.tap((isStopped) =>
          Effect.sync(() => {
            if (isStopped) turns.release(({ batch }) => batch.job.sessionId === sessionId)
          })
        ),
        Effect.catchAllCause((cause) =>
          Effect.logError(`How attempts of session ${sessionId} end could not be noted`, cause)
        )
      )
    },
    { discard: true }
  )

/** Until nothing is under way, and nothing is asked for any more. */
const ending = (parts: Parts, inFlight: InFlight): Effect.Effect<void> =>
  Effect.suspend(() => {
    act(parts, inFlight)
    return inFlight.isIdle ? Effect.void : Effect.zipRight(inFlight.awaitIdle, ending(parts, inFlight))
  })

type SendVerbs = Verbs<Settlement, DispatchedJob>

/**
 * One commit. Where the store refuses the claim for its content the outcomes are stored without it, and claims go on by
 * session (`isRefused`). Where it takes them neither way they are why.
 */
const exchanging =
  ({ circuits, monotonic }: Parts, refused: RefusedClaims) =>
  (command: Parameters<Parts["circuits"]["settleAndClaim"]>[0]) =>
    Effect.suspend(() => {
      refused.begin()
      return circuits.settleAndClaim(command)
    }).pipe(
      Effect.map((exchanged) => {
        if (command.claim !== null) refused.taken()
        return { ...exchanged, isRefused: false }
      }),
      Effect.catchAllCause((cause) => {
        if (command.claim === null || !refused.hasAsked || !Isolate.isContentRefused(cause))
          return Effect.failCause(cause)
        return Effect.tap(
          Effect.map(circuits.settleAndClaim({ ...command, claim: null }), (exchanged) => ({
            ...exchanged,
            isRefused: true
          })),
          () => {
            const sessionId = refused.refused(monotonic())
            if (sessionId === null) return Effect.void
            return Effect.annotateLogs(
              Effect.logError(
                `Session ${sessionId} is put off for half a minute: the store refuses to claim what is due of it`,
                cause
              ),
              { sessionId }
            )
          }
        )
      })
    )

/** The claims of one dispatcher: what one brought counts as being claimed until its attempts wait for their turns. */
const claimsOf = (
  parts: Parts,
  inFlight: InFlight,
  refused: RefusedClaims,
  grace: GracePeriod
): Pick<SendVerbs, "begin" | "commit"> => {
  const { bulkhead, circuits, heartbeat, monotonic, prepare, recoverable, signals, turns } = parts
  let claiming: Claiming | null = null
  const endClaim = (): void => {
    if (claiming !== null) bulkhead.over(claiming.asking)
    claiming = null
  }

  const giveUpProbes = (claimed: ReadonlyArray<DispatchedJob>): void => {
    for (const { probe, sessionId } of claimed) if (probe) circuits.of(sessionId, true).unused()
  }

  /** A session gets what the bulkhead lets it, and nothing while the store does not know of its outage, or refuses its claim. */
  const claimOf = (worker: string, asking: Asking): Claim => ({
    worker,
    limit: asking.limit,
    care: asking.care,
    room: ({ id, provider }, before) => {
      if (before === null) refused.begin()
      const room = bulkhead.grant(asking, id, !recoverable.includes(provider), before, monotonic())
      return circuits.isUntold(id) || inFlight.isActing(id) ? 0 : refused.grant(id, room, monotonic())
    }
  })

  const exchange = exchanging(parts, refused)

  /** Synchronous: the claim ends in the same moment in which the bulkhead counts what is in hand. */
  const enter = (
    { asking, known }: Claiming,
    prepared: ReadonlyArray<Prepare.Prepared>,
    worker: string,
    since: Instant
  ): void => {
    const enteredAt = monotonic()
    for (const [sessionId, some] of groupBy(prepared, ({ job }) => job.sessionId)) {
      const admitted = some.map(({ attempts, job }) =>
        circuits.admit(job, known)
          ? { job, attempts }
          : { job, attempts: Attempt.released(job, circuits.of(sessionId, job.probe)) }
      )
      const recipients = admitted.flatMap(({ attempts }) => attempts.queue)
      bulkhead.claimed(asking, sessionId, recipients)
      for (const each of admitted) turns.enter({ inFlight, ...each, worker, since, enteredAt })
    }
    endClaim()
    turns.begin()
  }

  return {
    commit: (settlements, worker) =>
      Effect.gen(function* () {
        endClaim()
        const at = monotonic()
        const now = yield* Time.now
        const asking = worker === null ? null : bulkhead.ask(bulkhead.limit(at), at)
        if (asking !== null) claiming = { asking, at, known: circuits.known() }
        const claim = worker === null || asking === null ? null : claimOf(worker, asking)
        const { claimed, isRefused, known, postponed, settled, unreadable } = yield* exchange({
          now,
          settlements,
          claim
        })
        yield* reportUnreadable(unreadable)
        if (settled > 0) yield* Effect.zipRight(signals.deliveries.notify, signals.outcomes.notify)
        if (asking === null || claimed.length === 0) {
          endClaim()
          // The next claim is another one.
          return { claimed, postponed, isFull: isRefused || refused.isApart }
        }
        claiming = { asking, at, known }
        // Once the process stops nothing of it begins: another one may ask the platform.
        if (grace.hasBegun()) giveUpProbes(claimed)
        yield* Effect.zipRight(signals.attempts.notify, EventLoopBudget.yieldIfSpent)
        return { claimed, postponed, isFull: refused.isApart || isFull(claimed, asking) }
      }).pipe(Effect.onError(() => Effect.sync(endClaim))),
    begin: (claimed, worker) =>
      Effect.gen(function* () {
        if (claiming === null) return yield* Effect.dieMessage("Attempts begin that were not claimed.")
        const { at } = claiming
        const { failed, prepared } = yield* prepare(claimed, () => heartbeat.stillOwns(worker, at))
        for (const sessionId of failed) bulkhead.rest(sessionId, monotonic())
        enter(claiming, prepared, worker, yield* Time.now)
      }).pipe(
        Effect.onError(() =>
          Effect.sync(() => {
            giveUpProbes(claimed)
            endClaim()
          })
        )
      )
  }
}

const verbsOf = (parts: Parts, grace: GracePeriod, wake: () => void): SendVerbs => {
  const { bulkhead, circuits, heartbeat, jobs, monotonic, signals, turns } = parts
  const inFlight = new InFlight(wake)
  const refused = new RefusedClaims(parts.putOff)
  return {
    kind: { ...kind, idleMs: parts.idleMs },
    signal: signals.sends,
    refresh: () => turns.releaseStale(),
    facts: (now) => ({
      hasRoom: bulkhead.limit(now) > 0,
      mayBring: bulkhead.isDry ? "now" : bulkhead.mayBring(now) ? "withOutcomes" : "nothing",
      since: inFlight.since,
      isIdle: inFlight.isIdle,
      inUse: inFlight.inUse
    }),
    wakeAt: () => turns.staleAt,
    look: Effect.gen(function* () {
      const now = yield* Time.now
      const at = monotonic()
      const next = yield* jobs.nextDue(
        now,
        (id) =>
          bulkhead.admits(id, at) &&
          !circuits.isUntold(id) &&
          !inFlight.isActing(id) &&
          refused.admits(id, at)
      )
      return next === null ? null : Math.max(0, next - now)
    }),
    collect: Effect.suspend(() => {
      act(parts, inFlight)
      const ended = inFlight.collect()
      return Effect.as(noteEnds(parts, ended), {
        settlements: ended.map(({ settlement }) => settlement),
        lapsed: false
      })
    }),
    ...claimsOf(parts, inFlight, refused, grace),
    end: Effect.suspend(() => {
      turns.release(({ batch }) => batch.inFlight === inFlight)
      act(parts, inFlight)
      if (inFlight.isIdle) return grace.begin()
      return Effect.zipRight(grace.within(ending(parts, inFlight)), turns.interrupt(inFlight))
    }).pipe(Effect.zipRight(Effect.sync(() => inFlight.close()))),
    giveBack: (workers) =>
      Effect.flatMap(Effect.forEach(workers, heartbeat.giveBack), (counts) =>
        counts.some((count) => count > 0) ? signals.sends.notify : Effect.void
      ),
    nameOf: ({ index, jobId }) => `job ${jobId} (recipient ${index})`
  }
}

export const make = (options: {
  /** Recipients that are attempted side by side. */
  readonly slots: number
  /** A process that has lived for less claims no suspect, and behind another's death no more than it can begin (contract.md §11). */
  readonly youthMs: number
  /** How often a process that has nothing to do looks what others have accepted. */
  readonly idleMs: number
}): Effect.Effect<
  SendLoop,
  never,
  | Circuits
  | EqualFailures
  | ConsentSource
  | HappeningStore
  | InboundStore
  | JobStore
  | Heartbeat
  | RateCardStore
  | SecretBox
  | Senders
  | SessionStore
  | StoreClock
  | TemplateStore
  | Signals
> =>
  Effect.gen(function* () {
    const { idleMs, slots, youthMs } = options
    const heartbeat = yield* Heartbeat
    const sessions = yield* SessionStore
    const { within } = yield* StoreClock
    const clock = yield* Effect.clock
    const monotonic = (): Moment.Moment => Moment.unsafeNow(clock)
    const bulkhead = new Bulkhead({ slots, oldAt: monotonic() + youthMs })
    const someDied = yield* Deaths.make(heartbeat)
    const runFork = Runtime.runFork(yield* within(Effect.runtime<never>()))
    const fork: Fork = (effect) => runFork(Effect.interruptible(effect), { immediate: false })
    const turns = new AttemptQueue(bulkhead, monotonic, fork)
    const parts: Parts = {
      jobs: yield* JobStore,
      heartbeat,
      signals: yield* Signals,
      circuits: yield* Circuits,
      applyActions: yield* FailureActions.make,
      equal: yield* EqualFailures,
      prepare: yield* Prepare.make,
      recoverable: [...(yield* Senders).values()].filter(canRecover).map(({ provider }) => provider),
      bulkhead,
      turns,
      putOff: new Map(),
      fork,
      monotonic,
      idleMs
    }
    return {
      open: (grace) => Dispatching.open(heartbeat, grace, (wake) => verbsOf(parts, grace, wake)),
      look: Effect.gen(function* () {
        bulkhead.only(yield* sessions.onlyConnected)
        bulkhead.forget(monotonic())
        if (bulkhead.isYoung(monotonic())) bulkhead.behindDeath(yield* someDied)
      })
    }
  })
