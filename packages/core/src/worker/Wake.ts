/**
 * Tells the loops of this process that there is something to do, right after the commit that made it so. Polling
 * is only the safety net: for what is due later, and for what another process committed.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

export interface Signal {
  readonly notify: Effect.Effect<void>
  /** Returns at the next notice, or at once when one came since the last wait. */
  readonly wait: Effect.Effect<void>
}

/** One loop waits. */
const signal: Effect.Effect<Signal> = Effect.map(Effect.makeLatch(), (latch) => ({
  notify: Effect.asVoid(latch.open),
  wait: Effect.zipRight(latch.await, Effect.asVoid(latch.close))
}))

/** Many loops wait, and a notice wakes one of them: to wake all for one send is to look for it in vain with the rest. */
const signalToOne: Effect.Effect<Signal> = Effect.map(Queue.sliding<void>(1), (notices) => ({
  notify: Effect.asVoid(Queue.offer(notices, undefined)),
  wait: Queue.take(notices)
}))

export class Wake extends Context.Tag("@sendwright/core/worker/Wake")<
  Wake,
  {
    /** There is something to dispatch. A lane that finds more than it takes tells the next one. */
    readonly sends: Signal
    readonly deliveries: Signal
    /** An attempt was made: a platform that is asked for news may have some. */
    readonly attempts: Signal
  }
>() {
  static readonly layer: Layer.Layer<Wake> = Layer.effect(
    Wake,
    Effect.all({ sends: signalToOne, deliveries: signal, attempts: signal })
  )
}
