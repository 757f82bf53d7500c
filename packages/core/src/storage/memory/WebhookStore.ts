import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../domain/Instant.ts"
import * as Paging from "../../domain/Page.ts"
import type { Delivery } from "../../domain/webhook/Webhook.ts"
import * as Deliveries from "../policy/Deliveries.ts"
import type { Tx } from "../policy/JobRows.ts"
import { mostCounted, WebhookStore } from "../WebhookStore.ts"
import type { DeliveryRow } from "./MemoryDatabase.ts"
import { insert, MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"
import * as MemoryJobRows from "./MemoryJobRows.ts"
import type { MemoryWebhooks } from "./MemoryWebhookRows.ts"
import * as MemoryWebhookRows from "./MemoryWebhookRows.ts"

const shown = (row: DeliveryRow): Delivery => ({
  id: row.id,
  endpointId: row.endpointId,
  eventId: row.event.id,
  eventType: row.event.type,
  status: row.status,
  attempts: row.log,
  nextAt: row.nextAt,
  createdAt: row.createdAt
})

/** By a clock that was ahead. A delivery that was never attempted is due since it was made, whatever time that was. */
const wasPutOff = ({ dueAt, log, tries, worker }: DeliveryRow, now: Time.Instant): boolean =>
  worker === null &&
  dueAt !== null &&
  dueAt > now &&
  Time.isAhead(tries === 0 ? dueAt : (log.at(-1)?.at ?? Time.at(0)), now)

export const layer: Layer.Layer<WebhookStore, never, MemoryDatabase> = Layer.effect(
  WebhookStore,
  Effect.map(MemoryDatabase, (db) => {
    const rows = MemoryWebhookRows.make(db)
    const deliveries = Deliveries.make(rows)

    const perform = <A>(verb: () => Tx<A, MemoryWebhooks>) => Effect.sync(() => MemoryJobRows.perform(verb()))

    const find = (id: string): Delivery | null => {
      const row = db.deliveries.get(id)
      return row === undefined ? null : shown(row)
    }

    return {
      create: (endpoint) => Effect.sync(() => insert(db, db.endpoints, endpoint.id, endpoint)),
      find: (id) => Effect.sync(() => db.endpoints.get(id)?.value ?? null),
      list: ({ accountId, isFailing, page }) =>
        Effect.sync(() => {
          const found = [...db.endpoints.values()].filter(
            ({ value }) =>
              (accountId === undefined || value.accountId === accountId) &&
              (isFailing === undefined || !value.enabled || value.failingSince !== null)
          )
          return Paging.map(newestFirst(found, page), ({ value }) => value)
        }),
      change: (command) => perform(() => Deliveries.change(rows, command)),
      remove: (id) => perform(() => Deliveries.remove(rows, id)),
      rotate: (command) => perform(() => Deliveries.rotate(rows, command)),
      send: (command) => perform(() => Deliveries.send(rows, command)),
      settleAndClaim: (command) => perform(() => deliveries.settleAndClaim(command)),
      rescue: (command) => perform(() => Deliveries.rescue(rows, command)),
      makeDue: (command) =>
        Effect.sync(() => {
          const now = command.now()
          const putOff = [...db.deliveries.values()].filter((row) => wasPutOff(row, now))
          for (const row of putOff) db.deliveries.set(row.id, { ...row, nextAt: now, dueAt: now })
          return putOff.length
        }),
      findDelivery: (id) => Effect.sync(() => find(id)),
      payload: (deliveryId) => Effect.sync(() => db.deliveries.get(deliveryId)?.event.body ?? null),
      deliveries: ({ endpointId, page, since, status, type }) =>
        Effect.sync(() => {
          const found = [...db.deliveries.values()].filter(
            (row) =>
              (endpointId === undefined || row.endpointId === endpointId) &&
              (status === undefined || row.status === status) &&
              (type === undefined || row.event.type === type) &&
              (since === undefined || row.createdAt >= since)
          )
          return Paging.map(newestFirst(found, page), shown)
        }),
      replay: ({ deliveryId, now }) =>
        Effect.map(
          perform(() => rows.replay(deliveryId, now)),
          () => find(deliveryId)
        ),
      replayFailed: (command) => perform(() => Deliveries.replayFailed(rows, command)),
      replayMissing: (command) => perform(() => Deliveries.replayMissing(rows, command)),
      standing: ({ most }) =>
        Effect.sync(() => {
          const all = [...db.endpoints.values()]
          const troubled = all.filter(({ value }) => !value.enabled || value.failingSince !== null)
          const disabled = troubled.filter(({ value }) => !value.enabled).length
          const waitingFor = (id: string): number =>
            [...db.deliveries.values()].filter(({ dueAt, endpointId }) => endpointId === id && dueAt !== null)
              .length
          const lastOf = (id: string) => {
            const tried = [...db.deliveries.values()].filter(
              ({ dueAt, endpointId, tries }) => endpointId === id && tries > 0 && dueAt !== null
            )
            const [last] = tried.flatMap(({ log }) => log).sort((a, b) => b.at - a.at)
            return last === undefined ? null : { status: last.status, reason: last.reason }
          }
          return {
            healthy: all.length - troubled.length,
            failing: troubled.length - disabled,
            disabled,
            durations: newestFirst(db.deliveries.values(), {
              limit: mostCounted.newest,
              after: null
            }).items.flatMap(({ log }) => log.map(({ durationMs }) => durationMs)),
            troubled: newestFirst(troubled, { limit: most, after: null }).items.map(({ value }) => ({
              endpoint: value,
              waiting: Math.min(waitingFor(value.id), mostCounted.deliveries),
              last: lastOf(value.id)
            }))
          }
        }),
      countWaiting: ({ most }) =>
        Effect.sync(() => {
          const isWaiting = (row: DeliveryRow): boolean =>
            row.dueAt !== null && db.endpoints.get(row.endpointId)?.value.enabled === true
          return Math.min(most, [...db.deliveries.values()].filter(isWaiting).length)
        }),
      nextDue: (query) => perform(() => deliveries.nextDue(query))
    }
  })
)
