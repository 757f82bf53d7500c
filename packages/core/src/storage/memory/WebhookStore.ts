import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/ApiKey.ts"
import * as Event from "../../domain/Event.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Pacing from "../../domain/Pacing.ts"
import * as Paging from "../../domain/Page.ts"
import type { Delivery, Endpoint } from "../../domain/Webhook.ts"
import * as Webhook from "../../domain/Webhook.ts"
import type { ClaimedDelivery, DeliveryClaim, DeliverySettlement } from "../WebhookStore.ts"
import { replayLimit, WebhookStore } from "../WebhookStore.ts"
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

/** Answers the endpoint when this attempt disabled it; undefined when the delivery is not the worker's any more. */
const settle = (
  db: Database,
  settlement: DeliverySettlement,
  now: Instant
): { readonly disabled: Endpoint | null } | undefined => {
  const { attempt, disable, fence, next } = settlement
  const row = db.deliveries.get(settlement.deliveryId)
  if (row === undefined || row.worker === null || row.fence !== fence) return undefined
  db.deliveries.set(row.id, {
    ...row,
    attempts: [...row.attempts, { ...attempt, number: row.attempts.length + 1 }],
    tries: row.tries + 1,
    firstAttemptAt: row.firstAttemptAt ?? attempt.at,
    status: next === "delivered" ? "delivered" : next === null ? "exhausted" : "pending",
    nextAt: typeof next === "number" ? next : null,
    dueAt: typeof next === "number" ? next : null,
    worker: null
  })
  const endpoint = db.endpoints.get(row.endpointId)
  if (endpoint === undefined) return { disabled: null }
  const value = Webhook.afterAttempt(endpoint.value, { delivered: next === "delivered", disable, now })
  db.endpoints.set(value.id, { ...endpoint, value })
  if (!endpoint.value.enabled || value.enabled) return { disabled: null }
  const draft = Event.webhookDisabled(value, value.disabledReason ?? "")
  Events.append(db, value.accountId, [draft], now, value.id)
  return { disabled: value }
}

const replayed = (row: DeliveryRow, now: Instant): DeliveryRow => ({
  ...row,
  status: "pending",
  tries: 0,
  firstAttemptAt: null,
  nextAt: now,
  dueAt: now,
  worker: null
})

/** Due since they were made, so that they keep their order among those that were never attempted. */
const resumed = (row: DeliveryRow, now: Instant): DeliveryRow => ({
  ...replayed(row, now),
  dueAt: row.createdAt
})

const hasFailed = (row: DeliveryRow, now: Instant): boolean =>
  row.status === "exhausted" ||
  (row.status === "pending" && row.tries > 0 && row.worker === null && (row.dueAt ?? 0) > now)

export const layer: Layer.Layer<WebhookStore, never, MemoryDatabase> = Layer.effect(
  WebhookStore,
  Effect.map(MemoryDatabase, (db) => {
    const enabled = (row: DeliveryRow): boolean => db.endpoints.get(row.endpointId)?.value.enabled === true
    /** When it may be taken; null while somebody has it in hand. */
    const dueAt = (row: DeliveryRow): Instant | null =>
      row.status === "pending" && row.worker === null && enabled(row) ? row.dueAt : null

    /** What may be taken of each endpoint, oldest due first. */
    const dueByEndpoint = (full: ReadonlySet<string>, now: Instant): Map<string, Array<DeliveryRow>> => {
      const due = new Map<string, Array<DeliveryRow>>()
      for (const row of db.deliveries.values()) {
        const at = dueAt(row)
        if (at === null || at > now || full.has(row.endpointId)) continue
        const rows = due.get(row.endpointId)
        if (rows === undefined) due.set(row.endpointId, [row])
        else rows.push(row)
      }
      for (const rows of due.values()) {
        rows.sort((a, b) => (dueAt(a) ?? 0) - (dueAt(b) ?? 0) || a.position - b.position)
      }
      return due
    }

    const arrivalOf = (endpoint: Endpoint): number | null => db.paces.get(endpoint.id) ?? null

    const take = (
      endpoint: Endpoint,
      rows: ReadonlyArray<DeliveryRow>,
      most: number,
      claim: DeliveryClaim,
      now: Instant
    ): ReadonlyArray<ClaimedDelivery> => {
      const perSecond = endpoint.deliveriesPerSecond
      const wanted = Math.min(most, rows.length)
      const { arrival, granted } =
        perSecond === null
          ? { arrival: 0, granted: wanted }
          : Pacing.grant(arrivalOf(endpoint), perSecond, wanted, now)
      if (perSecond !== null && granted > 0) db.paces.set(endpoint.id, arrival)
      return rows.slice(0, granted).map((row) => {
        const held = { ...row, worker: claim.worker, fence: row.fence + 1 }
        db.deliveries.set(row.id, held)
        const { event, fence, firstAttemptAt, id: deliveryId, tries: attempts } = held
        return { deliveryId, fence, endpoint, eventId: event.id, body: event.body, attempts, firstAttemptAt }
      })
    }

    // Whose turn it was.
    let lastServed = 0

    /** Every endpoint that has its turn gets the same share of the limit. */
    const claimDue = (claim: DeliveryClaim, now: Instant): ReadonlyArray<ClaimedDelivery> => {
      const due = dueByEndpoint(new Set(claim.full), now)
      const endpoints = [...db.endpoints.values()].filter(({ value }) => due.has(value.id))
      const turn = endpoints.findIndex(({ position }) => position > lastServed)
      const inTurn = turn < 0 ? endpoints : [...endpoints.slice(turn), ...endpoints.slice(0, turn)]
      const share = Math.floor(claim.limit / Math.max(1, Math.min(claim.limit, endpoints.length)))
      const claimed: Array<ClaimedDelivery> = []
      for (const { position, value } of inTurn) {
        const most = Math.min(share, claim.room(value.id), claim.limit - claimed.length)
        if (most <= 0) continue
        claimed.push(...take(value, due.get(value.id) ?? [], most, claim, now))
        lastServed = position
      }
      return claimed
    }

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
              const { endpointId, status, tries, worker } = delivery
              if (endpointId === id && status === "pending" && worker === null && tries > 0) {
                db.deliveries.set(delivery.id, resumed(delivery, now))
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
          const settled = settlements.flatMap((settlement) => settle(db, settlement, now) ?? [])
          return {
            settled: settled.length,
            claimed: claim === null ? [] : claimDue(claim, now),
            disabled: settled.flatMap(({ disabled }) => (disabled === null ? [] : [disabled]))
          }
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
      rescue: ({ now, worker }) =>
        Effect.sync(() => {
          const left = [...db.deliveries.values()].filter((row) => row.worker === worker)
          for (const row of left) {
            const dueAt = Math.min(row.nextAt ?? now, now)
            db.deliveries.set(row.id, { ...row, dueAt, worker: null })
          }
          return left.length
        }),
      makeDue: ({ now }) =>
        Effect.sync(() => {
          const putOff = [...db.deliveries.values()].filter(
            (row) =>
              row.worker === null &&
              (row.dueAt ?? 0) > now &&
              (row.tries === 0 || Time.isAhead(row.attempts.at(-1)?.at ?? 0, now))
          )
          for (const row of putOff) db.deliveries.set(row.id, { ...row, nextAt: now, dueAt: now })
          return putOff.length
        }),
      replay: ({ deliveryId, now }) =>
        Effect.sync(() => {
          const row = db.deliveries.get(deliveryId)
          if (row === undefined) return null
          const next = row.worker === null ? replayed(row, now) : row
          db.deliveries.set(deliveryId, next)
          return shown(next)
        }),
      replayFailed: ({ endpointId, now, since }) =>
        Effect.sync(() => {
          const rows = [...db.deliveries.values()]
            .filter((row) => row.endpointId === endpointId && row.createdAt >= since && hasFailed(row, now))
            .slice(0, replayLimit)
          for (const row of rows) db.deliveries.set(row.id, replayed(row, now))
          return rows.length
        }),
      replayMissing: ({ endpointId, now, since }) =>
        Effect.sync(() => {
          const endpoint = db.endpoints.get(endpointId)?.value
          if (endpoint === undefined) return 0
          const kept = [...db.deliveries.values()].filter(
            ({ event }) => event.createdAt >= since && event.accountId === endpoint.accountId
          )
          const had = new Set(kept.flatMap((row) => (row.endpointId === endpointId ? [row.event.id] : [])))
          const missing = new Map(
            kept.flatMap(({ event }) =>
              !had.has(event.id) && Webhook.misses(endpoint, event.type) ? [[event.id, event] as const] : []
            )
          )
          const wanted = [...missing.values()].slice(0, replayLimit)
          for (const event of wanted) Events.deliver(db, endpoint, event, now)
          return wanted.length
        }),
      nextDue: ({ full, now }) =>
        Effect.sync(() => {
          const passed = new Set(full)
          let next: Instant | null = null
          for (const row of db.deliveries.values()) {
            const due = passed.has(row.endpointId) ? null : dueAt(row)
            const endpoint = db.endpoints.get(row.endpointId)?.value
            if (due === null || endpoint === undefined) continue
            const perSecond = endpoint.deliveriesPerSecond
            const paced = perSecond === null ? due : Pacing.nextAt(arrivalOf(endpoint), perSecond, now)
            const at = Math.max(due, paced)
            if (next === null || at < next) next = at
          }
          return next
        })
    }
  })
)
