/** How the process ends when something is not as it should be. */
import * as Data from "effect/Data"

/** `why` is told, unless it was. */
export class Degraded extends Data.TaggedError("Unwell")<{ readonly code: number; readonly why?: string }> {}
