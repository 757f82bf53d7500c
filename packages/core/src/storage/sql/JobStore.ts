/** Jobs and their recipients. Every step costs what its batch costs, however much waits behind it. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Charge } from "../../domain/billing/Spending.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Page from "../../domain/Page.ts"
import type { AcceptSend } from "../JobStore.ts"
import { JobStore } from "../JobStore.ts"
import type { Program } from "../Program.ts"
import { all, changes, get } from "../Program.ts"
import { accept } from "../policy/Acceptance.ts"
import * as Changes from "../policy/Changes.ts"
import * as Claims from "../policy/Claims.ts"
import { counted } from "../policy/Counted.ts"
import * as Counting from "../policy/Counting.ts"
import * as Workers from "../policy/Workers.ts"
import type { StorageError } from "../StorageError.ts"
import * as CapRows from "./CapRows.ts"
import { Database } from "./Database.ts"
import * as InboundRows from "./InboundRows.ts"
import * as IndexScan from "./IndexScan.ts"
import * as Acceptance from "./jobs/Acceptance.ts"
import * as RowsOfClaims from "./jobs/Claims.ts"
import * as Contents from "./jobs/Contents.ts"
import * as JobDetails from "./jobs/JobDetails.ts"
import * as Jobs from "./jobs/Jobs.ts"
import * as Lists from "./jobs/Lists.ts"
import * as Order from "./jobs/Order.ts"
import * as PastSends from "./jobs/PastSends.ts"
import { recipients, untouched } from "./jobs/RecipientColumns.ts"
import * as Rows from "./jobs/Rows.ts"
import * as Starts from "./jobs/Starts.ts"
import * as Sums from "./jobs/Sums.ts"
import * as Waiting from "./jobs/Waiting.ts"
import * as QuarantineRows from "./QuarantineRows.ts"
import { keysOf, lastPlace, recipientKey } from "./RecipientKeys.ts"
import { flag, instantOrNull, integer, integerOrNull, limited, seq, text } from "./RowReader.ts"
import * as SessionRows from "./SessionStore.ts"
import * as WorkerRows from "./WorkerRows.ts"

// Reading

const seqOfJob = "SELECT seq FROM sendwright_job WHERE id = ?"

function* seqOf(jobId: string): Program<number | undefined> {
  const row = yield* get(seqOfJob, jobId)
  return row === undefined ? undefined : seq(row)
}

const { columns } = recipients

const billed = recipients.only("address", "price", "pricing")

const delivered = `SELECT ${billed.list} FROM sendwright_recipient
  WHERE seq BETWEEN ? AND ? AND (delivered_at IS NOT NULL OR read_at IS NOT NULL) ORDER BY seq`

const isDelivered = "CASE WHEN delivered_at IS NULL AND read_at IS NULL THEN 0 ELSE 1 END"

/** An address is told of those alone that the platform billed in another category, which is text within the JSON. */
const selectCharges = `SELECT status, market, price, pricing, is_delivered, phone, count(*) AS recipients FROM (
    SELECT status, market, price, pricing, ${isDelivered} AS is_delivered,
      CASE WHEN pricing IS NULL OR pricing LIKE ? THEN '' ELSE phone END AS phone
    FROM sendwright_recipient WHERE seq BETWEEN ? AND ?
  ) AS recipient GROUP BY status, market, price, pricing, is_delivered, phone`

/** Recipients of a job that are alike, together: a job of hundreds is a few rows. */
function* chargesOfJob(job: number, category: string | null): Program<ReadonlyArray<Charge>> {
  const rows = yield* all(selectCharges, `%"category":${JSON.stringify(category)}%`, ...keysOf(job))
  return rows.map((row) => ({
    status: columns.status.read(row),
    market: columns.market.read(row),
    price: columns.price.read(row),
    pricing: columns.pricing.read(row),
    address: columns.address.read(row) || null,
    isDelivered: flag(row, "is_delivered"),
    recipients: integer(row, "recipients")
  }))
}

function* chargesOf(
  jobs: ReadonlyArray<{ readonly id: string; readonly category: string | null }>
): Program<ReadonlyMap<string, ReadonlyArray<Charge>>> {
  const found = new Map<string, ReadonlyArray<Charge>>()
  for (const { category, id } of jobs) {
    const job = yield* seqOf(id)
    if (job !== undefined) found.set(id, yield* chargesOfJob(job, category))
  }
  return found
}

// Jobs that a clock ahead of ours has put off.
const sessionsPutOff = `SELECT DISTINCT session FROM sendwright_progress
  WHERE next_at IS NOT NULL AND next_at > ? AND updated_at > ? ORDER BY session`
const makeDue =
  "UPDATE sendwright_progress SET next_at = ? WHERE session = ? AND next_at IS NOT NULL AND next_at > ? AND updated_at > ?"

const firstExpiry = `SELECT min(expires_at) AS first_at FROM sendwright_progress
  WHERE expires_at IS NOT NULL AND NOT EXISTS (${QuarantineRows.isQuarantined})`

const selectLeftOver = `SELECT (SELECT 1 FROM sendwright_parked LIMIT 1) AS kept, (${Order.isUntidy}) AS untidy`

/** Whether reports are kept of messages that were not known, and whether orders have to be tidied up. */
function* leftOver(now: Instant): Program<{ readonly isKept: boolean; readonly isUntidy: boolean }> {
  const row = (yield* get(selectLeftOver, ...Order.isUntidyAt(now))) ?? {}
  return { isKept: integerOrNull(row, "kept") !== null, isUntidy: integerOrNull(row, "untidy") !== null }
}

/** The jobs of one order that one commit makes due. */
const aheadAtOnce = 1000

export const layer: Layer.Layer<JobStore, StorageError, Database> = Layer.effect(
  JobStore,
  Effect.gen(function* () {
    const db = yield* Database
    const { dialect } = db
    const ids = Ids.make(yield* Ids.RandomBytes)
    const rows = Jobs.make(dialect, ids)
    // A worker that is found where no other process can be is dead: none of this process could take anything yet.
    const found = db.hasOneOwner ? yield* db.read("JobStore.workers", () => WorkerRows.workers()) : []
    const former = new Set(found.map(({ worker }) => worker))
    const jobRows = Rows.make(rows, InboundRows.make(dialect, ids))
    const sessionRows = SessionRows.rowsOf(rows, dialect)
    const claims = Claims.make(jobRows)
    const backlog = Waiting.reading(dialect)
    const starts = Starts.reading(dialect)
    const counting = Counting.make()
    const traces = PastSends.make(db, rows, counting)

    const pageOfRecipients = rows.recipientsOf(
      `seq BETWEEN ? AND ? AND coalesce(?, 'any') IN ('any', CASE WHEN ${untouched} AND EXISTS (
          SELECT 1 FROM sendwright_claim AS claim WHERE ${RowsOfClaims.has("?", "sendwright_recipient.seq")}
        ) THEN 'sending' ELSE status END) ORDER BY seq ${limited}`
    )
    const recipientsSentTo = `SELECT recipient.provider_id, recipient.phone
      ${Rows.byProviderIds(dialect)} WHERE job.session = ? ORDER BY recipient.seq`
    const lists = Lists.make(rows)
    const facts = JobDetails.make(dialect)

    /** Tidies up what is left over of orders, by commits of a few sessions each. */
    const tidyAll = (now: Instant, after = Order.beforeAll): Effect.Effect<void, StorageError> =>
      Effect.flatMap(
        db.work("JobStore.tidy", () =>
          Order.tidy(dialect, Acceptance.serialized, rows.drawFence(now), now, after)
        ),
        (last) => (last === null ? Effect.void : tidyAll(now, last))
      )

    // The facts of an acceptance belong to the account: the key, the day's usage, the last acceptance.
    const acceptWith = (rows: typeof jobRows, command: AcceptSend) =>
      db.write("JobStore.accept", () => accept(rows, command), Acceptance.serialized(command.accountId))
    const keyAwaited = { ...jobRows, acceptanceFacts: Acceptance.facts(dialect, true) }

    const acceptSerialized = (command: AcceptSend) =>
      Effect.flatMap(acceptWith(jobRows, command), (result) =>
        result._tag === "KeyLocked"
          ? db
              .write("JobStore.accept", () => Acceptance.awaitKey(command), Acceptance.repetitionsOf(command))
              .pipe(Effect.zipRight(acceptWith(keyAwaited, command)))
          : Effect.succeed(result)
      )

    /** A transaction that goes by an older snapshot does not see what was written apart. */
    const withContent = (snapshot: number): typeof jobRows => ({
      ...jobRows,
      acceptanceFacts: function* (query) {
        return { ...(yield* jobRows.acceptanceFacts(query)), snapshot }
      }
    })

    const acceptEmbedded = (command: AcceptSend) =>
      Effect.gen(function* () {
        const { content } = command
        // Whoever sends the same content would wait until the transaction ends that has written it first.
        const frozen =
          (yield* db.read("JobStore.accept", () => Contents.find(content))) ??
          (yield* db.writeApart("JobStore.accept", () => Contents.freeze(content)))
        return yield* db.write("JobStore.accept", function* () {
          const result = yield* accept(withContent(frozen), command)
          if (result._tag === "Accepted") yield* dialect.announce()
          return result
        })
      })

    return {
      findByIdempotencyKey: ({ key, publicKey }) =>
        db.read("JobStore.findByIdempotencyKey", () => Acceptance.findRecord(publicKey, key)),

      accept: (command) =>
        counting.accepted(
          command,
          command.isEmbedded === true ? acceptEmbedded(command) : acceptSerialized(command)
        ),

      commitsInGroups: db.commitsInGroups,
      hasOtherWriters: !db.hasOneOwner,

      settleAndClaim: (command) =>
        counting.changed(
          command.now,
          db.work("JobStore.settleAndClaim", () =>
            counted(jobRows, (rows) => Changes.settleAndClaim(rows, sessionRows, claims, command))
          )
        ),

      heartbeat: (command) => db.work("JobStore.heartbeat", () => Workers.heartbeat(jobRows, command)),

      ...traces,

      workers: db.read("JobStore.workers", function* () {
        const found = yield* WorkerRows.workers()
        return found.map((known) => ({ ...known, isDead: former.has(known.worker) }))
      }),

      starts: (query) => db.readPage("JobStore.starts", () => starts(query)),

      backlog: ({ most, now }) => db.readPage("JobStore.backlog", () => backlog(most, now)),

      dispatchesAt: db.read("JobStore.dispatchesAt", WorkerRows.dispatchesAt),

      makeDue: (command) =>
        db.work("JobStore.makeDue", function* () {
          const now = command.now()
          const latest = Time.latestWritten(now)
          let count = 0
          for (const order of yield* Order.ahead(now)) {
            if (count >= aheadAtOnce) return count
            const found = yield* Order.jobsAhead(order, { now, latest, most: aheadAtOnce })
            const ahead = (yield* rows.lock(found)).filter(({ hasRow }) => !hasRow)
            yield* rows.setDue(ahead, now)
            count += ahead.length
          }
          for (const row of yield* all(sessionsPutOff, now, latest)) {
            const session = text(row, "session")
            yield* dialect.serialize(Order.locked(session))
            // Whoever had the lock may have written meanwhile.
            const locked = command.now()
            count += yield* changes(makeDue, locked, session, locked, Time.latestWritten(locked))
          }
          return count
        }),

      rescue: (command) =>
        counting.changed(
          command.now,
          db.work("JobStore.rescue", () => counted(jobRows, (rows) => Changes.rescue(rows, command)))
        ),

      giveBack: (command) =>
        counting.changed(
          command.now,
          db.work("JobStore.giveBack", () => counted(jobRows, (rows) => Changes.giveBack(rows, command)))
        ),

      receive: (command) =>
        counting.changed(
          command.now,
          db.work("JobStore.receive", () => counted(jobRows, (rows) => Changes.receive(rows, command)))
        ),

      // Mostly there is nothing of either, and a look costs less than two commits.
      applyEarlyReports: ({ now }) =>
        Effect.gen(function* () {
          const { isKept, isUntidy } = yield* db.look("JobStore.applyEarlyReports", () => leftOver(now))
          const applied = isKept
            ? yield* counting.changed(
                now,
                db.work("JobStore.applyEarlyReports", () =>
                  counted(jobRows, (rows) => Changes.applyEarlyReports(rows, now))
                )
              )
            : Changes.noEarlyReports()
          if (isUntidy) yield* tidyAll(now)
          return applied
        }),

      sentTo: ({ providerIds, sessionId }) =>
        db.read("JobStore.sentTo", function* () {
          const sentTo = new Map<string, string>()
          for (const row of yield* all(recipientsSentTo, JSON.stringify(providerIds), sessionId)) {
            const id = text(row, "provider_id")
            if (!sentTo.has(id)) sentTo.set(id, text(row, "phone"))
          }
          return sentTo
        }),

      find: (jobId) =>
        db.read("JobStore.find", function* () {
          return (yield* rows.find(jobId))?.job ?? null
        }),

      list: (query) =>
        IndexScan.untilFound(
          (page) => db.readPage("JobStore.list", () => lists.page({ ...query, page })),
          query.page,
          query.reads
        ),

      count: (query) =>
        db.readPage("JobStore.count", function* () {
          const page = { limit: Page.mostCounted, after: null }
          return Page.counted(yield* Lists.rowsOf({ ...query, page }, db.dialect))
        }),

      sum: ({ accountId, reference }) => db.readPage("JobStore.sum", () => Sums.sumOf(accountId, reference)),

      acceptedBetween: (query) => db.readPage("JobStore.acceptedBetween", () => lists.accepted(query)),

      facts: (jobs) => db.readPage("JobStore.facts", () => facts(jobs)),

      results: ({ jobId, page, status }) =>
        db.read("JobStore.results", function* () {
          const stored = yield* rows.find(jobId)
          if (stored === undefined) return { items: [], next: null }
          const found = yield* rows.recipients(
            pageOfRecipients,
            stored.job.sessionId,
            recipientKey(stored.seq, page.after === null ? 0 : page.after + 1),
            recipientKey(stored.seq, lastPlace),
            status ?? null,
            stored.job.sessionId,
            page.limit + 1
          )
          const recipients = found.map(({ recipient }) => recipient)
          return Page.cut(recipients, page.limit, ({ index }) => index)
        }),

      overCap: CapRows.make(db),
      charges: (jobs) => db.readPage("JobStore.charges", () => chargesOf(jobs)),

      delivered: (jobId) =>
        db.read("JobStore.delivered", function* () {
          const job = yield* seqOf(jobId)
          if (job === undefined) return []
          return (yield* all(delivered, ...keysOf(job))).map(billed.read)
        }),

      abandon: (command) =>
        counting.changed(
          command.now,
          db.write("JobStore.abandon", () => counted(jobRows, (rows) => Changes.abandon(rows, command)))
        ),
      cancel: (command) =>
        counting.changed(
          command.now,
          db.write("JobStore.cancel", () => counted(jobRows, (rows) => Changes.cancel(rows, command)))
        ),

      claimMessage: (command) =>
        db.write("JobStore.claimMessage", () => Changes.claimMessage(jobRows, command)),

      retime: (command) =>
        counting.changed(
          command.now,
          db.write("JobStore.retime", () => counted(jobRows, (rows) => Changes.retime(rows, command)))
        ),

      expire: ({ now }) =>
        counting.changed(
          now,
          db.work("JobStore.expire", () => counted(jobRows, (rows) => Changes.expire(rows, now)))
        ),

      nextExpiry: db.read("JobStore.nextExpiry", function* () {
        return instantOrNull((yield* get(firstExpiry)) ?? {}, "first_at")
      }),

      hold: (command) =>
        counting.changed(
          command.now,
          db.write("JobStore.hold", () => counted(jobRows, (rows) => Changes.hold(rows, command)))
        ),

      retry: (command) =>
        counting.changed(
          command.now,
          db.write("JobStore.retry", () => counted(jobRows, (rows) => Changes.retry(rows, command)))
        ),

      usage: ({ accountId, day }) =>
        db.read("JobStore.usage", () =>
          Acceptance.usage(accountId, Time.parse(`${day}T00:00:00Z`) ?? Time.at(0))
        ),

      nextDue: (now, admits) => db.look("JobStore.nextDue", () => claims.nextDue(now, admits))
    }
  })
)
