/** Finds the sender of a session's provider and decrypts the session's configuration for it. */
import * as Effect from "effect/Effect"
import type { ClosedMarket } from "../domain/session/ClosedMarkets.ts"
import type { Connection, Outbound } from "../domain/session/Session.ts"
import * as Either from "../effect/Either.ts"
import { SecretBox } from "../secret/SecretBox.ts"
import type { Sender } from "./Sender.ts"
import { Senders } from "./Sender.ts"

export interface SessionSender {
  readonly sender: Sender
  readonly config: unknown
  /** The session's own time for which a transient error is tried again (`Retry.sendWindow`). */
  readonly retryForMs: number | null
  /** Markets to which nothing of a category is sent: the session's own, or the sender's. */
  readonly closedMarkets: ReadonlyArray<ClosedMarket>
  /** The connection that the platform's answers are about (`Session.isAbout`). */
  readonly connection: Connection
}

/** The scope of the user ids that the session's platform gives out. */
export const portfolioOf = (sessionSender: SessionSender | undefined, sessionId: string): string =>
  sessionSender?.sender.portfolio?.(sessionSender.config) ?? sessionId
const open: ReadonlyArray<ClosedMarket> = []

/** The markets that are closed to a session: by its own list, else by that of its provider's sender. */
export const closedOf = (
  session: Pick<Outbound, "closedMarkets">,
  sender: Pick<Sender, "closedMarkets"> | undefined
): ReadonlyArray<ClosedMarket> => session.closedMarkets ?? sender?.closedMarkets ?? open

/** Undefined when this process has no sender for the provider, or cannot decrypt the configuration. */
export type Resolve = (session: Outbound | null) => Effect.Effect<SessionSender | undefined>

/** How many configurations are kept unsealed. */
const maximumCached = 1000

/** Where a session's configuration is sealed. */
export const place = (sessionId: string): string => `session|${sessionId}`

export const make: Effect.Effect<Resolve, never, Senders | SecretBox> = Effect.gen(function* () {
  const box = yield* SecretBox
  const senders = yield* Senders
  const known = new Map<string, unknown>()

  const unseal = ({ config, id }: Pick<Outbound, "id" | "config">): Either.Either<unknown, unknown> => {
    if (known.has(config)) return Either.right(known.get(config))
    return Either.map(box.open(place(id), config), (text) => {
      const plain: unknown = JSON.parse(text)
      const [oldest] = known.keys()
      if (known.size >= maximumCached && oldest !== undefined) known.delete(oldest)
      known.set(config, plain)
      return plain
    })
  }

  return (session) => {
    const sender = session === null ? undefined : senders.get(session.provider)
    if (session === null || sender === undefined) return Effect.succeed(undefined)
    // A sender without a configuration needs no key to decrypt one.
    const { connectedSince, retryForMs } = session
    const closedMarkets = closedOf(session, sender)
    const connection = { config: session.config, connectedSince }
    if (sender.configure === undefined)
      return Effect.succeed({ sender, config: {}, retryForMs, closedMarkets, connection })
    return Either.match(unseal(session), {
      onLeft: () =>
        Effect.as(
          Effect.logError(`The configuration of session ${session.id} cannot be read with this SECRET_KEY`),
          undefined
        ),
      onRight: (config) => Effect.succeed({ sender, config, retryForMs, closedMarkets, connection })
    })
  }
})
