/**
 * The engine: the one tag that embedders use. It holds no HTTP and no database; storage, senders, the webhook
 * transport and the secret box are layers below it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Permission } from "../domain/ApiKey.ts"
import type {
  ConsentRequired,
  DailyLimitReached,
  HookForged,
  IdempotencyConflict,
  InvalidCredentials,
  InvalidRequest,
  JobEnded,
  MinimumWaitActive,
  NotFound,
  Overloaded,
  QuotaExceeded,
  RateLimited,
  SendFailed
} from "../domain/Errors.ts"
import * as Ids from "../domain/Ids.ts"
import type { Job } from "../domain/Job.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { Status as RecipientStatus } from "../domain/Recipient.ts"
import type { Template } from "../domain/Template.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import * as Lines from "../sender/Lines.ts"
import type { HookRequest, Senders } from "../sender/Sender.ts"
import type { Report } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Stores } from "../storage/Stores.ts"
import type { AddressPolicy } from "../webhook/AddressPolicy.ts"
import type { WebhookTransport } from "../webhook/WebhookTransport.ts"
import * as Consequences from "../worker/Consequences.ts"
import { defaultLeaseMs, Presence } from "../worker/Presence.ts"
import { Wake } from "../worker/Wake.ts"
import * as Worker from "../worker/Worker.ts"
import * as Admin from "./Admin.ts"
import * as Checks from "./Checks.ts"
import * as DirectMessages from "./DirectMessages.ts"
import type { Estimate } from "./Estimates.ts"
import * as Hooks from "./Hooks.ts"
import * as Jobs from "./Jobs.ts"
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
  TemplateQuery,
  Unauthorized
} from "./Operations.ts"
import type { TemplateMessageRequest, Unchecked } from "./Requests.ts"
import * as Sends from "./Sends.ts"
import * as Templates from "./Templates.ts"

export type * from "./Operations.ts"

export class Engine extends Context.Tag("@sendwright/core/engine/Engine")<
  Engine,
  {
    /** Checks 1 and 2: credentials, requests per minute. */
    readonly identify: (
      credentials: Credentials
    ) => Effect.Effect<Caller, InvalidCredentials | RateLimited | StorageError>
    /** Checks 3 to 5: subscription and feature, permission (null = none is needed), session connected. */
    readonly authorize: (caller: Caller, permission: Permission | null) => Effect.Effect<void, Unauthorized>
    readonly templates: (caller: Caller, query: TemplateQuery) => Effect.Effect<Paged<Template>, StorageError>
    readonly template: (
      caller: Caller,
      templateId: number
    ) => Effect.Effect<Template, NotFound | StorageError>
    /** What a send would cost; needs no consent and creates nothing. */
    readonly estimate: (
      caller: Caller,
      request: TemplateMessageRequest | Unchecked,
      options?: { readonly explain?: boolean | undefined }
    ) => Effect.Effect<Estimate, InvalidRequest | StorageError>
    /** Accepts a template send: durable when it answers. */
    readonly send: (
      caller: Caller,
      command: SendCommand
    ) => Effect.Effect<
      Acknowledgement,
      | InvalidRequest
      | IdempotencyConflict
      | ConsentRequired
      | QuotaExceeded
      | MinimumWaitActive
      | Overloaded
      | StorageError
    >
    /** Sends one text message now. */
    readonly sendDirect: (
      caller: Caller,
      command: DirectCommand
    ) => Effect.Effect<
      DirectAcknowledgement,
      | InvalidRequest
      | IdempotencyConflict
      | ConsentRequired
      | DailyLimitReached
      | MinimumWaitActive
      | Overloaded
      | SendFailed
      | StorageError
    >
    /** A direct message of this key, as it is now: one whose outcome was unknown may be settled by a receipt. */
    readonly message: (caller: Caller, messageId: string) => Effect.Effect<Message, NotFound | StorageError>
    /** This key's jobs, newest first. */
    readonly jobs: (caller: Caller, query: JobQuery) => Effect.Effect<Paged<Job>, StorageError>
    readonly job: (
      caller: Caller,
      jobId: string,
      query: { readonly recipientStatus?: RecipientStatus | undefined; readonly page: Page }
    ) => Effect.Effect<JobDetail, NotFound | StorageError>
    /** Cancels what of a job of this key is not in flight; the job is `canceling` until that has ended. */
    readonly cancel: (caller: Caller, jobId: string) => Effect.Effect<Job, JobEnded | NotFound | StorageError>
    /** What a platform reports of messages, by our message ids; answers those that nobody knows. */
    readonly receive: (reports: ReadonlyArray<Report>) => Effect.Effect<ReadonlyArray<Report>, StorageError>
    /**
     * What a platform sent to the hook of a session; answers the text that a handshake asks for, else null. Nothing is
     * parsed before its signature is right.
     */
    readonly hook: (
      provider: string,
      sessionId: string,
      request: Omit<HookRequest, "now">
    ) => Effect.Effect<string | null, HookForged | InvalidRequest | NotFound | StorageError>
    /** The operator's side. */
    readonly admin: Admin.Admin
    /** Does everything that is due now, until nothing is: sends, receipts, webhook deliveries. For tests and cron. */
    readonly drain: Effect.Effect<void, StorageError>
  }
>() {}

/** What the engine stands on. */
export type Requirements = Stores | Senders | SecretBox | WebhookTransport | AddressPolicy

const make = Effect.gen(function* () {
  const worker = yield* Worker.Worker
  const ids = Ids.make(yield* Ids.RandomBytes)
  const open = yield* Lines.make
  const checks = yield* Checks.make
  const jobs = yield* Jobs.make
  const messages = yield* Messages.make
  const sends = yield* Sends.make(checks, ids)
  const templates = yield* Templates.make
  return Engine.of({
    identify: checks.identify,
    authorize: Checks.authorize,
    templates: templates.list,
    template: templates.find,
    estimate: sends.estimate,
    send: sends.send,
    sendDirect: yield* DirectMessages.make({ checks, ids, open, draw: yield* Consequences.make }),
    jobs: jobs.list,
    message: messages.find,
    job: jobs.find,
    cancel: jobs.cancel,
    receive: worker.inbound.reports,
    hook: yield* Hooks.make(open, worker.inbound),
    admin: yield* Admin.make,
    drain: worker.drain
  })
})

/**
 * The engine and its worker. Nothing runs in the background until `Worker.layerLoops` is added: a process that
 * only accepts leaves it out, and a test calls `drain`.
 */
export const layer = (
  options: Partial<Worker.Options> = {}
): Layer.Layer<Engine | Worker.Worker, never, Requirements> =>
  Layer.effect(Engine, make).pipe(
    Layer.provideMerge(Worker.layer(options)),
    Layer.provide([Wake.layer, Presence.layer(options.leaseMs ?? defaultLeaseMs)])
  )
