/** A store at a glance (contract.md §12), of facts that were read together. */
import type { Instant } from "../Instant.ts"
import type { Priority } from "../job/Priority.ts"
import * as Waiting from "../job/Waiting.ts"
import type { Size } from "../Size.ts"
import type { Item } from "./Attention.ts"
import * as Attention from "./Attention.ts"
import type { Minute, Rates, SessionFigures, WaitingFor } from "./Figures.ts"
import * as Figures from "./Figures.ts"
import type { Process, StoreReadings } from "./StoreReadings.ts"

export interface Overview {
  readonly at: Instant
  /** Of the process that answers; null where it did not say. */
  readonly version: string | null
  readonly rates: Rates
  readonly waiting: {
    readonly total: number
    readonly totalIsExact: boolean
    readonly oldestAt: Instant | null
    readonly by: ReadonlyArray<WaitingFor>
    readonly byPriority: Readonly<Record<Priority, number>>
  }
  readonly minutes: ReadonlyArray<Minute>
  readonly attention: ReadonlyArray<Item>
  readonly sessions: ReadonlyArray<SessionFigures>
  readonly processes: ReadonlyArray<Process>
  readonly webhooks: {
    readonly healthy: number
    readonly failing: number
    readonly disabled: number
    readonly waiting: number
    readonly p95Ms: number | null
  }
  readonly storage: Size
}

/** Sessions in need, then those that have most to do. */
const inOrder = (
  sessions: ReadonlyArray<SessionFigures>,
  attention: ReadonlyArray<Item>
): ReadonlyArray<SessionFigures> => {
  const needs = attention.flatMap(({ target: { id } }) => id ?? [])
  const rankOf = ({ session }: SessionFigures): number => {
    const place = needs.indexOf(session.id)
    return place === -1 ? needs.length : place
  }
  return sessions.toSorted(
    (a, b) => rankOf(a) - rankOf(b) || b.waiting - a.waiting || b.sentPerSecond - a.sentPerSecond
  )
}

export const overviewOf = (facts: StoreReadings, version: string | null): Overview => {
  const { backlog, deliveriesWaiting, isDispatched, now, processes, quarantine, storage, webhooks } = facts
  const sessions = Figures.sessionsOf(facts)
  const attention = Attention.attentionOf(facts, sessions)
  const minutes = Figures.minutesOf(facts)
  const by = Figures.waitingOf(Waiting.limit(backlog, { isDispatched, isHeld: quarantine !== null }), now)
  const { disabled, failing, healthy } = webhooks
  return {
    at: now,
    version,
    rates: Figures.ratesOf(minutes, now),
    waiting: {
      total: by.reduce((sum, { recipients }) => sum + recipients, 0),
      totalIsExact: backlog.isExact,
      oldestAt: backlog.oldestAt,
      by,
      byPriority: Waiting.byPriority(backlog)
    },
    minutes,
    attention,
    sessions: inOrder(sessions, attention),
    processes,
    webhooks: { healthy, failing, disabled, waiting: deliveriesWaiting, p95Ms: Figures.p95Of(webhooks) },
    storage
  }
}
