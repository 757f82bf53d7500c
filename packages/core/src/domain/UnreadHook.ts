/**
 * A part of a hook that nobody understood (contract.md §11), kept as it came: a platform that was answered says it no
 * second time.
 */
import type { Instant } from "./Instant.ts"

export interface UnreadHook {
  readonly id: string
  /** The platform's name for this kind of news. */
  readonly field: string
  readonly reason: string
  /** The hook's JSON, without the session's secrets. */
  readonly content: string
  /** True when the content is only the beginning (`ExternalText.longestJson`). */
  readonly isCut: boolean
  readonly receivedAt: Instant
}

/** The parts of one session that are kept, the newest. */
export const maximumOfSession = 10_000
/** Of each field, so that none takes the room of the others. */
export const maximumOfField = 1000

/** Parts of one commit. */
export const maximumParts = 100
