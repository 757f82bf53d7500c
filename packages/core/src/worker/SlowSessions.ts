/**
 * A bulkhead: sessions whose platform keeps lanes waiting never use more than three quarters of the slots together, so
 * that they delay no other session. A session is slow once a lane waited for it in vain, until a batch of it is answered
 * in time and nothing else of it is under way.
 *
 * Only this process knows it; another learns it anew with its first batches.
 */
import * as Effect from "effect/Effect"
import { sharedPart } from "./Slots.ts"

interface Usage {
  readonly slots: number
  readonly slow: boolean
}

export interface SlowSessions {
  /** The session uses so many slots more, or fewer. */
  readonly use: (sessionId: string, by: number) => void
  /** A lane waited for a batch of the session: in vain (`slow`), or it was answered in time. */
  readonly judge: (sessionId: string, slow: boolean) => void
  /** Sessions for which nothing is claimed now. */
  readonly excluded: () => ReadonlyArray<string>
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
    if (usage.slots > 0 || usage.slow) sessions.set(sessionId, usage)
    else sessions.delete(sessionId)
  }
  const of = (sessionId: string): Usage => sessions.get(sessionId) ?? { slots: 0, slow: false }

  return {
    use: (sessionId, by) => {
      const { slots, slow } = of(sessionId)
      put(sessionId, { slots: slots + by, slow })
      for (const look of waiters.get(sessionId) ?? []) look()
    },
    judge: (sessionId, slow) => {
      const usage = of(sessionId)
      put(sessionId, { ...usage, slow: slow || (usage.slow && usage.slots > 0) })
    },
    excluded: () => {
      const slow = [...sessions].filter(([, usage]) => usage.slow)
      const used = slow.reduce((sum, [, usage]) => sum + usage.slots, 0)
      return used + Math.max(ownSlots, reserved) > slots * sharedPart
        ? slow.map(([sessionId]) => sessionId)
        : []
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
