/**
 * Slows down guessing of credentials (docs/adr/0024-operators.md). Wrong ones are counted by the client's address, and by
 * what they were for from that address. Over a limit a request is refused before any store is asked, unless the very same
 * credentials were right from that address within the last hour: a stranger's guesses do not lock out who shares
 * an address with them.
 *
 * Credentials that are being looked at may prove wrong, and count as if they had until they are known: guesses that come
 * all at once are no more than those that come one by one. The very same ones count once, however many requests have
 * them, so that a client may begin with as many as it likes.
 */
import { Ids } from "@sendwright/core"
import { Memo, Throttle } from "@sendwright/core/internal"
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

/** The identity that a request tries to prove. */
export interface Guess {
  readonly kind: "key" | "operator" | "hook"
  /** Undefined where nobody tells it: then only what is guessed at a public key or as an operator is counted. */
  readonly address: string | undefined
  /** The public key or the session; undefined where the request names none. */
  readonly subject: string | undefined
  /** Absent where there is nothing to guess, and right ones are not remembered: a signature is another one each time. */
  readonly secret?: string | undefined
}

/** Unclear: what failed tells nothing of the credentials. */
export type Outcome = "right" | "wrong" | "unclear"

export interface Guesses {
  /** Milliseconds to wait before the credentials are looked at; or they are looked at now, and how that ends must be told. */
  readonly begin: (guess: Guess, now: number) => number | ((outcome: Outcome, now: number) => void)
}

const minute = 60_000
const knownForMs = 60 * minute
/** Only right credentials get here, so that strangers cannot push others out. */
const mostKnown = 10_000

type Counter = readonly [throttle: Throttle.Throttle, key: string]

/** Adds to a count of what is there alone. */
const add = <K>(counts: Map<K, number>, key: K, more: 1 | -1): number => {
  const count = (counts.get(key) ?? 0) + more
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
  return count
}

export const make = ({ perAddress, perMinute, perSubject }: Limits = defaults) =>
  Effect.map(Ids.RandomBytes, (randomBytes): Guesses => {
    const seed = Buffer.from(randomBytes(4)).readInt32LE()
    const ruleOf = (limit: number) => ({ limit, periodMs: (limit / perMinute) * minute })
    const byAddress = Throttle.make(ruleOf(perAddress), seed)
    const bySubject = Throttle.make(ruleOf(perSubject), seed)
    const networks = Memo.make<string>(1000)
    /** When credentials were right last, by their hash; the one that was right longest ago comes first. */
    const known = new Map<number, number>()
    /** Credentials that are being looked at and not known, by their hash: by how many requests. */
    const looked = new Map<number, number>()
    /** How many of them each counter would count. */
    const promised = new Map<string, number>()

    const clientOf = ({ address = "" }: Guess): string =>
      address.includes(":") ? networks(address, () => ClientAddress.clientOf(address)) : address

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

    const isKnown = (identity: number, now: number): boolean => {
      const since = known.get(identity)
      return since !== undefined && now - since < knownForMs
    }

    const waitMs = (guess: Guess, isGuessed: boolean, now: number): number => {
      // The common case of what is not remembered, which costs nothing.
      if (!isGuessed && byAddress.isIdle(now) && bySubject.isIdle(now)) return 0
      return countersOf(guess).reduce(
        (longest, [throttle, key]) =>
          Math.max(longest, throttle.waitMs(key, now, isGuessed ? promised.get(key) : 0)),
        0
      )
    }

    const remember = (identity: number, now: number): void => {
      const since = known.get(identity)
      if (since !== undefined && now >= since && now - since < minute) return
      known.delete(identity)
      known.set(identity, now)
      const [oldest] = known.keys()
      if (known.size > mostKnown && oldest !== undefined) known.delete(oldest)
    }

    return {
      begin: (guess, begun) => {
        const identity = identityOf(guess)
        const isLooked = identity !== undefined && !isKnown(identity, begun)
        if (identity === undefined || isLooked) {
          const wait = waitMs(guess, isLooked && !looked.has(identity), begun)
          if (wait > 0) return wait
        }
        if (isLooked && add(looked, identity, 1) === 1)
          for (const [, key] of countersOf(guess)) add(promised, key, 1)
        return (outcome, now) => {
          if (isLooked && add(looked, identity, -1) === 0)
            for (const [, key] of countersOf(guess)) add(promised, key, -1)
          if (outcome === "wrong") {
            for (const [throttle, key] of countersOf(guess)) throttle.count(key, now)
            if (identity !== undefined) known.delete(identity)
          }
          if (outcome === "right" && identity !== undefined) remember(identity, now)
        }
      }
    }
  })
