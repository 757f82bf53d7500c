/** A clock that stands still until a test turns it. Nothing wakes by itself: a test drains instead of waiting. */
import type { Instant } from "@sendwright/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** What nobody ends. `Effect.never` has a timer of Node's, which would keep the process of the tests alive. */
export const forever: Effect.Effect<never> = Effect.async<never>(() => {})

export class TestClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  now: Instant.Instant

  constructor(now: Instant.Instant) {
    this.now = now
  }

  unsafeCurrentTimeMillis(): number {
    return this.now
  }
  unsafeCurrentTimeNanos(): bigint {
    return BigInt(Math.round(this.now)) * 1_000_000n
  }
  readonly currentTimeMillis: Effect.Effect<number> = Effect.sync(() => this.now)
  readonly currentTimeNanos: Effect.Effect<bigint> = Effect.sync(() => this.unsafeCurrentTimeNanos())
  sleep(): Effect.Effect<void> {
    return forever
  }
}
