/**
 * Claims: a row for each, over a range of recipients of its session. `first` and `last` are keys of recipients, and all
 * between that are untouched are claimed; what else is claimed has the claim's fence in its own row. `jobs` names the jobs
 * of which a worker's death has to be told and which the range does not. `open` counts the outcomes that are awaited; at 0
 * nobody has the claim. `place` is the last job up to which the session's order of the priority was taken: the greatest is its
 * cursor.
 *
 * Whatever becomes of a recipient writes its row, so no untouched one is left between when all outcomes are in.
 */

import type { Ids } from "../../../domain/Ids.ts"
import type { Instant } from "../../../domain/Instant.ts"
import * as Priority from "../../../domain/job/Priority.ts"
import type { Change } from "../../../domain/job/Transitions.ts"
import type { JobChange } from "../../JobSteps.ts"
import type { Program } from "../../Program.ts"
import { all, run } from "../../Program.ts"
import type { ClaimStep, StoredJob } from "../../policy/JobRows.ts"
import {
  exact,
  exactOrNull,
  flag,
  instant,
  integer,
  integerOrNull,
  json,
  nullable,
  table,
  word
} from "../Columns.ts"
import { insertInto } from "../Insert.ts"
import { impersonal } from "../Personal.ts"
import { recipientKey } from "../RecipientKeys.ts"
import { seq } from "../RowReader.ts"
import type { ClaimsCache } from "./ClaimsCache.ts"

interface ClaimRow {
  readonly fence: number
  readonly session: string
  readonly priority: Priority.Priority
  readonly first: number
  readonly last: number
  readonly jobs: ReadonlyArray<number> | null
  readonly worker: string | null
  readonly open: number
  readonly at: Instant
  readonly place: number | null
  /** True once one of its recipients was written without its outcome, or by another than who claimed it. */
  readonly isOvertaken: boolean
}

export const claims = table("sendwright_claim", { kept: "passing", key: ["fence"] })<ClaimRow>({
  fence: integer("fence", impersonal, "long PRIMARY KEY"),
  session: exact("session", impersonal),
  priority: word("priority", impersonal, Priority.all, "exact NOT NULL"),
  first: integer("first", impersonal),
  last: integer("last", impersonal),
  jobs: nullable(json<ReadonlyArray<number>>("jobs", impersonal)),
  worker: exactOrNull("worker", impersonal),
  open: integer("open", impersonal, "INTEGER NOT NULL"),
  at: instant("at", impersonal),
  place: integerOrNull("place", impersonal),
  isOvertaken: flag("overtaken", impersonal)
})

/** The claim that has an untouched recipient by its range, beside others: a condition. Both are SQL. */
export const has = (session: string, key: string): string =>
  `claim.session = ${session} AND claim.worker IS NOT NULL AND ${key} BETWEEN claim.first AND claim.last`

/** Claims that are written together, and what is written of each of their jobs. */
export interface Plan {
  readonly rows: ReadonlyArray<
    Omit<ClaimRow, "at" | "isOvertaken" | "priority" | "session" | "worker"> & { readonly isHeld: boolean }
  >
  /** The session's new cursor; null where it stays. */
  readonly place: number | null
  /** By the places of the steps. */
  readonly fences: ReadonlyArray<number>
  /** Steps of which the claim tells all: their jobs get no row. */
  readonly whole: ReadonlyArray<JobChange<StoredJob>>
  /** Steps that are written, each without the recipients that a range has. */
  readonly written: ReadonlyArray<JobChange<StoredJob>>
}

/** By `untouched` of {@link RecipientColumns}. */
const isUntouched = ({ before: { nextAt, sequence, status, updatedAt } }: Change): boolean =>
  sequence === 0 && status === "queued" && nextAt === updatedAt

/** True where the recipients lie side by side and each is untouched: then a range may have them. */
const areRange = (changes: ReadonlyArray<Change>): boolean =>
  changes.every(
    (change, at) => isUntouched(change) && change.before.index === (changes[0]?.before.index ?? 0) + at
  )

const isWhole = ({ deferred, step: { changes, state } }: ClaimStep): boolean =>
  !state.hasRow &&
  !state.isApart &&
  deferred.length === 0 &&
  changes.length === state.job.recipients &&
  // A probe's is paused: no claim tells that.
  state.job.status === "processing"

/** The jobs that the session's cursor passes: those that waited one behind the other, from the first. */
const passed = (
  states: ReadonlyArray<StoredJob>
): { readonly jobs: ReadonlySet<number>; readonly place: number | null } => {
  const jobs = new Set<number>()
  let place: number | null = null
  for (const { behind, seq } of states
    .filter(({ behind }) => behind !== undefined)
    .sort((a, b) => a.seq - b.seq)) {
    if (behind !== place) break
    place = seq
    jobs.add(seq)
  }
  return { jobs, place }
}

interface Run {
  first: number
  last: number
  readonly jobs: Array<number>
  open: number
  readonly fence: number
}

/**
 * @param between jobs that may have untouched recipients and lie between those of the order without being of it
 * @param drawFence answers a number that no other claim has
 */
export const plan = (
  steps: ReadonlyArray<ClaimStep>,
  others: ReadonlyArray<JobChange<StoredJob>>,
  between: ReadonlyArray<number>,
  drawFence: () => number
): Plan => {
  const order = passed([...steps.map(({ step }) => step.state), ...others.map(({ state }) => state)])
  const runs: Array<Run> = []
  const begin = (first: number, last: number): Run => {
    const run = { first, last, jobs: [], open: 0, fence: drawFence() }
    runs.push(run)
    return run
  }
  /** Of what no range has: nothing is between its ends. */
  let scattered: Run | undefined
  const fences = steps.map(() => 0)
  const whole: Array<JobChange<StoredJob>> = []
  const written: Array<JobChange<StoredJob>> = [...others]
  let current: Run | undefined
  let previous: number | null = null
  const inOrder = steps
    .map((claim, at) => ({ claim, at }))
    .sort((a, b) => a.claim.step.state.seq - b.claim.step.state.seq)
  for (const { at, claim } of inOrder) {
    const { deferred, step } = claim
    const { changes, drafts, state } = step
    const { seq } = state
    const [first, last] = [changes[0]?.before.index ?? 0, changes.at(-1)?.before.index ?? 0]
    if (isWhole(claim) && order.jobs.has(seq)) {
      const after = previous
      const isNext =
        after !== null && state.behind === after && !between.some((each) => each > after && each < seq)
      const run: Run = isNext && current !== undefined ? current : begin(recipientKey(seq, 0), 0)
      run.last = recipientKey(seq, state.job.recipients - 1)
      run.open += changes.length
      current = run
      previous = seq
      fences[at] = run.fence
      whole.push({ state: { ...state, claimedTo: run.last }, changes: [], drafts })
      continue
    }
    current = undefined
    if (!state.isApart && areRange(changes)) {
      const run = begin(recipientKey(seq, first), recipientKey(seq, last))
      run.open = changes.length
      run.jobs.push(seq)
      fences[at] = run.fence
      written.push({ state: { ...state, claimedTo: run.last }, changes: deferred, drafts })
      continue
    }
    scattered ??= begin(0, -1)
    const { fence } = scattered
    scattered.open += changes.length
    scattered.jobs.push(seq)
    fences[at] = fence
    const claimed = changes.map((change) => ({ ...change, fenceBefore: null, fence }))
    written.push({ state, changes: [...deferred, ...claimed], drafts })
  }
  const rows = runs.map(({ fence, first, jobs, last, open }) => ({
    ...{ fence, first, last, open, isHeld: true, place: null },
    jobs: jobs.length === 0 ? null : jobs
  }))
  const [head, ...rest] = rows
  if (order.place === null) return { rows, place: null, fences, whole, written }
  const cursor =
    head === undefined
      ? { fence: drawFence(), first: 0, last: -1, open: 0, isHeld: false, jobs: null, place: order.place }
      : { ...head, place: order.place }
  return { rows: [cursor, ...rest], place: order.place, fences, whole, written }
}

const waitingBetween = `SELECT seq FROM sendwright_progress
    WHERE session = ? AND status IN ('queued', 'processing', 'paused') AND seq BETWEEN ? AND ?
  UNION ALL SELECT seq FROM sendwright_job
    WHERE session = ? AND priority IN (?, ?) AND due_at IS NOT NULL AND (seq + 0) BETWEEN ? AND ?`

/** The jobs with rows, and those of other priorities, that may lie between those of the order that are claimed. */
export function* between(steps: ReadonlyArray<ClaimStep>): Program<ReadonlyArray<number>> {
  const seqs = steps.flatMap(({ step: { state } }) => (state.behind === undefined ? [] : [state.seq]))
  const [first, last] = [Math.min(...seqs), Math.max(...seqs)]
  const job = steps[0]?.step.state.job
  if (job === undefined || last - first < seqs.length) return []
  const { priority, sessionId } = job
  const others = Priority.all.filter((each) => each !== priority)
  return (yield* all(waitingBetween, sessionId, first, last, sessionId, ...others, first, last)).map(seq)
}

/** A number that no two claims of a recipient have: 48 bits at random. */
export const fenceOf = (ids: Ids, now: Instant): number => 1 + Number.parseInt(ids.uuid(now).slice(-12), 16)

const insertClaim = insertInto("sendwright_claim", claims.names)

const forgetEnded = `DELETE FROM sendwright_claim
  WHERE session = ? AND priority = ? AND worker IS NULL AND (place IS NULL OR place < ?)`

/** Writes claims of an order, whose session is locked, and forgets those that have ended and are no cursor any more. */
export function* insert(
  { priority, session }: Pick<ClaimRow, "priority" | "session">,
  worker: string,
  rows: Plan["rows"],
  cursor: number,
  at: Instant
): Program<void> {
  yield* run(forgetEnded, session, priority, cursor)
  for (const { isHeld, ...row } of rows)
    yield* run(
      insertClaim,
      ...claims.write({ ...row, session, priority, at, worker: isHeld ? worker : null, isOvertaken: false })
    )
}

const release = `UPDATE sendwright_claim
  SET open = open - ?, worker = CASE WHEN open > ? THEN worker END WHERE fence = ?`

const overtake = "UPDATE sendwright_claim SET overtaken = 1 WHERE fence = ?"

/** Counts the outcomes that the steps bring. */
export function* settle(steps: ReadonlyArray<JobChange<StoredJob>>, held: ClaimsCache): Program<void> {
  const settled = new Map<number, number>()
  const overtaken = new Set<number>()
  for (const { changes, state } of steps)
    for (const { after, before, fence, fenceBefore } of changes) {
      if (fenceBefore === null) continue
      const wasHeld = held.remove(fenceBefore, recipientKey(state.seq, after.index))
      if (fence === null) settled.set(fenceBefore, (settled.get(fenceBefore) ?? 0) + 1)
      if (!wasHeld || (fence !== null && before !== after)) overtaken.add(fenceBefore)
    }
  for (const [fence, count] of settled) yield* run(release, count, count, fence)
  for (const fence of overtaken) yield* run(overtake, fence)
}
