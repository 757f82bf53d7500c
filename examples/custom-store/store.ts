/**
 * A store of your own, on the SQLite that is in Node itself (`node:sqlite`, Node 22.16 and later): nothing native to
 * install. The tables, the dialect and the stores are core's; this file is the driver, which runs their statements.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { Instant, StorageError, type Stores } from "@sendwright/core"
import {
  Database,
  type MigrationError,
  Program,
  SqliteDialect,
  SqliteMigrations,
  SqliteSchema,
  SqliteStores
} from "@sendwright/core/sql"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

export interface Options {
  /** A path, or `:memory:`. */
  readonly filename: string
}

/** SQLite's primary result codes, the low byte of what the driver tells. */
const refusals = new Set([/* TOOBIG */ 18, /* CONSTRAINT */ 19, /* MISMATCH */ 20])
const collisions = new Set([/* BUSY */ 5, /* LOCKED */ 6])
const passing = new Set([
  ...[/* NOMEM */ 7, /* READONLY */ 8, /* IOERR */ 10, /* FULL */ 13, /* CANTOPEN */ 14, /* PROTOCOL */ 15]
])

/** SQLite ends a transaction by itself on a full disk and the like; what follows must not commit on its own. */
class TransactionLost extends Error {
  override readonly message = "The transaction is no longer open"
}

/** What the database refuses is a StorageError. All else is a bug, and so a defect. */
const failure = (operation: string, cause: unknown): Effect.Effect<never, StorageError.StorageError> => {
  const fail = (fault: StorageError.StorageError["fault"]) =>
    Effect.fail(new StorageError.StorageError({ operation, cause, fault }))
  if (cause instanceof TransactionLost) return fail("unavailable")
  const { code, errcode } = Object(cause)
  // A database that was closed.
  if (code === "ERR_INVALID_STATE") return fail("unavailable")
  if (code !== "ERR_SQLITE_ERROR") return Effect.die(cause)
  const primary = Number(errcode) & 0xff
  if (refusals.has(primary)) return fail("content")
  if (collisions.has(primary)) return fail("collision")
  return fail(passing.has(primary) ? "unavailable" : undefined)
}

const attempt = <A>(operation: string, step: () => A): Effect.Effect<A, StorageError.StorageError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(step())
    } catch (cause) {
      return failure(operation, cause)
    }
  })

/** Opens the file for as long as the scope lasts. The lock is kept: a second process is refused with `SQLITE_BUSY`. */
const open = ({ filename }: Options) =>
  Effect.acquireRelease(
    attempt("open", () => {
      const db = new DatabaseSync(filename)
      try {
        db.exec("PRAGMA locking_mode = EXCLUSIVE")
        db.exec("PRAGMA journal_mode = WAL")
        // What was answered survives a power cut.
        db.exec("PRAGMA synchronous = FULL")
        db.exec("PRAGMA foreign_keys = ON")
        db.exec("PRAGMA secure_delete = ON")
        return db
      } catch (cause) {
        db.close()
        throw cause
      }
    }),
    (db) => Effect.sync(() => db.close())
  )

/** Runs statements, each kept prepared by its text: core writes them as constants. */
const executing = (db: DatabaseSync) => {
  const kept = new Map<string, StatementSync>()
  return ({ parameters, text, wants }: Program.Statement): Program.Answer => {
    if (wants === "script") {
      db.exec(text)
      return { rows: [], changes: 0 }
    }
    const statement = kept.get(text) ?? db.prepare(text)
    kept.set(text, statement)
    if (wants === "row" || wants === "rows") return { rows: statement.all(...parameters), changes: 0 }
    return { rows: [], changes: Number(statement.run(...parameters).changes) }
  }
}

/**
 * Where a fiber is: the root outside transactions, one below it for each transaction and nested transaction. One step or
 * one transaction at a time has a level's turn, so that what fibers do in parallel never falls into another's savepoint.
 */
interface Level {
  readonly parent: Level | undefined
  readonly depth: number
  readonly turn: Effect.Semaphore
  open: boolean
}

const below = (parent: Level | undefined): Level => ({
  parent,
  depth: parent === undefined ? 0 : parent.depth + 1,
  turn: Effect.unsafeMakeSemaphore(1),
  open: true
})

/** A fiber may outlive the transaction that it was forked in; then it works in what is left around it. */
const nearest = (level: Level): Level =>
  level.open || level.parent === undefined ? level : nearest(level.parent)

/** Gives the step its turn at the level where the fiber is by then. Who waits can be interrupted. */
const inTurn = <A, E, R>(
  from: Level,
  step: (level: Level) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const level = nearest(from)
    const turn = Effect.suspend(() => (level.open ? Effect.asSome(step(level)) : Effect.succeedNone))
    return Effect.flatMap(
      level.turn.withPermits(1)(turn),
      Option.match({ onNone: () => inTurn(from, step), onSome: Effect.succeed })
    )
  })

/** Every verb is one synchronous step, so that a flood of them would keep out all else that the process does. */
const nextTurn = Effect.async<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/** A transaction at the root, a savepoint below it. */
const transacting = (db: DatabaseSync) => {
  const check = (): void => {
    if (!db.isTransaction) throw new TransactionLost()
  }
  const undo = ({ depth }: Level): void => {
    if (!db.isTransaction) return
    try {
      db.exec(depth === 0 ? "ROLLBACK" : `ROLLBACK TO level_${depth}; RELEASE level_${depth}`)
    } catch {
      // Without its savepoint it cannot be undone alone; what is around it finds its transaction lost.
      if (db.isTransaction) db.exec("ROLLBACK")
    }
  }
  return {
    check,
    undo,
    begin: ({ depth }: Level): void => {
      if (depth > 0) check()
      db.exec(depth === 0 ? "BEGIN IMMEDIATE" : `SAVEPOINT level_${depth}`)
    },
    commit: (level: Level): void => {
      try {
        check()
        db.exec(level.depth === 0 ? "COMMIT" : `RELEASE level_${level.depth}`)
      } catch (cause) {
        undo(level)
        throw cause
      }
    }
  }
}

const make = Effect.fnUntraced(function* (db: DatabaseSync) {
  const execute = executing(db)
  const { begin, check, commit, undo } = transacting(db)
  const root = below(undefined)
  const here = yield* FiberRef.make(root)

  const writing = (statement: Program.Statement): Program.Answer => {
    check()
    return execute(statement)
  }

  /** Once a verb has begun it is finished. */
  const write = <A>(operation: string, verb: () => Program.Program<A>) => {
    const step = (level: Level) =>
      attempt(operation, () => {
        begin(level)
        let value: A
        try {
          value = Program.perform(verb(), writing)
        } catch (cause) {
          undo(level)
          throw cause
        }
        commit(level)
        return value
      })
    return Effect.flatMap(Effect.zipRight(nextTurn, FiberRef.get(here)), (from) => inTurn(from, step))
  }

  const read = <A>(operation: string, verb: () => Program.Program<A>) => {
    const step = attempt(operation, () => Program.perform(verb(), execute))
    return Effect.flatMap(FiberRef.get(here), (from) => inTurn(from, () => step))
  }

  const atomically = <A, E, R>(
    operation: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | StorageError.StorageError, R> => {
    const transact = (level: Level) =>
      Effect.uninterruptibleMask((restore) => {
        const inner = below(level)
        const body = Effect.zipRight(
          attempt("transaction", () => begin(level)),
          Effect.exit(restore(Effect.locally(operation, here, inner)))
        )
        return Effect.flatMap(body, (exit) => {
          inner.open = false
          const end = attempt("transaction", () => (exit._tag === "Success" ? commit(level) : undo(level)))
          // A fiber that was forked inside may be in a nested transaction of its own.
          return Effect.zipRight(inner.turn.withPermits(1)(end), exit)
        })
      })
    return Effect.flatMap(FiberRef.get(here), (from) => inTurn(from, transact))
  }

  return Database.of({
    // Far from what earlier processes wrote: each write of a row has a number of its own.
    dialect: SqliteDialect.dialect,
    hasOneOwner: true,
    // Each verb has its own commit. A store that must be fast puts many into one.
    commitsInGroups: false,
    write,
    work: write,
    // An open transaction holds up all writes, so that one apart would wait for itself.
    writeApart: write,
    read,
    readPage: read,
    atomically,
    // Deleted rows are overwritten (`secure_delete`); the log has them until it is emptied.
    wipe: Effect.as(
      read("wipe", () => Program.all("PRAGMA wal_checkpoint(TRUNCATE)")),
      null
    ),
    isEmbedded: Effect.map(FiberRef.get(here), (level) => nearest(level) !== root)
  })
})

/** Opens the file, brings it to the schema of this build, and answers all stores over it. */
export const layer = (
  options: Options
): Layer.Layer<Stores.Stores, StorageError.StorageError | MigrationError> =>
  SqliteStores.layer.pipe(
    Layer.provide(
      Layer.scoped(
        Database,
        Effect.gen(function* () {
          const db = yield* open(options)
          const handle = { execute: executing(db), isInTransaction: () => db.isTransaction }
          const now = yield* Instant.now
          yield* SqliteMigrations.migrate(handle, SqliteSchema.migrations, now)
          return yield* make(db)
        })
      )
    )
  )
