/**
 * The standard `PgClient` for the embedder, over connections of its own, and which transaction verbs belong to: one of its
 * own, or one of another client that was handed over.
 */
import type * as Reactivity from "@effect/experimental/Reactivity"
import * as Client from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import type Pg from "pg"
import { ForeignTransaction } from "../../domain/Errors.ts"
import * as AroundTransaction from "../sql/AroundTransaction.ts"
import * as ForeignConnection from "../sql/ForeignConnection.ts"
import { EmbeddedConnection } from "./Within.ts"

export interface Transactions {
  readonly client: PgClient.PgClient
  /** That of the open transaction that the fiber is in; undefined outside, and after the transaction's end. */
  readonly connectionOf: (fiber: Fiber.RuntimeFiber<unknown, unknown>) => Connection | undefined
  /** Whether the connection is of a transaction of this client, or of one that was handed over and is open. */
  readonly isOurs: (connection: Connection) => boolean
  /** True while the running fiber is in an open transaction. */
  readonly isEmbedded: Effect.Effect<boolean>
}

const foreign = Effect.fail(
  new SqlError({
    cause: new ForeignTransaction({ operation: "sql.withTransaction" }),
    message: "Failed to begin transaction"
  })
)

/** How a transaction, or a savepoint in one, begins and ends. */
interface Bounds {
  readonly begin: Effect.Effect<unknown, SqlError>
  readonly commit: Effect.Effect<unknown, SqlError>
  readonly rollback: Effect.Effect<unknown, SqlError>
}

/** A transaction that a statement broke is rolled back by COMMIT, without an error. */
const commit = (connection: Connection): Effect.Effect<void, SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) =>
    Predicate.hasProperty(result, "command") && result.command === "COMMIT"
      ? Effect.void
      : new SqlError({
          cause: new Error("The transaction was rolled back"),
          message: "Failed to commit transaction"
        })
  )

const boundsOf = (connection: Connection, depth: number): Bounds => {
  const run = (text: string) => connection.executeUnprepared(text, [], undefined)
  // Not as `@effect/sql` names its own: a client that handed its connection over may have one of these open.
  const name = `sendwright_${depth}`
  // A savepoint that failed to begin is not there: a rollback would go to one of that name that was before it.
  if (depth > 0)
    return {
      begin: run(`SAVEPOINT ${name}`),
      commit: Effect.void,
      rollback: run(`ROLLBACK TO SAVEPOINT ${name}`)
    }
  const rollback = run("ROLLBACK")
  return {
    // What failed to begin may begin still, and its connection is used again.
    begin: Effect.catchAll(run("BEGIN"), (error) => AroundTransaction.ended(rollback, Exit.fail(error))),
    commit: commit(connection),
    rollback
  }
}

const between = <A, E, R>(
  { begin, commit, rollback }: Bounds,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError, R> =>
  Effect.zipRight(
    begin,
    Effect.flatMap(Effect.exit(body), (exit) =>
      AroundTransaction.ended(Exit.isSuccess(exit) ? commit : rollback, exit)
    )
  )

export const make = (
  pool: Pg.Pool
): Effect.Effect<Transactions, SqlError, Reactivity.Reactivity | Scope.Scope> =>
  Effect.map(PgClient.fromPool({ acquire: Effect.succeed(pool) }), (client) => {
    /** Whether its body runs still. One object for each transaction, which its nested ones share. */
    const ours = new WeakMap<Connection, boolean>()

    const isOpen = (connection: Connection): boolean =>
      connection instanceof EmbeddedConnection ? connection.isOpen : ours.get(connection) === true

    /** A fiber may outlive a transaction of ours that it was forked in. */
    const isOurs = (connection: Connection): boolean => ours.has(connection) || isOpen(connection)

    const connectionOf: Transactions["connectionOf"] = (fiber) => {
      const [connection] = ForeignConnection.around(fiber) ?? []
      return connection !== undefined && isOpen(connection) ? connection : undefined
    }

    const withTransaction = <R, E, A>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.useSpan("sql.transaction", { kind: "client", captureStackTrace: false }, (span) => {
          const at = (connection: Connection, depth: number, end: Effect.Effect<unknown> = Effect.void) =>
            between(
              boundsOf(connection, depth),
              restore(body).pipe(
                Effect.mapInputContext((context: Context.Context<R>) =>
                  context.pipe(
                    Context.add(Client.TransactionConnection, [connection, depth]),
                    Context.add(Tracer.ParentSpan, span)
                  )
                ),
                Effect.ensuring(end)
              )
            )
          const outermost = Effect.acquireUseRelease(
            Scope.make(),
            (scope) =>
              Effect.flatMap(Scope.extend(client.reserve, scope), (connection) => {
                ours.set(connection, true)
                return at(
                  connection,
                  0,
                  Effect.sync(() => ours.set(connection, false))
                )
              }),
            Scope.close
          )
          return Effect.withFiberRuntime<A, E | SqlError, R>((fiber) => {
            const transaction = ForeignConnection.around(fiber)
            if (transaction === undefined) return outermost
            const [connection, depth] = transaction
            if (isOpen(connection)) return at(connection, depth + 1)
            // The connection of one of ours that has ended may be somebody else's by now.
            return ours.has(connection) ? outermost : foreign
          })
        })
      )

    return {
      client: Object.assign(client, { withTransaction }),
      connectionOf,
      isOurs,
      isEmbedded: Effect.withFiberRuntime<boolean>((fiber) =>
        Effect.succeed(connectionOf(fiber) !== undefined)
      )
    }
  })
