/**
 * Tells the store how attempts end, where that can matter for a session whose last ones all ended with one failure
 * (`domain/session/SameFailure`): the ends of others cost nothing.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Address } from "../domain/Address.ts"
import * as Time from "../domain/Instant.ts"
import * as SameFailure from "../domain/session/SameFailure.ts"
import type { Attempted, End, Session } from "../domain/session/Session.ts"
import type { Outcome } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

/** How an attempt ended; nothing of what is tried again, and of what nobody knows the outcome of. */
export const endsOf = (outcome: Outcome, address: Address, attempted: Attempted): ReadonlyArray<End> => {
  if (outcome._tag === "Accepted") return [{ address, failure: null, attempted }]
  return outcome._tag === "Failed" ? [{ address, failure: outcome.failure, attempted }] : []
}

export class EqualFailures extends Context.Tag("@sendwright/core/worker/EqualFailures")<
  EqualFailures,
  {
    /**
     * Notes ends in their order; true when the session is blocked for them.
     *
     * @param session as it was read before they ended
     */
    readonly note: (
      session: Pick<Session, "failing" | "id">,
      way: SameFailure.Way,
      ends: ReadonlyArray<End>
    ) => Effect.Effect<boolean, StorageError>
  }
>() {
  static readonly layer: Layer.Layer<EqualFailures, never, SessionStore> = Layer.effect(
    this,
    Effect.map(SessionStore, (sessions) => {
      /** Sessions for which this process stored a streak: a reader of the session from before does not know of it. */
      const failing = new Set<string>()
      return {
        note: Effect.fnUntraced(function* ({ failing: known, id }, way, ends) {
          const name = `${way} ${id}`
          const isFailing = known?.[way] !== undefined || failing.has(name)
          const matters = isFailing
            ? ends.length > 0
            : ends.some(({ failure }) => failure !== null && SameFailure.counts(failure))
          if (!matters) return false
          const now = yield* Time.now
          const noted = yield* sessions.noteEnds({ id, way, ends, now })
          if (noted === null) return false
          const { after, before } = noted
          if (after.failing?.[way] === undefined) failing.delete(name)
          else failing.add(name)
          if (after.blockedUntil === before.blockedUntil) return false
          const { blockCode: code, id: sessionId } = after
          yield* Effect.annotateLogs(
            Effect.logWarning(`Session ${id} pauses: its last attempts all ended with ${code}`),
            { sessionId, code }
          )
          return true
        })
      }
    })
  )
}
