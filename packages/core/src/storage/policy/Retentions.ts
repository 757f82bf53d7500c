/** The verbs of retention. Written once for all stores: what is due is `domain/Retention`, the reads and writes {@link RetentionRows}. */

import type { Instant } from "../../domain/Instant.ts"
import type { Found, Place, Walk } from "../../domain/Retention.ts"
import * as Retention from "../../domain/Retention.ts"
import type { Program } from "../Program.ts"
import type { Counted, Slice, SliceQuery } from "../RetentionStore.ts"
import type { RetentionRows } from "./RetentionRows.ts"

/** So many rows are looked at in one page, at least: those that stay cost little, and there may be millions before one that is due. */
const leastLooked = 500

/** Rows of a page that are due, as many as fit, and where the walk goes on. */
interface Due {
  readonly due: ReadonlyArray<Found>
  /** The first row that is kept and may be due later; null when there is none. */
  readonly kept: Place | null
  /** The last row that was looked at; null behind the last that can be due. */
  readonly next: Place | null
}

const looked = (limit: number): number => Math.max(leastLooked, limit)

const dueOf = (
  walk: Walk,
  page: ReadonlyArray<Found>,
  horizon: Instant,
  { limit, now }: Pick<SliceQuery, "limit" | "now">
): Due => {
  const due: Array<Found> = []
  let kept: Place | null = null
  let rows = 0
  for (const found of page) {
    if (found.at > horizon) return { due, kept, next: null }
    if (Retention.isDue(walk, found, now)) {
      if (rows > 0 && rows + found.rows > limit) return { due, kept, next: due.at(-1)?.place ?? null }
      due.push(found)
      rows += found.rows
    } else if (!found.isDone) kept ??= found.place
  }
  return { due, kept, next: page.length < looked(limit) ? null : (page.at(-1)?.place ?? null) }
}

function* find(rows: RetentionRows, query: SliceQuery): Program<Due> {
  const accounts = yield* rows.accounts()
  const { after, limit, now, walk } = query
  const horizon = Retention.horizon(walk, accounts, now)
  if (horizon === null) return { due: [], kept: null, next: null }
  return dueOf(walk, yield* rows.walks[walk].page({ after, limit: looked(limit), accounts }), horizon, query)
}

/** `RetentionStore.purge`. @param moment the monotonic clock, in milliseconds */
export function* purge(rows: RetentionRows, query: SliceQuery, moment: () => number): Program<Slice> {
  const began = moment()
  // A store that was restored may be a copy, or its clock wrong: its operator decides first.
  if ((yield* rows.isQuarantined()) || !(yield* rows.tryLock())) return { _tag: "Busy" }
  const { due, kept, next } = yield* find(rows, query)
  const { lock, remove, weigh } = rows.walks[query.walk]
  const locked = lock === undefined || due.length === 0 ? due : yield* lock(due)
  const still = locked.filter((found) => Retention.isDue(query.walk, found, query.now))
  const gone = weigh === undefined || still.length === 0 ? still : yield* weigh(still)
  if (gone.length > 0) yield* remove(gone, query.now)
  // Another has what was not locked, and it may be due when they have done.
  const [passed] = due.filter(({ place }) => !gone.some((each) => isAt(each.place, place)))
  return {
    _tag: "Purged",
    shares: Retention.sharesOf(query.walk, gone),
    kept: earlier(kept, passed?.place ?? null),
    next,
    ms: moment() - began
  }
}

/** `RetentionStore.count`. */
export function* count(rows: RetentionRows, query: SliceQuery): Program<Counted> {
  const { due, next } = yield* find(rows, query)
  const { weigh } = rows.walks[query.walk]
  const weighed = weigh === undefined || due.length === 0 ? due : yield* weigh(due)
  return { shares: Retention.sharesOf(query.walk, weighed), next }
}

const isAt = (a: Place, b: Place): boolean => a.every((part, at) => part === b[at])

const earlier = (a: Place | null, b: Place | null): Place | null => {
  if (a === null || b === null) return a ?? b
  for (const [at, part] of a.entries()) {
    const other = b[at] ?? part
    if (part !== other) return part < other ? a : b
  }
  return a
}
