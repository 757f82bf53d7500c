/**
 * How far an import has come, in a file beside its rejected lines, so that one that was killed goes on where it was. What it
 * says is stored, since it is written behind the answer; what was stored behind it is sent again, and is not recorded twice,
 * because it has the same times again.
 */
import { createHash, type Hash } from "node:crypto"
import { existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { Csv } from "@sendwright/core/adapter"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { Wrong } from "./ConsentTable.ts"
import { type Refused, told } from "./Refused.ts"

const Count = Schema.Int.pipe(Schema.nonNegative())

const Reached = Schema.Struct({
  /** Rows without a time were said when the import began. */
  began_at: Schema.String,
  account: Schema.String,
  /** Of the file in bytes; null of the standard input. */
  size: Schema.NullOr(Count),
  /** The rows that are done, and a digest of them. */
  rows: Count,
  digest: Schema.String,
  /** The last of them in the file. */
  line: Count,
  recorded: Count,
  kept_refused: Count,
  refused: Count,
  /** How long the file of rejected lines is. */
  rejects_bytes: Count
})

export type Reached = typeof Reached.Type

const decode = Schema.decodeUnknownEither(Schema.parseJson(Reached))

/** The file names people. */
const mode = 0o600

const pathOf = (rejects: string): string => `${rejects}.unfinished`

const attempt = <A>(path: string, act: () => A): Effect.Effect<A, Refused> =>
  Effect.try({
    try: act,
    catch: (cause) =>
      told(
        `${path} cannot be written (${cause instanceof Error ? Reflect.get(cause, "code") : cause}). Name another file for rejected lines with --rejects.`
      )
  })

/** A digest of rows that grows with them. */
export class Digest {
  readonly #hash: Hash = createHash("sha256")

  constructor(columns: ReadonlyArray<string>) {
    this.#hash.update(JSON.stringify(columns))
  }

  add({ text }: Csv.Line): void {
    this.#hash.update(text).update("\n")
  }

  get value(): string {
    return this.#hash.copy().digest("base64url")
  }
}

/**
 * The place from which an import goes on; a new import begins from nothing. Its rejected lines are cut to those that were told
 * before.
 */
export const begin = (
  rejects: string,
  fresh: Pick<Reached, "account" | "began_at" | "size">
): Effect.Effect<Reached, Refused> =>
  Effect.gen(function* () {
    const path = pathOf(rejects)
    if (!existsSync(path)) {
      if (existsSync(rejects))
        return yield* told(
          `${rejects} is there already, of another import: move it away, or name another file with --rejects.`
        )
      const nothing = {
        ...fresh,
        rows: 0,
        digest: "",
        line: 0,
        recorded: 0,
        kept_refused: 0,
        refused: 0,
        rejects_bytes: 0
      }
      yield* save(rejects, nothing)
      return nothing
    }
    const found = decode(readFileSync(path, "utf8"))
    const anew = `Remove ${path} to begin anew.`
    if (Either.isLeft(found)) return yield* told(`${path} cannot be read. ${anew}`)
    const reached = found.right
    if (reached.account !== fresh.account)
      return yield* told(`${path} is of an import for the account ${reached.account}. ${anew}`)
    if (reached.size !== fresh.size)
      return yield* told(
        `The file is another one than when its import began: it had ${reached.size} bytes and has ${fresh.size}. ${anew}`
      )
    const length = existsSync(rejects) ? statSync(rejects).size : 0
    if (length < reached.rejects_bytes)
      return yield* told(`${rejects} has lost lines since the import was interrupted. ${anew}`)
    if (length > 0) yield* attempt(rejects, () => truncateSync(rejects, reached.rejects_bytes))
    return reached
  })

export const changed = (rejects: string): Refused =>
  told(
    `The file is another one than when its import began: the rows that were imported are not its first ones. Remove ${pathOf(rejects)} to begin anew.`
  )

/** Whole or not at all. */
export const save = (rejects: string, reached: Reached): Effect.Effect<void, Refused> =>
  attempt(pathOf(rejects), () => {
    const unfinished = `${pathOf(rejects)}.new`
    writeFileSync(unfinished, JSON.stringify(reached), { mode })
    renameSync(unfinished, pathOf(rejects))
  })

/** The import is done. */
export const end = (rejects: string): Effect.Effect<void, Refused> =>
  attempt(pathOf(rejects), () => rmSync(pathOf(rejects), { force: true }))

/** A line that was refused, with its reasons. */
export interface Rejected {
  readonly line: number
  readonly text: string
  /** True where consent stays refused: nothing is wrong with the line. */
  readonly isKept: boolean
  readonly wrong: ReadonlyArray<Wrong>
}

const reasonOf = ({ column, message }: Wrong): string =>
  column === undefined ? message : `${column}: ${message}`

/** Tells rejected lines in their file, below those before; answers how long it is then. */
export const reject = (
  rejects: string,
  lines: ReadonlyArray<Rejected>,
  bytes: number
): Effect.Effect<number, Refused> =>
  attempt(rejects, () => {
    if (lines.length === 0) return bytes
    const head = bytes === 0 ? Csv.write(["line", "reason", "text"]) : ""
    const rows = lines.map(({ line, text, wrong }) => Csv.write([line, wrong.map(reasonOf).join(" "), text]))
    const content = Buffer.from(head + rows.join(""))
    writeFileSync(rejects, content, { flag: "a", mode })
    return bytes + content.length
  })
