/**
 * A send of which too many fail stops by itself (contract.md §14 "Time"): it is paused as `failing` once so many percent of
 * its first recipients failed for good, however and whenever that is told. Who lets it go on is asked no more.
 */
import * as Schema from "effect/Schema"
import * as Recipient from "./Recipient.ts"

export interface StopWhen {
  readonly failedPercent: number
  readonly ofFirst: number
}

export const mostOfFirst = 10_000

/** As a request has it, and as a job tells it. */
export const StopWhen = Schema.Struct({
  failed_percent: Schema.Int.pipe(Schema.between(1, 100)),
  of_first: Schema.Int.pipe(Schema.between(1, mostOfFirst))
}).annotations({
  identifier: "StopWhen",
  description:
    "Pauses the send (`pause_reason`: `failing`) once `failed_percent` of `of_first` failed for good among its first `of_first` recipients, by an answer or by a later report. As long as the first have no outcomes it is sent in parts that stop in time. It is asked no more once the send was resumed."
})

export const read = (asked: typeof StopWhen.Type | undefined): StopWhen | null =>
  asked === undefined ? null : { failedPercent: asked.failed_percent, ofFirst: asked.of_first }

/** As a job tells it. */
export const told = ({ stopWhen }: Pick<Watched, "stopWhen">): typeof StopWhen.Type | null =>
  stopWhen === null ? null : { failed_percent: stopWhen.failedPercent, of_first: stopWhen.ofFirst }

/** A job, as far as it is asked. */
export interface Watched {
  readonly counts: Recipient.Counts
  readonly recipients: number
  readonly stopWhen: StopWhen | null
  readonly firstFailed: number | null
}

interface Placed {
  readonly index: number
  readonly status: Recipient.Status
}

/** The number of failures that stops it. */
const mostOf = ({ failedPercent, ofFirst }: StopWhen): number => Math.ceil((failedPercent * ofFirst) / 100)

/** The number of its first recipients that failed once these changed; null where nobody asks. */
export const firstFailed = (
  { firstFailed, stopWhen }: Watched,
  changes: Iterable<{ readonly before: Placed; readonly after: Placed }>
): number | null => {
  if (stopWhen === null || firstFailed === null) return null
  let sum = firstFailed
  for (const { after, before } of changes)
    if (after.index < stopWhen.ofFirst)
      sum += Number(after.status === "failed") - Number(before.status === "failed")
  return sum
}

/** True when the job stops with so many failures, which it had fewer of before. */
export const isReached = ({ firstFailed, stopWhen }: Watched, failed: number | null): boolean =>
  stopWhen !== null &&
  failed !== null &&
  firstFailed !== null &&
  failed > firstFailed &&
  failed >= mostOf(stopWhen)

/** True while its first recipients have not all an outcome: then no more are in flight than may fail. */
export const isAsked = ({ counts, firstFailed, recipients, stopWhen }: Watched): boolean =>
  stopWhen !== null &&
  firstFailed !== null &&
  recipients - Recipient.countOf(counts, "open") < stopWhen.ofFirst

/** The number of its messages that may be claimed beside those in flight, so that it stops with no more failures than were asked for. */
export const room = (job: Watched, inFlight: number): number =>
  job.stopWhen === null || !isAsked(job)
    ? Number.POSITIVE_INFINITY
    : Math.max(1, mostOf(job.stopWhen) - (job.firstFailed ?? 0)) - inFlight
