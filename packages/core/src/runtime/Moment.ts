/**
 * Points in time by the monotonic clock, in milliseconds. How long something took or may take is measured by these: a
 * clock that is set makes nobody oversleep, give up or wait.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export type Moment = number

export const unsafeNow = (clock: Clock.Clock): Moment => Number(clock.unsafeCurrentTimeNanos()) / 1e6

export const now: Effect.Effect<Moment> = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos) / 1e6)
