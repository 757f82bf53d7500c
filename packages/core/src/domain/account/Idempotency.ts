/**
 * Idempotency (contract.md §3): one key of one API key stands for one request. The fingerprint is of the
 * decoded body in canonical form, so key order and white space do not matter and any value does.
 */
import { hash } from "node:crypto"

const bare = /^[\x21-\x7e]{1,128}$/
const quoted = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

/**
 * Reads the header: 1 to 128 visible ASCII characters, bare or as an RFC 8941 string. Both spellings of one key
 * are the same key. `undefined` when it is neither; a repeated header, which arrives joined by ", ", is neither, and so is
 * what a caller without types gives that is no text.
 */
export const parseKey = (header: unknown): string | undefined => {
  if (typeof header !== "string") return undefined
  const inner = quoted.exec(header)?.[1]
  const key = inner === undefined ? header : inner.replaceAll(/\\(["\\])/g, "$1")
  return bare.test(key) ? key : undefined
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** True when the members of this object and of all objects in it are sorted. */
const isInOrder = (value: unknown): boolean => {
  if (!isObject(value)) return true
  if (Array.isArray(value)) return value.every(isInOrder)
  let last: string | undefined
  // A parsed and decoded value inherits nothing that is listed.
  for (const name in value) {
    if ((last !== undefined && name < last) || !isInOrder(value[name])) return false
    last = name
  }
  return true
}

/** The value with the members of each object sorted. Most requests are sorted already and are not copied. */
const inOrder = (value: unknown): unknown => {
  if (!isObject(value)) return value
  if (Array.isArray(value)) return value.every(isInOrder) ? value : value.map(inOrder)
  // Without a prototype, `__proto__` is a member like any other; with one, writing JSON takes half the time.
  const members: Record<string, unknown> = Object.hasOwn(value, "__proto__") ? Object.create(null) : {}
  for (const name of Object.keys(value).sort()) members[name] = inOrder(value[name])
  return members
}

/** JSON with the members of each object in one order, and without `undefined` ones: equal text for equal values. */
export const canonicalize = (value: unknown): string => JSON.stringify(inOrder(value)) ?? "null"

/** Lowercase hex SHA-256; `operation` keeps those with like bodies apart. */
export const fingerprint = (operation: "template" | "direct" | "retry", body: unknown): string =>
  hash("sha256", `${operation}\n${canonicalize(body)}`)

/** Decides what an earlier request under the same key means for this one. */
export const decide = (
  earlier: { readonly fingerprint: string },
  fingerprint: string
): "Replayed" | "KeyConflict" => (earlier.fingerprint === fingerprint ? "Replayed" : "KeyConflict")
