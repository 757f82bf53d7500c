/**
 * A recipient's status (decisions.md §4) as a join-semilattice: each status has a rank, a report moves it only
 * upwards, so receipts may come late, twice, out of order or before our own commit and the end is the same.
 *
 *   queued → sending → accepted → sent → delivered → read
 *                    ↘ unknown    ↘ failed
 *   queued → skipped | canceled
 */
export type Status =
  | "queued"
  | "sending"
  | "accepted"
  | "sent"
  | "delivered"
  | "read"
  | "failed"
  | "skipped"
  | "canceled"
  | "unknown"

export const statuses: ReadonlyArray<Status> = [
  "queued",
  "sending",
  "accepted",
  "sent",
  "delivered",
  "read",
  "failed",
  "skipped",
  "canceled",
  "unknown"
]

/**
 * `failed` is above `sent` and below `delivered`: a failure never overrides a delivery, and a later delivery
 * overrides a failure. What we merely concluded (`unknown`, `skipped`, `canceled`) yields to any report.
 */
const ranks: Readonly<Record<Status, number>> = {
  queued: 0,
  sending: 1,
  unknown: 2,
  skipped: 2,
  canceled: 2,
  accepted: 3,
  sent: 4,
  failed: 5,
  delivered: 6,
  read: 7
}

export const rank = (status: Status): number => ranks[status]

/** The statuses that a platform can report of a message. */
export type Reported = "accepted" | "sent" | "delivered" | "read" | "failed"

/** The higher of the two; the current one when they are level. */
export const advance = (current: Status, reported: Status): Status =>
  ranks[reported] > ranks[current] ? reported : current

/**
 * True when dispatch has ended for the recipient. A `sending` recipient may be in flight or wait for its next
 * attempt.
 */
export const leftDispatch = (status: Status): boolean => status !== "queued" && status !== "sending"

/** True when the platform accepted the message at some time. */
export const wasAccepted = (status: Status): boolean =>
  status === "accepted" || status === "sent" || status === "delivered" || status === "read"

export type Counts = Readonly<Record<Status, number>>

export const noCounts: Counts = {
  queued: 0,
  sending: 0,
  accepted: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  failed: 0,
  skipped: 0,
  canceled: 0,
  unknown: 0
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
