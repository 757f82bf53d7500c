/** Request bodies: JSON in UTF-8, at most 1 MiB, 32 levels deep and of so many members and items, each member once. */
import { Buffer, isAscii, isUtf8, transcode } from "node:buffer"
import { Fault } from "@sendwright/core"
import { Endpoint, Route } from "@sendwright/core/contract"
import * as Either from "effect/Either"
import * as JsonText from "./JsonText.ts"

export const maximumBytes = 1024 * 1024
/**
 * The maximum where an operation has no body: an empty object and white space, so that such bodies cannot fill the
 * memory.
 */
export const maximumUnaskedBytes = 1024
/** Of a sign-in, which comes from anyone. */
export const maximumSignInBytes = 4 * 1024
/** The most that a platform may post at once: up to 1,000 changes. */
export const maximumHookBytes = 4 * 1024 * 1024

/** From this length on a text is checked before it is parsed; parsing a shorter one takes little time. */
export const longText = 32 * 1024

const quote = 0x22
const space = 0x20

const isNested = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** How many members its objects have; infinitely many when it is nested deeper than so many levels. */
const membersOf = (value: Readonly<Record<string, unknown>>, levels: number): number => {
  if (levels === 0) return Number.POSITIVE_INFINITY
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) if (isNested(item)) members += membersOf(item, levels - 1)
    return members
  }
  // A parsed value inherits nothing that is listed.
  for (const name in value) {
    const member = value[name]
    members += isNested(member) ? 1 + membersOf(member, levels - 1) : 1
  }
  return members
}

/** At least as many as a text gives, since a name ends in a quote: a colon within a string may be one too many. */
const membersGiven = (text: string): number => {
  let members = 0
  for (let at = text.indexOf(":"); at !== -1; at = text.indexOf(":", at + 1)) {
    const before = text.charCodeAt(at - 1)
    if (before === quote || before <= space) members += 1
  }
  return members
}

/** RFC 8259 §8.1 forbids writers to begin with it, and lets readers refuse it: text that is cut or joined keeps its meaning. */
const mark = "\ufeff"

const invalid = (message: string) => Either.left([Fault.make([], "invalid_json", message)])

/** A `TextDecoder` takes many times as long over what is not ASCII. */
const textOf = (bytes: Uint8Array): string =>
  isAscii(bytes)
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")
    : transcode(bytes, "utf8", "utf16le").toString("utf16le")

/** Parses a body, of so many members and items when it is long; the fault says what is wrong, never what was sent. */
export const parse = (
  bytes: Uint8Array,
  maximumValues = Endpoint.usualValues
): Either.Either<unknown, ReadonlyArray<Fault.Fault>> => {
  if (!isUtf8(bytes)) return invalid("The body must be UTF-8.")
  const text = textOf(bytes)
  if (text === "") return Route.noBody
  if (text.startsWith(mark)) return invalid("The body must be JSON without a byte order mark before it.")
  const isLong = text.length >= longText
  const faults = isLong ? JsonText.faults(text, maximumValues) : []
  if (faults.length > 0) return Either.left(faults)
  const value = Either.try((): unknown => JSON.parse(text))
  if (Either.isLeft(value)) return invalid("The body must be a JSON text.")
  if (isLong || !isNested(value.right)) return Either.right(value.right)
  const members = membersOf(value.right, JsonText.maximumDepth)
  if (members === Number.POSITIVE_INFINITY) return Either.left(JsonText.tooDeep)
  if (members === membersGiven(text)) return Either.right(value.right)
  const twins = JsonText.faults(text, maximumValues)
  return twins.length > 0 ? Either.left(twins) : Either.right(value.right)
}

/** True when a Content-Type is JSON; another type that is written in JSON is another type. */
export const isJson = (contentType: string | undefined): boolean =>
  /^application\/json\s*(?:;|$)/i.test(contentType ?? "")

const charsets = /;\s*charset\s*=\s*("[^"]*"|[^\s;]*)/gi

/** JSON is UTF-8 (RFC 8259 §8.1): whether a Content-Type names another charset, in which it would be misread. */
export const isOtherCharset = (contentType: string | undefined): boolean =>
  contentType !== undefined &&
  Array.from(contentType.matchAll(charsets), ([, charset = ""]) => charset.replaceAll('"', "")).some(
    (charset) => charset.toLowerCase() !== "utf-8"
  )
