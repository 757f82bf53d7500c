/**
 * Where a fiber's statements run: in a transaction, or in one that is nested in it by a savepoint. Each takes one step at a
 * time, and a nested one has its parent's turn until it ends: so what fibers do in parallel never falls into the savepoint
 * of another, whose failure would undo it.
 */
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Lock from "../sql/Lock.ts"

type Transform = Parameters<Connection["execute"]>[2]
type Values = ReadonlyArray<unknown>

/** A connection for as long as the scope lasts. */
export type Reserve = Effect.Effect<Connection, SqlError, Scope.Scope>

export class Session implements Connection {
  /** Until its body ends. */
  isOpen = true
  /** The driver's, over which it begins and ends. */
  readonly connection: Connection
  /** A connection for what outlives the transaction. */
  readonly outside: Reserve
  readonly lock: Lock.Lock
  readonly #parent: Session | undefined

  constructor(connection: Connection, outside: Reserve, lock: Lock.Lock, parent?: Session) {
    this.connection = connection
    this.outside = outside
    this.lock = lock
    this.#parent = parent
  }

  nested(): Session {
    return new Session(this.connection, this.outside, Lock.make(), this)
  }

  /** How many transactions are around it. */
  get depth(): number {
    return this.#parent === undefined ? 0 : this.#parent.depth + 1
  }

  get outermost(): Session {
    return this.#parent?.outermost ?? this
  }

  /** A fiber may outlive the transaction it was forked in; then it works in what is left around it. */
  get nearest(): Session | undefined {
    return this.isOpen ? this : this.#parent?.nearest
  }

  /** Waits for the turn in the nearest open one, which ends with its lock's release. Answers it, unless none is left. */
  enter(restore: Lock.Restore): Effect.Effect<Session | undefined> {
    return Effect.suspend(() => {
      const { nearest } = this
      if (nearest === undefined) return Effect.succeed(undefined)
      return Effect.flatMap(Lock.acquire(nearest.lock, restore), () => {
        if (nearest.isOpen) return Effect.succeed(nearest)
        nearest.lock.release()
        return this.enter(restore)
      })
    })
  }

  readonly #reserve: Reserve = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(this.enter(restore), (entered) =>
      entered === undefined
        ? this.outside
        : Effect.as(
            Effect.addFinalizer(() => Effect.sync(entered.lock.release)),
            entered.connection
          )
    )
  )

  #step<A>(statement: (connection: Connection) => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> {
    return Effect.scoped(Effect.flatMap(this.#reserve, statement))
  }

  execute(text: string, values: Values, transform: Transform) {
    return this.#step((connection) => connection.execute(text, values, transform))
  }

  executeRaw(text: string, values: Values) {
    return this.#step((connection) => connection.executeRaw(text, values))
  }

  executeUnprepared(text: string, values: Values, transform: Transform) {
    return this.#step((connection) => connection.executeUnprepared(text, values, transform))
  }

  executeValues(text: string, values: Values) {
    return this.#step((connection) => connection.executeValues(text, values))
  }

  executeStream(text: string, values: Values, transform: Transform) {
    return Stream.unwrapScoped(
      Effect.map(this.#reserve, (connection) => connection.executeStream(text, values, transform))
    )
  }
}
