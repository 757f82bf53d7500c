/**
 * Every refusal as RFC 9457 problem+json (contract.md §2). `describe` is the one total mapping from the engine's
 * errors to statuses: an error added to the engine does not compile here until it has one.
 */
import * as Match from "effect/Match"
import * as Record from "effect/Record"
import * as Str from "effect/String"
import type { Errors, Readiness, StorageError } from "../index.ts"
import { Fault } from "../index.ts"
import * as Wire from "./Wire.ts"

export type EngineError =
  | InstanceType<(typeof Errors)[keyof typeof Errors]>
  | Readiness.NotReady
  | StorageError.StorageError

/** Refusals of the host itself. */
export type HostCode =
  | "not_found"
  | "method_not_allowed"
  | "payload_too_large"
  | "unsupported_media_type"
  | "malformed_request"
  | "request_timeout"
  | "headers_too_large"
  | "insufficient_permission"
  | "internal"
  | "unavailable"

interface Entry {
  readonly status: number
  /** Absent: the words of the code. */
  readonly title?: string
  readonly description: string
}

const entries = {
  malformed_request: {
    status: 400,
    description:
      "What came is no HTTP/1.1 request: the request line, a header, the length or a chunk of the body cannot be read; the Host header is missing or empty; HTTP/1.0 comes with Transfer-Encoding, or HTTP/1.1 with another than chunked; or Host, Authorization, x-public-key, x-secret-key or Idempotency-Key is given twice. The connection is closed."
  },
  invalid_credentials: {
    status: 401,
    description:
      "The pair of x-public-key and x-secret-key proves no active API key. A missing header, an unknown key, a wrong secret, and an inactive or revoked key are not told apart. The admin API answers the same to a bearer token that is no operator's."
  },
  subscription_inactive: {
    status: 402,
    description:
      "The account's subscription is not active, so nothing can be done with its keys. Ask the operator to activate it."
  },
  feature_unavailable: {
    status: 402,
    description:
      "The account's plan does not include the feature (templates, or direct messages) that this operation belongs to."
  },
  quota_exceeded: {
    status: 402,
    description:
      "Accepting the send would take the account over its template recipients of the day (UTC). Nothing was consumed; send fewer recipients, or tomorrow."
  },
  daily_limit_reached: {
    status: 402,
    description:
      "The account's direct messages of the day (UTC) are used. Nothing was consumed; the limit is fresh again at midnight UTC."
  },
  insufficient_permission: {
    status: 403,
    description:
      "The API key lacks the permission that this operation needs, or the operator the role. Permissions of keys are changed through the admin API; an operator of another role is a new one."
  },
  consent_required: {
    status: 403,
    description:
      "Recipients listed in `errors` have no registered consent for this purpose, or withdrew it. Nothing was sent to anyone. Leave them out. Where none is registered, register what they gave; who withdrew it alone can give it again."
  },
  not_found: {
    status: 404,
    description:
      "There is no such route, or no such thing for this caller. Another key's job or message is not told apart from one that does not exist."
  },
  method_not_allowed: {
    status: 405,
    description: "The path exists, but not with this method. The Allow header lists those that it has."
  },
  request_timeout: {
    status: 408,
    description:
      "The headers did not come within 10 seconds, or the whole request within 15. Nothing was done, and the connection is closed; repeat the request."
  },
  session_disconnected: {
    status: 409,
    description:
      "The session that the API key is tied to is not connected to its platform. Connect it, then repeat the request."
  },
  idempotency_conflict: {
    status: 409,
    description:
      "The Idempotency-Key was used with another body. `job_id` is the job that the key stands for. A new request needs a fresh key; a repeated one needs the very same body."
  },
  job_ended: {
    status: 409,
    description:
      "The job has ended, so that nothing of it is left to cancel, to change or to hold; or it was canceled, which is final, so that it cannot be retried. The job itself tells what became of each recipient."
  },
  content_expired: {
    status: 409,
    description:
      "What the job sent was forgotten, as the `retention` of its account says, so that nothing of it can be sent again. Send anew what is still to be sent."
  },
  precondition_failed: {
    status: 412,
    description:
      "What is to be changed is not as `If-Match` says: somebody else changed it since it was read, or something happened to it. Nothing was done. Read it again, and decide anew. Where a path answers no ETag, every If-Match is refused."
  },
  payload_too_large: {
    status: 413,
    description:
      "The body is over 1 MiB, over 4 KiB of a sign-in, or over 1 KiB where none is taken. Split the request; a send takes at most 250 recipients in any case."
  },
  unsupported_media_type: {
    status: 415,
    description:
      "Bodies are JSON in UTF-8: send Content-Type: application/json, with charset=utf-8 or no charset, and without a content encoding."
  },
  invalid_request: {
    status: 422,
    description:
      "The request has faults, all listed in `errors` (at most 250) with a JSON pointer to the field, a code, and what would be right. Nothing is ignored: a member or parameter that the operation does not define is a fault, too. Body fields start at the field's name; headers, query and path parameters are below /headers, /query and /path. A body is nested at most 32 levels deep, and one over 32 KiB has at most 100 members of one object, 10,000 items of one array, 1,000 different names of members, and 37,000 members and items in all, or 55,000 where templates are imported and 61,000 where consents are recorded, 52,000 of them strings. Nothing was done."
  },
  send_failed: {
    status: 422,
    description:
      'The platform refused the direct message, for the reason given. With `outcome: "unknown"` it is not known whether the platform took it; a receipt settles it later, and `links.status` is where to read it.'
  },
  window_closed: {
    status: 422,
    description:
      "The person's last message to the session is more than 24 hours old, so the platform would refuse free text. It was not asked, nothing was recorded, and the Idempotency-Key stays free. Send a template, or wait until they write."
  },
  rate_limited: {
    status: 429,
    description:
      "The API key made more requests than its plan allows per minute, more hooks came for a session or from an address than the host takes per second, or too many wrong credentials came from this address. Wait as many seconds as Retry-After says."
  },
  minimum_wait_active: {
    status: 429,
    description:
      "The plan's minimum wait since this key's last accepted send has not passed. Wait as many seconds as Retry-After says."
  },
  headers_too_large: {
    status: 431,
    description:
      "The request line and the headers are over 16 KiB together, or there are more than 100 headers. Nothing was done, and the connection is closed."
  },
  internal: {
    status: 500,
    title: "Internal error",
    description:
      "Something went wrong on our side. It is logged under the request id; what you sent may be repeated with the same Idempotency-Key."
  },
  unavailable: {
    status: 503,
    description:
      "The storage does not answer, more sends wait than it keeps up with, more requests of the key wait for direct messages that are still under way than may (32), the host has as many connections or as much of bodies coming in as it may, or the service is stopping. Nothing that was acknowledged is lost. Repeat the request after Retry-After with the same Idempotency-Key."
  }
} satisfies Readonly<Record<string, Entry>>

/** The catalogue behind `GET /problems/{code}`. */
export const catalogue = Record.map(entries, ({ description, status, title }: Entry, code) => ({
  status,
  title: title ?? Str.capitalize(code.replaceAll("_", " ")),
  description
}))

export type Code = keyof typeof catalogue

/** The codes of single faults within `errors`. */
export const faultCatalogue: Readonly<Record<Fault.Code, string>> = {
  required: "The field is required and absent.",
  unknown_field:
    "The operation does not define this member or parameter, and nothing is ignored. Leave it out, or correct its name.",
  invalid_type: "The field has another JSON type than asked for.",
  invalid_json: "The body is no JSON text in UTF-8.",
  out_of_range: "The field is too short, too long, too small or too large.",
  invalid_value: "The field's value is not one that is allowed.",
  kept_refused:
    "The item tells no time, so that it does not outrank a refusal by the person's own words, an erasure, or a refusal in the same list. Consent stays refused.",
  recipient_invalid:
    "The recipient's phone or reference is not valid. Phones are digits with the country calling code.",
  recipient_needs_number:
    "The template gives a one-time code by a button, and the platform sends it to numbers alone: name the recipient's `phone`.",
  recipient_duplicate:
    "Another recipient of the request is the same person, by this number or another one, and has the same values.",
  variable_missing:
    "The template asks for this variable, and neither the recipient nor the common variables give it.",
  variable_unknown: "The template does not ask for this variable.",
  variable_invalid:
    "The variable's value is empty, too long, or has what its place in the template does not allow.",
  template_not_found: "The session has no template with this id.",
  template_not_approved: "The template is not approved, so the platform would refuse it.",
  template_unsupported: "The template needs what variables cannot express.",
  currency_unsupported: "There is no rate card for the currency, and the platform does not bill in it.",
  idempotency_key_invalid: "The key is not 1 to 128 visible ASCII characters, bare or in double quotes.",
  consent_required: "The recipient has no registered consent for this purpose, or withdrew it."
}

export interface Problem {
  readonly code: Code
  readonly detail: string
  readonly faults: ReadonlyArray<Fault.Fault> | null
  readonly retryAfterMs: number | null
  /** Where to read what became of it: a path of the contract. */
  readonly link: string | null
  /** Further members of the body. */
  readonly members: Readonly<Record<string, unknown>>
}

export const problem = (
  code: Code,
  detail: string,
  more: { readonly [Name in Exclude<keyof Problem, "code" | "detail">]?: Problem[Name] | undefined } = {}
): Problem => ({
  code,
  detail,
  faults: more.faults ?? null,
  retryAfterMs: more.retryAfterMs ?? null,
  link: more.link ?? null,
  members: more.members ?? {}
})

const storageRetryMs = 1000
/** An operator decides, who takes minutes. */
const quarantineRetryMs = 60_000
/** A finding is answered again for as long. */
const notReadyRetryMs = 3000

/** As readiness answers it, too. */
export const readinessCheck = ({ fault, name, note }: Readiness.Check) => ({
  name,
  ok: fault === null,
  detail: fault ?? note ?? null
})

/** A bug of ours; what it is stands in the log alone. */
export const broken = problem(
  "internal",
  "Something went wrong on our side; it is logged under the request id."
)

export const describe: (error: EngineError) => Problem = Match.typeTags<EngineError>()({
  InvalidCredentials: (error) => problem("invalid_credentials", error.message),
  HookForged: (error) => problem("invalid_credentials", error.reason),
  Overloaded: (error) => problem("unavailable", error.message, { retryAfterMs: error.retryAfterMs }),
  PlatformUnavailable: (error) => problem("unavailable", error.reason, { retryAfterMs: 5000 }),
  StoreQuarantined: (error) => problem("unavailable", error.message, { retryAfterMs: quarantineRetryMs }),
  RateLimited: (error) => problem("rate_limited", error.message, { retryAfterMs: error.retryAfterMs }),
  SubscriptionInactive: (error) => problem("subscription_inactive", error.message),
  FeatureUnavailable: (error) => problem("feature_unavailable", error.message),
  InsufficientRole: (error) => problem("insufficient_permission", error.message),
  InsufficientPermission: (error) => problem("insufficient_permission", error.message),
  SessionDisconnected: (error) => problem("session_disconnected", error.message),
  InvalidRequest: (error) => problem("invalid_request", error.message, { faults: error.faults }),
  IdempotencyConflict: (error) =>
    problem("idempotency_conflict", error.message, {
      members:
        error.retryId !== undefined
          ? { retry_id: error.retryId }
          : error.jobId === null
            ? { message_id: error.messageId }
            : { job_id: error.jobId }
    }),
  ConsentRequired: (error) => problem("consent_required", error.message, { faults: error.faults }),
  QuotaExceeded: (error) => problem("quota_exceeded", error.message),
  DailyLimitReached: (error) => problem("daily_limit_reached", error.message),
  MinimumWaitActive: (error) =>
    problem("minimum_wait_active", error.message, { retryAfterMs: error.retryAfterMs }),
  SendFailed: ({ failure, message, messageId, outcome }) => {
    const isToBeRead = outcome === "unknown" && messageId !== null
    return problem("send_failed", message, {
      link: isToBeRead ? `/api/public/messages/${messageId}` : null,
      members: {
        ...(messageId === null ? {} : { messageId }),
        reason: failure,
        ...(isToBeRead ? { outcome } : {})
      }
    })
  },
  WindowClosed: (error) => problem("window_closed", error.message),
  PreconditionFailed: (error) => problem("precondition_failed", error.message),
  ContentExpired: (error) => problem("content_expired", error.message),
  JobEnded: (error) => problem("job_ended", error.message),
  // No request is in a transaction of an embedder.
  ForeignTransaction: () => broken,
  InsideTransaction: () => broken,
  NotFound: (error) => problem("not_found", error.message),
  NotReady: (error) =>
    problem("unavailable", error.message, {
      retryAfterMs: notReadyRetryMs,
      members: { checks: error.checks.map(readinessCheck) }
    }),
  StorageError: () => problem("unavailable", "The storage does not answer.", { retryAfterMs: storageRetryMs })
})

export const statusOf = (found: Problem): number => catalogue[found.code].status

/** The body of the answer. */
export const body = (
  found: Problem,
  context: { readonly baseUrl: string; readonly prefix: string; readonly requestId: string }
): Readonly<Record<string, unknown>> => ({
  ok: false,
  type: `${context.baseUrl}/problems/${found.code}`,
  title: catalogue[found.code].title,
  status: statusOf(found),
  code: found.code,
  detail: found.detail,
  request_id: context.requestId,
  ...(found.faults === null ? {} : { errors: Wire.faults(found.faults.slice(0, Fault.maximum)) }),
  ...found.members,
  ...(found.link === null ? {} : { links: { status: `${context.prefix}${found.link}` } })
})

/** The meaning of a fault's code; `undefined` for what is none. */
export const faultDescription = (code: string): string | undefined =>
  new Map(Object.entries(faultCatalogue)).get(code)
