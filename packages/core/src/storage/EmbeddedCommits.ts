/**
 * The commits of embedders' transactions in which something was accepted. The engine doesn't make them, so a store tells of
 * them, and whoever dispatches goes to work at once; polling finds the rest, later.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** Calls at each such commit, of whichever process, and where one may have been missed; until it is interrupted. */
export type Listen = (heard: () => void) => Effect.Effect<never>

/** Null where the store tells of none: there are none, or a claim that was asked for meanwhile waits for their end. */
export class EmbeddedCommits extends Context.Reference<EmbeddedCommits>()(
  "@sendwright/core/storage/EmbeddedCommits",
  { defaultValue: (): Listen | null => null }
) {}
