/** The outbox: events and their deliveries, written in the commit of the change that they tell. */

import type { Ids } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Delivering from "../../domain/webhook/Delivering.ts"
import type { Draft } from "../../domain/webhook/Event.ts"
import * as Event from "../../domain/webhook/Event.ts"
import type { Addressed, NewDelivery } from "../Outbox.ts"
import * as Outbox from "../Outbox.ts"
import type { Program } from "../Program.ts"
import { all } from "../Program.ts"
import { begun, events as eventColumns, newDelivery } from "./codec/Delivery.ts"
import { insertRows } from "./Insert.ts"
import { flag, integer, json, text } from "./RowReader.ts"

/** Whoever deletes old events serializes by this name first, and whoever delivers one of them anew. */
export const old = "old events"

const insertEvents = insertRows("sendwright_event", eventColumns.names, {
  returned: ["id"]
})

const insertDeliveries = insertRows("sendwright_delivery", newDelivery.names, { same: begun })

/** Deliveries that are due now; endpoints and events are named by their keys. */
export function* deliver(
  deliveries: ReadonlyArray<NewDelivery<number, number | null>>,
  now: Instant
): Program<void> {
  const { dueAt, nextAt } = Delivering.fresh(now)
  yield* insertDeliveries(
    deliveries.map(({ endpoint, event, id }) =>
      newDelivery.write({ id, endpoint, event, nextAt, dueAt, createdAt: now })
    )
  )
}

/** Each event for its endpoints, by their keys; answers the deliveries' ids. */
export function* enqueue(
  ids: Ids,
  accountId: string,
  addressed: ReadonlyArray<Addressed<number>>,
  now: Instant
): Program<ReadonlyArray<string>> {
  const { deliveries, events } = Outbox.unfold(ids, accountId, addressed, now)
  const inserted = yield* insertEvents(events.map(eventColumns.write))
  const keys = new Map(inserted.map((row) => [text(row, "id"), integer(row, "seq")]))
  yield* deliver(
    deliveries.map(({ endpoint, event, id }) => ({ id, endpoint, event: keys.get(event.id) ?? null })),
    now
  )
  return deliveries.map(({ id }) => id)
}

/**
 * What nobody subscribes to is not kept. A disabled endpoint still collects: its deliveries wait.
 *
 * @param except the id of an endpoint that gets nothing
 */
export function* append(
  ids: Ids,
  accountId: string,
  drafts: ReadonlyArray<Draft>,
  now: Instant,
  except = ""
): Program<void> {
  if (drafts.length === 0) return
  const rows = yield* all(
    "SELECT seq, events, batch_recipients FROM sendwright_endpoint WHERE account = ? AND id <> ? ORDER BY seq",
    accountId,
    except
  )
  if (rows.length === 0) return
  const subscribers = rows.map((row) => ({
    key: integer(row, "seq"),
    events: json<ReadonlyArray<string>>(row, "events"),
    batchRecipients: flag(row, "batch_recipients")
  }))
  const events = Event.address(drafts, subscribers)
  if (events.length > 0) yield* enqueue(ids, accountId, events, now)
}
