/** Recipients with their jobs, by the keys of their rows. */
import type { Paged } from "../../../domain/Page.ts"
import * as Page from "../../../domain/Page.ts"
import * as JobSteps from "../../JobSteps.ts"
import type { StoredMessage } from "../../JobStore.ts"
import type { Program } from "../Program.ts"
import { all } from "../Program.ts"
import { jobOf } from "../RecipientKeys.ts"
import { newestFirst, seq, text } from "../RowReader.ts"
import type { StoredJob } from "./JobColumns.ts"
import type { StoredJobs } from "./Jobs.ts"
import * as Segments from "./Segments.ts"

/** Recipients that are looked at for a page of those of one API key. */
const mostLookedAt = 500

export const make = (rows: StoredJobs) => {
  const { elements } = rows.dialect
  const find = Segments.finding(rows.dialect)
  const idsOf = `SELECT seq, id, public_key FROM sendwright_job WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from})`
  const keyed = rows.recipientsOf(`seq IN (SELECT ${elements.integer} FROM ${elements.from}) ORDER BY seq`)

  /** What there is of these recipients, in their order. */
  function* read(keys: ReadonlyArray<number>, jobIds: ReadonlyArray<string>) {
    const jobs = new Map<number, StoredJob>()
    for (const job of yield* rows.read(jobIds)) jobs.set(job.seq, job)
    const found = new Map<number, StoredMessage>()
    const known = keys.flatMap((key) => {
      const job = jobs.get(jobOf(key))
      return job === undefined ? [] : [{ key, job }]
    })
    for (const [session, some] of JobSteps.groupBy(known, ({ job }) => job.job.sessionId)) {
      const wanted = JSON.stringify(some.map(({ key }) => key))
      for (const { key, recipient } of yield* rows.recipients(keyed, session, wanted)) {
        const job = jobs.get(jobOf(key))
        if (job !== undefined) found.set(key, { job: job.job, recipient })
      }
    }
    return keys.flatMap((key) => found.get(key) ?? [])
  }

  return function* (
    texts: ReadonlyArray<string>,
    publicKey: string | undefined,
    page: Page.Page
  ): Program<Paged<StoredMessage>> {
    const [before, limit] = newestFirst(page)
    const most = publicKey === undefined ? limit : mostLookedAt
    const found = yield* find(texts, before, most)
    const ids = new Map<number, string>()
    for (const row of yield* all(idsOf, JSON.stringify([...new Set(found.map(jobOf))])))
      if (publicKey === undefined || text(row, "public_key") === publicKey) ids.set(seq(row), text(row, "id"))
    const theirs = found.filter((key) => ids.has(jobOf(key)))
    const lookedAt = found.length < most ? null : (found.at(-1) ?? null)
    const { items: keys, next } = Page.cut(theirs, page.limit, (key) => key, lookedAt)
    const jobIds = [...new Set(keys.flatMap((key) => ids.get(jobOf(key)) ?? []))]
    return { items: keys.length === 0 ? [] : yield* read(keys, jobIds), next }
  }
}
