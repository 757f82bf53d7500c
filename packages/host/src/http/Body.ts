/** Request bodies: JSON in UTF-8, at most 1 MiB and 32 levels deep, each member once, of a bounded number of members and items. */
import { Buffer, isAscii, isUtf8, transcode } from "node:buffer"
import * as Fault from "@sendwright/core/domain/Fault"
import * as Either from "effect/Either"

export const maximumBytes = 1024 * 1024
/** What a platform may post at once: up to 1,000 changes. */
export const maximumHookBytes = 4 * 1024 * 1024
const maximumDepth = 32

/**
 * From this length on a text is looked at before it is parsed: what is nested deep, or has hundreds of thousands of
 * members, would take the parser twenty times as long as the largest body that any operation takes.
 */
const longText = 32 * 1024
/** No operation takes more items (decisions.md §8), members of one object, or objects and arrays in all. */
const maximumItems = 10_000
const maximumMembers = 100
const maximumContainers = 100_000
/** A longer name is in no pointer. */
const longestName = 255

const quote = 0x22
const backslash = 0x5c
const space = 0x20

/** The place behind a string whose opening quote is at `start`. */
const endOfString = (text: string, start: number): number => {
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

/** An object or array that is not closed yet. */
class Container {
  readonly isArray: boolean
  /** Commas by now. */
  count = 0
  /** Where its last string began and ended: behind a colon, that is the member's name. */
  start = 0
  end = 0
  constructor(isArray: boolean) {
    this.isArray = isArray
  }
}

const nameIn = (text: string, { start, end }: Container): string =>
  Either.getOrElse(
    Either.try(() => String(JSON.parse(text.slice(start, end + 1)))),
    () => ""
  )

/** Where the innermost container stands; the whole body where its name would be too long. */
const pathTo = (text: string, open: ReadonlyArray<Container>): ReadonlyArray<string | number> => {
  const around = open.slice(0, -1)
  return around.some(({ end, isArray, start }) => !isArray && end - start > longestName)
    ? []
    : around.map((each) => (each.isArray ? each.count : nameIn(text, each)))
}

/** The fault of a JSON text that is too deep or too much to be parsed; `undefined` when it has none. */
const excess = (text: string): Fault.Fault | undefined => {
  const open: Array<Container> = []
  let innermost = new Container(true)
  let containers = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at)
        // A string behind a colon is a value: the name before it is kept until the next comma.
        if (innermost.end <= innermost.start) {
          innermost.start = at
          innermost.end = end
        }
        at = end
        break
      }
      case 0x7b:
      case 0x5b:
        containers += 1
        if (containers > maximumContainers) return tooMany([], "objects and arrays", maximumContainers)
        innermost = new Container(text.charCodeAt(at) === 0x5b)
        if (open.push(innermost) > maximumDepth) return tooDeep
        break
      case 0x7d:
      case 0x5d:
        open.pop()
        innermost = open.at(-1) ?? innermost
        break
      case 0x2c: {
        innermost.count += 1
        innermost.end = 0
        const { count, isArray } = innermost
        if (count >= (isArray ? maximumItems : maximumMembers)) {
          return isArray
            ? tooMany(pathTo(text, open), "items", maximumItems)
            : tooMany(pathTo(text, open), "members", maximumMembers)
        }
      }
    }
  }
  return undefined
}

const tooMany = (path: ReadonlyArray<string | number>, noun: string, most: number): Fault.Fault => {
  const name = path.at(-1)
  const subject = name === undefined ? "The body" : typeof name === "number" ? `Item ${name}` : `\`${name}\``
  return Fault.make(
    path,
    "out_of_range",
    `${subject} must have at most ${most.toLocaleString("en")} ${noun}.`
  )
}

const tooDeep = Fault.make([], "invalid_json", `The body must be nested at most ${maximumDepth} levels deep.`)

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
  // What was parsed inherits nothing that is listed.
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

/**
 * The members that an object of a JSON text has more than once. The parser keeps the last of them, so that the others
 * would be ignored (decisions.md §10).
 */
const repeats = (text: string): ReadonlyArray<Fault.Fault> => {
  const faults = new Fault.Faults()
  const open: Array<Container> = []
  const given: Array<Map<string, number>> = []
  let innermost = new Container(true)
  for (let at = 0; at < text.length && !faults.isFull; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at)
        if (innermost.end <= innermost.start) {
          innermost.start = at
          innermost.end = end
        }
        at = end
        break
      }
      case 0x3a: {
        const name = nameIn(text, innermost)
        const names = given.at(-1)
        const times = (names?.get(name) ?? 0) + 1
        names?.set(name, times)
        if (times === 2) faults.addAll([givenTwice(pathTo(text, open), name)])
        break
      }
      case 0x7b:
      case 0x5b:
        innermost = new Container(text.charCodeAt(at) === 0x5b)
        open.push(innermost)
        given.push(new Map())
        break
      case 0x7d:
      case 0x5d:
        open.pop()
        given.pop()
        innermost = open.at(-1) ?? innermost
        break
      case 0x2c:
        innermost.count += 1
        innermost.end = 0
    }
  }
  return faults.list
}

const givenTwice = (path: ReadonlyArray<string | number>, name: string): Fault.Fault =>
  name.length > longestName
    ? Fault.make(path, "invalid_value", "A member must be given once; one is given twice.")
    : Fault.make([...path, name], "invalid_value", `\`${name}\` must be given once; it is given twice.`)

const invalid = (message: string) => Either.left([Fault.make([], "invalid_json", message)])

/** A `TextDecoder` takes many times as long over what is not ASCII. */
const textOf = (bytes: Uint8Array): string =>
  isAscii(bytes)
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")
    : transcode(bytes, "utf8", "utf16le").toString("utf16le")

/** Parses a body; the fault says what is wrong, never what was sent. */
export const parse = (bytes: Uint8Array): Either.Either<unknown, ReadonlyArray<Fault.Fault>> => {
  if (!isUtf8(bytes)) return invalid("The body must be UTF-8.")
  const text = textOf(bytes)
  if (text === "") return invalid("The body must be a JSON object; it is empty.")
  const isLong = text.length >= longText
  const found = isLong ? excess(text) : undefined
  if (found !== undefined) return Either.left([found])
  const value = Either.try((): unknown => JSON.parse(text))
  if (Either.isLeft(value)) return invalid("The body must be a JSON text.")
  if (!isNested(value.right)) return Either.right(value.right)
  const members = membersOf(value.right, maximumDepth)
  if (members === Number.POSITIVE_INFINITY) return Either.left([tooDeep])
  if (members === membersGiven(text)) return Either.right(value.right)
  const faults = repeats(text)
  return faults.length > 0 ? Either.left(faults) : Either.right(value.right)
}

/** Whether a Content-Type is JSON; another type that is written in JSON is another type. */
export const isJson = (contentType: string | undefined): boolean =>
  /^application\/json\s*(?:;|$)/i.test(contentType ?? "")
