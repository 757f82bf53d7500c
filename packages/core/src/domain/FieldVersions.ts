/**
 * The order of what a platform tells (contract.md §13): of each field of a template or a session what was said last stands, by the
 * platform's own time, since hooks come late, twice and out of order for days.
 */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import * as Occurrence from "./Occurrence.ts"

/** The last word on one field. */
export interface FieldVersion {
  /** A whole second: platforms tell no more. */
  readonly at: Instant
  /** All that was said in that second, by which a repetition is known. */
  readonly words: ReadonlyArray<string>
}

/** By the names of the fields. */
export type FieldVersions = Readonly<Record<string, FieldVersion>>

export const nothing: FieldVersions = {}

/** So many words of one second are remembered. */
const maximumWords = 10

/** When something was said: at the platform's time, never later than it came. Without one it was said when it came. */
const saidAt = (at: Instant | null, now: Instant): Instant => {
  const said = Occurrence.since(at, now)
  return Time.before(said, said % Time.second)
}

const noted = (known: FieldVersion | undefined, word: string, at: Instant): FieldVersion => {
  const words = known?.at === at ? known.words.filter((each) => each !== word) : []
  return { at, words: [...words, word].slice(-maximumWords) }
}

/** Takes up, field by field, the words that were said at one time. */
export interface Merge {
  /** True where the word for a field counts, which is noted then; false where it is older, repeated, or none. */
  readonly isNews: (field: string, word: string | undefined) => boolean
  readonly told: () => FieldVersions
  /** True when a part was older than what was told before. */
  readonly isOlder: () => boolean
}

/**
 * @param at when the platform said it; null where it did not tell
 * @param mayRepeat true of answers, each of which counts; a hook comes several times
 */
export const merge = (before: FieldVersions, at: Instant | null, now: Instant, mayRepeat: boolean): Merge => {
  const said = saidAt(at, now)
  const isRepeated = (known: FieldVersion, word: string): boolean =>
    said === known.at && at !== null && !mayRepeat && known.words.includes(word)
  let told = before
  let isOlder = false
  return {
    isNews: (field, word) => {
      if (word === undefined) return false
      const known = told[field]
      // A word with a time ahead of our clock keeps no later word out.
      if (known !== undefined && !Time.isAhead(known.at, now)) {
        if (said < known.at) isOlder = true
        if (said < known.at || isRepeated(known, word)) return false
      }
      told = { ...told, [field]: noted(known, word, said) }
      return true
    },
    told: () => told,
    isOlder: () => isOlder
  }
}
