import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Charge } from "../../domain/billing/Spending.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job, RecipientResult } from "../../domain/job/Job.ts"
import type { Backlog, Group } from "../../domain/job/Waiting.ts"
import * as Waiting from "../../domain/job/Waiting.ts"
import type { KnownWorker } from "../JobStore.ts"
import { JobStore } from "../JobStore.ts"
import { accept } from "../policy/Acceptance.ts"
import * as Changes from "../policy/Changes.ts"
import * as Claims from "../policy/Claims.ts"
import { counted } from "../policy/Counted.ts"
import * as Counting from "../policy/Counting.ts"
import type { RecipientPlace, Tx } from "../policy/JobRows.ts"
import * as Workers from "../policy/Workers.ts"
import * as Lists from "./Lists.ts"
import type { Database } from "./MemoryDatabase.ts"
import { MemoryDatabase, openJobs, putJob } from "./MemoryDatabase.ts"
import * as JobRows from "./MemoryJobRows.ts"
import * as SessionRows from "./SessionStore.ts"
import * as Traces from "./Traces.ts"

/** Every worker that has a name or holds something. */
const workersOf = (db: Database): ReadonlyArray<KnownWorker> => {
  const claiming = [...db.claims.values(), ...db.deliveries.values()].flatMap(({ worker }) => worker ?? [])
  const workers = new Set([...db.beats.keys(), ...claiming])
  return [...workers].map((worker) => ({ worker, beats: db.beats.get(worker)?.beats ?? 0, isDead: false }))
}

const lastDispatch = (db: Database): Instant | null => {
  let last: Instant | null = null
  for (const { dispatchesAt: at } of db.beats.values()) {
    if (at !== null && (last === null || at > last)) last = at
  }
  return last
}

const templateOf = ({ content, pauseReason }: Job): number | null =>
  pauseReason !== null && Waiting.templatePauses.includes(pauseReason) && content.kind === "template"
    ? content.templateId
    : null

const backlogOf = (db: Database, most: number): Backlog => {
  const waiting = openJobs(db).flatMap(({ job, nextDue }): ReadonlyArray<readonly [Instant, Group]> => {
    const session = db.sessions.get(job.sessionId)?.value
    if (session === undefined || job.status === "canceling") return []
    const { queued, sending } = job.counts
    const isPaused = job.status === "paused"
    const group = {
      session,
      status: job.status,
      pauseReason: job.pauseReason,
      templateId: templateOf(job),
      oldestAt: job.createdAt,
      retryAt: !isPaused && queued === 0 && sending > 0 ? nextDue : null,
      waiting: queued + (isPaused ? sending : 0),
      retrying: !isPaused && queued === 0 && nextDue !== null ? sending : 0
    }
    return group.waiting + group.retrying === 0 ? [] : [[job.createdAt, group]]
  })
  const oldestAt = Time.firstOf(waiting.map(([at]) => at))
  return {
    groups: waiting.slice(0, most).map(([, group]) => group),
    oldestAt,
    isExact: waiting.length < most
  }
}

const chargeOf = (recipient: RecipientResult, category: string | null): Charge => {
  const { deliveredAt, market, phone, price, pricing, readAt, status } = recipient
  return {
    ...{ status, market, price, pricing, recipients: 1 },
    phone: pricing === null || pricing.category === category ? null : phone,
    isDelivered: deliveredAt !== null || readAt !== null
  }
}

const phonesAt = (db: Database, places: ReadonlyMap<string, RecipientPlace>): ReadonlyMap<string, string> => {
  const phones = new Map<string, string>()
  for (const [name, { index, jobId }] of places) {
    const phone = db.jobs.get(jobId)?.recipients[index]?.recipient.phone
    if (phone !== undefined) phones.set(name, phone)
  }
  return phones
}

export const layer: Layer.Layer<JobStore, never, MemoryDatabase> = Layer.effect(
  JobStore,
  Effect.map(MemoryDatabase, (db) => {
    const rows = JobRows.make(db)
    const sessions = SessionRows.rowsOf(db)
    const claims = Claims.make(rows)

    const perform = <A>(verb: () => Tx<A, JobRows.Memory>) => Effect.sync(() => JobRows.perform(verb()))
    const counting = Counting.make()
    const changed = <A>(now: Instant, verb: (counted: typeof rows) => Tx<A, JobRows.Memory>) =>
      counting.changed(
        now,
        perform(() => counted(rows, verb))
      )

    return {
      findByIdempotencyKey: ({ key, publicKey }) =>
        Effect.sync(() => db.idempotency.get(JobRows.keyOf(publicKey, key)) ?? null),

      accept: (command) =>
        counting.accepted(
          command,
          perform(() => accept(rows, command))
        ),

      // Nothing waits.
      commitsInGroups: false,

      settleAndClaim: (command) =>
        changed(command.now, (rows) => Changes.settleAndClaim(rows, sessions, claims, command)),

      heartbeat: (command) => perform(() => Workers.heartbeat(rows, command)),

      ...Traces.make(db, counting),

      workers: Effect.sync(() => workersOf(db)),

      backlog: ({ most }) => Effect.sync(() => backlogOf(db, most)),

      dispatchesAt: Effect.sync(() => lastDispatch(db)),

      makeDue: (command) =>
        Effect.sync(() => {
          const now = command.now()
          const putOff = openJobs(db).filter(
            ({ job, nextDue }) => nextDue !== null && nextDue > now && Time.isAhead(job.updatedAt, now)
          )
          for (const row of putOff) putJob(db, { ...row, nextDue: now })
          return putOff.length
        }),

      rescue: (command) => changed(command.now, (rows) => Changes.rescue(rows, command)),

      giveBack: (command) => changed(command.now, (rows) => Changes.giveBack(rows, command)),

      receive: (command) => changed(command.now, (rows) => Changes.receive(rows, command)),

      applyEarlyReports: ({ now }) => changed(now, (rows) => Changes.applyEarlyReports(rows, now)),

      sentTo: ({ providerIds, sessionId }) =>
        Effect.map(
          perform(() => rows.findByProviderIds(sessionId, providerIds)),
          (places) => phonesAt(db, places)
        ),

      find: (jobId) => Effect.sync(() => db.jobs.get(jobId)?.job ?? null),

      ...Lists.make(db),

      charges: (jobs) =>
        Effect.sync(
          () =>
            new Map(
              jobs.map(({ category, id }) => [
                id,
                (db.jobs.get(id)?.recipients ?? []).map(({ recipient }) => chargeOf(recipient, category))
              ])
            )
        ),

      delivered: (jobId) =>
        Effect.sync(() =>
          (db.jobs.get(jobId)?.recipients ?? []).flatMap(
            ({ recipient: { deliveredAt, phone, price, pricing, readAt } }) =>
              deliveredAt !== null || readAt !== null ? [{ phone, price, pricing }] : []
          )
        ),

      abandon: (command) => changed(command.now, (rows) => Changes.abandon(rows, command)),
      cancel: (command) => changed(command.now, (rows) => Changes.cancel(rows, command)),

      retry: (command) => changed(command.now, (rows) => Changes.retry(rows, command)),

      usage: ({ accountId, day }) =>
        Effect.sync(() => ({
          template: db.usage.get(JobRows.usageOf(accountId, day, "template")) ?? 0,
          direct: db.usage.get(JobRows.usageOf(accountId, day, "direct")) ?? 0
        })),

      nextDue: (now, admits) => perform(() => claims.nextDue(now, admits))
    }
  })
)
