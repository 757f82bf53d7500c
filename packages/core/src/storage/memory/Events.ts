/** Appends events within a verb: each becomes one delivery per endpoint of the account that subscribes to it. */
import type { Draft, Event } from "../../domain/Event.ts"
import * as Events from "../../domain/Event.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Endpoint } from "../../domain/Webhook.ts"
import type { Database } from "./MemoryDatabase.ts"

const eventOf = (db: Database, accountId: string, draft: Draft, now: Instant): Event => {
  const id = db.ids.uuid(now)
  return { id, accountId, type: draft.type, createdAt: now, body: Events.encode(id, draft, now) }
}

export const deliver = (db: Database, endpoint: Endpoint, event: Event, now: Instant): string => {
  const id = db.ids.uuid(now)
  db.deliveries.set(id, {
    position: db.nextPosition(),
    id,
    endpointId: endpoint.id,
    event,
    status: "pending",
    attempts: [],
    tries: 0,
    firstAttemptAt: null,
    nextAt: now,
    dueAt: now,
    worker: null,
    fence: 0,
    createdAt: now
  })
  return id
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
    .map((endpoint) => ({ ...endpoint, key: endpoint }))
  for (const { draft, to } of Events.address(drafts, subscribers)) {
    const event = eventOf(db, accountId, draft, now)
    for (const endpoint of to) deliver(db, endpoint, event, now)
  }
}

/** To one endpoint, whatever it subscribes to. */
export const appendFor = (db: Database, endpoint: Endpoint, draft: Draft, now: Instant): string =>
  deliver(db, endpoint, eventOf(db, endpoint.accountId, draft, now), now)
