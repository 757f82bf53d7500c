/** Jobs and recipients by what a text may name, each by its index. */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { groupBy } from "../../../domain/GroupBy.ts"
import * as Page from "../../../domain/Page.ts"
import type { FoundJob, JobStore, SearchJobs } from "../../JobStore.ts"
import type { Program, Row } from "../../Program.ts"
import { all, get } from "../../Program.ts"
import type { StoredJob } from "../../policy/JobRows.ts"
import type { StorageError } from "../../StorageError.ts"
import type { Database } from "../Database.ts"
import * as IndexScan from "../IndexScan.ts"
import { jobOf, lastPlace, recipientKey } from "../RecipientKeys.ts"
import { isOwnRequestId } from "../RequestIds.ts"
import { end, seq, text } from "../RowReader.ts"
import { jobs as columns, contentKindOf, storedKindsOf } from "./JobColumns.ts"
import type { StoredJobs } from "./Jobs.ts"
import * as Lists from "./Lists.ts"
import * as Segments from "./Segments.ts"

/** Recipients that are looked at in one read, where others' may be among them. */
const mostLookedAt = 500

/** Rows that have one text where it should name one thing: a client may give every request the same id. */
const mostAlike = 500

/** The accounts that are looked into for one reference. */
export const mostAccounts = 100

const selected = "seq, id, public_key, kind"

const select = `SELECT ${selected} FROM sendwright_job`

const byId = `${select} WHERE id = ?`
const byKey = `${select} WHERE idempotency_key = ? AND seq < ? LIMIT ${mostAlike}`
const byOwnKey = `${select} WHERE idempotency_key = ? AND public_key = ? AND seq < ?`
const byRequest = `${select} WHERE request_id = ? AND ${isOwnRequestId("request_id")} AND seq < ?
  ORDER BY seq DESC LIMIT ${mostAlike}`

const between = `SELECT ${selected} FROM (
    SELECT ${selected}, request_id FROM sendwright_job WHERE id >= ? AND id < ? ORDER BY id LIMIT ${Page.mostLookedAt}
  ) AS near WHERE request_id = ? AND seq < ?`

const byProvider = `SELECT seq FROM sendwright_recipient
  WHERE provider_id = ? AND provider_id IS NOT NULL LIMIT ${mostAlike}`

const ofKey = IndexScan.make("sendwright_job", selected, ["public_key", "reference"], "kind IN (?, ?)")
const ofAccount = IndexScan.make("sendwright_job", selected, ["reference", "account"])

const kindOf = columns.only("kind")

/** A job stands behind its last recipient, and a direct message is its recipient. */
const placeOf = (row: Row): number =>
  recipientKey(seq(row), contentKindOf(kindOf.read(row).kind) === "direct" ? 0 : lastPlace)

/** The job of a place whose own job comes no later than it. */
const isOfJob = (place: number): boolean => place === recipientKey(jobOf(place), lastPlace)

/** A part of what there is. */
interface Part {
  readonly places: ReadonlyArray<number>
  /** The place of the last recipient that was looked at; null when no other is left. */
  readonly lookedAt: number | null
}

const bySeqs = ({ dialect: { elements } }: StoredJobs): string =>
  `${select} WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from})`

/** Reads what there is at places, in their order. */
const reading = (rows: StoredJobs) => {
  const { elements } = rows.dialect
  const ofSeqs = bySeqs(rows)
  const keyed = rows.recipientsOf(`seq IN (SELECT ${elements.integer} FROM ${elements.from}) ORDER BY seq`)

  return function* (places: ReadonlyArray<number>): Program<ReadonlyArray<FoundJob>> {
    const ids: Array<string> = []
    for (const row of yield* all(ofSeqs, JSON.stringify([...new Set(places.map(jobOf))])))
      ids.push(text(row, "id"))
    const jobs = new Map<number, StoredJob>()
    for (const job of yield* rows.read(ids)) jobs.set(job.seq, job)
    const found = new Map<number, FoundJob>()
    const known = places.flatMap((place) => {
      const job = jobs.get(jobOf(place))
      return job === undefined ? [] : [{ place, job }]
    })
    for (const [session, some] of groupBy(known, ({ job }) => job.job.sessionId)) {
      const keys = some.map(({ place }) => place).filter((place) => !isOfJob(place))
      if (keys.length === 0) continue
      for (const { key, recipient } of yield* rows.recipients(keyed, session, JSON.stringify(keys))) {
        const job = jobs.get(jobOf(key))
        if (job !== undefined) found.set(key, { job: job.job, recipient })
      }
    }
    for (const { job, place } of known)
      if (isOfJob(place)) found.set(place, { job: job.job, recipient: null })
    return places.flatMap((place) => found.get(place) ?? [])
  }
}

function* ofReference(
  reference: string,
  { kind, publicKey }: SearchJobs,
  range: { readonly before: number; readonly least: number; readonly limit: number }
) {
  if (publicKey !== undefined) {
    const [first, second = first] = kind === undefined ? [] : storedKindsOf(kind)
    const asked = first === undefined || second === undefined ? undefined : [first, second]
    return yield* ofKey.rows([publicKey, reference], range, asked)
  }
  const found: Array<Row> = []
  for (const account of yield* Lists.accountsOf(reference, mostAccounts))
    found.push(...(yield* ofAccount.rows([reference, account], range)))
  return found
}

/** Jobs by what names them as a whole, before a number. */
function* jobsOf(query: SearchJobs, before: number) {
  const { page, publicKey, sought } = query
  const { idempotencyKey, jobId, reference, request, requestId } = sought
  // The job of the place itself is among them, and one more tells whether others follow.
  const range = { before, least: 0, limit: page.limit + 2 }
  const found: Array<Row> = []
  if (jobId !== null) found.push(...(yield* all(byId, jobId)))
  if (reference !== null) found.push(...(yield* ofReference(reference, query, range)))
  if (idempotencyKey !== null)
    found.push(
      ...(publicKey === undefined
        ? yield* all(byKey, idempotencyKey, before)
        : yield* all(byOwnKey, idempotencyKey, publicKey, before))
    )
  if (requestId !== null) found.push(...(yield* all(byRequest, requestId, before)))
  if (request !== null) found.push(...(yield* all(between, request.from, request.before, request.id, before)))
  return found
}

export const make = (
  db: Context.Tag.Service<Database>,
  rows: StoredJobs
): Context.Tag.Service<JobStore>["search"] => {
  const find = Segments.finding(rows.dialect)
  const ofSeqs = bySeqs(rows)
  const read = reading(rows)

  function* part(query: SearchJobs, before: number): Program<Part> {
    const { kind, page, publicKey, sought } = query
    const limit = page.limit + 1
    // Of one key, or of one kind, some of them remain.
    const most = publicKey === undefined && kind === undefined ? limit : mostLookedAt
    const recipients = yield* find(sought.recipients, before, most)
    const places = new Set(recipients)
    if (sought.providerId !== null)
      for (const row of yield* all(byProvider, sought.providerId)) places.add(seq(row))
    const { message } = sought
    const ofMessage = message === null ? undefined : yield* get(byId, message.jobId)
    if (message !== null && ofMessage !== undefined) places.add(recipientKey(seq(ofMessage), message.index))
    const jobs = new Map<number, Row>()
    const known = [...new Set([...places].map(jobOf))]
    if (known.length > 0) for (const row of yield* all(ofSeqs, JSON.stringify(known))) jobs.set(seq(row), row)
    for (const row of yield* jobsOf(query, jobOf(before) + 1)) {
      jobs.set(seq(row), row)
      places.add(placeOf(row))
    }
    const isAsked = (row: Row | undefined): boolean =>
      row !== undefined &&
      (publicKey === undefined || text(row, "public_key") === publicKey) &&
      (kind === undefined || contentKindOf(kindOf.read(row).kind) === kind)
    const lookedAt = most > limit && recipients.length === most ? (recipients.at(-1) ?? null) : null
    return {
      places: [...places]
        .filter((place) => place < before && place >= (lookedAt ?? 0) && isAsked(jobs.get(jobOf(place))))
        .sort((a, b) => b - a),
      lookedAt
    }
  }

  /** Looks on until the page is full, so that nothing is told of what was passed over; others have their turns meanwhile. */
  const look = (
    query: SearchJobs,
    before: number,
    found: ReadonlyArray<number>
  ): Effect.Effect<ReadonlyArray<number>, StorageError> =>
    Effect.flatMap(
      db.readPage("JobStore.search", () => part(query, before)),
      ({ lookedAt, places }) => {
        const now = [...found, ...places]
        return lookedAt === null || now.length > query.page.limit
          ? Effect.succeed(now)
          : look(query, lookedAt, now)
      }
    )

  return (query) =>
    Effect.gen(function* () {
      const { after, limit } = query.page
      const found = yield* look(query, after ?? end, [])
      const { items, next } = Page.cut(found, limit, (place) => place)
      if (items.length === 0) return { items: [], next: null }
      // Few rows by their keys are sorted: an index with their order would be read whole.
      return { items: yield* db.read("JobStore.search", () => read(items)), next }
    })
}
