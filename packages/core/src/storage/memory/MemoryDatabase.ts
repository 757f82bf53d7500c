/**
 * The tables of the memory stores. One per build of the layer; tests may look into it. Values are immutable and
 * replaced, never changed, so none that was handed out is live. A verb is one synchronous step: JavaScript lets
 * nothing come between, and all its checks precede all its writes, so there is nothing to roll back.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Entry } from "../../domain/Audit.ts"
import type { Account } from "../../domain/account/Account.ts"
import type { ApiKey } from "../../domain/account/ApiKey.ts"
import type { RateCard } from "../../domain/billing/RateCard.ts"
import type { ConsentRecord, Last } from "../../domain/consent/Consent.ts"
import type { PerhapsRefusal } from "../../domain/consent/PerhapsRefusal.ts"
import type { Happening } from "../../domain/Happening.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { EarlierAttempt } from "../../domain/job/Attempts.ts"
import type { Job } from "../../domain/job/Job.ts"
import { hasEnded } from "../../domain/job/Job.ts"
import type { Tally } from "../../domain/job/Tally.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import type { Operator } from "../../domain/Operator.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Paging from "../../domain/Page.ts"
import type { Key, Known } from "../../domain/Person.ts"
import type { Session } from "../../domain/session/Session.ts"
import type { Told } from "../../domain/Told.ts"
import type { Template } from "../../domain/template/Template.ts"
import type { TemplateCheck } from "../../domain/template/TemplateCheck.ts"
import type { Unattributed } from "../../domain/Unattributed.ts"
import type { UnreadHook } from "../../domain/UnreadHook.ts"
import type { DeliveryState } from "../../domain/webhook/Delivering.ts"
import type { Event } from "../../domain/webhook/Event.ts"
import type { Attempt, Endpoint } from "../../domain/webhook/Webhook.ts"
import type { Unfinished } from "../ErasureStore.ts"
import type { InPortfolio } from "../InboundStore.ts"
import type { FencedRecipient, JobState } from "../JobSteps.ts"
import type { IdempotencyRecord, Report } from "../JobStore.ts"
import type { WorkerWord } from "../policy/JobRows.ts"
import type { StoredQuarantine } from "../policy/RestoreRows.ts"
import type { StoredPlan } from "../policy/RetryPlanRows.ts"

/** A row with its position, which grows with each insertion. */
export interface Positioned {
  readonly position: number
}

export interface JobRow extends Positioned, JobState {
  readonly recipients: ReadonlyArray<FencedRecipient>
  /** Null when nothing waits. */
  readonly nextDue: Instant | null
  /** Its place in `idempotency`; null when the request had no key. */
  readonly key: string | null
}

export interface EventRow extends Positioned, Event {}

export interface DeliveryRow extends Positioned, DeliveryState {
  readonly id: string
  readonly endpointId: string
  readonly event: EventRow
  /** Every attempt, the first one first. */
  readonly log: ReadonlyArray<Attempt>
  readonly createdAt: Instant
}

/** What is recorded of one key of a person, in the order of recording. */
export interface File {
  readonly records: Array<ConsentRecord>
  last: Last<ConsentRecord>
}

export interface Tables {
  readonly accounts: Map<string, Positioned & { readonly value: Account }>
  readonly sessions: Map<string, Positioned & { readonly value: Session }>
  /** By session, and by which configuration they were written. */
  readonly addresses: Map<string, { readonly config: string; readonly addresses: ReadonlySet<string> }>
  readonly apiKeys: Map<string, Positioned & { readonly value: ApiKey }>
  readonly operators: Map<string, Positioned & { readonly value: Operator }>
  /** The oldest first. */
  readonly audit: Array<Positioned & { readonly value: Entry }>
  readonly templates: Map<number, Template>
  readonly templateChecks: Map<number, TemplateCheck>
  readonly templatesTold: Map<number, Told>
  /** By account and person. */
  readonly consents: Map<string, Map<Key, File>>
  /** By account, person and the other. */
  readonly links: Map<string, Map<Key, Map<Key, Known>>>
  readonly unattributed: Array<Positioned & { readonly value: Unattributed }>
  /** By account, in the order in which they came. */
  readonly perhapsRefusals: Map<
    string,
    ReadonlyArray<Positioned & { readonly value: InPortfolio<PerhapsRefusal> }>
  >
  /** By session, the oldest first. */
  readonly unreadHooks: Map<string, ReadonlyArray<Positioned & { readonly value: UnreadHook }>>
  readonly rateCards: Array<Positioned & { readonly value: RateCard }>
  readonly jobs: Map<string, JobRow>
  /** By session, the jobs that have not ended: the others cost no claim anything. */
  readonly open: Map<string, Set<string>>
  readonly idempotency: Map<string, IdempotencyRecord>
  /** The worker that has each claim, by its fence, and how many outcomes it awaits. */
  readonly claims: Map<number, { readonly worker: string; readonly awaited: number }>
  /** The last word of each worker that it lives. */
  readonly beats: Map<string, WorkerWord>
  /** By what they count. */
  readonly tallies: Map<string, Tally>
  /** By the recipient's message id. */
  readonly earlierAttempts: Map<string, ReadonlyArray<EarlierAttempt>>
  /** What `Pacing` keeps of each session and endpoint. */
  readonly paces: Map<string, number>
  /** When the next message of a session to a phone may go. */
  readonly pairs: Map<string, Instant>
  readonly usage: Map<string, number>
  readonly lastAccepted: Map<string, Instant>
  /** By session, when its newest job in the order of acceptance is due first. */
  readonly lastDue: Map<string, Instant>
  readonly endpoints: Map<string, Positioned & { readonly value: Endpoint }>
  readonly deliveries: Map<string, DeliveryRow>
  /** When what came in was appended, by its id. */
  readonly inbound: Map<string, Instant>
  /** Reports of which only the platform's id is known, and not yet of which message that is. */
  readonly earlyReports: Array<{ readonly sessionId: string; readonly report: Report; readonly at: Instant }>
  readonly retryPlans: Map<string, Positioned & StoredPlan & { readonly key: string | null }>
  readonly erasures: Map<string, Positioned & { readonly value: Unfinished }>
  /** By account, which is empty for all, the hashes of names that were erased, and when. */
  readonly erased: Map<string, Map<string, Instant>>
  /** Sealed, the key of those hashes. */
  readonly hashKey: { sealed: string | null }
  /** The oldest first. */
  readonly happenings: Array<Happening>
  /** The hold of a store that was restored. */
  readonly restored: { quarantine: StoredQuarantine | null }
}

export class MemoryDatabase extends Context.Tag("@sendwright/core/storage/memory/MemoryDatabase")<
  MemoryDatabase,
  Tables & { readonly ids: Ids.Ids; readonly nextPosition: () => number }
>() {}

export type Database = Context.Tag.Service<MemoryDatabase>

export const layer: Layer.Layer<MemoryDatabase> = Layer.effect(
  MemoryDatabase,
  Effect.map(Ids.RandomBytes, (randomBytes) => {
    let position = 0
    return {
      accounts: new Map(),
      sessions: new Map(),
      addresses: new Map(),
      apiKeys: new Map(),
      operators: new Map(),
      audit: [],
      templates: new Map(),
      templateChecks: new Map(),
      templatesTold: new Map(),
      consents: new Map(),
      links: new Map(),
      unattributed: [],
      perhapsRefusals: new Map(),
      unreadHooks: new Map(),
      rateCards: [],
      jobs: new Map(),
      open: new Map(),
      idempotency: new Map(),
      claims: new Map(),
      beats: new Map(),
      tallies: new Map(),
      earlierAttempts: new Map(),
      paces: new Map(),
      pairs: new Map(),
      usage: new Map(),
      lastAccepted: new Map(),
      lastDue: new Map(),
      endpoints: new Map(),
      deliveries: new Map(),
      inbound: new Map(),
      earlyReports: [],
      retryPlans: new Map(),
      erasures: new Map(),
      erased: new Map(),
      hashKey: { sealed: null },
      happenings: [],
      restored: { quarantine: null },
      ids: Ids.make(randomBytes),
      nextPosition: () => {
        position += 1
        return position
      }
    }
  })
)

/** Adds a row; one that is there already is a bug of the caller, and stays as it is. */
export const insert = <A>(
  db: Database,
  table: Map<string, Positioned & { readonly value: A }>,
  id: string,
  value: A
): void => {
  if (table.has(id)) throw new Error(`There is a row "${id}" already.`)
  table.set(id, { position: db.nextPosition(), value })
}

/** When a job with these recipients has work next. */
export const nextDue = ({ recipients }: Pick<JobRow, "recipients">, job: Job, now: Instant): Instant | null =>
  Transitions.nextDue(
    job,
    recipients.map(({ recipient }) => recipient),
    now
  )

/** Writes a job's row. */
export const putJob = (db: Database, row: JobRow): void => {
  const { id, sessionId } = row.job
  db.jobs.set(id, row)
  const open = db.open.get(sessionId) ?? new Set()
  if (!hasEnded(row.job.status)) db.open.set(sessionId, open.add(id))
  else if (open.delete(id) && open.size === 0) db.open.delete(sessionId)
}

/** The rows of {@link Tables.open}, or those of one session. */
export const openJobs = (db: Database, sessionId?: string): ReadonlyArray<JobRow> => {
  const ofSessions = sessionId === undefined ? [...db.open.values()] : [db.open.get(sessionId) ?? []]
  return ofSessions.flatMap((ids) => [...ids].flatMap((id) => db.jobs.get(id) ?? []))
}

/** A page of rows, newest first. */
export const newestFirst = <Row extends Positioned>(rows: Iterable<Row>, page: Page): Paged<Row> => {
  const { after, limit } = page
  const found = [...rows]
    .filter(({ position }) => after === null || position < after)
    .sort((a, b) => b.position - a.position)
    .slice(0, limit + 1)
  return Paging.cut(found, limit, ({ position }) => position)
}
