/**
 * Slows down guessing of credentials (docs/adr/0024-operators.md). Wrong credentials are counted by client address,
 * and by address and the identity they were for. Over a limit a request is refused before any store is read, unless
 * the same credentials were right from that address within the last hour, so that a stranger's guesses do not lock
 * out others at the same address.
 *
 * Credentials that are being checked count as wrong until their check ends, so that concurrent guesses are no more
 * than consecutive ones. The same credentials count once, however many requests carry them, so that a client may
 * begin with many requests.
 */
import { Ids, type Instant } from "@sendwright/core"
import { Memo, Throttle } from "@sendwright/core/adapter"
import * as Effect from "effect/Effect"
import * as ClientAddress from "./ClientAddress.ts"

/** How many wrong credentials are answered with 401 before further ones are refused with 429. */
export interface Limits {
  /** From one address, API keys and operators counted apart. */
  readonly perAddress: number
  /** For one public key, or one session's handshake, from one address. */
  readonly perSubject: number
  /** How many more wrong credentials are answered in each minute after that. */
  readonly perMinute: number
}

export const defaults: Limits = { perAddress: 500, perSubject: 100, perMinute: 60 }

/** The identity that a request tries to prove. */
export interface Guess {
  readonly kind: "key" | "operator" | "hook"
  /** Undefined when the server does not know it: then only guesses at a public key or as an operator are counted. */
  readonly address: string | undefined
  /** The public key or the session; undefined where the request names none. */
  readonly subject: string | undefined
  readonly secret: string | undefined
}

/** Unclear: the request failed for another reason than its credentials. */
export type Outcome = "right" | "wrong" | "unclear"

export interface Guesses {
  /**
   * Returns the milliseconds to wait before the credentials may be checked; or a function that must be called with
   * the result of the check.
   */
  readonly begin: (
    guess: Guess,
    now: Instant.Instant
  ) => number | ((outcome: Outcome, now: Instant.Instant) => void)
}

const minute = 60_000
const knownForMs = 60 * minute
/** Only right credentials are remembered, so that strangers cannot evict others. */
const mostKnown = 10_000

type Counter = readonly [throttle: Throttle.Throttle, key: string]

/** Adds to a count, and deletes it at 0. */
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
    /** The last time when credentials were right, by their hash; the oldest comes first. */
    const known = new Map<number, number>()
    /** Unknown credentials that are being checked: the number of requests, by hash. */
    const looked = new Map<number, number>()
    /** The pending checks that each counter would count if they failed. */
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
        // A platform calls the hooks of all sessions from the same addresses, so that one session's wrong text must not
        // block the others. Without an address a stranger's handshakes could not be distinguished from the platform's.
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

    const isKnown = (identity: number, now: Instant.Instant): boolean => {
      const since = known.get(identity)
      return since !== undefined && now - since < knownForMs
    }

    const waitMs = (guess: Guess, isGuessed: boolean, now: Instant.Instant): number => {
      // The common case of credentials that are not remembered, at almost no cost.
      if (!isGuessed && byAddress.isIdle(now) && bySubject.isIdle(now)) return 0
      return countersOf(guess).reduce(
        (longest, [throttle, key]) =>
          Math.max(longest, throttle.waitMs(key, now, isGuessed ? promised.get(key) : 0)),
        0
      )
    }

    const remember = (identity: number, now: Instant.Instant): void => {
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
