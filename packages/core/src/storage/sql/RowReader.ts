/**
 * Reads single columns of a driver's row. A reader that does not find what the schema promises throws, and that is a
 * defect: a row of another shape is a bug, and going on with half of it would spread it.
 */
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Page } from "../../domain/Page.ts"
import type { Row, SqlValue } from "../Program.ts"

const unexpected = (name: string, value: SqlValue | bigint | undefined): never => {
  throw new TypeError(`Column "${name}" holds ${value === null ? "null" : typeof value}`)
}

export const text = (row: Row, name: string): string => {
  const value = row[name]
  return typeof value === "string" ? value : unexpected(name, value)
}

export const textOrNull = (row: Row, name: string): string | null => {
  const value = row[name]
  return value === null || typeof value === "string" ? value : unexpected(name, value)
}

/** An embedder's client may leave 64 bits as text, or make a bigint of them; none of ours is beyond 2^53. */
const numberOf = (name: string, value: SqlValue | bigint | undefined): number => {
  if (typeof value === "number") return value
  if (typeof value === "bigint") return Number(value)
  return typeof value === "string" && /^-?[0-9]+$/.test(value) ? Number(value) : unexpected(name, value)
}

export const integer = (row: Row, name: string): number => numberOf(name, row[name])

export const integerOrNull = (row: Row, name: string): number | null => {
  const value = row[name]
  return value === null ? null : numberOf(name, value)
}

export const instant = (row: Row, name: string): Instant => Time.at(integer(row, name))

export const instantOrNull = (row: Row, name: string): Instant | null => {
  const value = integerOrNull(row, name)
  return value === null ? null : Time.at(value)
}

/** A number that may have a fraction. */
export const real = integer
export const realOrNull = integerOrNull

export const flag = (row: Row, name: string): boolean => integer(row, name) === 1

/** JSON of our own writing: `JSON.parse` answers `any`, and the type is the one that was written. */
export const json = <A>(row: Row, name: string): A => JSON.parse(text(row, name))

export const wordOf = <A extends string>(known: ReadonlyArray<A>) => {
  const words = new Map<string, A>(known.map((word) => [word, word]))
  return (name: string, value: string): A => words.get(value) ?? unexpected(name, value)
}

export const oneOf = <A extends string>(known: ReadonlyArray<A>) => {
  const word = wordOf(known)
  return (row: Row, name: string): A => word(name, text(row, name))
}

/** A bare `LIMIT ?` makes SQLite plan the statement anew at every run, for ten times the cost of a short one. */
export const limited = "LIMIT 0 + ?"

/** Below every position of a list that runs from the newest down, and above any time. */
export const end = Number.MAX_SAFE_INTEGER

/** The parameters of `seq < ?` and {@link limited}: one row more than the page tells whether there is another. */
export const newestFirst = (page: Page): readonly [number, number] => [page.after ?? end, page.limit + 1]

export const seq = (row: Row): number => integer(row, "seq")
