/**
 * The standard `PgClient` for the embedder, over connections of its own, and which of its transactions is open. Other SQL
 * clients put their connections into the same place of a fiber's context; theirs are none of ours.
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
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import type Pg from "pg"
import * as AroundTransaction from "../sql/AroundTransaction.ts"

export interface Transactions {
  readonly client: PgClient.PgClient
  /** That of the open transaction that the fiber is in; undefined outside, and after the transaction's end. */
  readonly connectionOf: (fiber: Fiber.RuntimeFiber<unknown, unknown>) => Connection | undefined
  /** True while the running fiber is in an open transaction. */
  readonly isEmbedded: Effect.Effect<boolean>
}

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
  const name = `effect_sql_${depth}`
  return depth === 0
    ? { begin: run("BEGIN"), commit: commit(connection), rollback: run("ROLLBACK") }
    : { begin: run(`SAVEPOINT ${name}`), commit: Effect.void, rollback: run(`ROLLBACK TO SAVEPOINT ${name}`) }
}

const between = <A, E, R>(
  { begin, commit, rollback }: Bounds,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError, R> =>
  Effect.zipRight(
    // What failed to begin may begin still, and its connection is used again.
    Effect.catchAll(begin, (error) => AroundTransaction.ended(rollback, Exit.fail(error))),
    Effect.flatMap(Effect.exit(body), (exit) =>
      AroundTransaction.ended(Exit.isSuccess(exit) ? commit : rollback, exit)
    )
  )

export const make = (
  pool: Pg.Pool
): Effect.Effect<Transactions, SqlError, Reactivity.Reactivity | Scope.Scope> =>
  Effect.map(PgClient.fromPool({ acquire: Effect.succeed(pool) }), (client) => {
    /** One object for each transaction, which its nested ones share. A fiber may outlive the one it was forked in. */
    const open = new WeakSet<Connection>()

    const around = (context: Context.Context<never>): readonly [Connection, number] | undefined =>
      Option.getOrUndefined(Context.getOption(context, Client.TransactionConnection))

    const connectionOf: Transactions["connectionOf"] = (fiber) => {
      const [connection] = around(fiber.currentContext) ?? []
      return connection !== undefined && open.has(connection) ? connection : undefined
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
                open.add(connection)
                return at(
                  connection,
                  0,
                  Effect.sync(() => open.delete(connection))
                )
              }),
            Scope.close
          )
          return Effect.withFiberRuntime<A, E | SqlError, R>((fiber) => {
            const transaction = around(fiber.currentContext)
            return transaction === undefined ? outermost : at(transaction[0], transaction[1] + 1)
          })
        })
      )

    return {
      client: Object.assign(client, { withTransaction }),
      connectionOf,
      isEmbedded: Effect.withFiberRuntime<boolean>((fiber) =>
        Effect.succeed(connectionOf(fiber) !== undefined)
      )
    }
  })
