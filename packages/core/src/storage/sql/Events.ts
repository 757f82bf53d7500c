/** The outbox: events and their deliveries, written in the commit of the change that they tell. */
import type { Draft } from "../../domain/Event.ts"
import * as Event from "../../domain/Event.ts"
import type { Ids } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Program } from "./Program.ts"
import { all } from "./Program.ts"
import { insertRows, integer, json, text } from "./Rows.ts"

const insertEvents = insertRows("sendwright_event", ["id", "account", "type", "body", "created_at"], ["id"])

const insertDeliveries = insertRows("sendwright_delivery", [
  "id",
  "endpoint",
  "event",
  "status",
  "attempts",
  "tries",
  "next_at",
  "due_at",
  "fence",
  "created_at"
])

/** Each event for its endpoints, by their keys; answers the deliveries' ids. */
export function* enqueue(
  ids: Ids,
  accountId: string,
  events: ReadonlyArray<{ readonly draft: Draft; readonly endpoints: ReadonlyArray<number> }>,
  now: Instant
): Program<ReadonlyArray<string>> {
  const rows = events.map(({ draft, endpoints }) => ({ id: ids.uuid(now), draft, endpoints }))
  const inserted = yield* insertEvents(
    rows.map(({ draft, id }) => [id, accountId, draft.type, Event.encode(id, draft, now), now])
  )
  const keys = new Map(inserted.map((row) => [text(row, "id"), integer(row, "seq")]))
  const deliveries = rows.flatMap(({ endpoints, id }) =>
    endpoints.map((endpoint) => ({ id: ids.uuid(now), endpoint, event: keys.get(id) ?? null }))
  )
  yield* insertDeliveries(
    deliveries.map(({ endpoint, event, id }) => [id, endpoint, event, "pending", 0, 0, now, now, 0, now])
  )
  return deliveries.map(({ id }) => id)
}

/**
 * What nobody subscribes to is not kept. A disabled endpoint still collects: its deliveries wait.
 *
 * @param except the id of an endpoint that is not told
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
    "SELECT seq, events FROM sendwright_endpoint WHERE account = ? AND id <> ? ORDER BY seq",
    accountId,
    except
  )
  const endpoints = rows.map((row) => ({
    seq: integer(row, "seq"),
    patterns: json<ReadonlyArray<string>>(row, "events")
  }))
  const events = drafts.flatMap((draft) => {
    const told = endpoints.flatMap(({ patterns, seq }) => (Event.matches(patterns, draft.type) ? [seq] : []))
    return told.length === 0 ? [] : [{ draft, endpoints: told }]
  })
  if (events.length > 0) yield* enqueue(ids, accountId, events, now)
}
