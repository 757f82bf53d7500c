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

const create = (options: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = inject("postgres")
    yield* Effect.orDie(awake)
    const name = `sendwright_test_${randomBytes(6).toString("hex")}`
    const within = (statement: string) =>
      Effect.acquireUseRelease(
        Effect.orDie(patiently(connect(server))),
        (client) => run(client, statement),
        (client) => Effect.promise(() => client.end())
      )
    yield* Effect.acquireRelease(within(`CREATE DATABASE ${name} ${options}`), () =>
      within(`DROP DATABASE ${name} WITH (FORCE)`)
    )
    const url = new URL(server)
    url.pathname = `/${name}`
    return url.href
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
  create(`TEMPLATE ${inject("template")} STRATEGY FILE_COPY`)
)
