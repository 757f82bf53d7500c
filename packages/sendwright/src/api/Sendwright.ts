/** What `createSendwright` takes and gives. */
import type { Admin } from "./Admin.ts"
import type { Handler, Handlers, SendwrightEvent, Topic } from "./Events.ts"
import type {
  DirectMessage,
  DirectResult,
  DirectSent,
  Estimate,
  Found,
  InTransaction,
  Job,
  JobDetail,
  JobQuery,
  Message,
  OtherTimes,
  Retried,
  Retry,
  Send,
  Sent,
  Transaction,
  Window
} from "./Messages.ts"
import type { Hook, Report, Sender } from "./Sender.ts"
import type { Template, TemplateQuery } from "./Templates.ts"
import type { Timeline } from "./Timelines.ts"

/** Where everything is kept: `memory()`, `sqlite(…)` of `sendwright/sqlite`, `postgres(…)` of `sendwright/postgres`. */
export interface Store {
  readonly name: "memory" | "sqlite" | "postgres"
}

/** Takes what is logged: the `console`, or a logger of the app's. */
export type Logger = {
  /** `details` has what it is about, such as `sessionId`, and the `cause` of a failure in words. */
  readonly [Level in "debug" | "info" | "warn" | "error"]: (
    message: string,
    details: Readonly<Record<string, unknown>>
  ) => void
}

interface Settings {
  readonly store: Store
  readonly senders: ReadonlyArray<Sender>
  /** Handlers of events, and of `error`: `on: { "message.received": ({ data }) => … }`. */
  readonly on?: Handlers | undefined
  /** In the place of the console. */
  readonly logger?: Logger | undefined
  /**
   * Asked at each send for W3C's header of the app's active span, so that attempts and webhooks go on below it. With OpenTelemetry:
   * `() => { const carrier = {}; propagation.inject(context.active(), carrier); return carrier.traceparent }`.
   */
  readonly traceparent?: (() => string | undefined) | undefined
  /** What is logged: `warning` and above unless said otherwise. */
  readonly logLevel?: "debug" | "info" | "warning" | "error" | "none" | undefined
  /** The most sends under way at once in this process: 64 unless said otherwise. */
  readonly concurrency?: number | undefined
  /** Webhooks go to public addresses alone, and to these networks: `["127.0.0.0/8"]` while developing. */
  readonly webhooks?: { readonly allowedNetworks?: ReadonlyArray<string> | undefined } | undefined
}

interface OneKey {
  /** 32 bytes in base64 (`openssl rand -base64 32`), the same at every start: what one sealed no other key reads. */
  readonly secretKey: string
  readonly secretKeys?: undefined
}

interface SeveralKeys {
  readonly secretKey?: undefined
  /** To change the key: the first seals, all of them open, and `admin.secrets.reseal()` ends the others. */
  readonly secretKeys: ReadonlyArray<string>
}

export type Options = Settings & (OneKey | SeveralKeys)

/** What one session can do. */
export interface Session {
  readonly id: string
  /** Accepts a send, which is durable when this returns. */
  readonly send: (message: Send, options?: InTransaction) => Promise<Sent>
  /** The same within a synchronous transaction of SQLite: `db.transaction(() => { … })`. */
  readonly sendSync: (message: Send, options: { readonly tx: Transaction }) => Sent
  /** Sends one text now. */
  readonly sendDirect: (message: DirectMessage) => Promise<DirectSent>
  /** What a send would cost; it creates nothing. */
  readonly estimate: (message: Message) => Promise<Estimate>
  /** Of those that the process sent; the admin's `jobs` has those of API keys, too. */
  readonly job: (id: string) => Promise<JobDetail>
  /** The same, newest first. */
  readonly jobs: (query?: JobQuery) => AsyncIterable<Job>
  /** Messages in flight are not canceled; the job is `canceling` until they have ended. */
  readonly cancel: (jobId: string) => Promise<Job>
  /** Holds a job until `resume`; messages in flight are not held. */
  readonly pause: (jobId: string) => Promise<Job>
  readonly resume: (jobId: string) => Promise<Job>
  /** Changes when those may be sent whom nobody attempted yet; what is absent stays, and null takes it away. */
  readonly change: (jobId: string, times: OtherTimes) => Promise<Job>
  /** Queues recipients of a job again that failed. */
  readonly retry: (jobId: string, which?: Retry) => Promise<Retried>
  /** Until when somebody may be answered with free text, by their number or their user id. */
  readonly window: (person: string) => Promise<Window>
  /** A direct message. */
  readonly message: (id: string) => Promise<DirectResult>
  /**
   * This session's own jobs and messages, newest first: by a phone in any spelling, a text of `RecipientTexts`, a reference, an
   * Idempotency-Key, or an id.
   */
  readonly search: (text: string) => AsyncIterable<Found>
  /** The story of a message, a recipient's or a direct one, by its id. */
  readonly timeline: (messageId: string) => Promise<Timeline>
  /** Templates that may be sent. */
  readonly templates: (query?: TemplateQuery) => AsyncIterable<Template>
}

/** An `AbortSignal`, by what is used of it. */
export interface Signal {
  readonly aborted: boolean
  addEventListener(type: "abort", listener: () => void): void
  removeEventListener(type: "abort", listener: () => void): void
}

export interface Health {
  /** True when this process can accept, and dispatch where it was started. */
  readonly ready: boolean
  readonly checks: ReadonlyArray<{
    readonly name: string
    /** What is wrong, in plain words; null when nothing is. */
    readonly fault: string | null
    readonly note?: string | undefined
  }>
}

export interface Sendwright {
  readonly admin: Admin
  readonly session: (id: string) => Session
  /**
   * Calls the handler with each event that matches, at least once. From the first `on` of a pattern its events are kept in
   * the store, also while no process listens. A handler of `createSendwright` has them kept when that returns; one that comes
   * later once `ready()` has. Answers what takes the handler away; the events are kept on.
   *
   * One that throws, or takes more than 30 seconds, is called again, by the schedule of webhooks: after 5 seconds, later each
   * day, for 8 days; a pattern that has seen nothing but failures for 5 days rests until the next start. The log tells each failure,
   * and when an event was given up. Where several handlers have one pattern and one
   * of them fails, all of them are called again: what they do must bear that.
   *
   * A handler of `error` hears what failed in the background, a handler's failure among it, while this process runs: what is
   * logged as an error, whatever `logLevel` says. Nothing of it is kept.
   */
  readonly on: <Of extends Topic>(topic: Of, handler: Handler<Of>) => () => void
  /**
   * When this returns, the events of every pattern that `on` has are kept, of every account that there is. Every call but a send
   * in a transaction waits for it by itself. Of an account that another process creates they are kept within a second or so of a
   * process that was started, and from the first call of one of its sessions here.
   */
  readonly ready: () => Promise<void>
  /**
   * All events one by one, for one reader or several that share them. An event is done when the next one is asked for; the
   * last one before the loop is left comes again. `stop` ends the readers.
   */
  readonly events: (options?: { readonly signal?: Signal | undefined }) => AsyncIterable<SendwrightEvent>
  /**
   * Sends what is due in the background, until `stop`. It keeps the process for as long as something is due or under way, and on
   * PostgreSQL, where others may send, until `stop`.
   */
  readonly start: () => Promise<void>
  /** Does everything that is due now, and returns when nothing is: for tests, scripts and cron. */
  readonly drain: () => Promise<void>
  /**
   * Ends the background work and the readers of events within the grace period, and closes what was opened here. A call that is
   * still under way at its end is rejected with `unavailable`, and so is every later one. `await using sw = await
   * createSendwright(…)` stops it at the end of the block.
   */
  readonly stop: (options?: { readonly graceMs?: number | undefined }) => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
  readonly health: () => Promise<Health>
  /** What this process has counted and measured, as Prometheus reads it: the text of the REST API's `/metrics`. */
  readonly metrics: () => Promise<string>
  /** Applies what a platform reports of messages, for a sender of your own. Answers the reports of unknown ones: one by `providerId` may be early, and is known once its send is. */
  readonly receive: (reports: ReadonlyArray<Report>) => Promise<ReadonlyArray<Report>>
  /** Applies a platform's post to the hook of a session; answers the text of a handshake, else null. */
  readonly hook: (hook: Hook) => Promise<string | null>
}
