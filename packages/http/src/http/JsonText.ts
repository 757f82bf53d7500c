/**
 * Checks a JSON text before it is parsed: its depth, its size, and members that occur twice. For half a million
 * members, or for names that all differ, the parser would need twenty times as long as for the largest valid body,
 * and of a repeated member it keeps the last, so that the others would be ignored (contract.md §10). Whether the
 * text is JSON at all, the parser decides.
 */
import { Fault } from "@sendwright/core"
import { JsonScan } from "@sendwright/core/adapter"
import * as Either from "effect/Either"

export const maximumDepth = 32
/** No operation takes more items (contract.md §8) or members of one object. */
const maximumItems = 10_000
const maximumMembers = 100
/** Names that differ, in all: the parser keeps each of them. A body has a few dozen, a template a hundred variables. */
const maximumNames = 1000
/** Strings besides names, in all: the parser keeps each short one. 10,000 consents of five members have 50,000. */
const maximumStrings = 52_000
/** A longer name is in no pointer. */
const longestName = 255

/** An object or array that is not closed yet; the next one at its level has its place. */
class Container {
  isArray = true
  /** Where it begins. */
  from = 0
  /** Commas by now. */
  count = 0
  /** Since the last comma. */
  hasColon = false
  /** Where its last string began and ended: behind a colon, that is the member's name. */
  start = 0
  end = 0

  begin(isArray: boolean, from: number): this {
    this.isArray = isArray
    this.from = from
    this.count = 0
    this.hasColon = false
    this.start = 0
    this.end = 0
    return this
  }
}

const nameIn = (text: string, start: number, end: number): string => {
  const name = text.slice(start + 1, end)
  return name.includes("\\")
    ? Either.getOrElse(
        Either.try(() => String(JSON.parse(`"${name}"`))),
        () => name
      )
    : name
}

/** Where a container stands, by those around it; the whole body where its name would be too long. */
const pathTo = (text: string, around: ReadonlyArray<Container>): ReadonlyArray<string | number> =>
  around.some(({ end, isArray, start }) => !isArray && end - start > longestName)
    ? []
    : around.map((each) => (each.isArray ? each.count : nameIn(text, each.start, each.end)))

/**
 * The names of all open objects. They are found by their hash, and compared only within an object: if names with
 * equal hashes were chosen, some are counted as one, but none is mistaken for a repetition.
 */
class Names {
  private readonly text: string
  /** The numbers of the different hashes that came; also those of objects that are closed. */
  private readonly numbers = new Map<number, number>()
  /** Where the name of a number last began, for each level. An object's own are behind its beginning. */
  private readonly starts = new Int32Array(maximumDepth * maximumNames)
  /** The same of names that another of their object has the hash in common with, by level and name. */
  private readonly others = new Map<string, number>()
  /** Where the names began that were told. */
  private readonly reported = new Set<number>()

  constructor(text: string) {
    this.text = text
  }

  /** The name's number; `maximumNames` for one too many. */
  numberOf(start: number, end: number): number {
    const hash = JsonScan.hashOfName(this.text, start, end)
    const known = this.numbers.get(hash)
    if (known !== undefined) return known
    const number = this.numbers.size
    this.numbers.set(hash, number)
    return number
  }

  /** Adds a name to the object at a level that begins at `from`; answers whether it is given twice and was not told. */
  isTwin(number: number, level: number, from: number, start: number, end: number): boolean {
    const place = level * maximumNames + number
    const first = this.starts[place] ?? 0
    if (first <= from) {
      this.starts[place] = start
      return false
    }
    const name = nameIn(this.text, start, end)
    return this.nameAt(first) === name ? this.isUnreported(first) : this.isOtherTwin(name, level, from, start)
  }

  private isOtherTwin(name: string, level: number, from: number, start: number): boolean {
    const key = `${level} ${name}`
    const first = this.others.get(key) ?? 0
    if (first > from) return this.isUnreported(first)
    this.others.set(key, start)
    return false
  }

  private nameAt(start: number): string {
    return nameIn(this.text, start, JsonScan.endOfString(this.text, start))
  }

  private isUnreported(first: number): boolean {
    if (this.reported.has(first)) return false
    this.reported.add(first)
    return true
  }
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

const tooManyStrings = [tooMany([], "strings besides names of members in all", maximumStrings)]

const tooManyNames = [tooMany([], "different names of members in all", maximumNames)]

export const tooDeep = [
  Fault.make([], "invalid_json", `The body must be nested at most ${maximumDepth} levels deep.`)
]

const givenTwice = (path: ReadonlyArray<string | number>, name: string): Fault.Fault =>
  name.length > longestName
    ? Fault.make(path, "invalid_value", "A member must be given once; one is given twice.")
    : Fault.make([...path, name], "invalid_value", `\`${name}\` must be given once; it is given twice.`)

/** A text as far as it was read: its open containers, and what was found to be wrong. */
class Reading implements JsonScan.Reader {
  private readonly twins = new Fault.Faults()
  isOver = false
  /** The first bound that the text breaks. */
  private refusal: ReadonlyArray<Fault.Fault> | undefined
  private readonly text: string
  private readonly maximumValues: number
  private readonly names: Names
  /** One for each level, and one around them. */
  private readonly containers = Array.from({ length: maximumDepth + 1 }, () => new Container())
  private innermost: Container
  private depth = 0
  private values = 0
  private strings = 0

  constructor(text: string, maximumValues: number) {
    this.text = text
    this.maximumValues = maximumValues
    this.names = new Names(text)
    this.innermost = this.containers[0] ?? new Container()
  }

  get faults(): ReadonlyArray<Fault.Fault> {
    return this.refusal ?? this.twins.list
  }

  string(start: number, end: number): void {
    const { innermost } = this
    if (innermost.isArray || innermost.hasColon) {
      this.strings += 1
      if (this.strings > maximumStrings) this.refuse(tooManyStrings)
    }
    // A string behind a colon is a value: the name before it is kept until the next comma.
    if (innermost.end <= innermost.start) {
      innermost.start = start
      innermost.end = end
    }
  }

  colon(): void {
    const { end, from, hasColon, isArray, start } = this.innermost
    // This is no JSON, and the parser says so. A long name must not be looked at for each of many colons.
    if (isArray || hasColon) {
      this.isOver = true
      return
    }
    this.innermost.hasColon = true
    const number = this.names.numberOf(start, end)
    if (number >= maximumNames) this.refuse(tooManyNames)
    else if (this.names.isTwin(number, this.depth - 1, from, start, end)) {
      this.twins.addAll([givenTwice(this.path(), nameIn(this.text, start, end))])
      this.isOver = this.twins.isFull
    }
  }

  open(isArray: boolean, at: number): void {
    if (!this.hasRoom()) return
    this.depth += 1
    const next = this.containers[this.depth]
    if (next === undefined) this.refuse(tooDeep)
    else this.innermost = next.begin(isArray, at)
  }

  comma(): void {
    if (!this.hasRoom()) return
    const { innermost } = this
    innermost.count += 1
    innermost.end = 0
    innermost.hasColon = false
    const most = innermost.isArray ? maximumItems : maximumMembers
    if (innermost.count >= most)
      this.refuse([tooMany(this.path(), innermost.isArray ? "items" : "members", most)])
  }

  close(): void {
    if (this.depth > 0) this.depth -= 1
    this.innermost = this.containers[this.depth] ?? this.innermost
  }

  /** Counts the member or item that comes behind an opening bracket or a comma. */
  private hasRoom(): boolean {
    this.values += 1
    if (this.values <= this.maximumValues) return true
    this.refuse([tooMany([], "members and items in all", this.maximumValues)])
    return false
  }

  private refuse(faults: ReadonlyArray<Fault.Fault>): void {
    this.refusal = faults
    this.isOver = true
  }

  private path(): ReadonlyArray<string | number> {
    return pathTo(this.text, this.containers.slice(1, this.depth))
  }
}

/** The first bound that a text breaks, else each member that is given twice. */
export const faults = (text: string, maximumValues: number): ReadonlyArray<Fault.Fault> => {
  const reading = new Reading(text, maximumValues)
  const walk = JsonScan.walk(text, reading)
  // A body is short enough for one turn.
  while (walk.next().done !== true);
  return reading.faults
}
