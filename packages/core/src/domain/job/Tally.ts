/**
 * Numbers by minute of what became of recipients: each process counts in memory and adds its numbers to the rows once a
 * minute, so no send and no outcome writes one.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Recipient from "./Recipient.ts"
import type { Change } from "./Transitions.ts"

/**
 * A status to which recipients came; `queued` when they were accepted or sent again; `retried` of an attempt that is repeated;
 * `mended`, with the code of before, of one that was failed or unknown and is so no longer. Each whom the platform took is counted
 * once as `accepted`, whatever status that was.
 */
export type Outcome = Recipient.Status | "mended" | "retried"

export const outcomes: ReadonlyArray<Outcome> = [...Recipient.statuses, "mended", "retried"]

/** The number of recipients of a session that had an outcome in a minute. */
export interface Tally {
  /** The first moment of the minute. */
  readonly minute: Instant
  readonly sessionId: string
  readonly outcome: Outcome
  /** The failure's, else empty. */
  readonly code: string
  readonly count: number
}

const keyOf = ({ code, minute, outcome, sessionId }: Tally): string =>
  `${minute} ${sessionId} ${outcome} ${code}`

/** Numbers and others that are to be added to them, each once. */
export const sum = (some: ReadonlyArray<Tally>, others: ReadonlyArray<Tally>): ReadonlyArray<Tally> => {
  if (others.length === 0) return some
  const sums = new Map(some.map((tally) => [keyOf(tally), tally]))
  for (const tally of others) {
    const key = keyOf(tally)
    sums.set(key, { ...tally, count: tally.count + (sums.get(key)?.count ?? 0) })
  }
  return [...sums.values()]
}

/** For so long the numbers of a minute are kept. */
export const keptMs = 35 * Time.day

/** So many numbers a process keeps in memory while the store takes none. */
const most = 10_000

const outcomeOf = ({ after, before }: Change): Outcome | null => {
  if (before.status !== after.status)
    return Recipient.leftDispatch(after.status) || Recipient.leftDispatch(before.status) ? after.status : null
  // An attempt was under way, and the next has its time.
  const isRepeated = before.nextAt === null && after.nextAt !== null && after.attempts === before.attempts
  return isRepeated && !Recipient.leftDispatch(after.status) ? "retried" : null
}

/** The code of a failure that stands no longer; null where none did. */
const mendedCode = ({ after, before }: Change): string | null =>
  before.status !== after.status && (before.status === "failed" || before.status === "unknown")
    ? (before.failure?.code ?? "")
    : null

/** True of a recipient whom the platform has taken with this change, without a status that says so. */
const isTaken = ({ after, before }: Change): boolean =>
  after.status !== "accepted" && Recipient.wasAccepted(after.status) && !Recipient.leftDispatch(before.status)

/** The numbers of a process that are not written yet. */
export interface Counter {
  readonly accepted: (sessionId: string, recipients: number, now: Instant) => void
  readonly changed: (sessionId: string, changes: Iterable<Change>, now: Instant) => void
  /** All numbers, which go on. */
  readonly now: () => ReadonlyArray<Tally>
  /** All numbers, which are counted from 0 again. */
  readonly take: () => ReadonlyArray<Tally>
  /** Numbers that could not be written. */
  readonly putBack: (tallies: ReadonlyArray<Tally>) => void
}

/** @param wake called when something is counted after all was taken */
export const counter = (wake: () => void): Counter => {
  let counts = new Map<string, Tally>()
  const add = (tally: Tally): void => {
    const key = keyOf(tally)
    const known = counts.get(key)
    if (known === undefined && counts.size >= most) return
    if (counts.size === 0) wake()
    counts.set(key, known === undefined ? tally : { ...known, count: known.count + tally.count })
  }
  const minuteOf = (now: Instant): Instant => Time.before(now, now % Time.minute)
  return {
    accepted: (sessionId, count, now) =>
      add({ minute: minuteOf(now), sessionId, outcome: "queued", code: "", count }),
    changed: (sessionId, changes, now) => {
      const minute = minuteOf(now)
      // Batches of one outcome mostly: to add each by itself costs a drain a tenth.
      let run: { outcome: Outcome; code: string; count: number } | null = null
      let taken = 0
      for (const change of changes) {
        if (isTaken(change)) taken += 1
        const mended = mendedCode(change)
        if (mended !== null) add({ minute, sessionId, outcome: "mended", code: mended, count: 1 })
        const outcome = outcomeOf(change)
        if (outcome === null) continue
        const code = change.after.failure?.code ?? ""
        if (run !== null && run.outcome === outcome && run.code === code) {
          run.count += 1
          continue
        }
        if (run !== null) add({ minute, sessionId, ...run })
        run = { outcome, code, count: 1 }
      }
      if (run !== null) add({ minute, sessionId, ...run })
      if (taken > 0) add({ minute, sessionId, outcome: "accepted", code: "", count: taken })
    },
    now: () => [...counts.values()],
    take: () => {
      const taken = [...counts.values()]
      counts = new Map()
      return taken
    },
    putBack: (tallies) => {
      for (const tally of tallies) add(tally)
    }
  }
}
