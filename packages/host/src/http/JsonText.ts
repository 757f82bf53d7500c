/**
 * Looks at a JSON text before it is parsed: how deep and how much it is, and which members it gives twice. The parser
 * would take twenty times as long for half a million members, or for names that all differ, as for the largest body that
 * any operation takes, and of a member that is given twice it keeps the last, so that the others would be ignored
 * (decisions.md §10). Whether the text is JSON at all is the parser's word.
 */
import * as Fault from "@sendwright/core/domain/Fault"
import * as JsonScan from "@sendwright/core/domain/JsonScan"
import * as Either from "effect/Either"

export const maximumDepth = 32
/** No operation takes more items (decisions.md §8) or members of one object. */
const maximumItems = 10_000
const maximumMembers = 100
/** Members and items in all: 10,000 consents of five members are the most that an operation is given in 1 MiB. */
const maximumValues = 64_000
/** Names that differ, in all: the parser keeps each of them. A body has a few dozen, a template a hundred variables. */
const maximumNames = 1000
/** A longer name is in no pointer. */
const longestName = 255

const quote = 0x22
const comma = 0x2c
const colon = 0x3a

/** An object or array that is not closed yet. */
class Container {
  readonly isArray: boolean
  /** Commas by now. */
  count = 0
  /** Since the last comma. */
  hasColon = false
  /** Where its last string began and ended: behind a colon, that is the member's name. */
  start = 0
  end = 0
  /** Where its names begin among those of all that are open. */
  readonly names: number
  constructor(isArray: boolean, names: number) {
    this.isArray = isArray
    this.names = names
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

/** Where the innermost container stands; the whole body where its name would be too long. */
const pathTo = (text: string, open: ReadonlyArray<Container>): ReadonlyArray<string | number> => {
  const around = open.slice(0, -1)
  return around.some(({ end, isArray, start }) => !isArray && end - start > longestName)
    ? []
    : around.map((each) => (each.isArray ? each.count : nameIn(text, each.start, each.end)))
}

/** The names of all objects that are open, one after the other. */
class Names {
  private readonly hashes: Array<number> = []
  private readonly starts: Array<number> = []
  private readonly ends: Array<number> = []
  private readonly told: Array<boolean> = []
  private readonly text: string
  /** The hashes of all names that came, also of objects that are closed. */
  private readonly different = new Set<number>()
  length = 0

  constructor(text: string) {
    this.text = text
  }

  get areTooMany(): boolean {
    return this.different.size > maximumNames
  }

  /** Adds a name, unless the names from `first` on have it; answers whether it is given twice and was not told. */
  isTwin(first: number, start: number, end: number): boolean {
    const { ends, hashes, starts, text, told } = this
    const hash = JsonScan.hashOfName(text, start, end)
    this.different.add(hash)
    for (let at = first; at < this.length; at++) {
      if (hashes[at] !== hash) continue
      if (nameIn(text, starts[at] ?? 0, ends[at] ?? 0) !== nameIn(text, start, end)) continue
      const isNew = told[at] === false
      told[at] = true
      return isNew
    }
    const last = this.length
    hashes[last] = hash
    starts[last] = start
    ends[last] = end
    told[last] = false
    this.length = last + 1
    return false
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

const tooManyNames = [tooMany([], "different names of members in all", maximumNames)]

const tooManyValues = [tooMany([], "members and items in all", maximumValues)]

export const tooDeep = [
  Fault.make([], "invalid_json", `The body must be nested at most ${maximumDepth} levels deep.`)
]

const givenTwice = (path: ReadonlyArray<string | number>, name: string): Fault.Fault =>
  name.length > longestName
    ? Fault.make(path, "invalid_value", "A member must be given once; one is given twice.")
    : Fault.make([...path, name], "invalid_value", `\`${name}\` must be given once; it is given twice.`)

/** What of a text is too deep or too much, or each member that is given twice. */
export const faults = (text: string): ReadonlyArray<Fault.Fault> => {
  const twins = new Fault.Faults()
  const open: Array<Container> = []
  const names = new Names(text)
  let innermost = new Container(true, 0)
  let values = 0
  for (let at = 0; at < text.length && !twins.isFull; at++) {
    const code = text.charCodeAt(at)
    switch (code) {
      case quote: {
        const end = JsonScan.endOfString(text, at)
        // A string behind a colon is a value: the name before it is kept until the next comma.
        if (innermost.end <= innermost.start) {
          innermost.start = at
          innermost.end = end
        }
        at = end
        break
      }
      case colon: {
        const { end, hasColon, isArray, start } = innermost
        // No JSON: the parser says so. A long name must not be looked at for each of many colons.
        if (isArray || hasColon) return twins.list
        innermost.hasColon = true
        if (names.isTwin(innermost.names, start, end))
          twins.addAll([givenTwice(pathTo(text, open), nameIn(text, start, end))])
        if (names.areTooMany) return tooManyNames
        break
      }
      // A member or an item comes behind one of the next three.
      case 0x7b:
      case 0x5b:
        values += 1
        if (values > maximumValues) return tooManyValues
        innermost = new Container(code === 0x5b, names.length)
        if (open.push(innermost) > maximumDepth) return tooDeep
        break
      case comma: {
        values += 1
        if (values > maximumValues) return tooManyValues
        innermost.count += 1
        innermost.end = 0
        innermost.hasColon = false
        const { count, isArray } = innermost
        if (count >= (isArray ? maximumItems : maximumMembers)) {
          return isArray
            ? [tooMany(pathTo(text, open), "items", maximumItems)]
            : [tooMany(pathTo(text, open), "members", maximumMembers)]
        }
        break
      }
      case 0x7d:
      case 0x5d:
        names.length = innermost.names
        open.pop()
        innermost = open.at(-1) ?? innermost
    }
  }
  return twins.list
}
