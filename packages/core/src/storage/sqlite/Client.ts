/**
 * The standard `SqlClient` over the handle that the stores write through, and whose turn it is at it: what passes here
 * takes one step in the root, in a transaction or in a nested one.
 */
import type * as Reactivity from "@effect/experimental/Reactivity"
import * as Client from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import { makeCompilerSqlite } from "@effect/sql/Statement"
import type * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import type Sqlite from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import { ForeignTransaction } from "../../domain/Errors.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import * as AroundTransaction from "../sql/AroundTransaction.ts"
import * as ForeignConnection from "../sql/ForeignConnection.ts"
import * as Lock from "../sql/Lock.ts"
import { lostError, type Transaction } from "./Transaction.ts"

/**
 * As `@effect/sql-sqlite-node` makes it, whose clients are found by this name. The package is not loaded: it brings a driver,
 * and is there only where the embedder uses it.
 */
const typeId: SqliteClient.TypeId = Symbol.for("@effect/sql-sqlite-node/SqliteClient") as SqliteClient.TypeId
export const tag = Context.GenericTag<SqliteClient.SqliteClient>("@effect/sql-sqlite-node/SqliteClient")

/**
 * How long a turn of the event loop may be used by steps of a request, in milliseconds. Longer than by work in pieces:
 * who is put off misses the commit of those who were not.
 */
const requestsMs = 6 * EventLoopBudget.turnMs
/** The embedder's statement texts are not ours to bound, so the least recently used are dropped. */
const clientStatements = 200

const foreign = Effect.fail(
  new SqlError({
    cause: new ForeignTransaction({ operation: "sql.withTransaction" }),
    message: "Failed to begin transaction"
  })
)

const spanAttributes = { "db.system.name": "sqlite" }

/**
 * Where statements run: the root outside transactions, one below it for each transaction and nested transaction.
 * A nested one holds its parent's lock as a transaction holds the root's, so that what fibers do in parallel
 * never falls into the savepoint of another.
 */
export interface Session {
  readonly kind: "root" | "transaction" | "reserved"
  readonly parent: Session | undefined
  readonly depth: number
  readonly lock: Lock.Lock
  readonly connection: Connection
  open: boolean
}

/** A fiber may outlive the transaction it was forked in; then it works in what is left around it. */
const nearest = (session: Session): Session => {
  let current = session
  while (!current.open && current.parent !== undefined) current = current.parent
  return current
}

export interface Sessions {
  readonly client: SqliteClient.SqliteClient
  readonly root: Session
  /** Whether the connection is one of this client. */
  readonly isOurs: (connection: Connection) => boolean
  /** True while the running fiber is in an open transaction. */
  readonly isEmbedded: Effect.Effect<boolean>
  /** Where the fiber is. */
  readonly of: (fiber: Fiber.RuntimeFiber<unknown, unknown>) => Session
  /**
   * Runs one synchronous step in the session when its turn has come: at once while nobody has the lock.
   *
   * @param atRoot is run instead where that is the root
   */
  readonly within: <A, E>(
    session: Session,
    step: (session: Session) => Effect.Effect<A, E>,
    atRoot?: Effect.Effect<A, E>
  ) => Effect.Effect<A, E>
}

export const make = (
  db: Sqlite.Database,
  transaction: Transaction,
  filename: string
): Effect.Effect<Sessions, never, Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const sessions = new WeakMap<Connection, Session>()

    const isOurs = (connection: Connection): boolean => sessions.has(connection)

    const of = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Session => {
      const inherited = Context.getOption(fiber.currentContext, Client.TransactionConnection)
      return Option.isSome(inherited) ? (sessions.get(inherited.value[0]) ?? root) : root
    }

    const within: Sessions["within"] = (session, step, atRoot) =>
      Effect.suspend(() => {
        const current = nearest(session)
        if (current === root && atRoot !== undefined) return atRoot
        if (current.lock.isFree() && !EventLoopBudget.isSpent(undefined, requestsMs)) return step(current)
        const turn = Effect.suspend(() => (current.open ? Effect.asSome(step(current)) : Effect.succeedNone))
        return Effect.flatMap(
          Lock.under(current.lock, Effect.zipRight(EventLoopBudget.yieldIfSpent, turn)),
          Option.match({ onNone: () => within(session, step, atRoot), onSome: Effect.succeed })
        )
      })

    const recent = <Result>(prepare: (text: string) => Sqlite.Statement<Array<unknown>, Result>) => {
      const statements = new Map<string, Sqlite.Statement<Array<unknown>, Result>>()
      return (text: string): Sqlite.Statement<Array<unknown>, Result> => {
        const statement = statements.get(text) ?? prepare(text)
        statements.delete(text)
        statements.set(text, statement)
        const [oldest] = statements.keys()
        if (statements.size > clientStatements && oldest !== undefined) statements.delete(oldest)
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
                transaction.check()
                if (current.kind === "transaction" && !db.inTransaction) throw lostError()
                if (current.kind === "root") transaction.rollback()
                // Said anew each time, since the statement is shared with callers who want the other kind.
                const result = use(
                  prepare().safeIntegers(Context.get(fiber.currentContext, Client.SafeIntegers))
                )
                if (current.kind === "root" && db.inTransaction) {
                  transaction.abandon()
                  throw new Error("A transaction was begun by a statement. Use withTransaction")
                }
                return result
              },
              catch: (cause) => {
                transaction.failed(cause)
                return new SqlError({ cause, message: "Failed to execute statement" })
              }
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
        lock: Lock.make(),
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
      Effect.flatMap(Lock.acquire(root.lock, restore), () => {
        const session = openSession("reserved", root)
        const end = Effect.sync(() => {
          session.open = false
          transaction.abandon()
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
                  if (!nested) transaction.abandon()
                } catch {
                  // Without its savepoint it cannot be undone alone.
                  transaction.abandon()
                }
              }
              const attempt = (message: string, step: () => void): Effect.Effect<void, SqlError> =>
                Effect.try({
                  try: () => {
                    if (nested && !db.inTransaction) throw lostError()
                    step()
                  },
                  catch: (cause) => {
                    transaction.failed(cause)
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
                const commit = attempt("Failed to commit transaction", () => {
                  if (nested) db.exec(`RELEASE ${name}`)
                  else transaction.commit()
                })
                const rollback = nested
                  ? Effect.sync(undo)
                  : attempt("Failed to roll back transaction", transaction.rollback)
                // A fiber that was forked inside may be in a nested transaction of its own.
                const settled = Lock.under(session.lock, Exit.isSuccess(exit) ? commit : rollback)
                return AroundTransaction.ended(settled, exit)
              }
              return EventLoopBudget.yieldIfSpent.pipe(
                Effect.zipRight(
                  attempt("Failed to begin transaction", () => {
                    if (nested) db.exec(`SAVEPOINT ${name}`)
                    else transaction.begin()
                  })
                ),
                Effect.zipRight(Effect.flatMap(Effect.exit(restore(body)), end))
              )
            }
            const enter = (from: Session): Effect.Effect<A, E | SqlError, R> => {
              const parent = nearest(from)
              const free = Effect.sync(parent.lock.release)
              return Effect.flatMap(Lock.acquire(parent.lock, restore), () =>
                parent.open
                  ? Effect.ensuring(transact(parent), free)
                  : Effect.zipRight(
                      free,
                      Effect.suspend(() => enter(from))
                    )
              )
            }
            return Effect.withFiberRuntime<A, E | SqlError, R>((fiber) =>
              ForeignConnection.isAround(fiber, isOurs) ? foreign : enter(of(fiber))
            )
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
        [typeId]: typeId,
        config: { filename: filename },
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

    const isEmbedded = Effect.withFiberRuntime<boolean>((fiber) =>
      Effect.succeed(nearest(of(fiber)) !== root)
    )

    return { client, root, isEmbedded, isOurs, of, within }
  })
