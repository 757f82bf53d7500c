/**
 * A bulkhead: sessions whose platform keeps lanes waiting never use more than three quarters of the slots together, so
 * that they delay no other session. A session is slow once a lane waited for it in vain, until a batch of it is answered
 * in time and nothing else of it is under way. One of which nothing was answered yet may be slow: it uses no more than
 * slow sessions leave, until it has shown that it is quick.
 *
 * Only this process knows it; another learns it anew with its first batches. A session that was quick a moment ago may have
 * all slots when its platform stops to answer: other sessions wait then for its senders' time limit, once.
 */
import * as Effect from "effect/Effect"
import { sharedPart } from "./Slots.ts"

interface Usage {
  readonly slots: number
  /** `new`: nothing of it was answered since it was idle. */
  readonly known: "new" | "quick" | "slow"
}

export interface SlowSessions {
  /** The session uses so many slots more, or fewer. */
  readonly use: (sessionId: string, by: number) => void
  /** A lane waited for a batch of the session: in vain (`slow`), or it was answered in time. */
  readonly judge: (sessionId: string, slow: boolean) => void
  /** Sessions for which nothing is claimed now. */
  readonly excluded: () => ReadonlyArray<string>
  /** Sessions that lanes waited for in vain last. */
  readonly slow: () => ReadonlyArray<string>
  /** False when a batch of so many slots is too much for a new session: several lanes may have claimed it at once. */
  readonly admits: (sessionId: string, slots: number) => boolean
  /** A claim has so many slots more, or fewer. Until its batch uses them they count: it may be one of slow sessions. */
  readonly reserve: (by: number) => void
  /** Returns when the session uses no more than so many slots. */
  readonly awaitAtMost: (sessionId: string, slots: number) => Effect.Effect<void>
}

/**
 * @param slots attempts under way simultaneously, over all sessions
 * @param ownSlots how many of them a lane has
 */
export const make = (slots: number, ownSlots: number): SlowSessions => {
  const sessions = new Map<string, Usage>()
  /** Called when a session uses fewer slots. */
  const waiters = new Map<string, Set<() => void>>()
  let reserved = 0

  const put = (sessionId: string, usage: Usage): void => {
    if (usage.slots > 0 || usage.known === "slow") sessions.set(sessionId, usage)
    else sessions.delete(sessionId)
  }
  const of = (sessionId: string): Usage => sessions.get(sessionId) ?? { slots: 0, known: "new" }
  const most = slots * sharedPart
  const usedBySlow = (): number => {
    let used = 0
    for (const { known, slots } of sessions.values()) if (known === "slow") used += slots
    return used
  }

  return {
    use: (sessionId, by) => {
      const { known, slots } = of(sessionId)
      put(sessionId, { slots: slots + by, known })
      for (const look of waiters.get(sessionId) ?? []) look()
    },
    judge: (sessionId, slow) => {
      const { known, slots } = of(sessionId)
      const staysSlow = slow || (known === "slow" && slots > 0)
      put(sessionId, { slots, known: staysSlow ? "slow" : "quick" })
    },
    excluded: () => {
      const used = usedBySlow()
      const excluded: Array<string> = []
      for (const [sessionId, { known, slots }] of sessions) {
        const isTooMuch =
          known === "slow"
            ? used + Math.max(ownSlots, reserved) > most
            : known === "new" && used + slots + ownSlots > most
        if (isTooMuch) excluded.push(sessionId)
      }
      return excluded
    },
    slow: () => [...sessions].flatMap(([sessionId, { known }]) => (known === "slow" ? [sessionId] : [])),
    admits: (sessionId, more) => {
      const { known, slots } = of(sessionId)
      return known !== "new" || slots === 0 || usedBySlow() + slots + more <= most
    },
    reserve: (by) => {
      reserved += by
    },
    awaitAtMost: (sessionId, most) =>
      Effect.async((resume) => {
        const looks = waiters.get(sessionId) ?? new Set<() => void>()
        const forget = (): void => {
          looks.delete(look)
          if (looks.size === 0) waiters.delete(sessionId)
        }
        const look = (): void => {
          if (of(sessionId).slots > most) return
          forget()
          resume(Effect.void)
        }
        waiters.set(sessionId, looks.add(look))
        look()
        return Effect.sync(forget)
      })
  }
}
