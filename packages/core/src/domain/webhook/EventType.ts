/** The types of events, by the families that endpoints subscribe to. */
import * as Recipient from "../job/Recipient.ts"

/** The event that a recipient came to a status. */
type Change<F extends Recipient.Family> = `${F}.${Recipient.Told<F>}`

/** Undefined for a status that has no event (`queued`, `sending`, `canceled`). */
export const ofStatus = <F extends Recipient.Family>(
  family: F,
  status: Recipient.Status
): Change<F> | undefined => (Recipient.isTold(family)(status) ? `${family}.${status}` : undefined)

const changes = <F extends Recipient.Family>(family: F): ReadonlyArray<Change<F>> =>
  Recipient.statuses.flatMap((status) => ofStatus(family, status) ?? [])

const others = [
  "message.received",
  "inbound.unattributed",
  "inbound.perhaps_refusal",
  "session.connected",
  "session.disconnected",
  "session.unavailable",
  "session.available",
  "session.updated",
  "template.updated",
  "consent.granted",
  "consent.revoked",
  "webhook.test",
  "webhook.disabled"
] as const

const ofJobs = ["job.processing", "job.paused", "job.completed", "job.failed", "job.canceled"] as const

export type Single =
  | (typeof ofJobs)[number]
  | Change<"recipient">
  | Change<"message">
  | (typeof others)[number]

export const types: ReadonlyArray<Single> = [
  ...ofJobs,
  ...changes("recipient"),
  ...changes("message"),
  ...others
]

/** Many changes of recipients in one event, for endpoints that ask for it; subscribed to as `recipient.*`. */
export const batchType = "recipient.batch"

export type Type = Single | typeof batchType
