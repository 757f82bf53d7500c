import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/ApiKey.ts"
import * as Event from "../../domain/Event.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Paging from "../../domain/Page.ts"
import type { Delivery } from "../../domain/Webhook.ts"
import * as Webhook from "../../domain/Webhook.ts"
import type { DeliverySettlement } from "../WebhookStore.ts"
import { WebhookStore } from "../WebhookStore.ts"
import * as Events from "./Events.ts"
import type { Database, DeliveryRow } from "./MemoryDatabase.ts"
import { insert, MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"

const shown = (row: DeliveryRow): Delivery => ({
  id: row.id,
  endpointId: row.endpointId,
  eventId: row.event.id,
  eventType: row.event.type,
  status: row.status,
  attempts: row.attempts,
  nextAt: row.nextAt,
  createdAt: row.createdAt
})

const settle = (db: Database, settlement: DeliverySettlement, now: Instant): boolean => {
  const { attempt, disable, fence, next } = settlement
  const row = db.deliveries.get(settlement.deliveryId)
  if (row === undefined || row.leaseUntil === null || row.fence !== fence) return false
  db.deliveries.set(row.id, {
    ...row,
    attempts: [...row.attempts, { ...attempt, number: row.attempts.length + 1 }],
    tries: row.tries + 1,
    firstAttemptAt: row.firstAttemptAt ?? attempt.at,
    status: next === "delivered" ? "delivered" : next === null ? "exhausted" : "pending",
    nextAt: typeof next === "number" ? next : null,
    leaseUntil: null
  })
  const endpoint = db.endpoints.get(row.endpointId)
  if (endpoint === undefined) return true
  const value = Webhook.afterAttempt(endpoint.value, { delivered: next === "delivered", disable, now })
  db.endpoints.set(value.id, { ...endpoint, value })
  if (endpoint.value.enabled && !value.enabled) {
    const draft = Event.webhookDisabled(value, value.disabledReason ?? "")
    Events.append(db, value.accountId, [draft], now, value.id)
  }
  return true
}

const replayed = (row: DeliveryRow, now: Instant): DeliveryRow => ({
  ...row,
  status: "pending",
  tries: 0,
  firstAttemptAt: null,
  nextAt: now,
  leaseUntil: null
})

export const layer: Layer.Layer<WebhookStore, never, MemoryDatabase> = Layer.effect(
  WebhookStore,
  Effect.map(MemoryDatabase, (db) => {
    const enabled = (row: DeliveryRow): boolean => db.endpoints.get(row.endpointId)?.value.enabled === true
    /** When it may be taken: at its time, or when the lease of a worker that died has ended. */
    const dueAt = (row: DeliveryRow): Instant | null =>
      row.status === "pending" && enabled(row) ? (row.leaseUntil ?? row.nextAt) : null

    return {
      create: (endpoint) => Effect.sync(() => insert(db, db.endpoints, endpoint.id, endpoint)),
      find: (id) => Effect.sync(() => db.endpoints.get(id)?.value ?? null),
      list: ({ accountId, page }) =>
        Effect.sync(() => {
          const rows = [...db.endpoints.values()].filter(({ value }) => value.accountId === accountId)
          return Paging.map(newestFirst(rows, page), ({ value }) => value)
        }),
      change: ({ change, id, now }) =>
        Effect.sync(() => {
          const row = db.endpoints.get(id)
          if (row === undefined) return null
          const value = Webhook.change(row.value, change, now)
          db.endpoints.set(id, { ...row, value })
          if (!row.value.enabled && value.enabled) {
            for (const delivery of db.deliveries.values()) {
              if (
                delivery.endpointId === id &&
                delivery.status === "pending" &&
                delivery.leaseUntil === null
              ) {
                db.deliveries.set(delivery.id, { ...delivery, nextAt: now })
              }
            }
          }
          return value
        }),
      remove: (id) =>
        Effect.sync(() => {
          for (const { endpointId, id: deliveryId } of [...db.deliveries.values()]) {
            if (endpointId === id) db.deliveries.delete(deliveryId)
          }
          return db.endpoints.delete(id)
        }),
      rotate: ({ expireOthersAt, id, now, secret }) =>
        Effect.sync(() => {
          const row = db.endpoints.get(id)
          if (row === undefined) return null
          const secrets = ApiKey.rotateSecrets(row.value.secrets, secret, expireOthersAt, now)
          const value = { ...row.value, secrets, updatedAt: now }
          db.endpoints.set(id, { ...row, value })
          return value
        }),
      send: ({ draft, endpointId, now }) =>
        Effect.sync(() => {
          const endpoint = db.endpoints.get(endpointId)
          return endpoint === undefined ? null : Events.appendFor(db, endpoint.value, draft, now)
        }),
      exchange: ({ claim, now, settlements }) =>
        Effect.sync(() => {
          const settled = settlements.filter((settlement) => settle(db, settlement, now)).length
          if (claim === null) return { settled, claimed: [] }
          const due = [...db.deliveries.values()]
            .filter((row) => {
              const at = dueAt(row)
              return at !== null && at <= now
            })
            .sort((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0) || a.position - b.position)
            .slice(0, claim.limit)
          const claimed = due.flatMap((row) => {
            const endpoint = db.endpoints.get(row.endpointId)?.value
            if (endpoint === undefined) return []
            const held = { ...row, leaseUntil: claim.until, fence: row.fence + 1 }
            db.deliveries.set(row.id, held)
            const { event, fence, firstAttemptAt, id: deliveryId, tries: attempts } = held
            return [
              { deliveryId, fence, endpoint, eventId: event.id, body: event.body, attempts, firstAttemptAt }
            ]
          })
          return { settled, claimed }
        }),
      findDelivery: (id) =>
        Effect.sync(() => {
          const row = db.deliveries.get(id)
          return row === undefined ? null : shown(row)
        }),
      deliveries: ({ endpointId, page }) =>
        Effect.sync(() => {
          const rows = [...db.deliveries.values()].filter((row) => row.endpointId === endpointId)
          return Paging.map(newestFirst(rows, page), shown)
        }),
      replay: ({ deliveryId, now }) =>
        Effect.sync(() => {
          const row = db.deliveries.get(deliveryId)
          if (row === undefined) return null
          const next = replayed(row, now)
          db.deliveries.set(deliveryId, next)
          return shown(next)
        }),
      replaySince: ({ endpointId, now, since }) =>
        Effect.sync(() => {
          const rows = [...db.deliveries.values()].filter(
            (row) => row.endpointId === endpointId && row.createdAt >= since && row.status !== "delivered"
          )
          for (const row of rows) db.deliveries.set(row.id, replayed(row, now))
          return rows.length
        }),
      nextDue: Effect.sync(() => {
        let next: Instant | null = null
        for (const row of db.deliveries.values()) {
          const at = dueAt(row)
          if (at !== null && (next === null || at < next)) next = at
        }
        return next
      })
    }
  })
)
