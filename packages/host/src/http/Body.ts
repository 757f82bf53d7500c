/** Request bodies: JSON in UTF-8, at most 1 MiB and 32 levels deep. */
import * as Fault from "@sendwright/core/domain/Fault"
import * as Either from "effect/Either"

export const maximumBytes = 1024 * 1024
/** What a platform may post at once: up to 1,000 changes. */
export const maximumHookBytes = 4 * 1024 * 1024
const maximumDepth = 32

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** From this length on a text is looked at before it is parsed: over deep brackets the parser would take its time. */
const longText = 32 * 1024

/** How deep the brackets of a JSON text are nested, strings left out. */
const depth = (text: string): number => {
  let level = 0
  let deepest = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (inString) {
      if (character === 0x5c) at += 1
      else if (character === 0x22) inString = false
    } else if (character === 0x22) {
      inString = true
    } else if (character === 0x7b || character === 0x5b) {
      level += 1
      if (level > deepest) deepest = level
    } else if (character === 0x7d || character === 0x5d) {
      level -= 1
    }
  }
  return deepest
}

const isNested = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Whether what was parsed is nested at most so deep: many times faster than to look at its text. */
const isWithin = (value: Readonly<Record<string, unknown>>, levels: number): boolean => {
  if (levels === 0) return false
  if (Array.isArray(value)) {
    for (const member of value) if (isNested(member) && !isWithin(member, levels - 1)) return false
    return true
  }
  // What was parsed inherits nothing that is listed.
  for (const name in value) {
    const member = value[name]
    if (isNested(member) && !isWithin(member, levels - 1)) return false
  }
  return true
}

const invalid = (message: string) => Either.left([Fault.make([], "invalid_json", message)])

const tooDeep = invalid(`The body must be nested at most ${maximumDepth} levels deep.`)

/** Parses a body; the fault says what is wrong, never what was sent. */
export const parse = (bytes: Uint8Array): Either.Either<unknown, ReadonlyArray<Fault.Fault>> => {
  const text = Either.try(() => decoder.decode(bytes))
  if (Either.isLeft(text)) return invalid("The body must be UTF-8.")
  if (text.right === "") return invalid("The body must be a JSON object; it is empty.")
  const isLong = text.right.length >= longText
  if (isLong && depth(text.right) > maximumDepth) return tooDeep
  const value = Either.try((): unknown => JSON.parse(text.right))
  if (Either.isLeft(value)) return invalid("The body must be a JSON text.")
  if (!isLong && isNested(value.right) && !isWithin(value.right, maximumDepth)) return tooDeep
  return Either.right(value.right)
}

/** Whether a Content-Type is JSON; another type that is written in JSON is another type. */
export const isJson = (contentType: string | undefined): boolean =>
  /^application\/json\s*(?:;|$)/i.test(contentType ?? "")
