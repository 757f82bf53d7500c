/** What `webhooks.ts` and its receivers say to each other. */

export interface Command {
  /** Every so manieth path is dead; 0 = none. */
  readonly deadEvery: number
}

export interface Report {
  /** From event to arrival, in milliseconds. */
  readonly latencies: ReadonlyArray<number>
  readonly repeated: number
}

/** Paths that are dead now and then are measured in no run. */
export const measured = (path: number): boolean => path % 20 !== 0
