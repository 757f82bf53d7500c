/**
 * The store could not do what it was asked: the disk is full, the file is locked, a constraint was broken that
 * the engine should have kept. Nothing of the operation remains. Bugs are defects, not this error.
 */
import * as Data from "effect/Data"

export class StorageError extends Data.TaggedError("StorageError")<{
  readonly operation: string
  /** For the log of the process, never for a caller: a driver's message can quote data. */
  readonly cause: unknown
  /**
   * True when the database is there and does not take these values, so that it would refuse them again. An adapter that
   * cannot tell leaves it out: then the database counts as down, and the same is stored later.
   */
  readonly contentRefused?: boolean
}> {
  override get message(): string {
    return `The storage operation "${this.operation}" failed.`
  }
}
