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
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import type { Program, Row } from "./Program.ts"
import { all, get, run } from "./Program.ts"
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

const byId = "SELECT * FROM sendwright_endpoint WHERE id = ?"

function* find(id: string, statement = byId): Program<Stored | undefined> {
  const row = yield* get(statement, id)
  return row === undefined ? undefined : { seq: seq(row), endpoint: toEndpoint(row) }
}

function* save(endpoint: Endpoint): Program<Endpoint> {
  yield* run(
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
    due_at = ?, worker = NULL
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

const leased = "SELECT seq, endpoint, attempts, worker, fence FROM sendwright_delivery WHERE id = ?"
const endpointOf = "SELECT * FROM sendwright_endpoint WHERE seq = ?"

function* settle(
  ids: Ids.Ids,
  { forUpdate }: Dialect,
  settlement: DeliverySettlement,
  now: Instant
): Program<boolean> {
  const { attempt, deliveryId, disable, fence, next } = settlement
  const row = yield* get(leased + forUpdate("sendwright_delivery"), deliveryId)
  if (row === undefined || textOrNull(row, "worker") === null || integer(row, "fence") !== fence) return false
  const number = integer(row, "attempts") + 1
  const { at, durationMs, excerpt, reason, status } = attempt
  yield* run(insertAttempt, seq(row), number, at, status, durationMs, reason, excerpt)
  const reached = next === "delivered" ? "delivered" : next === null ? "exhausted" : "pending"
  const nextAt = typeof next === "number" ? next : null
  yield* run(updateDelivery, reached, number, at, nextAt, nextAt, seq(row))
  const found = yield* get(endpointOf + forUpdate("sendwright_endpoint"), integer(row, "endpoint"))
  if (found === undefined) return true
  const endpoint = toEndpoint(found)
  const after = Webhook.afterAttempt(endpoint, { delivered: next === "delivered", disable, now })
  if (after !== endpoint) yield* save(after)
  if (endpoint.enabled && !after.enabled) {
    const draft = Event.webhookDisabled(after, after.disabledReason ?? "")
    yield* Events.append(ids, after.accountId, [draft], now, after.id)
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
  FROM waiting CROSS JOIN sendwright_endpoint AS endpoint
  WHERE endpoint.seq = waiting.endpoint AND endpoint.enabled = 1`

const oldestDue = `SELECT delivery.seq, delivery.id, delivery.tries, delivery.first_attempt_at, delivery.due_at,
    delivery.fence, event.id AS event_id, event.body
  FROM sendwright_delivery AS delivery CROSS JOIN sendwright_event AS event
  WHERE event.seq = delivery.event AND delivery.endpoint = ? AND delivery.due_at IS NOT NULL AND delivery.due_at <= ?
  ORDER BY delivery.due_at, delivery.seq LIMIT 1`

const lease = "UPDATE sendwright_delivery SET due_at = ?, worker = ?, fence = ? WHERE seq = ?"

interface Head extends Stored {
  readonly row: Row
  readonly dueAt: Instant
}

function* headOf(
  { skipLocked }: Dialect,
  { endpoint, seq: key }: Stored,
  now: Instant
): Program<Head | undefined> {
  const row = yield* get(oldestDue + skipLocked("delivery"), key, now)
  return row === undefined ? undefined : { seq: key, endpoint, row, dueAt: integer(row, "due_at") }
}

const isOlder = (a: Head, b: Head): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && seq(a.row) < seq(b.row))

/** Merges the endpoints' queues by the time they are due. */
function* claimDue(
  dialect: Dialect,
  claim: { readonly worker: string; readonly until: Instant; readonly limit: number },
  now: Instant
): Program<ReadonlyArray<ClaimedDelivery>> {
  const heads: Array<Head> = []
  for (const row of yield* all(waiting)) {
    if (integer(row, "due") > now) continue
    const head = yield* headOf(dialect, { seq: seq(row), endpoint: toEndpoint(row) }, now)
    if (head !== undefined) heads.push(head)
  }
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
    yield* run(lease, claim.until, claim.worker, fence, seq(row))
    claimed.push({
      deliveryId: text(row, "id"),
      fence,
      endpoint,
      eventId: text(row, "event_id"),
      body: text(row, "body"),
      attempts: integer(row, "tries"),
      firstAttemptAt: integerOrNull(row, "first_attempt_at")
    })
    const next = yield* headOf(dialect, oldest, now)
    heads.splice(place, 1, ...(next === undefined ? [] : [next]))
  }
  return claimed
}

// Reading

const select = `SELECT delivery.seq, delivery.id, endpoint.id AS endpoint_id, event.id AS event_id, event.type,
    delivery.status, delivery.next_at, delivery.created_at
  FROM sendwright_delivery AS delivery
  CROSS JOIN sendwright_endpoint AS endpoint
  CROSS JOIN sendwright_event AS event
  WHERE endpoint.seq = delivery.endpoint AND event.seq = delivery.event`

const deliveryById = `${select} AND delivery.id = ?`

const ofEndpoint = `${select} AND delivery.endpoint = ? AND delivery.seq < ? ORDER BY delivery.seq DESC ${limited}`

const attemptsOf = "SELECT * FROM sendwright_attempt WHERE delivery = ? ORDER BY number"

function* deliveryOf(row: Row): Program<Delivery> {
  return {
    id: text(row, "id"),
    endpointId: text(row, "endpoint_id"),
    eventId: text(row, "event_id"),
    eventType: eventType(row, "type"),
    status: deliveryStatus(row, "status"),
    attempts: (yield* all(attemptsOf, seq(row))).map((attempt): Attempt => toAttempt(attempt)),
    nextAt: integerOrNull(row, "next_at"),
    createdAt: integer(row, "created_at")
  }
}

function* findDelivery(id: string): Program<Delivery | null> {
  const row = yield* get(deliveryById, id)
  return row === undefined ? null : yield* deliveryOf(row)
}

const restart = `UPDATE sendwright_delivery
  SET status = 'pending', tries = 0, first_attempt_at = NULL, next_at = ?, due_at = ?, worker = NULL`

const restartOne = `${restart} WHERE id = ?`
const restartSince = `${restart} WHERE endpoint = ? AND created_at >= ? AND status <> 'delivered'`

const resume = `UPDATE sendwright_delivery SET next_at = ?, due_at = ?
  WHERE endpoint = ? AND due_at IS NOT NULL AND worker IS NULL`

export const layer: Layer.Layer<WebhookStore, never, Database> = Layer.effect(
  WebhookStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    const toChange = byId + db.dialect.forUpdate("sendwright_endpoint")
    return {
      create: (endpoint) =>
        db.write("WebhookStore.create", function* () {
          yield* run(insert, ...fromEndpoint(endpoint))
        }),
      find: (id) =>
        db.read("WebhookStore.find", function* () {
          return (yield* find(id))?.endpoint ?? null
        }),
      list: ({ accountId, page }) =>
        db.read("WebhookStore.list", function* () {
          const rows = yield* all(
            `SELECT * FROM sendwright_endpoint WHERE account = ? AND seq < ? ORDER BY seq DESC ${limited}`,
            accountId,
            ...newestFirst(page)
          )
          return Page.map(Page.cut(rows, page.limit, seq), toEndpoint)
        }),
      change: ({ change, id, now }) =>
        db.write("WebhookStore.change", function* () {
          const found = yield* find(id, toChange)
          if (found === undefined) return null
          const endpoint = yield* save(Webhook.change(found.endpoint, change, now))
          if (endpoint.enabled && !found.endpoint.enabled) yield* run(resume, now, now, found.seq)
          return endpoint
        }),
      remove: (id) =>
        db.write("WebhookStore.remove", function* () {
          const found = yield* find(id, toChange)
          if (found === undefined) return false
          yield* run(
            "DELETE FROM sendwright_attempt WHERE delivery IN (SELECT seq FROM sendwright_delivery WHERE endpoint = ?)",
            found.seq
          )
          yield* run("DELETE FROM sendwright_delivery WHERE endpoint = ?", found.seq)
          yield* run("DELETE FROM sendwright_endpoint WHERE seq = ?", found.seq)
          return true
        }),
      rotate: ({ expireOthersAt, id, now, secret }) =>
        db.write("WebhookStore.rotate", function* () {
          const found = (yield* find(id, toChange))?.endpoint
          if (found === undefined) return null
          const secrets = ApiKey.rotateSecrets(found.secrets, secret, expireOthersAt, now)
          return yield* save({ ...found, secrets, updatedAt: now })
        }),
      send: ({ draft, endpointId, now }) =>
        db.write("WebhookStore.send", function* () {
          const found = yield* find(endpointId)
          if (found === undefined) return null
          const { accountId } = found.endpoint
          const [delivery] = yield* Events.enqueue(ids, accountId, [{ draft, endpoints: [found.seq] }], now)
          return delivery ?? null
        }),
      exchange: ({ claim, now, settlements }) =>
        db.write("WebhookStore.exchange", function* () {
          let settled = 0
          for (const settlement of settlements) {
            if (yield* settle(ids, db.dialect, settlement, now)) settled += 1
          }
          return { settled, claimed: claim === null ? [] : yield* claimDue(db.dialect, claim, now) }
        }),
      findDelivery: (id) => db.read("WebhookStore.findDelivery", () => findDelivery(id)),
      deliveries: ({ endpointId, page }) =>
        db.read("WebhookStore.deliveries", function* () {
          const endpoint = yield* find(endpointId)
          if (endpoint === undefined) return { items: [], next: null }
          const rows = yield* all(ofEndpoint, endpoint.seq, ...newestFirst(page))
          const { items, next } = Page.cut(rows, page.limit, seq)
          const deliveries: Array<Delivery> = []
          for (const row of items) deliveries.push(yield* deliveryOf(row))
          return { items: deliveries, next }
        }),
      replay: ({ deliveryId, now }) =>
        db.write("WebhookStore.replay", function* () {
          yield* run(restartOne, now, now, deliveryId)
          return yield* findDelivery(deliveryId)
        }),
      replaySince: ({ endpointId, now, since }) =>
        db.write("WebhookStore.replaySince", function* () {
          const endpoint = yield* find(endpointId)
          return endpoint === undefined ? 0 : yield* run(restartSince, now, now, endpoint.seq, since)
        }),
      nextDue: db.read("WebhookStore.nextDue", function* () {
        return (yield* all(waiting))
          .map((row) => integer(row, "due"))
          .reduce<Instant | null>((next, due) => (next === null || due < next ? due : next), null)
      })
    }
  })
)
