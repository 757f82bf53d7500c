/**
 * One SQLite handle for the stores and for the embedder (docs/adr/0003-sqlite-client.md).
 *
 * Stores write through `Database.write`, whose verbs are synchronous and are committed in groups: all that were
 * queued in one turn of the event loop share one `BEGIN IMMEDIATE … COMMIT` and are answered after it. The
 * standard `SqlClient` works over the same handle, so a store verb called inside an embedder's
 * `sql.withTransaction` belongs to that transaction.
 *
 * Everything that takes more than one step passes one first-come-first-served lock, whose waiters can be
 * interrupted. Whatever runs in one synchronous step needs no lock while it is free.
 */
import { mkdirSync, realpathSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as Client from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import { makeCompilerSqlite } from "@effect/sql/Statement"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import Sqlite from "better-sqlite3"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { constVoid } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import * as Turn from "../../loop/Turn.ts"
import { StorageError } from "../StorageError.ts"
import { groupAlike } from "../sql/Alike.ts"
import type { Dialect } from "../sql/Database.ts"
import { Database } from "../sql/Database.ts"
import { insertRows } from "../sql/Insert.ts"
import type { Migration, MigrationError } from "../sql/Migrations.ts"
import type { Answer, Program, Row, SqlParameter, SqlValue, Statement } from "../sql/Program.ts"
import { get, perform, run } from "../sql/Program.ts"
import { rangesOf } from "../sql/Ranges.ts"
import { migrate } from "./Migrator.ts"

/** Whether two rows differ in their last column only. */
const areAlike = (a: ReadonlyArray<SqlValue>, b: ReadonlyArray<SqlValue>): boolean => {
  for (let column = a.length - 2; column >= 0; column--) if (a[column] !== b[column]) return false
  return true
}

const dialect: Omit<Dialect, "update"> = {
  version: (table) => `${table}.version`,
  forUpdate: () => "",
  skipLocked: () => "",
  // One writes at a time.
  serialize: function* () {},
  jsonArray: (expressions) => `json_array(${expressions})`,
  jsonArrays: (expressions) => `json_group_array(json_array(${expressions}))`,
  jsonValue: (expressions) => `json_array(${expressions})`,
  json: (column) => `json(${column})`,
  elements: {
    from: "json_each(?) AS element",
    place: "element.key",
    value: "element.atom",
    integer: "element.atom"
  },
  entries: { from: "json_each(?) AS entry", key: "CAST(entry.key AS INTEGER)", value: "entry.atom" },
  progress: {
    table: "sendwright_job",
    as: "job",
    jobs: (index) => `sendwright_job AS job${index === undefined ? "" : ` INDEXED BY ${index}`}`,
    insert: (staying, changing, recipient, same) => {
      const insert = `INSERT INTO sendwright_job (${[...staying, ...Object.keys(changing)].join(", ")})
        VALUES (${[...staying.map(() => "?"), ...Object.values(changing)].join(", ")}) RETURNING seq`
      const names = recipient.map(([name]) => name)
      const insertRecipients = insertRows("sendwright_recipient", names, { same })
      return function* (job, recipients) {
        const seq = (yield* get(insert, ...job))?.["seq"]
        if (typeof seq !== "number") throw new TypeError("A job was inserted and has no number")
        yield* insertRecipients(recipients(seq))
      }
    }
  },
  // A CROSS JOIN's order is kept.
  lookUp: (table, as, condition) => `CROSS JOIN ${table} AS ${as} ON ${condition}`
}

/** @param first a version that no row has yet */
const updating = (first: number): Dialect["update"] => {
  let version = first
  return (table, columns) => {
    const set = [...columns.slice(0, -1).map(([name]) => name), "version"].map((name) => `${name} = ?`)
    const update = `UPDATE ${table} SET ${set.join(", ")} WHERE seq`
    // In one pass over the table. What a list of keys selects is collected first, and then found once more.
    const updateRange = `${update} BETWEEN ? AND ?`
    const updateScattered = `${update} IN (SELECT atom FROM json_each(?))`
    return function* (rows) {
      version += 1
      const written = String(version)
      for (const group of groupAlike(rows, areAlike)) {
        const values = [...group[0].slice(0, -1), written]
        const keys = group.map((row) => Number(row.at(-1)))
        const ranges = rangesOf(keys.map((key) => ({ key, next: key + 1 })))
        if (ranges === undefined) {
          yield* run(updateScattered, ...values, JSON.stringify(keys))
          continue
        }
        for (let at = 0; at < ranges.length; at += 2) {
          yield* run(updateRange, ...values, ...ranges.slice(at, at + 2))
        }
      }
      return written
    }
  }
}

export interface Options {
  /** A path, whose folder is created, or `:memory:`. */
  readonly filename: string
  /** Run before anything else can use the database. */
  readonly migrations?: ReadonlyArray<Migration> | undefined
}

/**
 * How long a turn of the event loop may be used by steps of a request, in milliseconds. Longer than by work in pieces:
 * who is put off misses the commit of those who were not.
 */
const requestsMs = 3 * Turn.longestMs
/** How long the driver may wait for a foreign lock: the wait is synchronous, so the whole process stands still. */
const busyTimeout = 250
/** The embedder's statement texts are not ours to bound, so the least recently used are dropped. */
const clientStatements = 200

const spanAttributes = { "db.system.name": "sqlite" }

interface Lock {
  readonly isFree: () => boolean
  /** `wake` is called when the turn comes; not when the ticket is granted at once. */
  readonly join: (wake: () => void) => Ticket
  readonly release: () => void
  /** Gives up a place in the queue, or the lock itself when it was granted meanwhile. */
  readonly leave: (ticket: Ticket) => void
}

interface Ticket {
  granted: boolean
  readonly wake: () => void
}

/** First come, first served: a released lock goes to the one who waited longest, never to whoever asks first. */
const makeLock = (): Lock => {
  const waiting = new Set<Ticket>()
  let held = false
  const release = (): void => {
    const [next] = waiting
    held = next !== undefined
    if (next === undefined) return
    waiting.delete(next)
    next.granted = true
    next.wake()
  }
  return {
    isFree: () => !held,
    join: (wake) => {
      const ticket: Ticket = { granted: !held, wake }
      if (held) waiting.add(ticket)
      held = true
      return ticket
    },
    release,
    leave: (ticket) => {
      if (!waiting.delete(ticket)) release()
    }
  }
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Waits for the lock; for use in an uninterruptible region whose mask is `restore`. An interrupt that comes
 * between the grant and the resumption of the fiber gives the lock back, hence the handler outside `restore`.
 */
const take = (lock: Lock, restore: Restore): Effect.Effect<void> =>
  Effect.suspend(() => {
    let wake = constVoid
    const ticket = lock.join(() => wake())
    if (ticket.granted) return Effect.void
    const turn = Effect.async<void>((resume) => {
      wake = () => resume(Effect.void)
      if (ticket.granted) wake()
    })
    return Effect.onError(restore(turn), () => Effect.sync(() => lock.leave(ticket)))
  })

const under = <A, E, R>(lock: Lock, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.zipRight(take(lock, restore), Effect.ensuring(restore(effect), Effect.sync(lock.release)))
  )

/**
 * Where statements run: the root outside transactions, one below it for each transaction and nested transaction.
 * A nested one holds its parent's lock as a transaction holds the root's, so that what fibers do in parallel
 * never falls into the savepoint of another.
 */
interface Session {
  readonly kind: "root" | "transaction" | "reserved"
  readonly parent: Session | undefined
  readonly depth: number
  readonly lock: Lock
  readonly connection: Connection
  open: boolean
}

/** A fiber may outlive the transaction it was forked in; then it works in what is left around it. */
const nearest = (session: Session): Session => {
  let current = session
  while (!current.open && current.parent !== undefined) current = current.parent
  return current
}

type Execute = (statement: Statement) => Answer

interface Queue {
  waiting: Array<Write>
  /** How long its writes took, in milliseconds, since another queue waited beside it. */
  spent: number
}

interface Write {
  readonly queue: Queue
  /** Runs the verb and returns what answers it. */
  readonly attempt: () => () => void
  readonly fail: (cause: unknown) => void
  alone: boolean
  withdrawn: boolean
}

const failure = (operation: string, cause: unknown): Effect.Effect<never, StorageError> =>
  cause instanceof Sqlite.SqliteError
    ? Effect.fail(new StorageError({ operation, cause }))
    : Effect.die(cause)

const closedError = () => new Sqlite.SqliteError("The database is closed", "SQLITE_MISUSE")
/** SQLite ends a transaction by itself on a full disk and the like; what follows must not commit on its own. */
const lostError = () => new Sqlite.SqliteError("The transaction is no longer open", "SQLITE_ABORT")

const make = Effect.fnUntraced(function* (db: Sqlite.Database, options: Options) {
  const begin = db.prepare("BEGIN IMMEDIATE")
  const commit = db.prepare("COMMIT")
  const rollback = db.prepare("ROLLBACK")
  let closed = false

  /** A failed COMMIT leaves the transaction open, and whoever wrote next would be lost with it. */
  const abandon = (): void => {
    try {
      if (db.inTransaction) rollback.run()
    } catch {
      // The next BEGIN tries again, and fails if it is still open.
    }
  }

  const start = (): void => {
    abandon()
    begin.run()
  }

  const sessions = new WeakMap<Connection, Session>()

  const sessionOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Session => {
    const held = Context.getOption(fiber.currentContext, Client.TransactionConnection)
    return Option.isSome(held) ? (sessions.get(held.value[0]) ?? root) : root
  }

  /** Runs one synchronous step in the session when its turn has come: at once while nobody has the lock. */
  const within = <A, E>(
    session: Session,
    step: (session: Session) => Effect.Effect<A, E>,
    atRoot?: Effect.Effect<A, E>
  ): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const current = nearest(session)
      if (current === root && atRoot !== undefined) return atRoot
      if (current.lock.isFree() && !Turn.isSpent(requestsMs)) return step(current)
      const turn = Effect.suspend(() => (current.open ? Effect.asSome(step(current)) : Effect.succeedNone))
      return Effect.flatMap(
        under(current.lock, Effect.zipRight(Turn.taken, turn)),
        Option.match({ onNone: () => within(session, step, atRoot), onSome: Effect.succeed })
      )
    })

  // The standard client

  const recent = <Result>(prepare: (text: string) => Sqlite.Statement<Array<unknown>, Result>) => {
    const kept = new Map<string, Sqlite.Statement<Array<unknown>, Result>>()
    return (text: string): Sqlite.Statement<Array<unknown>, Result> => {
      const statement = kept.get(text) ?? prepare(text)
      kept.delete(text)
      kept.set(text, statement)
      const [oldest] = kept.keys()
      if (kept.size > clientStatements && oldest !== undefined) kept.delete(oldest)
      return statement
    }
  }
  const prepareRows = (text: string) => db.prepare<Array<unknown>, object>(text)
  const rowStatement = recent(prepareRows)
  const valueStatement = recent((text) => {
    const statement = db.prepare<Array<unknown>, ReadonlyArray<unknown>>(text)
    return statement.reader ? statement.raw(true) : statement
  })

  const openSession = (kind: Session["kind"], parent: Session | undefined): Session => {
    const query = <Result, A>(
      prepare: () => Sqlite.Statement<Array<unknown>, Result>,
      use: (statement: Sqlite.Statement<Array<unknown>, Result>) => A
    ): Effect.Effect<A, SqlError> =>
      Effect.withFiberRuntime((fiber) =>
        within(session, (current) =>
          Effect.try({
            try: () => {
              if (current.kind === "transaction" && !db.inTransaction) throw lostError()
              // Said anew each time, since the statement is shared with callers who want the other kind.
              const result = use(
                prepare().safeIntegers(Context.get(fiber.currentContext, Client.SafeIntegers))
              )
              if (current.kind === "root" && db.inTransaction) {
                abandon()
                throw new Error("A transaction was begun by a statement. Use withTransaction")
              }
              return result
            },
            catch: (cause) => new SqlError({ cause, message: "Failed to execute statement" })
          })
        )
      )
    const rows = (
      prepare: () => Sqlite.Statement<Array<unknown>, object>,
      parameters: ReadonlyArray<unknown>,
      transform: (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
    ): Effect.Effect<ReadonlyArray<object>, SqlError> => {
      const all = query(prepare, (statement): ReadonlyArray<object> => {
        if (statement.reader) return statement.all(...parameters)
        statement.run(...parameters)
        return []
      })
      return transform === undefined ? all : Effect.map(all, (found) => transform(found))
    }
    const session: Session = {
      kind,
      parent,
      depth: parent === undefined ? -1 : parent.depth + 1,
      lock: makeLock(),
      open: true,
      connection: {
        execute: (text, parameters, transform) => rows(() => rowStatement(text), parameters, transform),
        executeRaw: (text, parameters) =>
          query(
            () => rowStatement(text),
            (statement) => (statement.reader ? statement.all(...parameters) : statement.run(...parameters))
          ),
        executeValues: (text, parameters) =>
          query(
            () => valueStatement(text),
            (statement): ReadonlyArray<ReadonlyArray<unknown>> => {
              if (statement.reader) return statement.all(...parameters)
              statement.run(...parameters)
              return []
            }
          ),
        executeUnprepared: (text, parameters, transform) =>
          rows(() => prepareRows(text), parameters ?? [], transform),
        // Read as a whole: an open cursor would forbid every other statement for as long as its reader takes.
        executeStream: (text, parameters, transform) =>
          Stream.fromIterableEffect(rows(() => rowStatement(text), parameters, transform))
      }
    }
    sessions.set(session.connection, session)
    return session
  }

  const root = openSession("root", undefined)

  const reserve = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(take(root.lock, restore), () => {
      const session = openSession("reserved", root)
      const end = Effect.sync(() => {
        session.open = false
        abandon()
        root.lock.release()
      })
      return Effect.as(
        Effect.addFinalizer(() => end),
        session.connection
      )
    })
  )

  const withTransaction = <R, E, A>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.useSpan(
        "sql.transaction",
        { kind: "client", captureStackTrace: false, attributes: { ...spanAttributes } },
        (span) => {
          const transact = (parent: Session): Effect.Effect<A, E | SqlError, R> => {
            const session = openSession("transaction", parent)
            const name = `effect_sql_${session.depth}`
            const nested = parent !== root
            const undo = (): void => {
              try {
                if (nested && db.inTransaction) db.exec(`ROLLBACK TO ${name}; RELEASE ${name}`)
                if (!nested) abandon()
              } catch {
                // Without its savepoint it cannot be undone alone.
                abandon()
              }
            }
            const attempt = (message: string, step: () => void): Effect.Effect<void, SqlError> =>
              Effect.try({
                try: () => {
                  if (nested && !db.inTransaction) throw lostError()
                  step()
                },
                catch: (cause) => {
                  undo()
                  return new SqlError({ cause, message })
                }
              })
            const body = Effect.mapInputContext(effect, (context: Context.Context<R>) =>
              context.pipe(
                Context.add(Client.TransactionConnection, [session.connection, session.depth]),
                Context.add(Tracer.ParentSpan, span)
              )
            )
            const end = (exit: Exit.Exit<A, E>): Effect.Effect<A, E | SqlError> => {
              session.open = false
              const settle = Exit.isSuccess(exit)
                ? attempt("Failed to commit transaction", () => {
                    if (nested) db.exec(`RELEASE ${name}`)
                    else commit.run()
                  })
                : Effect.sync(undo)
              // A fiber that was forked inside may be in a nested transaction of its own.
              return Effect.zipRight(under(session.lock, settle), exit)
            }
            return Turn.taken.pipe(
              Effect.zipRight(
                attempt("Failed to begin transaction", () => {
                  if (nested) db.exec(`SAVEPOINT ${name}`)
                  else start()
                })
              ),
              Effect.zipRight(Effect.flatMap(Effect.exit(restore(body)), end))
            )
          }
          const enter = (from: Session): Effect.Effect<A, E | SqlError, R> => {
            const parent = nearest(from)
            const free = Effect.sync(parent.lock.release)
            return Effect.flatMap(take(parent.lock, restore), () =>
              parent.open
                ? Effect.ensuring(transact(parent), free)
                : Effect.zipRight(
                    free,
                    Effect.suspend(() => enter(from))
                  )
            )
          }
          return Effect.withFiberRuntime<A, E | SqlError, R>((fiber) => enter(sessionOf(fiber)))
        }
      )
    )

  const client = Object.assign(
    yield* Client.make({
      acquirer: Effect.succeed(root.connection),
      transactionAcquirer: reserve,
      compiler: makeCompilerSqlite(),
      spanAttributes: Object.entries(spanAttributes)
    }),
    {
      [SqliteClient.TypeId]: SqliteClient.TypeId,
      config: { filename: options.filename },
      withTransaction,
      export: within(root, () =>
        Effect.try({
          try: (): Uint8Array => db.serialize(),
          catch: (cause) => new SqlError({ cause, message: "Failed to export database" })
        })
      ),
      backup: (destination: string) =>
        Effect.tryPromise({
          try: () => db.backup(destination),
          catch: (cause) => new SqlError({ cause, message: "Failed to backup database" })
        }),
      loadExtension: (path: string) =>
        within(root, () =>
          Effect.try({
            try: () => {
              db.loadExtension(path)
            },
            catch: (cause) => new SqlError({ cause, message: "Failed to load extension" })
          })
        )
    }
    // `safe` and `withoutTransforms` answer this very object, and `updateValues: never` only hides a helper that
    // SQLite has no syntax for; neither can be written as a type of an assignment.
  ) as SqliteClient.SqliteClient

  // The stores' verbs

  const kept = new Map<string, Sqlite.Statement<Array<SqlParameter>, Row>>()
  const executing =
    (guard: (statement: Sqlite.Statement<Array<SqlParameter>, Row>) => void): Execute =>
    ({ parameters, text, wants }) => {
      let statement = kept.get(text)
      if (statement === undefined) {
        statement = db.prepare<Array<SqlParameter>, Row>(text)
        kept.set(text, statement)
      }
      guard(statement)
      if (wants !== "row" && wants !== "rows")
        return { rows: [], changes: statement.run(...parameters).changes }
      if (wants === "rows") return { rows: statement.all(...parameters), changes: 0 }
      const row = statement.get(...parameters)
      return { rows: row === undefined ? [] : [row], changes: 0 }
    }
  const writing = executing(() => {
    if (!db.inTransaction) throw lostError()
  })
  const reading = executing((statement) => {
    if (!statement.readonly) throw new TypeError("A statement that writes was run in a read")
  })

  const requests: Queue = { waiting: [], spent: 0 }
  const work: Queue = { waiting: [], spent: 0 }
  let scheduled = false

  /** Whose turn it is: while both wait, each has half of the time. */
  const queueInTurn = (): Queue | undefined => {
    if (requests.waiting.length > 0 && work.waiting.length > 0) {
      return requests.spent <= work.spent ? requests : work
    }
    requests.spent = 0
    work.spent = 0
    return [requests, work].find(({ waiting }) => waiting.length > 0)
  }

  /** One transaction of as many queued writes as fit before `until`. Every write is answered or queued again. */
  const commitGroup = (until: number): void => {
    const tried: Array<Write> = []
    const answers: Array<() => void> = []
    try {
      start()
    } catch (cause) {
      // Nobody's fault: the file is locked from outside or cannot be written. Trying each would block for each.
      for (const { waiting } of [requests, work]) {
        for (const write of waiting.splice(0)) write.fail(cause)
      }
      return
    }
    try {
      let began = performance.now()
      for (let queue = queueInTurn(); queue !== undefined; queue = queueInTurn()) {
        const [next] = queue.waiting
        if (next === undefined || (tried.length > 0 && (next.alone || began > until))) break
        queue.waiting.shift()
        if (next.withdrawn) continue
        tried.push(next)
        answers.push(next.attempt())
        const ended = performance.now()
        queue.spent += ended - began
        began = ended
        if (next.alone) break
      }
      commit.run()
    } catch (cause) {
      abandon()
      if (tried.length === 1) tried[0]?.fail(cause)
      else for (const write of tried.reverse()) write.queue.waiting.unshift(write)
      for (const write of tried) write.alone = true
      return
    }
    for (const answer of answers) answer()
  }

  /** For requests that write it is the longest: the more of them share a commit, the less each waits for the disk. */
  const shareMs = (): number => (requests.waiting.length > 0 ? Turn.longestMs : Turn.shareMs())

  /** The lock is held. */
  const flush = (): void => {
    const until = performance.now() + shareMs()
    while (queueInTurn() !== undefined && performance.now() <= until) commitGroup(until)
    scheduled = false
    root.lock.release()
    schedule()
  }

  /** The lock is held. */
  const flushInTurn = (): void => {
    if (Turn.isSpent(shareMs())) setImmediate(flushInTurn)
    else flush()
  }

  const schedule = (): void => {
    if (scheduled || queueInTurn() === undefined) return
    scheduled = true
    // While it is free it is not kept from those who read until then.
    const enter = (): void => {
      if (root.lock.isFree() && Turn.isSpent(shareMs())) setImmediate(enter)
      else if (root.lock.join(flushInTurn).granted) flush()
    }
    if (root.lock.isFree()) setImmediate(enter)
    else enter()
  }

  const refused = (operation: string) => failure(operation, closedError())

  const enqueue = <A>(
    queue: Queue,
    operation: string,
    verb: () => Program<A>
  ): Effect.Effect<A, StorageError> =>
    Effect.async((resume) => {
      if (closed) return resume(refused(operation))
      const write: Write = {
        queue,
        attempt: () => {
          const value = perform(verb(), writing)
          return () => resume(Effect.succeed(value))
        },
        fail: (cause) => resume(failure(operation, cause)),
        alone: false,
        withdrawn: false
      }
      queue.waiting.push(write)
      schedule()
      return Effect.sync(() => {
        write.withdrawn = true
      })
    })

  const savepoint = db.prepare("SAVEPOINT sendwright_verb")
  const keep = db.prepare("RELEASE sendwright_verb")
  const undo = db.prepare("ROLLBACK TO sendwright_verb")

  const at = <A>(operation: string, step: () => A): Effect.Effect<A, StorageError> =>
    Effect.suspend(() => {
      if (closed) return refused(operation)
      try {
        return Effect.succeed(step())
      } catch (cause) {
        return failure(operation, cause)
      }
    })

  const writeIn =
    (queue: Queue) =>
    <A>(operation: string, verb: () => Program<A>): Effect.Effect<A, StorageError> => {
      const joined = at(operation, () => {
        if (!db.inTransaction) throw lostError()
        savepoint.run()
        try {
          const value = perform(verb(), writing)
          keep.run()
          return value
        } catch (cause) {
          if (db.inTransaction) {
            undo.run()
            keep.run()
          }
          throw cause
        }
      })
      const queued = enqueue(queue, operation, verb)
      return Effect.withFiberRuntime((fiber) => within(sessionOf(fiber), () => joined, queued))
    }

  const read = <A>(operation: string, verb: () => Program<A>): Effect.Effect<A, StorageError> => {
    const step = at(operation, () => perform(verb(), reading))
    return Effect.withFiberRuntime((fiber) => within(sessionOf(fiber), () => step))
  }

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      closed = true
      const drain = Effect.sync(() => {
        while (queueInTurn() !== undefined) commitGroup(performance.now() + Turn.longestMs)
      })
      return under(root.lock, drain)
    })
  )

  return Context.make(Database, {
    // Far from what earlier processes wrote: what is rolled back must not be taken for one of theirs.
    dialect: { ...dialect, update: updating(yield* Clock.currentTimeMillis) },
    write: writeIn(requests),
    work: writeIn(work),
    commitsTogether: true,
    read
  }).pipe(Context.add(Client.SqlClient, client), Context.add(SqliteClient.SqliteClient, client))
})

const opening = <A>(step: () => A): Effect.Effect<A, StorageError> =>
  Effect.try({ try: step, catch: (cause) => new StorageError({ operation: "open", cause }) })

/** Absolute and without links, so that two spellings of one file meet at one lock. */
const locate = (filename: string): string => {
  const path = resolve(filename)
  mkdirSync(dirname(path), { recursive: true })
  try {
    return realpathSync(path)
  } catch {
    return join(realpathSync(dirname(path)), basename(path))
  }
}

/**
 * Keeps other processes out for as long as this one lives. The lock is one of the operating system's, on a file
 * beside the database, so that kill -9 frees it and readers such as a backup still get at the database itself.
 * The file stays: removing it would let two processes lock two files of one name.
 */
const claim = (path: string): Effect.Effect<Sqlite.Database, StorageError> =>
  Effect.suspend(() => {
    const lock = new Sqlite(`${path}.lock`, { timeout: busyTimeout })
    try {
      lock.pragma("locking_mode = EXCLUSIVE")
      lock.exec("BEGIN EXCLUSIVE")
      return Effect.succeed(lock)
    } catch (cause) {
      lock.close()
      if (!(cause instanceof Sqlite.SqliteError) || !cause.code.startsWith("SQLITE_BUSY")) throw cause
      return Effect.fail(
        new StorageError({
          operation: "open a database that is already open",
          cause: new Error(
            `${path} is open in another process, or twice in this one. One process owns a SQLite database: stop the other, or give this one its own file.`,
            { cause }
          )
        })
      )
    }
  }).pipe(Effect.catchAllDefect((cause) => Effect.fail(new StorageError({ operation: "open", cause }))))

const connect = (path: string): Sqlite.Database => {
  const db = new Sqlite(path, { timeout: busyTimeout })
  const set = (pragma: string, value: string, expected: unknown): void => {
    db.pragma(`${pragma} = ${value}`)
    // The driver is compiled to lower `synchronous` at the first read of a WAL file: look after one.
    db.prepare("SELECT count(*) FROM sqlite_schema").get()
    const actual = db.pragma(pragma, { simple: true })
    if (actual !== expected)
      throw new Error(`SQLite refused ${pragma} = ${value} and keeps ${String(actual)}`)
  }
  try {
    if (!db.memory) set("journal_mode", "WAL", "wal")
    set("synchronous", "FULL", 2)
    set("foreign_keys", "ON", 1)
    // In KiB, taken as it is needed. The 2 MiB that are usual do not hold the pages that a deep backlog's windows touch.
    set("cache_size", "-32768", -32768)
    // In pages, 32 MiB. A checkpoint is made in the midst of somebody's commit, and copies each page once, however often it
    // was written since the last one: of the usual 1000 pages it takes five times as long in all.
    set("wal_autocheckpoint", "8000", 8000)
    return db
  } catch (cause) {
    db.close()
    throw cause
  }
}

const close = (db: Sqlite.Database): Effect.Effect<void> => Effect.sync(() => db.close())

const open = Effect.fnUntraced(function* (filename: string) {
  if (filename === ":memory:")
    return yield* Effect.acquireRelease(
      opening(() => connect(filename)),
      close
    )
  const path = yield* opening(() => locate(filename))
  yield* Effect.acquireRelease(claim(path), close)
  return yield* Effect.acquireRelease(
    opening(() => connect(path)),
    close
  )
})

/**
 * Opens the database for as long as the scope lasts, and writes what is queued before it closes. Commits are
 * synced to the disk (`synchronous = FULL`), so that what was answered survives a power cut.
 */
export const layer = (
  options: Options
): Layer.Layer<Database | Client.SqlClient | SqliteClient.SqliteClient, StorageError | MigrationError> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const db = yield* open(options.filename)
      if (options.migrations !== undefined) {
        yield* migrate(db, options.migrations, yield* Clock.currentTimeMillis)
      }
      return yield* make(db, options)
    })
  ).pipe(Layer.provide(Reactivity.layer))
