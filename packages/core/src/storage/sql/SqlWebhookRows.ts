/** The webhooks' operations as statements. Each costs what it answers or writes, however much waits behind it. */

import type * as Ids from "../../domain/Ids.ts"
import type { Program, Row } from "../Program.ts"
import { all, changes, get, run } from "../Program.ts"
import type { StoredDelivery, StoredEndpoint, WebhookRows } from "../policy/WebhookRows.ts"
import { attempts as attemptColumns, deliveries as deliveryColumns } from "./codec/Delivery.ts"
import { endpoints } from "./codec/Endpoint.ts"
import type { Dialect } from "./Database.ts"
import * as Events from "./Events.ts"
import * as Happenings from "./Happenings.ts"
import { insertRows } from "./Insert.ts"
import * as PaceRows from "./PaceRows.ts"
import { instant, integer, limited, realOrNull, seq, text, textOrNull } from "./RowReader.ts"
import * as WorkerRows from "./WorkerRows.ts"

const toStored = (row: Row): StoredEndpoint => ({ seq: seq(row), value: endpoints.read(row) })

const byId = `SELECT seq, ${endpoints.list} FROM sendwright_endpoint WHERE id = ?`

const changeable = endpoints.only(
  "url",
  "events",
  "description",
  "enabled",
  "disabledReason",
  "secrets",
  "failingSince",
  "deliveriesPerSecond",
  "batchRecipients",
  "updatedAt"
)

const update = `UPDATE sendwright_endpoint SET ${changeable.assignments} WHERE id = ?`

// Jumps from endpoint to endpoint, so that it costs the same however much waits for each, enabled or not.
const first = "SELECT min(endpoint) FROM sendwright_delivery WHERE due_at IS NOT NULL AND endpoint"
const waiting = `WITH RECURSIVE waiting (endpoint) AS (
    ${first} > ?
    UNION ALL
    SELECT (${first} > waiting.endpoint) FROM waiting WHERE endpoint IS NOT NULL
  )`

const claimedColumns = deliveryColumns.without("endpoint", "event", "createdAt")

const readClaimed = (row: Row, endpointId: string): StoredDelivery =>
  Object.assign(claimedColumns.read(row), { endpointId })

const insertAttempts = insertRows("sendwright_attempt", attemptColumns.names)

const attempted = deliveryColumns.only("status", "attempts", "tries", "firstAttemptAt", "nextAt", "dueAt")

const putOff = `UPDATE sendwright_delivery SET ${attempted.assignments}, worker = NULL WHERE seq = ?`

// By `Delivering.released`.
const release = `UPDATE sendwright_delivery
  SET due_at = CASE WHEN next_at > ? THEN ? ELSE next_at END, worker = NULL WHERE worker = ?`

// By `Delivering.resumed`, of those that are `Delivering.waitsAttempted`.
const resume = `UPDATE sendwright_delivery SET tries = 0, first_attempt_at = NULL, next_at = ?, due_at = created_at
  WHERE endpoint = ? AND tries > 0 AND due_at IS NOT NULL AND worker IS NULL`

// By `Delivering.replayed`.
const replay = `UPDATE sendwright_delivery
  SET status = 'pending', tries = 0, first_attempt_at = NULL, next_at = ?, due_at = ?, worker = NULL`

/** The statements that a dialect has a part in. */
const statementsOf = (dialect: Dialect) => {
  const named = `SELECT ${dialect.elements.value} FROM ${dialect.elements.from}`
  const enabled = `(SELECT arrival FROM sendwright_pace WHERE paced = endpoint.id) AS arrival
    FROM waiting ${dialect.lookUp("sendwright_endpoint", "endpoint", "endpoint.seq = waiting.endpoint")}
    WHERE endpoint.enabled = 1`
  const firstDue = `(SELECT min(due_at) FROM sendwright_delivery WHERE endpoint = waiting.endpoint AND due_at IS NOT NULL)`
  // Goes no further than it answers, in the order of the jumps: endpoints are looked up one by one and the first due time is
  // a value. PostgreSQL turns a join, and an EXISTS too, around when that is cheaper, and its order is another one then.
  const dueEndpoints = `${waiting} SELECT endpoint.seq, ${endpoints.of("endpoint")}, ${enabled} AND waiting.endpoint <= ? AND ${firstDue} <= ? ${limited}`
  const waitingEndpoints = `${waiting} SELECT endpoint.id, endpoint.url, endpoint.deliveries_per_second, ${firstDue} AS due, ${enabled}`
  const byIds = `SELECT seq, ${endpoints.list} FROM sendwright_endpoint WHERE id IN (${named}) ORDER BY id`
  const toChange = byId + dialect.forUpdate("sendwright_endpoint")
  const oldestDue = `SELECT ${claimedColumns.of("delivery")}, event.id AS event_id, event.body, event.traceparent
    FROM sendwright_delivery AS delivery CROSS JOIN sendwright_event AS event
    WHERE event.seq = delivery.event AND delivery.endpoint = ? AND delivery.due_at IS NOT NULL AND delivery.due_at <= ?
    ORDER BY delivery.due_at, delivery.seq ${limited}${dialect.skipLocked("delivery")}`
  const claimDeliveries = `UPDATE sendwright_delivery SET due_at = NULL, worker = ?, fence = fence + 1 WHERE id IN (${named})`
  const claimedDeliveries = `SELECT ${claimedColumns.of("delivery")}, endpoint.id AS endpoint_id
    FROM sendwright_delivery AS delivery CROSS JOIN sendwright_endpoint AS endpoint
    WHERE endpoint.seq = delivery.endpoint AND delivery.worker IS NOT NULL AND delivery.id IN (${named})
    ORDER BY delivery.id${dialect.forUpdate("delivery")}`
  // All in one statement: nobody asks any more when the first attempt was.
  const arrived = `UPDATE sendwright_delivery SET status = 'delivered', attempts = attempts + 1, tries = tries + 1,
      next_at = NULL, due_at = NULL, worker = NULL
    WHERE id IN (${named})`
  // Deliveries that are `Delivering.hasFailed` are replayed; one that a worker takes meanwhile is passed over.
  const failed = `SELECT seq FROM sendwright_delivery
      WHERE endpoint = ? AND created_at >= ?
        AND (status = 'exhausted' OR tries > 0 AND worker IS NULL AND due_at > ?)
      ORDER BY seq ${limited}`
  const replayFailed = `${replay} WHERE seq IN (${failed}${dialect.skipLocked("sendwright_delivery")})`
  const countFailed = `SELECT count(*) AS count FROM (${failed}) AS failed`
  // By the event's time: a delivery of it may have been made at any time since.
  const missing = `SELECT DISTINCT event.seq FROM sendwright_endpoint AS other
    CROSS JOIN sendwright_delivery AS delivery CROSS JOIN sendwright_event AS event
    WHERE other.account = ? AND delivery.endpoint = other.seq AND event.seq = delivery.event AND event.created_at >= ?
      AND event.type IN (${named})
      AND event.seq NOT IN (SELECT event FROM sendwright_delivery WHERE endpoint = ?)
    ORDER BY event.seq ${limited}`

  return {
    arrived,
    byIds,
    claimDeliveries,
    claimedDeliveries,
    countFailed,
    dueEndpoints,
    missing,
    oldestDue,
    replayFailed,
    toChange,
    waitingEndpoints
  }
}

function* removeEndpoint({ seq: key, value: { id } }: StoredEndpoint): Program<void> {
  yield* run(
    "DELETE FROM sendwright_attempt WHERE delivery IN (SELECT seq FROM sendwright_delivery WHERE endpoint = ?)",
    key
  )
  yield* run("DELETE FROM sendwright_delivery WHERE endpoint = ?", key)
  yield* run("DELETE FROM sendwright_pace WHERE paced = ?", id)
  yield* run("DELETE FROM sendwright_endpoint WHERE seq = ?", key)
}

export const make = (dialect: Dialect, ids: Ids.Ids): WebhookRows => {
  const statements = statementsOf(dialect)

  return {
    dueEndpoints: function* ({ after, limit, now, until }) {
      const rows = yield* all(statements.dueEndpoints, after, until, now, limit)
      return rows.map((row) => {
        const endpoint = toStored(row)
        return { endpoint, position: endpoint.seq, arrival: realOrNull(row, "arrival") }
      })
    },
    waitingEndpoints: function* () {
      const rows = yield* all(statements.waitingEndpoints, 0)
      return rows.map((row) => ({
        id: text(row, "id"),
        url: text(row, "url"),
        deliveriesPerSecond: realOrNull(row, "deliveries_per_second"),
        dueAt: instant(row, "due"),
        arrival: realOrNull(row, "arrival")
      }))
    },

    endpoints: function* (ids) {
      const rows = yield* all(statements.byIds, JSON.stringify(ids))
      return rows.map(toStored)
    },
    lockEndpoint: function* (id) {
      const row = yield* get(statements.toChange, id)
      return row === undefined ? null : toStored(row)
    },
    saveEndpoint: (_, endpoint) => run(update, ...changeable.write(endpoint), endpoint.id),
    removeEndpoint,

    tryLockPace: (endpointId) => dialect.trySerialize(PaceRows.serialized(endpointId)),
    arrival: PaceRows.arrivalOf,
    saveArrival: PaceRows.save,

    lockDue: function* ({ endpoint, limit, now }) {
      const rows = yield* all(statements.oldestDue, endpoint.seq, now, limit)
      return rows.map((row) => ({
        delivery: readClaimed(row, endpoint.value.id),
        eventId: text(row, "event_id"),
        body: text(row, "body"),
        traceparent: textOrNull(row, "traceparent")
      }))
    },
    saveClaims: (deliveries, worker) =>
      run(statements.claimDeliveries, worker, JSON.stringify(deliveries.map(({ id }) => id))),

    lockClaimed: function* (deliveryIds) {
      const rows = yield* all(statements.claimedDeliveries, JSON.stringify(deliveryIds))
      return rows.map((row) => readClaimed(row, text(row, "endpoint_id")))
    },
    saveAttempts: function* (made) {
      yield* insertAttempts(
        made.map(({ attempt, delivery }) =>
          attemptColumns.write({ ...attempt, delivery: delivery.seq, number: delivery.attempts })
        )
      )
      const delivered: Array<string> = []
      for (const { delivery } of made) {
        if (delivery.status === "delivered") delivered.push(delivery.id)
        else yield* run(putOff, ...attempted.write(delivery), delivery.seq)
      }
      if (delivered.length > 0) yield* run(statements.arrived, JSON.stringify(delivered))
    },

    lockWorker: WorkerRows.lock(dialect),
    release: (worker, now) => changes(release, now, now, worker),
    resume: (endpoint, now) => run(resume, now, endpoint.seq),
    replay: (deliveryId, now) => run(`${replay} WHERE id = ? AND worker IS NULL`, now, now, deliveryId),
    replayFailed: ({ endpoint, limit, now, since }) =>
      changes(statements.replayFailed, now, now, endpoint.seq, since, now, limit),
    countFailed: function* ({ endpoint, limit, now, since }) {
      const row = yield* get(statements.countFailed, endpoint.seq, since, now, limit)
      return row === undefined ? 0 : integer(row, "count")
    },

    lockEvents: () => dialect.serialize(Events.old),
    missingEvents: function* ({ endpoint: { seq: key, value }, limit, since, types }) {
      const of = [value.accountId, since, JSON.stringify(types), key, limit]
      return (yield* all(statements.missing, ...of)).map(seq)
    },
    deliver: (endpoint, events, now) =>
      Events.deliver(
        events.map((event) => ({ id: ids.uuid(now), endpoint: endpoint.seq, event })),
        now
      ),
    appendFor: function* (endpoint, draft, now) {
      const addressed = [{ draft, to: [endpoint.seq] }]
      const [id = null] = yield* Events.enqueue(ids, endpoint.value.accountId, addressed, now)
      return id
    },
    note: Happenings.note,
    appendForOthers: (endpoint, draft, now) =>
      Events.append(ids, endpoint.accountId, [draft], now, endpoint.id)
  }
}
