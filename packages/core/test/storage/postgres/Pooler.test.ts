/** What an address may lead to: a pooler, which may share connections, and servers that are not PostgreSQL or lock nothing. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import Pg from "pg"
import { inject } from "vitest"
import * as Pooler from "../../../../../test/support/Pooler.ts"
import { connection, emptyDatabase, freshDatabase } from "../../../../../test/support/Postgres.ts"
import { JobStore } from "../../../src/storage/JobStore.ts"
import * as Postgres from "../../../src/storage/postgres/Postgres.ts"
import * as Server from "../../../src/storage/postgres/Server.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import * as accept from "../../StorageSuite/accept.ts"
import * as dispatch from "../../StorageSuite/dispatch.ts"
import * as leases from "../../StorageSuite/leases.ts"
import { owner } from "../../StorageSuite/Setup.ts"
import * as webhooks from "../../StorageSuite/webhooks.ts"

const pooler = (options: Pooler.Options) =>
  Effect.acquireRelease(
    Effect.promise(() => Pooler.open(inject("postgres"), options)),
    ({ close }) => Effect.promise(close)
  )

const stores = (url: string) => Postgres.layer({ url: Redacted.make(url) })

const behind = Layer.unwrapScoped(
  Effect.gen(function* () {
    const url = yield* emptyDatabase
    return stores((yield* pooler({ size: 3 })).urlOf(url))
  })
)

describe("behind a pooler that shares connections", () => {
  accept.suite(behind)
  dispatch.suite(behind)
  leases.suite(behind)
  webhooks.suite(behind)
})

const isShared = (url: string) =>
  Effect.map(Postgres.look({ url: Redacted.make(url) }), ({ server }) => server.isShared)

const accepting = Effect.gen(function* () {
  expect(yield* (yield* JobStore).accept(Fixtures.send(yield* owner))).toMatchObject({ _tag: "Accepted" })
})

const lines = (told: Array<string>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => told.push(String(message)))
  )

const line =
  "A pooler shares the database's connections between transactions: statements are not prepared, and the commits of an app's transactions are found by polling"

/** The names of the statements that the server's connections have, and the settings that are not as at their begin. */
const left = (client: Pg.Client) =>
  Effect.promise(async () => {
    const { rows } = await client.query<{ readonly name: string }>(
      `SELECT name FROM pg_prepared_statements
       UNION ALL SELECT name FROM pg_settings WHERE name LIKE '%timeout' AND source = 'session'
       UNION ALL SELECT pg_listening_channels()`
    )
    return rows.map(({ name }) => name)
  })

describe("the look at an address", () => {
  const ways: ReadonlyArray<Pooler.Options> = [
    { size: 2 },
    { size: 5 },
    { size: 2, inTurn: true },
    { size: 5, inTurn: true }
  ]

  it.scopedLive.each(ways)("tells a pooler that shares connections: %j", (options) =>
    Effect.gen(function* () {
      const url = (yield* pooler(options)).urlOf(yield* emptyDatabase)
      // Others have connections of the pooler's, too.
      const others = yield* Effect.all([connection(url), connection(url)])
      for (const other of others) yield* Effect.promise(() => other.query("SELECT 1"))
      expect(yield* isShared(url)).toBe(true)
    })
  )

  it.scopedLive("takes neither a server for one, nor a pooler of sessions", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const session = yield* pooler({ size: 20, isShared: false })
      for (const each of [url, session.urlOf(url)]) expect(yield* isShared(each)).toBe(false)
      const told: Array<string> = []
      yield* Effect.provide(accepting, Layer.provide(stores(session.urlOf(url)), lines(told)))
      expect(told).not.toContain(line)
    })
  )

  it.scopedLive("says once that there is one, and leaves nothing on its connections", () =>
    Effect.gen(function* () {
      const database = yield* emptyDatabase
      const url = (yield* pooler({ size: 1 })).urlOf(database)
      const pool = new Pg.Pool({ connectionString: url, max: 4 })
      yield* Effect.addFinalizer(() => Effect.promise(() => pool.end()))
      const other = yield* connection(url)
      for (const each of [stores(url), Postgres.layer({ pool })]) {
        const told: Array<string> = []
        yield* Effect.provide(accepting, Layer.provide(each, lines(told)))
        expect(told.filter((each) => each === line)).toHaveLength(1)
        expect(yield* left(other)).toEqual([])
      }
    })
  )

  it.scopedLive("finds one that comes later by what its connections do not know", () =>
    Effect.gen(function* () {
      const { share, urlOf } = yield* pooler({ size: 20, isShared: false })
      const told: Array<string> = []
      const url = urlOf(yield* emptyDatabase)
      const context = yield* Layer.build(Layer.provide(stores(url), lines(told)))
      yield* Effect.provide(accepting, context)
      expect(told).not.toContain(line)
      share()
      yield* Effect.replicateEffect(Effect.provide(accepting, context), 8, { concurrency: "unbounded" })
      expect(told.filter((each) => each === line)).toHaveLength(1)
    })
  )
})

/** A database whose own functions stand before those of the server. */
const pretending = (definition: string) =>
  Effect.gen(function* () {
    const url = yield* freshDatabase
    const client = yield* connection(url)
    yield* Effect.promise(async () => {
      await client.query(`CREATE FUNCTION public.${definition}`)
      const name = new URL(url).pathname.slice(1)
      await client.query(`ALTER DATABASE ${name} SET search_path = public, pg_catalog`)
    })
    return { client, url }
  })

/** What each way to have a store, or to look at one, says. */
const refusals = (url: string) =>
  Effect.gen(function* () {
    const pool = new Pg.Pool({ connectionString: url })
    yield* Effect.addFinalizer(() => Effect.promise(() => pool.end()))
    const place = { url: Redacted.make(url) }
    const opening = [place, { pool }, { pool, migrate: true }].map((options) =>
      Effect.scoped(Layer.build(Postgres.layer(options)))
    )
    const all = [...opening, Postgres.migrate(place), Postgres.look({ pool })]
    return yield* Effect.forEach(all, (way) =>
      Effect.map(Effect.flip(Effect.asVoid(way)), ({ message }) => message)
    )
  })

const tables = (client: Pg.Client) =>
  Effect.promise(() => client.query("SELECT FROM pg_tables WHERE schemaname = 'public'")).pipe(
    Effect.map(({ rowCount }) => rowCount)
  )

describe("a server", () => {
  it.scopedLive("that is not PostgreSQL is refused by name, and nothing is made there", () =>
    Effect.gen(function* () {
      const { client, url } = yield* pretending(
        "version() RETURNS text LANGUAGE sql RETURN 'CockroachDB CCL v25.4.0 (x86_64-pc-linux-gnu)'"
      )
      for (const message of yield* refusals(url))
        expect(message).toContain(
          "The server is CockroachDB, and not PostgreSQL: it does not keep the promises that Sendwright's commits rest on. Name a PostgreSQL server in its place, or a SQLite file."
        )
      expect(yield* tables(client)).toBe(0)
    })
  )

  const failing = "LANGUAGE plpgsql AS 'BEGIN RAISE feature_not_supported; END'"
  it.scopedLive.each<readonly [string, string]>([
    [
      "gives its advisory locks to two",
      "pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql RETURN true"
    ],
    ["has none", `pg_advisory_xact_lock(bigint) RETURNS void ${failing}`]
  ])("that %s is refused, and nothing is made there", ([, definition]) =>
    Effect.gen(function* () {
      const { client, url } = yield* pretending(definition)
      for (const message of yield* refusals(url))
        expect(message).toContain("do not exclude: two transactions had the same one at once")
      expect(yield* tables(client)).toBe(0)
    })
  )

  it.scopedLive("behind a pooler with one connection proves its locks by its own list of them", () =>
    Effect.gen(function* () {
      const { urlOf } = yield* pooler({ size: 1 })
      const { url } = yield* pretending(
        "version() RETURNS text LANGUAGE sql RETURN 'PostgreSQL 17.0 on a pooler'"
      )
      expect(yield* isShared(urlOf(url))).toBe(true)
      const none = yield* pretending("pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS ''")
      expect(yield* Effect.flip(isShared(urlOf(none.url)))).toMatchObject({ _tag: "StorageError" })
    })
  )

  it.each<readonly [string, string | undefined]>([
    ["PostgreSQL 17.5 on x86_64-pc-linux-gnu, compiled by gcc", undefined],
    ["PostgreSQL 14.12 (Debian 14.12-1.pgdg120+1) on aarch64", undefined],
    ["PostgreSQL 16.3 - Percona Distribution on x86_64", undefined],
    ["PostgreSQL 18beta1 on x86_64", undefined],
    ["EnterpriseDB 11.22.32 on x86_64", undefined],
    ["CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)", "CockroachDB"],
    ["PostgreSQL 15.2-YB-2.25.1.0-b0 on x86_64-pc-linux-gnu", "YugabyteDB"],
    ["PostgreSQL 8.0.2 on i686-pc-linux-gnu, Redshift 1.0.38094", "Amazon Redshift"],
    ["PostgreSQL 12.12 (Greenplum Database 7.0.0) on x86_64", "Greenplum"],
    ["PostgreSQL 13.14.0-RisingWave-2.0.1", "RisingWave"],
    ["CrateDB 5.7.2 (built abcdef)", "CrateDB"],
    ["", "unknown"]
  ])("of the version %j is told from PostgreSQL", (told, name) => {
    expect(Server.otherThanPostgres(told)).toBe(name)
  })
})
