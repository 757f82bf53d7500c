/**
 * When a template may be another at its platform than here (decisions.md §11): the platform is asked for it once, and its
 * jobs wait until then.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { TemplateContent } from "./Template.ts"

/** What a claim reads in the place of the status of a template that is to be fetched. */
export const changedStatus = "changed"

export interface TemplateCheck {
  /** When the platform is asked next; null where nothing is to be asked. */
  readonly at: Instant | null
  /** How often it was asked since. */
  readonly count: number
  /** When it answered last; null before. */
  readonly answeredAt: Instant | null
}

export const unchecked: TemplateCheck = { at: null, count: 0, answeredAt: null }

/** After an answer refusals are of the messages alone, for so long. */
const restMs = 10 * Time.minute

/** So often it is asked; then its jobs go on with what is known here. */
export const maximumCount = 10

/**
 * The check after news of the template (null), or after a message was refused that was sent at a time. The same one where
 * nothing has to be asked. News of one that is in hand has it asked anew: what is being fetched may be older.
 */
export const asked = (check: TemplateCheck, refusedSince: Instant | null, now: Instant): TemplateCheck => {
  const { answeredAt, at, count } = check
  if (at !== null) return count > 0 && refusedSince === null ? { ...check, at: now, count: 0 } : check
  const isAnswered =
    refusedSince !== null && answeredAt !== null && answeredAt <= now && now - answeredAt < restMs
  return isAnswered ? check : { ...check, at: now, count: 0 }
}

/** The check once it is taken in hand: nobody else asks before, and it is asked again if there is no answer. */
export const claimed = (check: TemplateCheck, now: Instant): TemplateCheck => ({
  ...check,
  at: now + Math.min(Time.hour, 15 * Time.second * 2 ** check.count),
  count: check.count + 1
})

/** A check as it was taken in hand. */
export type Claimed = Pick<TemplateCheck, "at" | "count">

/** True while nobody has asked for it again, nor taken it in hand. */
export const isInHand = (check: TemplateCheck, claimed: Claimed): boolean =>
  check.at !== null && check.at === claimed.at && check.count === claimed.count

export const ended = (now: Instant): TemplateCheck => ({ at: null, count: 0, answeredAt: now })

/** True when a message made for one of the contents is one of the other, too: its values have the same places. */
export const fits = (content: TemplateContent, other: TemplateContent): boolean => {
  const placesOf = ({ bindings, variables }: TemplateContent): string =>
    JSON.stringify([variables.map(({ key, media_type, type }) => [key, type, media_type]), bindings])
  return placesOf(content) === placesOf(other)
}
