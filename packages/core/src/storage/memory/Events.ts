/** Appends events within a verb: each becomes one delivery per endpoint of the account that subscribes to it. */

import type { Instant } from "../../domain/Instant.ts"
import * as Delivering from "../../domain/webhook/Delivering.ts"
import type { Draft } from "../../domain/webhook/Event.ts"
import * as Events from "../../domain/webhook/Event.ts"
import type { Endpoint } from "../../domain/webhook/Webhook.ts"
import type { Addressed } from "../Outbox.ts"
import * as Outbox from "../Outbox.ts"
import type { Database, EventRow } from "./MemoryDatabase.ts"

/** Writes a delivery that is due now. */
const insert = (db: Database, id: string, endpointId: string, event: EventRow, now: Instant): void => {
  db.deliveries.set(id, {
    position: db.nextPosition(),
    id,
    endpointId,
    event,
    ...Delivering.fresh(now),
    log: [],
    createdAt: now
  })
}

export const deliver = (db: Database, endpoint: Endpoint, event: EventRow, now: Instant): void =>
  insert(db, db.ids.uuid(now), endpoint.id, event, now)

/** Answers the deliveries' ids. */
const enqueue = (
  db: Database,
  accountId: string,
  addressed: ReadonlyArray<Addressed<string>>,
  now: Instant
): ReadonlyArray<string> => {
  const { deliveries, events } = Outbox.unfold(db.ids, accountId, addressed, now)
  const rows = new Map(events.map((event) => [event, { ...event, position: db.nextPosition() }]))
  for (const { endpoint, event, id } of deliveries) {
    const row = rows.get(event)
    if (row !== undefined) insert(db, id, endpoint, row, now)
  }
  return deliveries.map(({ id }) => id)
}

/** An event that nobody subscribes to is not kept. A disabled endpoint's deliveries wait. */
export const append = (
  db: Database,
  accountId: string,
  drafts: ReadonlyArray<Draft>,
  now: Instant,
  except?: string
): void => {
  const subscribers = [...db.endpoints.values()]
    .map(({ value }) => value)
    .filter((endpoint) => endpoint.accountId === accountId && endpoint.id !== except)
    .map(({ batchRecipients, events, id }) => ({ batchRecipients, events, key: id }))
  enqueue(db, accountId, Events.address(drafts, subscribers), now)
}

/** To one endpoint, whatever it subscribes to. Answers the delivery's id. */
export const appendFor = (
  db: Database,
  { accountId, id }: Endpoint,
  draft: Draft,
  now: Instant
): string | null => enqueue(db, accountId, [{ draft, to: [id] }], now)[0] ?? null
