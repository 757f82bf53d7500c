/**
 * Keeps what came to hooks and was not understood (contract.md §11): stored for the operator, and told in the log
 * once an hour for each session and kind of news, for a platform may go on with it.
 */
import * as Effect from "effect/Effect"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Recent from "../domain/Recent.ts"
import type { Session } from "../domain/session/Session.ts"
import * as UnreadHook from "../domain/UnreadHook.ts"
import type * as Sanitize from "../sender/Sanitize.ts"
import { InboundStore } from "../storage/InboundStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

/** Kinds of news of sessions of which it is remembered when they were told last. */
const maximumTold = 10_000

export interface UnreadHooks {
  readonly retain: (
    session: Session,
    unread: ReadonlyArray<Sanitize.Unread>
  ) => Effect.Effect<void, StorageError>
}

export const make: Effect.Effect<UnreadHooks, never, InboundStore> = Effect.gen(function* () {
  const store = yield* InboundStore
  const ids = Ids.make(yield* Ids.RandomBytes)
  const told = Recent.make(maximumTold)

  const log = Effect.fnUntraced(function* (
    { id }: Session,
    unread: ReadonlyArray<Sanitize.Unread>,
    now: Instant
  ) {
    const byField = new Map(unread.map((part) => [part.field, part]))
    for (const { field, reason } of byField.values()) {
      const name = `${id} ${field}`
      if (told.isWithin(name, Time.hour, now)) continue
      told.note(name, now)
      yield* Effect.annotateLogs(
        Effect.logWarning(
          `The hook of session ${id} brought "${field}" that is not understood: ${reason}. It is listed among the session's unread hooks.`
        ),
        { sessionId: id, field }
      )
    }
  })

  const retain: UnreadHooks["retain"] = Effect.fnUntraced(function* (session, unread) {
    if (unread.length === 0) return
    const now = yield* Time.now
    yield* log(session, unread, now)
    const { id: sessionId } = session
    for (let from = 0; from < unread.length; from += UnreadHook.maximumParts) {
      const parts = unread.slice(from, from + UnreadHook.maximumParts).map(
        ({ field, isCut, reason, text }): UnreadHook.UnreadHook => ({
          id: ids.uuid(now),
          field,
          reason,
          content: text,
          isCut,
          receivedAt: now
        })
      )
      yield* Effect.uninterruptible(store.retainUnread({ sessionId, parts }))
    }
  })

  return { retain }
})
