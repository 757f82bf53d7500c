/** Tells whether a worker has something that the store does not say to be due: in hand, under way, or to be looked for. */
import * as Effect from "effect/Effect"
import type { Signal } from "../runtime/Signals.ts"
import type { DispatchLoop } from "./DispatchLoop.ts"

export interface Activity {
  readonly watch: (loop: DispatchLoop) => Effect.Effect<void>
  /** A step that brings the receipts of outcomes that there were before. */
  readonly bringing: <A, E>(step: Effect.Effect<A, E>) => Effect.Effect<A, E>
  readonly now: Effect.Effect<boolean>
}

/** @param outcomes tells that outcomes were stored, whose receipts have to be looked for */
export const make = (outcomes: Signal): Activity => {
  const loops: Array<DispatchLoop> = []
  const owing: Array<{ isOwed: boolean }> = []
  outcomes.listen(() => {
    for (const each of owing) each.isOwed = true
  })
  return {
    watch: (loop) => Effect.sync(() => void loops.push(loop)),
    bringing: (step) => {
      const receipts = { isOwed: false }
      owing.push(receipts)
      return Effect.suspend(() => {
        receipts.isOwed = false
        return step
      })
    },
    now: Effect.sync(() => owing.some(({ isOwed }) => isOwed) || loops.some(({ isDone }) => !isDone()))
  }
}
