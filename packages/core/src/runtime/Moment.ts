/**
 * Points in time by the monotonic clock, in milliseconds. Durations and timeouts are measured with them, so that
 * setting the system clock lengthens or shortens none.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export type Moment = number

export const unsafeNow = (clock: Clock.Clock): Moment => Number(clock.unsafeCurrentTimeNanos()) / 1e6

export const now: Effect.Effect<Moment> = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos) / 1e6)
