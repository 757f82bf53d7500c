/** A transaction that the embedder's own client has begun, and has handed over (decisions.md §11). */
import { TransactionConnection } from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/**
 * A client with an open transaction, such as `pg`'s. Parameters are `$1`, `$2` and so on, in order and once each; their
 * values are texts, numbers, bytes and null. An error has the SQLSTATE as its `code`. `int8` may come as text.
 */
export interface Queryable {
  readonly query: (
    text: string,
    values: Array<unknown>
  ) => PromiseLike<{ readonly rows: ReadonlyArray<object> }>
}

type Transform = (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

/** How a statement runs in what was handed over. */
type Run = (text: string, values: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<object>, SqlError>

const runOf = (transaction: Queryable | Connection): Run =>
  "query" in transaction
    ? (text, values) =>
        Effect.tryPromise({
          try: async () => {
            const { rows } = await transaction.query(text, [...values])
            if (!Array.isArray(rows)) throw new TypeError("`query` of the client answered no `rows`")
            return rows
          },
          catch: (cause) => new SqlError({ cause, message: "Failed to execute statement" })
        })
    : (text, values) => transaction.executeUnprepared(text, values, undefined)

/** The standard clients' idea of a connection, over what was handed over. */
export class EmbeddedConnection implements Connection {
  /** From the end of {@link within} on, nobody can say whether the transaction is open. */
  isOpen = true
  readonly #run: Run

  constructor(transaction: Queryable | Connection) {
    this.#run = runOf(transaction)
  }

  execute(text: string, values: ReadonlyArray<unknown>, transform: Transform) {
    const rows = this.#run(text, values)
    return transform === undefined ? rows : Effect.map(rows, (found) => transform(found))
  }

  executeRaw(text: string, values: ReadonlyArray<unknown>) {
    return Effect.map(this.#run(text, values), (rows) => ({ rows }))
  }

  executeUnprepared(text: string, values: ReadonlyArray<unknown> = [], transform: Transform) {
    return this.execute(text, values, transform)
  }

  executeValues(text: string, values: ReadonlyArray<unknown>) {
    return Effect.map(this.#run(text, values), (rows) => rows.map((row) => Object.values(row)))
  }

  executeStream(text: string, values: ReadonlyArray<unknown>, transform: Transform) {
    return Stream.fromIterableEffect(this.execute(text, values, transform))
  }
}

/**
 * Runs the engine's operations inside a transaction of a client of yours, in the engine's database: what they write is
 * committed or rolled back by it, and a send goes out after its commit. An operation that fails leaves the transaction as
 * it was. Begin it READ COMMITTED, and neither commit nor roll back inside.
 *
 * @param transaction a client, or the `TransactionConnection` of another client of `@effect/sql`
 */
export const within =
  (transaction: Queryable | Connection) =>
  <A, E, R>(operations: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      Effect.sync(() => new EmbeddedConnection(transaction)),
      (connection) => Effect.provideService(operations, TransactionConnection, [connection, 0]),
      (connection) =>
        Effect.sync(() => {
          connection.isOpen = false
        })
    )
