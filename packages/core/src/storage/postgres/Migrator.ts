/** Migrations on PostgreSQL: one transaction under an advisory lock, on a connection of its own. */

import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import Pg from "pg"
import * as Time from "../../domain/Instant.ts"
import type { Program } from "../Program.ts"
import { changes, get, script } from "../Program.ts"
import { StorageError } from "../StorageError.ts"
import type { Driver, Migration } from "../sql/Migrations.ts"
import { confirm as confirmAll, MigrationError, migrate as migrateAll, verify } from "../sql/Migrations.ts"
import { configOf, type Place } from "./Config.ts"
import { table } from "./MigrationSql.ts"
import { isLockTimeout, makePrepare, perform, pipelineOf, Refused } from "./PipelinedConnection.ts"
import type { Server } from "./Server.ts"
import { look, Unopened } from "./Server.ts"

/** The name of a build's connections, by its last migration. */
export const applicationName = (migrations: ReadonlyArray<Migration>): string =>
  `sendwright ${migrations.length}`

/** Connections of other users show no names. Those of the first builds had no number. */
export const older = `SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE datname = current_database() AND application_name ~ '^sendwright( [0-9]{1,9}|)$'
    AND coalesce(nullif(substr(application_name, 12), ''), '0')::int < ?`

/** A connection whose process has ended is seen for a moment longer. */
const looks = { times: 10, pause: "SELECT pg_sleep(0.2), pg_stat_clear_snapshot()" }

function* countOlder(id: number): Program<number> {
  let count = 0
  for (let look = 1; look <= looks.times; look++) {
    count = Number((yield* get(older, id))?.["count"])
    if (count === 0) break
    yield* get(looks.pause)
  }
  return count
}

/**
 * A statement that changes a table waits for all who have read it in an open transaction, such as a backup, and who
 * comes later waits behind it. So it waits for a moment, lets the others by, and is tried again.
 */
const tables = { lockTimeout: "1s", pause: "4 seconds", tries: 12 } as const

function* apply(statements: string): Program<boolean> {
  yield* script(`SET LOCAL lock_timeout = '${tables.lockTimeout}'`)
  yield* script(statements)
  try {
    // Refused outside a transaction.
    yield* changes("SAVEPOINT sendwright_migration")
    return true
  } catch {
    return false
  }
}

const driver: Driver = { table, apply, countOlder }

const settings = `SELECT current_setting('synchronous_commit') AS commits, current_setting('server_encoding') AS encoding`

/** The next step of the operator, by the code of the system or the server. */
const advice: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Nothing listens there: start PostgreSQL, or correct host and port.",
  ENOTFOUND: "Correct the host.",
  "28P01": "Correct user and password.",
  "28000": "Allow this user from here (pg_hba.conf), or correct user and password.",
  "3D000": "Create the database, or correct its name.",
  "42501": "Grant this user the rights (GRANT), or give another.",
  "53300": "Raise max_connections, or end other connections.",
  "57P03": "The server starts or stops: wait for it."
}

const otherwise = "Look whether this process reaches the server, and what the server's log says."

/** Where several addresses were tried, the error has one of each and no words of its own. */
const innermost = (cause: unknown): unknown =>
  cause instanceof AggregateError && cause.errors.length > 0 ? cause.errors[0] : cause

/** @param connection where it goes: what the address says, and what the driver completes it by */
const unopened = (
  { database, host, port, user }: Pick<Pg.Client, "database" | "host" | "port" | "user">,
  cause: unknown
): Unopened => {
  const error = innermost(cause)
  const words = (error instanceof Error ? error.message : String(error)).split("\n")[0]
  const code = Predicate.hasProperty(error, "code") ? String(error.code) : ""
  return new Unopened(
    `PostgreSQL at ${host}:${port} (database ${database}, user ${user}) cannot be opened: ${words}. ${advice[code] ?? otherwise}`,
    { cause }
  )
}

/** Not with the driver's error, which has the address and so the password. */
const unreadable = () =>
  new Unopened(
    "The address of the database cannot be read. It is postgres://<user>:<password>@<host>:<port>/<database>, with what is special in user and password percent-encoded."
  )

/** A commit that was answered must survive a power cut, and text must come back as it was. */
const checkSettings = async (client: Pg.Client): Promise<void> => {
  const { rows } = await client.query<{ readonly commits: string; readonly encoding: string }>(settings)
  if (rows[0]?.commits === "off") {
    throw new Unopened(
      "synchronous_commit is off for this user or database: what is answered could be lost. Set it on, for example by ALTER ROLE … SET synchronous_commit = on."
    )
  }
  if (rows[0]?.encoding !== "UTF8") {
    throw new Unopened(`The database's encoding is ${rows[0]?.encoding}. Create it with ENCODING 'UTF8'.`)
  }
}

const connectionTo = (place: Place): Pg.Client => {
  try {
    return new Pg.Client({ ...configOf(place, "sendwright migration"), pipeline: true })
  } catch {
    throw unreadable()
  }
}

const connected = async <A>(place: Place, step: (client: Pg.Client) => Promise<A>): Promise<A> => {
  const client = connectionTo(place)
  client.on("error", () => {})
  try {
    await client.connect()
  } catch (cause) {
    throw unopened(client, cause)
  }
  try {
    return await step(client)
  } finally {
    // Ends what is open, too.
    await client.end().catch(() => {})
  }
}

/** On a connection of its own without time-outs: who boots while another migrates waits for it. */
export const onConnection = <A>(
  place: Place,
  step: (client: Pg.Client, server: Server) => Promise<A>
): Promise<A> =>
  connected(place, async (client) => {
    const server = await connected(place, (other) => look(client, other))
    await checkSettings(client)
    return await step(client, server)
  })

const prepareDatabase = async (
  client: Pg.Client,
  server: Server,
  migrations: ReadonlyArray<Migration>,
  now: Time.Instant
): Promise<Server> => {
  await client.query("BEGIN")
  await client.query("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended('sendwright migration', 0))")
  const line = pipelineOf(client, makePrepare(server))
  await perform(migrateAll(migrations, now, driver), line)
  await client.query("COMMIT")
  await perform(verify(migrations), line)
  return server
}

export const attempt = <A>(step: () => Promise<A>): Effect.Effect<A, MigrationError | StorageError> =>
  Effect.tryPromise({
    try: step,
    catch: (cause) => {
      if (cause instanceof MigrationError) return cause
      if (cause instanceof Unopened)
        return new StorageError({ operation: "open", cause: cause.cause, reason: cause.message })
      return new StorageError({ operation: "open", cause: cause instanceof Refused ? cause.cause : cause })
    }
  })

export const hasHistory = "SELECT 1 AS found WHERE to_regclass('sendwright_migration') IS NOT NULL"

/** Fails where the database has not this build's schema. Changes nothing. */
export const confirm = (place: Place, migrations: ReadonlyArray<Migration>) =>
  attempt(() =>
    onConnection(place, async (client, server) => {
      await perform(confirmAll(migrations, hasHistory), pipelineOf(client, makePrepare(server)))
      return server
    })
  )

const isLockedOut = (error: MigrationError | StorageError): error is MigrationError =>
  error instanceof MigrationError && isLockTimeout(error.cause)

export const migrate = (place: Place, migrations: ReadonlyArray<Migration>) =>
  Effect.flatMap(Time.now, (now) =>
    attempt(() => onConnection(place, (client, server) => prepareDatabase(client, server, migrations, now)))
  ).pipe(
    Effect.tapError((error) =>
      isLockedOut(error)
        ? Effect.logWarning(
            `Migration "${error.migration}" waits for a transaction that has read a table which it changes; it is tried for a minute`
          )
        : Effect.void
    ),
    Effect.retry({ while: isLockedOut, times: tables.tries - 1, schedule: Schedule.spaced(tables.pause) }),
    Effect.mapError((error) =>
      isLockedOut(error)
        ? new MigrationError({
            migration: error.migration,
            reason:
              "a transaction that has read a table which it changes stayed open for a minute. Nothing was changed. Let it end, a backup, say, or end it (pg_stat_activity shows it), then start this one again.",
            cause: error.cause
          })
        : error
    )
  )
