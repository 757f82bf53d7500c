/** One test for each fault of the stock client that docs/adr/0003-sqlite-client.md lists, and for our additions. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Client from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import ts from "typescript"
import { all, run } from "../../../src/storage/Program.ts"
import { StorageError } from "../../../src/storage/StorageError.ts"
import * as Stores from "../../../src/storage/sql/Database.ts"
import * as Database from "../../../src/storage/sqlite/Database.ts"

const temporary = (root: string) =>
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(root, "sendwright-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  )

const schema = `
  CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
  CREATE TABLE child (item INTEGER NOT NULL REFERENCES item (id) DEFERRABLE INITIALLY DEFERRED)`

const opened = (filename: string) =>
  Effect.map(
    Layer.build(Database.layer({ filename, migrations: [{ id: 1, name: "first", statements: schema }] })),
    (context) => ({
      filename,
      db: Context.get(context, Stores.Database),
      sql: Context.get(context, Client.SqlClient),
      sqlite: Context.get(context, SqliteClient.SqliteClient)
    })
  )

const fresh = Effect.flatMap(temporary(tmpdir()), (folder) => opened(join(folder, "a.db")))

/** Other content each time, which lengthens the log and not the database. */
let rewritten = 0
const rewrite = () => {
  const body = String(rewritten++ % 10).repeat(100_000)
  return run("INSERT INTO item VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body", body)
}

const insert =
  (id: number, body = "x") =>
  () =>
    run("INSERT INTO item (id, body) VALUES (?, ?)", id, body)

const orphan = () => run("INSERT INTO child (item) VALUES (99)")

function* ids() {
  return (yield* all("SELECT id FROM item ORDER BY id")).map((row) => row["id"])
}

/** What is on the disk, seen by a connection that has no part in ours. */
const outside = (filename: string) => {
  const other = new Sqlite(filename, { readonly: true })
  try {
    return other.prepare("SELECT id FROM item ORDER BY id").pluck().all()
  } finally {
    other.close()
  }
}

/** Every commit marks its last frame in the write-ahead log with the size of the database. */
const commits = (filename: string): number => {
  const wal = readFileSync(`${filename}-wal`)
  const frame = 24 + wal.readUInt32BE(8)
  let found = 0
  for (let at = 32; at + frame <= wal.length; at += frame) {
    if (wal.readUInt32BE(at + 4) !== 0 && wal.compare(wal, 16, 24, at + 8, at + 16) === 0) found++
  }
  return found
}

const spin = (millis: number): void => {
  const end = performance.now() + millis
  while (performance.now() < end);
}

const elapsed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.map(effect, (value) => [performance.now() - start, value] as const)
  })

/** How often a 10 ms timer fired while the effect ran. */
const ticks = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let count = 0
    const timer = setInterval(() => count++, 10)
    return effect.pipe(
      Effect.ensuring(Effect.sync(() => clearInterval(timer))),
      Effect.map(() => count)
    )
  })

/** Milliseconds that the process has computed: on a busy machine much less than has passed. */
const computed = () => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1000
}

const during = <A, E, R>(millis: number, effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const end = computed() + millis
    return Effect.repeat(effect, { while: () => computed() < end })
  })

/** A transaction of somebody else's that is open until it is told to end. */
const holding = Effect.fnUntraced(function* (
  sql: Client.SqlClient,
  inside: Effect.Effect<unknown, SqlError> = Effect.void
) {
  const begun = yield* Deferred.make<void>()
  const end = yield* Deferred.make<void>()
  const fiber = yield* Effect.fork(
    sql.withTransaction(
      Effect.zipRight(inside, Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(end)))
    )
  )
  yield* Deferred.await(begun)
  return Effect.zipRight(Deferred.succeed(end, undefined), Fiber.join(fiber))
})

describe("opening", () => {
  it.scopedLive("syncs every commit, also after the first read lowered it", () =>
    Effect.gen(function* () {
      const { sql } = yield* fresh
      yield* sql`SELECT * FROM item`
      assert.deepStrictEqual(yield* sql`PRAGMA synchronous`, [{ synchronous: 2 }])
      assert.deepStrictEqual(yield* sql`PRAGMA journal_mode`, [{ journal_mode: "wal" }])
      assert.deepStrictEqual(yield* sql`PRAGMA foreign_keys`, [{ foreign_keys: 1 }])
      assert.deepStrictEqual(yield* sql`PRAGMA busy_timeout`, [{ timeout: 250 }])
    })
  )

  it.scopedLive("works in memory, without a file or a lock", () =>
    Effect.gen(function* () {
      const { db } = yield* opened(":memory:")
      const other = yield* opened(":memory:")
      yield* db.write("insert", insert(1))
      assert.deepStrictEqual(yield* db.read("ids", ids), [1])
      assert.deepStrictEqual(yield* other.db.read("ids", ids), [])
      assert.isFalse(existsSync(":memory:.lock"))
    })
  )

  it.scopedLive("fails typed when it cannot open", () =>
    Effect.gen(function* () {
      const folder = yield* temporary(tmpdir())
      writeFileSync(
        join(folder, "text.db"),
        "This is no database, however long one looks at it. ".repeat(100)
      )
      for (const filename of [folder, join(folder, "text.db"), join(folder, "text.db", "below.db")]) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(Database.layer({ filename }))))
        assert.instanceOf(error, StorageError)
        assert.include(error.message, `The SQLite database ${filename} cannot be opened: `)
        assert.include(error.message, "Name a file in a folder that this process may write.")
      }
    })
  )

  it.scopedLive("refuses a file that this process has open, by any spelling, and frees it on release", () =>
    Effect.gen(function* () {
      const filename = join(yield* temporary(tmpdir()), "a.db")
      const scope = yield* Scope.make()
      yield* Scope.extend(opened(filename), scope)
      const error = yield* Effect.flip(Effect.scoped(opened(join(dirname(filename), "x", "..", "a.db"))))
      assert.instanceOf(error, StorageError)
      assert.include(error.message, "already open")
      assert.include(error.message, "another process")
      symlinkSync(filename, join(dirname(filename), "link.db"))
      assert.instanceOf(
        yield* Effect.flip(Effect.scoped(opened(join(dirname(filename), "link.db")))),
        StorageError
      )
      yield* Scope.close(scope, Exit.void)
      yield* Effect.scoped(opened(filename))
    })
  )

  it.scopedLive("refuses a file that another process has open, until that one is killed", () =>
    Effect.gen(function* () {
      const filename = join(yield* temporary(tmpdir()), "a.db")
      const core = fileURLToPath(new URL("../../..", import.meta.url))
      const folder = yield* temporary(join(core, "node_modules"))
      const folders = [
        "domain",
        "domain/account",
        "domain/billing",
        "domain/consent",
        "domain/job",
        "domain/session",
        "domain/template",
        "domain/webhook",
        "runtime",
        "storage",
        "storage/sql",
        "storage/sqlite"
      ]
      const names = folders.flatMap((each) =>
        readdirSync(join(core, "src", each))
          .filter((file) => file.endsWith(".ts"))
          .map((file) => join(each, file.slice(0, -".ts".length)))
      )
      for (const name of names) {
        const { outputText } = ts.transpileModule(readFileSync(join(core, "src", `${name}.ts`), "utf8"), {
          compilerOptions: {
            module: ts.ModuleKind.ESNext,
            target: ts.ScriptTarget.ES2022,
            verbatimModuleSyntax: true,
            rewriteRelativeImportExtensions: true
          }
        })
        mkdirSync(dirname(join(folder, name)), { recursive: true })
        writeFileSync(join(folder, `${name}.js`), outputText)
      }
      writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
      writeFileSync(
        join(folder, "holder.js"),
        `import * as Effect from "effect/Effect"
         import * as Layer from "effect/Layer"
         import { layer } from "./storage/sqlite/Database.js"
         setInterval(() => {}, 1000)
         Effect.runFork(Effect.scoped(Effect.zipRight(
           Layer.build(layer({ filename: process.argv[2] })),
           Effect.zipRight(Effect.sync(() => process.stdout.write("open")), Effect.never)
         )))`
      )
      const child = yield* Effect.acquireRelease(
        Effect.async<ChildProcess, Error>((resume) => {
          const started = spawn(process.execPath, [join(folder, "holder.js"), filename], {
            stdio: ["ignore", "pipe", "inherit"]
          })
          started.stdout.once("data", () => resume(Effect.succeed(started)))
          started.once("exit", (code) => resume(Effect.fail(new Error(`It ended with ${code}`))))
        }),
        (started) => Effect.sync(() => started.kill("SIGKILL"))
      )
      const error = yield* Effect.flip(Effect.scoped(opened(filename)))
      assert.instanceOf(error, StorageError)
      assert.include(error.message, "already open")
      assert.include(error.message, `${filename} is open in another process`)
      yield* Effect.async<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
      const { db } = yield* opened(filename)
      yield* db.write("insert", insert(1))
    })
  )

  it.scopedLive("writes what is queued before it closes, and refuses what comes later", () =>
    Effect.gen(function* () {
      const filename = join(yield* temporary(tmpdir()), "a.db")
      const scope = yield* Scope.make()
      const { db } = yield* Scope.extend(opened(filename), scope)
      const fibers = yield* Effect.forEach([1, 2, 3], (id) => Effect.fork(db.write("insert", insert(id))))
      yield* Effect.yieldNow()
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.joinAll(fibers)
      assert.deepStrictEqual(outside(filename), [1, 2, 3])
      assert.instanceOf(yield* Effect.flip(db.write("insert", insert(4))), StorageError)
      assert.instanceOf(yield* Effect.flip(db.read("ids", ids)), StorageError)
    })
  )
})

describe("write", () => {
  it.scopedLive("commits all that one turn queued together, before it answers", () =>
    Effect.gen(function* () {
      const { db, filename } = yield* fresh
      const before = commits(filename)
      const numbers = Array.from({ length: 100 }, (_, index) => index)
      yield* Effect.forEach(
        numbers,
        (id) =>
          Effect.map(db.write("insert", insert(id)), () => {
            if (id % 25 === 0) assert.include(outside(filename), id)
          }),
        { concurrency: "unbounded" }
      )
      // One, unless the machine is so busy that the turn's share of time ends in between.
      const grouped = commits(filename) - before
      assert.isAtMost(grouped, 5)
      yield* db.write("insert", insert(1000))
      assert.strictEqual(commits(filename) - before, grouped + 1)
    })
  )

  it.scopedLive("fails only the faulty one of a group", () =>
    Effect.gen(function* () {
      const { db, filename } = yield* fresh
      const bug = new TypeError("a bug")
      let runs = 0
      const exits = yield* Effect.forEach(
        [
          db.write("one", () => {
            runs++
            return insert(1)()
          }),
          db.write("twice", insert(1)),
          db.write("orphan", orphan),
          db.write("bug", function* () {
            yield* insert(3)()
            throw bug
          }),
          db.write("four", insert(4))
        ],
        Effect.exit,
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outside(filename), [1, 4])
      assert.isAtMost(runs, 2)
      assert.deepStrictEqual(exits[0], Exit.void)
      assert.deepStrictEqual(exits[4], Exit.void)
      for (const [index, operation] of [
        [1, "twice"],
        [2, "orphan"]
      ] as const) {
        const error = yield* Effect.flip(exits[index] ?? Exit.void)
        assert.instanceOf(error, StorageError)
        assert.strictEqual(error.operation, operation)
        assert.strictEqual(error.message, `The storage operation "${operation}" failed.`)
      }
      assert.deepStrictEqual(exits[3], Exit.die(bug))
    })
  )

  it.scopedLive("survives a COMMIT that fails, alone and between others", () =>
    Effect.gen(function* () {
      const { db, filename } = yield* fresh
      const failing = db.write("orphan", orphan)
      assert.instanceOf(yield* Effect.flip(failing), StorageError)
      yield* db.write("insert", insert(1))
      assert.deepStrictEqual(outside(filename), [1])
    })
  )

  it.scopedLive("gives the event loop its turn between the slices of a long queue", () =>
    Effect.gen(function* () {
      const { db, filename } = yield* fresh
      const before = commits(filename)
      const count = yield* ticks(
        Effect.forEach(
          Array.from({ length: 40 }, (_, index) => index),
          (id) =>
            db.write("insert", () => {
              spin(5)
              return insert(id)()
            }),
          { concurrency: "unbounded" }
        )
      )
      assert.isAtLeast(count, 8)
      assert.isAtLeast(commits(filename) - before, 10)
      assert.strictEqual(outside(filename).length, 40)
    })
  )

  it.scopedLive("keeps to its slices while it redoes a group one by one", () =>
    Effect.gen(function* () {
      const { db, filename } = yield* fresh
      let runs = 0
      const work = Effect.forEach(
        Array.from({ length: 61 }, (_, index) => index),
        (id) =>
          Effect.exit(
            db.write("insert", () => {
              if (runs++ > 60) spin(4)
              return insert(id === 60 ? 0 : id)()
            })
          ),
        { concurrency: "unbounded" }
      )
      assert.isAtLeast(yield* ticks(work), 8)
      assert.strictEqual(outside(filename).length, 60)
    })
  )

  it.scopedLive("answers a foreign write lock once for all, typed, and works when it is gone", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      const other = yield* Effect.acquireRelease(
        Effect.sync(() => new Sqlite(filename)),
        (handle) => Effect.sync(() => handle.close())
      )
      other.exec("BEGIN IMMEDIATE")
      const [millis, errors] = yield* elapsed(
        Effect.forEach([1, 2, 3, 4, 5, 6], (id) => Effect.flip(db.write("insert", insert(id))), {
          concurrency: "unbounded"
        })
      )
      assert.isTrue(errors.every((error) => error instanceof StorageError))
      assert.isBelow(millis, 900)
      assert.instanceOf(yield* Effect.flip(sql.withTransaction(sql`SELECT 1`)), SqlError)
      other.exec("ROLLBACK")
      yield* db.write("insert", insert(7))
      assert.deepStrictEqual(outside(filename), [7])
    })
  )

  it.scopedLive("answers a full disk typed, loses nothing that was answered, and recovers", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      yield* db.write("insert", insert(1))
      yield* sql`PRAGMA max_page_count = 1`
      const big = "x".repeat(100_000)
      const exits = yield* Effect.forEach(
        [insert(2), insert(3, big), insert(4)],
        (verb) => Effect.exit(db.write("insert", verb)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
      const full = yield* Effect.flip(exits[1] ?? Exit.void)
      assert.instanceOf(full, StorageError)
      assert.include(String(full), "the disk of its database is full")
      const error = yield* Effect.flip(sql.withTransaction(db.write("insert", insert(5, big))))
      assert.instanceOf(error, StorageError)
      assert.deepStrictEqual(outside(filename), [1, 2, 4])
      yield* sql`PRAGMA max_page_count = 1000000`
      yield* db.write("insert", insert(7, big))
      assert.deepStrictEqual(outside(filename), [1, 2, 4, 7])
    })
  )

  it.scopedLive("gives the room that is found after a full disk to the database, not to its log", (context) =>
    Effect.gen(function* () {
      const folder = yield* temporary(tmpdir())
      const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=12m", "tmpfs", folder])
      if (mounted.status !== 0) return context.skip("no file system can be mounted here (it needs root)")
      yield* Effect.addFinalizer(() => Effect.sync(() => spawnSync("umount", ["-l", folder])))
      const ballast = join(folder, "ballast")
      writeFileSync(ballast, Buffer.alloc(3_000_000))
      const filename = join(folder, "a.db")
      const logSize = () => statSync(`${filename}-wal`).size
      const { db } = yield* opened(filename)
      // A log of many versions of few pages.
      yield* Effect.flip(Effect.forever(db.write("rewrite", rewrite)))
      assert.isAbove(logSize(), 8_000_000)
      yield* Effect.flip(db.write("rewrite", rewrite))
      rmSync(ballast)
      yield* db.write("rewrite", rewrite)
      assert.isBelow(logSize(), 1_000_000)
    })
  )

  it.scopedLive("empties the log that a killed process left before it writes anything", () =>
    Effect.gen(function* () {
      const { db, filename } = yield* fresh
      yield* Effect.repeatN(db.write("rewrite", rewrite), 20)
      const copy = join(dirname(filename), "copy.db")
      for (const end of ["", "-wal"]) copyFileSync(`${filename}${end}`, `${copy}${end}`)
      assert.isAbove(statSync(`${copy}-wal`).size, 2_000_000)
      yield* opened(copy)
      assert.isBelow(statSync(`${copy}-wal`).size, 100_000)
      assert.deepStrictEqual(outside(copy), [1])
    })
  )

  it.scopedLive("fails typed where its folder cannot be made, and does not try for ever", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(opened("/proc/nope/deeper/x.db"))
      assert.include(error.message, "The SQLite database /proc/nope/deeper/x.db cannot be opened: ENOENT")
    })
  )

  it.scopedLive("fails typed where a link leads to nothing, or to no file", () =>
    Effect.gen(function* () {
      const folder = yield* temporary(tmpdir())
      const at = (name: string): string => join(folder, name)
      symlinkSync("/mnt/unmounted/data", at("data"))
      symlinkSync("/mnt/unmounted/a.db", at("a.db"))
      execFileSync("mkfifo", [at("fifo.db")])
      const isLink = (name: string): string =>
        `${at(name)} is a link to /mnt/unmounted/${name}, which is not there. Is its volume mounted?`
      for (const [name, words] of [
        ["data/a.db", isLink("data")],
        ["a.db", isLink("a.db")],
        ["fifo.db", "it is no file"],
        ["", "it is a folder"]
      ] as const) {
        const error = yield* Effect.flip(opened(at(name)))
        assert.include(error.message, `The SQLite database ${at(name)} cannot be opened: ${words}`)
      }
    })
  )

  it.scopedLive("commits no part of a verb that goes on after SQLite ended its transaction", () =>
    Effect.gen(function* () {
      const { db, filename } = yield* fresh
      yield* db.write("insert", insert(1))
      const exits = yield* Effect.forEach(
        [
          db.write("insert", insert(2)),
          db.write("stubborn", function* () {
            yield* insert(3)()
            try {
              yield* run("INSERT OR ROLLBACK INTO item (id) VALUES (1)")
            } catch {}
            return yield* insert(4)()
          })
        ],
        Effect.exit,
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false])
      assert.deepStrictEqual(outside(filename), [1, 2])
    })
  )
})

describe("read", () => {
  it.scopedLive("runs at once while no transaction is open", () =>
    Effect.gen(function* () {
      const { db } = yield* fresh
      yield* db.write("insert", insert(1))
      yield* Effect.sleep(1)
      assert.deepStrictEqual(Effect.runSync(db.read("ids", ids)), [1])
    })
  )

  it.scopedLive("never sees what somebody else has not committed", () =>
    Effect.gen(function* () {
      const { db, sql } = yield* fresh
      const end = yield* holding(sql, sql`INSERT INTO item (id) VALUES (1)`)
      const reader = yield* Effect.fork(db.read("ids", ids))
      yield* Effect.sleep(30)
      assert.strictEqual(yield* Fiber.poll(reader).pipe(Effect.map((exit) => exit._tag)), "None")
      yield* end
      assert.deepStrictEqual(yield* Fiber.join(reader), [1])
    })
  )

  it.scopedLive("may not write", () =>
    Effect.gen(function* () {
      const { db, filename } = yield* fresh
      const exit = yield* Effect.exit(db.read("insert", insert(1)))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.deepStrictEqual(outside(filename), [])
    })
  )
})

describe("a caller's transaction", () => {
  it.scopedLive("takes store verbs in, and both last or neither", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`INSERT INTO item (id) VALUES (1)`
          yield* db.write("insert", insert(2))
          assert.deepStrictEqual(yield* db.read("ids", ids), [1, 2])
          assert.deepStrictEqual(outside(filename), [])
        })
      )
      assert.deepStrictEqual(outside(filename), [1, 2])
      const both = Effect.gen(function* () {
        yield* sql`INSERT INTO item (id) VALUES (3)`
        yield* db.write("insert", insert(4))
        return yield* Effect.fail("no")
      })
      assert.strictEqual(yield* Effect.flip(sql.withTransaction(both)), "no")
      assert.deepStrictEqual(outside(filename), [1, 2])
    })
  )

  it.scopedLive("outlives a store verb that fails, without a trace of it", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      const faulty = db.write("faulty", function* () {
        yield* insert(2)()
        return yield* insert(1)()
      })
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* db.write("insert", insert(1))
          assert.instanceOf(yield* Effect.flip(faulty), StorageError)
          yield* db.write("insert", insert(3))
        })
      )
      assert.deepStrictEqual(outside(filename), [1, 3])
    })
  )

  it.scopedLive("is joined by fibers forked inside it, but not after its end", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      const gate = yield* Deferred.make<void>()
      const late = Effect.zipRight(Deferred.await(gate), db.write("late", insert(2)))
      const [write, statement] = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* Fiber.join(yield* Effect.fork(db.write("inside", insert(1))))
          const plain = Effect.zipRight(Deferred.await(gate), sql`INSERT INTO item (id) VALUES (3)`)
          return [yield* Effect.forkDaemon(late), yield* Effect.forkDaemon(plain)] as const
        })
      )
      assert.deepStrictEqual(outside(filename), [1])
      const end = yield* holding(sql, sql`INSERT INTO item (id) VALUES (9)`)
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.sleep(20)
      yield* Effect.exit(
        Effect.zipRight(Effect.forkDaemon(end), Effect.zipRight(Fiber.join(write), Fiber.join(statement)))
      )
      assert.deepStrictEqual(outside(filename), [1, 2, 3, 9])
    })
  )

  it.scopedLive("begins at once for writing, so that its reads cannot go stale", () =>
    Effect.gen(function* () {
      const { filename, sql } = yield* fresh
      const end = yield* holding(sql, sql`SELECT * FROM item`)
      const other = new Sqlite(filename, { timeout: 0 })
      assert.throws(() => other.exec("BEGIN IMMEDIATE"), "locked")
      other.close()
      yield* end
    })
  )

  it.scopedLive("fails typed when its COMMIT fails, and leaves nothing open", () =>
    Effect.gen(function* () {
      const { filename, sql } = yield* fresh
      const error = yield* Effect.flip(sql.withTransaction(sql`INSERT INTO child (item) VALUES (99)`))
      assert.instanceOf(error, SqlError)
      yield* sql`INSERT INTO item (id) VALUES (1)`
      assert.deepStrictEqual(outside(filename), [1])
      yield* sql.withTransaction(sql`INSERT INTO item (id) VALUES (2)`)
      assert.deepStrictEqual(outside(filename), [1, 2])
    })
  )

  it.scopedLive("fails when it goes on after SQLite ended it, and commits no part", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      yield* db.write("insert", insert(1))
      const conflict = Effect.ignore(sql`INSERT OR ROLLBACK INTO item (id) VALUES (1)`)
      const stubborn = (rest: Effect.Effect<unknown, SqlError | StorageError>) =>
        sql.withTransaction(
          Effect.zipRight(sql`INSERT INTO item (id) VALUES (2)`, Effect.zipRight(conflict, rest))
        )
      for (const rest of [
        sql`INSERT INTO item (id) VALUES (3)`,
        Effect.ignore(sql`INSERT INTO item (id) VALUES (3)`),
        sql.withTransaction(sql`INSERT INTO item (id) VALUES (3)`)
      ]) {
        assert.instanceOf(yield* Effect.flip(stubborn(rest)), SqlError)
      }
      assert.instanceOf(yield* Effect.flip(stubborn(db.write("insert", insert(3)))), StorageError)
      assert.deepStrictEqual(outside(filename), [1])
    })
  )

  it.scopedLive("has the database to itself", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      const count = Effect.map(sql`SELECT id FROM item`, (rows) => rows.length)
      const alone = sql.withTransaction(
        Effect.gen(function* () {
          const before = yield* count
          yield* sql`INSERT INTO item (body) VALUES ('a')`
          yield* Effect.sleep(2)
          yield* sql`INSERT INTO item (body) VALUES ('b')`
          assert.strictEqual(yield* count, before + 2)
        })
      )
      const write = db.write("insert", () => run("INSERT INTO item (body) VALUES ('c')"))
      const statement = sql`INSERT INTO item (body) VALUES ('d')`
      const work = Effect.zipRight(alone, Effect.zipRight(write, statement))
      yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.repeatN(work, 4), { concurrency: "unbounded" })
      assert.strictEqual(outside(filename).length, 5 * 5 * 4)
    })
  )

  it.scopedLive("nests, one at a time, and undoes only the one that failed", () =>
    Effect.gen(function* () {
      const { filename, sql } = yield* fresh
      const nested = (id: number, fails: boolean) =>
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO item (id) VALUES (${id})`
            yield* Effect.sleep(5)
            yield* sql.withTransaction(sql`INSERT INTO item (id) VALUES (${id + 100})`)
            if (fails) yield* Effect.fail("no")
          })
        )
      yield* sql.withTransaction(
        Effect.forEach([1, 2, 3, 4], (id) => Effect.either(nested(id, id % 2 === 0)), {
          concurrency: "unbounded"
        })
      )
      assert.deepStrictEqual(outside(filename), [1, 3, 101, 103])
    })
  )

  it.scopedLive("is undone by an interrupt", () =>
    Effect.gen(function* () {
      const { filename, sql } = yield* fresh
      const long = sql.withTransaction(Effect.zipRight(sql`INSERT INTO item (id) VALUES (1)`, Effect.never))
      yield* Effect.flip(Effect.timeout(long, 30))
      yield* sql`INSERT INTO item (id) VALUES (2)`
      assert.deepStrictEqual(outside(filename), [2])
    })
  )

  it.scopedLive("cannot be begun by a statement, which would hold everybody", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      assert.instanceOf(yield* Effect.flip(sql`BEGIN`), SqlError)
      yield* db.write("insert", insert(1))
      assert.deepStrictEqual(outside(filename), [1])
    })
  )

  it.scopedLive("may be had by hand through reserve", () =>
    Effect.gen(function* () {
      const { filename, sql } = yield* fresh
      yield* Effect.scoped(
        Effect.gen(function* () {
          const connection = yield* sql.reserve
          yield* connection.executeUnprepared("BEGIN", [], undefined)
          yield* connection.execute("INSERT INTO item (id) VALUES (1)", [], undefined)
        })
      )
      yield* sql`INSERT INTO item (id) VALUES (2)`
      assert.deepStrictEqual(outside(filename), [2])
    })
  )
})

describe("waiting", () => {
  it.scopedLive("ends promptly when it is interrupted, and what was withdrawn never runs", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      const end = yield* holding(sql)
      const waits: ReadonlyArray<Effect.Effect<unknown, SqlError | StorageError>> = [
        sql.withTransaction(sql`SELECT 1`),
        sql`SELECT 1`,
        db.read("ids", ids),
        db.write("insert", insert(1))
      ]
      for (const wait of waits) {
        const [millis] = yield* elapsed(Effect.flip(Effect.timeout(wait, 40)))
        assert.isBelow(millis, 200)
      }
      yield* end
      yield* db.write("insert", insert(2))
      yield* sql`INSERT INTO item (id) VALUES (3)`
      assert.deepStrictEqual(outside(filename), [2, 3])
    })
  )

  it.scopedLive("loses no turn to interrupts that race with the grant", () =>
    Effect.gen(function* () {
      const { db, filename, sql } = yield* fresh
      for (let round = 0; round < 200; round++) {
        const end = yield* holding(sql)
        const first = yield* Effect.fork(sql.withTransaction(sql`SELECT 1`))
        const second = yield* Effect.fork(sql`SELECT 1`)
        yield* Effect.yieldNow()
        yield* Effect.all([end, Fiber.interrupt(first), Fiber.interrupt(second)], {
          concurrency: "unbounded"
        })
      }
      yield* Effect.timeout(db.write("insert", insert(1)), 1000)
      assert.deepStrictEqual(outside(filename), [1])
    })
  )

  it.scopedLive("is first come, first served: two loops of transactions starve nobody", () =>
    Effect.gen(function* () {
      const { db, sql } = yield* fresh
      const loop = Effect.forever(sql.withTransaction(Effect.sleep(5)))
      const loops = yield* Effect.forEach([1, 2], () => Effect.fork(loop))
      yield* Effect.sleep(20)
      const waits: ReadonlyArray<Effect.Effect<unknown, SqlError | StorageError>> = [
        sql`SELECT 1`,
        db.read("ids", ids),
        db.write("insert", insert(1)),
        sql.withTransaction(sql`SELECT 1`)
      ]
      for (const wait of waits) {
        const [millis] = yield* elapsed(Effect.timeout(wait, 2000))
        assert.isBelow(millis, 300)
      }
      yield* Fiber.interruptAll(loops)
    })
  )

  it.scopedLive("keeps the order of those who wait", () =>
    Effect.gen(function* () {
      const { db, sql } = yield* fresh
      const end = yield* holding(sql)
      const order: Array<string> = []
      const note = (name: string) => Effect.sync(() => order.push(name))
      const waits: ReadonlyArray<Effect.Effect<unknown, SqlError | StorageError>> = [
        sql.withTransaction(note("transaction")),
        Effect.zipRight(sql`SELECT 1`, note("statement")),
        Effect.zipRight(db.write("insert", insert(1)), note("write")),
        Effect.zipRight(db.read("ids", ids), note("read"))
      ]
      const fibers = yield* Effect.forEach(waits, (wait) =>
        Effect.zipLeft(Effect.fork(wait), Effect.sleep(5))
      )
      yield* end
      yield* Fiber.joinAll(fibers)
      assert.deepStrictEqual(order, ["transaction", "statement", "write", "read"])
    })
  )
})

describe("the event loop", () => {
  type Service = Effect.Effect.Success<typeof fresh>
  const loops: Record<string, (service: Service) => Effect.Effect<unknown, SqlError | StorageError>> = {
    "plain statements": ({ sql }) => during(1000, sql`SELECT count(*) FROM item`),
    "statements of a transaction": ({ sql }) =>
      sql.withTransaction(during(1000, sql`INSERT INTO item (body) VALUES ('x')`)),
    "short transactions": ({ sql }) => during(1000, sql.withTransaction(Effect.void)),
    reads: ({ db }) => during(1000, db.read("ids", ids)),
    writes: ({ db }) =>
      during(
        1000,
        db.write("touch", function* () {})
      ),
    "joined writes": ({ db, sql }) =>
      sql.withTransaction(
        during(
          1000,
          db.write("insert", () => run("INSERT INTO item (body) VALUES ('x')"))
        )
      )
  }
  for (const [name, loop] of Object.entries(loops)) {
    it.scopedLive(`has its timers while a fiber loops over ${name}`, () =>
      Effect.gen(function* () {
        const service = yield* fresh
        const count = yield* ticks(Effect.ignore(loop(service)))
        assert.isAtLeast(count, 10)
      })
    )
  }
})

describe("requests and work", () => {
  it.scopedLive("have half of the time each while both wait", () =>
    Effect.gen(function* () {
      const { db } = yield* fresh
      const order: Array<string> = []
      const lasting = (name: string) =>
        function* () {
          const end = performance.now() + 1
          while (performance.now() < end);
          order.push(name)
        }
      const times = (count: number, write: Effect.Effect<void, StorageError>) =>
        Effect.replicateEffect(write, count, { concurrency: "unbounded", discard: true })
      yield* Effect.all(
        [times(100, db.write("request", lasting("request"))), times(20, db.work("work", lasting("work")))],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(order.length, 120)
      assert.isBelow(order.lastIndexOf("work"), 60)
      assert.isAbove(order.lastIndexOf("work"), 30)
    })
  )
})

describe("the standard client", () => {
  it.scopedLive("gives bigints to whoever asks, and to nobody else", () =>
    Effect.gen(function* () {
      const { db, sql } = yield* fresh
      yield* db.write("insert", insert(1))
      const query = sql`SELECT id FROM item`
      const safe = Effect.provideService(Client.SafeIntegers, true)
      assert.deepStrictEqual(yield* safe(query), [{ id: 1n }])
      assert.deepStrictEqual(yield* query, [{ id: 1 }])
      assert.deepStrictEqual(yield* safe(query.values), [[1n]])
      assert.deepStrictEqual(yield* query.values, [[1]])
      assert.deepStrictEqual(yield* db.read("ids", ids), [1])
    })
  )

  it.scopedLive(
    "streams, inserts records, answers values and raw results, and says what is wrong typed",
    () =>
      Effect.gen(function* () {
        const { sql, sqlite } = yield* fresh
        yield* sql`INSERT INTO item ${sql.insert([
          { id: 1, body: "a" },
          { id: 2, body: "b" }
        ])}`
        const query = sql`SELECT id, body FROM item ORDER BY id`
        assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(query.stream)), [
          { id: 1, body: "a" },
          { id: 2, body: "b" }
        ])
        assert.deepStrictEqual(yield* query.values, [
          [1, "a"],
          [2, "b"]
        ])
        assert.deepStrictEqual(yield* query.unprepared, yield* query)
        assert.deepStrictEqual(yield* sql`DELETE FROM item`.raw, { changes: 2, lastInsertRowid: 2 })
        assert.instanceOf(yield* Effect.flip(sql`SELECT nonsense`), SqlError)
        assert.instanceOf(yield* Effect.flip(sql`SELECT nonsense`.unprepared), SqlError)
        assert.instanceOf(yield* Effect.flip(sql`SELECT nonsense`.values), SqlError)
        assert.isAbove((yield* sqlite.export).length, 0)
      })
  )

  it.scopedLive("drops the statements it has not used for longest", () =>
    Effect.gen(function* () {
      const { sql } = yield* fresh
      for (let n = 0; n < 500; n++) yield* sql.unsafe(`SELECT ${n % 250} AS n`)
      assert.deepStrictEqual(yield* sql.unsafe("SELECT 7 AS n"), [{ n: 7 }])
    })
  )
})
