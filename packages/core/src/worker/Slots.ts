/**
 * Shares out the attempts that a process may have under way among its lanes. Each lane has slots of its own. Lanes
 * that rest lend theirs to one whose platform is slow, but of all slots together the last quarter is never lent, so that
 * a lane that wakes has some.
 *
 * What lanes have claimed is bounded for all of them together: two of the largest batches beside what is attempted, so that
 * one is attempted while the other is stored. More at a time would wait in memory, where the collector copies it, and bring
 * nothing (docs/adr/0013-windows.md).
 */
import * as Effect from "effect/Effect"
import * as BatchSize from "./BatchSize.ts"

/** The part of all slots that is lent, and that slow sessions use together. */
export const sharedPart = 3 / 4

/** What a lane uses, with what a claim under way will use. */
export interface Use {
  readonly slots: number
  /** Recipients that it has claimed and of which it has no outcome. */
  readonly claimed: number
  readonly rests: boolean
}

export interface Free {
  /** Attempts that the lane may start now with slots of its own. */
  readonly slots: number
  /** The same with borrowed ones. */
  readonly loan: number
  /** Recipients that it may claim now. */
  readonly room: number
}

export interface Slots {
  /** The lane uses so much from now on. */
  readonly use: (lane: symbol, use: Use) => void
  readonly close: (lane: symbol) => void
  readonly free: (lane: symbol) => Free
  /** Returns when a lane uses less than before. */
  readonly awaitFreed: Effect.Effect<void>
}

export const make = (lanes: number, ownSlots: number): Slots => {
  const total = lanes * ownSlots
  const mostClaimed = total + 2 * Math.max(ownSlots, BatchSize.largest)
  const uses = new Map<symbol, Use>()
  const waiting = new Set<() => void>()
  const usedBy = (lane: symbol): number => uses.get(lane)?.slots ?? 0
  const freed = (): void => {
    for (const resumeOne of [...waiting]) resumeOne()
  }
  return {
    use: (lane, use) => {
      const before = uses.get(lane)
      uses.set(lane, use)
      if (before !== undefined && (use.slots < before.slots || use.claimed < before.claimed)) freed()
    },
    close: (lane) => {
      uses.delete(lane)
      freed()
    },
    free: (lane) => {
      let used = 0
      let idle = 0
      let room = mostClaimed
      for (const [other, { claimed, rests, slots }] of uses) {
        used += slots
        room -= claimed
        if (other !== lane && rests) idle += Math.max(0, ownSlots - slots)
      }
      const own = Math.max(0, Math.min(ownSlots - usedBy(lane), total - used))
      const unlent = Math.floor(total * sharedPart) - used - own
      return { slots: own, loan: Math.max(0, Math.min(idle, unlent)), room }
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
