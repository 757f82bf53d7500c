/** What the command line is given in files; `-` is the standard input. A file that cannot be used is an error of usage. */
import { isUtf8 } from "node:buffer"
import { buffer } from "node:stream/consumers"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as FileSystem from "@effect/platform/FileSystem"
import { Fault } from "@sendwright/core"
import { Csv } from "@sendwright/core/adapter"
import { Body, Consents } from "@sendwright/http/contract"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Logs from "../Logs.ts"
import * as Times from "./Times.ts"

export type Read<A> = Effect.Effect<A, HelpDoc.HelpDoc, FileSystem.FileSystem>

const wrong = (file: string, reason: string): HelpDoc.HelpDoc =>
  HelpDoc.p(Logs.printable(`${file === "-" ? "The standard input" : file} ${reason}`))

const bytes = (file: string): Read<Uint8Array> =>
  file === "-"
    ? Effect.promise(() => buffer(process.stdin))
    : Effect.flatMap(FileSystem.FileSystem, (files) => files.readFile(file)).pipe(
        Effect.mapError(() => wrong(file, "cannot be read."))
      )

const messageOf = (fault: Fault.Fault): string =>
  fault.path.length === 0 ? fault.message : `At ${Fault.pointer(fault)}: ${fault.message}`

/** By the rules of a request's body, but for its size. */
export const json = (file: string): Read<unknown> =>
  Effect.flatMap(bytes(file), (content) =>
    Either.mapLeft(Body.parse(content), (faults) =>
      wrong(file, `cannot be used. ${faults.map(messageOf).join(" ")}`)
    )
  )

export const text = (file: string): Read<string> =>
  Effect.filterOrFail(bytes(file), isUtf8, () => wrong(file, "must be UTF-8.")).pipe(
    Effect.map((content) => new TextDecoder().decode(content))
  )

/** What a file brings for a body, and where in the file an item of it stands; absent where the API's pointer says it. */
export interface Table {
  readonly body: unknown
  readonly lines?: ReadonlyArray<number>
}

/** The API's body in JSON. */
export const body = (file: string): Read<Table> => Effect.map(json(file), (body) => ({ body }))

const columns = Object.keys(Consents.NewConsent.fields)

/** A column's name as the API writes it: letter case, spaces and hyphens are the spreadsheet's. */
const columnOf = (cell: string): string => cell.toLowerCase().replaceAll(/[\s-]+/g, "_")

const hasPhone = (line: Csv.Line | undefined): boolean =>
  line?.cells.some((cell) => columnOf(cell) === "phone") === true

/** The lines of a table by the separator that it announces, else by the first that makes a column of phones. */
const linesOf = (file: string, content: string): Effect.Effect<ReadonlyArray<Csv.Line>, HelpDoc.HelpDoc> => {
  const announced = Csv.announced(content)
  const known = Csv.separators.filter((each) => announced === undefined || each === announced)
  if (known.length === 0) {
    return Effect.fail(
      wrong(
        file,
        `says in line 1 that its cells are separated by "${announced}": use a comma, a semicolon or a tab.`
      )
    )
  }
  const tables = known.map((separator) => [...Csv.read(content, separator)])
  return Effect.succeed(tables.find(([header]) => hasPhone(header)) ?? tables[0] ?? [])
}

/** A header row with the API's names of fields, then a row for each consent; an empty cell is an absent field. */
const consentsOf = (file: string, content: string): Read<Table> =>
  Effect.gen(function* () {
    const [header, ...rows] = yield* linesOf(file, content)
    const given = (header?.cells ?? []).map(columnOf)
    // A spreadsheet writes the columns that were once used, without a name.
    const names = given.slice(0, given.findLastIndex((name) => name !== "") + 1)
    const unknown = names.filter((name) => !columns.includes(name))
    if (!names.includes("phone") || unknown.length > 0 || new Set(names).size < names.length) {
      const which = unknown.length === 0 ? "" : ` It has: ${unknown.map((name) => `"${name}"`).join(", ")}.`
      return yield* Effect.fail(
        wrong(file, `must have a header row with columns of ${columns.join(", ")}, each once.${which}`)
      )
    }
    const bad = rows.filter(({ broken, cells }) => broken || cells.slice(names.length).some(Boolean))
    if (bad.length > 0) {
      const lines = bad.map(({ number }) => number).join(", ")
      return yield* Effect.fail(
        wrong(file, `has cells without a column, or quotes astray, in line ${lines}.`)
      )
    }
    const valueOf = (name: string, cell: string): string => (name === "occurred_at" ? Times.read(cell) : cell)
    const consents = rows.map(({ cells }) =>
      Object.fromEntries(
        names.flatMap((name, at) => {
          const cell = cells[at]
          return cell === undefined || cell === "" ? [] : [[name, valueOf(name, cell)]]
        })
      )
    )
    return { body: { consents }, lines: rows.map(({ number }) => number) }
  })

/** The API's body in JSON, or a table when the file's name ends in `.csv`. */
export const consents = (file: string): Read<Table> =>
  file.toLowerCase().endsWith(".csv")
    ? Effect.flatMap(text(file), (content) => consentsOf(file, content))
    : body(file)
