/** Deletes what is kept no longer of the tables in memory. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Instant } from "../../domain/Instant.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as Recipient from "../../domain/job/Recipient.ts"
import type { Key } from "../../domain/Person.ts"
import * as Retention from "../../domain/Retention.ts"
import type { RetentionRows, WalkRows } from "../policy/RetentionRows.ts"
import * as Retentions from "../policy/Retentions.ts"
import { momentOf, RetentionStore } from "../RetentionStore.ts"
import type { Database, DeliveryRow, JobRow } from "./MemoryDatabase.ts"
import { MemoryDatabase } from "./MemoryDatabase.ts"
import * as JobRows from "./MemoryJobRows.ts"

type Walk = WalkRows<JobRows.Memory>

/** A row of a walk, and how it is deleted. */
interface Row extends Omit<Retention.Found, "retention"> {
  readonly remove: (now: Instant) => void
}

const compare = (a: Retention.Place, b: Retention.Place): number => {
  for (const [at, part] of a.entries()) {
    const other = b[at]
    if (other !== undefined && part !== other) return part < other ? -1 : 1
  }
  return 0
}

/** A walk over all rows that there are. */
const walkOver = (db: Database, rows: () => Iterable<Row>): Walk => {
  const retentionOf = (accountId: string): Retention.Retention =>
    db.accounts.get(accountId)?.value.retention ?? Retention.defaults
  return {
    page: function* ({ after, limit }) {
      return [...rows()]
        .filter(({ place }) => after === null || compare(place, after) > 0)
        .sort((a, b) => compare(a.place, b.place))
        .slice(0, limit)
        .map(({ remove: _, ...row }) => ({ ...row, retention: retentionOf(row.accountId) }))
    },
    remove: function* (found, now) {
      const places = new Set(found.map(({ place }) => JSON.stringify(place)))
      for (const row of [...rows()]) if (places.has(JSON.stringify(row.place))) row.remove(now)
    }
  }
}

function* eventsOf(db: Database): Generator<Row> {
  const events = new Map<number, Array<DeliveryRow>>()
  for (const delivery of db.deliveries.values()) {
    const { position } = delivery.event
    events.set(position, [...(events.get(position) ?? []), delivery])
  }
  for (const [position, deliveries] of events) {
    const event = deliveries[0]?.event
    if (event === undefined) continue
    const isOpen = deliveries.some(({ dueAt, worker }) => dueAt !== null || worker !== null)
    yield {
      place: [position],
      accountId: event.accountId,
      at: event.createdAt,
      endedAt: isOpen ? null : event.createdAt,
      isDone: false,
      rows: 1 + deliveries.length,
      bytes:
        Buffer.byteLength(event.body) + Retention.eventBytes + deliveries.length * Retention.deliveryBytes,
      remove: () => {
        for (const { id } of deliveries) db.deliveries.delete(id)
      }
    }
  }
}

const jobOf = ({ job, position }: JobRow) => ({
  place: [position],
  accountId: job.accountId,
  at: job.createdAt,
  endedAt: Jobs.hasEnded(job.status) && Recipient.countOf(job.counts, "open") === 0 ? job.completedAt : null
})

function* jobsOf(db: Database): Generator<Row> {
  const newest = Math.max(...[...db.jobs.values()].map(({ position }) => position))
  for (const row of db.jobs.values()) {
    const { job, key, position } = row
    // As in the databases, where it tells what its account has sent that day.
    if (position === newest) continue
    yield {
      ...jobOf(row),
      isDone: false,
      rows: job.recipients + 1,
      bytes: Retention.jobBytes + job.recipients * Retention.recipientBytes,
      remove: () => {
        db.jobs.delete(job.id)
        if (key !== null) db.idempotency.delete(key)
      }
    }
  }
}

const weightOf = ({ job: { content }, recipients }: JobRow): number => {
  let bytes = 0
  for (const { recipient } of recipients) bytes += Buffer.byteLength(JSON.stringify(recipient.values))
  return Jobs.isReadable(content) && content.kind === "direct"
    ? bytes + Buffer.byteLength(JSON.stringify(content))
    : bytes
}

function* jobContentsOf(db: Database): Generator<Row> {
  for (const row of db.jobs.values()) {
    yield {
      ...jobOf(row),
      isDone: row.job.contentExpiredAt !== null,
      rows: row.job.recipients,
      bytes: weightOf(row),
      remove: (now) => {
        const { content } = row.job
        db.jobs.set(row.job.id, {
          ...row,
          job: {
            ...row.job,
            content: content.kind === "direct" ? Jobs.expiredText : content,
            contentExpiredAt: now
          },
          recipients: row.recipients.map(({ fence, recipient }) => ({
            fence,
            recipient: { ...recipient, values: [] }
          }))
        })
      }
    }
  }
}

function* unattributedOf(db: Database): Generator<Row> {
  for (const item of db.unattributed) {
    yield {
      ...textOf(item.position, item.value),
      remove: () => {
        db.unattributed.splice(db.unattributed.indexOf(item), 1)
      }
    }
  }
}

function* perhapsRefusalsOf(db: Database): Generator<Row> {
  for (const [accountId, items] of db.perhapsRefusals)
    for (const item of items) {
      yield {
        ...textOf(item.position, item.value),
        remove: () => {
          const left = (db.perhapsRefusals.get(accountId) ?? []).filter((each) => each !== item)
          db.perhapsRefusals.set(accountId, left)
        }
      }
    }
}

const textOf = (
  position: number,
  value: { readonly accountId: string; readonly recordedAt: Instant; readonly text: string }
) => ({
  place: [position],
  accountId: value.accountId,
  at: value.recordedAt,
  endedAt: value.recordedAt,
  isDone: false,
  rows: 1,
  bytes: Buffer.byteLength(value.text) + Retention.textBytes
})

function* retryPlansOf(db: Database): Generator<Row> {
  for (const { plan, position } of db.retryPlans.values()) {
    yield {
      place: [position],
      accountId: plan.filter.accountId ?? "",
      at: plan.begunAt,
      endedAt: plan.endedAt,
      isDone: false,
      rows: 1,
      bytes: Retention.retryPlanBytes,
      remove: () => {
        db.retryPlans.delete(plan.id)
      }
    }
  }
}

function* unreadHooksOf(db: Database): Generator<Row> {
  for (const [sessionId, items] of db.unreadHooks)
    for (const item of items) {
      const { content, receivedAt } = item.value
      yield {
        place: [receivedAt, sessionId, item.position],
        accountId: db.sessions.get(sessionId)?.value.accountId ?? "",
        at: receivedAt,
        endedAt: receivedAt,
        isDone: false,
        rows: 1,
        bytes: Buffer.byteLength(content) + Retention.textBytes,
        remove: () => {
          const left = (db.unreadHooks.get(sessionId) ?? []).filter((each) => each !== item)
          if (left.length === 0) db.unreadHooks.delete(sessionId)
          else db.unreadHooks.set(sessionId, left)
        }
      }
    }
}

function* grantsOf(db: Database, accountId: string): Generator<Row> {
  for (const [person, file] of db.consents.get(accountId) ?? new Map<Key, never>())
    for (const [at, record] of file.records.entries()) {
      const isReplaced = file.records.some(
        (later, place) =>
          later.purpose === record.purpose &&
          later.status === "granted" &&
          (later.occurredAt > record.occurredAt || (later.occurredAt === record.occurredAt && place > at))
      )
      yield {
        place: [accountId, person, record.occurredAt, at],
        accountId,
        at: record.recordedAt,
        endedAt: record.status === "granted" && isReplaced ? record.recordedAt : null,
        isDone: false,
        rows: 1,
        bytes: Retention.consentBytes,
        remove: () => {
          file.records.splice(file.records.indexOf(record), 1)
        }
      }
    }
}

function* inboundOf(db: Database): Generator<Row> {
  for (const [id, at] of db.inbound) {
    yield {
      place: [at, id, 0],
      accountId: "",
      at,
      endedAt: at,
      isDone: false,
      rows: 1,
      bytes: 0,
      remove: () => {
        db.inbound.delete(id)
      }
    }
  }
}

const rowsOf = (db: Database): RetentionRows<JobRows.Memory> => {
  const accounts = () =>
    [...db.accounts.values()].flatMap(({ value: { id: accountId, retention } }) =>
      Retention.own(retention) === null ? [] : [{ accountId, retention }]
    )
  function* grants(): Generator<Row> {
    for (const { accountId, retention } of accounts())
      if (retention.consentsDays !== null) yield* grantsOf(db, accountId)
  }
  return {
    isQuarantined: function* () {
      return db.restored.quarantine !== null
    },
    tryLock: function* () {
      return true
    },
    accounts: function* () {
      return accounts()
    },
    walks: {
      events: walkOver(db, () => eventsOf(db)),
      jobContents: walkOver(db, () => jobContentsOf(db)),
      // A job has its text in itself.
      texts: walkOver(db, () => []),
      unattributed: walkOver(db, () => unattributedOf(db)),
      perhapsRefusals: walkOver(db, () => perhapsRefusalsOf(db)),
      jobs: walkOver(db, () => jobsOf(db)),
      retryPlans: walkOver(db, () => retryPlansOf(db)),
      unreadHooks: walkOver(db, () => unreadHooksOf(db)),
      grants: walkOver(db, grants),
      inbound: walkOver(db, () => inboundOf(db))
    }
  }
}

export const layer: Layer.Layer<RetentionStore, never, MemoryDatabase> = Layer.effect(
  RetentionStore,
  Effect.map(MemoryDatabase, (db) => {
    const rows = rowsOf(db)
    return {
      purge: (query) =>
        Effect.map(Effect.clock, (clock) => JobRows.perform(Retentions.purge(rows, query, momentOf(clock)))),
      count: (query) => Effect.sync(() => JobRows.perform(Retentions.count(rows, query)))
    }
  })
)
