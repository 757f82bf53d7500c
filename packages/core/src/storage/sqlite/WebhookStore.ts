/** Webhook endpoints and the deliveries of the outbox. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/ApiKey.ts"
import * as Event from "../../domain/Event.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Page from "../../domain/Page.ts"
import type { Attempt, Delivery, Endpoint } from "../../domain/Webhook.ts"
import * as Webhook from "../../domain/Webhook.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../WebhookStore.ts"
import { WebhookStore } from "../WebhookStore.ts"
import type { Row, Statements } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import {
  deliveryStatus,
  endpointColumns,
  eventType,
  fromEndpoint,
  insertInto,
  integer,
  integerOrNull,
  limited,
  newestFirst,
  seq,
  text,
  textOrNull,
  toAttempt,
  toEndpoint
} from "./Rows.ts"

interface Stored {
  readonly seq: number
  readonly endpoint: Endpoint
}

const insert = insertInto("sendwright_endpoint", endpointColumns)

const update = `UPDATE sendwright_endpoint SET url = ?, events = ?, description = ?, enabled = ?, disabled_reason = ?,
  secrets = ?, failing_since = ?, updated_at = ? WHERE id = ?`

const stored = (row: Row | undefined): Stored | undefined =>
  row === undefined ? undefined : { seq: seq(row), endpoint: toEndpoint(row) }

const find = (sql: Statements, id: string): Stored | undefined =>
  stored(sql.get("SELECT * FROM sendwright_endpoint WHERE id = ?", id))

const findBySeq = (sql: Statements, key: number): Stored | undefined =>
  stored(sql.get("SELECT * FROM sendwright_endpoint WHERE seq = ?", key))

const save = (sql: Statements, endpoint: Endpoint): Endpoint => {
  sql.run(
    update,
    endpoint.url,
    JSON.stringify(endpoint.events),
    endpoint.description,
    endpoint.enabled ? 1 : 0,
    endpoint.disabledReason,
    JSON.stringify(endpoint.secrets),
    endpoint.failingSince,
    endpoint.updatedAt,
    endpoint.id
  )
  return endpoint
}

// Attempts

const updateDelivery = `UPDATE sendwright_delivery
  SET status = ?, attempts = ?, tries = tries + 1, first_attempt_at = coalesce(first_attempt_at, ?), next_at = ?,
    due_at = ?, lease_worker = NULL
  WHERE seq = ?`

const insertAttempt = insertInto("sendwright_attempt", [
  "delivery",
  "number",
  "at",
  "status",
  "duration_ms",
  "reason",
  "excerpt"
])

const settle = (sql: Statements, ids: Ids.Ids, settlement: DeliverySettlement, now: Instant): boolean => {
  const { attempt, deliveryId, disable, fence, next } = settlement
  const row = sql.get(
    "SELECT seq, endpoint, attempts, lease_worker, fence FROM sendwright_delivery WHERE id = ?",
    deliveryId
  )
  if (row === undefined || textOrNull(row, "lease_worker") === null || integer(row, "fence") !== fence)
    return false
  const number = integer(row, "attempts") + 1
  const { at, durationMs, excerpt, reason, status } = attempt
  sql.run(insertAttempt, seq(row), number, at, status, durationMs, reason, excerpt)
  const reached = next === "delivered" ? "delivered" : next === null ? "exhausted" : "pending"
  const nextAt = typeof next === "number" ? next : null
  sql.run(updateDelivery, reached, number, at, nextAt, nextAt, seq(row))
  const endpoint = findBySeq(sql, integer(row, "endpoint"))?.endpoint
  if (endpoint === undefined) return true
  const after = Webhook.afterAttempt(endpoint, { delivered: next === "delivered", disable, now })
  if (after !== endpoint) save(sql, after)
  if (endpoint.enabled && !after.enabled) {
    const draft = Event.webhookDisabled(after, after.disabledReason ?? "")
    Events.append(sql, ids, after.accountId, [draft], now, after.id)
  }
  return true
}

// Jumps from endpoint to endpoint, so that it costs the same however much waits for each, enabled or not.
const waiting = `WITH RECURSIVE waiting (endpoint) AS (
    SELECT min(endpoint) FROM sendwright_delivery WHERE due_at IS NOT NULL
    UNION ALL
    SELECT (SELECT min(endpoint) FROM sendwright_delivery WHERE due_at IS NOT NULL AND endpoint > waiting.endpoint)
    FROM waiting WHERE endpoint IS NOT NULL
  )
  SELECT endpoint.*,
    (SELECT min(due_at) FROM sendwright_delivery WHERE endpoint = waiting.endpoint AND due_at IS NOT NULL) AS due
  FROM waiting CROSS JOIN sendwright_endpoint AS endpoint ON endpoint.seq = waiting.endpoint
  WHERE endpoint.enabled = 1`

const oldestDue = `SELECT delivery.seq, delivery.id, delivery.tries, delivery.first_attempt_at, delivery.due_at,
    delivery.fence, event.id AS event_id, event.body
  FROM sendwright_delivery AS delivery CROSS JOIN sendwright_event AS event ON event.seq = delivery.event
  WHERE delivery.endpoint = ? AND delivery.due_at IS NOT NULL AND delivery.due_at <= ?
  ORDER BY delivery.due_at, delivery.seq LIMIT 1`

const lease = "UPDATE sendwright_delivery SET due_at = ?, lease_worker = ?, fence = ? WHERE seq = ?"

interface Head extends Stored {
  readonly row: Row
  readonly dueAt: Instant
}

const headOf = (sql: Statements, { endpoint, seq: key }: Stored, now: Instant): Head | undefined => {
  const row = sql.get(oldestDue, key, now)
  return row === undefined ? undefined : { seq: key, endpoint, row, dueAt: integer(row, "due_at") }
}

const isOlder = (a: Head, b: Head): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && seq(a.row) < seq(b.row))

/** Merges the endpoints' queues by the time they are due. */
const claimDue = (
  sql: Statements,
  claim: { readonly worker: string; readonly until: Instant; readonly limit: number },
  now: Instant
): ReadonlyArray<ClaimedDelivery> => {
  const heads = sql.all(waiting).flatMap((row) => {
    if (integer(row, "due") > now) return []
    const head = headOf(sql, { seq: seq(row), endpoint: toEndpoint(row) }, now)
    return head === undefined ? [] : [head]
  })
  const claimed: Array<ClaimedDelivery> = []
  while (claimed.length < claim.limit) {
    let oldest: Head | undefined
    let place = -1
    heads.forEach((head, at) => {
      if (oldest !== undefined && !isOlder(head, oldest)) return
      oldest = head
      place = at
    })
    if (oldest === undefined) break
    const { endpoint, row } = oldest
    const fence = integer(row, "fence") + 1
    sql.run(lease, claim.until, claim.worker, fence, seq(row))
    claimed.push({
      deliveryId: text(row, "id"),
      fence,
      endpoint,
      eventId: text(row, "event_id"),
      body: text(row, "body"),
      attempts: integer(row, "tries"),
      firstAttemptAt: integerOrNull(row, "first_attempt_at")
    })
    const next = headOf(sql, oldest, now)
    heads.splice(place, 1, ...(next === undefined ? [] : [next]))
  }
  return claimed
}

// Reading

const select = `SELECT delivery.seq, delivery.id, endpoint.id AS endpoint_id, event.id AS event_id, event.type,
    delivery.status, delivery.next_at, delivery.created_at
  FROM sendwright_delivery AS delivery
  CROSS JOIN sendwright_endpoint AS endpoint ON endpoint.seq = delivery.endpoint
  CROSS JOIN sendwright_event AS event ON event.seq = delivery.event`

const byId = `${select} WHERE delivery.id = ?`

const ofEndpoint = `${select} WHERE delivery.endpoint = ? AND delivery.seq < ? ORDER BY delivery.seq DESC ${limited}`

const deliveryOf = (sql: Statements, row: Row): Delivery => ({
  id: text(row, "id"),
  endpointId: text(row, "endpoint_id"),
  eventId: text(row, "event_id"),
  eventType: eventType(row, "type"),
  status: deliveryStatus(row, "status"),
  attempts: sql
    .all("SELECT * FROM sendwright_attempt WHERE delivery = ? ORDER BY number", seq(row))
    .map((attempt): Attempt => toAttempt(attempt)),
  nextAt: integerOrNull(row, "next_at"),
  createdAt: integer(row, "created_at")
})

const findDelivery = (sql: Statements, id: string): Delivery | null => {
  const row = sql.get(byId, id)
  return row === undefined ? null : deliveryOf(sql, row)
}

const restart = `UPDATE sendwright_delivery
  SET status = 'pending', tries = 0, first_attempt_at = NULL, next_at = ?, due_at = ?, lease_worker = NULL`

const restartOne = `${restart} WHERE id = ?`
const restartSince = `${restart} WHERE endpoint = ? AND created_at >= ? AND status <> 'delivered'`

const resume = `UPDATE sendwright_delivery SET next_at = ?, due_at = ?
  WHERE endpoint = ? AND due_at IS NOT NULL AND lease_worker IS NULL`

export const layer: Layer.Layer<WebhookStore, never, Database> = Layer.effect(
  WebhookStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    return {
      create: (endpoint) =>
        db.write("WebhookStore.create", (sql) => {
          sql.run(insert, ...fromEndpoint(endpoint))
        }),
      find: (id) => db.read("WebhookStore.find", (sql) => find(sql, id)?.endpoint ?? null),
      list: ({ accountId, page }) =>
        db.read("WebhookStore.list", (sql) => {
          const rows = sql.all(
            `SELECT * FROM sendwright_endpoint WHERE account = ? AND seq < ? ORDER BY seq DESC ${limited}`,
            accountId,
            ...newestFirst(page)
          )
          return Page.map(Page.cut(rows, page.limit, seq), toEndpoint)
        }),
      change: ({ change, id, now }) =>
        db.write("WebhookStore.change", (sql) => {
          const found = find(sql, id)
          if (found === undefined) return null
          const endpoint = save(sql, Webhook.change(found.endpoint, change, now))
          if (endpoint.enabled && !found.endpoint.enabled) sql.run(resume, now, now, found.seq)
          return endpoint
        }),
      remove: (id) =>
        db.write("WebhookStore.remove", (sql) => {
          const found = find(sql, id)
          if (found === undefined) return false
          sql.run(
            "DELETE FROM sendwright_attempt WHERE delivery IN (SELECT seq FROM sendwright_delivery WHERE endpoint = ?)",
            found.seq
          )
          sql.run("DELETE FROM sendwright_delivery WHERE endpoint = ?", found.seq)
          sql.run("DELETE FROM sendwright_endpoint WHERE seq = ?", found.seq)
          return true
        }),
      rotate: ({ expireOthersAt, id, now, secret }) =>
        db.write("WebhookStore.rotate", (sql) => {
          const found = find(sql, id)?.endpoint
          if (found === undefined) return null
          const secrets = ApiKey.rotateSecrets(found.secrets, secret, expireOthersAt, now)
          return save(sql, { ...found, secrets, updatedAt: now })
        }),
      send: ({ draft, endpointId, now }) =>
        db.write("WebhookStore.send", (sql) => {
          const found = find(sql, endpointId)
          if (found === undefined) return null
          const { accountId } = found.endpoint
          const [delivery] = Events.enqueue(sql, ids, { accountId, draft, now }, [found.seq])
          return delivery ?? null
        }),
      exchange: ({ claim, now, settlements }) =>
        db.write("WebhookStore.exchange", (sql) => {
          const settled = settlements.filter((settlement) => settle(sql, ids, settlement, now)).length
          return { settled, claimed: claim === null ? [] : claimDue(sql, claim, now) }
        }),
      findDelivery: (id) => db.read("WebhookStore.findDelivery", (sql) => findDelivery(sql, id)),
      deliveries: ({ endpointId, page }) =>
        db.read("WebhookStore.deliveries", (sql) => {
          const endpoint = find(sql, endpointId)
          if (endpoint === undefined) return { items: [], next: null }
          const rows = sql.all(ofEndpoint, endpoint.seq, ...newestFirst(page))
          return Page.map(Page.cut(rows, page.limit, seq), (row) => deliveryOf(sql, row))
        }),
      replay: ({ deliveryId, now }) =>
        db.write("WebhookStore.replay", (sql) => {
          sql.run(restartOne, now, now, deliveryId)
          return findDelivery(sql, deliveryId)
        }),
      replaySince: ({ endpointId, now, since }) =>
        db.write("WebhookStore.replaySince", (sql) => {
          const endpoint = find(sql, endpointId)
          return endpoint === undefined ? 0 : sql.run(restartSince, now, now, endpoint.seq, since)
        }),
      nextDue: db.read("WebhookStore.nextDue", (sql) =>
        sql
          .all(waiting)
          .map((row) => integer(row, "due"))
          .reduce<Instant | null>((next, due) => (next === null || due < next ? due : next), null)
      )
    }
  })
)
