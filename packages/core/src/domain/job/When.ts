/**
 * The times at which a message may go (contract.md §14 "Time"): a moment that was asked for, its expiry, and the hours that are allowed at the
 * recipient's place. Zones are the platform's own (`Intl`), those of a number follow from its country.
 */
import metadata from "libphonenumber-js/min/metadata"
import * as Address from "../Address.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Memo from "../Memo.ts"
import * as Phone from "../Phone.ts"
import * as ClosedMarkets from "../session/ClosedMarkets.ts"
import type { Failure } from "./Recipient.ts"

/** A local time in a zone, or at the recipient's place. */
export interface Local {
  readonly local: string
  readonly timeZone: string
}

/** As answers and events have it. */
export const told = (
  moment: Moment | null
): string | { readonly local: string; readonly time_zone: string } | null => {
  if (moment === null) return null
  return typeof moment === "number"
    ? Time.format(moment)
    : { local: moment.local, time_zone: moment.timeZone }
}

/** Names the zone of whoever the message is for. */
export const recipientZone = "recipient"

export type Moment = Instant | Local

/** The hours of a day in which messages may go, and what becomes of one outside of them. */
export interface Hours {
  readonly from: string
  readonly to: string
  /** Monday is 1; null = all days. Hours over midnight are of the day on which they begin. */
  readonly days: ReadonlyArray<number> | null
  readonly outside: "hold" | "skip"
}

/** The times that a send asks for, as they were accepted or changed last. */
export interface Timing {
  readonly sendAt: Moment | null
  readonly expiresAt: Moment | null
  readonly hours: Hours | null
  /** The first due time of its recipients. */
  readonly startsAt: Instant
  /** The first expiry of those that are left; null when none of them expires. */
  readonly expiring: Instant | null
}

/** A recipient's own times. */
export interface Own {
  readonly sendAt: Moment | null
  readonly expiresAt: Moment | null
  readonly timeZone: string | null
}

/** A message may be asked for and expire so much later, at most. */
export const furthestMs = 366 * Time.day

export const localForm = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d$/
export const hourForm = /^(?:[01]\d|2[0-3]):[0-5]\d$/

// Zones ------------------------------------------------------------------------------------------------------------

const formatOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
    era: "short"
  })

/** True of the name of a zone; an offset is none, since it knows no summer. */
export const isZone = (name: string): boolean => {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(name)) return false
  try {
    return formatOf(name) !== undefined
  } catch {
    return false
  }
}

interface Zone {
  readonly format: Intl.DateTimeFormat
  /** Offsets by the quarter of an hour: no zone changes within one. */
  readonly offsets: Map<number, number>
}

const quarter = 15 * Time.minute
const mostOffsets = 512

const zoneOf = (
  (memo: Memo.Memo<Zone>) => (name: string) =>
    memo(name, () => ({ format: formatOf(name), offsets: new Map() }))
)(Memo.make(1024))

/** The milliseconds by which the zone's clocks are ahead of UTC. */
export const offsetAt = (name: string, at: Instant): number => {
  const { format, offsets } = zoneOf(name)
  const from = Math.floor(at / quarter) * quarter
  const known = offsets.get(from)
  if (known !== undefined) return known
  const parts = new Map(format.formatToParts(from).map(({ type, value }) => [type, value]))
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type))
  const local = Date.UTC(
    part("year"),
    part("month") - 1,
    part("day"),
    part("hour"),
    part("minute"),
    part("second")
  )
  if (offsets.size >= mostOffsets) offsets.clear()
  offsets.set(from, local - from)
  return local - from
}

/**
 * The instant of a zone's local time, both as if they were UTC's. One that does not exist is the next that does, one that exists
 * twice is the first.
 */
const instantIn = (zone: string, local: number): Instant => {
  const [early, late] = [Time.at(local - Time.day), Time.at(local + Time.day)]
  const before = offsetAt(zone, early)
  const after = offsetAt(zone, late)
  const first = Time.at(local - Math.max(before, after))
  const second = Time.at(local - Math.min(before, after))
  if (first + offsetAt(zone, first) === local) return first
  if (second + offsetAt(zone, second) === local) return second
  // The clocks skip it: the change is the next time that exists.
  let [low, high] = [early, late]
  while (high - low > 1) {
    const middle = Time.at((low + high) / 2)
    if (offsetAt(zone, middle) === before) low = middle
    else high = middle
  }
  return high
}

const localOf = (text: string): number => Time.parse(`${text}:00Z`) ?? Number.NaN

/** False of a day that no calendar has. */
export const isLocal = (text: string): boolean => localForm.test(text) && !Number.isNaN(localOf(text))

/** The instant of a moment; of several zones, the one at which it has come in all of them. */
export const instantOf = (moment: Moment, zones: ReadonlyArray<string>): Instant => {
  if (typeof moment === "number") return moment
  const { local, timeZone } = moment
  const at = localOf(local)
  return timeZone === recipientZone
    ? Time.max(...zones.map((zone) => instantIn(zone, at)))
    : instantIn(timeZone, at)
}

// Of a number ------------------------------------------------------------------------------------------------------

/** Countries of which `Intl` knows no zone, as of tzdata 2026a. */
const otherZones: Readonly<Record<string, string>> = {
  AC: "Atlantic/St_Helena",
  TA: "Atlantic/St_Helena",
  XK: "Europe/Belgrade"
}

/** The name of the method in Node 20, and of the getter before it. */
interface WithZones extends Intl.Locale {
  readonly timeZones?: ReadonlyArray<string>
  readonly getTimeZones?: () => ReadonlyArray<string>
}

const knownZones = (country: string): ReadonlyArray<string> => {
  const locale: WithZones = new Intl.Locale(`und-${country}`)
  return locale.getTimeZones?.() ?? locale.timeZones ?? []
}

/** The zones of countries, with which nobody is called at night whoever of them it is. */
const zonesIn = (
  (memo: Memo.Memo<ReadonlyArray<string>>) => (countries: ReadonlyArray<string>) =>
    memo(countries.join(" "), () => {
      const zones = new Set(
        countries.flatMap((country) => {
          const known = knownZones(country)
          return known.length > 0 ? known : [otherZones[country] ?? "UTC"]
        })
      )
      return zones.size > 0 ? [...zones] : ["UTC"]
    })
)(Memo.make(512))

const isInUnitedStates = ClosedMarkets.closedFor(ClosedMarkets.whatsApp, "marketing")

/** The first digits that tell a country of others with its calling code; undefined of the code's other countries. */
const leadingOf = (country: string): RegExp | undefined => {
  const entry: ReadonlyArray<unknown> | undefined = Object.entries(metadata.countries).find(
    ([name]) => name === country
  )?.[1]
  const digits = entry?.[10]
  return typeof digits === "string" ? new RegExp(`^(?:${digits})`) : undefined
}

const countriesByCode: ReadonlyMap<
  string,
  ReadonlyArray<readonly [country: string, leading: RegExp | undefined]>
> = new Map(
  Object.entries(metadata.country_calling_codes).map(([code, countries]) => [
    code,
    countries.map((country) => [country, leadingOf(country)] as const)
  ])
)

/** The countries that a number may be of. */
export const countriesOf = (phone: string): ReadonlyArray<string> => {
  if (isInUnitedStates(phone)) return ["US"]
  const code = Phone.callingCode(phone) ?? ""
  const countries = countriesByCode.get(code) ?? []
  const national = phone.slice(code.length)
  const told = countries.filter(([, leading]) => leading?.test(national))
  const some = told.length > 0 ? told : countries.filter(([, leading]) => leading === undefined)
  return (some.length > 0 ? some : countries).map(([country]) => country)
}

/** The zones that somebody may be in. */
export const zonesOf = (address: Address.Address, timeZone: string | null): ReadonlyArray<string> => {
  if (timeZone !== null) return [timeZone]
  const { phone, userId } = Address.personOf(address)
  return zonesIn(phone === null ? [Address.countryOf(userId ?? "") ?? ""] : countriesOf(phone))
}

// Hours ------------------------------------------------------------------------------------------------------------

const minutesOf = (hour: string): number =>
  (Number(hour.slice(0, 2)) * 60 + Number(hour.slice(3))) * Time.minute

/** Monday is 1. */
const weekdayOf = (day: number): number => ((((day / Time.day + 3) % 7) + 7) % 7) + 1

/** The first time from `after` on that is within the hours in a zone; null where no day has any. */
const nextIn = ({ days, from, to }: Hours, zone: string, after: Instant): Instant | null => {
  const [begin, end] = [minutesOf(from), minutesOf(to)]
  const local = after + offsetAt(zone, after)
  const today = Math.floor(local / Time.day) * Time.day
  // Hours over midnight may have begun yesterday; a week later each day has come.
  for (let day = today - Time.day; day <= today + 8 * Time.day; day += Time.day) {
    if (days !== null && !days.includes(weekdayOf(day))) continue
    const last = instantIn(zone, end > begin ? day + end : day + Time.day + end)
    const first = instantIn(zone, day + begin)
    if (after >= last || first >= last) continue
    const found = Time.max(first, after)
    // Clocks that were set back may be before their beginning again.
    return Time.after(found, Math.max(0, day + begin - (found + offsetAt(zone, found))))
  }
  return null
}

/** Hours that do not come within so many days never come: each change of the clocks was among them. */
const latestMs = 400 * Time.day

/** In so long each hour of a week has come, also one that began a day before. */
const wholeWeek = 9 * Time.day

const dayOf = (at: Instant): Instant => Time.at(Math.floor(at / Time.day) * Time.day)

/** The first day on which the clocks of a zone change; null where none do. */
const changeOf = (zones: ReadonlyArray<string>, from: Instant, until: Instant): Instant | null => {
  for (let day = from; day <= until; day = Time.after(day, Time.day)) {
    const next = Time.after(day, Time.day)
    if (zones.some((zone) => offsetAt(zone, day) !== offsetAt(zone, next))) return day
  }
  return null
}

/**
 * The first time from `after` on that is within all hours in all zones; null where there is none. What does not come in a whole
 * week does not come before the clocks change.
 */
export const next = (
  hours: ReadonlyArray<Hours>,
  zones: ReadonlyArray<string>,
  after: Instant
): Instant | null => {
  const until = Time.after(after, latestMs)
  let [at, since] = [after, after]
  while (at <= until) {
    let latest = at
    for (const each of hours)
      for (const zone of zones) {
        const found = nextIn(each, zone, at)
        if (found === null) return null
        if (found > latest) latest = found
      }
    if (latest === at) return at
    at = latest
    if (at - since <= wholeWeek) continue
    const change = changeOf(zones, Time.after(dayOf(since), Time.day), until)
    if (change === null) return null
    at = Time.max(at, change)
    since = change
  }
  return null
}

// A recipient's turn -----------------------------------------------------------------------------------------------

/** The moments that a recipient was asked to be sent and to expire at. */
export interface Moments {
  readonly timing: Pick<Timing, "expiresAt" | "hours" | "sendAt"> | null
  readonly own: Own | null
  readonly address: Address.Address
}

/** The rules by which a recipient's time is told. */
export interface Rules extends Moments {
  /** The session's hours of the purpose. */
  readonly quiet: Hours | null
}

const hoursOf = ({ quiet, timing }: Rules): ReadonlyArray<Hours> =>
  [timing?.hours ?? null, quiet].filter((hours) => hours !== null)

const zonesBy = ({ address, own }: Moments): ReadonlyArray<string> => zonesOf(address, own?.timeZone ?? null)

/** The expiry of a recipient; null without one. */
export const expiry = (rules: Moments): Instant | null => {
  const moment = rules.own?.expiresAt ?? rules.timing?.expiresAt ?? null
  return moment === null ? null : instantOf(moment, zonesBy(rules))
}

/** The time for which a recipient was asked to be sent; one that is past is now. */
export const askedFor = (rules: Moments, now: Instant): Instant => {
  const moment = rules.own?.sendAt ?? rules.timing?.sendAt ?? null
  return moment === null ? now : Time.max(instantOf(moment, zonesBy(rules)), now)
}

/** True where its hours come in one of the zones at least, so that it helps to know which the recipient is in. */
export const comesInOne = (rules: Rules, after: Instant): boolean =>
  zonesBy(rules).some((zone) => next(hoursOf(rules), [zone], after) !== null)

/** The answer to a recipient's turn. */
export type Turn =
  | { readonly _tag: "Now" | "Expired" | "Never" | "Outside" }
  | { readonly _tag: "Later"; readonly at: Instant }

/** Asked before each attempt. */
export const turn = (rules: Rules, now: Instant): Turn => {
  const hours = hoursOf(rules)
  const end = expiry(rules)
  if (end !== null && end <= now) return { _tag: "Expired" }
  if (hours.length === 0) return { _tag: "Now" }
  const zones = zonesBy(rules)
  const at = next(hours, zones, now)
  if (at === now) return { _tag: "Now" }
  const isSkipped = hours.some((each) => each.outside === "skip" && next([each], zones, now) !== now)
  if (isSkipped) return { _tag: "Outside" }
  if (at === null) return { _tag: "Never" }
  return end !== null && end <= at ? { _tag: "Expired" } : { _tag: "Later", at }
}

/** True of a time at which its hours begin: who is due then was put off by them. */
export const beginsAt = (rules: Rules, at: Instant): boolean => {
  const before = turn(rules, Time.at(at - 1))
  return before._tag === "Later" && before.at === at
}

/** When a recipient's first attempt is due. What has no time left by then is due when it was asked for, to be ended. */
export const dueAt = (rules: Rules, now: Instant): Instant => {
  const asked = askedFor(rules, now)
  const found = turn(rules, asked)
  return found._tag === "Later" ? found.at : asked
}

/** The failure of a recipient that is not sent any more for its time. Hours that never come end it, too. */
export const failureOf = (tag: "Expired" | "Never" | "Outside"): Failure => ({
  code: tag === "Expired" ? "expired" : "outside_hours",
  provider_code: null,
  message:
    tag === "Expired"
      ? "The message expired before it could be sent."
      : "Its turn came outside the hours that are allowed at the recipient's place.",
  permanent: true
})

/** The rules that hours break. */
export const hoursFault = ({ days, from, to }: Pick<Hours, "days" | "from" | "to">): string | undefined => {
  if (from === to) return "`to` must be another time than `from`."
  return days !== null && new Set(days).size < days.length ? "`days` must name each day once." : undefined
}
