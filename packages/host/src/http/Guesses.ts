/**
 * Slows down guessing of credentials (docs/adr/0024-operators.md). Wrong ones are counted by the client's address, and by
 * what they were for from that address, before any store is asked. Over a limit a request is refused, unless the very same
 * credentials were right from that address within the last hour: a stranger's guesses do not lock out who shares
 * an address with them.
 */
import { Ids } from "@sendwright/core"
import * as Memo from "@sendwright/core/domain/Memo"
import * as Throttle from "@sendwright/core/domain/Throttle"
import * as Effect from "effect/Effect"
import * as ClientAddress from "./ClientAddress.ts"

/** How many wrong credentials are answered with 401 before the rest is refused with 429. */
export interface Limits {
  /** From one address, API keys and operators counted apart. */
  readonly perAddress: number
  /** For one public key, or one session's hook, from one address. */
  readonly perSubject: number
  /** How many more are answered in each minute from then on. */
  readonly perMinute: number
}

export const defaults: Limits = { perAddress: 500, perSubject: 100, perMinute: 60 }

/** What a request tries to prove. */
export interface Guess {
  readonly kind: "key" | "operator" | "hook"
  /** Undefined where nobody tells it: then only what is guessed at a public key or as an operator is counted. */
  readonly address: string | undefined
  /** The public key or the session; undefined where the request names none. */
  readonly subject: string | undefined
  /** Absent where right ones are not remembered: a signature is another one each time. */
  readonly secret?: string | undefined
}

export interface Guesses {
  /** Milliseconds to wait before the credentials are looked at; 0 = none. */
  readonly waitMs: (guess: Guess, now: number) => number
  readonly wrong: (guess: Guess, now: number) => void
  readonly right: (guess: Guess, now: number) => void
}

const minute = 60_000
const knownForMs = 60 * minute
/** Only right credentials get here, so that strangers cannot push others out. */
const mostKnown = 10_000

type Counter = readonly [throttle: Throttle.Throttle, key: string]

export const make = ({ perAddress, perMinute, perSubject }: Limits = defaults) =>
  Effect.map(Ids.RandomBytes, (randomBytes): Guesses => {
    const seed = Buffer.from(randomBytes(4)).readInt32LE()
    const ruleOf = (limit: number) => ({ limit, periodMs: (limit / perMinute) * minute })
    const byAddress = Throttle.make(ruleOf(perAddress), seed)
    const bySubject = Throttle.make(ruleOf(perSubject), seed)
    const networks = Memo.make<string>(1000)
    /** When credentials were right last, by their hash; the one that was right longest ago comes first. */
    const known = new Map<number, number>()

    const clientOf = ({ address = "" }: Guess): string =>
      address.includes(":") ? networks(address, () => ClientAddress.holder(address)) : address

    const countersOf = (guess: Guess): ReadonlyArray<Counter> => {
      const { kind, subject } = guess
      const network = clientOf(guess)
      const ofAddress: Counter = [byAddress, `${kind}|${network}`]
      const ofSubject: Counter = [bySubject, `${kind}|${network}|${subject}`]
      switch (kind) {
        case "key":
          return [...(network === "" ? [] : [ofAddress]), ...(subject === undefined ? [] : [ofSubject])]
        case "operator":
          return [ofAddress]
        // A platform posts the hooks of all sessions from the same addresses: one with a wrong secret is no reason to
        // refuse those of others. Without an address a stranger's posts would be one with the platform's.
        case "hook":
          return network === "" ? [] : [ofSubject]
      }
    }

    const identityOf = (guess: Guess): number | undefined => {
      const { kind, secret, subject } = guess
      return secret === undefined
        ? undefined
        : Throttle.hash(`${kind}|${clientOf(guess)}|${subject}|${secret}`, seed)
    }

    const isKnown = (guess: Guess, now: number): boolean => {
      const identity = identityOf(guess)
      const since = identity === undefined ? undefined : known.get(identity)
      return since !== undefined && now - since < knownForMs
    }

    return {
      waitMs: (guess, now) => {
        // The common case, which costs nothing.
        if (byAddress.isIdle(now) && bySubject.isIdle(now)) return 0
        let waitMs = 0
        for (const [throttle, key] of countersOf(guess)) waitMs = Math.max(waitMs, throttle.waitMs(key, now))
        return waitMs > 0 && isKnown(guess, now) ? 0 : waitMs
      },
      wrong: (guess, now) => {
        for (const [throttle, key] of countersOf(guess)) throttle.count(key, now)
        const identity = identityOf(guess)
        if (identity !== undefined) known.delete(identity)
      },
      right: (guess, now) => {
        const identity = identityOf(guess)
        if (identity === undefined) return
        const since = known.get(identity)
        if (since !== undefined && now >= since && now - since < minute) return
        known.delete(identity)
        known.set(identity, now)
        const [oldest] = known.keys()
        if (known.size > mostKnown && oldest !== undefined) known.delete(oldest)
      }
    }
  })
