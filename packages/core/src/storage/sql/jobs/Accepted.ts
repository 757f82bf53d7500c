/** Jobs by the time of their acceptance, which their ids begin with. */
import type { Looked } from "../../../domain/DerivedEvent.ts"
import * as Ids from "../../../domain/Ids.ts"
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { Job } from "../../../domain/job/Job.ts"
import * as Page from "../../../domain/Page.ts"
import type { AcceptedQuery } from "../../JobStore.ts"
import type { Program } from "../../Program.ts"
import { all, get } from "../../Program.ts"
import { instant, limited, text } from "../RowReader.ts"
import { storedKindsOf } from "./JobColumns.ts"
import type { StoredJobs } from "./Jobs.ts"

const between = "FROM sendwright_job WHERE id >= ? AND id < ? ORDER BY id DESC"
const ofAll = `SELECT id ${between} ${limited}`
const lastLookedAt = `SELECT created_at ${between} LIMIT 1 OFFSET ${Page.mostLookedAt - 1}`

const optional = (condition: string): string => `(CAST(? AS text) IS NULL OR ${condition})`

const filtered = `SELECT id FROM (SELECT id, account, session, kind ${between} LIMIT ${Page.mostLookedAt}) AS job
  WHERE ${["account = ?", "session = ?"].map(optional).join(" AND ")} AND ${optional("kind IN (?, ?)")} ${limited}`

/** No time of an id is later. */
const latest = Time.at(2 ** 48 - 1)

const boundOf = (time: Instant): string => Ids.since(Time.min(time, latest))

export const make = ({ dialect, select, toJob }: StoredJobs) => {
  const byIds = `${select} WHERE ${dialect.elements.among("job.id")}`

  return function* ({ accountId, from, kind, limit, sessionId, to }: AcceptedQuery): Program<Looked<Job>> {
    const range = [boundOf(from), boundOf(to)]
    const [first = null, second = first] = kind === undefined ? [] : storedKindsOf(kind)
    const asked = [accountId ?? null, accountId ?? null, sessionId ?? null, sessionId ?? null]
    const isFiltered = accountId !== undefined || sessionId !== undefined || kind !== undefined
    const rows = isFiltered
      ? yield* all(filtered, ...range, ...asked, first, first, second, limit)
      : yield* all(ofAll, ...range, limit)
    const items: Array<Job> = []
    for (const row of yield* all(byIds, JSON.stringify(rows.map((row) => text(row, "id")))))
      items.push((yield* toJob(row)).job)
    items.sort((a, b) => (a.id < b.id ? 1 : -1))
    const isWhole = !isFiltered || rows.length >= limit
    const end = isWhole ? undefined : yield* get(lastLookedAt, ...range)
    return { items, lookedTo: end === undefined ? null : instant(end, "created_at") }
  }
}
