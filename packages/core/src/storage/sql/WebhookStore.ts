/** Webhook endpoints and the deliveries of the outbox. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Standing, Troubled } from "../../domain/overview/StoreReadings.ts"
import * as Page from "../../domain/Page.ts"
import type { Delivery } from "../../domain/webhook/Webhook.ts"
import type { Program, Row, SqlParameter } from "../Program.ts"
import { all, changes, get, run } from "../Program.ts"
import * as Deliveries from "../policy/Deliveries.ts"
import { type DeliveryFilter, mostCounted, WebhookStore } from "../WebhookStore.ts"
import { attempts, deliveries as deliveryColumns, events } from "./codec/Delivery.ts"
import { endpoints } from "./codec/Endpoint.ts"
import { Database, type Dialect } from "./Database.ts"
import * as IndexScan from "./IndexScan.ts"
import { insertInto } from "./Insert.ts"
import { end, integer, limited, seq, text } from "./RowReader.ts"
import * as SqlWebhookRows from "./SqlWebhookRows.ts"

const insert = insertInto("sendwright_endpoint", endpoints.names)

const byId = `SELECT seq, ${endpoints.list} FROM sendwright_endpoint WHERE id = ?`

const select = `SELECT delivery.seq, delivery.id, endpoint.id AS endpoint_id, event.id AS event_id, event.type,
    delivery.status, delivery.next_at, delivery.created_at
  FROM sendwright_delivery AS delivery
  CROSS JOIN sendwright_endpoint AS endpoint
  CROSS JOIN sendwright_event AS event
  WHERE endpoint.seq = delivery.endpoint AND event.seq = delivery.event`

const deliveryById = `${select} AND delivery.id = ?`

const isFailing = "(enabled = 0 OR failing_since IS NOT NULL)"

/** The page first, and then of each the event: what joins first may read all events. */
const walkOfEndpoints = (...columns: ReadonlyArray<string>) =>
  IndexScan.make("sendwright_endpoint", `seq, ${endpoints.list}`, columns, isFailing)
const endpointWalks = { account: walkOfEndpoints("account"), all: walkOfEndpoints() }

const deliveryWalks = ({ contains }: Dialect) => {
  const told = (condition: string) => `(CAST(? AS text) IS NULL OR EXISTS (
      SELECT 1 FROM sendwright_event AS event WHERE event.seq = delivery.event AND ${condition}
    ))`
  const walk = (...columns: ReadonlyArray<string>) =>
    IndexScan.make(
      "sendwright_delivery AS delivery",
      "seq, id, endpoint, event, status, next_at, created_at",
      columns,
      `(CAST(? AS text) IS NULL OR status = ?) AND created_at >= ? AND created_at < ?
      AND ${told("event.type = ?")} AND ${told(contains("event.body"))}`
    )
  return { endpoint: walk("endpoint"), all: walk() }
}

const countEndpoints = `SELECT count(*) AS count FROM (SELECT seq FROM sendwright_endpoint ${limited}) AS endpoint`

const countFailing = `SELECT coalesce(sum(CASE WHEN enabled = 0 THEN 1 ELSE 0 END), 0) AS disabled, count(*) AS count
  FROM (SELECT enabled FROM sendwright_endpoint WHERE ${isFailing} ${limited}) AS endpoint`

const troubled = `SELECT seq, ${endpoints.list} FROM sendwright_endpoint WHERE ${isFailing} ORDER BY seq DESC ${limited}`

const countDue = `SELECT count(*) AS count FROM (
    SELECT seq FROM sendwright_delivery WHERE endpoint = ? AND due_at IS NOT NULL ${limited}
  ) AS waiting`

const lastAttempt = `SELECT attempt.status, attempt.reason
  FROM (
    SELECT seq FROM sendwright_delivery WHERE endpoint = ? AND tries > 0 AND due_at IS NOT NULL ${limited}
  ) AS delivery
  CROSS JOIN sendwright_attempt AS attempt WHERE attempt.delivery = delivery.seq ORDER BY attempt.at DESC LIMIT 1`

const durations = `SELECT attempt.duration_ms
  FROM (SELECT seq FROM sendwright_delivery ORDER BY seq DESC ${limited}) AS delivery
  CROSS JOIN sendwright_attempt AS attempt WHERE attempt.delivery = delivery.seq`

/** Deliveries lie in the order of their making, but for clocks that differ by less than this. */
const clocksDiffer = Time.hour

const createdAt = "SELECT created_at FROM sendwright_delivery WHERE seq = ?"

type DeliveryQuery = DeliveryFilter & { readonly page: Page.Page }

const filterOf = ({
  about,
  before,
  since,
  status,
  type
}: DeliveryQuery): ReadonlyArray<SqlParameter> | undefined => {
  if ([about, before, since, status, type].every((each) => each === undefined)) return undefined
  const twice = (value: string | undefined) => [value ?? null, value ?? null]
  const told = about?.replace(/000$/, "")
  return [...twice(status), since ?? -end, before ?? end, ...twice(type), ...twice(told)]
}

/** True when no row from a place on was made since a time. */
function* isBefore(since: Instant, place: number): Program<boolean> {
  const row = yield* get(createdAt, place)
  return row !== undefined && integer(row, "created_at") < since - clocksDiffer
}

const firstSince = "SELECT seq FROM sendwright_delivery WHERE id >= ? ORDER BY id LIMIT 1"

/** From where on a page is looked for: not before a row that was made later than all that are asked for. */
function* placeOf({ before, page }: DeliveryQuery): Program<number | null> {
  if (before === undefined) return page.after
  const row = yield* get(firstSince, Ids.since(Time.after(before, clocksDiffer)))
  return row === undefined ? page.after : Math.min(page.after ?? end, seq(row))
}

/** A page without what its rows tell of others, which may be empty although others follow. */
function* pageOfDeliveries(
  walks: ReturnType<typeof deliveryWalks>,
  query: DeliveryQuery
): Program<Page.Paged<Row>> {
  const { about, endpointId, since = about === undefined ? undefined : Ids.madeAt(about) } = query
  const page = { ...query.page, after: yield* placeOf(query) }
  const filter = filterOf(query)
  let found: Page.Paged<Row>
  if (endpointId === undefined) found = yield* IndexScan.pageOf(walks.all, [], page, filter)
  else {
    const endpoint = yield* get(byId, endpointId)
    if (endpoint === undefined) return { items: [], next: null }
    found = yield* IndexScan.pageOf(walks.endpoint, [seq(endpoint)], page, filter)
  }
  const isOver = since !== undefined && found.next !== null && (yield* isBefore(since, found.next))
  return isOver ? { ...found, next: null } : found
}

const payloadOf = `SELECT event.body FROM sendwright_delivery AS delivery CROSS JOIN sendwright_event AS event
  WHERE event.seq = delivery.event AND delivery.id = ?`

const eventsOf = ({ elements }: Dialect) => `SELECT seq, id AS event_id, type FROM sendwright_event
  WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from})`

const idsOf = ({ elements }: Dialect) => `SELECT seq, id FROM sendwright_endpoint
  WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from})`

const attemptsOf = `SELECT ${attempts.list} FROM sendwright_attempt WHERE delivery = ? ORDER BY number`

const shown = deliveryColumns.only("status", "nextAt", "createdAt")

const readAttempt = attempts.only("number", "at", "status", "durationMs", "reason", "excerpt").read

const readAnswer = attempts.only("status", "reason").read

function* deliveryOf(row: Row, endpointId: string): Program<Delivery> {
  return {
    id: text(row, "id"),
    endpointId,
    eventId: text(row, "event_id"),
    eventType: events.columns.type.read(row),
    attempts: (yield* all(attemptsOf, seq(row))).map(readAttempt),
    ...shown.read(row)
  }
}

function* findDelivery(id: string): Program<Delivery | null> {
  const row = yield* get(deliveryById, id)
  return row === undefined ? null : yield* deliveryOf(row, text(row, "endpoint_id"))
}

const countWaiting = `SELECT count(*) AS count FROM (
    SELECT delivery.seq FROM sendwright_endpoint AS endpoint CROSS JOIN sendwright_delivery AS delivery
    WHERE endpoint.enabled = 1 AND delivery.endpoint = endpoint.seq AND delivery.due_at IS NOT NULL ${limited}
  ) AS waiting`

const countOf = (row: Row | undefined, name = "count"): number => (row === undefined ? 0 : integer(row, name))

function* standing(most: number): Program<Standing> {
  const total = countOf(yield* get(countEndpoints, mostCounted.endpoints))
  const failing = yield* get(countFailing, mostCounted.endpoints)
  const disabled = countOf(failing, "disabled")
  const found: Array<Troubled> = []
  for (const row of yield* all(troubled, most)) {
    const waiting = countOf(yield* get(countDue, seq(row), mostCounted.deliveries))
    const attempt = yield* get(lastAttempt, seq(row), mostCounted.tried)
    found.push({
      endpoint: endpoints.read(row),
      waiting,
      last: attempt === undefined ? null : readAnswer(attempt)
    })
  }
  return {
    healthy: total - countOf(failing),
    failing: countOf(failing) - disabled,
    disabled,
    durations: (yield* all(durations, mostCounted.newest)).map((row) => integer(row, "duration_ms")),
    troubled: found
  }
}

// A delivery that was never attempted is due since it was made, whatever time that was.
const makeDue = `UPDATE sendwright_delivery SET next_at = ?, due_at = ?
  WHERE due_at IS NOT NULL AND due_at > ? AND worker IS NULL
    AND (tries = 0 AND due_at > ? OR tries > 0 AND EXISTS (
      SELECT 1 FROM sendwright_attempt AS attempt
      WHERE attempt.delivery = sendwright_delivery.seq AND attempt.number = sendwright_delivery.attempts AND attempt.at > ?
    ))`

/** Deliveries as they are listed: each with its endpoint's id, its event and its attempts. */
const telling = (dialect: Dialect, walks: ReturnType<typeof deliveryWalks>) => {
  const [eventsOfPage, idsOfPage] = [eventsOf(dialect), idsOf(dialect)]
  return function* (query: DeliveryQuery): Program<Page.Paged<Delivery>> {
    const { items, next } = yield* pageOfDeliveries(walks, query)
    const keys = (name: string) => JSON.stringify([...new Set(items.map((row) => integer(row, name)))])
    const events = new Map((yield* all(eventsOfPage, keys("event"))).map((row) => [seq(row), row]))
    const ids = new Map((yield* all(idsOfPage, keys("endpoint"))).map((row) => [seq(row), text(row, "id")]))
    const shown: Array<Delivery> = []
    for (const row of items) {
      const endpointId = ids.get(integer(row, "endpoint")) ?? ""
      shown.push(yield* deliveryOf({ ...events.get(integer(row, "event")), ...row }, endpointId))
    }
    return { items: shown, next }
  }
}

export const layer: Layer.Layer<WebhookStore, never, Database> = Layer.effect(
  WebhookStore,
  Effect.gen(function* () {
    const db = yield* Database
    const rows = SqlWebhookRows.make(db.dialect, Ids.make(yield* Ids.RandomBytes))
    const deliveries = Deliveries.make(rows)
    const walks = deliveryWalks(db.dialect)
    const told = telling(db.dialect, walks)
    return {
      create: (endpoint) =>
        db.write("WebhookStore.create", function* () {
          yield* run(insert, ...endpoints.write(endpoint))
        }),
      find: (id) =>
        db.read("WebhookStore.find", function* () {
          const row = yield* get(byId, id)
          return row === undefined ? null : endpoints.read(row)
        }),
      list: ({ accountId, isFailing, page }) =>
        IndexScan.untilFound(
          (page) =>
            db.readPage("WebhookStore.list", function* () {
              const [walk, values] =
                accountId === undefined ? [endpointWalks.all, []] : [endpointWalks.account, [accountId]]
              const found = yield* IndexScan.pageOf(
                walk,
                values,
                page,
                isFailing === undefined ? undefined : []
              )
              return Page.map(found, endpoints.read)
            }),
          page
        ),
      change: (command) => db.write("WebhookStore.change", () => Deliveries.change(rows, command)),
      remove: (id) => db.write("WebhookStore.remove", () => Deliveries.remove(rows, id)),
      rotate: (command) => db.write("WebhookStore.rotate", () => Deliveries.rotate(rows, command)),
      send: (command) => db.write("WebhookStore.send", () => Deliveries.send(rows, command)),
      settleAndClaim: (command) =>
        db.work("WebhookStore.settleAndClaim", () => deliveries.settleAndClaim(command)),
      rescue: (command) => db.work("WebhookStore.rescue", () => Deliveries.rescue(rows, command)),
      makeDue: ({ now }) =>
        db.work("WebhookStore.makeDue", function* () {
          const at = now()
          const latest = Time.latestWritten(at)
          return yield* changes(makeDue, at, at, at, latest, latest)
        }),
      findDelivery: (id) => db.read("WebhookStore.findDelivery", () => findDelivery(id)),
      payload: (deliveryId) =>
        db.read("WebhookStore.payload", function* () {
          const row = yield* get(payloadOf, deliveryId)
          return row === undefined ? null : text(row, "body")
        }),
      deliveries: (query) =>
        IndexScan.untilFound(
          (page) => db.readPage("WebhookStore.deliveries", () => told({ ...query, page })),
          query.page
        ),
      countDeliveries: (query) =>
        db.readPage("WebhookStore.countDeliveries", function* () {
          const page = { limit: Page.mostCounted, after: null }
          return Page.counted(yield* pageOfDeliveries(walks, { ...query, page }))
        }),
      replay: ({ deliveryId, now }) =>
        db.write("WebhookStore.replay", function* () {
          yield* rows.replay(deliveryId, now)
          return yield* findDelivery(deliveryId)
        }),
      replayFailed: (command) =>
        db.write("WebhookStore.replayFailed", () => Deliveries.replayFailed(rows, command)),
      countReplayable: (query) =>
        db.readPage("WebhookStore.countReplayable", () => Deliveries.countReplayable(rows, query)),
      replayMissing: (command) =>
        db.write("WebhookStore.replayMissing", () => Deliveries.replayMissing(rows, command)),
      standing: ({ most }) => db.readPage("WebhookStore.standing", () => standing(most)),
      countWaiting: ({ most }) =>
        db.readPage("WebhookStore.countWaiting", function* () {
          return integer((yield* get(countWaiting, most)) ?? { count: 0 }, "count")
        }),
      nextDue: (query) => db.read("WebhookStore.nextDue", () => deliveries.nextDue(query))
    }
  })
)
