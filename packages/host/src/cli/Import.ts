/**
 * Records the consents of a table of any length, in requests of at most a thousand, one after the other: the rows of one person
 * stay in their order. A row that is refused keeps none of the others.
 */
import { Consent, Instant } from "@sendwright/core"
import { Json } from "@sendwright/core/adapter"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Checkpoint from "./Checkpoint.ts"
import * as ConsentTable from "./ConsentTable.ts"
import * as Progress from "./Progress.ts"
import { type Refused, told } from "./Refused.ts"
import type { Screen } from "./Screen.ts"

/** Of one request. A body may have 1 MiB. */
const mostRows = 1000
const mostCharacters = 250_000

/** So many refused lines are told on standard error, too. */
const mostTold = 20

/** The result of an import. */
export interface Imported {
  readonly ok: true
  readonly lines: number
  readonly recorded: number
  /** Lines without a time that open nothing: consent stays refused. */
  readonly kept_refused: number
  readonly refused: number
  /** The file of the refused lines and of those that open nothing; null where there are none. */
  readonly rejects: string | null
}

interface Waiting {
  readonly line: number
  readonly text: string
  readonly row: ConsentTable.Row
}

/** The body of one request: rows without a time were said when the import began. */
export interface ImportPart {
  readonly consents: ReadonlyArray<ConsentTable.Row>
  readonly imported_at: string
}

/** The API's words on an item that it does not record. */
type Unrecorded = Pick<Checkpoint.Rejected, "isKept" | "wrong">

/** The API's words on each item that it does not record, by the item's place. */
const refusalsIn = (body: unknown): ReadonlyMap<number, Unrecorded> =>
  new Map(
    Json.listAt(body, "results").flatMap((result, place) => {
      const isKept = Json.valueAt(result, "kept_refused") === true
      const errors = Json.listAt(result, "errors").map((error) => ({
        column: Json.textAt(error, "pointer")?.replace(/^\/consents\/\d+\/?/, "") || undefined,
        message: Json.textAt(error, "message") ?? ""
      }))
      return errors.length === 0 ? [] : [[place, { isKept, wrong: errors }] as const]
    })
  )

const lineOf = (line: number, { column, message }: ConsentTable.Wrong): string =>
  `line ${line}${column === undefined ? "" : `, ${column}`}: ${message}`

/** The work of one import: what waits for the next request, and how far the others have come. */
class Importing {
  readonly #rejects: string
  readonly #digest: Checkpoint.Digest
  #reached: Checkpoint.Reached
  /** The rows that are done or wait. */
  #rows = 0
  #line = 0
  #characters = 0
  #waiting: Array<Waiting> = []
  #rejected: Array<Checkpoint.Rejected> = []
  /** The file's refusals, since one may stand in an earlier request than a grant of the same number. */
  readonly #refusals = new Consent.ListRefusals()
  readonly told: Array<string> = []
  /** An import that goes on tells of what it finds itself. */
  #told = 0

  constructor(rejects: string, columns: ReadonlyArray<string>, reached: Checkpoint.Reached) {
    this.#rejects = rejects
    this.#digest = new Checkpoint.Digest(columns)
    this.#reached = reached
  }

  get reached(): Checkpoint.Reached {
    return this.#reached
  }

  get lines(): number {
    return this.#rows
  }

  get isFull(): boolean {
    return this.#waiting.length + this.#rejected.length >= mostRows || this.#characters >= mostCharacters
  }

  /** Takes one line; false where it is not the one that was imported before. */
  take(table: ConsentTable.Table, line: Parameters<typeof ConsentTable.rowOf>[1]): boolean {
    this.#digest.add(line)
    this.#rows += 1
    this.#line = line.number
    const row = ConsentTable.rowOf(table, line)
    if (Either.isRight(row)) this.#refusals.add(row.right)
    if (this.#rows <= this.#reached.rows)
      return this.#rows < this.#reached.rows || this.#digest.value === this.#reached.digest
    const { number, text } = line
    if (Either.isLeft(row)) this.#rejected.push({ line: number, text, isKept: false, wrong: row.left })
    else if (row.right.occurred_at === undefined && this.#refusals.has(row.right))
      this.#rejected.push({ line: number, text, isKept: true, wrong: inList })
    else {
      this.#waiting.push({ line: number, text, row: row.right })
      this.#characters += line.text.length
    }
    return true
  }

  /** Sends what waits, and remembers that it is done. */
  flush<E>(record: (part: ImportPart) => Effect.Effect<unknown, E>) {
    const waiting = this.#waiting
    return Effect.gen(this, function* () {
      if (this.#rows <= this.#reached.rows) return
      const body =
        waiting.length === 0
          ? undefined
          : yield* record({ consents: waiting.map(({ row }) => row), imported_at: this.#reached.began_at })
      for (const [place, unrecorded] of refusalsIn(body)) {
        const found = waiting[place]
        if (found !== undefined) this.#rejected.push({ line: found.line, text: found.text, ...unrecorded })
      }
      const rejected = this.#rejected.toSorted((a, b) => a.line - b.line)
      const before = this.#reached
      const kept = rejected.filter(({ isKept }) => isKept).length
      const reached = {
        ...before,
        rows: this.#rows,
        line: this.#line,
        digest: this.#digest.value,
        recorded: before.recorded + this.#rows - before.rows - rejected.length,
        kept_refused: before.kept_refused + kept,
        refused: before.refused + rejected.length - kept,
        rejects_bytes: yield* Checkpoint.reject(this.#rejects, rejected, before.rejects_bytes)
      }
      yield* Checkpoint.save(this.#rejects, reached)
      for (const { line, wrong } of rejected.slice(0, mostTold - this.#told)) {
        this.#told += 1
        this.told.push(...wrong.map((each) => lineOf(line, each)))
      }
      this.#reached = reached
      this.#waiting = []
      this.#rejected = []
      this.#characters = 0
    })
  }
}

const inList: ReadonlyArray<ConsentTable.Wrong> = [
  {
    column: undefined,
    message:
      "Consent stays refused: the file has a refusal of this number. Tell in occurred_at when each was said."
  }
]

/** Where rejected lines go unless a file is named for them. */
export const rejectsOf = (file: string): string => `${file === "-" ? "stdin" : file}.rejected.csv`

export interface Target {
  readonly account: string
  readonly rejects: string
  readonly screen: Screen
}

/** The work that is done, and the lines of it that were refused. */
export interface Done {
  readonly imported: Imported
  readonly refused: Refused | undefined
}

/**
 * Goes on with an import that was interrupted, or begins one.
 *
 * @param record sends rows; after an interruption it may be given some again
 */
export const run = <E>(
  table: ConsentTable.Table,
  { account, rejects, screen }: Target,
  record: (part: ImportPart) => Effect.Effect<unknown, E>
): Effect.Effect<Done, E | Refused> =>
  Effect.gen(function* () {
    const { size } = table
    const began_at = Instant.format(yield* Instant.now)
    const from = yield* Checkpoint.begin(rejects, { account, began_at, size })
    if (from.rows > 0)
      yield* Console.error(`Goes on behind line ${from.line} with the import that began at ${from.began_at}.`)
    const importing = new Importing(rejects, table.columns, from)
    const progress = Progress.make(screen.err)
    const read = Effect.gen(function* () {
      const parts = table.parts()
      for (;;) {
        const next = yield* Effect.tryPromise({
          try: () => parts.next(),
          catch: () => told("The file cannot be read any further.")
        })
        if (next.done === true) break
        const { bytes, lines } = next.value
        for (const line of lines) {
          if (!importing.take(table, line)) return yield* Checkpoint.changed(rejects)
          if (importing.isFull) yield* importing.flush(record)
        }
        const part = size === null || size === 0 ? null : Math.min(1, bytes / size)
        if (importing.lines > from.rows)
          yield* progress.reach({ lines: importing.lines, part, refused: importing.reached.refused })
      }
      if (importing.lines < from.rows) return yield* Checkpoint.changed(rejects)
      yield* importing.flush(record)
    })
    const again = Effect.suspend(() =>
      importing.reached.rows === from.rows
        ? Effect.void
        : Console.error(`Run it again: it goes on behind line ${importing.reached.line}.`)
    )
    yield* read.pipe(
      Effect.ensuring(progress.end),
      Effect.onError(() => again)
    )
    yield* Checkpoint.end(rejects)
    const { kept_refused, recorded, refused, rows } = importing.reached
    const isClean = refused + kept_refused === 0
    const kept = kept_refused === 0 ? "" : `${kept_refused} kept refused`
    const both = [refused === 0 ? "" : `${refused} refused`, kept].filter(Boolean).join(", ")
    const lines = [...importing.told, `${both}: ${rejects} has each line with its reasons.`]
    if (refused === 0 && !isClean) for (const line of lines) yield* Console.error(line)
    return {
      imported: { ok: true, lines: rows, recorded, kept_refused, refused, rejects: isClean ? null : rejects },
      refused: refused === 0 ? undefined : told(...lines)
    }
  })
