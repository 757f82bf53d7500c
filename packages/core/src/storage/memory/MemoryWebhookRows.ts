/** The webhooks' operations over the tables in memory. A verb is one synchronous step, so there is nothing to lock. */
import type { Instant } from "../../domain/Instant.ts"
import * as Delivering from "../../domain/webhook/Delivering.ts"
import type { Endpoint } from "../../domain/webhook/Webhook.ts"
import type { WebhookBackend, WebhookRows } from "../policy/WebhookRows.ts"
import * as Events from "./Events.ts"
import * as Happenings from "./Happenings.ts"
import type { Database, DeliveryRow, EventRow, Positioned } from "./MemoryDatabase.ts"

type EndpointRow = Positioned & { readonly value: Endpoint }

export interface MemoryWebhooks extends WebhookBackend {
  readonly request: never
  readonly reply: never
  readonly endpoint: EndpointRow
  readonly delivery: DeliveryRow
  readonly event: EventRow
}

const waits = ({ dueAt, worker }: DeliveryRow): boolean => worker === null && dueAt !== null

const byDueTime = (a: DeliveryRow, b: DeliveryRow): number =>
  (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.position - b.position

const byPosition = (a: Positioned, b: Positioned): number => a.position - b.position

const deliveriesOf = (db: Database, { value: { id } }: EndpointRow): ReadonlyArray<DeliveryRow> =>
  [...db.deliveries.values()].filter(({ endpointId }) => endpointId === id)

const save = (db: Database, rows: ReadonlyArray<DeliveryRow>): void => {
  for (const row of rows) db.deliveries.set(row.id, row)
}

type Operations = WebhookRows<MemoryWebhooks>

const endpointRows = (
  db: Database
): Pick<
  Operations,
  | "dueEndpoints"
  | "waitingEndpoints"
  | "endpoints"
  | "lockEndpoint"
  | "saveEndpoint"
  | "removeEndpoint"
  | "tryLockPace"
  | "arrival"
  | "saveArrival"
> => {
  /** The time when the first delivery is due, by endpoint. */
  const dueTimes = (): ReadonlyMap<string, Instant> => {
    const times = new Map<string, Instant>()
    for (const { dueAt, endpointId, worker } of db.deliveries.values()) {
      if (worker !== null || dueAt === null) continue
      const first = times.get(endpointId)
      if (first === undefined || dueAt < first) times.set(endpointId, dueAt)
    }
    return times
  }

  return {
    dueEndpoints: function* ({ after, limit, now, until }) {
      const times = dueTimes()
      return [...db.endpoints.values()]
        .sort(byPosition)
        .filter(({ position, value: { enabled, id } }) => {
          const dueAt = times.get(id)
          return enabled && position > after && position <= until && dueAt !== undefined && dueAt <= now
        })
        .slice(0, limit)
        .map((endpoint) => ({
          endpoint,
          position: endpoint.position,
          arrival: db.paces.get(endpoint.value.id) ?? null
        }))
    },
    waitingEndpoints: function* () {
      return [...dueTimes()].flatMap(([id, dueAt]) => {
        const value = db.endpoints.get(id)?.value
        if (value === undefined || !value.enabled) return []
        const { deliveriesPerSecond, url } = value
        return [{ id, url, deliveriesPerSecond, dueAt, arrival: db.paces.get(id) ?? null }]
      })
    },

    endpoints: function* (ids) {
      return ids.toSorted().flatMap((id) => db.endpoints.get(id) ?? [])
    },
    lockEndpoint: function* (id) {
      return db.endpoints.get(id) ?? null
    },
    saveEndpoint: function* (endpoint, value) {
      db.endpoints.set(value.id, { ...endpoint, value })
    },
    removeEndpoint: function* (endpoint) {
      for (const { id } of deliveriesOf(db, endpoint)) db.deliveries.delete(id)
      db.paces.delete(endpoint.value.id)
      db.endpoints.delete(endpoint.value.id)
    },

    tryLockPace: function* () {
      return true
    },
    arrival: function* (endpointId) {
      return db.paces.get(endpointId) ?? null
    },
    saveArrival: function* (endpointId, arrival) {
      db.paces.set(endpointId, arrival)
    }
  }
}

const deliveryRows = (db: Database): Omit<Operations, keyof ReturnType<typeof endpointRows>> => {
  return {
    lockDue: function* ({ endpoint, limit, now }) {
      return deliveriesOf(db, endpoint)
        .filter((row) => waits(row) && (row.dueAt ?? 0) <= now)
        .sort(byDueTime)
        .slice(0, limit)
        .map((delivery) => ({ delivery, eventId: delivery.event.id, body: delivery.event.body }))
    },
    saveClaims: function* (deliveries) {
      save(db, deliveries)
    },

    lockClaimed: function* (ids) {
      return ids.toSorted().flatMap((id) => {
        const row = db.deliveries.get(id)
        return row === undefined || row.worker === null ? [] : [row]
      })
    },
    saveAttempts: function* (attempted) {
      save(
        db,
        attempted.map(({ attempt, delivery }) => ({
          ...delivery,
          log: [...delivery.log, { ...attempt, number: delivery.attempts }]
        }))
      )
    },

    lockWorker: function* (worker, beats) {
      return beats === (db.beats.get(worker)?.beats ?? 0)
    },
    release: function* (worker, now) {
      const left = [...db.deliveries.values()].filter((row) => row.worker === worker)
      save(
        db,
        left.map((row) => Delivering.released(row, now))
      )
      return left.length
    },
    resume: function* (endpoint, now) {
      const waiting = deliveriesOf(db, endpoint).filter(Delivering.waitsAttempted)
      save(
        db,
        waiting.map((row) => Delivering.resumed(row, now))
      )
    },
    replay: function* (deliveryId, now) {
      const row = db.deliveries.get(deliveryId)
      if (row !== undefined && Delivering.mayReplay(row)) save(db, [Delivering.replayed(row, now)])
    },
    replayFailed: function* ({ endpoint, limit, now, since }) {
      const failed = deliveriesOf(db, endpoint)
        .filter((row) => row.createdAt >= since && Delivering.hasFailed(row, now))
        .sort(byPosition)
        .slice(0, limit)
      save(
        db,
        failed.map((row) => Delivering.replayed(row, now))
      )
      return failed.length
    },

    missingEvents: function* ({ endpoint, limit, since, types }) {
      const had = new Set(deliveriesOf(db, endpoint).map(({ event }) => event.id))
      const missing = new Map<string, EventRow>()
      for (const { event } of db.deliveries.values()) {
        const { accountId, createdAt, id, type } = event
        const isWanted = accountId === endpoint.value.accountId && createdAt >= since
        if (isWanted && types.includes(type) && !had.has(id)) missing.set(id, event)
      }
      return [...missing.values()].sort(byPosition).slice(0, limit)
    },
    deliver: function* (endpoint, events, now) {
      for (const event of events) Events.deliver(db, endpoint.value, event, now)
    },
    appendFor: function* (endpoint, draft, now) {
      return Events.appendFor(db, endpoint.value, draft, now)
    },
    note: function* (happenings) {
      Happenings.note(db, happenings)
    },
    appendForOthers: function* (endpoint, draft, now) {
      Events.append(db, endpoint.accountId, [draft], now, endpoint.id)
    }
  }
}

export const make = (db: Database): Operations => ({ ...endpointRows(db), ...deliveryRows(db) })
