/** Platforms' posts: the session's sender verifies and reads them, and they are applied. */

import * as Effect from "effect/Effect"
import { HookForged, InvalidRequest, NotFound } from "../domain/Errors.ts"
import * as Fault from "../domain/Fault.ts"
import * as Time from "../domain/Instant.ts"
import { Signals } from "../runtime/Signals.ts"
import type { HookRequest } from "../sender/Sender.ts"
import type * as SessionSender from "../sender/SessionSender.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { Inbound } from "../worker/Inbound.ts"
import * as HookRouting from "./HookRouting.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

/** A post to a hook. Its body may be an effect that reads it. */
export type HookCall<E extends { readonly _tag: string }> = Omit<HookRequest, "now" | "body"> & {
  readonly body: Uint8Array | Effect.Effect<Uint8Array, E>
}

/** Returns the text of a handshake, or null after a post was applied. */
export const make = Effect.fnUntraced(function* (resolve: SessionSender.Resolve, inbound: Inbound) {
  const sessions = yield* SessionStore
  const signals = yield* Signals
  const route = yield* HookRouting.make(resolve, inbound)
  const receive = Effect.fnUntraced(function* <E extends { readonly _tag: string } = never>(
    provider: string,
    sessionId: string,
    request: HookCall<E>
  ) {
    const found = yield* sessions.find(sessionId)
    // A wrong provider costs and answers the same as an unknown session: one read, and no secret is opened.
    const session = found?.provider === provider ? found : null
    const sessionSender = yield* resolve(session)
    const receive = sessionSender?.sender.receive
    if (session === null || sessionSender === undefined || receive === undefined) {
      return yield* new NotFound({ what: "hook" })
    }
    const body = request.body instanceof Uint8Array ? request.body : yield* request.body
    const now = yield* Time.now
    const read = { ...request, body, now }
    const result = yield* receive(read, sessionSender.config)
    switch (result._tag) {
      case "Challenge":
        return result.text
      case "Forged":
        return yield* new HookForged({ reason: result.reason })
      case "Malformed":
        return yield* new InvalidRequest({ faults: [Fault.make([], "invalid_json", result.reason)] })
      case "Content":
        yield* route(session, sessionSender, read, result)
        yield* signals.deliveries.notify
        return null
    }
  })
  return spanIfTraced("Engine.hook", receive)
})
