/** Counts for a store what its commits made of recipients, once they are made (`domain/job/Tally`). */
import * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Counter, Tally } from "../../domain/job/Tally.ts"
import * as Tallies from "../../domain/job/Tally.ts"
import type { AcceptResult, AcceptSend } from "../JobStore.ts"
import type { Counted } from "./Counted.ts"

export interface Counting {
  /** Returns once something is counted that is not taken. */
  readonly some: Effect.Effect<void>
  /** The counts of some minutes that were not taken yet, together with those that are written. */
  readonly between: <E>(
    minutes: { readonly from: Instant; readonly to: Instant },
    written: Effect.Effect<ReadonlyArray<Tally>, E>
  ) => Effect.Effect<ReadonlyArray<Tally>, E>
  readonly accepted: <E>(
    command: AcceptSend,
    accept: Effect.Effect<AcceptResult, E>
  ) => Effect.Effect<AcceptResult, E>
  /** A verb that was performed by `policy/Counted`. */
  readonly changed: <A, E>(now: Instant, verb: Effect.Effect<Counted<A>, E>) => Effect.Effect<A, E>
  /** Takes what was counted; it is counted again when it could not be written. */
  readonly taken: <E>(
    write: (tallies: ReadonlyArray<Tally>) => Effect.Effect<void, E>
  ) => Effect.Effect<void, E>
}

export const make = (): Counting => {
  const some = Effect.unsafeMakeLatch()
  const counter: Counter = Tallies.counter(() => some.unsafeOpen())
  return {
    some: some.await,
    between: ({ from, to }, written) =>
      Effect.map(written, (tallies) =>
        Tallies.sum(
          tallies,
          counter.now().filter(({ minute }) => minute >= from && minute < to)
        )
      ),
    accepted: ({ now, recipients, sessionId }, accept) =>
      Effect.tap(accept, ({ _tag }) =>
        Effect.sync(() => {
          if (_tag === "Accepted") counter.accepted(sessionId, recipients.length, now)
        })
      ),
    changed: (now, verb) =>
      Effect.map(verb, ({ answer, steps }) => {
        for (const { changes, state } of steps) counter.changed(state.job.sessionId, changes, now)
        return answer
      }),
    taken: (write) =>
      Effect.suspend(() => {
        const tallies = counter.take()
        some.unsafeClose()
        return tallies.length === 0
          ? Effect.void
          : Effect.onError(write(tallies), () => Effect.sync(() => counter.putBack(tallies)))
      })
  }
}
