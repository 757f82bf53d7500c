/** A database that is older than its file says, or elsewhere, is held; and none is that only crashed (docs/adr/0036). */
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, it, vi } from "@effect/vitest"
import SqliteDriver from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Schedule from "effect/Schedule"
import * as Time from "../../../src/domain/Instant.ts"
import { AccountStore } from "../../../src/storage/AccountStore.ts"
import { JobStore } from "../../../src/storage/JobStore.ts"
import { RestoreStore } from "../../../src/storage/RestoreStore.ts"
import * as Sqlite from "../../../src/storage/sqlite/Sqlite.ts"
import * as State from "../../../src/storage/sqlite/State.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import { owner } from "../../StorageSuite/Setup.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-state-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const database = Effect.map(folder, (path) => join(path, "host.db"))

const stateOf = (file: string): string => `${file}.state`

const opened = (filename: string) =>
  Effect.map(Layer.build(Sqlite.layer({ filename })), (context) => ({
    context,
    commit: Effect.suspend(() => Context.get(context, AccountStore).create(Fixtures.account())),
    restores: Context.get(context, RestoreStore)
  }))

type Opened = Effect.Effect.Success<ReturnType<typeof opened>>

const nothing = () => Effect.void

/** Runs a process on the database from its start to its end: some commits, and what else it is to do. */
const run = <A, E>(
  filename: string,
  commits: number,
  body: (process: Opened) => Effect.Effect<A, E>
): Effect.Effect<A, unknown> =>
  Effect.scoped(
    Effect.flatMap(opened(filename), (process) =>
      Effect.zipRight(Effect.repeatN(process.commit, commits - 1), body(process))
    )
  )

/** Why the store is held by a process that starts on it. */
const reason = (filename: string) =>
  Effect.scoped(
    Effect.flatMap(opened(filename), ({ restores }) =>
      Effect.map(restores.quarantine, (quarantine) => quarantine?.reason ?? null)
    )
  )

/** Copies what is in the database now, as a backup beside a running process does. */
const backUp = (filename: string, to: string) =>
  Effect.sync(() => {
    const other = new SqliteDriver(filename, { readonly: true })
    other.exec(`VACUUM INTO '${to}'`)
    other.close()
  })

const restore = (from: string, filename: string) =>
  Effect.sync(() => {
    for (const file of [`${filename}-wal`, `${filename}-shm`]) rmSync(file, { force: true })
    copyFileSync(from, filename)
  })

describe("a SQLite store's state", () => {
  it.scoped("is not written by a claim that found nothing", () =>
    Effect.gen(function* () {
      const filename = yield* database
      const { commit, context } = yield* opened(filename)
      yield* commit
      const before = readFileSync(stateOf(filename), "latin1")
      const claim = { worker: "worker", limit: 10 }
      const found = yield* Context.get(context, JobStore).settleAndClaim({
        now: Time.at(1),
        settlements: [],
        claim
      })
      expect(found.claimed).toEqual([])
      expect(readFileSync(stateOf(filename), "latin1")).toBe(before)
      yield* commit
      expect(readFileSync(stateOf(filename), "latin1")).not.toBe(before)
    })
  )

  it.scoped("is not held that was stopped, or that is new, or of an earlier build", () =>
    Effect.gen(function* () {
      const file = yield* database
      expect(yield* reason(file)).toBe(null)
      expect(statSync(stateOf(file)).mode & 0o777).toBe(0o600)
      yield* run(file, 5, nothing)
      expect(yield* reason(file)).toBe(null)
      // One of an earlier build has no count, and no file.
      const db = new SqliteDriver(file)
      db.exec("DELETE FROM sendwright_state")
      db.close()
      unlinkSync(stateOf(file))
      expect(yield* reason(file)).toBe(null)
    })
  )

  it.scoped("is held when an older copy takes its place, until it is opened", () =>
    Effect.gen(function* () {
      const file = yield* database
      const backup = `${file}.backup`
      yield* run(file, 3, () => backUp(file, backup))
      yield* run(file, 1, nothing)
      yield* restore(backup, file)
      expect(yield* reason(file)).toBe("older")
      // The hold is in the database: the next process has it, too, though the counts agree now.
      expect(yield* reason(file)).toBe("older")
      yield* run(file, 1, ({ restores }) =>
        Effect.gen(function* () {
          while (!(yield* restores.open({ way: "unknown", now: Fixtures.now }))) yield* Effect.void
          yield* restores.end
        })
      )
      expect(yield* reason(file)).toBe(null)
    })
  )

  it.scoped("is held when a copy takes its place that is one commit old, by the process that made it", () =>
    Effect.gen(function* () {
      const file = yield* database
      const backup = `${file}.backup`
      yield* run(file, 2, (process) => Effect.zipRight(backUp(file, backup), process.commit))
      yield* restore(backup, file)
      expect(yield* reason(file)).toBe("older")
    })
  )

  it.scoped("is not held after a death between a commit and the file", () =>
    Effect.gen(function* () {
      const file = yield* database
      const before = `${file}.before`
      // At each commit the file of the one before is what the dead process leaves.
      yield* run(file, 1, nothing)
      for (let at = 0; at < 4; at += 1) {
        yield* run(file, at + 1, (process) =>
          Effect.zipRight(
            Effect.sync(() => copyFileSync(stateOf(file), before)),
            process.commit
          )
        )
        copyFileSync(before, stateOf(file))
        expect(yield* reason(file)).toBe(null)
      }
    })
  )

  it.scoped("is not held after a death between its first file and its first commit", () =>
    Effect.gen(function* () {
      const file = yield* database
      yield* run(file, 1, nothing)
      const { store = "" } = State.parse(readFileSync(stateOf(file), "latin1")) ?? {}
      const db = new SqliteDriver(file)
      db.exec("DELETE FROM sendwright_state")
      db.close()
      const zero = "0".repeat(14)
      writeFileSync(stateOf(file), `${zero} ${store} ${zero}`.padEnd(63).concat("\n"))
      expect(yield* reason(file)).toBe(null)
      yield* run(file, 2, nothing)
      expect(yield* reason(file)).toBe(null)
    })
  )

  it.scoped("is not held after a death between its first commit and the file", () =>
    Effect.gen(function* () {
      const file = yield* database
      expect(yield* reason(file)).toBe(null)
      const { store = "" } = State.parse(readFileSync(stateOf(file), "latin1")) ?? {}
      const zero = "0".repeat(14)
      writeFileSync(stateOf(file), `${zero} ${store} ${zero}`.padEnd(63).concat("\n"))
      expect(yield* reason(file)).toBe(null)
    })
  )

  it.scoped("is where a link leads to, though nothing is there yet", () =>
    Effect.gen(function* () {
      const path = yield* folder
      mkdirSync(join(path, "data"))
      const link = join(path, "host.db")
      symlinkSync(join(path, "data", "host.db"), link)
      expect(yield* reason(link)).toBe(null)
      expect(readdirSync(path)).toEqual(["data", "host.db"])
      expect(readdirSync(join(path, "data"))).toContain("host.db.state")
      expect(yield* reason(link)).toBe(null)
    })
  )

  it.scoped("is held where its file is not, or is of another store, or cannot be read", () =>
    Effect.gen(function* () {
      const file = yield* database
      const other = yield* database
      yield* run(file, 3, nothing)
      yield* run(other, 9, nothing)
      const elsewhere = `${file}.elsewhere.db`
      copyFileSync(file, elsewhere)
      expect(yield* reason(elsewhere)).toBe("elsewhere")
      expect(existsSync(stateOf(elsewhere))).toBe(true)

      const [ours, theirs] = [readFileSync(stateOf(file)), readFileSync(stateOf(other))]
      const damaged = Buffer.from(ours)
      damaged.write("damaged", 20)
      damaged.write("damaged", 84)
      for (const content of [theirs, damaged, Buffer.alloc(0)]) {
        const copy = `${file}.${content.length}.${content[0]}.db`
        copyFileSync(file, copy)
        writeFileSync(stateOf(copy), content)
        expect(yield* reason(copy)).toBe("elsewhere")
      }
    })
  )

  it.scoped("cannot be told from a copy that has the file of its time", () =>
    Effect.gen(function* () {
      const file = yield* database
      yield* run(file, 3, nothing)
      const elsewhere = `${file}.elsewhere.db`
      copyFileSync(file, elsewhere)
      copyFileSync(stateOf(file), stateOf(elsewhere))
      yield* run(file, 3, nothing)
      expect(yield* reason(elsewhere)).toBe(null)
    })
  )

  it.scoped("knows its count after a write that was cut", () =>
    Effect.gen(function* () {
      const file = yield* database
      yield* run(file, 4, nothing)
      const whole = readFileSync(stateOf(file), "latin1")
      const { commits = 0 } = State.parse(whole) ?? {}
      expect(commits).toBeGreaterThan(3)
      for (let cut = 0; cut < 63; cut += 1) {
        // The newer place is written over the older one.
        const place = ((commits + 1) % 2) * 64
        const newer = whole.slice(64 - place, 128 - place).replaceAll(String(commits), String(commits + 1))
        const written = whole.slice(0, place) + newer.slice(0, cut) + whole.slice(place + cut)
        expect(State.parse(written)?.commits).toBeGreaterThanOrEqual(commits)
      }
    })
  )

  it.scopedLive("is written again when its file is removed under a process", () =>
    Effect.gen(function* () {
      const file = yield* database
      const process = yield* opened(file)
      yield* process.commit
      unlinkSync(stateOf(file))
      yield* Effect.repeat(process.commit, {
        schedule: Schedule.spaced("50 millis"),
        until: () => existsSync(stateOf(file))
      }).pipe(Effect.timeout("5 seconds"))
      yield* process.commit
      expect(State.parse(readFileSync(stateOf(file), "latin1"))?.commits).toBeGreaterThan(3)
    })
  )

  it.scopedLive("writes to no other file while its own cannot be made again", () =>
    Effect.gen(function* () {
      const file = yield* database
      const process = yield* opened(file)
      unlinkSync(stateOf(file))
      mkdirSync(stateOf(file))
      // Each file that is opened meanwhile takes the number of one that was closed.
      const other = `${file}.other`
      writeFileSync(other, "theirs")
      yield* Effect.repeat(process.commit, { schedule: Schedule.spaced("50 millis"), times: 25 })
      const descriptor = openSync(other, "r+")
      yield* process.commit
      yield* process.commit
      closeSync(descriptor)
      expect(readFileSync(other, "utf8")).toBe("theirs")
      rmdirSync(stateOf(file))
      yield* Effect.repeat(process.commit, {
        schedule: Schedule.spaced("50 millis"),
        until: () => existsSync(stateOf(file))
      }).pipe(Effect.timeout("5 seconds"))
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.scoped("is made again as a whole, and says once that it cannot be, and once that it is", () =>
    Effect.gen(function* () {
      const file = yield* database
      yield* run(file, 1, nothing)
      const told: Array<string> = []
      const db = new SqliteDriver(file)
      const state = State.open(db, {
        file: stateOf(file),
        newStore: "",
        now: Fixtures.now,
        lose: (reason) => {
          throw new Error(reason)
        },
        onUnwritten: () => told.push("unwritten"),
        onWritten: () => told.push("written")
      })
      const clock = vi.spyOn(performance, "now")
      let moment = performance.now()
      const commit = (): void => {
        // A look at the file is due.
        moment += 60_000
        clock.mockReturnValue(moment)
        db.transaction(state.count).immediate()
        state.committed()
      }
      unlinkSync(stateOf(file))
      mkdirSync(stateOf(file))
      for (let times = 0; times < 5; times += 1) {
        commit()
        // Another one goes to the file of before, which is there still.
        clock.mockReturnValue(moment)
        db.transaction(state.count).immediate()
        state.committed()
      }
      expect(told).toEqual(["unwritten"])
      rmdirSync(stateOf(file))
      writeFileSync(stateOf(file), "another file")
      const another = openSync(stateOf(file), "r")
      commit()
      expect(told).toEqual(["unwritten", "written"])
      clock.mockRestore()
      // A process that dies meanwhile leaves either.
      expect(readFileSync(another, "latin1")).toBe("another file")
      closeSync(another)
      expect(State.parse(readFileSync(stateOf(file), "latin1"))?.commits).toBeGreaterThan(10)
      expect(readdirSync(dirname(file)).filter((name) => name.endsWith(".new"))).toEqual([])
      state.close()
      db.close()
    })
  )

  it.scopedLive("is refused when its database is overwritten under a process, and held then", () =>
    Effect.gen(function* () {
      const file = yield* database
      const backup = `${file}.backup`
      yield* run(file, 2, () => backUp(file, backup))
      yield* run(file, 3, (process) =>
        Effect.gen(function* () {
          const other = new SqliteDriver(file)
          other.exec("UPDATE sendwright_state SET commits = commits - 2")
          other.close()
          const error = yield* Effect.flip(process.commit)
          expect(error.operation).toBe(
            "use a database file that was removed or replaced, or taken by another process"
          )
        })
      )
      expect(yield* reason(file)).toBe("older")
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.scoped("is not lost when a transaction is committed that a statement ended", () =>
    Effect.gen(function* () {
      const file = yield* database
      const { commit, context } = yield* opened(file)
      const sql = Context.get(context, SqlClient)
      yield* sql`CREATE TABLE parent (id INTEGER PRIMARY KEY)`
      yield* sql`CREATE TABLE child (parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)`
      expect(yield* Effect.flip(sql.withTransaction(sql.unsafe("ROLLBACK")))).toBeInstanceOf(SqlError)
      yield* Effect.flip(sql.withTransaction(sql`INSERT INTO child VALUES (7)`))
      yield* commit
    })
  )

  it.scoped("opens what was accepted while it was held, where it is restored from a copy of that time", () =>
    Effect.gen(function* () {
      const file = yield* database
      const [first, second] = [`${file}.first`, `${file}.second`]
      const send = (process: Opened) =>
        Effect.gen(function* () {
          const command = Fixtures.send(yield* owner)
          yield* (yield* JobStore).accept(command)
        }).pipe(Effect.provide(process.context))
      yield* run(file, 1, () => backUp(file, first))
      yield* run(file, 1, nothing)
      yield* restore(first, file)
      yield* run(file, 1, (process) => Effect.zipRight(send(process), backUp(file, second)))
      yield* run(file, 1, nothing)
      yield* restore(second, file)
      const count = yield* run(file, 1, ({ restores }) => restores.count({ way: "unknown", after: null }))
      expect(count).toMatchObject({ counts: { unknown: 1 } })
    })
  )

  it.scoped("has no file in memory", () =>
    Effect.gen(function* () {
      expect(yield* reason(":memory:")).toBe(null)
      expect(existsSync(":memory:.state")).toBe(false)
    })
  )
})
