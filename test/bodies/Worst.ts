/** Bodies that are as much work as their length allows: an example, of which one place is blown up. */

type Path = ReadonlyArray<string | number>

export interface Body {
  /** What was blown up, and how. */
  readonly name: string
  readonly bytes: () => Uint8Array
}

interface Place {
  readonly path: Path
  readonly value: unknown
}

const placesOf = (value: unknown, path: Path = []): ReadonlyArray<Place> => [
  { path, value },
  ...(typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, member]) =>
        placesOf(member, [...path, Array.isArray(value) ? Number(name) : name])
      )
    : [])
]

const mark = "\u0001here\u0001"

const withMark = (value: unknown, path: Path): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return mark
  return Array.isArray(value)
    ? value.map((each, at) => (at === step ? withMark(each, rest) : each))
    : Object.fromEntries(
        Object.entries(value ?? {}).map(([name, each]) => [name, name === step ? withMark(each, rest) : each])
      )
}

/** The JSON of the example with the place filled by a text of about so many bytes. */
const filled = (example: object, path: Path, bytes: number, fill: (room: number) => string): Uint8Array => {
  const text = JSON.stringify(withMark(example, path))
  const room = bytes - Buffer.byteLength(text) - 16
  return Buffer.from(text.replace(JSON.stringify(mark), () => fill(room)))
}

const repeated = (unit: (index: number) => string, room: number, most = Number.POSITIVE_INFINITY): string => {
  const units: Array<string> = []
  let length = 0
  for (let index = 0; index < most; index++) {
    const next = unit(index)
    length += Buffer.byteLength(next) + 1
    if (length > room) break
    units.push(next)
  }
  return units.join(",")
}

/** So many thousand, in arrays: the parser looks for each among those that it keeps. */
const shortStrings = (room: number, thousands: number): string =>
  `[${repeated((list) => `[${repeated((at) => `"${list}.${at}a"`, room, 1000)}]`, room, thousands)}]`

const nestedObjects = (room: number, thousands: number): string =>
  `[${repeated(() => `${'{"a":'.repeat(25)}1${"}".repeat(25)}`, room, 40 * thousands)}]`

/** Just below what bodies may hold: usually, of templates, of consents, and on hooks. */
const thousands = [36, 51, 54, 60, 74]

/** What a place may be filled with, whatever belongs there. */
const anything: Readonly<Record<string, (room: number) => string>> = {
  "arrays within arrays": (room) => "[".repeat(room / 2) + "]".repeat(room / 2),
  "objects within objects": (room) => `${'{"a":'.repeat(room / 6)}1${"}".repeat(room / 6)}`,
  "many numbers": (room) => `[${repeated(() => "1", room)}]`,
  "9,999 arrays of arrays": (room) => `[${repeated(() => `[${"[],".repeat(34)}[]]`, room, 9_999)}]`,
  "many strings": (room) => `[${repeated(() => '""', room)}]`,
  "many nulls": (room) => `[${repeated(() => "null", room)}]`,
  "many objects": (room) => `[${repeated(() => "{}", room)}]`,
  "many members": (room) => `{${repeated((at) => `"${at}":0`, room)}}`,
  "one member many times": (room) => `{${repeated(() => '"a":0', room)}}`,
  "objects of 100 members": (room) =>
    `[${repeated(() => `{${repeated((at) => `"${at}":0`, 1e6, 100)}}`, room)}]`,
  "objects of 99 fresh names": (room) =>
    `[${repeated((object) => `{${repeated((at) => `"${object}.${at}":0`, 1e6, 99)}}`, room)}]`,
  "a hundred twins in each object": (room) =>
    `[${repeated(() => `{${repeated(() => '"a":0', 1e6, 100)}}`, room)}]`,
  ...Object.fromEntries(
    thousands.flatMap((many) => [
      [`${many},000 short strings that differ`, (room: number) => shortStrings(room, many)],
      [`${many},000 objects in each other`, (room: number) => nestedObjects(room, many)]
    ])
  ),
  "a long number": (room) => "1".repeat(room),
  "a long fraction": (room) => `0.${"1".repeat(room - 2)}`,
  "a long exponent": (room) => `1e${"9".repeat(room - 2)}`,
  "many fractions": (room) => `[${repeated(() => "1.7976931348623157e308", room)}]`,
  "9,999 long fractions": (room) => `[${repeated(() => `0.${"123456789".repeat(11)}`, room, 9_999)}]`,
  colons: (room) => JSON.stringify(`":`.repeat(room / 3)),
  "an unclosed string": (room) => `"${"x".repeat(room)}`,
  "no JSON": (room) => "x".repeat(room)
}

const texts: Readonly<Record<string, string>> = {
  letters: "x",
  digits: "1",
  spaces: " ",
  lines: "a\n",
  cells: "a,b\n",
  "quoted cells": '"a""b",',
  quotes: '"',
  NUL: "\0",
  accents: "é",
  "combining marks": "\u0301",
  pictures: "😀",
  ligatures: "\ufdfa",
  "invisible characters": "\u200b",
  "half pairs": "\ud800",
  placeholders: "{{1}} ",
  "named placeholders": "{{a}}{{b}} ",
  braces: "{",
  slashes: "/",
  words: "stop "
}

/** What a string may be filled with; in escapes it is six bytes a unit. */
const strings = (prefix: string): Readonly<Record<string, (room: number) => string>> => ({
  ...Object.fromEntries(
    Object.entries(texts).map(([name, unit]) => [
      name,
      (room: number) => {
        const bytes = Buffer.byteLength(JSON.stringify(unit)) - 2
        return JSON.stringify(prefix + unit.repeat((room - 2 * prefix.length) / bytes))
      }
    ])
  ),
  escapes: (room) => `"${"\\u0078".repeat(room / 6)}"`,
  "numbered placeholders": (room) =>
    JSON.stringify(Array.from({ length: room / 10 }, (_, at) => `{{${at + 1}}}`).join(" "))
})

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const changed = (value: unknown, change: (leaf: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((each) => changed(each, change))
  if (!isRecord(value)) return change(value)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, changed(each, change)]))
}

const leaves = (value: unknown): number =>
  placesOf(value).filter(({ value: each }) => typeof each === "string").length

/** Items by their number, for an array of so many in so much room. */
const items = (
  item: unknown
): Readonly<Record<string, (index: number, count: number, room: number) => unknown>> => ({
  "valid and alike": () => item,
  "valid and different": (index) =>
    changed(item, (leaf) =>
      typeof leaf === "string" && /^\d+$/.test(leaf)
        ? `346${String(index).padStart(8, "0")}`
        : typeof leaf === "string" && /^[a-z_0-9]+$/.test(leaf) && leaf.includes("_")
          ? `name_${index}`
          : leaf
    ),
  "all wrong": () => changed(item, () => ({})),
  "all empty": () => changed(item, (leaf) => (typeof leaf === "string" ? "" : leaf)),
  "all blank": () => changed(item, (leaf) => (typeof leaf === "string" ? " \u200b" : leaf)),
  "all long": (_, count, room) => {
    const more = "x".repeat(Math.max(0, room / count / Math.max(1, leaves(item)) - 20))
    return changed(item, (leaf) => (typeof leaf === "string" ? leaf + more : leaf))
  },
  "all with NUL": () => changed(item, (leaf) => (typeof leaf === "string" ? `${leaf}\0` : leaf)),
  "with unknown members": (_, count, room) => {
    const more = Math.min(95, Math.max(1, Math.floor(room / count / 14)))
    const unknown = Object.fromEntries(Array.from({ length: more }, (_, at) => [`phone${at}`, 0]))
    return isRecord(item) ? { ...item, ...unknown } : unknown
  },
  "with a fault at the end": (index, count) => (index === count - 1 ? {} : item)
})

const counts = [Number.POSITIVE_INFINITY, 10_000, 6000, 1000, 250, 50, 10]

const inArray = ({ value }: Place): Readonly<Record<string, (room: number) => string>> => {
  const [item] = Array.isArray(value) ? value : []
  return Object.fromEntries(
    Object.entries(items(item)).flatMap(([name, make]) =>
      counts.map((count) => [
        `${Number.isFinite(count) ? count.toLocaleString("en") : "as many as fit"} ${name}`,
        (room: number) =>
          `[${repeated((index) => JSON.stringify(make(index, Math.min(count, 10_000), room)), room, count)}]`
      ])
    )
  )
}

const inRecord = (): Readonly<Record<string, (room: number) => string>> => ({
  "100 long members": (room) =>
    `{${repeated((at) => `"${"n".repeat(room / 300)}${at}":"${"v".repeat(room / 200)}"`, room, 100)}}`,
  "99 long texts": (room) => `{${repeated((at) => `"body.${at}":"${"v".repeat(room / 110)}"`, room, 99)}}`
})

const withName = (path: Path): string => `/${path.join("/")}`

/** The worst bodies of at most so many bytes that could be made of an example. */
export const bodies = (example: () => object, bytes: number): ReadonlyArray<Body> => {
  const places = placesOf(example())
  return places.flatMap((place) => {
    const { path, value } = place
    const fills = {
      // Below a hundred like ones one is enough.
      ...(path.length <= 2 ? anything : {}),
      ...(typeof value === "string" ? { ...strings(""), ...prefixed(strings(value), value) } : {}),
      ...(Array.isArray(value) ? inArray(place) : {}),
      ...(isRecord(value) ? inRecord() : {})
    }
    return Object.entries(fills).map(([name, fill]) => ({
      name: `${withName(path)}: ${name}`,
      bytes: () => filled(example(), path, bytes, fill)
    }))
  })
}

const prefixed = <A>(all: Readonly<Record<string, A>>, prefix: string): Readonly<Record<string, A>> =>
  Object.fromEntries(Object.entries(all).map(([name, each]) => [`${prefix.slice(0, 12)} and ${name}`, each]))
