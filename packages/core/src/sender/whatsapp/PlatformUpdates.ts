/** Reads news of templates and of accounts out of a hook's changes (contract.md §W1.2, §1.12). */
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Json from "../../domain/Json.ts"
import type { Announced } from "../../domain/session/Session.ts"
import { withoutEnd } from "../../domain/session/Session.ts"
import { whyOf } from "../../domain/template/Template.ts"
import type { SessionNews, TemplateNews } from "../Sender.ts"

/** The status of a template after each of the platform's events. */
const templateStatuses: ReadonlyMap<string, string> = new Map([
  ["REINSTATED", "approved"],
  ["UNARCHIVED", "approved"],
  ["FLAGGED", "approved"]
])

const lower = (text: string | undefined): string | undefined => text?.toLowerCase()

/** A locked template cannot be edited, and is sent as before (contract.md §W1.13). */
const lockings: ReadonlySet<string> = new Set(["LOCKED", "UNLOCKED"])

const statusNewsOf = (value: unknown): Partial<TemplateNews> | undefined => {
  const event = Json.textAt(value, "event")
  if (event === undefined) return undefined
  if (lockings.has(event)) return {}
  const why = whyOf(value, Json.valueAt(value, "reason") ?? null) ?? null
  return { status: templateStatuses.get(event) ?? event.toLowerCase(), why }
}

/** The news of the template in a change of a field; undefined where nothing of the change is understood. */
const newsOf = (field: string, value: unknown): Partial<TemplateNews> | undefined => {
  const category = lower(Json.textAt(value, "new_category"))
  const correctCategory = lower(Json.textAt(value, "correct_category"))
  switch (field) {
    case "message_template_status_update":
      return statusNewsOf(value)
    case "message_template_quality_update": {
      const quality = lower(Json.textAt(value, "new_quality_score"))
      return quality === undefined ? undefined : { quality }
    }
    case "template_category_update": {
      // An impending change names what is to come, and `new_category` is still what holds today.
      if (correctCategory !== undefined) return { correctCategory }
      return Json.textAt(value, "previous_category") === undefined || category === undefined
        ? undefined
        : { category, correctCategory: null }
    }
    case "template_correct_category_detection":
      return correctCategory === undefined ? undefined : { correctCategory }
    case "message_template_components_update":
      return { isChanged: true }
    default:
      return undefined
  }
}

/** Fields whose values are news of a template. */
export const templateFields: ReadonlySet<string> = new Set([
  "message_template_status_update",
  "message_template_quality_update",
  "message_template_components_update",
  "template_category_update",
  "template_correct_category_detection"
])

/** Undefined where it names no template or nothing that is understood. */
export const template = (field: string, value: unknown, at: Instant | null): TemplateNews | undefined => {
  const name = Json.textAt(value, "message_template_name")
  const language = Json.textAt(value, "message_template_language")
  const news = newsOf(field, value)
  if (name === undefined || language === undefined || news === undefined) return undefined
  const platformId = Json.wordAt(value, "message_template_id") ?? null
  return { platformId, name, language, ...news, at, origin: { field, content: value } }
}

/** Fields whose values are news of the account or of a number of it. */
export const accountFields: ReadonlySet<string> = new Set([
  "account_update",
  "account_review_update",
  "account_alerts",
  "phone_number_quality_update",
  "phone_number_name_update",
  "business_capability_update",
  "security"
])

/** The platform writes one state, or a list of them. */
const banStatesOf = (value: unknown): ReadonlyArray<unknown> =>
  [
    Json.valueAt(value, "ban_info", "waba_ban_state"),
    Json.valueAt(value, "ban_info", "ban_state"),
    Json.valueAt(value, "waba_ban_state"),
    Json.valueAt(value, "ban_state")
  ]
    .flatMap((state): ReadonlyArray<unknown> => (Array.isArray(state) ? state : [state]))
    .filter((state) => state !== undefined && state !== null)

/** The events by which nothing more can be sent over the account. */
const ends: ReadonlyMap<string | undefined, string> = new Map([
  ["DISABLED_UPDATE", "The platform has banned the account."],
  ["ACCOUNT_DELETED", "The account was deleted at the platform."],
  ["ACCOUNT_OFFBOARDED", "The account was offboarded from the platform."],
  ["PARTNER_REMOVED", "The account no longer shares itself with the partner whose app this is."],
  ["PARTNER_APP_UNINSTALLED", "The account no longer shares itself with the partner whose app this is."]
])

const bannedStates: ReadonlySet<unknown> = new Set(["DISABLE", "DISABLED"])

/** Why nothing more can be sent over the account; null while it can, also where a ban is only announced. */
const endOf = (event: string | undefined, states: ReadonlyArray<unknown>): string | null =>
  states.some((state) => bannedStates.has(state))
    ? (ends.get("DISABLED_UPDATE") ?? null)
    : event === "DISABLED_UPDATE" && states.length > 0
      ? null
      : (ends.get(event) ?? null)

/** The messages that a restriction forbids, by its type. Other types restrict nothing of ours and are only told. */
const restrictions: ReadonlyMap<string, "templates" | "replies"> = new Map([
  ["RESTRICTED_BIZ_INITIATED_MESSAGING", "templates"],
  ["RESTRICTED_CUSTOMER_INITIATED_MESSAGING", "replies"]
])

/** Seconds as a number or a text, or a date; without one it lasts until it is lifted. */
const expirationOf = (entry: unknown): Instant => {
  const given = Json.valueAt(entry, "expiration")
  const text = typeof given === "number" ? String(Math.floor(given)) : typeof given === "string" ? given : ""
  const at = /^\d{1,12}$/.test(text)
    ? Time.at(Number(text) * Time.second)
    : Time.parse(text.replace(/([+-]\d{2})(\d{2})$/, "$1:$2"))
  return at === undefined || at <= 0 ? withoutEnd : Time.min(at, withoutEnd)
}

const lifted = { templates: null, replies: null }

const restrictsOf = (event: string | undefined, value: unknown): Announced["restricts"] | undefined => {
  const entries = Json.listAt(value, "restriction_info")
  if (event === "ACCOUNT_RESTRICTION" && entries.length === 0) return lifted
  if (Json.textAt(value, "violation_info", "violation_type")?.endsWith("_UNBAN")) return lifted
  const found: { templates?: Instant; replies?: Instant } = {}
  for (const entry of entries) {
    const what = restrictions.get(Json.textAt(entry, "restriction_type") ?? "")
    if (what !== undefined) found[what] = Time.max(found[what] ?? Time.at(0), expirationOf(entry))
  }
  return found.templates === undefined && found.replies === undefined ? undefined : found
}

/** The effect of the platform's news of an account on the account's sessions (contract.md §W1.13). */
const updateOf = (value: unknown): Omit<SessionNews, "at" | "kind" | "news"> => {
  const event = Json.textAt(value, "event")
  const states = banStatesOf(value)
  const number = Json.wordAt(value, "phone_number")
  const isReinstated = states.includes("REINSTATE")
  const restricts = isReinstated ? lifted : restrictsOf(event, value)
  return {
    disconnects: isReinstated ? null : endOf(event, states),
    ...(isReinstated ? { reinstates: true } : {}),
    ...(restricts === undefined ? {} : { restricts }),
    ...(number === undefined ? {} : { number })
  }
}

export const account = (field: string, value: object, at: Instant | null): SessionNews => ({
  kind: field,
  news: value,
  at,
  ...(field === "account_update" ? updateOf(value) : { disconnects: null })
})
