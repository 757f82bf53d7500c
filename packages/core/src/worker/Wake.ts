/**
 * Tells the loops of this process that there is something to do, right after the commit that made it so. Polling
 * is only the safety net: for what is due later, and for what another process committed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface Signal {
  readonly notify: Effect.Effect<void>
  /** Returns at the next notice, or at once when one came since the last wait. */
  readonly wait: Effect.Effect<void>
}

const signal: Effect.Effect<Signal> = Effect.map(Effect.makeLatch(), (latch) => ({
  notify: Effect.asVoid(latch.open),
  wait: Effect.zipRight(latch.await, Effect.asVoid(latch.close))
}))

export class Wake extends Context.Tag("@sendwright/core/worker/Wake")<
  Wake,
  {
    readonly sends: Signal
    readonly deliveries: Signal
    /** An attempt was made: a platform that is asked for news may have some. */
    readonly attempts: Signal
  }
>() {
  static readonly layer: Layer.Layer<Wake> = Layer.effect(
    Wake,
    Effect.all({ sends: signal, deliveries: signal, attempts: signal })
  )
}
