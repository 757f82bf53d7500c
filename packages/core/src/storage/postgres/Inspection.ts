/** A PostgreSQL database, seen beside the processes that work on it: one reading transaction on a connection of its own. */

import * as Clock from "effect/Clock"
import type * as Effect from "effect/Effect"
import * as Time from "../../domain/Instant.ts"
import type { Program } from "../Program.ts"
import { all, get } from "../Program.ts"
import type { StorageError } from "../StorageError.ts"
import type { Inspection } from "../sql/Inspection.ts"
import { inspect as lookAt } from "../sql/Inspection.ts"
import type { Eyes } from "../sql/MigrationPlan.ts"
import type { Migration, MigrationError } from "../sql/Migrations.ts"
import { flag, integer, text } from "../sql/RowReader.ts"
import type { Place } from "./Config.ts"
import { attempt, hasHistory, older, onConnection } from "./Migrator.ts"
import { makePrepare, perform, pipelineOf } from "./PipelinedConnection.ts"
import type { Server as Found } from "./Server.ts"

/** The server of the database, as an inspection sees it. */
export interface Server {
  readonly version: string
  /** The database's size, in bytes. */
  readonly bytes: number
  /** The server's clock minus ours, in milliseconds; half of the answer's way is counted in. */
  readonly clockDifference: number
  /** True of a standby, and where transactions only read unless told otherwise. */
  readonly isReadOnly: boolean
  readonly hasAutovacuum: boolean
  readonly connections: number
  readonly maxConnections: number
  /** The age of the oldest open transaction, in milliseconds. */
  readonly oldestTransaction: number
  readonly mayCreate: boolean
  /** The engine's tables that this role may not read and write. */
  readonly closedTables: ReadonlyArray<string>
}

export interface SeenServer extends Inspection {
  readonly server: Server & Found
}

const rows = `SELECT coalesce(nullif(c.reltuples, -1), s.n_live_tup, 0)::bigint AS count
  FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE c.oid = to_regclass(?)`

const eyes: Eyes = {
  hasHistory,
  rowsOf: function* (table) {
    const row = yield* get(rows, table)
    return row === undefined ? null : integer(row, "count")
  },
  countOlder: function* (id) {
    return integer((yield* get(older, id)) ?? {}, "count")
  }
}

const time = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now"

const facts = `SELECT current_setting('server_version') AS version, pg_database_size(current_database()) AS bytes,
  (pg_is_in_recovery() OR coalesce((SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only'), 'off') = 'on')::int AS reads,
  (current_setting('autovacuum') = 'on')::int AS vacuums,
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
  current_setting('max_connections')::bigint AS most,
  coalesce((SELECT floor(extract(epoch FROM clock_timestamp() - min(xact_start)) * 1000)::bigint FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()), 0) AS oldest,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)::int AS creates`

const closed = `SELECT c.relname::text AS name FROM pg_class c
  WHERE c.relkind = 'r' AND c.relname LIKE 'sendwright@_%' ESCAPE '@' AND c.relname <> 'sendwright_migration'
    AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('sendwright_migration'))
    AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
      AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
  ORDER BY c.relname`

function* serverOf(clock: Clock.Clock): Program<Server> {
  const before = Time.unsafeNow(clock)
  const now = integer((yield* get(time)) ?? {}, "now")
  const after = Time.unsafeNow(clock)
  const row = (yield* get(facts)) ?? {}
  return {
    version: text(row, "version"),
    bytes: integer(row, "bytes"),
    clockDifference: Math.round(now - (before + after) / 2),
    isReadOnly: flag(row, "reads"),
    hasAutovacuum: flag(row, "vacuums"),
    connections: integer(row, "connections"),
    maxConnections: integer(row, "most"),
    oldestTransaction: integer(row, "oldest"),
    mayCreate: flag(row, "creates"),
    closedTables: (yield* all(closed)).map((each) => text(each, "name"))
  }
}

function* seen(
  migrations: ReadonlyArray<Migration>,
  clock: Clock.Clock
): Program<Inspection & { readonly server: Server }> {
  const server = yield* serverOf(clock)
  // A role that may not read them is told of the tables, and of nothing in them.
  if (server.closedTables.length > 0)
    return { server, plan: { has: migrations.length, pending: [], olderConnections: 0 }, content: null }
  return { server, ...(yield* lookAt(migrations, eyes, Time.unsafeNow(clock))) }
}

/** Nobody who asks how it is waits for longer. A setting of the session would be another client's behind a pooler. */
const begin =
  "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '4s'; SET LOCAL lock_timeout = '1s'"

export const inspect = (
  place: Place,
  migrations: ReadonlyArray<Migration>
): Effect.Effect<SeenServer, StorageError | MigrationError> =>
  Clock.clockWith((clock) =>
    attempt(() =>
      onConnection(place, async (client, found) => {
        await client.query(begin)
        const { server, ...rest } = await perform(
          seen(migrations, clock),
          pipelineOf(client, makePrepare(found))
        )
        return { ...rest, server: { ...server, ...found } }
      })
    )
  )
