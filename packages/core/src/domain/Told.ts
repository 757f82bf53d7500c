/**
 * The order of what a platform tells (decisions.md §13): of each field of a template or a session what was said last stands, by the
 * platform's own time, since hooks come late, twice and out of order for days.
 */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import * as Occurrence from "./Occurrence.ts"

/** What was said last of one field. */
export interface Said {
  /** A whole second: platforms tell no more. */
  readonly at: Instant
  /** All that was said in that second, by which a repetition is known. */
  readonly words: ReadonlyArray<string>
}

/** By the names of the fields. */
export type Told = Readonly<Record<string, Said>>

export const nothing: Told = {}

/** `repeated` and `older` change nothing. */
export type Order = "newer" | "repeated" | "older"

/** So many words of one second are remembered. */
const maximumWords = 10

/** When something was said: at the platform's time, never later than it came. Without one it was said when it came. */
const saidAt = (at: Instant | null, now: Instant): Instant => {
  const said = Occurrence.since(at, now)
  return said - (said % Time.second)
}

/** Where news of a field stand beside what was told of it. */
export const order = (told: Told, field: string, word: string, at: Instant | null, now: Instant): Order => {
  const known = told[field]
  const said = saidAt(at, now)
  if (known === undefined || said > known.at) return "newer"
  if (said < known.at) return "older"
  return at !== null && known.words.includes(word) ? "repeated" : "newer"
}

/** Remembers news that are not older. */
export const note = (told: Told, field: string, word: string, at: Instant | null, now: Instant): Told => {
  const known = told[field]
  const said = saidAt(at, now)
  const words = known?.at === said ? known.words : []
  return words.includes(word)
    ? told
    : { ...told, [field]: { at: said, words: [...words, word].slice(-maximumWords) } }
}
