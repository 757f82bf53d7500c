/**
 * Writes by which names of their platforms sessions are found (`Sender.addresses`), since their configurations are sealed:
 * when one is configured, and, for those that an earlier build configured, from time to time.
 */
import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Session } from "../domain/session/Session.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import { Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

/** An address as it is stored: each provider has names of its own. */
export const stored = (provider: string, address: string): string => `${provider} ${address}`

const atOnce = 100
const everyMs = 10 * Time.minute

export interface Addressing {
  readonly write: (session: Session) => Effect.Effect<void, StorageError>
  /** Writes what is missing, at most every ten minutes however often it is asked. */
  readonly writeMissing: Effect.Effect<void, StorageError>
}

export const make: Effect.Effect<Addressing, never, SecretBox | Senders | SessionStore> = Effect.gen(
  function* () {
    const sessions = yield* SessionStore
    const senders = yield* Senders
    const resolve = yield* SessionSender.make
    const providers = [...senders.values()]
      .filter(({ addresses }) => addresses !== undefined)
      .map(({ provider }) => provider)

    const write: Addressing["write"] = Effect.fnUntraced(function* (session) {
      if (!providers.includes(session.provider)) return
      const sessionSender = yield* resolve(session)
      const addressesOf = sessionSender?.sender.addresses
      if (sessionSender === undefined || addressesOf === undefined) return
      const addresses = addressesOf(sessionSender.config).map((address) => stored(session.provider, address))
      yield* sessions.address({ id: session.id, config: session.config, addresses })
    })

    let nextAt: Instant = Time.at(0)
    const writeMissing = Effect.gen(function* () {
      const now = yield* Time.now
      if (providers.length === 0 || now < nextAt) return
      let after = ""
      for (;;) {
        const some: ReadonlyArray<Session> = yield* sessions.unaddressed({ providers, after, limit: atOnce })
        for (const session of some) yield* write(session)
        if (some.length < atOnce) break
        after = some.at(-1)?.id ?? after
      }
      nextAt = Time.after(now, everyMs)
    })

    return { write, writeMissing }
  }
)
