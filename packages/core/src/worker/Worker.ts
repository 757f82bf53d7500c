/**
 * The loops of a process that sends: dispatch, receipts, webhook deliveries, rescue. `drain` runs the very same
 * steps until nothing is due, for tests, examples and cron.
 */

import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { ForeignTransaction, InsideTransaction } from "../domain/Errors.ts"
import * as Time from "../domain/Instant.ts"
import * as Retry from "../domain/Retry.ts"
import * as GracePeriod from "../runtime/GracePeriod.ts"
import type { Signal } from "../runtime/Signals.ts"
import { Signals } from "../runtime/Signals.ts"
import { MasterKeys } from "../secret/MasterKeys.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import type { Senders } from "../sender/Sender.ts"
import type { ConsentSource } from "../storage/ConsentSource.ts"
import { EmbeddedCommits, type Listen } from "../storage/EmbeddedCommits.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Stores } from "../storage/Stores.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import { InBackground } from "../storage/Transactions.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import type { HeaderNames } from "../webhook/Signature.ts"
import { defaultHeaderNames } from "../webhook/Signature.ts"
import { WebhookTransport } from "../webhook/WebhookTransport.ts"
import * as Addressing from "./Addressing.ts"
import * as BacklogWatch from "./BacklogWatch.ts"
import { Circuits } from "./Circuits.ts"
import type { DispatchLoop } from "./DispatchLoop.ts"
import * as EndpointLimits from "./EndpointLimits.ts"
import type { EqualFailures } from "./EqualFailures.ts"
import * as Erasing from "./Erasing.ts"
import { defaultLeaseMs, Heartbeat, paceOf } from "./Heartbeat.ts"
import * as Housekeeping from "./Housekeeping.ts"
import * as Inbound from "./Inbound.ts"
import * as Loops from "./Loops.ts"
import * as OutsideTransaction from "./OutsideTransaction.ts"
import { QuarantineWatch } from "./QuarantineWatch.ts"
import * as Rescue from "./Rescue.ts"
import * as Resumption from "./Resumption.ts"
import * as RetryPlans from "./RetryPlans.ts"
import * as SendLoop from "./SendLoop.ts"
import { StoreClock } from "./StoreClock.ts"
import * as TemplateChecks from "./TemplateChecks.ts"
import type { WaitingLook } from "./WaitingLook.ts"
import * as WebhookLoop from "./WebhookLoop.ts"
import * as WebhookWorker from "./WebhookWorker.ts"

export interface Options {
  /** Sends under way simultaneously. */
  readonly concurrency: number
  /** Webhook deliveries under way simultaneously, over all receivers. */
  readonly deliveries: number
  readonly headerNames: HeaderNames
  /** By which part a delivery's next attempt is sooner or later than the schedule says, at most: 0.2 = ±20 %. */
  readonly deliveryJitter: number
  /** How long a worker that does not say that it lives is believed to live (docs/adr/0007). */
  readonly leaseMs: number
  /** How long what is in flight may still take when the loops end. */
  readonly graceMs: number
  /**
   * How long a process is young: it claims nobody over whom two workers died, and where a worker of its store died within the
   * last hour no more than it can begin at once.
   */
  readonly youthMs: number
  /** How often a process that has nothing to send looks what others have accepted, in milliseconds; where nobody else can, each second. */
  readonly lookMs: number
  /** How long a recipient over which two workers died waits after each death; behind the last it is parked. */
  readonly suspectWaits: ReadonlyArray<number>
}

export const defaults: Options = {
  concurrency: 64,
  deliveries: 512,
  headerNames: defaultHeaderNames,
  deliveryJitter: Retry.deliveryJitter,
  leaseMs: defaultLeaseMs,
  graceMs: 25_000,
  youthMs: Retry.youthMs,
  lookMs: 250,
  suspectWaits: Retry.suspectWaits
}

/** The shortest time between two looks for receipts that came early. */
const earlyMs = 500

/** The shortest time between two looks whether enough recipients came that they are written down, and the longest. */
const segmentsMs = 5000
const idleSegmentsMs = 600_000

/** The longest sleep of an idle loop, and the shortest: what is due may be another's to take. */
const idleMs = 1000
const pauseMs = 20

export class Worker extends Context.Tag("@sendwright/core/worker/Worker")<
  Worker,
  {
    readonly inbound: Inbound.Inbound
    /** Says which loops fail or have ended; null while all are well, and while they were not started. */
    readonly fault: Effect.Effect<string | null>
    /** True while a loop that was started has something in hand, under way or to be stored, or receipts to look for. */
    readonly isBusy: Effect.Effect<boolean>
    /**
     * Starts the loops. They end with the scope, after what is in flight or the grace. Refused inside a transaction, which
     * every verb of theirs would fall into.
     */
    readonly start: Effect.Effect<void, ForeignTransaction | InsideTransaction, Scope.Scope>
    /**
     * From here on the loops take nothing new, and the grace runs: for a process that has more to close. It is the one that
     * was said when the worker was made, or a shorter one.
     */
    readonly stop: (graceMs?: number) => Effect.Effect<void>
    /**
     * Looks what waits, for the metrics and the log, and goes on looking: for a process that does not start the loops, which do
     * so by themselves.
     */
    readonly watch: Effect.Effect<never>
    readonly drain: Effect.Effect<void, ForeignTransaction | InsideTransaction | StorageError>
    /**
     * When something is due next that `drain` would do; null when nothing is. Who moves a clock of their own goes from one such
     * time to the next, and who drains by a timer sleeps until then.
     */
    readonly nextDue: Effect.Effect<Time.Instant | null, StorageError>
  }
>() {}

/** The loops' own steps until nothing is due. */
const draining = ({
  checkTemplates,
  erasing,
  grace,
  inbound,
  jobs,
  openWebhooks,
  options,
  rescue,
  retryPlans,
  sends
}: {
  readonly jobs: Context.Tag.Service<JobStore>
  readonly options: Options
  readonly grace: GracePeriod.GracePeriod
  readonly sends: SendLoop.SendLoop
  readonly openWebhooks: Effect.Effect.Success<ReturnType<typeof WebhookLoop.make>>
  readonly inbound: Inbound.Inbound
  readonly checkTemplates: TemplateChecks.Check
  readonly erasing: Erasing.Erasing
  readonly retryPlans: RetryPlans.RetryPlans
  readonly rescue: Rescue.Rescue
}): Effect.Effect<void, StorageError> => {
  /** A grace of its own: the process goes on when a drain is interrupted. */
  const graceOfDrain = Effect.sync(() => GracePeriod.make(options.graceMs, grace))

  const drained = (open: (grace: GracePeriod.GracePeriod) => Effect.Effect<DispatchLoop>) =>
    Effect.acquireUseRelease(
      Effect.flatMap(graceOfDrain, open),
      ({ drain }) => drain,
      ({ close }) => close
    )

  return Effect.gen(function* () {
    // Before the rescue forgets who died.
    yield* sends.look
    const rescued = yield* rescue
    const retried = yield* retryPlans.round
    const sent = yield* drained(sends.open)
    const { count } = yield* inbound.poll
    const checked = yield* checkTemplates
    const appliedEarly = yield* inbound.applyEarlyReports
    const delivered = yield* drained((grace) =>
      openWebhooks(EndpointLimits.unlimited(options.deliveries), grace)
    )
    const swept = yield* erasing.resume
    return rescued + retried + sent + count + appliedEarly + checked + delivered + swept
  }).pipe(
    Effect.repeat({ until: (done) => done === 0 }),
    Effect.zipRight(Effect.repeat(jobs.writeSegments, { while: (goesOn) => goesOn })),
    Effect.asVoid
  )
}

/** Receipts that came before the answer to their message: they are applied soon after its outcome was stored. */
const applyingEarly = (
  { applyEarlyReports }: Inbound.Inbound,
  { deliveries, outcomes }: Context.Tag.Service<Signals>,
  pace: Duration.Duration
): Effect.Effect<void, StorageError> =>
  Effect.gen(function* () {
    while ((yield* applyEarlyReports) > 0) yield* deliveries.notify
    yield* Effect.sleep(earlyMs)
    yield* outcomes.wait(Duration.toMillis(pace))
  })

/** The search's rows are written in small steps, once outcomes came: messages go first. */
const writingSegments = (
  { writeSegments }: Context.Tag.Service<JobStore>,
  { outcomes }: Context.Tag.Service<Signals>
): Effect.Effect<void, StorageError> => {
  const someOutcome = Effect.async<void>((resume) => Effect.sync(outcomes.listen(() => resume(Effect.void))))
  const untilSome = Effect.zipRight(
    Effect.sleep(segmentsMs),
    Effect.raceFirst(someOutcome, Effect.sleep(idleSegmentsMs))
  )
  return Effect.flatMap(writeSegments, (goesOn) => (goesOn ? Effect.sleep(pauseMs) : untilSome))
}

/** Sleeps until notified, for as long as nothing is due, or until it is time to look anyway. */
const restFor = (signal: Signal, inMs: number | null) =>
  signal.wait(inMs === null ? idleMs : Math.min(idleMs, Math.max(pauseMs, inMs)))

const receiving = (
  { poll }: Inbound.Inbound,
  { attempts, deliveries }: Context.Tag.Service<Signals>
): Effect.Effect<void, StorageError> =>
  Effect.gen(function* () {
    const { count, nextAt } = yield* poll
    if (count > 0) yield* deliveries.notify
    const now = yield* Time.now
    yield* restFor(attempts, nextAt === null ? null : nextAt - now)
  })

/** Sends that a transaction of the embedder's has accepted are due from its commit on. */
const listening = (listen: Listen, { notify }: Signal): Effect.Effect<never> =>
  Effect.flatMap(Effect.runtime(), (runtime) => listen(() => Runtime.runSync(runtime, notify)))

/** Tells whether a worker has something that the store does not say to be due: in hand, under way, or to be looked for. */
interface Activity {
  readonly watch: (loop: DispatchLoop) => Effect.Effect<void>
  /** A step that brings the receipts of outcomes that there were before. */
  readonly bringing: <A, E>(step: Effect.Effect<A, E>) => Effect.Effect<A, E>
  readonly now: Effect.Effect<boolean>
}

/** @param outcomes tells that outcomes were stored, whose receipts have to be looked for */
const activity = (outcomes: Signal): Activity => {
  const loops: Array<DispatchLoop> = []
  const owing: Array<{ isOwed: boolean }> = []
  outcomes.listen(() => {
    for (const each of owing) each.isOwed = true
  })
  return {
    watch: (loop) => Effect.sync(() => void loops.push(loop)),
    bringing: (step) => {
      const receipts = { isOwed: false }
      owing.push(receipts)
      return Effect.suspend(() => {
        receipts.isOwed = false
        return step
      })
    },
    now: Effect.sync(() => owing.some(({ isOwed }) => isOwed) || loops.some(({ isDone }) => !isDone()))
  }
}

/** When something is due next that `drain` would do. */
const nextOf = ({ nextPoll }: Inbound.Inbound) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const sessions = yield* SessionStore
    const templates = yield* TemplateStore
    const webhooks = yield* WebhookStore
    const { reaches } = yield* WebhookTransport
    return Effect.gen(function* () {
      const now = yield* Time.now
      return Time.firstOf([
        yield* jobs.nextDue(now),
        yield* jobs.nextExpiry,
        yield* webhooks.nextDue({ now, full: [], reaches }),
        yield* sessions.nextUnblock,
        yield* templates.nextCheck,
        yield* nextPoll
      ])
    })
  })

const make = (options: Options) =>
  Effect.gen(function* () {
    const signals = yield* Signals
    const keys = yield* MasterKeys
    const jobs = yield* JobStore
    const loops = Loops.make()
    const inbound = yield* Inbound.make
    const addressing = yield* Addressing.make
    const checkTemplates = yield* TemplateChecks.make
    const circuits = yield* Circuits
    const quarantineWatch = yield* QuarantineWatch
    const lookAtBacklog = yield* BacklogWatch.make
    const outside = yield* OutsideTransaction.make
    const heartbeat = yield* Heartbeat
    const housekeeping = yield* Housekeeping.make
    const rescue = yield* Rescue.make(options.suspectWaits)
    const resume = yield* Resumption.make
    const erasing = yield* Erasing.make
    const retryPlans = yield* RetryPlans.make
    const { within } = yield* StoreClock
    const grace = GracePeriod.make(options.graceMs)
    const sends = yield* SendLoop.make({
      slots: options.concurrency,
      youthMs: options.youthMs,
      idleMs: jobs.hasOtherWriters ? options.lookMs : Math.max(options.lookMs, idleMs)
    })
    const worker = yield* WebhookWorker.make({ ...options, jitter: options.deliveryJitter })
    const commits = yield* EmbeddedCommits
    const openWebhooks = yield* WebhookLoop.make({ slots: options.deliveries, worker })

    const pace = paceOf(options.leaseMs)
    const busy = activity(signals.outcomes)

    /** Outcomes that a step could not store are stored with the next step. */
    const dispatching = (name: string, open: Effect.Effect<DispatchLoop>) =>
      Effect.flatMap(Effect.tap(open, busy.watch), ({ close, step }) =>
        Effect.onInterrupt(loops.run(name, Effect.zipRight(keys.complete, step)), () => close)
      )

    const repair = Effect.gen(function* () {
      // Half a minute of silence ends nothing that anybody would notice.
      yield* circuits.store
      yield* circuits.measure
      yield* quarantineWatch.look
      yield* lookAtBacklog
      yield* sends.look
      if ((yield* rescue) > 0) yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
      yield* addressing.writeMissing
    })

    const start = Effect.gen(function* () {
      yield* heartbeat.dispatch
      if (commits !== null) yield* Effect.forkScoped(listening(commits, signals.sends))
      // Before the first claim; a store that cannot tell it yet is asked again with each repair.
      yield* Effect.catchAllCause(sends.look, (cause) =>
        Effect.logWarning("It is not known how many sessions are connected", cause)
      )
      const all = [
        dispatching("Dispatch", sends.open(grace)),
        dispatching("Webhook delivery", openWebhooks(EndpointLimits.make(options.deliveries), grace)),
        loops.run("Receipts", Effect.zipRight(resume, busy.bringing(receiving(inbound, signals)))),
        loops.run("Templates", Effect.zipRight(checkTemplates, Effect.sleep(idleMs))),
        loops.tend("Erasures", Effect.zipRight(erasing.resume, Effect.sleep(idleMs))),
        loops.run("Early receipts", busy.bringing(applyingEarly(inbound, signals, pace))),
        loops.run("Rescue", Effect.zipRight(repair, Effect.sleep(pace))),
        loops.tend("Retries", retryPlans.step),
        loops.tend("Housekeeping", housekeeping.step),
        loops.tend("Search", writingSegments(jobs, signals))
      ]
      // One fiber, so that they all end at the same time and share the grace.
      yield* Effect.forkScoped(Effect.all(all, { concurrency: "unbounded", discard: true }))
    })

    const watch = loops.tend("Backlog", Effect.zipRight(lookAtBacklog, Effect.sleep(pace)))

    const drain = draining({
      checkTemplates,
      erasing,
      retryPlans,
      jobs,
      options,
      grace,
      sends,
      openWebhooks,
      inbound,
      rescue
    })

    return {
      inbound,
      fault: loops.fault,
      isBusy: busy.now,
      start: outside("Worker.start")(within(Effect.provideService(start, InBackground, true))),
      stop: grace.begin,
      watch: within(watch),
      drain: outside("engine.drain")(within(Effect.zipRight(addressing.writeMissing, drain))),
      nextDue: within(yield* nextOf(inbound))
    }
  })

export const layer = (
  options: Partial<Options> = {}
): Layer.Layer<
  Worker,
  never,
  | Stores
  | ConsentSource
  | StoreClock
  | Senders
  | SecretBox
  | MasterKeys
  | WebhookTransport
  | Heartbeat
  | QuarantineWatch
  | Signals
  | Circuits
  | EqualFailures
  | WaitingLook
> => Layer.scoped(Worker, make({ ...defaults, ...options }))

/** Runs the loops for as long as the layer lives. */
export const layerLoops: Layer.Layer<never, ForeignTransaction | InsideTransaction, Worker> =
  Layer.scopedDiscard(Effect.flatMap(Worker, ({ start }) => start))
