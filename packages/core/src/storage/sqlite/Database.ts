/**
 * One SQLite handle for the stores and for the embedder (docs/adr/0003-sqlite-client.md).
 *
 * Stores write through `Database.write`, whose verbs are synchronous and are committed in groups (`GroupCommit.ts`). The
 * standard `SqlClient` works over the same handle (`Client.ts`), so a store verb called inside an embedder's
 * `sql.withTransaction` belongs to that transaction.
 *
 * Everything that takes more than one step passes one first-come-first-served lock, whose waiters can be
 * interrupted. Whatever runs in one synchronous step needs no lock while it is free.
 */

import * as Reactivity from "@effect/experimental/Reactivity"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqliteClient } from "@effect/sql-sqlite-node/SqliteClient"
import Sqlite from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ForeignTransaction } from "../../domain/Errors.ts"
import * as Time from "../../domain/Instant.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import type { Answer, Program, Row, SqlParameter, Statement } from "../Program.ts"
import { perform } from "../Program.ts"
import { StorageError } from "../StorageError.ts"
import * as Atomically from "../sql/Atomically.ts"
import { Database } from "../sql/Database.ts"
import * as ForeignConnection from "../sql/ForeignConnection.ts"
import * as Lock from "../sql/Lock.ts"
import type { Migration, MigrationError } from "../sql/Migrations.ts"
import * as Slow from "../sql/Slow.ts"
import * as Client from "./Client.ts"
import { dialect } from "./Dialect.ts"
import { faultOf, reasonOf } from "./Driver.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { migrate } from "./Migrator.ts"
import * as Open from "./Open.ts"
import * as Ownership from "./Ownership.ts"
import * as Transaction from "./Transaction.ts"

export interface Options {
  /** A path, whose folder is created, or `:memory:`. */
  readonly filename: string
  /** Run before anything else can use the database. */
  readonly migrations?: ReadonlyArray<Migration> | undefined
}

type Execute = (statement: Statement) => Answer

const failure = (operation: string, cause: unknown): Effect.Effect<never, StorageError> =>
  cause instanceof Sqlite.SqliteError
    ? Effect.fail(
        new StorageError({
          operation: Ownership.isLost(cause) ? Ownership.lostOperation : operation,
          cause,
          fault: faultOf(cause.code),
          reason: reasonOf(cause.code)
        })
      )
    : Effect.die(cause)

const foreign = (operation: string) =>
  Effect.fail(new StorageError({ operation, cause: new ForeignTransaction({ operation }) }))

const closedError = () => new Sqlite.SqliteError("The database is closed", "SQLITE_MISUSE")

/** Executes statements, each prepared once: those of a write in a transaction only, those of a read without writing. */
const executorsOf = (db: Sqlite.Database): { readonly writing: Execute; readonly reading: Execute } => {
  const statements = new Map<string, Sqlite.Statement<Array<SqlParameter>, Row>>()
  const executing =
    (guard: (statement: Sqlite.Statement<Array<SqlParameter>, Row>) => void): Execute =>
    ({ parameters, text, wants }) => {
      if (wants === "script") {
        if (!db.inTransaction) throw Transaction.lostError()
        db.exec(text)
        return { rows: [], changes: 0 }
      }
      let statement = statements.get(text)
      if (statement === undefined) {
        statement = db.prepare<Array<SqlParameter>, Row>(text)
        statements.set(text, statement)
      }
      guard(statement)
      if (wants !== "row" && wants !== "rows")
        return { rows: [], changes: statement.run(...parameters).changes }
      if (wants === "rows") return { rows: statement.all(...parameters), changes: 0 }
      const row = statement.get(...parameters)
      return { rows: row === undefined ? [] : [row], changes: 0 }
    }
  const writing = executing(() => {
    if (!db.inTransaction) throw Transaction.lostError()
  })
  const reading = executing((statement) => {
    if (!statement.readonly) throw new TypeError("A statement that writes was run in a read")
  })
  return { reading, writing }
}

/** Runs a step of an open transaction whole or not at all. */
const savepointOf = (db: Sqlite.Database): (<A>(step: () => A) => A) => {
  const savepoint = db.prepare("SAVEPOINT sendwright_verb")
  const release = db.prepare("RELEASE sendwright_verb")
  const undo = db.prepare("ROLLBACK TO sendwright_verb")
  return (step) => {
    if (!db.inTransaction) throw Transaction.lostError()
    savepoint.run()
    try {
      const value = step()
      release.run()
      return value
    } catch (cause) {
      if (db.inTransaction) {
        undo.run()
        release.run()
      }
      throw cause
    }
  }
}

/** Deleted content is overwritten in the file (`Open.ts`); the log still has it until it is emptied. */
const emptyLog = (db: Sqlite.Database, transaction: Transaction.Transaction): string | null => {
  transaction.rollback()
  const [found] = db.pragma("wal_checkpoint(TRUNCATE)") as ReadonlyArray<{ readonly busy: number }>
  return found?.busy === 1
    ? "The write-ahead log could not be emptied, since somebody reads the database: it is emptied with the next erasure, or when the process ends."
    : null
}

const make = Effect.fnUntraced(function* (
  db: Sqlite.Database,
  options: Options,
  { ownership, state }: Open.Owned
) {
  const transaction = Transaction.make(db, ownership, state)
  const sessions = yield* Client.make(db, transaction, options.filename)
  const commits = GroupCommit.make(transaction, sessions.root.lock)
  let closed = false

  const { reading, writing } = executorsOf(db)
  const inSavepoint = savepointOf(db)

  const refused = (operation: string) => failure(operation, closedError())

  const enqueue = <A>(
    queue: GroupCommit.Queue,
    operation: string,
    verb: () => Program<A>
  ): Effect.Effect<A, StorageError> =>
    Effect.async((resume) => {
      if (closed) return resume(refused(operation))
      const withdraw = commits.enqueue(queue, {
        attempt: () => {
          const began = performance.now()
          const value = perform(verb(), writing)
          const answer = Slow.answer(operation, began, value)
          return () => resume(answer)
        },
        fail: (cause) => resume(failure(operation, cause))
      })
      return Effect.sync(withdraw)
    })

  const at = <A>(operation: string, step: () => A): Effect.Effect<A, StorageError> =>
    Effect.suspend(() => {
      if (closed) return refused(operation)
      try {
        ownership.check()
        const began = performance.now()
        return Slow.answer(operation, began, step())
      } catch (cause) {
        transaction.failed(cause)
        return failure(operation, cause)
      }
    })

  const writeIn =
    (queue: GroupCommit.Queue) =>
    <A>(operation: string, verb: () => Program<A>): Effect.Effect<A, StorageError> => {
      const joined = at(operation, () => inSavepoint(() => perform(verb(), writing)))
      const queued = enqueue(queue, operation, verb)
      return Effect.withFiberRuntime((fiber) =>
        ForeignConnection.isAround(fiber, sessions.isOurs)
          ? foreign(operation)
          : sessions.within(sessions.of(fiber), () => joined, queued)
      )
    }

  const read = <A>(operation: string, verb: () => Program<A>): Effect.Effect<A, StorageError> => {
    const step = at(operation, () => perform(verb(), reading))
    const committed = at(operation, () => {
      transaction.rollback()
      return perform(verb(), reading)
    })
    return Effect.withFiberRuntime((fiber) =>
      ForeignConnection.isAround(fiber, sessions.isOurs)
        ? foreign(operation)
        : sessions.within(sessions.of(fiber), ({ kind }) => (kind === "root" ? committed : step))
    )
  }

  const wipe = sessions.within(sessions.root, () => at("Database.wipe", () => emptyLog(db, transaction)))

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      closed = true
      return Lock.under(sessions.root.lock, Effect.sync(commits.drain))
    })
  )

  const database: Database["Type"] = {
    // Far from what earlier processes wrote: what is rolled back must not be taken for one of theirs.
    dialect,
    hasOneOwner: true,
    write: writeIn(commits.requests),
    writeApart: writeIn(commits.requests),
    work: writeIn(commits.work),
    commitsInGroups: true,
    isEmbedded: sessions.isEmbedded,
    isForeign: ForeignConnection.isAroundThis(sessions.isOurs),
    atomically: Atomically.over(sessions.client),
    wipe,
    look: (operation, verb) => Effect.zipRight(EventLoopBudget.nextTurn, read(operation, verb)),
    read,
    readPage: read
  }
  return Context.make(Database, database).pipe(
    Context.add(SqlClient, sessions.client),
    Context.add(Client.tag, sessions.client)
  )
})

/**
 * Opens the database for as long as the scope lasts, and writes what is queued before it closes. Commits are
 * synced to the disk (`synchronous = FULL`), so that what was answered survives a power cut.
 */
export const layer = (
  options: Options
): Layer.Layer<Database | SqlClient | SqliteClient, StorageError | MigrationError> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const { db, own } = yield* Open.open(options.filename)
      if (options.migrations !== undefined) {
        yield* migrate(db, options.migrations, yield* Time.now)
      }
      return yield* make(db, options, yield* own)
    })
  ).pipe(Layer.provide(Reactivity.layer))
