/** One process owns a database file, and writes it only while it is the file that it opened. */
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Schedule from "effect/Schedule"
import { all, run } from "../../../src/storage/Program.ts"
import { Database } from "../../../src/storage/sql/Database.ts"
import * as SqliteDatabase from "../../../src/storage/sqlite/Database.ts"

const migrations = [{ id: 1, name: "first", statements: "CREATE TABLE item (id INTEGER PRIMARY KEY)" }]

const open = (filename: string) =>
  Effect.map(Layer.build(SqliteDatabase.layer({ filename, migrations })), (context) => {
    const db = Context.get(context, Database)
    return {
      sql: Context.get(context, SqlClient),
      write: (id: number) => db.write("write", () => run("INSERT INTO item (id) VALUES (?)", id)),
      read: db.read("read", () => all("SELECT id FROM item ORDER BY id"))
    }
  })

type Opened = Effect.Effect.Success<ReturnType<typeof open>>

const path = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-owner-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  ),
  (folder) => join(folder, "host.db")
)

/** Reads the file as a process that has no part in ours. */
const idsIn = (filename: string): ReadonlyArray<unknown> => {
  const other = new Sqlite(filename, { readonly: true })
  try {
    return other.prepare("SELECT id FROM item ORDER BY id").pluck().all()
  } finally {
    other.close()
  }
}

const often = Schedule.spaced("50 millis")

/** Writes until it is refused, which has to come within five seconds. */
const refusal = ({ write }: Opened) => {
  let id = 1000
  const writes = Effect.repeat(
    Effect.suspend(() => write(id++)),
    often
  )
  return Effect.flip(writes).pipe(Effect.timeout("5 seconds"))
}

const lost = "use a database file that was removed or replaced, or taken by another process"

const quiet = Logger.withMinimumLogLevel(LogLevel.None)

const replace = (file: string): void => {
  const other = new Sqlite(`${file}.new`)
  other.exec("CREATE TABLE item (id INTEGER PRIMARY KEY)")
  other.close()
  renameSync(`${file}.new`, file)
}

const losses: Readonly<Record<string, (file: string) => void>> = {
  "was removed": (file) => unlinkSync(file),
  "was renamed": (file) => renameSync(file, `${file}.old`),
  "was replaced": replace,
  "lost its write-ahead log": (file) => unlinkSync(`${file}-wal`),
  "lost the index of its log": (file) => unlinkSync(`${file}-shm`)
}

describe("a database file", () => {
  // Windows has other rights than these.
  it.scopedLive.skipIf(process.platform === "win32")(
    "that is made is its owner's alone, with its log, its lock and its folders, and one that is there keeps its mode",
    () =>
      Effect.gen(function* () {
        const given = yield* path
        const file = join(dirname(given), "new", "er", "host.db")
        const before = process.umask(0)
        yield* Effect.addFinalizer(() => Effect.sync(() => process.umask(before)))
        const mode = (of: string) => (statSync(of).mode & 0o777).toString(8)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { write } = yield* open(file)
            yield* write(1)
            for (const end of ["", "-wal", "-shm", ".lock"]) expect(mode(`${file}${end}`), end).toBe("600")
            expect(mode(dirname(file))).toBe("700")
            expect(mode(dirname(dirname(file)))).toBe("700")
          })
        )
        chmodSync(file, 0o640)
        const { read } = yield* open(file)
        expect(yield* read).toEqual([{ id: 1 }])
        expect(mode(file)).toBe("640")
      })
  )

  for (const [what, lose] of Object.entries(losses)) {
    it.scopedLive(`that ${what} is refused within five seconds, for ever, to who writes and who reads`, () =>
      Effect.gen(function* () {
        const file = yield* path
        const logged: Array<string> = []
        const logger = Logger.make(({ message }) => {
          logged.push(String(message))
        })
        const db = yield* Effect.provide(open(file), Logger.replace(Logger.defaultLogger, logger))
        yield* db.write(1)
        lose(file)
        expect(yield* refusal(db)).toMatchObject({ _tag: "StorageError", operation: lost })
        expect(yield* Effect.flip(db.write(2))).toMatchObject({ operation: lost })
        expect(yield* Effect.flip(db.read)).toMatchObject({ operation: lost })
        yield* Effect.flip(db.sql`INSERT INTO item (id) VALUES (3)`)
        yield* Effect.flip(db.sql.withTransaction(db.write(4)))
        expect(
          logged.filter((line) => line.includes("was removed or replaced while it was open"))
        ).toHaveLength(1)
      })
    )
  }

  it.scopedLive("that replaced the open one gets nothing of what is refused, and keeps its own log", () =>
    Effect.gen(function* () {
      const file = yield* path
      const other = yield* Effect.scoped(
        Effect.gen(function* () {
          const db = yield* open(file)
          yield* db.write(1)
          // As whoever restores a backup does: its log goes with a database.
          for (const beside of ["-wal", "-shm"]) unlinkSync(`${file}${beside}`)
          replace(file)
          yield* refusal(db)
          const other = new Sqlite(file)
          other.pragma("journal_mode = WAL")
          other.exec("INSERT INTO item (id) VALUES (77)")
          return other
        })
      )
      expect(existsSync(`${file}-wal`)).toBe(true)
      expect(idsIn(file)).toEqual([77])
      other.close()
    }).pipe(quiet)
  )

  it.scopedLive("that is lost while nobody uses it is told in the log, too", () =>
    Effect.gen(function* () {
      const file = yield* path
      const told = yield* Deferred.make<string>()
      const logger = Logger.make(({ message }) => Deferred.unsafeDone(told, Effect.succeed(String(message))))
      yield* Effect.provide(open(file), Logger.replace(Logger.defaultLogger, logger))
      yield* Effect.sleep("500 millis")
      unlinkSync(file)
      expect(yield* Effect.timeout(Deferred.await(told), "5 seconds")).toContain(
        "was removed or replaced while it was open"
      )
    })
  )

  it.scopedLive("with a second name is refused by both, with what to do", () =>
    Effect.gen(function* () {
      const file = yield* path
      const second = join(dirname(file), "second.db")
      yield* Effect.scoped(open(file))
      linkSync(file, second)
      for (const name of [file, second]) {
        const error = yield* Effect.flip(Effect.scoped(open(name)))
        expect(error).toMatchObject({ operation: "open a database file that has several names" })
        expect(error.message).toMatch(/2 names.*Remove the others/)
      }
      unlinkSync(second)
      yield* Effect.scoped(open(file))
    })
  )

  it.scopedLive(
    "whose lock file was removed is locked again by its owner, and no second process gets in",
    () =>
      Effect.gen(function* () {
        const file = yield* path
        const db = yield* open(file)
        yield* db.write(1)
        unlinkSync(`${file}.lock`)
        yield* Effect.repeat(db.read, {
          schedule: often,
          until: () => existsSync(`${file}.lock`)
        }).pipe(Effect.timeout("5 seconds"))
        expect(yield* Effect.flip(Effect.scoped(open(file)))).toMatchObject({
          operation: "open a database that is already open"
        })
        yield* db.write(2)
      }).pipe(quiet)
  )

  it.scopedLive(
    "that a second process took before it was locked again is that one's: the first writes no more",
    () =>
      Effect.gen(function* () {
        const file = yield* path
        const first = yield* open(file)
        yield* first.write(1)
        unlinkSync(`${file}.lock`)
        const second = yield* open(file)
        expect(yield* Effect.flip(first.write(2))).toMatchObject({ operation: lost })
        yield* Effect.flip(first.sql.withTransaction(first.write(3)))
        yield* second.write(4)
        expect(idsIn(file)).toEqual([1, 4])
      }).pipe(quiet)
  )

  it.scopedLive("that is read and copied by others stays its owner's", () =>
    Effect.gen(function* () {
      const file = yield* path
      const db = yield* open(file)
      yield* db.write(1)
      const reader = new Sqlite(file, { readonly: true })
      yield* Effect.promise(() => reader.backup(`${file}.backup`))
      reader.close()
      yield* Effect.sleep("1200 millis")
      yield* db.write(2)
      expect(idsIn(`${file}.backup`)).toEqual([1])
    })
  )
})
