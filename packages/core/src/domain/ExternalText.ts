/**
 * Text from platforms, gateways and webhook receivers, made well-formed and cut where it enters (contract.md §10):
 * PostgreSQL refuses a NUL and a lone surrogate in JSON, its indexes refuse long keys, and a line break in a message
 * would forge a line of the log. Lengths are in code points. A text that needs no change is returned unchanged.
 */
import { createHash } from "node:crypto"
import type { Failure } from "./job/Recipient.ts"
import * as Text from "./Text.ts"

/** The maximum length of each kind, in code points. */
export const longest = {
  /** A platform's name for a message, a person or a template. */
  id: 512,
  code: 64,
  /** A sentence for people: of a failure, a session's reason, a log line. */
  message: 1024,
  /** A person's text; no platform lets anyone send more. */
  words: 4096
} as const

const replacement = "\ufffd"

/**
 * Control characters and lone surrogates, and invisible characters: overrides of the text's direction and characters
 * without width, which make one text look like another. Marks that some scripts need are allowed.
 */
const unfit = /[\p{Cc}\p{Cs}\u200b\u202a-\u202e\u2066-\u2069\ufeff]/u
const everyUnfit = new RegExp(unfit, "gu")

/** Line breaks and tabs; the last two are Unicode's own. */
const everyBreak = /[\t-\r\x85\u2028\u2029]+/g
const unfitInLine = new RegExp(`${unfit.source}|[\\p{Zl}\\p{Zp}]`, "u")
const everyUnfitInLine = new RegExp(unfitInLine, "gu")

const cut = (text: string, most: number): string =>
  Text.isLonger(text, most) ? `${Text.head(text, most - 1)}…` : text

/** A hash of the UTF-16 code units, so that lone surrogates differ; 43 characters. */
const digest = (text: string): string =>
  createHash("sha256").update(Buffer.from(text, "utf16le")).digest("base64url")

/**
 * An identifier. Equal texts give equal ids wherever they come from, so that a receipt finds its message. An id that
 * had to be changed ends with a hash of the original, so that two different ids stay different.
 */
export const id = (text: string): string => {
  if (!Text.isLonger(text, longest.id) && !unfit.test(text)) return text
  const hash = digest(text)
  return `${Text.head(text, longest.id - 1 - hash.length).replace(everyUnfit, replacement)}…${hash}`
}

export const idOrNull = (text: string | null): string | null => (typeof text === "string" ? id(text) : text)

/** A code, of a platform's or a sender's own. */
export const code = (text: string): string => cut(text, longest.code).replace(everyUnfitInLine, replacement)

/** One line: breaks become a space, and every other control character, the escape of a terminal's among them, is replaced. */
export const message = (text: string): string => {
  const short = cut(text, longest.message)
  return unfitInLine.test(short) ? short.replace(everyBreak, " ").replace(everyUnfit, replacement) : short
}

/** Text that keeps its lines: NUL and lone surrogates are replaced. */
export const lines = (text: string, most: number): string =>
  cut(text, most).toWellFormed().replaceAll("\0", replacement)

/** A new object with only the four members, so that nothing else that a sender put in is stored. */
export const failure = ({ code: ours, message: said, permanent, provider_code }: Failure): Failure => ({
  code: code(ours),
  provider_code: provider_code === null ? null : code(provider_code),
  message: message(said),
  permanent
})

/** JSON as platforms write it, in bytes of its text. */
export const longestJson = 16 * 1024

const unfitInJson = /\\u(?:0000|d[89a-f])/

const fitJson = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed().replaceAll("\0", replacement)
  if (Array.isArray(value)) return value.map(fitJson)
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [fitJson(name), fitJson(member)]))
    : value
}

/** An object as a platform wrote it, well-formed; null for anything else, and undefined where it is too long. */
export const jsonObject = (value: unknown, mostBytes = longestJson): object | null | undefined => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > mostBytes) return undefined
  if (!unfitInJson.test(text)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [String(fitJson(name)), fitJson(member)])
  )
}

/** The beginning of a text, well-formed, of at most so many bytes. */
export const head = (text: string, mostBytes: number): { readonly text: string; readonly isCut: boolean } => {
  const bytes = Buffer.from(text.slice(0, mostBytes))
  const isCut = text.length > mostBytes || bytes.length > mostBytes
  // A character that is cut in two is left out.
  const whole = new TextDecoder().decode(bytes.subarray(0, mostBytes), { stream: true })
  return { text: whole.replaceAll("\0", replacement), isCut }
}
