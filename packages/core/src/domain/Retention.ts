/**
 * How long an account's rows are kept, by kind, and what of them is due to go (docs/adr/0039-retention.md). Nothing that is
 * open is ever due: a job that has not ended, a delivery that waits, the consent record that decides.
 */
import * as Records from "effect/Record"
import type { Change } from "./Change.ts"
import * as Fault from "./Fault.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import * as Occurrence from "./Occurrence.ts"

/**
 * `deliveries`: events with their deliveries and attempts. `contents`: recipients' variables, direct messages' texts, and
 * texts that people sent and nobody acted on. `results`: jobs, with their recipients and Idempotency-Keys. `unreadHooks`: parts
 * of hooks that nobody understood. `consents`: grants that a later grant has replaced.
 */
export const kinds = ["deliveries", "contents", "results", "unreadHooks", "consents"] as const
export type Kind = (typeof kinds)[number]

type Setting = `${Kind}Days`

/** In days; null = for ever. */
export type Retention = { readonly [Name in Setting]: number | null }

export const settings = kinds.map((kind): Setting => `${kind}Days`)

export const defaults: Retention = {
  deliveriesDays: 30,
  contentsDays: 90,
  resultsDays: 400,
  unreadHooksDays: 30,
  consentsDays: null
}

/** An Idempotency-Key goes with the results of its job, and holds for a week. */
export const leastDays: { readonly [Name in Setting]: number } = {
  deliveriesDays: 1,
  contentsDays: 1,
  resultsDays: 7,
  unreadHooksDays: 1,
  consentsDays: 1
}

export const mostDays = 36_500

export type RetentionChange = Change<Retention>

/** For those who do not come by a schema. */
export const faults = (change: RetentionChange | undefined): ReadonlyArray<Fault.Fault> =>
  settings.flatMap((name) => {
    const days = change?.[name]
    if (days === undefined || days === null) return []
    const least = leastDays[name]
    if (Number.isInteger(days) && days >= least && days <= mostDays) return []
    const message = `Give whole days from ${least} to ${mostDays}, or null to keep them for ever.`
    return [Fault.make(["retention", name], "invalid_value", message)]
  })

/** The settings as they are stored: those alone that an account has of its own. A default that changes is the others' from then on; null when it has none. */
export const own = (retention: Retention): RetentionChange | null => {
  const found = settings.flatMap((name) =>
    retention[name] === defaults[name] ? [] : [[name, retention[name]] as const]
  )
  return found.length === 0 ? null : Object.fromEntries(found)
}

export const daysOf = (retention: Retention, kind: Kind): number | null => retention[`${kind}Days`]

/**
 * The rows that a purge walks over, each in its own order, and the kind by which they are kept, or how long whatever an account
 * says: `events` with their deliveries, `jobContents` (what jobs sent), `texts` of direct messages that no job has any more,
 * `unattributed` and `perhapsRefusals` (texts of people), `jobs`, `retryPlans` of many of them, `unreadHooks`, `grants`, and what `inbound` items are told
 * apart by. A text goes an hour after the last job that had it: an accept that had found it has committed by then.
 */
export const walks = {
  events: "deliveries",
  jobContents: "contents",
  texts: Time.hour,
  unattributed: "contents",
  perhapsRefusals: "contents",
  jobs: "results",
  retryPlans: "results",
  unreadHooks: "unreadHooks",
  grants: "consents",
  inbound: Occurrence.rememberedMs
} as const satisfies Readonly<Record<string, Kind | number>>
export type Walk = keyof typeof walks

export const walkNames = Records.keys(walks)

/** The place of a row in its walk. */
export type Place = ReadonlyArray<string | number>

/** The place right before a row's: a walk that goes on behind it meets the row first. The last part is always a number. */
export const before = (place: Place): Place =>
  place.map((part, at) => (at === place.length - 1 && typeof part === "number" ? part - 1 : part))

/** A row that a walk meets, with all that goes when it does. */
export interface Found {
  readonly place: Place
  readonly accountId: string
  /** The retention of its account. */
  readonly retention: Retention
  /** The time in the walk's order, nearly: rows of one second may stand the other way round. */
  readonly at: Instant
  /** Since when nothing of it is open; null while something is, and where nothing is left to go. */
  readonly endedAt: Instant | null
  /** True when nothing is left of it to go, and nothing will be. */
  readonly isDone: boolean
  /** The rows that go, or lose their content. */
  readonly rows: number
  /** The rows' size, about. */
  readonly bytes: number
}

const limitOf = (retention: Retention, walk: Walk, now: Instant): Instant | null => {
  const kept = walks[walk]
  if (typeof kept === "number") return Time.before(now, kept)
  const days = daysOf(retention, kept)
  return days === null ? null : Time.before(now, days * Time.day)
}

export const isDue = (
  walk: Walk,
  { endedAt, isDone, retention }: Pick<Found, "endedAt" | "isDone" | "retention">,
  now: Instant
): boolean => {
  const limit = limitOf(retention, walk, now)
  return !isDone && endedAt !== null && limit !== null && endedAt <= limit
}

/** A store that nobody had open on any of so many days before has its first day again. */
const unknownAfterDays = 7

/** The time since which a day must have been noted, for {@link isTimeSure}. */
export const knownSince = (now: Instant): Instant =>
  Time.before(Time.startOfUtcDay(now), unknownAfterDays * Time.day)

/**
 * False on the first day of a store, and on the first after a leap of time: a clock that is years ahead makes everything due, and
 * an operator has a day to see it.
 *
 * @param noted the first day that was noted since {@link knownSince}
 */
export const isTimeSure = (noted: Instant | null, now: Instant): boolean =>
  noted !== null && noted < Time.startOfUtcDay(now)

/**
 * The time by which rows are due where a store has no clock of its own. A clock that is ahead of what the store has from before, or that
 * is set while the process runs, makes nothing due that is young by the store's own newest time.
 *
 * @param newest the newest time that the store has from before the day on which the process began; null of a new store
 * @param begun the time at which the process began
 * @param elapsedMs how long it runs, by its monotonic clock
 */
export const dueBy = (
  newest: Instant | null,
  begun: Instant,
  { elapsedMs, now }: { readonly elapsedMs: number; readonly now: Instant }
): Instant => {
  const yesterday = Time.before(Time.startOfUtcDay(begun), Time.day)
  const since = newest === null || newest >= yesterday ? begun : newest
  return Time.min(now, Time.after(since, Math.floor(elapsedMs)))
}

/** The longest that a row may stand late in its walk's order: a commit of another process may have been made before. */
const disorderMs = Time.hour

/** An account with settings of its own. */
export interface OwnRetention {
  readonly accountId: string
  readonly retention: Retention
}

/**
 * The time behind which nothing of a walk can be due, whosever it is; null when all keep theirs for ever. An account without
 * settings of its own may be there always.
 */
export const horizon = (walk: Walk, accounts: ReadonlyArray<OwnRetention>, now: Instant): Instant | null => {
  // People who have given consent stand in the order of people, not of times.
  if (walk === "grants") return accounts.some(({ retention }) => retention.consentsDays !== null) ? now : null
  let latest: Instant | null = null
  for (const retention of [defaults, ...accounts.map((each) => each.retention)]) {
    const limit = limitOf(retention, walk, now)
    if (limit !== null && (latest === null || limit > latest)) latest = limit
  }
  return latest === null ? null : Time.after(latest, disorderMs)
}

/** The share of an account in what goes, or would. */
export interface Share {
  readonly accountId: string
  readonly kind: Kind
  readonly days: number
  readonly rows: number
  readonly bytes: number
}

/** The shares of rows that are due, one for each account; none of what is no account's. */
export const sharesOf = (walk: Walk, found: ReadonlyArray<Found>): ReadonlyArray<Share> => {
  const kind = walks[walk]
  if (typeof kind === "number") return []
  return merge(
    found
      .filter(({ accountId }) => accountId !== "")
      .map(({ accountId, bytes, retention, rows }) => ({
        accountId,
        kind,
        days: daysOf(retention, kind) ?? 0,
        rows,
        bytes
      }))
  )
}

/** One share for each account and kind. */
export const merge = (shares: Iterable<Share>): ReadonlyArray<Share> => {
  const merged = new Map<string, Share>()
  for (const share of shares) {
    const name = `${share.kind} ${share.accountId}`
    const known = merged.get(name)
    merged.set(
      name,
      known === undefined
        ? share
        : { ...share, rows: known.rows + share.rows, bytes: known.bytes + share.bytes }
    )
  }
  return [...merged.values()]
}

// Bytes of a row beside its texts, as measured on SQLite with indexes.
export const jobBytes = 720
export const recipientBytes = 200
export const eventBytes = 120
export const deliveryBytes = 240
export const textBytes = 160
export const retryPlanBytes = 1000
export const consentBytes = 290
