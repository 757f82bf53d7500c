/** A database that is elsewhere than it was is held, by whichever connection reaches it first (docs/adr/0036). */
import { randomBytes } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import Pg from "pg"
import { connection, migratedDatabase } from "../../../../../test/support/Postgres.ts"
import { AccountStore } from "../../../src/storage/AccountStore.ts"
import { JobStore } from "../../../src/storage/JobStore.ts"
import * as Postgres from "../../../src/storage/postgres/Postgres.ts"
import { RestoreStore } from "../../../src/storage/RestoreStore.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import { owner } from "../../StorageSuite/Setup.ts"

const opened = (url: string, onFailover: "tell" | "hold" = "tell") =>
  Effect.map(Layer.build(Postgres.layer({ url: Redacted.make(url), onFailover })), (context) => ({
    context,
    quarantine: Context.get(context, RestoreStore).quarantine
  }))

/** Why a process that starts on it finds the store held. */
const reason = (url: string, onFailover: "tell" | "hold" = "tell") =>
  Effect.scoped(
    Effect.flatMap(opened(url, onFailover), ({ quarantine }) =>
      Effect.map(quarantine, (found) => found?.reason ?? null)
    )
  )

/** Says something to the server, over a connection of its own. */
const say = (url: string, ...statements: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const client = new Pg.Client(url)
    client.on("error", () => {})
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  })

const named = (url: string, database: string): string => {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

const release = "DELETE FROM sendwright_quarantine"

describe("a PostgreSQL store's instance", () => {
  it.scopedLive("is looked at over each connection of an app's pool, when it is used first", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const pool = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const pool = new Pg.Pool({ connectionString: url, max: 1 })
          pool.on("error", () => {})
          return pool
        }),
        (pool) => Effect.promise(() => pool.end())
      )
      const context = yield* Layer.build(Postgres.layer({ pool }))
      const { quarantine } = Context.get(context, RestoreStore)
      expect(yield* quarantine).toBe(null)
      yield* say(url, "UPDATE sendwright_instance SET system = '1'")
      expect(yield* quarantine).toBe(null)
      // A restore ends all connections.
      yield* say(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
      )
      const again = Effect.retry(quarantine, { times: 20, schedule: Schedule.spaced("20 millis") })
      expect((yield* again)?.reason).toBe("elsewhere")
    })
  )

  it.scopedLive("is not held where it was, however often it is opened", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      expect(yield* reason(url)).toBe(null)
      expect(yield* reason(url)).toBe(null)
      expect(yield* reason(url, "hold")).toBe(null)
    })
  )

  it.scopedLive("is held in a copy of the database, and in one that a dump is loaded into", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      expect(yield* reason(url)).toBe(null)
      const copy = `sendwright_test_${randomBytes(6).toString("hex")}`
      const source = new URL(url).pathname.slice(1)
      const postgres = named(url, "postgres")
      yield* Effect.acquireRelease(say(postgres, `CREATE DATABASE ${copy} TEMPLATE ${source}`), () =>
        say(postgres, `DROP DATABASE ${copy} WITH (FORCE)`)
      )
      expect(yield* reason(named(url, copy))).toBe("elsewhere")
      expect(yield* reason(url)).toBe(null)
      // As `pg_restore --clean` does.
      yield* say(
        url,
        "CREATE TABLE other (LIKE sendwright_instance INCLUDING ALL)",
        "INSERT INTO other SELECT * FROM sendwright_instance",
        "DROP TABLE sendwright_instance",
        "ALTER TABLE other RENAME TO sendwright_instance"
      )
      expect(yield* reason(url)).toBe("elsewhere")
      yield* say(url, release)
      expect(yield* reason(url)).toBe(null)
    })
  )

  it.scopedLive("is held on another server", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      expect(yield* reason(url)).toBe(null)
      yield* say(url, "UPDATE sendwright_instance SET system = '1'")
      expect(yield* reason(url)).toBe("elsewhere")
      yield* say(url, release)
      expect(yield* reason(url)).toBe(null)
    })
  )

  it.scopedLive("tells a new timeline alone, and is held for it where that is asked", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const told: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => told.push(String(message)))
      )
      const failOver = say(url, "UPDATE sendwright_instance SET timeline = timeline - 1")
      expect(yield* reason(url)).toBe(null)
      yield* failOver
      expect(yield* Effect.provide(reason(url), logger)).toBe(null)
      expect(told.filter((line) => line.includes("timeline"))).toHaveLength(1)
      // It was told, and is remembered.
      expect(yield* Effect.provide(reason(url, "hold"), logger)).toBe(null)
      expect(told.filter((line) => line.includes("timeline"))).toHaveLength(1)
      yield* failOver
      expect(yield* reason(url, "hold")).toBe("failover")
    })
  )

  it.scopedLive("compares what a role may read, and forgets nothing that it may not", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const role = `sendwright_test_${randomBytes(6).toString("hex")}`
      yield* Effect.acquireRelease(
        say(
          url,
          `CREATE ROLE ${role}`,
          `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`,
          `GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
          `GRANT ALL ON SCHEMA public TO ${role}`,
          "REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC",
          "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC"
        ),
        () => say(url, `DROP OWNED BY ${role}`, `DROP ROLE ${role}`)
      )
      const limited = new URL(url)
      limited.searchParams.set("options", `-c role=${role}`)
      expect(yield* reason(url)).toBe(null)
      expect(yield* reason(limited.href)).toBe(null)
      expect(yield* reason(url)).toBe(null)
      yield* say(url, "UPDATE sendwright_instance SET system = '1', timeline = 0")
      expect(yield* reason(limited.href, "hold")).toBe(null)
      expect(yield* reason(url)).toBe("elsewhere")
      yield* say(url, release, "UPDATE sendwright_instance SET database = '1'")
      expect(yield* reason(limited.href)).toBe("elsewhere")
    })
  )

  it.scopedLive("is held anew while an operator opens what was held before, and not opened with it", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const other = yield* connection(url)
      const says = (text: string) => Effect.promise(() => other.query(text))
      const waiting = Effect.map(
        says(
          "SELECT 1 FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ),
        ({ rowCount }) => rowCount
      )
      const { context } = yield* opened(url)
      const program = Effect.gen(function* () {
        const store = yield* RestoreStore
        yield* (yield* JobStore).accept(Fixtures.send(yield* owner))
        yield* store.place({ now: Fixtures.now })
        yield* says("BEGIN")
        yield* says("LOCK TABLE sendwright_recipient IN EXCLUSIVE MODE")
        const opening = yield* Effect.fork(store.open({ way: "unknown", now: Fixtures.now }))
        yield* Effect.repeat(waiting, { until: (count) => count === 1 })
        yield* say(url, "UPDATE sendwright_instance SET system = '1'")
        const finding = yield* Effect.fork(reason(url))
        yield* Effect.repeat(Effect.all([waiting, Fiber.poll(finding)]), {
          until: ([count, found]) => count === 2 || Option.isSome(found)
        })
        yield* says("COMMIT")
        yield* Fiber.join(opening)
        expect(yield* Fiber.join(finding)).toBe("elsewhere")
        expect(yield* store.quarantine).toMatchObject({ reason: "elsewhere", counts: { jobs: 0 } })
      })
      yield* Effect.provide(program, context)
    })
  )

  it.scopedLive("is held by a process that outlives the restore, before it does anything else", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const { context, quarantine } = yield* opened(url)
      const program = Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* jobs.accept(Fixtures.send(who))
        yield* say(
          url,
          "UPDATE sendwright_instance SET system = '1'",
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        // The connections that were open are found broken first.
        const after = Fixtures.send(who)
        yield* Effect.retry(jobs.accept(after), { times: 20 })
        expect((yield* quarantine)?.reason).toBe("elsewhere")
        const restores = yield* RestoreStore
        const count = yield* restores.count({ way: "unknown", after: null })
        expect(count).toMatchObject({ counts: { jobs: 1, unknown: 1 } })
        const command = { now: Fixtures.now, settlements: [], claim: { worker: "w", limit: 10 } }
        expect((yield* jobs.settleAndClaim(command)).claimed).toEqual([])
        expect(yield* (yield* AccountStore).find(who.accountId)).not.toBe(null)
      })
      yield* Effect.provide(program, context)
    })
  )
})
