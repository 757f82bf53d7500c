/** Jobs and their recipients. Every step costs what its window costs, however much waits behind it. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type * as Job from "../../domain/Job.ts"
import * as Page from "../../domain/Page.ts"
import type { AcceptSend } from "../JobStore.ts"
import { JobStore } from "../JobStore.ts"
import { accept } from "../policy/Accepting.ts"
import * as Changes from "../policy/Changes.ts"
import * as Claims from "../policy/Claims.ts"
import * as Limits from "../policy/Limits.ts"
import type { StorageError } from "../StorageError.ts"
import * as SqlAccepting from "./Accepting.ts"
import * as Backlog from "./Backlog.ts"
import { kindsOf } from "./codec/Job.ts"
import { recipients } from "./codec/Recipient.ts"
import { Database } from "./Database.ts"
import * as Inbound from "./Inbound.ts"
import * as JobRows from "./JobRows.ts"
import * as Jobs from "./Jobs.ts"
import * as SqlLimits from "./Limits.ts"
import type { Program, Row } from "./Program.ts"
import { all, changes, get } from "./Program.ts"
import { keysOf, lastPlace, recipientKey } from "./RecipientKeys.ts"
import { end, limited, newestFirst, seq } from "./Rows.ts"
import * as Taken from "./Taken.ts"
import * as Workers from "./Workers.ts"

// Reading

const seqOfJob = "SELECT seq FROM sendwright_job WHERE id = ?"

function* seqOf(jobId: string): Program<number | undefined> {
  const row = yield* get(seqOfJob, jobId)
  return row === undefined ? undefined : seq(row)
}

const billed = recipients.only("phone", "price", "pricing")

const delivered = `SELECT ${billed.names.join(", ")} FROM sendwright_recipient
  WHERE seq BETWEEN ? AND ? AND (delivered_at IS NOT NULL OR read_at IS NOT NULL) ORDER BY seq`

const makeDue =
  "UPDATE sendwright_progress SET next_at = ? WHERE next_at IS NOT NULL AND next_at > ? AND updated_at > ?"

export const layer: Layer.Layer<JobStore, StorageError, Database> = Layer.effect(
  JobStore,
  Effect.gen(function* () {
    const db = yield* Database
    const { dialect } = db
    const ids = Ids.make(yield* Ids.RandomBytes)
    const rows = Jobs.make(dialect, ids)
    // A worker that is found where no other process can be is dead: none of this process could take anything yet.
    const found = db.hasOneOwner ? yield* db.read("JobStore.holders", () => Workers.holders()) : []
    const former = new Set(found.map(({ worker }) => worker))
    const jobRows = JobRows.make(rows, Inbound.make(dialect, ids))
    const claims = Claims.make(jobRows)

    const pageOfRecipients = rows.recipientsOf(
      `seq BETWEEN ? AND ? AND coalesce(?, 'any') IN ('any', CASE WHEN ${Taken.isTaken} THEN 'sending' ELSE status END)
        ORDER BY seq ${limited}`
    )
    const listBy = (column: "public_key" | "account", more = "") => `${rows.select(", job.seq")}
      WHERE job.${column} = ?${more} AND job.kind = ? AND job.seq < ? AND job.seq >= ?
        AND ${Jobs.status} = coalesce(?, ${Jobs.status}) AND job.created_at >= ? AND job.created_at < ?
      ORDER BY job.seq DESC ${limited}`
    const lastLookedAt = (column: "public_key" | "account") => `SELECT seq FROM sendwright_job
      WHERE ${column} = ? AND kind = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ${Page.mostLookedAt - 1}`
    const listsBy = (column: "public_key" | "account") => ({
      all: listBy(column),
      named: listBy(column, " AND job.reference = ?"),
      lastLookedAt: lastLookedAt(column)
    })
    const lists = { publicKey: listsBy("public_key"), account: listsBy("account") }

    /** What is left over of backlogs; by commits of a few sessions each. */
    const tidyAll = (now: Instant, after = ""): Effect.Effect<void, StorageError> =>
      Effect.flatMap(
        db.work("JobStore.tidy", () => Backlog.tidy(dialect, SqlAccepting.serialized, now, after)),
        (last) => (last === null ? Effect.void : tidyAll(now, last))
      )

    // The facts of an acceptance belong to the account: the key, the day's usage, the last acceptance.
    const acceptWith = (rows: typeof jobRows, command: AcceptSend) =>
      db.write("JobStore.accept", () => accept(rows, command), SqlAccepting.serialized(command.accountId))
    const keyAwaited = { ...jobRows, acceptanceFacts: SqlAccepting.facts(dialect, true) }

    const acceptSerialized = (command: AcceptSend) =>
      Effect.flatMap(acceptWith(jobRows, command), (result) =>
        result._tag === "KeyInHand"
          ? db
              .write(
                "JobStore.accept",
                () => SqlAccepting.awaitKey(command),
                SqlAccepting.repetitionsOf(command)
              )
              .pipe(Effect.zipRight(acceptWith(keyAwaited, command)))
          : Effect.succeed(result)
      )

    const acceptEmbedded = (command: AcceptSend) =>
      Effect.gen(function* () {
        const { content } = command
        // Whoever sends the same content would wait until the transaction ends that has written it first.
        if (!(yield* db.read("JobStore.accept", () => SqlAccepting.isFrozen(content))))
          yield* db.writeApart("JobStore.accept", () => Jobs.freeze(content))
        return yield* db.write("JobStore.accept", () => accept(jobRows, command))
      })

    return {
      earlier: ({ key, publicKey }) =>
        db.read("JobStore.earlier", () => SqlAccepting.earlierTo(publicKey, key)),

      accept: (command) =>
        command.limitsAfterCommit === true ? acceptEmbedded(command) : acceptSerialized(command),

      commitsTogether: db.commitsTogether,

      exchange: (command) => db.work("JobStore.exchange", () => Changes.exchange(jobRows, claims, command)),

      takeLimits: (command) =>
        db.write(
          "JobStore.takeLimits",
          () => Limits.take(jobRows, command),
          SqlAccepting.serialized(command.accountId)
        ),

      limitWait: (jobId) => db.read("JobStore.limitWait", () => SqlLimits.wait(jobId)),

      beat: ({ beats, dispatchesAt, workers }) =>
        db.work("JobStore.beat", function* () {
          for (const worker of [...workers].sort()) yield* Workers.beat(worker, beats, dispatchesAt)
        }),

      holders: db.read("JobStore.holders", function* () {
        const found = yield* Workers.holders()
        return found.map((holder) => ({ ...holder, isDead: former.has(holder.worker) }))
      }),

      dispatchesAt: db.read("JobStore.dispatchesAt", Workers.dispatchesAt),

      makeDue: ({ now }) =>
        db.work("JobStore.makeDue", function* () {
          const latest = Time.latestWritten(now)
          // In the order in which all lock: backlogs, then rows.
          const count = yield* rows.makeWaitingDue(now, latest)
          return count + (yield* changes(makeDue, now, now, latest))
        }),

      rescue: (command) => db.work("JobStore.rescue", () => Changes.rescue(jobRows, command)),

      receive: (command) => db.work("JobStore.receive", () => Changes.receive(jobRows, command)),

      unpark: ({ now }) =>
        Effect.zipLeft(
          db.work("JobStore.unpark", () => Changes.unpark(jobRows, now)),
          tidyAll(now)
        ),

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
          const kinds = kindsOf(kind)
          let least: number | null = null
          for (const stored of isFiltered ? kinds : []) {
            const lookedAt = yield* get(list.lastLookedAt, owner, stored, before)
            if (lookedAt !== undefined) least = Math.max(least ?? 0, seq(lookedAt))
          }
          const found: Array<Row> = []
          for (const stored of kinds)
            found.push(
              ...(yield* all(
                reference === undefined ? list.all : list.named,
                owner,
                ...name,
                stored,
                before,
                least ?? 0,
                status ?? null,
                since,
                createdBefore ?? end,
                limit
              ))
            )
          const newest = found.sort((a, b) => seq(b) - seq(a)).slice(0, limit)
          const { items, next } = Page.cut(newest, page.limit, seq, least)
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
          return (yield* all(delivered, ...keysOf(job))).map(billed.read)
        }),

      cancel: (command) => db.write("JobStore.cancel", () => Changes.cancel(jobRows, command)),

      retry: (command) => db.write("JobStore.retry", () => Changes.retry(jobRows, command)),

      usage: ({ accountId, day }) =>
        db.read("JobStore.usage", () => SqlAccepting.usage(accountId, Time.parse(`${day}T00:00:00Z`) ?? 0)),

      // As a part of work, not as a read: its statements are planned as a claim's are.
      nextDue: (now, without) => db.work("JobStore.nextDue", () => claims.nextDue(now, without))
    }
  })
)
