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

/** Characters that are looked at in one piece. */
const atOnce = 16 * 1024

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

/** A walk over a text calls these, in its order. */
export interface Reader {
  /** Ends the walk. A field, since it is asked for at each character. */
  isOver: boolean
  /** A name or a value between the quotes at `start` and `end`, the latter at the text's end where it is missing. */
  string(start: number, end: number): void
  colon(): void
  open(isArray: boolean, at: number): void
  comma(): void
  close(): void
}

/** Walks piece by piece, since some megabytes need longer than one turn of the event loop. */
export function* walk(text: string, reader: Reader): Generator<void, void> {
  let pause = atOnce
  for (let at = 0; at < text.length && !reader.isOver; at++) {
    if (at >= pause) {
      yield
      pause = at + atOnce
    }
    const code = text.charCodeAt(at)
    switch (code) {
      case quote: {
        const start = at
        const next = text.indexOf('"', at + 1)
        at = next === -1 ? text.length : next
        if (text.charCodeAt(at - 1) === backslash) {
          // Half a million escaped quotes would be as many searches.
          at = quoteBefore(text, start + 1, pause)
          while (at < text.length && text.charCodeAt(at) !== quote) {
            yield
            pause = at + atOnce
            at = quoteBefore(text, at, pause)
          }
        }
        reader.string(start, Math.min(at, text.length))
        break
      }
      case colon:
        reader.colon()
        break
      case 0x7b:
      case 0x5b:
        reader.open(code === 0x5b, at)
        break
      case comma:
        reader.comma()
        break
      case 0x7d:
      case 0x5d:
        reader.close()
    }
  }
}

/** The most that a text may hold: levels of nesting, members and items in all, and names of members that differ. */
export interface Bounds {
  readonly levels: number
  readonly values: number
  readonly names: number
}

/** The part of a name that is hashed. A text has no room for many longer names. */
const longestName = 1024

/** Checks piece by piece whether a text is within bounds. */
export function* isWithin(text: string, bounds: Bounds): Generator<void, boolean> {
  let levels = 0
  let values = 0
  /** Where the last string began and ended: before a colon, that is a name. */
  let start = 0
  let end = 0
  const different = new Set<number>()
  const reader: Reader = {
    isOver: false,
    string: (from, to) => {
      start = from
      end = to
    },
    colon: () => {
      different.add(hashOfName(text, start, Math.min(end, start + longestName)))
      // A second colon would not be JSON, and a long name must not be hashed twice.
      end = start
      reader.isOver = different.size > bounds.names
    },
    // A member or an item comes behind an opening bracket or a comma.
    open: () => {
      levels += 1
      values += 1
      reader.isOver = levels > bounds.levels || values > bounds.values
    },
    comma: () => {
      values += 1
      reader.isOver = values > bounds.values
    },
    close: () => {
      levels -= 1
    }
  }
  yield* walk(text, reader)
  return !reader.isOver
}
