/**
 * Routes what came to one session's hook to every session that it is about (contract.md §11): a platform's app has one
 * address to post to, however many numbers and accounts it has. A session has news of another one's hook where it has the
 * number or account that they name, and a secret that signed them.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Session } from "../domain/session/Session.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import * as Sanitize from "../sender/Sanitize.ts"
import type { Addressed, HookContent, HookRequest, UnreadPart } from "../sender/Sender.ts"
import type * as SessionSender from "../sender/SessionSender.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as Addressing from "../worker/Addressing.ts"
import type { Inbound } from "../worker/Inbound.ts"

/**
 * Applies a hook's content to the session that it came to, and to the others that it names. Fails where a part could not be
 * stored; all others are applied then.
 */
export type Route = (
  session: Session,
  sessionSender: SessionSender.SessionSender,
  request: HookRequest,
  content: HookContent
) => Effect.Effect<void, StorageError>

export const make: (
  resolve: SessionSender.Resolve,
  inbound: Inbound
) => Effect.Effect<Route, never, SessionStore> = Effect.fnUntraced(function* (resolve, inbound) {
  const sessions = yield* SessionStore

  const apply = (session: Session, content: HookContent, config: unknown) =>
    Effect.flatMap(EventLoopBudget.runInPieces(Sanitize.hookContent(content, config)), (clean) =>
      Effect.exit(inbound.content(session, clean))
    )

  /** The other sessions that have one of the addresses, and for which the post is signed. */
  const othersOf = Effect.fnUntraced(function* (
    session: Session,
    { sender }: SessionSender.SessionSender,
    request: HookRequest,
    addressed: ReadonlyArray<Addressed>
  ) {
    const { addresses: addressesOf, isSigned } = sender
    if (addressesOf === undefined || isSigned === undefined || addressed.length === 0) return []
    const addresses = addressed.map(({ address }) => Addressing.stored(session.provider, address))
    const found = yield* sessions.addressed({ addresses })
    const others: Array<{ session: Session; config: unknown; parts: ReadonlyArray<Addressed> }> = []
    for (const other of found) {
      if (other.id === session.id || other.provider !== session.provider) continue
      const theirs = yield* resolve(other)
      if (theirs === undefined || !isSigned(request, theirs.config)) continue
      const named = new Set(addressesOf(theirs.config))
      const parts = addressed.filter(({ address }) => named.has(address))
      others.push({ session: other, config: theirs.config, parts })
    }
    return others
  })

  return Effect.fnUntraced(function* (session, sessionSender, request, { addressed = [], ...own }) {
    const { config, sender } = sessionSender
    const others = yield* othersOf(session, sessionSender, request, addressed)
    const known = new Set(sender.addresses?.(config) ?? [])
    const exits: Array<Exit.Exit<void, StorageError>> = []
    for (const other of others)
      for (const { address, content } of other.parts) {
        known.add(address)
        exits.push(yield* apply(other.session, content, other.config))
      }
    const foreign = addressed.flatMap(
      ({ address, parts }): ReadonlyArray<UnreadPart> => (known.has(address) ? [] : parts)
    )
    exits.push(yield* apply(session, { ...own, unread: [...own.unread, ...foreign] }, config))
    for (const exit of exits) if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
  })
})
