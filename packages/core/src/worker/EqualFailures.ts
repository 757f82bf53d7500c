/** Blocks sessions whose last attempts all ended with one failure (`domain/session/SameFailure`), as this process saw them. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../domain/Instant.ts"
import * as SameFailure from "../domain/session/SameFailure.ts"
import type { Attempted } from "../domain/session/Session.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

/** An attempt's end, by the answer of its send or by a receipt. */
export interface End extends SameFailure.Ended {
  readonly sessionId: string
  readonly attempted: Attempted
}

export class EqualFailures extends Context.Tag("@sendwright/core/worker/EqualFailures")<
  EqualFailures,
  {
    /** Notes ends in their order, and answers the sessions that are blocked for them. */
    readonly note: (
      way: "answer" | "receipt",
      ends: ReadonlyArray<End>
    ) => Effect.Effect<ReadonlyArray<string>, StorageError>
  }
>() {
  static readonly layer: Layer.Layer<EqualFailures, never, SessionStore> = Layer.effect(
    this,
    Effect.gen(function* () {
      const sessions = yield* SessionStore
      const streaks = new Map<string, SameFailure.Streak>()
      return {
        note: Effect.fnUntraced(function* (way, ends) {
          const stopped = new Set<string>()
          for (const { attempted, sessionId, ...ended } of ends) {
            const name = `${way} ${sessionId}`
            const streak = SameFailure.next(streaks.get(name) ?? null, ended)
            if (streak === null) streaks.delete(name)
            else streaks.set(name, streak)
            if (streak === null || !SameFailure.stops(streak) || stopped.has(sessionId)) continue
            const now = yield* Time.now
            const block = SameFailure.block(streak, now)
            const { code: sameFailure } = streak.failure
            const session = yield* sessions.block({
              id: sessionId,
              until: block.until,
              sameFailure,
              attempted,
              now
            })
            if (session?.blockReason !== "same_failure") continue
            streaks.set(name, block.streak)
            stopped.add(sessionId)
            yield* Effect.annotateLogs(
              Effect.logWarning(
                `Session ${sessionId} pauses: its last ${streak.count} attempts ended with ${sameFailure}`
              ),
              { sessionId, code: sameFailure }
            )
          }
          return [...stopped]
        })
      }
    })
  )
}
