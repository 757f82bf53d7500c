/**
 * The master keys of a store's secrets (contract.md §10, "Keys and secrets"). A store remembers every key that it
 * was used with, and each process that works on it needs all of them. The key that was added last seals new secrets.
 * A key that no secret needs any more is retired and cannot come back.
 */
import type { Instant } from "./Instant.ts"

/** The length of a key's id, in characters of base64url. An id does not reveal its key. */
export const idLength = 8

export interface Remembered {
  readonly id: string
  readonly addedAt: Instant
  /** null = processes still need it. */
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
 * Decides whether a process with these keys may work on the store. A first key that the store does not know is added.
 * A new store remembers the first given key. A store from a version that remembered no keys must be given the keys of
 * its sealed secrets, and remembers all given ones, since older hashes do not name their keys.
 *
 * @param sealedBy the keys that sealed the secrets of a store that remembers none
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
