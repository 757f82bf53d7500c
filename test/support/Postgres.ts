/** Databases of one test each on the tests' PostgreSQL. */
import { randomBytes } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import { inject } from "vitest"

const connect = (url: string) =>
  Effect.tryPromise(async () => {
    const client = new Pg.Client(url)
    client.on("error", () => {})
    await client.connect()
    return client
  })

/** The server may still be starting. */
const patiently = Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 150 })

const isThere = async (client: Pg.Client, database: string): Promise<void> => {
  const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [database])
  if (rowCount !== 1) throw new Error(`There is no database ${database} yet.`)
}

/** Once for a worker: when there is no server, its tests fail together instead of each after a wait of its own. */
const awake = Effect.suspend(() =>
  patiently(
    Effect.acquireUseRelease(
      connect(inject("postgres")),
      (client) => Effect.tryPromise(() => isThere(client, inject("template"))),
      (client) => Effect.promise(() => client.end())
    )
  )
).pipe(
  Effect.mapError(
    (cause) =>
      new Error("The tests' PostgreSQL does not answer; why is told at the start of the run.", { cause })
  ),
  Effect.cached,
  Effect.runSync
)

const run = (client: Pg.Client, statement: string) => Effect.promise(() => client.query(statement))

const within = <A>(url: string, use: (client: Pg.Client) => Effect.Effect<A>) =>
  Effect.acquireUseRelease(Effect.orDie(patiently(connect(url))), use, (client) =>
    Effect.promise(() => client.end())
  )

const urlOf = (name: string): string => {
  const url = new URL(inject("postgres"))
  url.pathname = `/${name}`
  return url.href
}

const onServer = (statement: string) => within(inject("postgres"), (client) => run(client, statement))

const freshName = (start: string): string => `${start}_${randomBytes(6).toString("hex")}`

const create = (options: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    yield* Effect.orDie(awake)
    const name = freshName("sendwright_test")
    yield* Effect.acquireRelease(onServer(`CREATE DATABASE ${name} ${options}`), () =>
      onServer(`DROP DATABASE ${name} WITH (FORCE)`)
    )
    return urlOf(name)
  }).pipe(Effect.withClock(Clock.make()))

/** A connection until the end of the scope, which has no part in those of a store. */
export const connection = (url: string): Effect.Effect<Pg.Client, never, Scope.Scope> =>
  Effect.acquireRelease(Effect.orDie(connect(url)), (client) =>
    Effect.promise(() => client.end().catch(() => {}))
  )

/** The URL of a database that is empty, and gone after the scope. */
export const freshDatabase: Effect.Effect<string, never, Scope.Scope> = create("")

/**
 * As {@link freshDatabase}, with this build's schema: for tests of what stores do, not of how they boot. Copying files
 * costs the server half of what copying through its log does.
 */
export const migratedDatabase: Effect.Effect<string, never, Scope.Scope> = Effect.suspend(() =>
  create(copied())
)

const copied = (): string => `TEMPLATE ${inject("template")} STRATEGY FILE_COPY`

/** Those of this worker that nobody uses. */
const emptied: Array<string> = []

/** Deletes every row but those that the schema itself wrote. */
const empty = (client: Pg.Client) =>
  Effect.promise(async () => {
    const { rows } = await client.query<{ readonly name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'
        AND tablename NOT IN ('sendwright_migration', 'sendwright_probe')`
    )
    await client.query(`BEGIN; ${rows.map(({ name }) => `DELETE FROM ${name};`).join(" ")} COMMIT`)
  })

/**
 * As {@link migratedDatabase}, for tests that write nothing but rows, through the stores: one after the other has the same
 * database, since to delete the rows takes a tenth of what it takes to make and drop a database. It goes with the template.
 */
export const emptyDatabase: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.gen(function* () {
    yield* Effect.orDie(awake)
    const name = emptied.pop()
    if (name !== undefined) return name
    const fresh = freshName(inject("template"))
    yield* onServer(`CREATE DATABASE ${fresh} ${copied()}`)
    return fresh
  }),
  (name) => Effect.map(within(urlOf(name), empty), () => emptied.push(name))
).pipe(Effect.map(urlOf), Effect.withClock(Clock.make()))
