/** Jobs and their recipients. Every step costs what its window costs, however much waits behind it. */
import * as Arrays from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Idempotency from "../../domain/Idempotency.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Content } from "../../domain/Job.ts"
import * as Job from "../../domain/Job.ts"
import * as Page from "../../domain/Page.ts"
import * as Plan from "../../domain/Plan.ts"
import type { Step, Tracked } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type { AcceptSend, Earlier, Report, Settlement } from "../JobStore.ts"
import { AcceptResult, JobStore, parkedMs } from "../JobStore.ts"
import type { StorageError } from "../StorageError.ts"
import * as Claims from "./Claims.ts"
import type { Column, InsertJob } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Inbound from "./Inbound.ts"
import * as Jobs from "./Jobs.ts"
import * as People from "./People.ts"
import type { Program, SqlParameter, SqlValue } from "./Program.ts"
import { all, changes, get, run } from "./Program.ts"
import type { StoredJob, StoredRecipient } from "./Rows.ts"
import {
  end,
  integer,
  integerOrNull,
  json,
  keysOf,
  lastPlace,
  limited,
  newestFirst,
  oneOf,
  recipientKey,
  seq,
  text,
  textOrNull
} from "./Rows.ts"
import * as Taken from "./Taken.ts"
import * as Workers from "./Workers.ts"

const kindOf = oneOf<Content["kind"]>(["template", "direct"])

// Accepting

const withKey = "FROM sendwright_job WHERE public_key = ? AND idempotency_key = ?"

const findEarlier = `SELECT id, kind, fingerprint, recipients, answer ${withKey}`

function* earlierTo(publicKey: string, key: string): Program<Earlier | null> {
  const row = yield* get(findEarlier, publicKey, key)
  if (row === undefined) return null
  return {
    fingerprint: text(row, "fingerprint"),
    jobId: text(row, "id"),
    kind: kindOf(row, "kind"),
    recipients: integer(row, "recipients"),
    answer: textOrNull(row, "answer")
  }
}

function* usageOf(accountId: string, day: string): Program<{ template: number; direct: number }> {
  const row = yield* get(
    "SELECT template, direct FROM sendwright_usage WHERE account = ? AND day = ?",
    accountId,
    day
  )
  return row === undefined
    ? { template: 0, direct: 0 }
    : { template: integer(row, "template"), direct: integer(row, "direct") }
}

/** What a send is decided by and refers to, in one statement. */
const findBefore = (kind: Content["kind"]): string => `SELECT
    (SELECT id ${withKey}) AS earlier,
    (${Jobs.findSnapshot}) AS snapshot,
    (SELECT ${kind} FROM sendwright_usage WHERE account = ? AND day = ?) AS used,
    (SELECT accepted_at FROM sendwright_acceptance WHERE public_key = ?) AS accepted_at`

const findBeforeOf = { template: findBefore("template"), direct: findBefore("direct") }

function* before({ accountId, content, idempotency, now, publicKey }: AcceptSend): Program<{
  readonly usage: Plan.Usage
  /** Whether its Idempotency-Key was used. */
  readonly repeats: boolean
  /** The number of its content; null when that is new. */
  readonly snapshot: number | null
}> {
  const key = idempotency === null ? null : idempotency.key
  const of = [publicKey, key, Jobs.digestOf(content), accountId, Time.utcDay(now), publicKey]
  const row = (yield* get(findBeforeOf[content.kind], ...of)) ?? {}
  return {
    snapshot: integerOrNull(row, "snapshot"),
    usage: { usedToday: integerOrNull(row, "used") ?? 0, lastAcceptedAt: integerOrNull(row, "accepted_at") },
    repeats: textOrNull(row, "earlier") !== null
  }
}

const staying = [
  "id",
  "account",
  "session",
  "public_key",
  "kind",
  "template",
  "snapshot",
  "reference",
  "currency",
  "estimated_cost",
  "idempotency_key",
  "fingerprint",
  "recipients",
  "created_at"
]

const changing = {
  status: "'queued'",
  queued: "?",
  sending: "0",
  accepted: "0",
  sent: "0",
  delivered: "0",
  read: "0",
  failed: "0",
  skipped: "0",
  canceled: "0",
  unknown: "0",
  in_flight: "0",
  next_at: "?",
  fence: "0",
  updated_at: "?"
}

const addUsage = `INSERT INTO sendwright_usage (account, day, template, direct) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, day) DO UPDATE
  SET template = sendwright_usage.template + excluded.template, direct = sendwright_usage.direct + excluded.direct`

const noteAcceptance = `INSERT INTO sendwright_acceptance (public_key, accepted_at) VALUES (?, ?)
  ON CONFLICT (public_key) DO UPDATE SET accepted_at = excluded.accepted_at`

/** What is the same for all recipients of most sends comes first. */
const newRecipient: ReadonlyArray<Column> = [
  ["next_at", "bigint"],
  ["updated_at", "bigint"],
  ["market", "text"],
  ["price", "text"],
  ["external_id", "text"],
  ["variables", "text"],
  ["phone", "text"],
  ["seq", "bigint"]
]

/** As `Job.newRecipient` begins each. */
const newRecipients = { status: "'queued'", attempts: "0", sequence: "0" }

const fromNew = (
  job: number,
  recipient: AcceptSend["recipients"][number],
  index: number,
  now: Instant
): ReadonlyArray<SqlValue> => [
  now,
  now,
  recipient.market,
  recipient.price,
  recipient.externalId,
  JSON.stringify(recipient.values),
  recipient.phone,
  recipientKey(job, index)
]

/** Records the send. The checks before it are over. */
function* record(insertJob: InsertJob, command: AcceptSend, snapshot: number): Program<Job.Job> {
  const { accountId, content, demand, idempotency, now, publicKey, recipients, sessionId } = command
  const { length } = recipients
  if (length > lastPlace) throw new RangeError(`A job has ${lastPlace} recipients at most`)
  const job = Job.newJob({ ...command, recipients: length })
  const [template, direct] = content.kind === "template" ? [demand.units, 0] : [0, demand.units]
  yield* insertJob(
    [
      job.id,
      accountId,
      sessionId,
      publicKey,
      content.kind,
      content.kind === "template" ? content.templateId : null,
      snapshot,
      job.reference,
      job.currency,
      job.estimatedCost,
      idempotency === null ? null : idempotency.key,
      idempotency === null ? null : idempotency.fingerprint,
      job.recipients,
      now,
      job.counts.queued,
      now,
      now
    ],
    (seq) => recipients.map((each, index) => fromNew(seq, each, index, now)),
    [
      [accountId, Time.utcDay(now), template, direct],
      [publicKey, now]
    ]
  )
  return job
}

// Reading

const seqOfJob = "SELECT seq FROM sendwright_job WHERE id = ?"

function* seqOf(jobId: string): Program<number | undefined> {
  const row = yield* get(seqOfJob, jobId)
  return row === undefined ? undefined : seq(row)
}

const delivered = `SELECT phone, price, pricing FROM sendwright_recipient
  WHERE seq BETWEEN ? AND ? AND (delivered_at IS NOT NULL OR read_at IS NOT NULL) ORDER BY seq`

const makeDueIn = (table: string): string =>
  `UPDATE ${table} SET next_at = ? WHERE next_at IS NOT NULL AND next_at > ? AND updated_at > ?`

const park = "INSERT INTO sendwright_parked (session, provider_id, report, at) VALUES (?, ?, ?, ?)"

/** Taken up in one commit. */
const parkedAtOnce = 500

// Only those whose message is known by now.
const known = `SELECT parked.seq, parked.session, parked.report FROM sendwright_parked AS parked
  WHERE EXISTS (
    SELECT 1 FROM sendwright_recipient AS recipient, sendwright_job AS job
    WHERE recipient.provider_id = parked.provider_id AND job.seq = recipient.seq >> 12 AND job.session = parked.session
  )
  ORDER BY parked.seq ${limited}`

const providerOf = "SELECT provider FROM sendwright_session WHERE id = ?"

/** A window as it was taken. */
interface Window {
  readonly held: StoredJob
  /** Of the job's row, with which each write of a recipient comes. */
  readonly version: string
  readonly recipients: ReadonlyMap<number, Tracked>
}

/** How many windows are kept: as many as lanes have in hand where each job has one recipient. */
const keptWindows = 1024

export const layer: Layer.Layer<JobStore, StorageError, Database> = Layer.effect(
  JobStore,
  Effect.gen(function* () {
    const db = yield* Database
    const { dialect } = db
    const ids = Ids.make(yield* Ids.RandomBytes)
    const rows = Jobs.make(dialect, ids)
    // A worker that is found where no other process can be is dead: none of this process could take anything yet.
    const found = db.hasOneOwner ? yield* db.read("JobStore.holders", () => Workers.holders(dialect)) : []
    const former = new Set(found.map(({ worker }) => worker))
    const claims = Claims.make(rows)
    const applyInbound = Inbound.make(dialect, ids)

    const { elements, progress } = dialect
    const insertJob = progress.insert(staying, changing, newRecipient, newRecipients, [
      addUsage,
      noteAcceptance
    ])
    const keyedRecipients = rows.recipientsOf(
      `seq IN (SELECT ${elements.integer} FROM ${elements.from}) ORDER BY seq`
    )
    const byProviderId = `SELECT recipient.provider_id, job.id, recipient.seq & 4095 AS place
      FROM ${elements.from} CROSS JOIN sendwright_recipient AS recipient CROSS JOIN sendwright_job AS job
      WHERE recipient.provider_id = ${elements.value} AND job.seq = recipient.seq >> 12 AND job.session = ?`
    const awaitedRecipients = rows.recipientsOf(
      `seq BETWEEN ? AND ? AND (fence IS NOT NULL OR ${Taken.isTaken}) ORDER BY seq`
    )
    const openRecipients = rows.recipientsOf(
      "seq BETWEEN ? AND ? AND status IN ('queued', 'sending') ORDER BY seq"
    )
    const lostRecipients = rows.recipientsOf(
      "seq BETWEEN ? AND ? AND status IN ('failed', 'unknown') ORDER BY seq"
    )
    const pageOfRecipients = rows.recipientsOf(
      `seq BETWEEN ? AND ? AND coalesce(?, 'any') IN ('any', CASE WHEN ${Taken.isTaken} THEN 'sending' ELSE status END)
        ORDER BY seq ${limited}`
    )
    const ofSnapshot = "job.snapshot = snapshot.seq"
    const heldBy = `${rows.select()} WHERE ${ofSnapshot} AND ${progress.as}.worker = ? ORDER BY job.id${dialect.forUpdate(progress.as)}`
    const listBy = (column: "public_key" | "account", more = "") => `${rows.select(", job.seq")}
      WHERE ${ofSnapshot} AND job.${column} = ?${more} AND job.kind = ? AND job.seq < ? AND job.seq >= ?
        AND ${progress.as}.status = coalesce(?, ${progress.as}.status) AND job.created_at >= ? AND job.created_at < ?
      ORDER BY job.seq DESC ${limited}`
    const lastLookedAt = (column: "public_key" | "account") => `SELECT seq FROM sendwright_job
      WHERE ${column} = ? AND kind = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ${Page.mostLookedAt - 1}`
    const listsBy = (column: "public_key" | "account") => ({
      all: listBy(column),
      named: listBy(column, " AND job.reference = ?"),
      lastLookedAt: lastLookedAt(column)
    })
    const lists = { publicKey: listsBy("public_key"), account: listsBy("account") }

    /**
     * What was taken and not touched since, by job, so that settling reads of it only what else may change in the job.
     * A window counts only under the job's fence, and each claim that raises the fence replaces it: one that was
     * rolled back is never taken for a later one. What another process wrote shows in the version of the job's row.
     */
    const windows = new Map<string, Window>()

    const keep = ({ held, moves }: Step<StoredJob>, version: string): void => {
      const [oldest] = windows.keys()
      if (windows.size >= keptWindows && oldest !== undefined) windows.delete(oldest)
      const recipients = new Map<number, Tracked>()
      for (const { after, fence } of moves) recipients.set(after.index, { recipient: after, fence })
      windows.set(held.job.id, { held, version, recipients })
    }

    function* save(steps: ReadonlyArray<Step<StoredJob>>, now: Instant): Program<string> {
      for (const { held } of steps) windows.delete(held.job.id)
      return yield* rows.save(steps, now)
    }

    function* accept(command: AcceptSend): Program<AcceptResult> {
      const { claim, demand, idempotency, now, publicKey, sessionId } = command
      const { repeats, snapshot, usage } = yield* before(command)
      const earlier = repeats && idempotency !== null ? yield* earlierTo(publicKey, idempotency.key) : null
      if (earlier !== null && idempotency !== null) {
        return Idempotency.decide(earlier, idempotency.fingerprint) === "Replayed"
          ? AcceptResult.Replayed({ earlier })
          : AcceptResult.KeyConflict({ earlier })
      }
      const verdict = Plan.decide(demand, usage, now)
      if (verdict._tag === "QuotaExhausted") return AcceptResult.QuotaExhausted(verdict)
      if (verdict._tag === "TooSoon") return AcceptResult.TooSoon(verdict)

      const job = yield* record(insertJob, command, snapshot ?? (yield* Jobs.freeze(command.content)))
      if (claim === null) return AcceptResult.Accepted({ job, claimed: null })
      const row = yield* get(seqOfJob, job.id)
      // Its version is of no use: whoever writes it is told the next.
      const stored = {
        seq: seq(row ?? {}),
        job,
        inFlight: 0,
        worker: null,
        fence: 0,
        taken: null,
        version: ""
      }
      const recipients = command.recipients.map((each, index) => Job.newRecipient(each, index, now))
      for (const { phone } of recipients) yield* claims.count(sessionId, phone, now)
      const { claimed, step, written } = Taken.claim(stored, recipients, claim, now)
      keep(step, yield* save([written], now))
      return AcceptResult.Accepted({ job: step.held.job, claimed })
    }

    /** The job's recipients that a statement selects. */
    function* recipientsOf(
      held: StoredJob,
      statement: string,
      ...parameters: ReadonlyArray<SqlParameter>
    ): Program<ReadonlyArray<StoredRecipient>> {
      const found = yield* rows.recipients(statement, ...keysOf(held.seq), ...parameters)
      return found.map((each) => Taken.tell(held, each))
    }

    /** The recipients of jobs at these places, by job and place. */
    function* recipientsAt(
      wanted: ReadonlyArray<{ readonly held: StoredJob; readonly places: ReadonlyArray<number> }>
    ): Program<(held: StoredJob, place: number) => Tracked | undefined> {
      const keys = Arrays.flatMap(wanted, ({ held, places }) =>
        places
          .filter((place) => place >= 0 && place < lastPlace)
          .map((place) => recipientKey(held.seq, place))
      )
      const found = new Map<number, StoredRecipient>()
      if (keys.length > 0) {
        for (const each of yield* rows.recipients(keyedRecipients, JSON.stringify(keys)))
          found.set(each.key, each)
      }
      return (held, place) => {
        const recipient = found.get(recipientKey(held.seq, place))
        return recipient && Taken.tell(held, recipient)
      }
    }

    function* settle(settlements: ReadonlyArray<Settlement>, now: Instant): Program<number> {
      const groups = JobSteps.groupBy(settlements, ({ jobId }) => jobId)
      if (groups.size === 0) return 0
      const known: Array<StoredJob> = []
      const others: Array<string> = []
      for (const jobId of groups.keys()) {
        const window = windows.get(jobId)
        if (window === undefined) others.push(jobId)
        else known.push({ ...window.held, version: window.version })
      }
      const jobs = [...(yield* rows.renew(known)), ...(yield* rows.takeAll(others))]
      const awaited: Array<{ readonly held: StoredJob; readonly fresh: ReadonlyArray<Settlement> }> = []
      for (const held of jobs) {
        const fresh = (groups.get(held.job.id) ?? []).filter(({ fence }) => fence === held.fence)
        if (held.inFlight > 0 && fresh.length > 0) awaited.push({ held, fresh })
      }
      const windowOf = ({ fence, job, version }: StoredJob): Window | undefined => {
        const window = windows.get(job.id)
        return window?.held.fence === fence && window.version === version ? window : undefined
      }
      const read = yield* recipientsAt(
        awaited
          .filter(({ held }) => windowOf(held) === undefined)
          .map(({ fresh, held }) => ({ held, places: fresh.map(({ index }) => index) }))
      )
      const steps: Array<ReturnType<typeof JobSteps.settle<StoredJob>>> = []
      for (const { fresh, held } of awaited) {
        const window = windowOf(held)
        const find = (place: number) =>
          window === undefined ? read(held, place) : window.recipients.get(place)
        const all = fresh.some(JobSteps.stopsJob) ? yield* recipientsOf(held, openRecipients) : []
        const step = JobSteps.settle(held, find, fresh, now, all)
        if (step.moves.length > 0) steps.push(step)
      }
      yield* save(steps, now)
      for (const { answer, held } of steps) {
        if (answer !== undefined)
          yield* run("UPDATE sendwright_job SET answer = ? WHERE seq = ?", answer, held.seq)
      }
      return steps.reduce((sum, { settled }) => sum + settled, 0)
    }

    type Place = NonNullable<ReturnType<typeof Ids.parseMessageId>>

    /** Our ids of the messages: the reports', or by the platform's. */
    function* placesOf(
      reports: ReadonlyArray<Report>,
      sessionId: string | null
    ): Program<(report: Report) => Place | undefined> {
      const asked = Arrays.flatMap(reports, ({ messageId, providerId }) =>
        messageId === null && providerId !== null ? [providerId] : []
      )
      const known = new Map<string, Place>()
      if (sessionId !== null && asked.length > 0) {
        for (const row of yield* all(byProviderId, JSON.stringify(asked), sessionId)) {
          known.set(text(row, "provider_id"), { jobId: text(row, "id"), index: integer(row, "place") })
        }
      }
      return ({ messageId, providerId }) =>
        messageId === null ? known.get(providerId ?? "") : Ids.parseMessageId(messageId)
    }

    function* receiveAll(
      reports: ReadonlyArray<Report>,
      sessionId: string | null,
      now: Instant
    ): Program<{ readonly applied: number; readonly unmatched: ReadonlyArray<Report> }> {
      const placeOf = yield* placesOf(reports, sessionId)
      const told = Arrays.flatMap(reports, (report) => {
        const place = placeOf(report)
        return place === undefined ? [] : [{ report, ...place }]
      })
      const groups = JobSteps.groupBy(told, ({ jobId }) => jobId)
      const held = (groups.size === 0 ? [] : yield* rows.takeAll([...groups.keys()])).filter(
        ({ job }) => sessionId === null || job.sessionId === sessionId
      )
      const find = yield* recipientsAt(
        held.map((each) => ({
          held: each,
          places: (groups.get(each.job.id) ?? []).map(({ index }) => index)
        }))
      )
      const matched = new Set<Report>()
      const steps: Array<Step<StoredJob>> = []
      for (const each of held) {
        const group = groups.get(each.job.id) ?? []
        const step = JobSteps.receive(each, (place) => find(each, place), group, now)
        for (const { report } of group) matched.add(report)
        for (const report of step.unmatched) matched.delete(report)
        if (step.moves.length > 0) steps.push(step)
      }
      yield* save(steps, now)
      return {
        applied: steps.reduce((sum, { moves }) => sum + moves.length, 0),
        unmatched: reports.filter((report) => !matched.has(report))
      }
    }

    return {
      earlier: ({ key, publicKey }) => db.read("JobStore.earlier", () => earlierTo(publicKey, key)),

      // What an acceptance is decided on belongs to the account: the key, the day's usage, the last acceptance.
      accept: (command) => db.write("JobStore.accept", () => accept(command), `accept ${command.accountId}`),

      commitsTogether: db.commitsTogether,

      exchange: ({ claim, now, settlements }) =>
        db.work("JobStore.exchange", function* () {
          const brought = JobSteps.inbound(settlements)
          for (const { accountId } of brought) yield* dialect.serialize(People.serialized(accountId))
          const settled = yield* settle(settlements, now)
          for (const inbound of brought) yield* applyInbound(inbound, now)
          return { settled, claimed: claim === null ? [] : yield* claims.claim(claim, now, keep) }
        }),

      beat: ({ beats, dispatchesAt, workers }) =>
        db.work("JobStore.beat", function* () {
          for (const worker of [...workers].sort()) yield* Workers.beat(worker, beats, dispatchesAt)
        }),

      holders: db.read("JobStore.holders", function* () {
        const found = yield* Workers.holders(dialect)
        return found.map((holder) => ({ ...holder, isDead: former.has(holder.worker) }))
      }),

      dispatchesAt: db.read("JobStore.dispatchesAt", Workers.dispatchesAt),

      makeDue: ({ now }) =>
        db.work("JobStore.makeDue", () =>
          changes(makeDueIn(progress.table), now, now, Time.latestWritten(now))
        ),

      rescue: ({ now, recoverable, worker }) =>
        db.work("JobStore.rescue", function* () {
          const providers: ReadonlyArray<string> = recoverable
          let count = 0
          for (const row of yield* all(heldBy, worker)) {
            const held = yield* rows.toJob(row)
            const found = yield* recipientsOf(held, awaitedRecipients, ...Taken.ends(held))
            const session = yield* get(providerOf, held.job.sessionId)
            const canRecover = session !== undefined && providers.includes(text(session, "provider"))
            const inHand = found.map(({ recipient }) => recipient)
            const step = JobSteps.rescue(held, inHand, canRecover, now)
            yield* save([step], now)
            count += step.count
          }
          yield* Workers.forget(worker)
          return count
        }),

      receive: ({ now, reports, sessionId = null }) =>
        db.work("JobStore.receive", function* () {
          const received = yield* receiveAll(reports, sessionId, now)
          for (const report of received.unmatched) {
            const { messageId, providerId } = report
            if (messageId !== null || providerId === null || sessionId === null) continue
            yield* run(park, sessionId, providerId, JSON.stringify(report), now)
          }
          return received
        }),

      unpark: ({ now }) =>
        db.work("JobStore.unpark", function* () {
          yield* run("DELETE FROM sendwright_parked WHERE at <= ?", now - parkedMs)
          let applied = 0
          for (const row of yield* all(known + dialect.forUpdate("parked"), parkedAtOnce)) {
            const report: Report = json(row, "report")
            applied += (yield* receiveAll([report], text(row, "session"), now)).applied
            yield* run("DELETE FROM sendwright_parked WHERE seq = ?", seq(row))
          }
          return applied
        }),

      find: (jobId) =>
        db.read("JobStore.find", function* () {
          return (yield* rows.find(jobId))?.job ?? null
        }),

      list: ({ by, createdAfter, createdBefore, kind, page, reference, status }) =>
        db.read("JobStore.list", function* () {
          const [list, owner] =
            "publicKey" in by ? [lists.publicKey, by.publicKey] : [lists.account, by.accountId]
          const name = reference === undefined ? [] : [reference]
          const [before, limit] = newestFirst(page)
          const since = createdAfter ?? -end
          const isFiltered = [status, createdAfter, createdBefore].some((filter) => filter !== undefined)
          const lookedAt = isFiltered ? yield* get(list.lastLookedAt, owner, kind, before) : undefined
          const least = lookedAt === undefined ? null : seq(lookedAt)
          const found = yield* all(
            reference === undefined ? list.all : list.named,
            owner,
            ...name,
            kind,
            before,
            least ?? 0,
            status ?? null,
            since,
            createdBefore ?? end,
            limit
          )
          const { items, next } = Page.cut(found, page.limit, seq, least)
          const jobs: Array<Job.Job> = []
          for (const row of items) jobs.push((yield* rows.toJob(row)).job)
          return { items: jobs, next }
        }),

      results: ({ jobId, page, status }) =>
        db.read("JobStore.results", function* () {
          const held = yield* rows.find(jobId)
          if (held === undefined) return { items: [], next: null }
          const found = yield* rows.recipients(
            pageOfRecipients,
            recipientKey(held.seq, page.after === null ? 0 : page.after + 1),
            recipientKey(held.seq, lastPlace),
            status ?? null,
            ...Taken.ends(held),
            page.limit + 1
          )
          const recipients = found.map((each) => Taken.tell(held, each).recipient)
          return Page.cut(recipients, page.limit, ({ index }) => index)
        }),

      delivered: (jobId) =>
        db.read("JobStore.delivered", function* () {
          const job = yield* seqOf(jobId)
          if (job === undefined) return []
          return (yield* all(delivered, ...keysOf(job))).map((row) => ({
            phone: text(row, "phone"),
            price: textOrNull(row, "price"),
            pricing: textOrNull(row, "pricing") === null ? null : json(row, "pricing")
          }))
        }),

      cancel: ({ jobId, now }) =>
        db.write("JobStore.cancel", function* () {
          const held = yield* rows.take(jobId)
          if (held === undefined) return null
          const open = yield* recipientsOf(held, openRecipients)
          const { result, step } = JobSteps.cancel(held, open, now)
          if (step !== null) yield* save([step], now)
          return result
        }),

      retry: (command) =>
        db.write("JobStore.retry", function* () {
          const held = yield* rows.take(command.jobId)
          if (held === undefined) return null
          const lost = yield* recipientsOf(held, lostRecipients)
          const { result, step } = JobSteps.retry(held, lost, command)
          if (step !== null) yield* save([step], command.now)
          return result
        }),

      usage: ({ accountId, day }) => db.read("JobStore.usage", () => usageOf(accountId, day)),

      nextDue: (now, without) => db.read("JobStore.nextDue", () => claims.nextDue(now, without))
    }
  })
)
