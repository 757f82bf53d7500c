/** The people whom both of two campaigns reached, by any name of theirs that both have. */
import * as Address from "../Address.ts"
import type { RecipientResult } from "./Job.ts"

/** A recipient whose message the platform accepted. */
export interface Reached extends Pick<RecipientResult, "address" | "index" | "status"> {
  readonly jobId: string
}

/** Somebody who got both, with the newest message of each. */
export interface Both {
  readonly first: Reached
  readonly second: Reached
}

/** @param first the newest first, as `second` */
export const overlap = (
  first: ReadonlyArray<Reached>,
  second: ReadonlyArray<Reached>
): ReadonlyArray<Both> => {
  const known = new Map<string, Reached>()
  for (const reached of second)
    for (const key of Address.keysOf(reached.address)) if (!known.has(key)) known.set(key, reached)
  const found = new Map<Reached, Both>()
  for (const reached of first) {
    const key = Address.keysOf(reached.address).find((key) => known.has(key))
    const other = key === undefined ? undefined : known.get(key)
    if (other !== undefined && !found.has(other)) found.set(other, { first: reached, second: other })
  }
  return [...found.values()]
}
