/**
 * What this process has claimed, so that its outcomes do not read the recipients again. While a claim's row says that nobody
 * else has written any of its recipients, those that are remembered and have no outcome yet are as they were claimed. A commit
 * that was rolled back has forgotten some, and so its row counts more open outcomes than are remembered.
 */

import type { FencedRecipient } from "../../JobSteps.ts"
import type { OpenClaim } from "../../policy/JobRows.ts"

/** Claims that are remembered: about as many as a process has in flight. */
const most = 4096

export interface ClaimsCache {
  /** @param recipients by their keys */
  readonly put: (fence: number, recipients: ReadonlyArray<readonly [key: number, FencedRecipient]>) => void
  /** Answers whether it was remembered. */
  readonly remove: (fence: number, key: number) => boolean
  /** The recipient as it was claimed; undefined when it has to be read. */
  readonly find: (key: number, claims: ReadonlyMap<number, OpenClaim>) => FencedRecipient | undefined
}

export const make = (): ClaimsCache => {
  const claims = new Map<number, Map<number, FencedRecipient>>()
  /** Of those that are remembered, the fence of each recipient's claim. */
  const fences = new Map<number, number>()
  const forget = (fence: number): void => {
    for (const key of claims.get(fence)?.keys() ?? []) if (fences.get(key) === fence) fences.delete(key)
    claims.delete(fence)
  }
  return {
    put: (fence, recipients) => {
      const [oldest] = claims.keys()
      if (claims.size >= most && oldest !== undefined) forget(oldest)
      const known = claims.get(fence) ?? new Map<number, FencedRecipient>()
      claims.set(fence, known)
      for (const [key, recipient] of recipients) {
        known.set(key, recipient)
        fences.set(key, fence)
      }
    },
    remove: (fence, key) => {
      const known = claims.get(fence)
      const wasKnown = known?.delete(key) === true
      if (fences.get(key) === fence) fences.delete(key)
      if (known?.size === 0) claims.delete(fence)
      return wasKnown
    },
    find: (key, open) => {
      const fence = fences.get(key)
      const known = fence === undefined ? undefined : claims.get(fence)
      const claim = fence === undefined ? undefined : open.get(fence)
      if (known === undefined || claim === undefined || claim.isOvertaken || claim.open !== known.size)
        return undefined
      return known.get(key)
    }
  }
}
