/**
 * How many slots sessions have whose platform keeps us waiting, so that it delays no other's: all of them together leave
 * a part to the rest. A session is one of them once a lane has waited for it in vain, until a window of it is answered
 * in time and nothing else of it is under way.
 *
 * This is what one process knows; another learns it anew with its first windows.
 */
import * as Effect from "effect/Effect"

/** What slow sessions have no more of together. */
const slowPart = 3 / 4

interface Share {
  readonly inHand: number
  readonly slow: boolean
}

export interface Shares {
  /** It has so many slots more, or fewer. */
  readonly hold: (sessionId: string, by: number) => void
  /** Whether it was waited for in vain, or answered in time: then it is slow no more if nothing else of it is under way. */
  readonly judge: (sessionId: string, slow: boolean) => void
  /** Those that get nothing now. */
  readonly full: () => ReadonlyArray<string>
  /** A claim is made, which may bring a window of slow ones: until it ended nobody knows. */
  readonly claiming: <A, E, R>(claim: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * @param slots sends under way at once, over all sessions
 * @param window how many of them one claim may take
 */
export const make = (slots: number, window: number): Shares => {
  const shares = new Map<string, Share>()
  let claims = 0

  const put = (sessionId: string, share: Share): void => {
    if (share.inHand > 0 || share.slow) shares.set(sessionId, share)
    else shares.delete(sessionId)
  }
  const of = (sessionId: string): Share => shares.get(sessionId) ?? { inHand: 0, slow: false }

  return {
    hold: (sessionId, by) => {
      const { inHand, slow } = of(sessionId)
      put(sessionId, { inHand: inHand + by, slow })
    },
    judge: (sessionId, slow) => {
      const share = of(sessionId)
      put(sessionId, { ...share, slow: slow || (share.slow && share.inHand > 0) })
    },
    full: () => {
      const slow = [...shares].filter(([, share]) => share.slow)
      const held = slow.reduce((sum, [, { inHand }]) => sum + inHand, 0)
      return held + Math.max(1, claims) * window > slots * slowPart
        ? slow.map(([sessionId]) => sessionId)
        : []
    },
    claiming: (claim) => {
      const begin = Effect.sync(() => {
        claims += 1
      })
      const end = Effect.sync(() => {
        claims -= 1
      })
      return Effect.zipRight(begin, Effect.ensuring(claim, end))
    }
  }
}
