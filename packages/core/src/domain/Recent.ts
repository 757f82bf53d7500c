/** When names were noted last. Over the maximum, those are forgotten that were noted longest ago. */
import type { Instant } from "./Instant.ts"

export interface Recent {
  readonly has: (name: string) => boolean
  /** True where it was noted within so many milliseconds before now. */
  readonly isWithin: (name: string, ms: number, now: Instant) => boolean
  readonly note: (name: string, now: Instant) => void
}

/** @param most the maximum number of names */
export const make = (most: number): Recent => {
  const noted = new Map<string, Instant>()
  return {
    has: (name) => noted.has(name),
    isWithin: (name, ms, now) => {
      const last = noted.get(name)
      return last !== undefined && last <= now && now - last < ms
    },
    note: (name, now) => {
      noted.delete(name)
      noted.set(name, now)
      const [oldest] = noted.keys()
      if (noted.size > most && oldest !== undefined) noted.delete(oldest)
    }
  }
}
