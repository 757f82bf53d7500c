/** A transaction that the embedder's own client has begun, and has handed over (contract.md §11). */
import { TransactionConnection } from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import { ForeignTransaction } from "../../domain/Errors.ts"
import * as Memo from "../../domain/Memo.ts"
import * as ForeignConnection from "../sql/ForeignConnection.ts"
import * as Lock from "../sql/Lock.ts"
import { Unusable } from "./PipelinedConnection.ts"
import { type Reserve, Session } from "./Session.ts"

/**
 * A client with an open transaction, such as `pg`'s, or what makes another client look like it. Parameters are `$1`, `$2` and so
 * on, in order and once each; their values are texts, numbers, bytes and null. The answer is the rows, or has them as `rows`;
 * nothing is asked of counts and of columns' types, numbers may come as text or as a bigint, and columns' names in camelCase.
 * An error has the SQLSTATE as its `code`, or as that of what it wraps.
 */
export interface Queryable {
  readonly query: (text: string, values: Array<unknown>) => PromiseLike<Rows | { readonly rows: Rows }>
}

type Rows = ReadonlyArray<object>

type Transform = (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

/** How a statement runs in what was handed over. */
type Run = (text: string, values: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<object>, SqlError>

const failed = (cause: unknown): SqlError => new SqlError({ cause, message: "Failed to execute statement" })

const noHandle = new Unusable(
  "what was handed over has no `query`. Hand over the client that the transaction was begun on; of a client of `@effect/sql` its `TransactionConnection`, and not the client itself."
)

const byQuery =
  (transaction: Queryable): Run =>
  (text, values) =>
    Effect.tryPromise({
      try: async (): Promise<unknown> => transaction.query(text, [...values]),
      catch: failed
    }).pipe(
      Effect.flatMap((answer) => {
        const rows = Predicate.hasProperty(answer, "rows") ? answer.rows : answer
        return Array.isArray(rows)
          ? Effect.succeed(rows)
          : failed(new Unusable("`query` of what was handed over answers no rows."))
      })
    )

const runOf = (transaction: Queryable | Connection): Run => {
  if ("query" in transaction && Predicate.isFunction(transaction.query)) return byQuery(transaction)
  if (!("executeUnprepared" in transaction && Predicate.isFunction(transaction.executeUnprepared)))
    return () => failed(noHandle)
  const { executeUnprepared } = transaction
  // A connection that breaks instead of failing has to end the statement, too.
  return (text, values) =>
    Effect.suspend(() => executeUnprepared.call(transaction, text, values, undefined)).pipe(
      Effect.catchAllDefect(failed)
    )
}

/** The standard clients' idea of a connection, over what was handed over. */
const connectionOf = (transaction: Queryable | Connection): Connection => {
  const run = runOf(transaction)
  const execute = (text: string, values: ReadonlyArray<unknown>, transform: Transform) => {
    const rows = run(text, values)
    return transform === undefined ? rows : Effect.map(rows, (found) => transform(found))
  }
  return {
    execute,
    executeRaw: (text, values) => Effect.map(run(text, values), (rows) => ({ rows })),
    executeUnprepared: (text, values = [], transform) => execute(text, values, transform),
    executeValues: (text, values) =>
      Effect.map(run(text, values), (rows) => rows.map((row) => Object.values(row))),
    executeStream: (text, values, transform) => Stream.fromIterableEffect(execute(text, values, transform))
  }
}

/** From the end of {@link within} on, nobody can say whether the transaction is open. */
export const outside: Reserve = Effect.fail(
  new SqlError({
    cause: new ForeignTransaction({ operation: "sql" }),
    message: "Failed to execute statement"
  })
)

/** One for each transaction, however often it is handed over. */
const lockOf = Memo.ofObject((_transaction: Queryable | Connection) => Lock.make())

/**
 * Runs the engine's operations inside a transaction of a client of yours, in the engine's database: what they write is
 * committed or rolled back by it, and a send goes out after its commit. An operation that fails leaves the transaction as
 * it was. A send takes any isolation, all else READ COMMITTED. Neither commit nor roll back inside. An error of the fault
 * `collision` with a reason, and a COMMIT that the server refuses with 40001, mean: run the whole transaction again.
 *
 * @param transaction a client, or the `TransactionConnection` of another client of `@effect/sql`
 */
export const within =
  (transaction: Queryable | Connection) =>
  <A, E, R>(operations: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiberRuntime((fiber) => {
      const [around] = ForeignConnection.around(fiber) ?? []
      const lock = lockOf(transaction)
      if (around instanceof Session && around.outermost.lock === lock) return operations
      return Effect.acquireUseRelease(
        Effect.sync(() => new Session(connectionOf(transaction), outside, lock)),
        (session) => Effect.provideService(operations, TransactionConnection, [session, 0]),
        // What a fiber that was forked inside has begun ends before the transaction may.
        (session) =>
          Lock.under(
            lock,
            Effect.sync(() => {
              session.isOpen = false
            })
          )
      )
    })
