/** Lists of jobs: an index tells which they are, and then they are read by their ids. */
import type { Job } from "../../../domain/job/Job.ts"
import type { Paged } from "../../../domain/Page.ts"
import * as Page from "../../../domain/Page.ts"
import type { ListJobs } from "../../JobStore.ts"
import type { Program, Row } from "../Program.ts"
import { all } from "../Program.ts"
import { end, newestFirst, seq, text } from "../RowReader.ts"
import * as Walk from "../Walk.ts"
import { type StoredJob, storedKindsOf } from "./JobColumns.ts"
import type { StoredJobs } from "./Jobs.ts"
import * as Order from "./Order.ts"

const filter = `kind IN (?, ?) AND created_at >= ? AND created_at < ?
    AND (CAST(? AS text) IS NULL OR ${Order.status} = ?)`

const walk = (owner: "public_key" | "account", by: "kind" | "reference") =>
  Walk.make("sendwright_job AS job", "seq, id", [owner, by], filter)

const walks = {
  publicKey: { kind: walk("public_key", "kind"), reference: walk("public_key", "reference") },
  account: { kind: walk("account", "kind"), reference: walk("account", "reference") }
}

const filterOf = ({ createdAfter, createdBefore, kind, reference, status }: ListJobs) => {
  if ([status, createdAfter, createdBefore, reference].every((each) => each === undefined)) return undefined
  const [first = kind, second = first] = storedKindsOf(kind)
  return [first, second, createdAfter ?? -end, createdBefore ?? end, status ?? null, status ?? null]
}

/** Answers a page of what the filters leave of the next rows, which may be nothing although others follow. */
export const make = ({ dialect, select, toJob }: StoredJobs) => {
  const byIds = `${select} WHERE ${dialect.elements.among("job.id")}`

  return function* (query: ListJobs): Program<Paged<Job>> {
    const { by, kind, page, reference } = query
    const [owner, ofOwner] =
      "publicKey" in by ? [by.publicKey, walks.publicKey] : [by.accountId, walks.account]
    const { lastLookedAt, rows } = ofOwner[reference === undefined ? "kind" : "reference"]
    const values = reference === undefined ? storedKindsOf(kind) : [reference]
    const filtered = filterOf(query)
    const [before, limit] = newestFirst(page)

    let last: number | null = null
    for (const value of filtered === undefined ? [] : values) {
      const lookedAt = yield* lastLookedAt([owner, value], before)
      if (lookedAt !== null) last = Math.max(last ?? 0, lookedAt)
    }
    const found: Array<Row> = []
    for (const value of values)
      found.push(...(yield* rows([owner, value], { before, least: last ?? 0, limit }, filtered)))
    const newest = found.sort((a, b) => seq(b) - seq(a)).slice(0, limit)
    const { items, next } = Page.cut(newest, page.limit, seq, last)
    if (items.length === 0) return { items: [], next }
    const jobs: Array<StoredJob> = []
    const ids = JSON.stringify(items.map((row) => text(row, "id")))
    for (const row of yield* all(byIds, ids)) jobs.push(yield* toJob(row))
    return { items: jobs.sort((a, b) => b.seq - a.seq).map(({ job }) => job), next }
  }
}
