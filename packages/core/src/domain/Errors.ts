/**
 * Every refusal the engine can answer (contract.md §2). The engine knows no HTTP: which status a refusal has
 * is the host's business, in one total mapping.
 */
import * as Data from "effect/Data"
import type { Permission } from "./account/ApiKey.ts"
import type { Feature } from "./account/Plan.ts"
import type { Fault } from "./Fault.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import type { Status as JobStatus } from "./job/Job.ts"
import type { Failure } from "./job/Recipient.ts"
import type { Role } from "./Operator.ts"
import type { State } from "./session/Session.ts"

/**
 * Refuses credentials. The answer is the same for missing, unknown, wrong, inactive and revoked ones, so that it
 * helps nobody guess.
 */
export class InvalidCredentials extends Data.TaggedError("InvalidCredentials") {
  override get message(): string {
    return "The API key is missing, unknown or not active. Send both x-public-key and x-secret-key."
  }
}

export class RateLimited extends Data.TaggedError("RateLimited")<{
  readonly limit: number
  readonly retryAfterMs: number
  readonly resetAfterMs: number
}> {
  override get message(): string {
    return `This key may make ${this.limit} requests a minute. Wait as long as Retry-After says.`
  }
}

export class SubscriptionInactive extends Data.TaggedError("SubscriptionInactive") {
  override get message(): string {
    return "The account's subscription is not active. Activate it with your operator."
  }
}

export class FeatureUnavailable extends Data.TaggedError("FeatureUnavailable")<{
  readonly feature: Feature
}> {
  override get message(): string {
    return `The account's plan does not include the feature "${this.feature}".`
  }
}

export class InsufficientPermission extends Data.TaggedError("InsufficientPermission")<{
  readonly permission: Permission
}> {
  override get message(): string {
    return `This key lacks the permission "${this.permission}".`
  }
}

/** The operator's role is too low for what is asked. Status 403. */
export class InsufficientRole extends Data.TaggedError("InsufficientRole")<{
  readonly role: Role
  readonly needed: Role
}> {
  override get message(): string {
    return `The operator has the role ${this.role}, and this needs ${this.needed}.`
  }
}

export class SessionDisconnected extends Data.TaggedError("SessionDisconnected")<{
  readonly state: State
  readonly reason: string | null
}> {
  override get message(): string {
    const why = this.reason === null ? "" : ` (${this.reason})`
    return `The session of this key is ${this.state}${why}. Connect it, then repeat the request.`
  }
}

/** The request's fields are at fault; every fault is listed. */
export class InvalidRequest extends Data.TaggedError("InvalidRequest")<{
  readonly faults: ReadonlyArray<Fault>
}> {
  override get message(): string {
    const [first] = this.faults
    const more = this.faults.length > 1 ? ` (and ${this.faults.length - 1} more)` : ""
    return first === undefined ? "The request is not valid." : `${first.message}${more}`
  }
}

export class IdempotencyConflict extends Data.TaggedError("IdempotencyConflict")<{
  /** The job that the key stands for, or the message when it was a direct one, or the retry of many jobs. */
  readonly jobId: string | null
  readonly messageId: string | null
  readonly retryId?: string | undefined
}> {
  override get message(): string {
    return "This Idempotency-Key was used for another request. Use a fresh key for a new request."
  }
}

export class ConsentRequired extends Data.TaggedError("ConsentRequired")<{
  readonly faults: ReadonlyArray<Fault>
  /** How many of them withdrew their consent. */
  readonly withdrawn: number
}> {
  override get message(): string {
    const [first, ...others] = this.faults
    if (first !== undefined && others.length === 0) return first.message
    const missing = this.faults.length - this.withdrawn
    const parts = [
      ...(missing === 0
        ? []
        : [
            `${missing} ${missing === 1 ? "recipient has" : "recipients have"} no registered consent: register it if they gave it, or leave them out.`
          ]),
      ...(this.withdrawn === 0
        ? []
        : [
            `${this.withdrawn} ${this.withdrawn === 1 ? "recipient" : "recipients"} withdrew consent, as \`errors\` tells when: leave them out, or register what they gave since, with its time.`
          ])
    ]
    return parts.join(" ")
  }
}

export class QuotaExceeded extends Data.TaggedError("QuotaExceeded")<{
  readonly limit: number
  readonly used: number
  readonly requested: number
  readonly resetsAt: Instant
}> {
  override get message(): string {
    return `The plan allows ${this.limit} template recipients a day; ${this.used} are used and ${this.requested} were asked for. It is fresh again at ${Time.format(this.resetsAt)}.`
  }
}

export class DailyLimitReached extends Data.TaggedError("DailyLimitReached")<{
  readonly limit: number
  readonly resetsAt: Instant
}> {
  override get message(): string {
    return `The plan allows ${this.limit} direct messages a day, and they are used. It is fresh again at ${Time.format(this.resetsAt)}.`
  }
}

export class MinimumWaitActive extends Data.TaggedError("MinimumWaitActive")<{
  readonly retryAfterMs: number
}> {
  override get message(): string {
    return "The plan's minimum wait between accepted sends of this key has not passed. Wait as long as Retry-After says."
  }
}

/**
 * The process has too many requests that wait: sends for their commit (`commit`), or repetitions of an API key for
 * the outcome of direct messages (`outcome`). Nothing was done.
 */
export class Overloaded extends Data.TaggedError("Overloaded")<{
  readonly waitingFor: "commit" | "outcome"
  readonly retryAfterMs: number
}> {
  override get message(): string {
    const why =
      this.waitingFor === "commit"
        ? "Too many sends wait to be recorded."
        : "Too many requests of this key wait for direct messages that are still under way."
    return `${why} Repeat the request after Retry-After, with the same Idempotency-Key.`
  }
}

/** The store was restored and is held (`domain/Restore`): no direct message is sent. Nothing was done. */
export class StoreQuarantined extends Data.TaggedError("StoreQuarantined") {
  override get message(): string {
    return "The service was restored from a backup, and its operator has not let it send again. Nothing was sent; repeat the request later, with the same Idempotency-Key."
  }
}

/**
 * The platform refused a direct message, or it is not known whether the platform accepted it (`outcome`).
 *
 * `messageId` is null when the message was not sent because the platform does not answer at present (contract.md
 * §10). Nothing is recorded then, and the request may be repeated under the same Idempotency-Key.
 */
export class SendFailed extends Data.TaggedError("SendFailed")<{
  readonly messageId: string | null
  readonly outcome: "failed" | "unknown"
  readonly failure: Failure
}> {
  override get message(): string {
    return this.failure.message
  }
}

/** The platform would refuse the text: the person's window is over (contract.md §14). Nothing was asked or recorded. */
export class WindowClosed extends Data.TaggedError("WindowClosed")<{
  readonly until: Instant | null
}> {
  override get message(): string {
    const since = this.until === null ? "" : ` since ${Time.format(this.until)}`
    return `The person's window is closed${since}: the platform takes free text within 24 hours after their last message. Send a template.`
  }
}

/**
 * The operation acts outside the database and was called inside a transaction of the embedder, whose rollback would
 * forget what it did. Nothing was done.
 */
export class InsideTransaction extends Data.TaggedError("InsideTransaction")<{
  readonly operation: string
}> {
  override get message(): string {
    return `${this.operation} acts outside the database and was called inside a transaction. Call it after the commit.`
  }
}

/**
 * The operation was called inside a transaction that was not handed over, or beside one on the one handle that SQLite has, so
 * that it could not be part of it. Nothing was done.
 */
export class ForeignTransaction extends Data.TaggedError("ForeignTransaction")<{
  readonly operation: string
}> {
  override get message(): string {
    return `${this.operation} was called while a transaction was open that the engine was not given. Hand it over (\`tx\`; with Effect Postgres.within, SqliteHandle.within, or the engine's own SqlClient), or call after its commit.`
  }
}

/** The post to a hook is not signed by the platform, or is not recent. Nothing of it was parsed. Status 401. */
export class HookForged extends Data.TaggedError("HookForged")<{ readonly reason: string }> {
  override get message(): string {
    return this.reason
  }
}

/** The platform refused, or did not answer, what an operator asked of it. Status 503. */
export class PlatformUnavailable extends Data.TaggedError("PlatformUnavailable")<{
  readonly reason: string
}> {
  override get message(): string {
    return this.reason
  }
}

/** A job that has ended cannot be canceled, changed or held, and a job that was canceled cannot be retried. Status 409. */
export class JobEnded extends Data.TaggedError("JobEnded")<{ readonly status: JobStatus }> {
  override get message(): string {
    return this.status === "canceled" || this.status === "canceling"
      ? "The job was canceled, which is final. What is still to be sent needs a send of its own."
      : `The job is ${this.status}: nothing of it is left to send.`
  }
}

/** The content of the job was forgotten, so that nothing of it can be sent again. Status 409. */
export class ContentExpired extends Data.TaggedError("ContentExpired")<{ readonly at: Instant }> {
  override get message(): string {
    return `The variables of the job's recipients were forgotten ${Time.format(this.at)}, as the account's \`retention\` says. Send anew what is still to be sent.`
  }
}

/** The thing that is to be changed is not as the caller has read it. */
export class PreconditionFailed extends Data.TaggedError("PreconditionFailed")<{
  /** `unreadable`: nobody can have read it. */
  readonly why: "changed" | "unreadable"
}> {
  override get message(): string {
    return this.why === "changed"
      ? "It was changed since it was read, by somebody else or by what happens to it. Nothing was done: read it again, and decide anew."
      : "Nothing answers an ETag for this path, so If-Match cannot hold. Leave it out."
  }
}

/** Nothing with this id exists for the caller: it is absent or belongs to somebody else. */
export class NotFound extends Data.TaggedError("NotFound")<{
  readonly what: string
  /** The name that was asked for. */
  readonly named?: string | undefined
}> {
  override get message(): string {
    return `There is no such ${this.what}${this.named === undefined ? "" : `: ${this.named}`}.`
  }
}
