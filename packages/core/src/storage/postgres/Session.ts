/**
 * Where a fiber's statements run: in a transaction, or in one that is nested in it by a savepoint. Each takes one step at a
 * time, and a nested one has its parent's turn until it ends: so what fibers do in parallel never falls into the savepoint
 * of another, whose failure would undo it.
 */
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { constVoid } from "effect/Function"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Lock from "../sql/Lock.ts"

type Transform = Parameters<Connection["execute"]>[2]
type Values = ReadonlyArray<unknown>

interface Turn {
  readonly connection: Connection
  readonly leave: () => void
}

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

  /** The connection for a statement, in its turn; `leave` ends that before the scope does. */
  readonly #turn: Effect.Effect<Turn, SqlError, Scope.Scope> = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(this.enter(restore), (entered) => {
      if (entered === undefined)
        return Effect.map(this.outside, (connection) => ({ connection, leave: constVoid }))
      let isIn = true
      const leave = (): void => {
        if (isIn) entered.lock.release()
        isIn = false
      }
      return Effect.as(
        Effect.addFinalizer(() => Effect.sync(leave)),
        { connection: entered.connection, leave }
      )
    })
  )

  #step<A>(statement: (connection: Connection) => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> {
    return Effect.scoped(Effect.flatMap(this.#turn, ({ connection }) => statement(connection)))
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

  /** A stream's turn lasts until its first rows: the driver sends nothing else while there are more to read. */
  executeStream(text: string, values: Values, transform: Transform) {
    const opened = Effect.gen(this, function* () {
      const { connection, leave } = yield* this.#turn
      const pull = yield* Stream.toPull(connection.executeStream(text, values, transform))
      const first = yield* Effect.exit(pull)
      leave()
      let next: typeof pull = first
      return Stream.repeatEffectChunkOption(
        Effect.suspend(() => {
          const current = next
          next = pull
          return current
        })
      )
    })
    return Stream.unwrapScoped(opened)
  }
}
