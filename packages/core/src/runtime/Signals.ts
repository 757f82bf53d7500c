/**
 * Wakes the loops of this process when there is work, right before or after the commit that creates it. Polling is
 * only the safety net: for work that is due later, and for work that another process committed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface Signal {
  readonly notify: Effect.Effect<void>
  /** Calls at each notice, until the answer is called. */
  readonly listen: (heard: () => void) => () => void
  /** Takes the next notice, or one that nobody has taken, and returns after `ms` milliseconds at the latest. */
  readonly wait: (ms: number) => Effect.Effect<void>
}

const signal: Effect.Effect<Signal> = Effect.sync(() => {
  const listeners = new Set<() => void>()
  let isNoticed = false
  const listen = (heard: () => void): (() => void) => {
    listeners.add(heard)
    return () => listeners.delete(heard)
  }
  const noticed = Effect.async<void>((resume) => {
    if (isNoticed) return resume(Effect.void)
    return Effect.sync(listen(() => resume(Effect.void)))
  })
  return {
    notify: Effect.sync(() => {
      isNoticed = true
      for (const heard of [...listeners]) heard()
    }),
    listen,
    wait: (ms) =>
      Effect.map(Effect.raceFirst(noticed, Effect.sleep(ms)), () => {
        isNoticed = false
      })
  }
})

export class Signals extends Context.Tag("@sendwright/core/runtime/Signals")<
  Signals,
  {
    /** There is something to dispatch. */
    readonly sends: Signal
    readonly deliveries: Signal
    /** Outcomes were stored, for which receipts may have come before. */
    readonly outcomes: Signal
    /** An attempt was made, so that a platform that is polled may have news. */
    readonly attempts: Signal
  }
>() {
  static readonly layer: Layer.Layer<Signals> = Layer.effect(
    Signals,
    Effect.all({ sends: signal, deliveries: signal, outcomes: signal, attempts: signal })
  )
}
