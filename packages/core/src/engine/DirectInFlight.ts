/**
 * Direct messages in progress. A repeated request waits for the outcome of the first. However many wait, the process
 * reads the store once for all of them: when the message has ended here, or at growing intervals while another
 * process sends it. If the engine is released before a message has ended, the worker that rescues it settles its
 * outcome.
 */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import { Overloaded } from "../domain/Errors.ts"
import type { IdempotencyRecord } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

/**
 * The most requests of one API key that may wait. A client that runs into its timeout repeats a request a few times.
 */
export const mostWaiting = 32

const retryAfterMs = 1000

/**
 * Milliseconds between two reads of a message that another process sends; they double from the first to the longest.
 */
const firstMs = 50
const longestMs = 1000

/** A request that an API key made under an Idempotency-Key, and the job that it became. */
export interface Repeated {
  readonly publicKey: string
  readonly key: string
  readonly jobId: string
}

export interface DirectInFlight {
  /** Registers a job while it is in progress, so that requests that wait for its outcome are woken when it ends. */
  readonly during: <A, E, R>(jobId: string, attempt: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Interrupts once the engine is released: the store may be closed then, or belong to another engine. */
  readonly untilReleased: Effect.Effect<void>
  /**
   * The stored record once it has an outcome; null when the store has none any more, or after `patienceMs`
   * milliseconds. Fails when too many requests of the key wait already.
   */
  readonly outcome: (
    repeated: Repeated,
    patienceMs: number
  ) => Effect.Effect<IdempotencyRecord | null, Overloaded | StorageError>
}

type Ask = (repeated: Repeated) => Effect.Effect<IdempotencyRecord | null, StorageError>

export const make = (ask: Ask): Effect.Effect<DirectInFlight, never, Scope.Scope> =>
  Effect.gen(function* () {
    const here = new Map<string, Deferred.Deferred<void>>()
    const waiting = new Map<string, number>()

    let released = false
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        released = true
        return here.size === 0
          ? Effect.void
          : Effect.logWarning(
              `${here.size} direct message(s) are left under way. Whether the platform took them is not known: they count as uncertain, until a worker over this database takes them back, at the latest after the next start`
            )
      })
    )

    const startWaiting = (publicKey: string): Effect.Effect<void, Overloaded> =>
      Effect.suspend(() => {
        const count = waiting.get(publicKey) ?? 0
        if (count >= mostWaiting) return new Overloaded({ waitingFor: "outcome", retryAfterMs })
        waiting.set(publicKey, count + 1)
        return Effect.void
      })
    const stopWaiting = (publicKey: string): Effect.Effect<void> =>
      Effect.sync(() => {
        const remaining = (waiting.get(publicKey) ?? 0) - 1
        if (remaining > 0) waiting.set(publicKey, remaining)
        else waiting.delete(publicKey)
      })

    const awaited = Effect.fnUntraced(function* (repeated: Repeated) {
      const ended = here.get(repeated.jobId)
      yield* ended === undefined ? Effect.sleep(firstMs) : Deferred.await(ended)
      let found = yield* ask(repeated)
      for (let pause = 2 * firstMs; found !== null && found.answer === null; pause *= 2) {
        yield* Effect.sleep(Math.min(pause, longestMs))
        found = yield* ask(repeated)
      }
      return found
    })
    // The reads go on while at least one request waits.
    const shared = yield* RcMap.make({
      lookup: (repeated: Repeated) =>
        Effect.map(Effect.forkScoped(awaited(repeated)), (fiber) => Effect.flatten(Fiber.await(fiber)))
    })

    return {
      during: (jobId, attempt) =>
        Effect.acquireUseRelease(
          Effect.tap(Deferred.make<void>(), (ended) => Effect.sync(() => here.set(jobId, ended))),
          () => attempt,
          (ended) => {
            here.delete(jobId)
            return Deferred.succeed(ended, undefined)
          }
        ),
      untilReleased: Effect.suspend(() => (released ? Effect.interrupt : Effect.void)),
      outcome: (repeated, patienceMs) =>
        Effect.acquireUseRelease(
          startWaiting(repeated.publicKey),
          () =>
            Effect.flatten(RcMap.get(shared, Data.struct(repeated))).pipe(
              Effect.scoped,
              Effect.timeoutOption(patienceMs),
              Effect.map(Option.getOrNull)
            ),
          () => stopWaiting(repeated.publicKey)
        )
    }
  })
