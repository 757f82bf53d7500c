/**
 * When a template may be another at its platform than here (contract.md §11): the platform is asked for it once, and its
 * jobs wait until then. One that the platform paused is asked for again, since no hook is promised at the end (§13).
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { TemplateContent } from "./Template.ts"

/** The status that a claim reads for a template that is to be fetched, in the place of the template's own. */
export const changedStatus = "changed"

export interface TemplateCheck {
  /** When the platform is asked next; null where nothing is to be asked. */
  readonly at: Instant | null
  /** How often it was asked since. */
  readonly count: number
  /** When it answered last; null before. */
  readonly answeredAt: Instant | null
  /** Since when it is paused; null while it is not. */
  readonly pausedAt: Instant | null
  /** When the platform is asked whether it is paused still; null while it is not. */
  readonly recheckAt: Instant | null
}

export const unchecked: TemplateCheck = {
  at: null,
  count: 0,
  answeredAt: null,
  pausedAt: null,
  recheckAt: null
}

/** When a paused template is asked for after its pause: after 3 hours, after 6 more, and then once a day. */
const recheckAfter = (pausedAt: Instant, now: Instant): Instant => {
  const [first, second] = [Time.after(pausedAt, 3 * Time.hour), Time.after(pausedAt, 9 * Time.hour)]
  if (now < first) return first
  return now < second ? second : Time.after(second, (Math.floor((now - second) / Time.day) + 1) * Time.day)
}

/** The check after the template's status changed; the same one where it has nothing to do with a pause. */
export const followed = (check: TemplateCheck, status: string, now: Instant): TemplateCheck => {
  if (status === "paused")
    return check.pausedAt === null ? { ...check, pausedAt: now, recheckAt: recheckAfter(now, now) } : check
  return check.pausedAt === null ? check : { ...check, pausedAt: null, recheckAt: null }
}

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

/** When a question about a pause is asked again that has no answer. */
const recheckAgainMs = 10 * Time.minute

const isDueAt = (at: Instant | null, now: Instant): at is Instant => at !== null && at <= now

export const isDue = ({ at, recheckAt }: TemplateCheck, now: Instant): boolean =>
  isDueAt(at, now) || isDueAt(recheckAt, now)

/** The check once it is taken in hand: nobody else asks before, and it is asked again if there is no answer. */
export const claimed = (check: TemplateCheck, now: Instant): TemplateCheck => ({
  ...check,
  ...(isDueAt(check.at, now)
    ? {
        at: Time.after(now, Math.min(Time.hour, 15 * Time.second * 2 ** check.count)),
        count: check.count + 1
      }
    : {}),
  recheckAt: isDueAt(check.recheckAt, now) ? Time.after(now, recheckAgainMs) : check.recheckAt
})

/** A check as it was taken in hand. */
export type Claimed = Pick<TemplateCheck, "at" | "count" | "recheckAt">

/** True while nobody has asked for it again, nor taken it in hand. */
export const isInHand = ({ at, count, recheckAt }: TemplateCheck, claimed: Claimed): boolean =>
  at === claimed.at &&
  (at === null ? recheckAt !== null && recheckAt === claimed.recheckAt : count === claimed.count)

export const ended = (check: TemplateCheck, now: Instant): TemplateCheck => ({
  ...check,
  at: null,
  count: 0,
  answeredAt: now,
  recheckAt: check.pausedAt === null ? null : recheckAfter(check.pausedAt, now)
})

/** True when a message made for one of the contents is one of the other, too: its values have the same places. */
export const fits = (content: TemplateContent, other: TemplateContent): boolean => {
  const placesOf = ({ bindings, variables }: TemplateContent): string =>
    JSON.stringify([
      // A button is told by its binding: its key may be of another build.
      variables.map(({ key, media_type, type }) => [
        key.startsWith("button.") ? "button" : key,
        type,
        media_type
      ]),
      bindings
    ])
  return placesOf(content) === placesOf(other)
}
