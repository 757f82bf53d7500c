/**
 * A send's own pace, below its session's (contract.md §14 "Time"). Its state is kept with the job, so that all processes share
 * it, and a job whose pace is used up is not due: others of its session pass it.
 */
import * as Schema from "effect/Schema"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Pacing from "../session/Pacing.ts"
import type { Job } from "./Job.ts"

export const fastest = 100_000

/** As a request has it, and as a job tells it. */
export const Pace = Schema.Struct({
  per_minute: Schema.Int.pipe(Schema.between(1, fastest))
}).annotations({
  identifier: "Pace",
  description: "So many of its messages go in a minute at most, however fast its session is."
})

export const perMinuteOf = (asked: typeof Pace.Type | undefined): number | null => asked?.per_minute ?? null

/** As a job tells it. */
export const told = ({ perMinute }: Pick<Job, "perMinute">): typeof Pace.Type | null =>
  perMinute === null ? null : { per_minute: perMinute }

type Paced = Pick<Job, "arrival" | "perMinute">

const perSecond = (perMinute: number): number => perMinute / 60

/** The number of its messages that may be claimed now. */
export const room = ({ arrival, perMinute }: Paced, now: Instant): number =>
  perMinute === null
    ? Number.POSITIVE_INFINITY
    : Pacing.grant(arrival, perSecond(perMinute), Number.MAX_SAFE_INTEGER, now).granted

/** The state of its pace once so many more were claimed, in whole milliseconds: no faster than asked. */
export const taken = ({ arrival, perMinute }: Paced, claimed: number, now: Instant): number | null => {
  if (perMinute === null) return null
  let next = arrival
  for (let count = 0; count < claimed; count += 1) next = Pacing.count(next, perSecond(perMinute), now)
  return next === null ? null : Math.ceil(next)
}

/** The time at which a job with something due may be claimed by its pace. */
export const dueAt = ({ arrival, perMinute }: Paced, due: Instant | null, now: Instant): Instant | null =>
  due === null || perMinute === null ? due : Time.max(due, Pacing.nextAt(arrival, perSecond(perMinute), now))

/** The pace of a job in messages per second, by its session's and its own; null where neither has one. */
export const slower = (messagesPerSecond: number | null, perMinute: number | null): number | null => {
  if (perMinute === null) return messagesPerSecond
  return messagesPerSecond === null ? perSecond(perMinute) : Math.min(messagesPerSecond, perSecond(perMinute))
}
