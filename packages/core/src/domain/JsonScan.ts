/** Looks at a JSON text without parsing it: the parser takes a second for a million empty objects. */
import { randomInt } from "node:crypto"

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const unicode = 0x75

/** The place behind a string whose opening quote is at `start`. */
export const endOfString = (text: string, start: number): number => {
  const next = text.indexOf('"', start + 1)
  if (next === -1) return text.length
  if (text.charCodeAt(next - 1) !== backslash) return next
  // Half a million escaped quotes would be as many searches.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at += 1
  }
  return text.length
}

/** A random factor of each process, so that nobody can choose short names with equal hashes. */
const factor = randomInt(2 ** 30) * 2 + 1

/** The value of a hexadecimal digit. */
const digitAt = (text: string, at: number): number => {
  const code = text.charCodeAt(at)
  return (code & 0xf) + (code > 0x39 ? 9 : 0)
}

const letters: ReadonlyMap<number, number> = new Map(
  Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }).map(([letter, meant]) => [
    letter.charCodeAt(0),
    meant.charCodeAt(0)
  ])
)

/**
 * A hash of the name between the quotes at `start` and `end`, after its escapes are decoded. Long names can be chosen
 * with equal hashes in spite of the random factor.
 */
export const hashOfName = (text: string, start: number, end: number): number => {
  // Not 0, since leading NULs would not change a 0.
  let hash = 1
  for (let at = start + 1; at < end; at++) {
    let code = text.charCodeAt(at)
    if (code === backslash) {
      at += 1
      code = text.charCodeAt(at)
      if (code === unicode) {
        code = 0
        for (let digit = 1; digit <= 4; digit++) code = code * 16 + digitAt(text, at + digit)
        at += 4
      } else code = letters.get(code) ?? code
    }
    hash = (Math.imul(hash, factor) + code) | 0
  }
  return hash
}

/** The most that a text may hold: levels of nesting, members and items in all, and names of members that differ. */
export interface Bounds {
  readonly levels: number
  readonly values: number
  readonly names: number
}

/** Characters that are looked at in one piece. */
const atOnce = 16 * 1024

/** The part of a name that is hashed. A text has no room for many longer names. */
const longestName = 1024

/** Counts levels, members and items by the signs that open, part and close them. */
class Tally {
  private open = 0
  private found = 0
  private readonly bounds: Bounds

  constructor(bounds: Bounds) {
    this.bounds = bounds
  }

  /** True while the counts are within bounds. A member or an item comes behind an opening bracket or a comma. */
  admits(code: number): boolean {
    switch (code) {
      case 0x7b:
      case 0x5b:
        this.open += 1
        this.found += 1
        return this.open <= this.bounds.levels && this.found <= this.bounds.values
      case comma:
        this.found += 1
        return this.found <= this.bounds.values
      case 0x7d:
      case 0x5d:
        this.open -= 1
    }
    return true
  }
}

/**
 * The index of the first unescaped quote from `from` on; if there is none before `until`, the index at which to
 * continue.
 */
const quoteBefore = (text: string, from: number, until: number): number => {
  const last = Math.min(until, text.length)
  let at = from
  while (at < last) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    at += code === backslash ? 2 : 1
  }
  return at
}

/**
 * Checks piece by piece whether a text is within bounds, since some megabytes need longer than one turn of the event
 * loop.
 */
export function* isWithin(text: string, bounds: Bounds): Generator<void, boolean> {
  const tally = new Tally(bounds)
  /** Where the last string began and ended: before a colon, that is a name. */
  let start = 0
  let end = 0
  let pause = atOnce
  const different = new Set<number>()
  for (let at = 0; at < text.length; at++) {
    if (at >= pause) {
      yield
      pause = at + atOnce
    }
    const code = text.charCodeAt(at)
    if (code === quote) {
      start = at
      end = text.indexOf('"', at + 1)
      if (end === -1) return true
      if (text.charCodeAt(end - 1) === backslash) {
        // Half a million escaped quotes would be as many searches.
        end = quoteBefore(text, at + 1, pause)
        while (end < text.length && text.charCodeAt(end) !== quote) {
          yield
          pause = end + atOnce
          end = quoteBefore(text, end, pause)
        }
      }
      at = end
    } else if (code === colon) {
      different.add(hashOfName(text, start, Math.min(end, start + longestName)))
      if (different.size > bounds.names) return false
      // A second colon would not be JSON, and a long name must not be hashed twice.
      end = start
    } else if (!tally.admits(code)) return false
  }
  return true
}
