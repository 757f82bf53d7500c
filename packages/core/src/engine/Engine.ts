/**
 * The engine: the one tag that embedders use. It holds no HTTP and no database; storage, senders, the webhook
 * transport and the secret box are layers below it.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Audit from "../domain/Audit.ts"
import type { Permission } from "../domain/account/ApiKey.ts"
import type {
  ConsentRequired,
  DailyLimitReached,
  ForeignTransaction,
  HookForged,
  IdempotencyConflict,
  InsideTransaction,
  InvalidCredentials,
  InvalidRequest,
  JobEnded,
  MinimumWaitActive,
  Overloaded,
  QuotaExceeded,
  RateLimited,
  SendFailed,
  StoreQuarantined,
  WindowClosed
} from "../domain/Errors.ts"
import { NotFound } from "../domain/Errors.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Job } from "../domain/job/Job.ts"
import type { Status as RecipientStatus } from "../domain/job/Recipient.ts"
import type { Story } from "../domain/job/Timeline.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { Result } from "../domain/Search.ts"
import type * as Window from "../domain/session/Window.ts"
import type { Template } from "../domain/template/Template.ts"
import { Signals } from "../runtime/Signals.ts"
import type { TemplateMessage, TimesChange, Unchecked } from "../schema/Requests.ts"
import * as MasterKeys from "../secret/MasterKeys.ts"
import * as PersonHash from "../secret/PersonHash.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import { type Sender, Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import * as ConsentSource from "../storage/ConsentSource.ts"
import type { ProcessInfo, Report } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Stores } from "../storage/Stores.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import { InBackground } from "../storage/Transactions.ts"
import type { AddressPolicy } from "../webhook/AddressPolicy.ts"
import type { WebhookTransport } from "../webhook/WebhookTransport.ts"
import * as Circuits from "../worker/Circuits.ts"
import { EqualFailures } from "../worker/EqualFailures.ts"
import * as FailureActions from "../worker/FailureActions.ts"
import { defaultLeaseMs, Heartbeat } from "../worker/Heartbeat.ts"
import * as OutsideTransaction from "../worker/OutsideTransaction.ts"
import * as Prepare from "../worker/Prepare.ts"
import * as QuarantineWatch from "../worker/QuarantineWatch.ts"
import type { ClockHealth } from "../worker/StoreClock.ts"
import { StoreClock } from "../worker/StoreClock.ts"
import * as WaitingLook from "../worker/WaitingLook.ts"
import * as Worker from "../worker/Worker.ts"
import { ProcessVersion, Retention } from "./Acting.ts"
import * as Admin from "./Admin.ts"
import * as Checks from "./Checks.ts"
import * as DirectMessages from "./DirectMessages.ts"
import type { Estimate } from "./Estimates.ts"
import * as EveryOperation from "./EveryOperation.ts"
import * as Hooks from "./Hooks.ts"
import * as JobAccess from "./JobAccess.ts"
import * as Messages from "./Messages.ts"
import type {
  Acknowledgement,
  Caller,
  Credentials,
  DirectAcknowledgement,
  DirectCommand,
  JobDetail,
  JobQuery,
  Message,
  SendCommand,
  TemplateName,
  TemplateQuery,
  Unauthorized
} from "./Operations.ts"
import type { Check } from "./Readiness.ts"
import * as Readiness from "./Readiness.ts"
import * as Search from "./Search.ts"
import * as Sends from "./Sends.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"
import * as Timelines from "./Timelines.ts"
import * as Windows from "./Windows.ts"

export type * from "./Operations.ts"

export class Engine extends Context.Tag("@sendwright/core/engine/Engine")<
  Engine,
  {
    /** Checks 1 and 2: credentials, requests per minute. */
    readonly identify: (
      credentials: Credentials
    ) => Effect.Effect<Caller, ForeignTransaction | InvalidCredentials | RateLimited | StorageError>
    /** A caller for a session without an API key, for the process that owns the engine; its Idempotency-Keys are the session's. */
    readonly callerOf: (
      sessionId: string
    ) => Effect.Effect<Caller, ForeignTransaction | NotFound | StorageError>
    /**
     * Checks 3 to 5: subscription and feature, permission (null = none is needed), session connected. Returns the
     * caller as it is now. Every operation below that has a caller begins with them; this one is for a host that
     * refuses a request before it has read all of it.
     */
    readonly authorize: (caller: Caller, permission: Permission | null) => Effect.Effect<Caller, Unauthorized>
    readonly templates: (caller: Caller, query: TemplateQuery) => Effect.Effect<Paged<Template>, Unauthorized>
    /** By its number, or by name and language as platforms spell them. */
    readonly template: (
      caller: Caller,
      template: number | TemplateName
    ) => Effect.Effect<Template, Unauthorized | NotFound>
    /** The cost of a send; needs no consent and creates nothing. */
    readonly estimate: (
      caller: Caller,
      request: TemplateMessage | Unchecked,
      options?: { readonly explain?: boolean | undefined }
    ) => Effect.Effect<Estimate, Unauthorized | InvalidRequest>
    /** Accepts a template send, which is durable when this returns. */
    readonly send: (
      caller: Caller,
      command: SendCommand
    ) => Effect.Effect<
      Acknowledgement,
      | Unauthorized
      | InvalidRequest
      | IdempotencyConflict
      | ConsentRequired
      | QuotaExceeded
      | MinimumWaitActive
      | Overloaded
    >
    /** Sends one text message now. */
    readonly sendDirect: (
      caller: Caller,
      command: DirectCommand
    ) => Effect.Effect<
      DirectAcknowledgement,
      | InsideTransaction
      | Unauthorized
      | InvalidRequest
      | IdempotencyConflict
      | ConsentRequired
      | DailyLimitReached
      | MinimumWaitActive
      | Overloaded
      | SendFailed
      | StoreQuarantined
      | WindowClosed
    >
    /** Until when the person whom a number or a user id names may be answered with free text, as far as the session knows. */
    readonly window: (
      caller: Caller,
      name: string
    ) => Effect.Effect<Window.Told, Unauthorized | InvalidRequest>
    /** A direct message of this key as it is now. A receipt may have settled one whose outcome was unknown. */
    readonly message: (caller: Caller, messageId: string) => Effect.Effect<Message, Unauthorized | NotFound>
    /** The story of a message of this key, a recipient's or a direct one. */
    readonly timeline: (caller: Caller, messageId: string) => Effect.Effect<Story, Unauthorized | NotFound>
    /** This key's jobs, newest first. */
    readonly jobs: (caller: Caller, query: JobQuery) => Effect.Effect<Paged<Job>, Unauthorized>
    readonly job: (
      caller: Caller,
      jobId: string,
      query: { readonly recipientStatus?: RecipientStatus | undefined; readonly page: Page }
    ) => Effect.Effect<JobDetail, Unauthorized | NotFound>
    /**
     * This key's jobs and messages by what names them, newest first; direct messages only where it may read these
     * (`direct:read`).
     */
    readonly search: (
      caller: Caller,
      query: Search.SearchQuery
    ) => Effect.Effect<Paged<Result>, Unauthorized | InvalidRequest>
    /** Cancels a job of this key. Messages in flight are not canceled; the job is `canceling` until they have ended. */
    readonly cancel: (caller: Caller, jobId: string) => Effect.Effect<Job, Unauthorized | JobEnded | NotFound>
    /** Holds a job of this key until it is let go on (`pause_reason: client`). Messages in flight are not held. */
    readonly pause: (caller: Caller, jobId: string) => Effect.Effect<Job, Unauthorized | JobEnded | NotFound>
    readonly resume: (caller: Caller, jobId: string) => Effect.Effect<Job, Unauthorized | JobEnded | NotFound>
    /** Changes when the recipients of a job of this key may be sent whom nobody attempted yet. */
    readonly change: (
      caller: Caller,
      jobId: string,
      times: TimesChange
    ) => Effect.Effect<Job, Unauthorized | InvalidRequest | JobEnded | NotFound>
    /**
     * Applies a platform's reports of messages, by our message ids or by the platform's; returns the reports of unknown ones. It
     * changes only the database, so that it may run inside a transaction.
     */
    readonly receive: (
      reports: ReadonlyArray<Report>
    ) => Effect.Effect<ReadonlyArray<Report>, ForeignTransaction | StorageError>
    /**
     * Applies a platform's post to the hook of a session; returns the text that a handshake asks for, else null.
     * Nothing is parsed before its signature was verified. A `body` that is an effect is read only after the session
     * was found with this provider, so that posts for nobody need no memory.
     */
    readonly hook: <E extends { readonly _tag: string } = never>(
      provider: string,
      sessionId: string,
      request: Hooks.HookCall<E>
    ) => Effect.Effect<
      string | null,
      ForeignTransaction | InsideTransaction | HookForged | InvalidRequest | NotFound | StorageError | E
    >
    /**
     * Checks whether this process can write to its store, read its secrets, and dispatch once its loops were started
     * (contract.md §10). A result is reused for a few seconds.
     */
    readonly readiness: Effect.Effect<ReadonlyArray<Check>>
    /** The engine's senders, in the order in which they were given. */
    readonly senders: ReadonlyArray<Pick<Sender, "configDescription" | "provider">>
    /** The operator's side. */
    readonly admin: EveryOperation.OutsideForeign<Admin.Admin>
    /** Does everything that is due now, until nothing is: sends, receipts, webhook deliveries. For tests and cron. */
    readonly drain: Effect.Effect<void, ForeignTransaction | InsideTransaction | StorageError>
    /**
     * When something is due next that `drain` would do, which may be past; null when nothing is. Of receipts that a sender is
     * asked for it knows what the last `drain` was told.
     */
    readonly nextDue: Effect.Effect<Instant | null, ForeignTransaction | StorageError>
    /** The store's clock, which the engine uses, and this process's difference from it. */
    readonly clock: {
      readonly health: Effect.Effect<ClockHealth>
      /** Runs a program by the store's clock, so that its operations need not switch to it one by one. */
      readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    }
  }
>() {}

/** How long the records of each kind are kept. */
export interface Retained {
  /** Entries of the audit log: 400 days unless said otherwise. Older ones are deleted as new ones come. */
  readonly auditRetentionMs: number
}

/** The words that a process says of itself to whoever looks at the processes of a store. */
export interface Described {
  readonly process?: Pick<ProcessInfo, "role" | "version"> | undefined
}

/** The services that the engine needs. A `ConsentSource` is taken where there is one. */
export type Requirements = Stores | Senders | SecretBox | WebhookTransport | AddressPolicy

/** The approved templates of a caller's session. */
const approvedTemplates = Effect.map(TemplateStore, (templates) => {
  const list = (caller: Caller, query: TemplateQuery) =>
    templates.listApproved({ ...query, sessionId: caller.session.id })

  /** An unknown template, one that is not approved and one of another session are refused alike. */
  const find = Effect.fnUntraced(function* ({ session }: Caller, of: number | TemplateName) {
    const template = yield* typeof of === "number"
      ? templates.find({ sessionId: session.id, templateId: of })
      : templates.findNamed({ sessionId: session.id, name: of.name, language: of.language })
    if (template !== null && template.status === "approved") return template
    const named = typeof of === "number" ? undefined : `"${of.name}" in "${of.language}"`
    return yield* new NotFound({ what: "template", named })
  })

  return { list: spanIfTraced("Engine.templates", list), find: spanIfTraced("Engine.template", find) }
})

const make = Effect.gen(function* () {
  const worker = yield* Worker.Worker
  const ids = Ids.make(yield* Ids.RandomBytes)
  const resolve = yield* SessionSender.make
  const checks = yield* Checks.make
  const jobs = yield* JobAccess.make
  const messages = yield* Messages.make
  const search = yield* Search.make
  const sends = yield* Sends.make(checks, ids)
  const templates = yield* approvedTemplates
  const timelines = yield* Timelines.make
  const windows = yield* Windows.make(checks, resolve)
  const outside = yield* OutsideTransaction.make
  const direct = yield* DirectMessages.make({
    checks,
    windows,
    ids,
    resolve,
    applyActions: yield* FailureActions.make,
    equal: yield* EqualFailures,
    prepare: yield* Prepare.make
  })
  const hook = yield* Hooks.make(resolve, worker.inbound)
  // Before the first operation, which may be inside a transaction that is rolled back.
  yield* (yield* PersonHash.make).hashing

  /** Wraps an operation that has a caller: it gets the caller as it is now, once `Checks.authorize` allowed it. */
  const allowed =
    <Args extends ReadonlyArray<unknown>, A, E>(
      permission: Permission,
      operation: (caller: Caller, ...args: Args) => Effect.Effect<A, E>
    ) =>
    (caller: Caller, ...args: Args): Effect.Effect<A, E | Unauthorized> =>
      Effect.flatMap(checks.authorize(caller, permission), (known) => operation(known, ...args))
  const sendDirect = allowed("direct:send", direct)

  const clock = yield* StoreClock
  const readiness = yield* Readiness.make
  const outsideForeign = yield* EveryOperation.outsideForeign
  const operations = {
    identify: checks.identify,
    callerOf: checks.callerOf,
    authorize: checks.authorize,
    templates: allowed("templates:read", templates.list),
    template: allowed("templates:read", templates.find),
    estimate: allowed("messages:estimate", sends.estimate),
    send: allowed("messages:send", sends.send),
    sendDirect: (...args: Parameters<typeof sendDirect>) => outside("engine.sendDirect")(sendDirect(...args)),
    window: allowed("direct:send", windows.find),
    message: allowed("direct:read", messages.find),
    timeline: allowed("jobs:read", timelines.own),
    jobs: allowed("jobs:read", jobs.list),
    job: allowed("jobs:read", jobs.find),
    search: allowed("jobs:read", search.own),
    cancel: allowed("messages:send", jobs.cancel),
    change: allowed("messages:send", jobs.change),
    pause: allowed("messages:send", jobs.pause),
    resume: allowed("messages:send", jobs.resume),
    receive: worker.inbound.reports,
    nextDue: worker.nextDue
  }
  const engine = Engine.of({
    ...outsideForeign("engine", operations),
    hook: (...args) => outside("engine.hook")(hook(...args)),
    readiness,
    senders: [...(yield* Senders).values()],
    admin: outsideForeign("admin", yield* Admin.make(readiness)),
    drain: worker.drain,
    clock: { health: clock.health, within: clock.within }
  })
  return EveryOperation.storeTimed(engine, clock)
})

const heartbeat = ({
  concurrency: slots = Worker.defaults.concurrency,
  leaseMs = defaultLeaseMs,
  process
}: Partial<Worker.Options> & Described) =>
  Heartbeat.layer(leaseMs, process === undefined ? undefined : { ...process, slots })

/** How often the counts are written. */
const tallyPace = Duration.minutes(1)

/** A store that takes nothing keeps nobody from ending. */
const tallyPatience = Duration.seconds(2)

/** Writes what this process has counted of recipients, once a minute and when the process ends. */
const tallies: Layer.Layer<never, never, JobStore | StoreClock> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const { within } = yield* StoreClock
    const save = Effect.flatMap(Time.now, (now) => jobs.saveTallies({ now })).pipe(
      Effect.catchAllCause((cause) => Effect.logDebug("The numbers of a minute were not written", cause))
    )
    yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.disconnect(within(save)), tallyPatience))
    const next = Effect.zipRight(jobs.counted, Effect.sleep(tallyPace))
    yield* Effect.forkScoped(within(Effect.forever(Effect.zipRight(next, save))))
  })
)

/**
 * The engine and its worker. The store's master key must be among the secret box's keys. Nothing runs in the
 * background until `Worker.layerLoops` is added: a process that only accepts sends does without it, and a test calls
 * `drain`. The presets (`layerMemory`, `layerSqlite`, `layerPostgres`) have all that it asks for.
 *
 * @example
 * ```ts
 * import { Engine } from "@sendwright/core"
 * import * as Effect from "effect/Effect"
 *
 * export const send = (sessionId: string, phone: string) =>
 *   Effect.gen(function* () {
 *     const engine = yield* Engine.Engine
 *     const caller = yield* engine.callerOf(sessionId)
 *     const { templateId } = yield* engine.template(caller, { name: "order_shipped", language: "en" })
 *     const request = { templateId, recipients: [{ phone }] }
 *     return yield* engine.send(caller, { idempotencyKey: "order-1001", request })
 *   })
 * ```
 */
export const layer = (
  options: Partial<Worker.Options> & Partial<Retained> & Described = {}
): Layer.Layer<Engine | Worker.Worker, MasterKeys.WrongMasterKey | StorageError, Requirements> =>
  Layer.scoped(Engine, make).pipe(
    Layer.provideMerge(Worker.layer(options)),
    Layer.provide([Circuits.layer, EqualFailures.layer, QuarantineWatch.layer, WaitingLook.layer]),
    Layer.provide([Signals.layer, heartbeat(options), MasterKeys.layer, tallies]),
    Layer.provide(StoreClock.layer),
    Layer.provide(ConsentSource.layer()),
    Layer.provide(Layer.succeed(Retention, options.auditRetentionMs ?? Audit.defaultRetentionMs)),
    Layer.provide(Layer.succeed(ProcessVersion, options.process?.version ?? null)),
    Layer.provide(Layer.succeed(InBackground, true))
  )
