/** The verbs of the store in memory that tell later what became of sends. */
import * as Effect from "effect/Effect"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job, RecipientResult } from "../../domain/job/Job.ts"
import * as Tally from "../../domain/job/Tally.ts"
import type { Unknowns } from "../../domain/overview/Facts.ts"
import * as Paging from "../../domain/Page.ts"
import type { OfJobs } from "../../domain/Search.ts"
import type { LivingWorker, Traces } from "../JobStore.ts"
import type { Counting } from "../policy/Counting.ts"
import type { Database, JobRow } from "./MemoryDatabase.ts"
import { newestFirst } from "./MemoryDatabase.ts"
import * as JobRows from "./MemoryJobRows.ts"
import * as Timeline from "./Timeline.ts"

/** A job has no more recipients. */
const mostRecipients = 4096

/** The workers that have said what they are. */
const livingOf = (db: Database): ReadonlyArray<LivingWorker> => {
  const inFlight = new Map<string, number>()
  for (const { awaited, worker } of db.claims.values())
    inFlight.set(worker, (inFlight.get(worker) ?? 0) + awaited)
  return [...db.beats]
    .flatMap(([worker, { process }]) =>
      process === undefined ? [] : [{ worker, ...process, inFlight: inFlight.get(worker) ?? 0 }]
    )
    .sort((a, b) => a.startedAt - b.startedAt || (a.worker < b.worker ? -1 : 1))
}

const tallyKey = ({ code, minute, outcome, sessionId }: Tally.Tally): string =>
  [String(minute).padStart(16, "0"), sessionId, outcome, code].join(" ")

const addTallies = (db: Database, tallies: ReadonlyArray<Tally.Tally>, now: number): void => {
  for (const tally of tallies) {
    const key = tallyKey(tally)
    const count = (db.tallies.get(key)?.count ?? 0) + tally.count
    db.tallies.set(key, { ...tally, count })
  }
  for (const [key, { minute }] of db.tallies) if (minute < now - Tally.keptMs) db.tallies.delete(key)
}

const unknownsOf = (db: Database, since: Instant): Unknowns => {
  const jobs = [...db.jobs.values()]
    .map(({ job }) => job)
    .filter(({ completedAt, counts }) => counts.unknown > 0 && (completedAt === null || completedAt >= since))
  return {
    recipients: jobs.reduce((sum, { counts }) => sum + counts.unknown, 0),
    jobs: jobs.length,
    since: Time.firstOf(jobs.map(({ updatedAt }) => updatedAt))
  }
}

const isNamed = ({ job, key }: JobRow, sought: OfJobs): boolean => {
  const { from, before, id } = sought.request ?? { from: "", before: "", id: null }
  return (
    job.id === sought.jobId ||
    (job.reference !== null && job.reference === sought.reference) ||
    (key !== null &&
      sought.idempotencyKey !== null &&
      key === JobRows.keyOf(job.publicKey, sought.idempotencyKey)) ||
    (job.requestId !== null &&
      (job.requestId === sought.requestId || (job.requestId === id && job.id >= from && job.id < before)))
  )
}

const isMeant = (
  { id }: Job,
  recipient: RecipientResult,
  { message, providerId, recipients }: OfJobs
): boolean =>
  recipients.includes(recipient.phone) ||
  (recipient.externalId !== null && recipients.includes(recipient.externalId)) ||
  (recipient.providerId !== null && recipient.providerId === providerId) ||
  (message !== null && message.jobId === id && message.index === recipient.index)

/** A job that is named, behind its recipients; a direct message is its recipient. */
const foundOf = (row: JobRow, sought: OfJobs) => {
  const { job, position } = row
  const isFound = isNamed(row, sought)
  const isDirect = job.content.kind === "direct"
  const at = position * mostRecipients
  const recipients = row.recipients.flatMap(({ recipient }) =>
    (isFound && isDirect) || isMeant(job, recipient, sought)
      ? [{ position: at + recipient.index, job, recipient }]
      : []
  )
  return isFound && !isDirect
    ? [...recipients, { position: at + mostRecipients - 1, job, recipient: null }]
    : recipients
}

export const make = (db: Database, counting: Counting): Traces => ({
  living: Effect.sync(() => livingOf(db)),

  counted: counting.some,

  saveTallies: ({ now }) => counting.taken((tallies) => Effect.sync(() => addTallies(db, tallies, now))),

  tallies: ({ from, most, to }) =>
    counting.between(
      { from, to },
      Effect.sync(() =>
        [...db.tallies.entries()]
          .filter(([, { minute }]) => minute >= from && minute < to)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([, tally]) => tally)
          .slice(-most)
      )
    ),

  unknowns: ({ since }) => Effect.sync(() => unknownsOf(db, since)),

  earlierAttempts: ({ index, jobId }) =>
    Effect.sync(() => db.earlierAttempts.get(Ids.messageId(jobId, index)) ?? []),

  timeline: (query) => Effect.sync(() => Timeline.rowsOf(db, query)),

  // All is at hand.
  writeSegments: Effect.succeed(false),

  search: ({ kind, page, publicKey, sought }) =>
    Effect.sync(() => {
      const found = [...db.jobs.values()]
        .filter(
          ({ job }) =>
            (publicKey === undefined || job.publicKey === publicKey) &&
            (kind === undefined || job.content.kind === kind)
        )
        .flatMap((row) => foundOf(row, sought))
      return Paging.map(newestFirst(found, page), ({ job, recipient }) => ({ job, recipient }))
    })
})
