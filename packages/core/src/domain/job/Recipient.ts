/**
 * A recipient's status (contract.md §4) as a join-semilattice: each status has a rank, a report moves it only
 * upwards, so receipts may come late, twice, out of order or before our own commit and the end is the same.
 *
 *   queued → sending → accepted → sent → delivered → read
 *                    ↘ unknown    ↘ failed
 *   queued → skipped | canceled
 */
import * as Records from "effect/Record"

/** A kind of event that tells a recipient's change: of a template send, and of a direct message. */
export type Family = "recipient" | "message"

/** The meaning of a status; all that asks for a status follows from these. */
interface Meaning {
  /** A step moves a recipient to a higher rank only, apart from a retry and a release before any attempt. */
  readonly rank: number
  /**
   * `open` while dispatch has the recipient. Then: the platform has `accepted` the message, or it is `unknown` whether it
   * has; its job is done with it (`ended`); or nothing more is done, since the job was `canceled`.
   */
  readonly standing: "open" | "accepted" | "unknown" | "ended" | "canceled"
  /** The events that tell it. */
  readonly events: ReadonlyArray<Family>
  /** True when a platform can report it. */
  readonly reported: boolean
  /** True when an operator can queue the recipient again. */
  readonly retryable: boolean
}

type Standing = Meaning["standing"]

/**
 * `failed` is above `sent` and below `delivered`: a failure never overrides a delivery, and a later delivery
 * overrides a failure. What we merely concluded (`unknown`, `skipped`, `canceled`) yields to any report.
 */
const meanings = {
  queued: { rank: 0, standing: "open", events: [], reported: false, retryable: false },
  sending: { rank: 1, standing: "open", events: [], reported: false, retryable: false },
  accepted: {
    rank: 3,
    standing: "accepted",
    events: ["recipient", "message"],
    reported: true,
    retryable: false
  },
  sent: { rank: 4, standing: "accepted", events: ["recipient", "message"], reported: true, retryable: false },
  delivered: {
    rank: 6,
    standing: "accepted",
    events: ["recipient", "message"],
    reported: true,
    retryable: false
  },
  read: { rank: 7, standing: "accepted", events: ["recipient", "message"], reported: true, retryable: false },
  failed: { rank: 5, standing: "ended", events: ["recipient", "message"], reported: true, retryable: true },
  skipped: { rank: 2, standing: "ended", events: ["recipient"], reported: false, retryable: false },
  canceled: { rank: 2, standing: "canceled", events: [], reported: false, retryable: false },
  unknown: { rank: 2, standing: "unknown", events: ["recipient"], reported: false, retryable: true }
} as const satisfies Readonly<Record<string, Meaning>>

type Meanings = typeof meanings
export type Status = keyof Meanings
export const statuses: ReadonlyArray<Status> = Records.keys(meanings)

/** The statuses whose meaning has a member of this type. */
type With<Member> = { [Name in Status]: Meanings[Name] extends Member ? Name : never }[Status]

const meaningOf = (status: Status): Meaning => meanings[status]

export const rank = (status: Status): number => meaningOf(status).rank

/** The statuses that a platform can report of a message. */
export type Reported = With<{ readonly reported: true }>

/** The statuses that an operator's retry takes. */
export type Retryable = With<{ readonly retryable: true }>

export const isRetryable = (status: Status): status is Retryable => meaningOf(status).retryable

/** The statuses that an event of the family tells. */
export type Told<F extends Family> = {
  [Name in Status]: F extends Meanings[Name]["events"][number] ? Name : never
}[Status]

export const isTold =
  <F extends Family>(family: F) =>
  (status: Status): status is Told<F> =>
    meaningOf(status).events.includes(family)

/** The higher of the two; the current one when they are level. */
export const advance = (current: Status, reported: Status): Status =>
  rank(reported) > rank(current) ? reported : current

const stands = (status: Status, standing: Standing): boolean => meaningOf(status).standing === standing

/**
 * True when dispatch has ended for the recipient. A `sending` recipient may be in flight or wait for its next
 * attempt.
 */
export const leftDispatch = (status: Status): boolean => !stands(status, "open")

/** The statuses of recipients that dispatch has. */
export const open: ReadonlyArray<Status> = statuses.filter((status) => stands(status, "open"))

/** The statuses of those that got nothing, or may have got nothing. */
export const unreached: ReadonlyArray<Status> = statuses.filter(
  (status) => stands(status, "ended") || stands(status, "unknown")
)

/** True when the platform accepted the message at some time. */
export const wasAccepted = (status: Status): boolean => stands(status, "accepted")

export type Counts = Readonly<Record<Status, number>>

export const noCounts: Counts = Records.map(meanings, () => 0)

/** The number of a job's recipients that stand so. */
export const countOf = (counts: Counts, standing: Standing): number => {
  let sum = 0
  for (const status of statuses) if (stands(status, standing)) sum += counts[status]
  return sum
}

export const addCounts = (some: ReadonlyArray<Partial<Counts>>): Counts => {
  const sum = { ...noCounts }
  for (const counts of some) for (const status of statuses) sum[status] += counts[status] ?? 0
  return sum
}

/** How the platform billed a message. */
export interface Pricing {
  /** In its own word: `marketing`, `utility`, `authentication`, `service` … */
  readonly category: string
  /** True when nothing is due for the message: it was sent in a window of free messages. */
  readonly free: boolean
}

/** Why a recipient failed, was skipped, or is unknown. */
export interface Failure {
  /** Our code, from the catalogue of failures. */
  readonly code: string
  /** The platform's own code, as it wrote it; null when the platform said nothing. */
  readonly provider_code: string | null
  readonly message: string
  /** True when trying again unchanged cannot help. */
  readonly permanent: boolean
}

/** The number of recipients of a status have failed for one reason. */
export interface FailureCount {
  readonly code: string
  readonly status: Status
  readonly recipients: number
}

/** One for each code and status, most of them first. */
export const failuresByCode = (found: ReadonlyArray<FailureCount>): ReadonlyArray<FailureCount> => {
  const sums = new Map<string, FailureCount>()
  for (const each of found) {
    const name = `${each.status} ${each.code}`
    const recipients = (sums.get(name)?.recipients ?? 0) + each.recipients
    sums.set(name, { code: each.code, status: each.status, recipients })
  }
  return [...sums.values()].sort((a, b) => b.recipients - a.recipients || (a.code < b.code ? -1 : 1))
}
