/**
 * PostgreSQL connections for the stores and for the embedder; some are kept for dispatch, so that a flood of requests
 * leaves it its share. Stores run their verbs over them with named prepared statements, each verb in one transaction;
 * the standard `PgClient` works over the same connections, so a store verb called inside an embedder's
 * `sql.withTransaction` belongs to that transaction.
 *
 * READ COMMITTED throughout: what a verb decides on is locked before it is read (`Dialect.forUpdate`, `serialize`).
 * Two verbs that wait for each other are run again, one after the other.
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Client from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import { StorageError } from "../StorageError.ts"
import type { Column, Dialect, WriteRows } from "../sql/Database.ts"
import { Database } from "../sql/Database.ts"
import type { Migration, MigrationError } from "../sql/Migrations.ts"
import type { Program } from "../sql/Program.ts"
import { run } from "../sql/Program.ts"
import { migrate } from "./Migrator.ts"
import { failure, joined, onConnection, over, perform, Refused, transact } from "./Statements.ts"

export interface Options {
  /** `postgres://user:password@host:port/database`, with libpq's parameters such as `sslmode`. */
  readonly url: Redacted.Redacted
  /** Connections at the most. */
  readonly maxConnections?: number | undefined
}

const defaultConnections = 10

/** How many of the connections are for what the process does of itself; of two or fewer none can be spared. */
const connectionsForWork = (most: number): number => Math.floor(most * 0.4)

/** No statement of ours takes long: what takes longer has lost its server or waits for a lock that stays. */
const statementTimeout = 10_000
const lockTimeout = 5_000
/** A server that does not even answer that it gave up is not there: a connection may be open at one end only. */
const answerTimeout = 12_000
const connectTimeout = 5_000

/** One statement with all rows in one parameter: an exchange with the server costs more than they do. */
const inOneExchange = (columns: ReadonlyArray<Column>, statement: (given: string) => string): WriteRows => {
  const typed = columns.map(([name, type]) => `${name} ${type}`)
  const text = statement(`json_to_recordset(?::json) AS given (${typed.join(", ")})`)
  return function* (rows) {
    if (rows.length === 0) return
    const named = rows.map((row) => Object.fromEntries(columns.map(([name], at) => [name, row[at]])))
    yield* run(text, JSON.stringify(named))
  }
}

const dialect: Dialect = {
  exclusive: false,
  forUpdate: (table) => ` FOR UPDATE OF ${table}`,
  skipLocked: (table) => ` FOR UPDATE OF ${table} SKIP LOCKED`,
  serialize: function* (name) {
    yield* run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", `sendwright ${name}`)
  },
  jsonArray: (expressions) => `json_build_array(${expressions})::text`,
  jsonArrays: (expressions) => `coalesce(json_agg(json_build_array(${expressions}))::text, '[]')`,
  json: (column) => `${column}::json`,
  elements: {
    from: "json_array_elements_text(?::json) WITH ORDINALITY AS element (value, place)",
    place: "(element.place - 1)",
    value: "element.value",
    integer: "element.value::bigint"
  },
  entries: { from: "json_each_text(?::json) AS entry", key: "entry.key::bigint", value: "entry.value" },
  insert: (table, columns) => {
    const names = columns.map(([name]) => name).join(", ")
    return inOneExchange(columns, (given) => `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${given}`)
  },
  update: (table, columns) => {
    const set = columns.slice(0, -1).map(([name]) => `${name} = given.${name}`)
    return inOneExchange(
      columns,
      (given) => `UPDATE ${table} SET ${set.join(", ")} FROM ${given} WHERE ${table}.seq = given.seq`
    )
  },
  indexedBy: () => ""
}

/** For statements that are a commit of their own. */
export class Pool extends Context.Tag("@sendwright/core/storage/postgres/Pool")<
  Pool,
  {
    readonly alone: <A>(operation: string, verb: () => Program<A>) => Effect.Effect<A, StorageError>
  }
>() {}

const openPool = (options: Options, max: number): Effect.Effect<Pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new Pg.Pool({
        connectionString: Redacted.value(options.url),
        application_name: "sendwright",
        max,
        keepAlive: true,
        connectionTimeoutMillis: connectTimeout,
        statement_timeout: statementTimeout,
        lock_timeout: lockTimeout,
        idle_in_transaction_session_timeout: statementTimeout,
        query_timeout: answerTimeout
      })
      // Whoever uses the connection hears of its end; unheard, it would end the process.
      pool.on("error", () => {})
      pool.on("connect", (client) => client.on("error", () => {}))
      return pool
    }),
    (pool) => Effect.promise(() => pool.end())
  )

const make = (pool: Pg.Pool, poolForWork: Pg.Pool) =>
  Effect.gen(function* () {
    const client = yield* PgClient.fromPool({ acquire: Effect.succeed(pool) })

    const inTransaction = <A>(
      operation: string,
      verb: () => Program<A>,
      otherwise: Effect.Effect<A, StorageError>
    ): Effect.Effect<A, StorageError> =>
      Effect.flatMap(Effect.serviceOption(Client.TransactionConnection), (held) => {
        if (Option.isNone(held)) return otherwise
        return client
          .withTransaction(joined(held.value[0], verb))
          .pipe(
            Effect.catchAll((error) =>
              failure(operation, error instanceof SqlError ? new Refused(error.cause) : error)
            )
          )
      })

    const alone = <A>(operation: string, verb: () => Program<A>) =>
      onConnection(pool, operation, (connection) => perform(verb(), over(connection)))

    const writeOver =
      (through: Pg.Pool) =>
      <A>(operation: string, verb: () => Program<A>) =>
        inTransaction(
          operation,
          verb,
          onConnection(through, operation, (connection) => transact(connection, verb))
        )

    return Context.make(Database, {
      dialect,
      write: writeOver(pool),
      work: writeOver(poolForWork),
      read: (operation, verb) => inTransaction(operation, verb, alone(operation, verb))
    }).pipe(
      Context.add(Pool, { alone }),
      Context.add(Client.SqlClient, client),
      Context.add(PgClient.PgClient, client)
    )
  })

/** Migrates the database, and keeps connections to it for as long as the scope lasts. */
export const layer = (
  options: Options & { readonly migrations: ReadonlyArray<Migration> }
): Layer.Layer<Database | Pool | Client.SqlClient | PgClient.PgClient, StorageError | MigrationError> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      yield* migrate(options, options.migrations)
      const most = options.maxConnections ?? defaultConnections
      const forWork = connectionsForWork(most)
      const pool = yield* openPool(options, most - forWork)
      const poolForWork = forWork === 0 ? pool : yield* openPool(options, forWork)
      return yield* Effect.mapError(
        make(pool, poolForWork),
        (cause) => new StorageError({ operation: "open", cause })
      )
    })
  ).pipe(Layer.provide(Reactivity.layer))
