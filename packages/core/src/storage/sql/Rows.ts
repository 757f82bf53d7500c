/**
 * Reading and writing rows. A reader that does not find what the schema promises throws, and that is a defect: a
 * row of another shape is a bug, and going on with half of it would spread it.
 */
import * as Arrays from "effect/Array"
import type { Account } from "../../domain/Account.ts"
import type { ApiKey, Status as KeyStatus } from "../../domain/ApiKey.ts"
import type { Entry } from "../../domain/Audit.ts"
import type { Outage, Silence } from "../../domain/Circuit.ts"
import type { ConsentRecord, Status as ConsentStatus } from "../../domain/Consent.ts"
import * as Consent from "../../domain/Consent.ts"
import * as Event from "../../domain/Event.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Job from "../../domain/Job.ts"
import * as Keywords from "../../domain/Keywords.ts"
import type { Operator } from "../../domain/Operator.ts"
import * as Operators from "../../domain/Operator.ts"
import type { Page } from "../../domain/Page.ts"
import * as Person from "../../domain/Person.ts"
import * as Progress from "../../domain/Progress.ts"
import type { RateCard } from "../../domain/RateCard.ts"
import * as Recipient from "../../domain/Recipient.ts"
import type { Session, State } from "../../domain/Session.ts"
import type { Template } from "../../domain/Template.ts"
import * as Templates from "../../domain/Template.ts"
import * as Unattributed from "../../domain/Unattributed.ts"
import type { Attempt, DeliveryStatus, Endpoint } from "../../domain/Webhook.ts"
import * as Webhook from "../../domain/Webhook.ts"
import type { Held, Tracked } from "../JobSteps.ts"
import type { Dialect } from "./Database.ts"
import type { Row, SqlParameter, SqlValue } from "./Program.ts"
import type { Taken } from "./Taken.ts"

type Parameters = ReadonlyArray<SqlParameter>

const unexpected = (name: string, value: SqlValue | undefined): never => {
  throw new TypeError(`Column "${name}" holds ${value === null ? "null" : typeof value}`)
}

export const text = (row: Row, name: string): string => {
  const value = row[name]
  return typeof value === "string" ? value : unexpected(name, value)
}

export const textOrNull = (row: Row, name: string): string | null => {
  const value = row[name]
  return value === null || typeof value === "string" ? value : unexpected(name, value)
}

export const integer = (row: Row, name: string): number => {
  const value = row[name]
  return typeof value === "number" ? value : unexpected(name, value)
}

export const integerOrNull = (row: Row, name: string): number | null => {
  const value = row[name]
  return value === null || typeof value === "number" ? value : unexpected(name, value)
}

/** A number that may have a fraction. */
export const real = integer
export const realOrNull = integerOrNull

export const flag = (row: Row, name: string): boolean => integer(row, name) === 1

/** JSON of our own writing: `JSON.parse` answers `any`, and the type is the one that was written. */
export const json = <A>(row: Row, name: string): A => JSON.parse(text(row, name))

const wordOf = <A extends string>(known: ReadonlyArray<A>) => {
  const words = new Map<string, A>(known.map((word) => [word, word]))
  return (name: string, value: string): A => words.get(value) ?? unexpected(name, value)
}

export const oneOf = <A extends string>(known: ReadonlyArray<A>) => {
  const word = wordOf(known)
  return (row: Row, name: string): A => word(name, text(row, name))
}

/** A bare `LIMIT ?` makes SQLite plan the statement anew at every run, for ten times the cost of a short one. */
export const limited = "LIMIT 0 + ?"

/** Below every position of a list that runs from the newest down, and above any time. */
export const end = Number.MAX_SAFE_INTEGER

/** The parameters of `seq < ?` and {@link limited}: one row more than the page tells whether there is another. */
export const newestFirst = (page: Page): readonly [number, number] => [page.after ?? end, page.limit + 1]

export const seq = (row: Row): number => integer(row, "seq")

/** A table's columns among those of others, and its row made of their values. */
export const joined = (alias: string, columns: ReadonlyArray<string>) => ({
  columns: columns.map((name) => `${alias}.${name}`).join(", "),
  rowOf: (values: ReadonlyArray<SqlValue>): Row =>
    Object.fromEntries(columns.map((name, at) => [name, values[at] ?? null]))
})

export const accountColumns = ["id", "name", "currency", "plan", "created_at", "updated_at"]

export const fromAccount = (account: Account): Parameters => [
  account.id,
  account.name,
  account.currency,
  JSON.stringify(account.plan),
  account.createdAt,
  account.updatedAt
]

export const toAccount = (row: Row): Account => ({
  id: text(row, "id"),
  name: text(row, "name"),
  currency: text(row, "currency"),
  plan: json(row, "plan"),
  createdAt: integer(row, "created_at"),
  updatedAt: integer(row, "updated_at")
})

const state = oneOf<State>(["connected", "connecting", "disconnected"])

export const outageColumns = ["unavailable_since", "probe_at", "probe_interval"]

/** An outage that is over has no beginning in its row, but its end and its length in the place of the next probe's. */
export const fromOutages = ({ lastOutage, outage }: Pick<Session, "lastOutage" | "outage">): Parameters =>
  outage !== null
    ? [outage.since, outage.probeAt, outage.intervalMs]
    : lastOutage !== null
      ? [null, lastOutage.until, lastOutage.until - lastOutage.since]
      : [null, null, null]

export const toOutage = (row: Row): Outage | null => {
  const since = integerOrNull(row, "unavailable_since")
  return since === null
    ? null
    : { since, probeAt: integer(row, "probe_at"), intervalMs: integer(row, "probe_interval") }
}

export const toLastOutage = (row: Row): Silence | null => {
  const until = integerOrNull(row, "probe_at")
  return until === null || integerOrNull(row, "unavailable_since") !== null
    ? null
    : { since: until - integer(row, "probe_interval"), until }
}

export const sessionColumns = [
  "id",
  "account",
  "name",
  "provider",
  "config",
  "pacing",
  "retry_for",
  "keywords",
  "state",
  "reason",
  "blocked_until",
  ...outageColumns,
  "connected_since",
  "created_at",
  "updated_at"
]

export const fromKeywords = (keywords: Keywords.Keywords): string | null =>
  keywords.opt_out === null && keywords.opt_in === null ? null : JSON.stringify(keywords)

export const fromSession = (session: Session): Parameters => [
  session.id,
  session.accountId,
  session.name,
  session.provider,
  session.config,
  JSON.stringify(session.pacing),
  session.retryForMs,
  fromKeywords(session.keywords),
  session.state,
  session.reason,
  session.blockedUntil,
  ...fromOutages(session),
  session.connectedSince,
  session.createdAt,
  session.updatedAt
]

export const toSession = (row: Row): Session => ({
  id: text(row, "id"),
  accountId: text(row, "account"),
  name: text(row, "name"),
  provider: text(row, "provider"),
  config: text(row, "config"),
  pacing: json(row, "pacing"),
  retryForMs: integerOrNull(row, "retry_for"),
  // Read with every request: most have none of their own.
  keywords: textOrNull(row, "keywords") === null ? Keywords.standard : Keywords.stored(json(row, "keywords")),
  state: state(row, "state"),
  reason: textOrNull(row, "reason"),
  blockedUntil: integerOrNull(row, "blocked_until"),
  outage: toOutage(row),
  lastOutage: toLastOutage(row),
  connectedSince: integerOrNull(row, "connected_since"),
  createdAt: integer(row, "created_at"),
  updatedAt: integer(row, "updated_at")
})

const keyStatus = oneOf<KeyStatus>(["active", "inactive", "revoked"])

export const apiKeyColumns = [
  "public_key",
  "session",
  "name",
  "permissions",
  "status",
  "secrets",
  "created_at",
  "last_used_at"
]

export const fromApiKey = (key: ApiKey): Parameters => [
  key.publicKey,
  key.sessionId,
  key.name,
  JSON.stringify(key.permissions),
  key.status,
  JSON.stringify(key.secrets),
  key.createdAt,
  key.lastUsedAt
]

export const toApiKey = (row: Row): ApiKey => ({
  publicKey: text(row, "public_key"),
  sessionId: text(row, "session"),
  name: textOrNull(row, "name"),
  permissions: json(row, "permissions"),
  status: keyStatus(row, "status"),
  secrets: json(row, "secrets"),
  createdAt: integer(row, "created_at"),
  lastUsedAt: integerOrNull(row, "last_used_at")
})

export const operatorColumns = ["name", "role", "status", "secrets", "created_at", "last_used_at"]

export const fromOperator = (operator: Operator): Parameters => [
  operator.name,
  operator.role,
  operator.status,
  JSON.stringify(operator.secrets),
  operator.createdAt,
  operator.lastUsedAt
]

const role = oneOf(Operators.roles)
const operatorStatus = oneOf(Operators.statuses)

export const toOperator = (row: Row): Operator => ({
  name: text(row, "name"),
  role: role(row, "role"),
  status: operatorStatus(row, "status"),
  secrets: json(row, "secrets"),
  createdAt: integer(row, "created_at"),
  lastUsedAt: integerOrNull(row, "last_used_at")
})

export const auditColumns = [
  "id",
  "at",
  "operator",
  "operation",
  "target",
  "address",
  "request_id",
  "before_act",
  "after_act"
]

const jsonOrNull = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

export const fromAuditEntry = (entry: Entry): Parameters => [
  entry.id,
  entry.at,
  entry.operator,
  entry.operation,
  entry.target,
  entry.address,
  entry.requestId,
  jsonOrNull(entry.before),
  jsonOrNull(entry.after)
]

export const toAuditEntry = (row: Row): Entry => ({
  id: text(row, "id"),
  at: integer(row, "at"),
  operator: text(row, "operator"),
  operation: text(row, "operation"),
  target: textOrNull(row, "target"),
  address: textOrNull(row, "address"),
  requestId: textOrNull(row, "request_id"),
  before: textOrNull(row, "before_act") === null ? null : json(row, "before_act"),
  after: textOrNull(row, "after_act") === null ? null : json(row, "after_act")
})

export const templateColumns = ["session", "name", "language", "category", "status", "content", "updated_at"]

export const toTemplate = (row: Row): Template => ({
  ...Templates.ofStored(json<Templates.Stored>(row, "content")),
  templateId: integer(row, "id"),
  sessionId: text(row, "session"),
  updatedAt: integer(row, "updated_at")
})

const scope = oneOf(Consent.scopes)
const consentStatus = oneOf<ConsentStatus>(["granted", "revoked"])

/** The columns of a record beside its key: a phone or user id that is the key is not written twice. */
export const fromConsent = (record: ConsentRecord, key: Person.Key): Parameters => {
  const { phone, userId } = Person.ofKey(key)
  return [
    record.id,
    record.phone === phone ? null : record.phone,
    record.userId === userId ? null : record.userId,
    record.purpose,
    record.status,
    record.source,
    record.proof,
    record.occurredAt,
    record.recordedAt
  ]
}

export const consentColumns = [
  "id",
  "phone",
  "user_id",
  "purpose",
  "status",
  "source",
  "proof",
  "occurred_at",
  "recorded_at"
]

const personOf = (key: Person.Key, phone: string | null, userId: string | null): Person.Person => {
  const known = Person.ofKey(key)
  return { phone: phone ?? known.phone, userId: userId ?? known.userId }
}

export const toConsent = (row: Row): ConsentRecord => ({
  ...personOf(text(row, "person"), textOrNull(row, "phone"), textOrNull(row, "user_id")),
  id: text(row, "id"),
  purpose: scope(row, "purpose"),
  status: consentStatus(row, "status"),
  source: text(row, "source"),
  proof: textOrNull(row, "proof"),
  occurredAt: integer(row, "occurred_at"),
  recordedAt: integer(row, "recorded_at")
})

/** What {@link toStandings} reads of a `consent`, after the place of the phone. */
export const standingColumns = "consent.purpose, consent.status, consent.occurred_at"

/** What {@link toHistories} reads. */
export const historyColumns = `${standingColumns}, consent.id, consent.person, consent.source, consent.proof,
    consent.recorded_at, consent.phone, consent.user_id`

/** A record, and the place of its phone among those asked for. */
export interface Recorded<R> {
  readonly place: number
  readonly record: R
}

type StandingTuple = readonly [place: number, purpose: string, status: string, occurredAt: number]

type HistoryTuple = readonly [
  ...StandingTuple,
  id: string,
  person: Person.Key,
  source: string,
  proof: string | null,
  recordedAt: number,
  phone: string | null,
  userId: string | null
]

const scopeOf = wordOf(Consent.scopes)
const consentStatusOf = wordOf<ConsentStatus>(["granted", "revoked"])

/** What decides of the records of several phones, as one JSON text, like {@link toRecipients}. */
export const toStandings = (row: Row | undefined): ReadonlyArray<Recorded<Consent.Standing>> =>
  json<ReadonlyArray<StandingTuple>>(row ?? {}, "records").map((tuple) => ({
    place: tuple[0],
    record: {
      purpose: scopeOf("purpose", tuple[1]),
      status: consentStatusOf("status", tuple[2]),
      occurredAt: tuple[3]
    }
  }))

/** The same with all of each record. */
export const toHistories = (row: Row | undefined): ReadonlyArray<Recorded<ConsentRecord>> =>
  json<ReadonlyArray<HistoryTuple>>(row ?? {}, "records").map((tuple) => ({
    place: tuple[0],
    record: {
      ...personOf(tuple[5], tuple[9], tuple[10]),
      id: tuple[4],
      purpose: scopeOf("purpose", tuple[1]),
      status: consentStatusOf("status", tuple[2]),
      source: tuple[6],
      proof: tuple[7],
      occurredAt: tuple[3],
      recordedAt: tuple[8]
    }
  }))

export const unattributedColumns = [
  "id",
  "account",
  "session",
  "kind",
  "message_id",
  "text",
  "occurred_at",
  "recorded_at"
]

export const fromUnattributed = (found: Unattributed.Unattributed): Parameters => [
  found.id,
  found.accountId,
  found.sessionId,
  found.kind,
  found.messageId,
  found.text,
  found.occurredAt,
  found.recordedAt
]

const unattributedKind = oneOf(Unattributed.kinds)

export const toUnattributed = (row: Row): Unattributed.Unattributed => ({
  id: text(row, "id"),
  accountId: text(row, "account"),
  sessionId: text(row, "session"),
  kind: unattributedKind(row, "kind"),
  messageId: textOrNull(row, "message_id"),
  text: text(row, "text"),
  occurredAt: integer(row, "occurred_at"),
  recordedAt: integer(row, "recorded_at")
})

export const rateCardColumns = ["id", "currency", "effective_from", "created_at", "prices"]

export const fromRateCard = (card: RateCard): Parameters => [
  card.id,
  card.currency,
  card.effectiveFrom,
  card.createdAt,
  JSON.stringify(card.prices)
]

export const toRateCard = (row: Row): RateCard => ({
  id: text(row, "id"),
  currency: text(row, "currency"),
  effectiveFrom: integer(row, "effective_from"),
  createdAt: integer(row, "created_at"),
  prices: json(row, "prices")
})

const jobStatus = wordOf(Job.statuses)
const pauseReason = wordOf(Job.pauseReasons)

const changing = [
  "status",
  "pause_reason",
  "queued",
  "sending",
  "accepted",
  "sent",
  "delivered",
  "read",
  "failed",
  "skipped",
  "canceled",
  "unknown",
  "in_flight",
  "worker",
  "fence",
  "updated_at",
  "completed_at",
  "taken_first",
  "taken_last",
  "taken_at"
]

/**
 * What steps change of a job, after what it is known by, and the row's version; {@link renewed} reads it.
 *
 * @param as what it is called by that has what changes
 */
export const changingColumns = (as: string, version: string): string =>
  `job.seq, job.id, ${changing.map((name) => `${as}.${name}`).join(", ")}, ${version}`

const staying = `job.seq, job.id, job.account, job.session, job.public_key, job.snapshot, snapshot.digest, job.currency,
    job.estimated_cost, job.recipients, job.created_at, job.reference`

const rowOf = ({ jsonValue, version }: Dialect): string =>
  jsonValue(changingColumns("progress", version("progress")))

/** What {@link toStoredJob} reads of a job, of its row in `sendwright_progress` and of the batch that has it. */
export const jobColumns = (dialect: Dialect): string =>
  `CASE WHEN progress.seq IS NULL THEN NULL ELSE ${rowOf(dialect)} END,
    CASE WHEN batch.first IS NULL THEN NULL
      ELSE ${dialect.jsonValue("batch.first, batch.worker, batch.at, batch.version")} END, ${staying}`

/** The same of a job that has such a row. */
export const rowColumns = (dialect: Dialect): string => `${rowOf(dialect)}, NULL, ${staying}`

/** The same of a job that waits in the backlog, of which there is nothing but itself. */
export const waitingColumns = `NULL, NULL, ${staying}`

type ChangingTuple = readonly [
  seq: number,
  id: string,
  status: string,
  pauseReason: string | null,
  queued: number,
  sending: number,
  accepted: number,
  sent: number,
  delivered: number,
  read: number,
  failed: number,
  skipped: number,
  canceled: number,
  unknown: number,
  inFlight: number,
  worker: string | null,
  fence: number,
  updatedAt: number,
  completedAt: number | null,
  takenFirst: number | null,
  takenLast: number | null,
  takenAt: number | null,
  version: string
]

type BatchTuple = readonly [first: number, worker: string | null, at: Instant, version: string]

type JobTuple = readonly [
  changed: ChangingTuple | null,
  batch: BatchTuple | null,
  seq: number,
  id: string,
  account: string,
  session: string,
  publicKey: string,
  snapshot: number,
  digest: string,
  currency: string,
  estimatedCost: string | null,
  recipients: number,
  createdAt: number,
  reference: string | null
]

/** A job, its number, and where its state is written. */
export interface StoredJob extends Held {
  readonly seq: number
  readonly taken: Taken | null
  /** True when it has a row in `sendwright_progress`. */
  readonly hasRow: boolean
  /** The first job of the batch that tells of it; null where it has a row, and while it waits untouched. */
  readonly batch: number | null
  /**
   * Of a job that was read from the backlog: the job before it there, null of the first. Undefined of others.
   */
  readonly behind: number | null | undefined
  /** Of its row (`Dialect.version`), or of its batch's, as it was read; empty while it has neither. */
  readonly version: string
}

/** What of a job stays as it was accepted. */
type Fixed = Pick<
  Job.Job,
  | "accountId"
  | "sessionId"
  | "publicKey"
  | "content"
  | "reference"
  | "recipients"
  | "currency"
  | "estimatedCost"
  | "createdAt"
>

const toTaken = (first: number | null, last: number | null, at: number | null): Taken | null =>
  first === null || last === null || at === null ? null : { first, last, at }

const toHeld = (tuple: ChangingTuple, fixed: Fixed): StoredJob => ({
  seq: tuple[0],
  job: {
    id: tuple[1],
    accountId: fixed.accountId,
    sessionId: fixed.sessionId,
    publicKey: fixed.publicKey,
    content: fixed.content,
    reference: fixed.reference,
    status: jobStatus("status", tuple[2]),
    pauseReason: tuple[3] === null ? null : pauseReason("pause_reason", tuple[3]),
    recipients: fixed.recipients,
    counts: {
      queued: tuple[4],
      sending: tuple[5],
      accepted: tuple[6],
      sent: tuple[7],
      delivered: tuple[8],
      read: tuple[9],
      failed: tuple[10],
      skipped: tuple[11],
      canceled: tuple[12],
      unknown: tuple[13]
    },
    currency: fixed.currency,
    estimatedCost: fixed.estimatedCost,
    createdAt: fixed.createdAt,
    updatedAt: tuple[17],
    completedAt: tuple[18]
  },
  inFlight: tuple[14],
  worker: tuple[15],
  fence: tuple[16],
  taken: toTaken(tuple[19], tuple[20], tuple[21]),
  hasRow: true,
  batch: null,
  behind: undefined,
  version: tuple[22]
})

/** A job that has no row yet: as it was accepted, or wholly in hand of a worker for the first time. */
const toUntouched = (
  seq: number,
  jobId: string,
  fixed: Fixed,
  batch: BatchTuple | null,
  behind: number | null | undefined
): StoredJob => {
  const { accountId, content, createdAt, currency, estimatedCost, publicKey, recipients, reference } = fixed
  const job = Job.newJob({
    accountId,
    sessionId: fixed.sessionId,
    publicKey,
    currency,
    estimatedCost,
    reference,
    jobId,
    content,
    recipients,
    now: createdAt
  })
  return batch === null
    ? {
        seq,
        job,
        inFlight: 0,
        worker: null,
        fence: 0,
        taken: null,
        hasRow: false,
        batch,
        behind,
        version: ""
      }
    : inBatch(seq, Progress.underWay(job, batch[2]), batch)
}

/** A job that a batch has taken whole. */
export const inBatch = (
  seq: number,
  job: Job.Job,
  [first, worker, at, version]: readonly [first: number, worker: string | null, at: Instant, version: string]
): StoredJob => ({
  seq,
  job,
  inFlight: job.recipients,
  worker,
  fence: 1,
  taken: { first: 0, last: job.recipients - 1, at },
  hasRow: false,
  batch: first,
  behind: undefined,
  version
})

/** As one JSON text, like {@link toRecipients}; its content lies apart. */
export const toStoredJob = (
  row: Row,
  behind?: number | null
): {
  readonly digest: string
  readonly snapshot: number
  readonly of: (content: Job.Content) => StoredJob
} => {
  const tuple = json<JobTuple>(row, "job")
  const [changed, batch] = tuple
  const of = (content: Job.Content): StoredJob => {
    const fixed: Fixed = {
      accountId: tuple[4],
      sessionId: tuple[5],
      publicKey: tuple[6],
      content,
      reference: tuple[13],
      recipients: tuple[11],
      currency: tuple[9],
      estimatedCost: tuple[10],
      createdAt: tuple[12]
    }
    return changed === null ? toUntouched(tuple[2], tuple[3], fixed, batch, behind) : toHeld(changed, fixed)
  }
  return { snapshot: tuple[7], digest: tuple[8], of }
}

/** Those of the jobs that there still are, as they are now; of one that is as it was left there is nothing to read. */
export const renewed = (
  row: Row | undefined,
  known: ReadonlyMap<number, StoredJob>
): ReadonlyArray<StoredJob> => {
  const jobs = json<ReadonlyArray<readonly [seq: number, id: string, changed: ChangingTuple | null]>>(
    row ?? {},
    "jobs"
  )
  return Arrays.flatMap(jobs, ([seq, id, changed]) => {
    const held = known.get(seq)
    if (held === undefined || held.job.id !== id) return []
    return [changed === null ? held : toHeld(changed, held.job)]
  })
}

/** The keys that a job has for its recipients; a message id has no room for more than 4,094 of them either. */
const placesPerJob = 4096

export const lastPlace = placesPerJob - 1

export const recipientKey = (job: number, index: number): number => job * placesPerJob + index

/** The job of a recipient's key. */
export const jobOf = (key: number): number => Math.floor(key / placesPerJob)

/** A recipient, and its row's key. */
export interface StoredRecipient extends Tracked {
  readonly key: number
}

/** The first and the last key that a job's recipients can have. */
export const keysOf = (job: number): readonly [number, number] => [
  recipientKey(job, 0),
  recipientKey(job, lastPlace)
]

/** A recipient's row that tells no more than what it was accepted with. */
export const untouched = "sequence = 0 AND status = 'queued'"

/** What {@link toRecipients} reads: of an untouched one less. */
export const recipientColumns = ({
  json,
  jsonValue
}: Pick<Dialect, "json" | "jsonValue">): string => `seq, phone,
    external_id, ${json("variables")}, market, price, next_at, updated_at, CASE WHEN ${untouched}
    THEN NULL ELSE ${jsonValue(`status, ${json("failure")}, attempts, provider_id, sequence, sent_at, delivered_at,
    read_at, fence, lost, uncertain, ${json("pricing")}, retrying_since`)} END`

type ProgressTuple = readonly [
  status: string,
  failure: Recipient.Failure | null,
  attempts: number,
  providerId: string | null,
  sequence: number,
  sentAt: number | null,
  deliveredAt: number | null,
  readAt: number | null,
  fence: number | null,
  lost: number,
  uncertain: number,
  pricing: Recipient.Pricing | null,
  retryingSince: number | null
]

type RecipientTuple = readonly [
  key: number,
  phone: string,
  externalId: string | null,
  values: ReadonlyArray<string>,
  market: string | null,
  price: string | null,
  nextAt: number | null,
  updatedAt: number,
  progress: ProgressTuple | null
]

const untouchedProgress: ProgressTuple = [
  "queued",
  null,
  0,
  null,
  0,
  null,
  null,
  null,
  null,
  0,
  0,
  null,
  null
]

const recipientStatus = wordOf(Recipient.statuses)

const toRecipient = (tuple: RecipientTuple): StoredRecipient => {
  const progress = tuple[8] ?? untouchedProgress
  return {
    key: tuple[0],
    recipient: {
      index: tuple[0] % placesPerJob,
      phone: tuple[1],
      externalId: tuple[2],
      values: tuple[3],
      status: recipientStatus("status", progress[0]),
      failure: progress[1],
      attempts: progress[2],
      retryingSince: progress[12],
      lost: progress[9],
      uncertain: progress[10] === 1,
      providerId: progress[3],
      market: tuple[4],
      price: tuple[5],
      pricing: progress[11],
      sequence: progress[4],
      nextAt: tuple[6],
      updatedAt: tuple[7],
      sentAt: progress[5],
      deliveredAt: progress[6],
      readAt: progress[7]
    },
    fence: progress[8]
  }
}

/**
 * The recipients of one answer. They come as one JSON text, because the driver's own rows of so many columns take
 * three times as long; the table is STRICT, so a column cannot hold another type than it says.
 */
export const toRecipients = (row: Row | undefined): ReadonlyArray<StoredRecipient> =>
  json<ReadonlyArray<RecipientTuple>>(row ?? {}, "recipients").map(toRecipient)

export const endpointColumns = [
  "id",
  "account",
  "url",
  "events",
  "description",
  "enabled",
  "disabled_reason",
  "secrets",
  "failing_since",
  "deliveries_per_second",
  "batch_recipients",
  "created_at",
  "updated_at"
]

export const fromEndpoint = (endpoint: Endpoint): Parameters => [
  endpoint.id,
  endpoint.accountId,
  endpoint.url,
  JSON.stringify(endpoint.events),
  endpoint.description,
  endpoint.enabled ? 1 : 0,
  endpoint.disabledReason,
  JSON.stringify(endpoint.secrets),
  endpoint.failingSince,
  endpoint.deliveriesPerSecond,
  endpoint.batchRecipients ? 1 : 0,
  endpoint.createdAt,
  endpoint.updatedAt
]

export const toEndpoint = (row: Row): Endpoint => ({
  id: text(row, "id"),
  accountId: text(row, "account"),
  url: text(row, "url"),
  events: json(row, "events"),
  description: textOrNull(row, "description"),
  enabled: flag(row, "enabled"),
  disabledReason: textOrNull(row, "disabled_reason"),
  secrets: json(row, "secrets"),
  failingSince: integerOrNull(row, "failing_since"),
  deliveriesPerSecond: integerOrNull(row, "deliveries_per_second"),
  batchRecipients: flag(row, "batch_recipients"),
  createdAt: integer(row, "created_at"),
  updatedAt: integer(row, "updated_at")
})

export const deliveryStatus = oneOf<DeliveryStatus>(["pending", "delivered", "exhausted"])
export const eventType = oneOf<Event.Type>([...Event.types, Event.batchType])

const failure = oneOf(Webhook.failures)

export const toAttempt = (row: Row): Attempt => ({
  number: integer(row, "number"),
  at: integer(row, "at"),
  status: integerOrNull(row, "status"),
  durationMs: integer(row, "duration_ms"),
  reason: row["reason"] === null ? null : failure(row, "reason"),
  excerpt: text(row, "excerpt")
})
