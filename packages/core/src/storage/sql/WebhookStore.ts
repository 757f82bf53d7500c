/** Webhook endpoints and the deliveries of the outbox. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/ApiKey.ts"
import * as Event from "../../domain/Event.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Pacing from "../../domain/Pacing.ts"
import * as Page from "../../domain/Page.ts"
import type { Attempt, Delivery, Endpoint } from "../../domain/Webhook.ts"
import * as Webhook from "../../domain/Webhook.ts"
import type { ClaimedDelivery, DeliveryClaim, DeliverySettlement } from "../WebhookStore.ts"
import { replayLimit, WebhookStore } from "../WebhookStore.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import { insertInto, insertRows } from "./Insert.ts"
import * as Pace from "./Pace.ts"
import type { Program, Row } from "./Program.ts"
import { all, changes, get, run } from "./Program.ts"
import {
  deliveryStatus,
  end,
  endpointColumns,
  eventType,
  fromEndpoint,
  integer,
  integerOrNull,
  limited,
  newestFirst,
  realOrNull,
  seq,
  text,
  toAttempt,
  toEndpoint
} from "./Rows.ts"

interface Stored {
  readonly seq: number
  readonly endpoint: Endpoint
}

const insert = insertInto("sendwright_endpoint", endpointColumns)

const update = `UPDATE sendwright_endpoint SET url = ?, events = ?, description = ?, enabled = ?, disabled_reason = ?,
  secrets = ?, failing_since = ?, deliveries_per_second = ?, batch_recipients = ?, updated_at = ? WHERE id = ?`

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
    endpoint.deliveriesPerSecond,
    endpoint.batchRecipients ? 1 : 0,
    endpoint.updatedAt,
    endpoint.id
  )
  return endpoint
}

// Attempts

const insertAttempts = insertRows("sendwright_attempt", [
  "delivery",
  "number",
  "at",
  "status",
  "duration_ms",
  "reason",
  "excerpt"
])

const putOff = `UPDATE sendwright_delivery
  SET status = ?, attempts = attempts + 1, tries = tries + 1, first_attempt_at = coalesce(first_attempt_at, ?),
    next_at = ?, due_at = ?, worker = NULL
  WHERE id = ?`

const endpointBySeq = "SELECT * FROM sendwright_endpoint WHERE seq = ?"

/** Those whose deliveries are the worker's still, with the row of each. */
interface Awaited {
  readonly settlement: DeliverySettlement
  readonly row: Row
}

const byEndpoint = (awaited: ReadonlyArray<Awaited>): ReadonlyMap<number, ReadonlyArray<Awaited>> => {
  const groups = new Map<number, Array<Awaited>>()
  for (const each of awaited) {
    const key = integer(each.row, "endpoint")
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [each])
    else group.push(each)
  }
  return groups
}

const afterAll = (endpoint: Endpoint, awaited: ReadonlyArray<Awaited>, now: Instant): Endpoint =>
  awaited.reduce(
    (before, { settlement: { disable, next } }) =>
      Webhook.afterAttempt(before, { delivered: next === "delivered", disable, now }),
    endpoint
  )

const exchangeOf = (ids: Ids.Ids, dialect: Dialect) => {
  const named = `SELECT ${dialect.elements.value} FROM ${dialect.elements.from}`
  const awaitedRows = `SELECT seq, id, endpoint, attempts, fence FROM sendwright_delivery
    WHERE worker IS NOT NULL AND id IN (${named})${dialect.forUpdate("sendwright_delivery")}`
  const arrived = `UPDATE sendwright_delivery SET status = 'delivered', attempts = attempts + 1, tries = tries + 1,
      next_at = NULL, due_at = NULL, worker = NULL
    WHERE id IN (${named})`

  /** Most attempts change nothing of their endpoint, and then nobody waits for its row. */
  function* settleEndpoint(
    key: number,
    awaited: ReadonlyArray<Awaited>,
    now: Instant
  ): Program<Endpoint | undefined> {
    const seen = yield* get(endpointBySeq, key)
    if (seen === undefined) return undefined
    const known = toEndpoint(seen)
    if (afterAll(known, awaited, now) === known) return undefined
    const row = yield* get(endpointBySeq + dialect.forUpdate("sendwright_endpoint"), key)
    if (row === undefined) return undefined
    const before = toEndpoint(row)
    const after = yield* save(afterAll(before, awaited, now))
    if (!before.enabled || after.enabled) return undefined
    const draft = Event.webhookDisabled(after, after.disabledReason ?? "")
    yield* Events.append(ids, after.accountId, [draft], now, after.id)
    return after
  }

  function* settle(
    settlements: ReadonlyArray<DeliverySettlement>,
    now: Instant
  ): Program<{ readonly settled: number; readonly disabled: ReadonlyArray<Endpoint> }> {
    if (settlements.length === 0) return { settled: 0, disabled: [] }
    const byId = new Map(settlements.map((settlement) => [settlement.deliveryId, settlement]))
    const awaited: Array<Awaited> = []
    for (const row of yield* all(awaitedRows, JSON.stringify([...byId.keys()]))) {
      const settlement = byId.get(text(row, "id"))
      if (settlement?.fence === integer(row, "fence")) awaited.push({ settlement, row })
    }
    yield* insertAttempts(
      awaited.map(({ row, settlement: { attempt } }) => {
        const { at, durationMs, excerpt, reason, status } = attempt
        return [seq(row), integer(row, "attempts") + 1, at, status, durationMs, reason, excerpt]
      })
    )
    const delivered = awaited.filter(({ settlement }) => settlement.next === "delivered")
    if (delivered.length > 0) {
      yield* run(arrived, JSON.stringify(delivered.map(({ settlement }) => settlement.deliveryId)))
    }
    for (const { settlement } of awaited) {
      const { attempt, deliveryId, next } = settlement
      if (next === "delivered") continue
      const status = next === null ? "exhausted" : "pending"
      yield* run(putOff, status, attempt.at, next, next, deliveryId)
    }
    const disabled: Array<Endpoint> = []
    const groups = [...byEndpoint(awaited)].sort(([a], [b]) => a - b)
    for (const [key, group] of groups) {
      const endpoint = yield* settleEndpoint(key, group, now)
      if (endpoint !== undefined) disabled.push(endpoint)
    }
    return { settled: awaited.length, disabled }
  }

  // Jumps from endpoint to endpoint, so that it costs the same however much waits for each, enabled or not.
  const waiting = `WITH RECURSIVE waiting (endpoint) AS (
      SELECT min(endpoint) FROM sendwright_delivery WHERE due_at IS NOT NULL AND endpoint > ?
      UNION ALL
      SELECT (SELECT min(endpoint) FROM sendwright_delivery WHERE due_at IS NOT NULL AND endpoint > waiting.endpoint)
      FROM waiting WHERE endpoint IS NOT NULL
    )`
  const open = `endpoint.seq = waiting.endpoint AND endpoint.enabled = 1 AND endpoint.id NOT IN (${named})`
  const dueEndpoints = `${waiting}
    SELECT endpoint.* FROM waiting CROSS JOIN sendwright_endpoint AS endpoint
    WHERE ${open} AND waiting.endpoint <= ?
      AND EXISTS (SELECT 1 FROM sendwright_delivery WHERE endpoint = waiting.endpoint AND due_at <= ?)
    ${limited}`
  const earliest = `${waiting}
    SELECT endpoint.deliveries_per_second, pace.arrival,
      (SELECT min(due_at) FROM sendwright_delivery WHERE endpoint = waiting.endpoint AND due_at IS NOT NULL) AS due
    FROM waiting CROSS JOIN sendwright_endpoint AS endpoint LEFT JOIN sendwright_pace AS pace ON pace.paced = endpoint.id
    WHERE ${open}`
  const oldestDue = `SELECT delivery.id, delivery.tries, delivery.first_attempt_at, delivery.due_at, delivery.fence,
      event.id AS event_id, event.body
    FROM sendwright_delivery AS delivery CROSS JOIN sendwright_event AS event
    WHERE event.seq = delivery.event AND delivery.endpoint = ? AND delivery.due_at IS NOT NULL AND delivery.due_at <= ?
    ORDER BY delivery.due_at, delivery.seq ${limited}${dialect.skipLocked("delivery")}`
  const hold = `UPDATE sendwright_delivery SET due_at = NULL, worker = ?, fence = fence + 1 WHERE id IN (${named})`

  // Whose turn it was. A verb that is run again only moves it on, which no endpoint suffers from.
  let lastServed = 0

  function* endpointsInTurn({ full, limit }: DeliveryClaim, now: Instant): Program<ReadonlyArray<Stored>> {
    const passed = JSON.stringify(full)
    const after = yield* all(dueEndpoints, lastServed, passed, end, now, limit)
    const before =
      after.length < limit && lastServed > 0
        ? yield* all(dueEndpoints, 0, passed, lastServed, now, limit - after.length)
        : []
    return [...after, ...before].map((row) => ({ seq: seq(row), endpoint: toEndpoint(row) }))
  }

  function* take({ endpoint, seq: key }: Stored, most: number, now: Instant): Program<ReadonlyArray<Due>> {
    const perSecond = endpoint.deliveriesPerSecond
    // Another commit delivers to it now. Two that wait for each other's endpoints would never end, so nobody waits.
    if (perSecond !== null && !(yield* dialect.trySerialize(Pace.serialized(endpoint.id)))) return []
    const arrival = perSecond === null ? null : yield* Pace.arrivalOf(endpoint.id)
    const granted = perSecond === null ? most : Pacing.grant(arrival, perSecond, most, now).granted
    const rows = granted === 0 ? [] : yield* all(oldestDue, key, now, granted)
    if (perSecond !== null && rows.length > 0) {
      yield* Pace.save(endpoint.id, Pacing.grant(arrival, perSecond, rows.length, now).arrival)
    }
    return rows.map((row) => ({ endpoint, row }))
  }

  /** Every endpoint that has its turn gets the same share of the limit. */
  function* claimDue(claim: DeliveryClaim, now: Instant): Program<ReadonlyArray<ClaimedDelivery>> {
    if (claim.limit <= 0) return []
    const endpoints = yield* endpointsInTurn(claim, now)
    const share = Math.floor(claim.limit / Math.max(1, endpoints.length))
    const due: Array<Due> = []
    // In the order of their keys, so that no two commits wait for each other's paces.
    for (const stored of endpoints.toSorted((a, b) => a.seq - b.seq)) {
      due.push(...(yield* take(stored, Math.min(share, claim.room(stored.endpoint.id)), now)))
    }
    lastServed = endpoints.at(-1)?.seq ?? 0
    if (due.length > 0) {
      yield* run(hold, claim.worker, JSON.stringify(due.map(({ row }) => text(row, "id"))))
    }
    return due.map(({ endpoint, row }) => ({
      deliveryId: text(row, "id"),
      fence: integer(row, "fence") + 1,
      endpoint,
      eventId: text(row, "event_id"),
      body: text(row, "body"),
      attempts: integer(row, "tries"),
      firstAttemptAt: integerOrNull(row, "first_attempt_at")
    }))
  }

  function* nextDue(full: ReadonlyArray<string>, now: Instant): Program<Instant | null> {
    let next: Instant | null = null
    for (const row of yield* all(earliest, 0, JSON.stringify(full))) {
      const due = integerOrNull(row, "due")
      if (due === null) continue
      const perSecond = realOrNull(row, "deliveries_per_second")
      const paced = perSecond === null ? due : Pacing.nextAt(realOrNull(row, "arrival"), perSecond, now)
      const at = Math.max(due, paced)
      if (next === null || at < next) next = at
    }
    return next
  }

  return { settle, claimDue, nextDue }
}

interface Due {
  readonly endpoint: Endpoint
  readonly row: Row
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

const restartOne = `${restart} WHERE id = ? AND worker IS NULL`

const rescue = `UPDATE sendwright_delivery
  SET due_at = CASE WHEN next_at > ? THEN ? ELSE next_at END, worker = NULL WHERE worker = ?`

// A delivery that was never attempted is due since it was made, whatever time that was.
const makeDue = `UPDATE sendwright_delivery SET next_at = ?, due_at = ?
  WHERE due_at IS NOT NULL AND due_at > ? AND worker IS NULL
    AND (tries = 0 OR EXISTS (
      SELECT 1 FROM sendwright_attempt AS attempt
      WHERE attempt.delivery = sendwright_delivery.seq AND attempt.number = sendwright_delivery.attempts AND attempt.at > ?
    ))`

// What a worker takes meanwhile is passed over.
const restartFailed = ({ skipLocked }: Dialect): string => `${restart} WHERE seq IN (
    SELECT seq FROM sendwright_delivery
    WHERE endpoint = ? AND created_at >= ?
      AND (status = 'exhausted' OR tries > 0 AND worker IS NULL AND due_at > ?)
    ORDER BY seq ${limited}${skipLocked("sendwright_delivery")}
  )`

// Due since they were made, so that they keep their order among those that were never attempted.
const resume = `UPDATE sendwright_delivery SET tries = 0, first_attempt_at = NULL, next_at = ?, due_at = created_at
  WHERE endpoint = ? AND tries > 0 AND due_at IS NOT NULL AND worker IS NULL`

// By the event's time: a delivery of it may have been made at any time since.
const missing = ({
  elements
}: Dialect): string => `SELECT DISTINCT event.seq FROM sendwright_endpoint AS other
  CROSS JOIN sendwright_delivery AS delivery CROSS JOIN sendwright_event AS event
  WHERE other.account = ? AND delivery.endpoint = other.seq AND event.seq = delivery.event AND event.created_at >= ?
    AND event.type IN (SELECT ${elements.value} FROM ${elements.from})
    AND event.seq NOT IN (SELECT event FROM sendwright_delivery WHERE endpoint = ?)
  ORDER BY event.seq ${limited}`

export const layer: Layer.Layer<WebhookStore, never, Database> = Layer.effect(
  WebhookStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    const toChange = byId + db.dialect.forUpdate("sendwright_endpoint")
    const { claimDue, nextDue, settle } = exchangeOf(ids, db.dialect)
    const failed = restartFailed(db.dialect)
    const missed = missing(db.dialect)
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
          if (endpoint.enabled && !found.endpoint.enabled) yield* run(resume, now, found.seq)
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
          const [delivery] = yield* Events.enqueue(ids, accountId, [{ draft, to: [found.seq] }], now)
          return delivery ?? null
        }),
      exchange: ({ claim, now, settlements }) =>
        db.work("WebhookStore.exchange", function* () {
          const { disabled, settled } = yield* settle(settlements, now)
          return { settled, disabled, claimed: claim === null ? [] : yield* claimDue(claim, now) }
        }),
      rescue: ({ now, worker }) => db.work("WebhookStore.rescue", () => changes(rescue, now, now, worker)),
      makeDue: ({ now }) =>
        db.work("WebhookStore.makeDue", () => changes(makeDue, now, now, now, Time.latestWritten(now))),
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
      replayFailed: ({ endpointId, now, since }) =>
        db.write("WebhookStore.replayFailed", function* () {
          const found = yield* find(endpointId)
          return found === undefined
            ? 0
            : yield* changes(failed, now, now, found.seq, since, now, replayLimit)
        }),
      replayMissing: ({ endpointId, now, since }) =>
        db.write("WebhookStore.replayMissing", function* () {
          const found = yield* find(endpointId, toChange)
          if (found === undefined) return 0
          const types = Event.types.filter((type) => Webhook.misses(found.endpoint, type))
          const { accountId } = found.endpoint
          const wanted = yield* all(missed, accountId, since, JSON.stringify(types), found.seq, replayLimit)
          yield* Events.deliver(
            wanted.map((row) => ({ id: ids.uuid(now), endpoint: found.seq, event: seq(row) })),
            now
          )
          return wanted.length
        }),
      nextDue: ({ full, now }) => db.read("WebhookStore.nextDue", () => nextDue(full, now))
    }
  })
)
