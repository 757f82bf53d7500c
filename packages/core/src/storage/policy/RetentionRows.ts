/** The operations that a database supplies for the rules of retention. */

import type { Instant } from "../../domain/Instant.ts"
import type { Found, OwnRetention, Place, Walk } from "../../domain/Retention.ts"
import type { Program } from "../Program.ts"

/** A page of a walk. */
export interface PageQuery {
  /** Null from the first row on. */
  readonly after: Place | null
  readonly limit: number
  /** The accounts with settings of their own: what is kept for ever by default is walked over for these alone. */
  readonly accounts: ReadonlyArray<OwnRetention>
}

/** The rows of one walk. */
export interface WalkRows {
  /** The next rows in the walk's order; fewer than the limit when these are the last. */
  readonly page: (query: PageQuery) => Program<ReadonlyArray<Found>>
  /**
   * Those of the rows that nobody else can change until the commit, as they are then. A page tells no more of them where this
   * is left out.
   */
  readonly lock?: (found: ReadonlyArray<Found>) => Program<ReadonlyArray<Found>>
  /** The same rows with what they weigh, where a page does not tell that since it costs more. */
  readonly weigh?: (found: ReadonlyArray<Found>) => Program<ReadonlyArray<Found>>
  /** Deletes the rows and all that refers to them, or their contents. */
  readonly remove: (found: ReadonlyArray<Found>, now: Instant) => Program<void>
}

export interface RetentionRows {
  readonly isQuarantined: () => Program<boolean>
  /** False while another process purges. */
  readonly tryLock: () => Program<boolean>
  readonly accounts: () => Program<ReadonlyArray<OwnRetention>>
  readonly walks: { readonly [Name in Walk]: WalkRows }
}
