/** What the command line is given in files; `-` is the standard input. A file that cannot be used is an error of usage. */
import { isUtf8 } from "node:buffer"
import { buffer } from "node:stream/consumers"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Fault from "@sendwright/core/Fault"
import { Csv } from "@sendwright/core/internal"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { NewConsent } from "../api/Consents.ts"
import * as Body from "../http/Body.ts"
import * as Logs from "../Logs.ts"

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

const columns = Object.keys(NewConsent.fields)

/** A header row with the API's names of fields, then a row for each consent; an empty cell is an absent field. */
const consentsOf = (file: string, content: string): Read<unknown> =>
  Effect.gen(function* () {
    const [comma, semicolon] = ([",", ";"] as const).map((separator) => [...Csv.read(content, separator)])
    const isTable = semicolon?.[0]?.cells.includes("phone") === true
    const [header, ...rows] = (isTable ? semicolon : comma) ?? []
    const names = header?.cells ?? []
    const unknown = names.filter((name) => !columns.includes(name))
    if (!names.includes("phone") || unknown.length > 0 || new Set(names).size < names.length) {
      return yield* Effect.fail(
        wrong(file, `must have a header row with columns of ${columns.join(", ")}, each once.`)
      )
    }
    const bad = rows.filter(({ broken, cells }) => broken || cells.slice(names.length).some(Boolean))
    if (bad.length > 0) {
      const lines = bad.map(({ number }) => number).join(", ")
      return yield* Effect.fail(
        wrong(file, `has cells without a column, or quotes astray, in line ${lines}.`)
      )
    }
    const consents = rows.map(({ cells }) =>
      Object.fromEntries(names.flatMap((name, at) => (cells[at] ? [[name, cells[at]]] : [])))
    )
    return { consents }
  })

/** The API's body in JSON, or a table when the file's name ends in `.csv`. */
export const consents = (file: string): Read<unknown> =>
  file.toLowerCase().endsWith(".csv")
    ? Effect.flatMap(text(file), (content) => consentsOf(file, content))
    : json(file)
