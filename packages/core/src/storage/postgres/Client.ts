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
import * as Predicate from "effect/Predicate"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import type Pg from "pg"
import { ForeignTransaction } from "../../domain/Errors.ts"
import * as AroundTransaction from "../sql/AroundTransaction.ts"
import * as ForeignConnection from "../sql/ForeignConnection.ts"
import * as Lock from "../sql/Lock.ts"
import { Session } from "./Session.ts"
import * as Within from "./Within.ts"

export interface Transactions {
  readonly client: PgClient.PgClient
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

/** Of a connection in this state nobody can say whether a transaction is open: it is used no more. */
const discard = (connection: Connection): Effect.Effect<void> =>
  Effect.sync(() => {
    const client = Predicate.hasProperty(connection, "pg") ? connection.pg : undefined
    // A pool of the embedder's may be of another copy of the driver.
    if (Predicate.hasProperty(client, "end") && Predicate.isFunction(client.end)) client.end(() => {})
  })

const transactionOf = (connection: Connection): Bounds => {
  const run = (text: string) => Effect.tapError(connection.executeRaw(text, []), () => discard(connection))
  return {
    begin: run("BEGIN"),
    // A transaction that a statement broke is rolled back by COMMIT, without an error.
    commit: Effect.flatMap(run("COMMIT"), (result) =>
      Predicate.hasProperty(result, "command") && result.command === "COMMIT"
        ? Effect.void
        : new SqlError({
            cause: new Error("The transaction was rolled back"),
            message: "Failed to commit transaction"
          })
    ),
    rollback: run("ROLLBACK")
  }
}

const savepointOf = ({ connection, depth }: Session): Bounds => {
  const run = (text: string) => connection.executeUnprepared(text, [], undefined)
  // Not as `@effect/sql` names its own: a client that handed its connection over may have one of these open.
  const name = `sendwright_${depth}`
  return {
    // A savepoint that failed to begin is not there: a rollback would go to an earlier one of the same name.
    begin: run(`SAVEPOINT ${name}`),
    commit: Effect.void,
    rollback: run(`ROLLBACK TO SAVEPOINT ${name}`)
  }
}

/** @param body is interruptible where it wants to be */
const between = <A, E, R>(
  session: Session,
  { begin, commit, rollback }: Bounds,
  body: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError, R> =>
  Effect.zipRight(
    begin,
    Effect.flatMap(Effect.exit(body), (exit) => {
      session.isOpen = false
      // A fiber that was forked inside may be in a nested transaction of its own.
      return AroundTransaction.ended(Lock.under(session.lock, Exit.isSuccess(exit) ? commit : rollback), exit)
    })
  )

export const make = (
  pool: Pg.Pool
): Effect.Effect<Transactions, SqlError, Reactivity.Reactivity | Scope.Scope> =>
  Effect.map(PgClient.fromPool({ acquire: Effect.succeed(pool) }), (client) => {
    const { reserve } = client

    const isOurs = (connection: Connection): connection is Session =>
      connection instanceof Session &&
      (connection.outside === reserve ||
        (connection.outside === Within.outside && connection.nearest !== undefined))

    const withTransaction = <R, E, A>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.useSpan("sql.transaction", { kind: "client", captureStackTrace: false }, (span) => {
          const transact = (session: Session, bounds: Bounds): Effect.Effect<A, E | SqlError, R> =>
            between(
              session,
              bounds,
              Effect.mapInputContext(restore(effect), (context: Context.Context<R>) =>
                context.pipe(
                  Context.add(Client.TransactionConnection, [session, session.depth]),
                  Context.add(Tracer.ParentSpan, span)
                )
              )
            )
          const outermost = Effect.acquireUseRelease(
            Scope.make(),
            (scope) =>
              Effect.flatMap(Scope.extend(reserve, scope), (connection) =>
                transact(new Session(connection, reserve, Lock.make()), transactionOf(connection))
              ),
            Scope.close
          )
          const nested = (parent: Session) => {
            const session = parent.nested()
            return Effect.ensuring(transact(session, savepointOf(session)), Effect.sync(parent.lock.release))
          }
          return Effect.withFiberRuntime<A, E | SqlError, R>((fiber) => {
            const [around] = ForeignConnection.around(fiber) ?? []
            if (around === undefined) return outermost
            if (!isOurs(around)) return foreign
            return Effect.flatMap(around.enter(restore), (parent) => {
              if (parent !== undefined) return nested(parent)
              return isOurs(around) ? outermost : foreign
            })
          })
        })
      )

    return {
      client: Object.assign(client, { withTransaction }),
      isOurs,
      isEmbedded: Effect.withFiberRuntime<boolean>((fiber) => {
        const [around] = ForeignConnection.around(fiber) ?? []
        return Effect.succeed(around !== undefined && isOurs(around) && around.nearest !== undefined)
      })
    }
  })
