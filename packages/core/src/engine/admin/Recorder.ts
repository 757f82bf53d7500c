/** Puts an act and its entry in the audit log into one commit. */

import * as Effect from "effect/Effect"
import type { View } from "../../domain/Audit.ts"
import * as Ids from "../../domain/Ids.ts"
import * as Time from "../../domain/Instant.ts"
import { Signals } from "../../runtime/Signals.ts"
import { AuditStore } from "../../storage/AuditStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { Transactions } from "../../storage/Transactions.ts"
import { CurrentActor, Retention } from "../Acting.ts"

export interface Recording<A> {
  /** Such as `accounts.change`. */
  readonly operation: string
  /** The id of the changed object, if it exists before the act. Acts on one object run one after the other. */
  readonly on?: string | undefined
  /** Reads the object before the act. */
  readonly before?: Effect.Effect<View | null, StorageError> | undefined
  /** Null of what changed nothing and is not told. */
  readonly entry: (answer: A) => { readonly target: string | null; readonly after: View | null } | null
}

export type Recorder = <A, E, R>(
  recording: Recording<A>,
  act: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | StorageError, R>

export const make = Effect.gen(function* () {
  const audit = yield* AuditStore
  const { atomically } = yield* Transactions
  const retentionMs = yield* Retention
  const signals = yield* Signals
  const ids = Ids.make(yield* Ids.RandomBytes)
  // Loops that the act woke may have looked for work before its commit, so that they are woken again.
  const notify = Effect.zipRight(signals.sends.notify, signals.deliveries.notify)

  const record: Recorder = ({ before, entry, on, operation }, act) =>
    Effect.flatMap(CurrentActor, (actor) => {
      if (actor === null) return act
      const recorded = Effect.gen(function* () {
        if (on !== undefined) yield* audit.serialize(on)
        const was = before === undefined ? null : yield* before
        const answer = yield* act
        const told = entry(answer)
        if (told === null) return answer
        const at = yield* Time.now
        yield* audit.append({
          entry: { ...actor, id: ids.uuid(at), at, operation, before: was, ...told },
          retainSince: Time.before(at, retentionMs)
        })
        return answer
      })
      return Effect.zipLeft(atomically(recorded), notify)
    })
  return record
})
