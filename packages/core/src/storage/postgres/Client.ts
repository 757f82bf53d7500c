/**
 * The standard `PgClient` for the embedder, over connections of its own, and which of its transactions is open. Other SQL
 * clients put their connections into the same place of a fiber's context; theirs are none of ours.
 */
import type * as Reactivity from "@effect/experimental/Reactivity"
import * as Client from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type Pg from "pg"

export interface Transactions {
  readonly client: PgClient.PgClient
  /** That of the open transaction that the fiber is in; undefined outside, and after the transaction's end. */
  readonly connectionOf: (fiber: Fiber.RuntimeFiber<unknown, unknown>) => Connection | undefined
  /** True while the running fiber is in an open transaction. */
  readonly isEmbedded: Effect.Effect<boolean>
}

const currentConnection = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Connection | undefined =>
  Option.getOrUndefined(Context.getOption(fiber.currentContext, Client.TransactionConnection))?.[0]

export const make = (
  pool: Pg.Pool
): Effect.Effect<Transactions, SqlError, Reactivity.Reactivity | Scope.Scope> =>
  Effect.map(PgClient.fromPool({ acquire: Effect.succeed(pool) }), (client) => {
    /** One object for each transaction, which its nested ones share. */
    const open = new WeakSet<Connection>()

    /** A fiber may outlive the transaction it was forked in: from the end of the body on, it is outside. */
    const whileOpen = <A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.withFiberRuntime((fiber) => {
        const connection = currentConnection(fiber)
        if (connection === undefined || open.has(connection)) return body
        open.add(connection)
        return Effect.ensuring(
          body,
          Effect.sync(() => open.delete(connection))
        )
      })

    const connectionOf: Transactions["connectionOf"] = (fiber) => {
      const connection = currentConnection(fiber)
      return connection !== undefined && open.has(connection) ? connection : undefined
    }

    const { withTransaction } = client
    return {
      client: Object.assign(client, {
        withTransaction: <R, E, A>(body: Effect.Effect<A, E, R>) => withTransaction(whileOpen(body))
      }),
      connectionOf,
      isEmbedded: Effect.withFiberRuntime<boolean>((fiber) =>
        Effect.succeed(connectionOf(fiber) !== undefined)
      )
    }
  })
