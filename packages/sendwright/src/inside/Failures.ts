/** Core's errors as the package's one: codes of the REST API, names as callers write them. */
import { Fault } from "@sendwright/core"
import type { Issue } from "../api/SendwrightError.ts"
import { SendwrightError } from "../api/SendwrightError.ts"

/** Codes by core's tags. What isn't among them is no refusal but a defect. */
const codes: ReadonlyMap<string, string> = new Map([
  ["ConsentRequired", "consent_required"],
  ["DailyLimitReached", "daily_limit_reached"],
  ["FeatureUnavailable", "feature_unavailable"],
  ["ForeignTransaction", "transaction_unsupported"],
  ["HookForged", "invalid_credentials"],
  ["IdempotencyConflict", "idempotency_conflict"],
  ["InsideTransaction", "inside_transaction"],
  ["InsufficientRole", "insufficient_permission"],
  ["InsufficientPermission", "insufficient_permission"],
  ["InvalidCredentials", "invalid_credentials"],
  ["InvalidRequest", "invalid_request"],
  ["ContentExpired", "content_expired"],
  ["JobEnded", "job_ended"],
  ["MigrationError", "migration_required"],
  ["MinimumWaitActive", "minimum_wait_active"],
  ["NotFound", "not_found"],
  ["Overloaded", "unavailable"],
  ["PlatformUnavailable", "unavailable"],
  ["PreconditionFailed", "precondition_failed"],
  ["QuotaExceeded", "quota_exceeded"],
  ["RateLimited", "rate_limited"],
  ["SendFailed", "send_failed"],
  ["SessionDisconnected", "session_disconnected"],
  ["StorageError", "unavailable"],
  ["StoreQuarantined", "unavailable"],
  ["SubscriptionInactive", "subscription_inactive"],
  ["WindowClosed", "window_closed"],
  ["WrongMasterKey", "invalid_options"]
])

/** How long to wait where the error says nothing of it, as the REST API says it. */
const waits: ReadonlyMap<string, number> = new Map([
  ["StorageError", 1000],
  ["PlatformUnavailable", 5000],
  ["StoreQuarantined", 60_000]
])

/** Members that a send calls by another name than the REST API. */
const renamed: ReadonlyMap<string, string> = new Map([
  ["message", "text"],
  ["recipients", "to"],
  ["template_id", "template"]
])

type Naming = (name: string) => string

const camel: Naming = (name) =>
  name === "Idempotency-Key"
    ? "idempotencyKey"
    : name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const ofSend: Naming = (name) => renamed.get(name) ?? camel(name)

/** In snake_case where it is in camelCase, and the other way around, so that what is unknown in one is unknown in the other. */
const swapped = (name: string): string =>
  name.includes("_") ? camel(name) : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A session's `config` with the names of core, of one of our senders. The names below its members are the caller's own. */
export const configOf = (config: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(config).map(([name, value]) => [swapped(name), value]))

/** A message with the names of a `config` as callers write them. */
const wordedOfConfig = (message: string): string =>
  message
    .replace(/`(\w+)`/g, (_, name: string) => `\`${swapped(name)}\``)
    .replace(/Known here: .*/, (known) => known.replace(/\w+_\w+/g, swapped))

/** A message with the names of fields as callers of this package write them, and without HTTP's headers. */
const worded = (message: string, naming: Naming): string =>
  message
    .replace(/`([a-z]+(?:_[a-z]+)*)`/g, (_, name: string) => `\`${naming(name)}\``)
    .replace(/(?:The header )?Idempotency-Key/g, "`idempotencyKey`")
    .replace(", bare or in double quotes", "")
    .replaceAll("Retry-After", "`retryAfterMs`")

/** Parts of a request that no caller of this package sees. */
const parts: ReadonlySet<unknown> = new Set(["headers", "query", "path"])

/** Names below `variables` are the caller's own, and those below `templates` the platform's. */
const named = (path: Fault.Fault["path"], naming: Naming): Fault.Fault["path"] => {
  const [first, second, ...rest] = path
  if (first === "templates") return path
  if (first === "config" && typeof second === "string") return [first, swapped(second), ...rest]
  const own = path.indexOf("variables")
  return path.map((part, place) =>
    typeof part === "string" && (own < 0 || place < own) ? naming(part) : part
  )
}

const wordsOf = ({ message, path: [first] }: Fault.Fault, naming: Naming): string => {
  if (first === "templates") return message
  return first === "config" ? wordedOfConfig(message) : worded(message, naming)
}

/** A fault with its place as the caller gave it. */
type Respelled = (fault: Fault.Fault) => Fault.Fault

/**
 * Of recipients, or of the one of a direct message, as a pointer into the `to` that was given: a phone, a recipient, or a list of
 * either.
 */
const respelledIn =
  (to: unknown): Respelled =>
  (fault) => {
    const [first, place, ...rest] = fault.path
    const isOfList = first === "recipients" && typeof place === "number"
    if (!isOfList && !(first === "to" && place === undefined)) return fault
    const at = isOfList ? place : 0
    const one: unknown = Array.isArray(to) ? to[at] : to
    const member = isOfList ? rest : ["phone"]
    return { ...fault, path: ["to", ...(Array.isArray(to) ? [at] : []), ...(isObject(one) ? member : [])] }
  }

export const issueOf = (fault: Fault.Fault, naming = ofSend): Issue => ({
  path: Fault.pointer({ path: named(parts.has(fault.path[0]) ? fault.path.slice(1) : fault.path, naming) }),
  code: fault.code,
  message: wordsOf(fault, naming)
})

/** The message of an error with several issues. */
const toldBy = (issues: ReadonlyArray<Issue>): string | undefined => {
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : ""
  return issues[0] && `${issues[0].message}${more}`
}

/** Nothing is wrong but these, of an input whose names are the caller's. */
export const invalid = (faults: ReadonlyArray<Fault.Fault>, code = "invalid_request"): SendwrightError => {
  const issues = faults.map((fault) => ({
    path: Fault.pointer(fault),
    code: fault.code,
    message: fault.message.replace(/^The body\b/, "What is given")
  }))
  return new SendwrightError(code, toldBy(issues) ?? "The input is not valid.", { issues })
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

interface Tagged {
  readonly _tag: string
}

const isTagged = (error: unknown): error is Tagged & Readonly<Record<string, unknown>> =>
  typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string"

const isFaults = (value: unknown): value is ReadonlyArray<Fault.Fault> => Array.isArray(value)

/** Members of every error, and those that stand elsewhere. */
const elsewhere: ReadonlySet<string> = new Set([
  "_tag",
  "cause",
  "faults",
  "message",
  "name",
  "operation",
  "retryAfterMs",
  "stack"
])

const detailsOf = (error: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(error)
      .filter(([name]) => !elsewhere.has(name))
      .map(([name, value]) => [
        name,
        name === "resetsAt" && typeof value === "number" ? new Date(value) : value
      ])
  )

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : "Something went wrong on our side."

const refusal = (error: unknown, respelled: Respelled, naming = ofSend): unknown => {
  // A store says it of its own operation, and the caller's transaction is the cause.
  if (isTagged(error) && isTagged(error["cause"]) && error["cause"]._tag === "ForeignTransaction")
    return refusal(error["cause"], respelled, naming)
  const code = isTagged(error) ? codes.get(error._tag) : undefined
  if (code === undefined || !isTagged(error)) return error
  const { _tag, faults, retryAfterMs } = error
  const issues = isFaults(faults) ? faults.map((fault) => issueOf(respelled(fault), naming)) : []
  const told = _tag === "InvalidRequest" ? toldBy(issues) : undefined
  return new SendwrightError(code, told ?? worded(messageOf(error), naming), {
    issues,
    retryAfterMs: typeof retryAfterMs === "number" ? retryAfterMs : (waits.get(_tag) ?? null),
    details: detailsOf(error),
    cause: error
  })
}

/** Core's refusal as a {@link SendwrightError}; anything else, a defect or an error of the app's, as it is with its cause. */
export const ofCore = (error: unknown): unknown => refusal(error, (fault) => fault)

/** A refusal with the names that its parameters have here, by those of the operation in camelCase. */
export const inNames =
  (here: ReadonlyMap<string, string>) =>
  (error: unknown): unknown =>
    refusal(
      error,
      ({ code, message, path }) => {
        const place = parts.has(path[0]) ? 1 : 0
        const name = path[place]
        const own = typeof name === "string" ? here.get(camel(name)) : undefined
        if (own === undefined) return { path, code, message }
        return { path: path.with(place, own), code, message: message.replace(`\`${name}\``, `\`${own}\``) }
      },
      camel
    )

/** A refusal of what was given, told by `to` as it was given; anything else as it is. */
export const inTo =
  (to: unknown) =>
  (error: unknown): unknown =>
    isTagged(error) && isFaults(error["faults"]) ? refusal(error, respelledIn(to)) : error
