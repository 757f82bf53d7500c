/** Reads news of templates and of accounts out of a hook's changes (whatsapp-cloud.md §1.2, §1.12). */
import type { Instant } from "../../domain/Instant.ts"
import * as Json from "../../domain/Json.ts"
import type { SessionNews, TemplateNews } from "../Sender.ts"

/** What the events of a template mean for its status. */
const templateStatuses: ReadonlyMap<string, string> = new Map([
  ["REINSTATED", "approved"],
  ["UNARCHIVED", "approved"],
  ["FLAGGED", "approved"]
])

const lower = (text: string | undefined): string | undefined => text?.toLowerCase()

/** What is new of the template, by the field; undefined where nothing of it is understood. */
const newsOf = (field: string, value: unknown): Partial<TemplateNews> | undefined => {
  const category = lower(Json.textAt(value, "new_category"))
  const correctCategory = lower(Json.textAt(value, "correct_category"))
  switch (field) {
    case "message_template_status_update": {
      const event = Json.textAt(value, "event")
      return event === undefined ? undefined : { status: templateStatuses.get(event) ?? event.toLowerCase() }
    }
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
export const template = (field: string, value: unknown): TemplateNews | undefined => {
  const name = Json.textAt(value, "message_template_name")
  const language = Json.textAt(value, "message_template_language")
  const news = newsOf(field, value)
  if (name === undefined || language === undefined || news === undefined) return undefined
  const platformId = Json.wordAt(value, "message_template_id") ?? null
  return { platformId, name, language, ...news, origin: { field, content: value } }
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

const bannedStates: ReadonlySet<unknown> = new Set(["DISABLE", "DISABLED"])

/** The platform writes one state, or a list of them. */
const isBanned = (value: unknown): boolean => {
  const state = Json.at(value, "ban_info", "waba_ban_state")
  return Array.isArray(state) ? state.some((each) => bannedStates.has(each)) : bannedStates.has(state)
}

/** A restriction on sending; there are others, such as on adding numbers. */
const isRestricted = (value: unknown): boolean =>
  Json.listAt(value, "restriction_info").some((each) =>
    /MESSAGING/.test(Json.textAt(each, "restriction_type") ?? "")
  )

/** Why nothing more can be sent over the account; null while it can. */
const endOf = (value: unknown): string | null => {
  const event = Json.textAt(value, "event")
  if (isBanned(value)) return "The platform has banned the account."
  if (isRestricted(value)) return "The platform restricts the account's sending."
  return event === "PARTNER_REMOVED" || event === "PARTNER_APP_UNINSTALLED"
    ? "The account no longer shares itself with the partner whose app this is."
    : null
}

export const account = (field: string, value: object, at: Instant | null): SessionNews => ({
  kind: field,
  news: value,
  at,
  disconnects: field === "account_update" ? endOf(value) : null
})
