/**
 * All stores in memory: for tests, examples, and whoever keeps nothing. They are those of SQLite over a database without a file,
 * so that what a test proves is what production runs. SQLite comes as WebAssembly: nothing native is installed for it.
 */
import * as Module from "node:module"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Stores } from "../Stores.ts"
import type { Handle } from "./Driver.ts"
import * as OverHandle from "./OverHandle.ts"

/** The library tells SQLite's words, and not the codes that they stand for. */
const codes: ReadonlyArray<readonly [words: RegExp, code: string]> = [
  [/constraint failed|cannot store/, "SQLITE_CONSTRAINT"],
  [/datatype mismatch/, "SQLITE_MISMATCH"],
  [/too big/, "SQLITE_TOOBIG"],
  [/out of memory/, "SQLITE_NOMEM"],
  [/is full/, "SQLITE_FULL"]
]

/** Gives an error of the library the code that `Driver` tells errors apart by. */
const coded = <A>(step: () => A): A => {
  try {
    return step()
  } catch (cause) {
    if (!(cause instanceof Error) || cause.name !== "SQLite3Error") throw cause
    const code = codes.find(([words]) => words.test(cause.message))?.[1] ?? "SQLITE_ERROR"
    throw Object.assign(cause, { code })
  }
}

/** A fresh database. The library is loaded here, since nobody else needs it, and a bundler must leave it where it is. */
export const open = (): Handle & { readonly close: () => void } => {
  const sqlite: typeof import("node-sqlite3-wasm") = Module.createRequire(import.meta.url)(
    "node-sqlite3-wasm"
  )
  const database = new sqlite.Database(":memory:")
  // As a file's are.
  database.exec("PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON")
  return {
    get inTransaction() {
      return database.inTransaction
    },
    get isOpen() {
      return database.isOpen
    },
    exec: (text) => coded(() => database.exec(text)),
    prepare: (text) => {
      const prepared = () => coded(() => database.prepare(text))
      let statement = prepared()
      /** A statement that failed cannot be reset, so that the next use prepares it anew. */
      const performed = <A>(step: () => A): A => {
        if (statement.isFinalized) statement = prepared()
        try {
          return coded(step)
        } catch (cause) {
          try {
            statement.finalize()
          } catch {
            // SQLite tells the failure once more.
          }
          throw cause
        }
      }
      return {
        all: (...values: Array<null | number | string>) => performed(() => statement.all(values)),
        run: (...values: Array<null | number | string>) => performed(() => statement.run(values))
      }
    },
    close: () => database.close()
  }
}

/** A fresh database per build. */
export const layer: Layer.Layer<Stores> = Layer.unwrapScoped(
  Effect.map(
    Effect.acquireRelease(Effect.sync(open), ({ close }) => Effect.sync(close)),
    (database) => Layer.orDie(OverHandle.layer({ database, migrate: true }))
  )
)
