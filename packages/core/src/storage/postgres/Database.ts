/**
 * One pool of PostgreSQL connections for the stores and for the embedder. Stores run their verbs over it with named
 * prepared statements, each verb in one transaction; the standard `PgClient` works over the same pool, so a store
 * verb called inside an embedder's `sql.withTransaction` belongs to that transaction.
 *
 * READ COMMITTED throughout: what a verb decides on is locked before it is read (`Dialect.forUpdate`, `serialize`).
 * Two verbs that wait for each other are run again, one after the other.
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Client from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import { StorageError } from "../StorageError.ts"
import type { Dialect } from "../sql/Database.ts"
import { Database } from "../sql/Database.ts"
import type { Migration } from "../sql/Migrations.ts"
import { MigrationError, migrate, verify } from "../sql/Migrations.ts"
import type { Answer, Program, Row, SqlParameter, Statement } from "../sql/Program.ts"
import { run, script } from "../sql/Program.ts"

export interface Options {
  /** `postgres://user:password@host:port/database`, with libpq's parameters such as `sslmode`. */
  readonly url: Redacted.Redacted
  /** Connections at the most. */
  readonly maxConnections?: number | undefined
}

const defaultConnections = 10

/** No statement of ours takes long: what takes longer has lost its server or waits for a lock that stays. */
const statementTimeout = 10_000
const lockTimeout = 5_000
/** A server that does not even answer that it gave up is not there: a connection may be open at one end only. */
const answerTimeout = 12_000
const connectTimeout = 5_000

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
    value: "element.value"
  },
  indexedBy: () => ""
}

/** `int8` and sums, which the driver leaves as text; none of ours is beyond 2^53. */
const toNumber = Number
const int8 = 20

const types: Pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === int8 && format !== "binary" ? toNumber : Pg.types.getTypeParser(type, format)
}

interface Prepared {
  readonly name: string
  readonly text: string
}

const prepared = new Map<string, Prepared>()

/** The statement in PostgreSQL's notation of parameters, under a name that each connection prepares once. */
const prepare = (text: string): Prepared => {
  const known = prepared.get(text)
  if (known !== undefined) return known
  let place = 0
  const numbered = text.replaceAll("?", () => {
    place += 1
    return `$${place}`
  })
  const fresh = { name: `sendwright_${prepared.size + 1}`, text: numbered }
  prepared.set(text, fresh)
  return fresh
}

/**
 * PostgreSQL's text has no NUL. What callers give us has none either; what platforms and receivers answer may have,
 * and must not keep the rest of their answer from being recorded.
 */
const storable = (parameter: SqlParameter): SqlParameter =>
  typeof parameter === "string" && parameter.includes("\0") ? parameter.replaceAll("\0", "\ufffd") : parameter

/** What the driver or the server says; anything else that is thrown in a verb is a bug of ours. */
class Refused {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

const codeOf = (cause: unknown): string =>
  cause instanceof Pg.DatabaseError && cause.code !== undefined ? cause.code : ""

/** Serialization failure and deadlock: nothing happened, and it passes when it is done again. */
const isCollision = (cause: unknown): boolean => ["40001", "40P01"].includes(codeOf(cause))

/** How often a verb that collides is run. */
const tries = 10

const failure = (operation: string, cause: unknown): Effect.Effect<never, StorageError> =>
  cause instanceof Refused
    ? Effect.fail(new StorageError({ operation, cause: cause.cause }))
    : Effect.die(cause)

type Execute = (statement: Statement) => Promise<Answer>

const over =
  (client: Pg.ClientBase): Execute =>
  async ({ parameters, text, wants }) => {
    try {
      if (wants === "script") {
        await client.query(text)
        return { rows: [], changes: 0 }
      }
      const { name, text: numbered } = prepare(text)
      const values = parameters.map(storable)
      const result = await client.query<Row>({ name, text: numbered, values, types })
      return { rows: result.rows, changes: result.rowCount ?? 0 }
    } catch (cause) {
      throw new Refused(cause)
    }
  }

const perform = async <A>(program: Program<A>, execute: Execute): Promise<A> => {
  let step = program.next()
  while (step.done !== true) {
    let answer: Answer
    try {
      answer = await execute(step.value)
    } catch (cause) {
      step = program.throw(cause)
      continue
    }
    step = program.next(answer)
  }
  return step.value
}

const command = async (client: Pg.ClientBase, text: string): Promise<string> => {
  try {
    return (await client.query(text)).command
  } catch (cause) {
    throw new Refused(cause)
  }
}

const rollBack = async (client: Pg.PoolClient): Promise<boolean> => {
  try {
    await client.query("ROLLBACK")
    return true
  } catch {
    // The connection is dropped then, and the server rolls back.
    return false
  }
}

/** A transaction around the verb. Throws what made it fail, with nothing left open. */
const transact = async <A>(client: Pg.PoolClient, verb: () => Program<A>): Promise<A> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await command(client, "BEGIN")
      const value = await perform(verb(), over(client))
      // A transaction that a statement broke is rolled back by COMMIT, without an error.
      if ((await command(client, "COMMIT")) !== "COMMIT") {
        throw new Refused(new Error("The transaction was rolled back"))
      }
      return value
    } catch (cause) {
      const clean = await rollBack(client)
      const again = clean && cause instanceof Refused && isCollision(cause.cause) && attempt < tries
      if (!again) throw cause
    }
  }
}

const connect = (pool: Pg.Pool): Effect.Effect<Pg.PoolClient, Refused> =>
  Effect.async((resume) => {
    let waiting = true
    pool.connect((error, client) => {
      if (client === undefined) return resume(Effect.fail(new Refused(error)))
      if (waiting) return resume(Effect.succeed(client))
      client.release()
    })
    return Effect.sync(() => {
      waiting = false
    })
  })

/** Runs a step on a connection of its own. One that failed is not used again: its state is not known. */
const onConnection = <A>(
  pool: Pg.Pool,
  operation: string,
  step: (client: Pg.PoolClient) => Promise<A>
): Effect.Effect<A, StorageError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.matchEffect(restore(connect(pool)), {
      onFailure: (refused) => failure(operation, refused),
      onSuccess: (client) =>
        Effect.async<A, StorageError>((resume) => {
          step(client).then(
            (value) => {
              client.release()
              resume(Effect.succeed(value))
            },
            (cause: unknown) => {
              client.release(!(cause instanceof Refused && codeOf(cause.cause) !== ""))
              resume(failure(operation, cause))
            }
          )
        })
    })
  )

// Inside the embedder's transaction

const isResult = (value: unknown): value is Pg.QueryResult<Row> =>
  typeof value === "object" && value !== null && "rows" in value && "fields" in value

/** The embedder's connection reads by the embedder's types: what we read as numbers comes as text. */
const toAnswer = (result: unknown): Answer => {
  if (!isResult(result)) throw new TypeError("The connection answered something that is no result")
  const numbers = result.fields.filter(({ dataTypeID }) => dataTypeID === int8).map(({ name }) => name)
  const rows = result.rows.map((row) => {
    const read = numbers.map((name) => [name, row[name] === null ? null : Number(row[name])] as const)
    return { ...row, ...Object.fromEntries(read) }
  })
  return { rows, changes: result.rowCount ?? 0 }
}

const joined = <A>(connection: Connection, verb: () => Program<A>): Effect.Effect<A, Refused> => {
  const execute = ({ parameters, text }: Statement) =>
    Effect.mapBoth(connection.executeRaw(prepare(text).text, parameters.map(storable)), {
      onFailure: (error) => new Refused(error.cause),
      onSuccess: toAnswer
    })
  const follow = (
    program: Program<A>,
    next: () => IteratorResult<Statement, A>
  ): Effect.Effect<A, Refused> => {
    try {
      const step = next()
      if (step.done === true) return Effect.succeed(step.value)
      return Effect.matchEffect(execute(step.value), {
        onFailure: (refused) => follow(program, () => program.throw(refused)),
        onSuccess: (answer) => follow(program, () => program.next(answer))
      })
    } catch (cause) {
      return cause instanceof Refused ? Effect.fail(cause) : Effect.die(cause)
    }
  }
  return Effect.suspend(() => {
    const program = verb()
    return follow(program, () => program.next())
  })
}

/** The pool for statements that are a commit of their own. */
export class Pool extends Context.Tag("@sendwright/core/storage/postgres/Pool")<
  Pool,
  {
    readonly alone: <A>(operation: string, verb: () => Program<A>) => Effect.Effect<A, StorageError>
  }
>() {}

const openPool = (options: Options): Effect.Effect<Pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new Pg.Pool({
        connectionString: Redacted.value(options.url),
        application_name: "sendwright",
        max: options.maxConnections ?? defaultConnections,
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

const make = (pool: Pg.Pool) =>
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

    return Context.make(Database, {
      dialect,
      write: (operation, verb) =>
        inTransaction(
          operation,
          verb,
          onConnection(pool, operation, (connection) => transact(connection, verb))
        ),
      read: (operation, verb) => inTransaction(operation, verb, alone(operation, verb))
    }).pipe(
      Context.add(Pool, { alone }),
      Context.add(Client.SqlClient, client),
      Context.add(PgClient.PgClient, client)
    )
  })

// Opening

const table = `CREATE TABLE IF NOT EXISTS sendwright_migration (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL
  )`

function* apply(statements: string): Program<boolean> {
  yield* script(statements)
  try {
    // Refused outside a transaction.
    yield* run("SAVEPOINT sendwright_migration")
    return true
  } catch {
    return false
  }
}

const settings = `SELECT current_setting('synchronous_commit') AS commits, current_setting('server_encoding') AS encoding`

/** What was answered must survive a power cut, and text must come back as it was. */
const checkSettings = async (client: Pg.Client): Promise<void> => {
  const { rows } = await client.query<{ readonly commits: string; readonly encoding: string }>(settings)
  if (rows[0]?.commits === "off") {
    throw new Error(
      "synchronous_commit is off for this user or database: what is answered could be lost. Set it on, for example by ALTER ROLE … SET synchronous_commit = on."
    )
  }
  if (rows[0]?.encoding !== "UTF8") {
    throw new Error(`The database's encoding is ${rows[0]?.encoding}. Create it with ENCODING 'UTF8'.`)
  }
}

/** On a connection of its own without time-outs: who boots while another migrates waits for it. */
const prepareDatabase = async (
  options: Options,
  migrations: ReadonlyArray<Migration>,
  now: number
): Promise<void> => {
  const client = new Pg.Client({
    connectionString: Redacted.value(options.url),
    application_name: "sendwright migration",
    connectionTimeoutMillis: connectTimeout
  })
  client.on("error", () => {})
  await client.connect()
  try {
    await checkSettings(client)
    await client.query("BEGIN")
    await client.query("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0")
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('sendwright migration', 0))")
    await perform(migrate(migrations, now, table, apply), over(client))
    await client.query("COMMIT")
    await perform(verify(migrations), over(client))
  } finally {
    // Ends what is open, too.
    await client.end().catch(() => {})
  }
}

const migrated = (options: Options, migrations: ReadonlyArray<Migration>) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.tryPromise({
      try: () => prepareDatabase(options, migrations, now),
      catch: (cause) =>
        cause instanceof MigrationError
          ? cause
          : new StorageError({ operation: "open", cause: cause instanceof Refused ? cause.cause : cause })
    })
  )

/** Migrates the database, and keeps a pool of connections to it for as long as the scope lasts. */
export const layer = (
  options: Options & { readonly migrations: ReadonlyArray<Migration> }
): Layer.Layer<Database | Pool | Client.SqlClient | PgClient.PgClient, StorageError | MigrationError> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      yield* migrated(options, options.migrations)
      const pool = yield* openPool(options)
      return yield* Effect.mapError(make(pool), (cause) => new StorageError({ operation: "open", cause }))
    })
  ).pipe(Layer.provide(Reactivity.layer))
