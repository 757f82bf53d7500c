/**
 * Estimates when the last of a send's recipients goes, and what limits that: their times and hours, and the pace of the session and
 * the send (contract.md §14 "Time"). Other sends of the session, and retries that are to come, may make it later.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Limiter } from "./Waiting.ts"
import * as When from "./When.ts"

/** Somebody who is to be attempted. */
export interface Waiting {
  readonly dueAt: Instant
  /** Null of one without a time. */
  readonly rules: When.Rules | null
  /** False of another attempt, for which nobody asked at a time. */
  readonly isFirst: boolean
}

export const limiters = ["schedule", "hours", "pace", "retry"] as const satisfies ReadonlyArray<Limiter>

export interface End {
  readonly endsAt: Instant | null
  readonly limitedBy: (typeof limiters)[number] | null
}

/** Nothing limits it, or nobody can tell the end. */
export const open: End = { endsAt: null, limitedBy: null }

/** A send whose recipients are put off to another day more often than so has no end that can be told. */
const mostTurns = 10_000

const limiterOf = (
  { dueAt, isFirst, rules }: Waiting,
  now: Instant
): Exclude<End["limitedBy"], "pace" | null> => {
  if (!isFirst) return rules !== null && When.beginsAt(rules, dueAt) ? "hours" : "retry"
  return rules !== null && When.askedFor(rules, now) < dueAt ? "hours" : "schedule"
}

interface Turn {
  readonly at: Instant
  readonly rules: When.Rules | null
  readonly limiter: Exclude<End["limitedBy"], "pace">
}

const turnOf = (waiting: Waiting, now: Instant): Turn => {
  const { dueAt, rules } = waiting
  return dueAt > now
    ? { at: dueAt, rules, limiter: limiterOf(waiting, now) }
    : { at: now, rules, limiter: null }
}

/** Puts one behind those that are earlier; none of them stands before `from`. */
const putOff = (turns: Array<Turn>, turn: Turn, from: number): void => {
  const next = turns.findIndex(({ at }, place) => place >= from && at > turn.at)
  turns.splice(next < 0 ? turns.length : next, 0, turn)
}

/** @param perSecond the pace of the session and the send together; null for none */
export const endOf = (waiting: ReadonlyArray<Waiting>, perSecond: number | null, now: Instant): End => {
  const turns = waiting.map((each) => turnOf(each, now)).sort((a, b) => a.at - b.at)
  let end: End = open
  // Since when they go one after the other, and how many have gone since.
  let [since, gone] = [now, 0]
  const timeOf = (count: number): Instant =>
    perSecond === null ? since : Time.after(since, (count * Time.second) / perSecond)
  // Those who are put off come again, behind the others.
  for (const [place, { at: wanted, limiter, rules }] of turns.entries()) {
    if (place > mostTurns) return open
    const at = Time.max(wanted, timeOf(gone))
    const found = rules === null ? { _tag: "Now" as const } : When.turn(rules, at)
    if (found._tag === "Later") putOff(turns, { at: found.at, rules, limiter: "hours" }, place + 1)
    if (found._tag !== "Now") continue
    const isKept = at > wanted
    if (!isKept) [since, gone] = [at, 0]
    gone += 1
    const byPace = perSecond === null ? null : "pace"
    const limitedBy = isKept ? byPace : (limiter ?? byPace)
    end = limitedBy === null ? open : { endsAt: timeOf(gone), limitedBy }
  }
  return end.endsAt !== null && end.endsAt > Time.latest ? open : end
}
