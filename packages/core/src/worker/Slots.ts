/**
 * Shares out the attempts that a process may have under way among its lanes. Each lane has slots of its own. Lanes
 * that rest lend theirs to one whose platform is slow, but of all slots together the last quarter is never lent, so that
 * a lane that wakes has some.
 */
import * as Effect from "effect/Effect"

/** The part of all slots that is lent, and that slow sessions use together. */
export const sharedPart = 3 / 4

interface Use {
  readonly slots: number
  readonly rests: boolean
}

export interface Slots {
  /** The lane uses so many from now on, those included that a claim under way will use. */
  readonly use: (lane: symbol, slots: number, rests: boolean) => void
  readonly close: (lane: symbol) => void
  /** Attempts that the lane may start now with slots of its own, and with borrowed ones. */
  readonly free: (lane: symbol) => { readonly slots: number; readonly loan: number }
  /** Returns when a lane uses fewer than before. */
  readonly awaitFreed: Effect.Effect<void>
}

export const make = (lanes: number, ownSlots: number): Slots => {
  const total = lanes * ownSlots
  const uses = new Map<symbol, Use>()
  const waiting = new Set<() => void>()
  const usedBy = (lane: symbol): number => uses.get(lane)?.slots ?? 0
  const freed = (): void => {
    for (const resumeOne of [...waiting]) resumeOne()
  }
  return {
    use: (lane, slots, rests) => {
      const before = usedBy(lane)
      uses.set(lane, { slots, rests })
      if (slots < before) freed()
    },
    close: (lane) => {
      uses.delete(lane)
      freed()
    },
    free: (lane) => {
      let used = 0
      let idle = 0
      for (const [other, { rests, slots }] of uses) {
        used += slots
        if (other !== lane && rests) idle += Math.max(0, ownSlots - slots)
      }
      const own = Math.max(0, Math.min(ownSlots - usedBy(lane), total - used))
      const unlent = Math.floor(total * sharedPart) - used - own
      return { slots: own, loan: Math.max(0, Math.min(idle, unlent)) }
    },
    awaitFreed: Effect.async((resume) => {
      const resumeOne = (): void => {
        waiting.delete(resumeOne)
        resume(Effect.void)
      }
      waiting.add(resumeOne)
      return Effect.sync(() => waiting.delete(resumeOne))
    })
  }
}
