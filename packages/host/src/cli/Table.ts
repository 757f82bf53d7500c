/**
 * A table at a terminal: columns in the order of their worth, as many as fit. Columns without a value go before others are cut,
 * and ids and addresses are shortened last. What is left out is told below, and a pipe gets all of it.
 */
import type { Operation } from "@sendwright/core/contract"
import * as Predicate from "effect/Predicate"
import * as Logs from "../Logs.ts"
import * as Screen from "./Screen.ts"

type Row = Readonly<Record<string, unknown>>

export const isGroup = (value: unknown): value is Row => Predicate.isRecord(value) && !Array.isArray(value)

export type Entries = ReadonlyArray<readonly [name: string, value: unknown]>

/** The fields, those of fields by both names. */
export const flat = (group: Row, before = ""): Entries =>
  Object.entries(group).flatMap(
    ([name, value]): Entries =>
      isGroup(value) ? flat(value, `${before}${name}.`) : [[`${before}${name}`, value]]
  )

const isTime = (value: unknown): value is string =>
  typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)

const isId = (value: unknown): boolean => typeof value === "string" && /^[\da-f-]{36}$/.test(value)

const isAddress = (value: unknown): boolean => typeof value === "string" && /^https?:/i.test(value)

/** Of a group in a list, what it says in short. */
const inShort = (value: unknown): string =>
  isGroup(value)
    ? Object.values(value)
        .filter((each) => each !== null && each !== "" && !isTime(each))
        .map(inShort)
        .join(" ")
    : typeof value === "string"
      ? value
      : JSON.stringify(value)

/** A value on one line. */
export const shown = (value: unknown): string => {
  if (value === null || value === undefined) return "-"
  return Logs.printable(
    Array.isArray(value)
      ? value.map(inShort).join(", ")
      : typeof value === "string"
        ? value
        : JSON.stringify(value)
  )
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === "" ||
  value === 0 ||
  (Array.isArray(value) && value.length === 0)

/** The value that a path leads to: `count` of a list is its length, `last` its last item. */
const reached = (value: unknown, path: ReadonlyArray<string>): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (Array.isArray(value))
    return step === "count" ? value.length : step === "last" ? reached(value.at(-1), rest) : undefined
  return isGroup(value) ? reached(value[step], rest) : undefined
}

interface Column {
  readonly name: string
  readonly values: ReadonlyArray<unknown>
  readonly isNamed: boolean
}

/** A longer text is cut, and is worth less than others. */
const widestCell = 40
const shortText = 24

const stateNames = /(^|\.)(status|state|enabled|verdict|outcome|kind|type|code|reason|role|operation)$/

const whole = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

/** Whose row it is, then its state, its times, figures and short texts, ids of others, long texts. */
const rankOf = ({ name, values }: Column): number => {
  if (name === "id" || name === "name") return 0
  if (stateNames.test(name)) return 1
  const filled = values.filter((value) => !isEmpty(value))
  if (filled.length > 0 && filled.every(isTime)) return 2
  if (filled.some(isId) || whole(name).endsWith("_id")) return 4
  return filled.some(
    (value) =>
      isAddress(value) || (Array.isArray(value) && value.some(isGroup)) || shown(value).length > shortText
  )
    ? 5
    : 3
}

const columnsOf = (rows: ReadonlyArray<Row>, named: Operation.Columns): ReadonlyArray<Column> => {
  const cells = rows.map((row) => new Map(flat(row)))
  const names = [...new Set(cells.flatMap((row) => [...row.keys()]))]
  const first = named.flatMap((each): ReadonlyArray<Column> => {
    const [name, path] = typeof each === "string" ? [each, each] : each
    const values = rows.map((row) => reached(row, path.split(".")))
    return values.every((value) => value === undefined) ? [] : [{ name, values, isNamed: true }]
  })
  const others = names
    .filter((name) => !first.some((each) => each.name === name))
    // A group is null in one row, and has members in another.
    .filter((name) => !names.some((other) => other.startsWith(`${name}.`)))
    .map((name): Column => ({ name, values: cells.map((row) => row.get(name)), isNamed: false }))
  return [...first, ...others.toSorted((a, b) => rankOf(a) - rankOf(b))]
}

/** A column, and how wide it stands there. */
interface Placed {
  readonly column: Column
  readonly width: number
}

const naturally = (column: Column): Placed => ({
  column,
  width: Math.min(
    Math.max(widestCell, column.name.length),
    Math.max(column.name.length, ...column.values.map((value) => shown(value).length))
  )
})

const between = 2

const widthOf = (placed: ReadonlyArray<Placed>): number =>
  placed.reduce((sum, { width }) => sum + width + between, -between)

/** Times without their milliseconds are still times. */
const seconds = "2026-01-01T00:00:00Z".length
const narrowest = 8

/** How narrow a column may get, in the order in which they give way. */
const givingWay: ReadonlyArray<(column: Column) => number | undefined> = [
  ({ values }) => (values.some(isTime) ? seconds : undefined),
  ({ values }) =>
    values.some((value) => isId(value) || isAddress(value) || shown(value).length > shortText)
      ? narrowest
      : undefined,
  ({ values }) =>
    values.some((value) => typeof value === "string" && !isTime(value)) ? narrowest : undefined
]

const narrowed = (placed: ReadonlyArray<Placed>, columns: number): ReadonlyArray<Placed> => {
  const found = [...placed]
  for (const least of givingWay) {
    while (widthOf(found) > columns) {
      const [widest] = found
        .map(({ column, width }, at) => ({
          at,
          width,
          least: Math.max(column.name.length, least(column) ?? width)
        }))
        .filter(({ least, width }) => width > least)
        .toSorted((a, b) => b.width - a.width)
      const place = widest === undefined ? undefined : found[widest.at]
      if (widest === undefined || place === undefined) break
      found[widest.at] = { ...place, width: place.width - 1 }
    }
  }
  while (found.length > 1 && widthOf(found) > columns) found.pop()
  return found
}

/** The columns that are shown. */
const fitting = (all: ReadonlyArray<Column>, columns: number): ReadonlyArray<Placed> => {
  const natural = all.map(naturally)
  if (widthOf(natural) <= columns) return natural
  const filled = natural.filter(({ column }) => !column.values.every(isEmpty))
  if (filled.length === 0) return narrowed(natural, columns)
  const hasNamed = filled.some(({ column }) => column.isNamed)
  const isFirst = ({ column }: Placed): boolean => (hasNamed ? column.isNamed : rankOf(column) < 2)
  const first = narrowed(filled.filter(isFirst), columns)
  let width = widthOf(first)
  const rest = filled.filter((each) => {
    if (isFirst(each) || width + between + each.width > columns) return false
    width += between + each.width
    return true
  })
  const placed = [...first, ...rest]
  return placed.length === 0 ? narrowed(filled.slice(0, 1), columns) : placed
}

const cell = (value: unknown, width: number): string => {
  const text = shown(value)
  if (text.length <= width) return text
  if (isTime(value)) return `${text.slice(0, seconds - 1)}Z`
  // Ids of one time begin alike.
  return isId(value) ? `…${text.slice(1 - width)}` : `${text.slice(0, width - 1)}…`
}

/** One line, as long as the others may be. */
const leftOut = (
  all: ReadonlyArray<Column>,
  placed: ReadonlyArray<Placed>,
  columns: number
): string | undefined => {
  const hidden = all.filter((column) => !placed.some((each) => each.column === column))
  if (hidden.length === 0) return undefined
  const names = hidden.filter(({ values }) => !values.every(isEmpty)).map(({ name }) => name)
  const line = (told: number): string => {
    const more = hidden.length - told
    const parts = [
      ...names.slice(0, told),
      ...(more === 0 ? [] : [`${told === 0 ? "" : "and "}${more}${told === 0 ? " columns" : " more"}`])
    ]
    return `Left out: ${parts.join(", ")}. A pipe gets all as JSON.`
  }
  let told = names.length
  while (told > 0 && line(told).length > columns) told -= 1
  return line(told)
}

/** @param named the columns that come first, where an operation names some */
export const tableOf = (
  rows: ReadonlyArray<Row>,
  stream: Screen.Stream,
  named: Operation.Columns = []
): ReadonlyArray<string> => {
  const all = columnsOf(rows, named)
  const placed = fitting(all, stream.columns)
  const line = (of: (placed: Placed) => string): string =>
    placed
      .map((each) => of(each).padEnd(each.width))
      .join(" ".repeat(between))
      .trimEnd()
  const more = leftOut(all, placed, stream.columns)
  return [
    Screen.strong(
      line(({ column }) => column.name),
      stream
    ),
    ...rows.map((_, at) => line(({ column, width }) => cell(column.values[at], width))),
    ...(more === undefined ? [] : [Screen.faint(more, stream)])
  ]
}
