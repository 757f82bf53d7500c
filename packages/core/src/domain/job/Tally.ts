/**
 * Numbers by minute of what became of recipients: each process counts in memory and adds its numbers to the rows once a
 * minute, so no send and no outcome writes one.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Recipient from "./Recipient.ts"
import type { Change } from "./Transitions.ts"

/** A status to which recipients came; `queued` when they were accepted or sent again; `retried` of an attempt that is repeated. */
export type Outcome = Recipient.Status | "retried"

export const outcomes: ReadonlyArray<Outcome> = [...Recipient.statuses, "retried"]

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

/** The numbers of a process that are not written yet. */
export interface Counter {
  readonly accepted: (sessionId: string, recipients: number, now: Instant) => void
  readonly changed: (sessionId: string, changes: Iterable<Change>, now: Instant) => void
  /** All numbers, which are counted from 0 again. */
  readonly take: () => ReadonlyArray<Tally>
  /** Numbers that could not be written. */
  readonly putBack: (tallies: ReadonlyArray<Tally>) => void
}

/** @param wake called when something is counted after all was taken */
export const counter = (wake: () => void): Counter => {
  let counts = new Map<string, Tally>()
  const add = (tally: Tally): void => {
    const { code, minute, outcome, sessionId } = tally
    const key = `${minute} ${sessionId} ${outcome} ${code}`
    const known = counts.get(key)
    if (known === undefined && counts.size >= most) return
    if (counts.size === 0) wake()
    counts.set(key, known === undefined ? tally : { ...known, count: known.count + tally.count })
  }
  const minuteOf = (now: Instant): Instant => now - (now % Time.minute)
  return {
    accepted: (sessionId, count, now) =>
      add({ minute: minuteOf(now), sessionId, outcome: "queued", code: "", count }),
    changed: (sessionId, changes, now) => {
      const minute = minuteOf(now)
      // Batches of one outcome mostly: to add each by itself costs a drain a tenth.
      let run: { outcome: Outcome; code: string; count: number } | null = null
      for (const change of changes) {
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
    },
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
