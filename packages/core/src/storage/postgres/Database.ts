/**
 * PostgreSQL connections for the stores and for the embedder; some are kept for dispatch, so that a flood of requests
 * leaves it its share. Stores run their verbs over theirs with named prepared statements, each verb in one transaction;
 * the standard `PgClient` has others, and a store verb called inside an embedder's `sql.withTransaction` runs over that
 * connection and belongs to that transaction.
 *
 * READ COMMITTED throughout: what a verb decides on is locked before it is read (`Dialect.forUpdate`, `serialize`). An
 * embedder's transaction may have another isolation for what only inserts, as a send there does.
 * Two verbs that wait for each other are run again, one after the other.
 */

import * as Reactivity from "@effect/experimental/Reactivity"
import * as Client from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import { ForeignTransaction } from "../../domain/Errors.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Timers from "../../runtime/Timers.ts"
import type { Listen } from "../EmbeddedCommits.ts"
import { EmbeddedCommits } from "../EmbeddedCommits.ts"
import type { Program, Row, SqlValue } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { StorageError } from "../StorageError.ts"
import { StoreTime } from "../StoreTime.ts"
import * as Atomically from "../sql/Atomically.ts"
import type { Column, Dialect } from "../sql/Database.ts"
import { Database } from "../sql/Database.ts"
import * as ForeignConnection from "../sql/ForeignConnection.ts"
import { insertInto, onKeyConflict } from "../sql/Insert.ts"
import type { Migration, MigrationError } from "../sql/Migrations.ts"
import { inSql } from "../sql/RecipientKeys.ts"
import { integer, integerOrNull, real, text } from "../sql/RowReader.ts"
import * as Slow from "../sql/Slow.ts"
import * as AdvisoryLock from "./AdvisoryLock.ts"
import * as TransactionClient from "./Client.ts"
import * as CommitListener from "./CommitListener.ts"
import { configOf, connectTimeout, type Options } from "./Config.ts"
import * as DiskSpace from "./DiskSpace.ts"
import * as GroupCommit from "./GroupCommit.ts"
import * as Instance from "./Instance.ts"
import { applicationName, confirm, migrate } from "./Migrator.ts"
import type { Prepare, Source } from "./PipelinedConnection.ts"
import {
  failure,
  failureWithin,
  isLockTimeout,
  joined,
  lockTimeout,
  look,
  makePrepare,
  NoneFree,
  ofPool,
  onConnection,
  perform,
  pipelineOf,
  Refused,
  sharing,
  transact
} from "./PipelinedConnection.ts"
import type { Server } from "./Server.ts"

const defaultConnections = 10

/** How many of the connections are for what the process does of itself; of two or fewer none can be spared. */
const connectionsForWork = (most: number): number => Math.floor(most * 0.4)

/**
 * Work that the process does of itself is tried again later, so that nobody's work waits for long behind a row that somebody
 * keeps locked.
 */
const lockTimeoutOfWork = 1_000

/** A server that does not even answer that it gave up is not there: a connection may be open at one end only. */
const silence = 12_000

/** Most have neither, and looking for each is cheaper than an expression for both. */
const quote = (value: string): string => {
  const escaped = value.includes("\\") ? value.replaceAll("\\", "\\\\") : value
  return `"${escaped.includes('"') ? escaped.replaceAll('"', '\\"') : escaped}"`
}

/** A column of the rows, as PostgreSQL writes an array. */
const arrayOf = (rows: ReadonlyArray<ReadonlyArray<SqlValue>>, at: number): string => {
  let elements = ""
  for (const row of rows) {
    const value = row[at] ?? null
    if (elements !== "") elements += ","
    elements += value === null ? "NULL" : typeof value === "string" ? quote(value) : String(value)
  }
  return `{${elements}}`
}

type SqlRows = ReadonlyArray<ReadonlyArray<SqlValue>>

/**
 * All rows in one statement: an exchange with the server costs more than they do. An array for each column, which is
 * read in a fifth of the time that an object for each row takes; and the first columns, as far as they are the same in
 * all rows, once. The last column tells rows apart.
 *
 * @param text the statement, from the columns' parameters; after the first `common` they are arrays
 */
const writeRows = (
  columns: ReadonlyArray<Column>,
  text: (parameters: ReadonlyArray<string>, common: number) => string
): ((rows: SqlRows) => readonly [text: string, ...parameters: ReadonlyArray<SqlValue>]) => {
  const texts = columns.map((_, common) =>
    text(
      columns.map(({ type }, at) => (at < common ? `?::${type}` : `?::${type}[]`)),
      common
    )
  )
  return (rows) => {
    const [first = []] = rows
    const differing = columns.findIndex((_, at) => rows.some((row) => row[at] !== first[at]))
    const common = differing < 0 ? columns.length - 1 : differing
    const parameters = columns.map((_, at) => (at < common ? (first[at] ?? null) : arrayOf(rows, at)))
    return [texts[common] ?? "", ...parameters]
  }
}

/**
 * A lock for each 256th of an API key's Idempotency-Keys: one for each key would fill the server's table of locks where an
 * embedder sends thousands of times in one transaction. Its parameters are the API key and the Idempotency-Key.
 */
const keyLock = "hashtextextended('sendwright keys ' || ?, 0) # (hashtextextended(?, 0) & 255)"

/** For how long a claim waits for a backlog, in milliseconds. */
const lockTimeoutOfClaim = 500

/** For how long outcomes wait for a session of which somebody has the jobs locked, in milliseconds. */
const lockTimeoutOfOutcomes = 250

/** A setting of the transaction: whether the last lock of `readSerialized` was given. */
const lockGiven = "sendwright.lock_given"

/** The expressions are evaluated from left to right. */
const lockWithin = (ms: number) => `set_config('lock_timeout', '${ms}', true),
  pg_advisory_xact_lock(hashtextextended(?, 0))::text, set_config('lock_timeout', '${lockTimeoutOfWork}', true)`

/** The first expression answers whether the lock had been given before. */
const lockForClaim = `SELECT (current_setting('${lockGiven}') = 'true')::int AS had, ${lockWithin(lockTimeoutOfClaim)},
  set_config('${lockGiven}', 'true', true)`

const lockForOutcomes = `SELECT ${lockWithin(lockTimeoutOfOutcomes)}`

/** For a lock that another transaction may keep: it is waited for once, and not each time that it is asked for. */
const waitingOnce = () => {
  /** Names of locks that were waited for in vain: nobody waits for one of them again until it was given. */
  const stubborn = new Set<string>()
  return {
    given: (name: string) => stubborn.delete(name),
    /** Answers undefined where the lock is not given in time. The transaction goes on. */
    wait: function* (statement: string, name: string): Program<Row | undefined> {
      if (stubborn.has(name)) return undefined
      yield* run("SAVEPOINT waiting")
      try {
        const row = yield* get(statement, AdvisoryLock.keyOf(name))
        yield* run("RELEASE SAVEPOINT waiting")
        return row
      } catch (cause) {
        if (!isLockTimeout(cause)) throw cause
        yield* run("ROLLBACK TO SAVEPOINT waiting")
        if (stubborn.size < mostStubborn) stubborn.add(name)
        return undefined
      }
    }
  }
}
const mostStubborn = 1024

const tryLock = "SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))::int AS locked"

const tryAndNote = `SELECT set_config('${lockGiven}', pg_try_advisory_xact_lock(hashtextextended(?, 0))::text, true)`

/** The locks that somebody else may keep for long. */
const patient = (): Pick<Dialect, "readSerialized" | "serializeInTime"> => {
  const { given, wait } = waitingOnce()
  return {
    serializeInTime: function* (name, waits) {
      if ((yield* get(tryLock, AdvisoryLock.keyOf(name)))?.["locked"] !== 1)
        return waits && (yield* wait(lockForOutcomes, name)) !== undefined
      given(name)
      return true
    },
    readSerialized: function* (name, waits, text, ...parameters) {
      yield* run(tryAndNote, AdvisoryLock.keyOf(name))
      const rows = yield* all(text, ...parameters)
      if (rows.length > 0) given(name)
      if (rows.length > 0 || !waits) return rows
      // Either there are no rows, or another transaction has the lock: then the server waits for it, since to ask again
      // and again costs either side more than what is claimed.
      const row = yield* wait(lockForClaim, name)
      return row === undefined || row["had"] === 1 ? rows : yield* all(text, ...parameters)
    }
  }
}

/** Every transaction locks a number of its own, also one that only reads yet; anybody may see it. */
const openTransactions = `SELECT virtualtransaction AS name FROM pg_locks
    WHERE locktype = 'virtualxid' AND granted AND mode = 'ExclusiveLock' AND pid IN (
      SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid())
  UNION ALL SELECT 'prepared ' || transaction::text FROM pg_prepared_xacts WHERE database = current_database()`

const size = `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes FROM pg_class
  WHERE relkind = 'r' AND relname LIKE 'sendwright\\_%'
    AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'sendwright_job'::regclass)`

/** The last number of a job that was drawn, and the numbers of the transactions that have begun, and that are not over. */
const horizon = `SELECT pg_sequence_last_value(pg_get_serial_sequence('sendwright_job', 'seq')::regclass) AS last,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS mark,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest`

const words: Omit<Dialect, keyof ReturnType<typeof patient>> = {
  forUpdate: (table) => ` FOR UPDATE OF ${table}`,
  skipLocked: (table) => ` FOR UPDATE OF ${table} SKIP LOCKED`,
  serialize: AdvisoryLock.serialize,
  trySerialize: function* (name) {
    return (yield* get(tryLock, AdvisoryLock.keyOf(name)))?.["locked"] === 1
  },
  isSerialized: `current_setting('${lockGiven}') = 'true'`,
  tryKey: `pg_try_advisory_xact_lock(${keyLock})::int`,
  noteKey: function* (publicKey, key) {
    yield* run(`SELECT pg_advisory_xact_lock_shared(${keyLock})::text`, publicKey, key)
  },
  announce: () => run(CommitListener.announcement),
  openTransactions: function* () {
    return (yield* all(openTransactions)).map((row) => text(row, "name"))
  },
  size: {
    kind: "postgres",
    measure: function* () {
      return { bytes: integer((yield* get(size)) ?? {}, "bytes"), file: null }
    },
    // Autovacuum makes pages free for other rows (docs/adr/0039-retention.md).
    shrink: function* () {
      return false
    }
  },
  jsonArray: (expressions) => `json_build_array(${expressions})::text`,
  jsonArrays: (expressions) => `coalesce(json_agg(json_build_array(${expressions}))::text, '[]')`,
  jsonColumns: (expressions) =>
    `json_build_array(${expressions.map((each) => `coalesce(json_agg(${each}), '[]')`).join(", ")})::text`,
  jsonValue: (expressions) => `json_build_array(${expressions})`,
  json: (column) => `${column}::json`,
  countIn: (column, status) => `coalesce((${column}::json ->> '${status}')::bigint, 0)`,
  elements: {
    from: "json_array_elements_text(?::json) WITH ORDINALITY AS element (value, place)",
    place: "(element.place - 1)",
    value: "element.value",
    integer: "element.value::bigint",
    // An array, whose elements are looked up in one way through the index, in its order.
    among: (column) => `${column} = ANY (ARRAY (SELECT json_array_elements_text(?::json)))`
  },
  entries: { from: "json_each_text(?::json) AS entry", key: "entry.key::bigint", value: "entry.value" },
  update: (table, columns) => {
    const names = columns.map(({ name }) => name)
    const update = writeRows(columns, (parameters, common) => {
      const set = names
        .slice(0, -1)
        .map((name, at) => `${name} = ${at < common ? parameters[at] : `given.${name}`}`)
      const given = `unnest(${parameters.slice(common).join(", ")}) AS given (${names.slice(common).join(", ")})`
      return `UPDATE ${table} SET ${set.join(", ")} FROM ${given} WHERE ${table}.seq = given.seq`
    })
    return function* (rows) {
      if (rows.length > 0) yield* run(...update(rows))
    }
  },
  insert: (table, columns) => {
    const names = columns.map(({ name }) => name).join(", ")
    const insert = writeRows(columns, (parameters, common) => {
      const values = parameters.map((parameter, at) => (at < common ? parameter : `unnest(${parameter})`))
      return `INSERT INTO ${table} (${names}) SELECT ${values.join(", ")}`
    })
    return function* (rows) {
      if (rows.length > 0) yield* run(...insert(rows))
    }
  },
  // One statement, of which nothing is asked: the recipients' keys are made of the job's where that is known. Arrays are
  // read side by side in the SELECT list; a FROM would store the elements of each before the first row is made.
  insertJob: (columns, recipient, same, skips = false) => {
    const conflict = skips ? ` ${onKeyConflict}` : ""
    const given = recipient.slice(0, -1)
    const names = [...recipient.map(({ name }) => name), ...Object.keys(same)].join(", ")
    const insert = writeRows(given, (parameters, common) => {
      const values = parameters.map((parameter, at) => (at < common ? parameter : `unnest(${parameter})`))
      const key = `generate_series(${inSql.first("seq")}, ${inSql.first("seq")} + ?::bigint)`
      const row = [...values, key, ...Object.values(same)].join(", ")
      return `WITH job AS (${insertInto("sendwright_job", columns)}${conflict} RETURNING seq)
        INSERT INTO sendwright_recipient (${names}) SELECT ${row} FROM job`
    })
    return function* (job, recipients) {
      const rows = recipients(0)
      const [text, ...columns] = insert(rows)
      yield* run(text, ...job, ...columns, rows.length - 1)
    }
  },
  horizon: function* () {
    const row = (yield* get(horizon)) ?? {}
    return {
      last: integerOrNull(row, "last") ?? 0,
      mark: integer(row, "mark"),
      oldest: integer(row, "oldest")
    }
  },
  // What has an OFFSET stays a query of its own. Without it, all rows of the account would be hashed to find a few.
  // A pair, or an index of the other column alone is taken for the range.
  within: (column, other) => `(${column}, ${other}) > (?, ?) AND (${column}, ${other}) < (?, ?)`,
  contains: (column) => `strpos(${column}, ?) > 0`,
  lookUp: (table, as, condition) =>
    `CROSS JOIN LATERAL (SELECT * FROM ${table} AS ${as} WHERE ${condition} OFFSET 0) AS ${as}`
}

/**
 * Sets how long a statement waits for a lock, until it is set again or the transaction ends; answers what it was before.
 * A rollback to a savepoint takes it back.
 */
function* setLockTimeout(value: string): Program<string> {
  const row = yield* get(
    "SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', ?, true)",
    value
  )
  return String(row?.["before"])
}

/** To sort looks cheaper than an index that has the order, to a plan that does not know how few rows a page has. */
const unsorted = <A>(verb: () => Program<A>) =>
  function* (): Program<A> {
    yield* run("SET LOCAL enable_sort = off")
    return yield* verb()
  }

/** The embedder's own statements wait as long as the embedder likes; ours give up as they do in transactions of our own. */
const impatient = <A>(verb: () => Program<A>) =>
  function* (): Program<A> {
    const before = yield* setLockTimeout(String(lockTimeout))
    const value = yield* verb()
    yield* setLockTimeout(before)
    return value
  }

/** For statements that are a commit of their own. */
export class Pool extends Context.Tag("@sendwright/core/storage/postgres/Pool")<
  Pool,
  {
    readonly alone: <A>(operation: string, verb: () => Program<A>) => Effect.Effect<A, StorageError>
    readonly hasRoom: DiskSpace.DiskSpace["check"]
  }
>() {}

/** Looks at a new connection before it is used; one that it rejects is not. */
type Verify = (client: Pg.Client) => Promise<void>

const openPool = (
  config: Pg.PoolConfig,
  verify: Verify | undefined
): Effect.Effect<Pg.Pool, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new Pg.Pool({
        ...config,
        // Statements that are under way keep the process alive, and connections that wait do not.
        allowExitOnIdle: true,
        ...(verify && {
          verify: (client: Pg.PoolClient, done: (error?: Error) => void) => {
            verify(client).then(
              () => done(),
              (cause) => done(cause instanceof Refused && cause.cause instanceof Error ? cause.cause : cause)
            )
          }
        })
      })
      // Whoever uses the connection hears of its end; unheard, it would end the process.
      pool.on("error", () => {})
      pool.on("connect", (client) => client.on("error", () => {}))
      return pool
    }),
    (pool) => Effect.promise(() => pool.end())
  )

/** As it is now, and not at the begin of a transaction. */
function* databaseTime(): Program<Instant> {
  const row = yield* get("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time")
  return Time.at(real(row ?? {}, "time"))
}

/** The connections of a database, by what they are for. */
interface Connections {
  readonly prepare: Prepare
  /** For what somebody waits for. */
  readonly pool: Source
  /** The same, for statements that are a commit of their own. */
  readonly shared: Source
  /** For what the process does of itself. */
  readonly forWork: Source
  /** The embedder's statements. */
  readonly ofClient: Pg.Pool
  /** None of them is in a transaction of the embedder's. */
  readonly apart: Source
  readonly listen: Listen
}

const make = ({ apart, forWork, listen, ofClient, pool, prepare, shared }: Connections) =>
  Effect.gen(function* () {
    const { client, isEmbedded, isOurs } = yield* TransactionClient.make(ofClient)

    const inTransaction = <A>(
      operation: string,
      verb: () => Program<A>,
      otherwise: Effect.Effect<A, StorageError>
    ): Effect.Effect<A, StorageError> =>
      Effect.withFiberRuntime((fiber) => {
        if (ForeignConnection.isAround(fiber, isOurs))
          return failure(operation, new Refused(new ForeignTransaction({ operation })))
        return Effect.flatMap(isEmbedded, (inside) =>
          inside
            ? Effect.suspend(() => {
                const began = performance.now()
                return client.withTransaction(joined(prepare, verb)).pipe(
                  Effect.flatMap((value) => Slow.answer(operation, began, value)),
                  Effect.catchAll((error) => failureWithin(operation, error))
                )
              })
            : otherwise
        )
      })

    const aloneOver =
      (through: Source) =>
      <A>(operation: string, verb: () => Program<A>) =>
        onConnection(through, operation, (connection) => perform(verb(), pipelineOf(connection, prepare)))

    const alone = aloneOver(shared)

    const askTime = aloneOver(forWork)("StoreTime", databaseTime)

    const writeOver =
      (through: Source, run = transact) =>
      <A>(operation: string, verb: () => Program<A>) =>
        inTransaction(
          operation,
          impatient(verb),
          onConnection(through, operation, (connection) => run(connection, prepare, verb))
        )

    const write = writeOver(pool)
    const dialect: Dialect = { ...words, ...patient() }
    const writeInGroup = GroupCommit.make(pool, prepare, dialect.serialize)
    const writeApart = <A>(operation: string, verb: () => Program<A>, serialized?: string) =>
      serialized === undefined
        ? onConnection(apart, operation, (connection) => transact(connection, prepare, verb))
        : writeInGroup(serialized, operation, verb)

    // A vacuum takes long, and nothing may wait behind it.
    const wipe = aloneOver(pool)("Database.wipe", () => run(vacuum)).pipe(
      Effect.as(null),
      Effect.catchAll(() =>
        Effect.succeed(
          `Dead rows still have what was erased. Run as the owner of the tables: ${vacuum}. Backups and the write-ahead log have it as long as they are kept.`
        )
      )
    )

    const room = DiskSpace.make()
    const database = room.watched({
      dialect,
      wipe,
      write: (operation, verb, serialized) =>
        serialized === undefined
          ? write(operation, verb)
          : inTransaction(
              operation,
              impatient(function* () {
                yield* dialect.serialize(serialized)
                return yield* verb()
              }),
              writeApart(operation, verb, serialized)
            ),
      writeApart,
      work: writeOver(forWork),
      look: writeOver(forWork, look),
      hasOneOwner: false,
      commitsInGroups: false,
      isEmbedded,
      isForeign: ForeignConnection.isAroundThis(isOurs),
      atomically: Atomically.over(client),
      read: (operation, verb) => inTransaction(operation, verb, alone(operation, verb)),
      readPage: (operation, verb) =>
        inTransaction(
          operation,
          verb,
          onConnection(pool, operation, (connection) => transact(connection, prepare, unsorted(verb)))
        )
    })
    return Context.make(Database, database).pipe(
      Context.add(Pool, { alone, hasRoom: room.check }),
      Context.add(StoreTime, askTime),
      Context.add(EmbeddedCommits, listen),
      Context.add(Client.SqlClient, client),
      Context.add(PgClient.PgClient, client)
    )
  })

/** The tables that an erasure writes. */
const erasable = [
  "attempt",
  "audit",
  "consent",
  "erasure_secret",
  "event",
  "happening",
  "job",
  "pair",
  "parked",
  "perhaps_refusal",
  "person_link",
  "recipient",
  "segment_key",
  "snapshot",
  "unattributed",
  "unread_hook"
].map((name) => `sendwright_${name}`)

const vacuum = `VACUUM ${erasable.join(", ")}`

/** @param options.migrations those of this build */
type Opening = Options & {
  readonly migrations: ReadonlyArray<Migration>
  readonly watchesInstance?: boolean
}

/** Asks each new connection of the engine's own which instance of the database it has reached. */
const watching = (options: Opening, prepare: Prepare): Effect.Effect<Verify | undefined> =>
  Effect.map(Effect.runtime(), (runtime) => {
    if (options.watchesInstance !== true) return undefined
    const log = Runtime.runFork(runtime)
    const look = Instance.make({
      onFailover: options.onFailover ?? "tell",
      onMoved: (timeline) => {
        log(
          Effect.logWarning(
            `The database's server is on timeline ${timeline}, a new one. That is a failover, or a restore to a point in time: of the second, hold the store (sendwright restore --hold) before it sends; ON_FAILOVER=hold does so by itself.`
          )
        )
      }
    })
    return (client) => look(client, prepare)
  })

/** A connection of a pool whose others may be held for as long as the embedder likes: it is waited for no longer than one of ours. */
const borrow = async (pool: Pg.Pool): Promise<Pg.PoolClient> => {
  const connecting = pool.connect()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = Timers.after(connectTimeout, () => reject(new Error("timeout expired")))
  })
  try {
    return await Promise.race([connecting, late])
  } catch (cause) {
    connecting.then(
      (client) => client.release(),
      () => {}
    )
    const { max } = pool.options
    if (pool.idleCount > 0 || pool.totalCount < max) throw cause
    throw new NoneFree(
      `the pool has ${max === 1 ? "one connection, and it is" : `${max} connections, and all are`} in use. Give the pool a larger \`max\`, so that the engine has some beside your transactions, and hand over the transaction that a call belongs to.`
    )
  } finally {
    Timers.clearTimeout(timer)
  }
}

/** Whoever uses a connection hears of its end; an `error` without a listener would end the process. */
const unheard = (): void => {}

/** A pool whose connections others open: each is looked at when it is used here for the first time. */
const lent = (pool: Pg.Pool, verify: Verify | undefined): Source => {
  const known = new WeakSet<Pg.PoolClient>()
  const giveBack: Source["giveBack"] = (client, isBroken) => {
    client.off("error", unheard)
    client.release(isBroken)
  }
  return {
    giveBack,
    connect: async () => {
      const client = await borrow(pool)
      client.on("error", unheard)
      if (verify === undefined || known.has(client)) return client
      try {
        await verify(client)
        known.add(client)
        return client
      } catch (cause) {
        giveBack(client, true)
        throw cause instanceof Refused ? cause.cause : cause
      }
    }
  }
}

const tellShared = Effect.logInfo(
  "A pooler shares the database's connections between transactions: statements are not prepared, and the commits of an app's transactions are found by polling"
)

const connect = (options: Opening, server: Server): Effect.Effect<Connections, never, Scope.Scope> =>
  Effect.gen(function* () {
    const config = configOf(options, applicationName(options.migrations))
    const ours = { ...config, query_timeout: silence, pipeline: true }
    if (server.isShared) yield* tellShared
    const log = Runtime.runFork(yield* Effect.runtime())
    const prepare = makePrepare(server, () => log(tellShared))
    const verify = yield* watching(options, prepare)
    const begun: Verify = async (client) => {
      await prepare.settle(client)
      await verify?.(client)
    }
    const listen = CommitListener.make(config, verify, server)
    if ("pool" in options) {
      const { pool } = options
      const apart = ofPool(yield* openPool({ ...ours, max: 1 }, begun))
      const looked = lent(pool, verify)
      return { prepare, pool: looked, shared: looked, forWork: looked, ofClient: pool, apart, listen }
    }
    const most = options.maxConnections ?? defaultConnections
    const forWork = connectionsForWork(most)
    const pool = ofPool(yield* openPool({ ...ours, max: most - forWork }, begun))
    return {
      prepare,
      pool,
      shared: sharing(pool, server),
      forWork: forWork === 0 ? pool : ofPool(yield* openPool({ ...ours, max: forWork }, begun)),
      // The embedder's statements take as long as they take, and cursors need a connection without a pipeline.
      ofClient: yield* openPool({ ...config, max: most }, verify),
      apart: pool,
      listen
    }
  })

/**
 * Keeps connections to the database for as long as the scope lasts, and migrates it first where it is the engine's own.
 *
 * @param options.watchesInstance whether each new connection is asked which instance it has reached (`Instance.ts`), which the
 * migrations have a table for then
 */
export const layer = (
  options: Opening
): Layer.Layer<
  Database | Pool | StoreTime | EmbeddedCommits | Client.SqlClient | PgClient.PgClient,
  StorageError | MigrationError
> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const prepares = options.migrate ?? !("pool" in options)
      const server = yield* prepares
        ? migrate(options, options.migrations)
        : confirm(options, options.migrations)
      return yield* Effect.mapError(
        Effect.flatMap(connect(options, server), make),
        (cause) => new StorageError({ operation: "open", cause })
      )
    })
  ).pipe(Layer.provide(Reactivity.layer))
