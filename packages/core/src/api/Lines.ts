/**
 * Rows as lines of an export. NDJSON ends with a line that says `ok`, and so does one that broke off: what has none is not
 * whole. A CSV that breaks off fails, and its server cuts the connection: what ends as HTTP has it is whole.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { Csv } from "../adapter.ts"
import type { EngineError } from "./Problems.ts"
import * as Problems from "./Problems.ts"

export const formats = ["ndjson", "csv"] as const
export type Format = (typeof formats)[number]

export const contentTypes: Readonly<Record<Format, string>> = {
  ndjson: "application/x-ndjson",
  csv: "text/csv; charset=utf-8; header=present"
}

/** The row that an export has for one thing. */
export type Row = Readonly<Record<string, unknown>>

type Rows = Stream.Stream<ReadonlyArray<Row>, EngineError>

const line = (value: unknown): string => `${JSON.stringify(value)}\n`

const cellOf = (value: unknown): string | number | boolean | null =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" || value === null
    ? value
    : JSON.stringify(value)

const ndjson = (rows: Rows): Stream.Stream<string> =>
  Stream.unwrap(
    Effect.map(Ref.make(0), (count) => {
      return rows.pipe(
        Stream.tap((page) => Ref.update(count, (before) => before + page.length)),
        Stream.map((page) => page.map(line).join("")),
        Stream.concat(Stream.fromEffect(Effect.map(Ref.get(count), (rows) => line({ ok: true, rows })))),
        Stream.catchAll((error) => {
          const { code, detail } = Problems.describe(error)
          return Stream.make(line({ ok: false, code, detail }))
        })
      )
    })
  )

const csv = (rows: Rows, columns: ReadonlyArray<string>): Stream.Stream<string, EngineError> =>
  Stream.concat(
    Stream.make(Csv.write(columns)),
    Stream.map(rows, (page) =>
      page.map((row) => Csv.write(columns.map((name) => cellOf(row[name])))).join("")
    )
  )

/** The same of a few rows, as an example. */
export const example = (row: Row): Readonly<Record<Format, string>> => ({
  ndjson: `${line(row)}${line({ ok: true, rows: 1 })}`,
  csv: `${Csv.write(Object.keys(row))}${Csv.write(Object.values(row).map(cellOf))}`
})

/** So many pages at most become one piece, where they have few rows. */
const pagesOfPiece = 16

export const linesOf = (
  rows: Rows,
  format: Format,
  columns: ReadonlyArray<string>
): Stream.Stream<Uint8Array, EngineError> =>
  (format === "csv" ? csv(rows, columns) : ndjson(rows)).pipe(
    Stream.filter((text) => text !== ""),
    Stream.grouped(pagesOfPiece),
    Stream.map((texts) => Chunk.toReadonlyArray(texts).join("")),
    Stream.encodeText
  )
