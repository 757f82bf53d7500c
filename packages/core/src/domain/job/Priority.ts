/**
 * Decides which messages go first within a session (contract.md §13 "What goes first"). A session has a queue of each priority.
 * A higher queue goes first at each claim, and each lower queue that waits keeps a tenth of the session's pace, so nothing
 * starves.
 */
import * as Schema from "effect/Schema"
import type { Category } from "../template/Template.ts"

export const Priority = Schema.Literal("high", "normal", "low")
export type Priority = typeof Priority.Type

/** The first goes first. */
export const all: ReadonlyArray<Priority> = Priority.literals

/** A direct message answers somebody. */
export const ofDirect: Priority = "high"

const ofCategory: Readonly<Record<Category, Priority>> = {
  authentication: "high",
  utility: "normal",
  marketing: "low"
}

/** Of a send: what it asks for, or what follows from its template's category. */
export const priorityOf = (asked: Priority | undefined, category: Category): Priority =>
  asked ?? ofCategory[category]

/** A lower queue keeps one message of so many. */
const share = 10

/** The messages that each lower queue is owed, counted in parts, of which {@link share} are one message. */
export type Owed = ReadonlyMap<Priority, number>

export const nothingOwed: Owed = new Map()

/** The queues that wait, in their order, each with how much of a claim is kept for it whatever waits before it. */
export const kept = (
  waiting: ReadonlyArray<Priority>,
  owed: Owed,
  limit: number
): ReadonlyArray<{ readonly priority: Priority; readonly least: number }> => {
  let left = limit
  return waiting.map((priority, at) => {
    const due = at === 0 ? 0 : Math.floor(((owed.get(priority) ?? 0) + limit) / share)
    const least = Math.min(left, due)
    left -= least
    return { priority, least }
  })
}

/** The debt to the lower queues after a claim, of which each queue that waited got so many. */
export const owedAfter = (
  waiting: ReadonlyArray<Priority>,
  owed: Owed,
  got: ReadonlyMap<Priority, number>
): Owed => {
  let sum = 0
  for (const count of got.values()) sum += count
  return new Map(
    waiting
      .slice(1)
      .map((priority) => [
        priority,
        Math.max(0, (owed.get(priority) ?? 0) + sum - share * (got.get(priority) ?? 0))
      ])
  )
}
