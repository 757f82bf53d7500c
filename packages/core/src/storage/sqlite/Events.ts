/** The outbox: events and their deliveries, written in the commit of the change that they tell. */
import type { Draft } from "../../domain/Event.ts"
import * as Event from "../../domain/Event.ts"
import type { Ids } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Statements } from "./Database.ts"
import { insertInto, integer, json } from "./Rows.ts"

const insertEvent = `${insertInto("sendwright_event", ["id", "account", "type", "body", "created_at"])} RETURNING seq`

const insertDelivery = `INSERT INTO sendwright_delivery
  (id, endpoint, event, status, attempts, tries, next_at, due_at, fence, created_at)
  VALUES (?, ?, ?, 'pending', 0, 0, ?, ?, 0, ?)`

/** One event for these endpoints, by their keys; answers the deliveries' ids. */
export const enqueue = (
  sql: Statements,
  ids: Ids,
  event: { readonly accountId: string; readonly draft: Draft; readonly now: Instant },
  endpoints: ReadonlyArray<number>
): ReadonlyArray<string> => {
  const { accountId, draft, now } = event
  const id = ids.uuid(now)
  const row = sql.get(insertEvent, id, accountId, draft.type, Event.encode(id, draft, now), now)
  return endpoints.map((endpoint) => {
    const delivery = ids.uuid(now)
    sql.run(insertDelivery, delivery, endpoint, integer(row ?? {}, "seq"), now, now, now)
    return delivery
  })
}

/**
 * What nobody subscribes to is not kept. A disabled endpoint still collects: its deliveries wait.
 *
 * @param except the id of an endpoint that is not told
 */
export const append = (
  sql: Statements,
  ids: Ids,
  accountId: string,
  drafts: ReadonlyArray<Draft>,
  now: Instant,
  except = ""
): void => {
  if (drafts.length === 0) return
  const endpoints = sql
    .all(
      "SELECT seq, events FROM sendwright_endpoint WHERE account = ? AND id <> ? ORDER BY seq",
      accountId,
      except
    )
    .map((row) => ({ seq: integer(row, "seq"), events: json<ReadonlyArray<string>>(row, "events") }))
  if (endpoints.length === 0) return
  for (const draft of drafts) {
    const subscribed = endpoints.filter(({ events }) => Event.matches(events, draft.type))
    if (subscribed.length > 0) {
      enqueue(
        sql,
        ids,
        { accountId, draft, now },
        subscribed.map(({ seq }) => seq)
      )
    }
  }
}
