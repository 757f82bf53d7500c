/**
 * A table of consents, read as it comes: a header row with the API's names of fields, then a row for each consent. The
 * memory that it takes does not grow with the file.
 */
import { createReadStream, statSync } from "node:fs"
import type * as HelpDoc from "@effect/cli/HelpDoc"
import { Fault, Phone, RequestDecoder } from "@sendwright/core"
import { Csv } from "@sendwright/core/adapter"
import { Consents } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Files from "./Files.ts"
import * as Times from "./Times.ts"

/** A file whose header row was read. */
export interface Table {
  readonly file: string
  /** In bytes; null of the standard input. */
  readonly size: number | null
  readonly columns: ReadonlyArray<string>
  /** The lines below the header row, in parts, and how many bytes were read for them. Once. */
  readonly parts: () => AsyncGenerator<Part>
}

export interface Part {
  readonly lines: ReadonlyArray<Csv.Line>
  readonly bytes: number
}

const fields: ReadonlyArray<string> = Object.keys(Consents.NewConsent.fields)

/** The columns that an export has besides, which an import passes over. */
const ofExports: ReadonlyArray<string> = ["account_id", "consent_id", "reported_at", "recorded_at"]

/** A column's name as the API writes it: letter case, spaces and hyphens are the spreadsheet's. */
const columnOf = (cell: string): string => cell.toLowerCase().replaceAll(/[\s-]+/g, "_")

const headerOf = (head: string, separator: Csv.Separator): Csv.Line | undefined =>
  Csv.read(head, separator).next().value ?? undefined

/** Columns of which a table has one at least. */
const named: ReadonlyArray<string> = ["phone", "user_id"]

const namesPeople = (line: Csv.Line | undefined): boolean =>
  line?.fault === undefined && line?.cells.some((cell) => named.includes(columnOf(cell))) === true

/** The separator that the text announces, else the first that makes a column of people. */
const separatorOf = (file: string, head: string): Either.Either<Csv.Separator, HelpDoc.HelpDoc> => {
  const announced = Csv.announced(head)
  const [first, ...others] = Csv.separators.filter((each) => announced === undefined || each === announced)
  return first === undefined
    ? Either.left(
        Files.wrong(
          file,
          `says in line 1 that its cells are separated by "${announced}": use a comma, a semicolon or a tab.`
        )
      )
    : Either.right([first, ...others].find((each) => namesPeople(headerOf(head, each))) ?? first)
}

const columnsOf = (
  file: string,
  header: Csv.Line | undefined
): Either.Either<ReadonlyArray<string>, HelpDoc.HelpDoc> => {
  const given = (header?.cells ?? []).map(columnOf)
  // A spreadsheet writes the columns that were once used, without a name.
  const names = given.slice(0, given.findLastIndex((name) => name !== "") + 1)
  const unknown = names.filter((name) => !fields.includes(name) && !ofExports.includes(name))
  if (
    names.some((name) => named.includes(name)) &&
    unknown.length === 0 &&
    new Set(names).size === names.length
  )
    return Either.right(names)
  const which = unknown.length === 0 ? "" : ` It has: ${unknown.map((name) => `"${name}"`).join(", ")}.`
  return Either.left(
    Files.wrong(file, `must have a header row with columns of ${fields.join(", ")}, each once.${which}`)
  )
}

const isUtf8 = (beginning: Uint8Array): boolean =>
  Either.isRight(
    Either.try(() => new TextDecoder("utf-8", { fatal: true }).decode(beginning, { stream: true }))
  )

type Pieces = AsyncIterator<Uint8Array>

/** The beginning of a file, long enough to hold a line of any length that a line may have. */
const beginningOf = async (pieces: Pieces): Promise<Uint8Array> => {
  const found: Array<Uint8Array> = []
  let length = 0
  while (length <= Csv.longestLine) {
    const next = await pieces.next()
    if (next.done === true) break
    found.push(next.value)
    length += next.value.length
  }
  return Buffer.concat(found)
}

async function* partsOf(
  beginning: Uint8Array,
  pieces: Pieces,
  separator: Csv.Separator
): AsyncGenerator<Part> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
  let state = Csv.start
  let bytes = 0
  let isHeader = true
  const partOf = (text: string, isLast: boolean): Part => {
    const lines: Array<Csv.Line> = []
    const reading = Csv.feed(state, text, separator, isLast)
    let next = reading.next()
    for (; next.done !== true; next = reading.next()) {
      if (!isHeader) lines.push(next.value)
      isHeader = false
    }
    state = next.value
    return { lines, bytes }
  }
  for (let piece: Uint8Array | undefined = beginning; piece !== undefined; ) {
    bytes += piece.length
    yield partOf(decoder.decode(piece, { stream: true }), false)
    const next: IteratorResult<Uint8Array, unknown> = await pieces.next()
    piece = next.done === true ? undefined : next.value
  }
  yield partOf(decoder.decode(), true)
}

/** Opens a file, or the standard input (`-`), and reads its header row. */
export const open = (file: string): Effect.Effect<Table, HelpDoc.HelpDoc> =>
  Effect.gen(function* () {
    const unreadable = () => Files.wrong(file, "cannot be read.")
    const stream: AsyncIterable<Uint8Array> = file === "-" ? process.stdin : createReadStream(file)
    const pieces = stream[Symbol.asyncIterator]()
    const beginning = yield* Effect.tryPromise({ try: () => beginningOf(pieces), catch: unreadable })
    const size =
      file === "-" ? null : yield* Effect.try({ try: () => statSync(file).size, catch: unreadable })
    if (!isUtf8(beginning)) return yield* Effect.fail(Files.wrong(file, "must be UTF-8."))
    const head = new TextDecoder("utf-8", { ignoreBOM: true }).decode(beginning)
    const separator = yield* separatorOf(file, head)
    const columns = yield* columnsOf(file, headerOf(head, separator))
    return { file, size, columns, parts: () => partsOf(beginning, pieces, separator) }
  })

/** A row as the API takes it. */
export type Row = typeof Consents.NewConsent.Type

const decode = RequestDecoder.decoder(Consents.NewConsent, [])

/** Numbers that say that they begin with their calling code: without it the digits may be another country's number. */
const international = /^\s*(?:\+|00)/

/** A person writes numbers and times in other forms than the API takes. */
const valueOf = (name: string, cell: string): string => {
  if (name === "occurred_at") return Times.read(cell)
  const text = Csv.unguarded(cell)
  return name === "phone" && international.test(text) ? (Phone.digitsOf(text) ?? text) : text
}

/** The fault of a line, and the column of the fault where that is known. */
export interface Wrong {
  readonly column: string | undefined
  readonly message: string
}

const whole = (message: string): ReadonlyArray<Wrong> => [{ column: undefined, message }]

/** The consent of a line, by the API's shape of one; an empty cell is an absent field. */
export const rowOf = (
  { columns }: Pick<Table, "columns">,
  { cells, fault, text }: Csv.Line
): Either.Either<Row, ReadonlyArray<Wrong>> => {
  if (fault !== undefined) return Either.left(whole(Csv.advice[fault]))
  if (text.includes("\ufffd")) return Either.left(whole("The line must be UTF-8."))
  if (cells.slice(columns.length).some(Boolean)) return Either.left(whole("It has cells without a column."))
  const given = columns.flatMap((name, at) => {
    const cell = cells[at]
    return cell === undefined || cell === "" || !fields.includes(name) ? [] : [[name, valueOf(name, cell)]]
  })
  return Either.mapLeft(decode(Object.fromEntries(given)), (faults) =>
    faults.map((found) => ({ column: Fault.pointer(found).slice(1) || undefined, message: found.message }))
  )
}
