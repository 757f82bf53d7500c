import * as Data from "effect/Data"

/** A reason, and its mend. */
export const fullDisk = "the disk of its database is full. Make room on it."

/**
 * The store could not do what it was asked: the disk is full, the file is locked, a constraint was broken that
 * the engine should have kept. Nothing of the operation remains. Bugs are defects, not this error.
 */
export class StorageError extends Data.TaggedError("StorageError")<{
  readonly operation: string
  /** For the log of the process, never for a caller: a driver's message can quote data. */
  readonly cause: unknown
  /**
   * Whose fault the database says it is. An adapter that cannot tell leaves it out: what a database that works refuses again
   * and again, while it takes others, counts as the content's then.
   *
   * - `content`: the database does not take these values, and would refuse them again. Nothing was made.
   * - `collision`: another transaction was in the way. Nothing was made, and the same may be taken later.
   * - `unavailable`: the disk is full, the server stops. It may have been made, and the same may be taken later.
   */
  readonly fault?: "content" | "collision" | "unavailable" | undefined
  /** Why the store does not do it, where that is known, and what to do: one line without a secret, for who set it up. */
  readonly reason?: string | undefined
}> {
  override get message(): string {
    const failed = `The storage operation "${this.operation}" failed`
    return this.reason === undefined ? `${failed}.` : `${failed}: ${this.reason}`
  }
}
