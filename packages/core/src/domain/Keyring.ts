/**
 * The master keys that a store's secrets are under (decisions.md §10, "Keys and secrets"). A store remembers the keys it
 * was begun and gone on with, and every process that works on it has to be given all of them. The one that was added
 * last seals what is new; one that nothing is under any more is retired and cannot come back.
 */
import type { Instant } from "./Instant.ts"

/** A key is named by so many characters of base64url; they tell nothing of the key. */
export const idLength = 8

export interface Remembered {
  readonly id: string
  readonly addedAt: Instant
  /** null = still asked for. */
  readonly retiredAt: Instant | null
}

const version = "v1"

/** The text with the key that it is under before it. */
export const mark = (key: string, text: string): string => `${version}.${key}.${text}`

/** The key that a text is under; null where it names none. */
export const read = (marked: string): { readonly key: string | null; readonly text: string } => {
  const [before, key, text] = marked.split(".")
  return before === version && key !== undefined && text !== undefined
    ? { key, text }
    : { key: null, text: marked }
}

export const isUnder = (key: string, marked: string): boolean => marked.startsWith(mark(key, ""))

/** The keys that a process has to be given, the oldest first. */
export const asked = (remembered: ReadonlyArray<Remembered>): ReadonlyArray<string> =>
  remembered.filter(({ retiredAt }) => retiredAt === null).map(({ id }) => id)

/** The key that seals what is new; undefined while none is remembered. */
export const current = (remembered: ReadonlyArray<Remembered>): string | undefined => asked(remembered).at(-1)

export type Joining =
  /** The store is to remember these, too, in this order. */
  | { readonly _tag: "Joined"; readonly add: ReadonlyArray<string> }
  /** Secrets are under keys that were not given. */
  | { readonly _tag: "Missing"; readonly keys: ReadonlyArray<string> }
  /** The first given key was retired. */
  | { readonly _tag: "Retired"; readonly key: string }

/**
 * May a process with these keys work on the store? A first key that the store does not know yet is added. A store that
 * remembers nothing is new, or was written before stores remembered: then what it has sealed tells its keys, and all
 * given ones are remembered, since older hashes do not tell theirs.
 *
 * @param sealedBy keys that sealed what a store that remembers nothing has
 * @param given the first one first
 */
export const join = (
  remembered: ReadonlyArray<Remembered>,
  sealedBy: ReadonlyArray<string>,
  given: ReadonlyArray<string>
): Joining => {
  const [first] = given
  const needed = remembered.length === 0 ? sealedBy : asked(remembered)
  const keys = needed.filter((key) => !given.includes(key))
  if (keys.length > 0) return { _tag: "Missing", keys }
  if (remembered.length === 0) {
    return { _tag: "Joined", add: sealedBy.length === 0 ? given.slice(0, 1) : given.toReversed() }
  }
  const known = remembered.find(({ id }) => id === first)
  if (first === undefined || (known !== undefined && known.retiredAt === null)) {
    return { _tag: "Joined", add: [] }
  }
  return known === undefined ? { _tag: "Joined", add: [first] } : { _tag: "Retired", key: first }
}
