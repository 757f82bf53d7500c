/** Moments, zones and hours as requests and answers have them (contract.md §14 "Time"). */
import * as Schema from "effect/Schema"
import * as Time from "../domain/Instant.ts"
import * as When from "../domain/job/When.ts"
import type * as QuietHours from "../domain/session/QuietHours.ts"
import * as Text from "../domain/Text.ts"
import { ofEach } from "../domain/template/Template.ts"

const InstantText = Schema.String.pipe(
  Schema.filter((text) => Time.parse(text) !== undefined, {
    description: "an RFC 3339 date-time, or a local time with its zone",
    jsonSchema: { format: "date-time" }
  })
)

const longestZone = 64

/** Its length is told apart from what it is. */
const ZoneText = Schema.String.pipe(
  Schema.filter((name) => name !== "" && Text.length(name) <= longestZone, {
    jsonSchema: { minLength: 1, maxLength: longestZone }
  })
)

export const Zone = ZoneText.pipe(
  Schema.filter(When.isZone, { description: 'the name of a time zone, such as "Europe/Madrid"' })
)

const LocalTime = Schema.Struct({
  local: Schema.String.pipe(
    Schema.filter(When.isLocal, {
      description: 'a local date and time without an offset, such as "2026-12-24T09:00"',
      jsonSchema: { pattern: When.localForm.source }
    })
  ),
  time_zone: ZoneText.pipe(
    Schema.filter((name) => name === When.recipientZone || When.isZone(name), {
      description: 'the name of a time zone, such as "Europe/Madrid", or "recipient"'
    })
  )
}).annotations({ identifier: "LocalTime" })

/** An instant, or a local time that is one in its zone. */
export const Moment = Schema.Union(InstantText, LocalTime)
export type Moment = typeof Moment.Type

const Hour = Schema.String.pipe(
  Schema.filter((text) => When.hourForm.test(text), {
    description: 'an hour and its minutes, such as "09:00"',
    jsonSchema: { pattern: When.hourForm.source }
  })
)

const Weekday = Schema.Int.pipe(Schema.between(1, 7))

export const Hours = Schema.Struct({
  from: Hour,
  to: Hour,
  days: Schema.optional(
    Schema.Array(Weekday)
      .pipe(Schema.minItems(1), Schema.maxItems(7))
      .annotations({ description: "Monday is 1; all days when absent." })
  ),
  outside: Schema.optional(
    Schema.Literal("hold", "skip").annotations({
      description:
        "What becomes of a message whose turn comes at another hour: it waits for the next that is allowed (`hold`, when absent), or is `skipped` as `outside_hours`."
    })
  )
}).annotations({
  identifier: "Hours",
  description:
    "Hours at the recipient's place in which messages go; over midnight where `to` is before `from`. A number whose country has several time zones is sent to in hours that are allowed in all of them, unless its `time_zone` is given."
})
export type Hours = typeof Hours.Type

const quiet = Schema.optional(Schema.NullOr(Hours))

/** A change of some purposes' hours: those that are absent stay. */
export const QuietHoursChange = Schema.Struct({
  authentication: quiet,
  utility: quiet,
  marketing: quiet
}).annotations({
  description:
    "The hours in which messages of a purpose go, at each recipient's place; null for all hours. A send's own `hours` can only narrow them. They are asked before each attempt, so that a change holds for what was accepted before it. Direct messages go at any hour."
})
export type QuietHoursChange = typeof QuietHoursChange.Type

const told = Schema.NullOr(Hours)
export const QuietHoursShown = Schema.Struct({ authentication: told, utility: told, marketing: told })

export const momentOf = (given: Moment): When.Moment =>
  typeof given === "string"
    ? (Time.parse(given) ?? Time.at(0))
    : { local: given.local, timeZone: given.time_zone }

export const hoursOf = ({ days, from, outside = "hold", to }: Hours): When.Hours => ({
  from,
  to,
  days: days ?? null,
  outside
})

export const withQuietHours = (
  stood: QuietHours.QuietHours,
  change: QuietHoursChange = {}
): QuietHours.QuietHours =>
  ofEach((purpose) => {
    const given = change[purpose]
    return given === undefined ? stood[purpose] : given && hoursOf(given)
  })

export const toldHours = (hours: When.Hours | null): Hours | null => {
  if (hours === null) return null
  const { days, ...rest } = hours
  return days === null ? rest : { ...rest, days }
}

export const toldQuietHours = (hours: QuietHours.QuietHours): typeof QuietHoursShown.Type =>
  ofEach((purpose) => toldHours(hours[purpose]))
