/**
 * The operator who acts. Acts are recorded in the audit log under this name. Acts of an embedder that names no
 * operator are not recorded.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Actor } from "../domain/Audit.ts"
import * as Audit from "../domain/Audit.ts"

export type { Actor, Entry, Query, View } from "../domain/Audit.ts"

export class CurrentActor extends Context.Reference<CurrentActor>()("@sendwright/core/engine/CurrentActor", {
  defaultValue: (): Actor | null => null
}) {}

/** Runs operations of `engine.admin` as somebody. */
export const as =
  (actor: Actor) =>
  <A, E, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(operation, CurrentActor, actor)

/** The condition of an act, asked for within the act's commit; where the condition fails nothing is done. */
export class Precondition extends Context.Reference<Precondition>()("@sendwright/core/engine/Precondition", {
  defaultValue: (): Effect.Effect<void, unknown> => Effect.void
}) {}

/** How long entries of the audit log are kept, in milliseconds. */
export class Retention extends Context.Reference<Retention>()("@sendwright/core/engine/Retention", {
  defaultValue: () => Audit.defaultRetentionMs
}) {}

/** The version that a process says of itself; null where it says none. */
export class ProcessVersion extends Context.Reference<ProcessVersion>()(
  "@sendwright/core/engine/ProcessVersion",
  {
    defaultValue: (): string | null => null
  }
) {}
