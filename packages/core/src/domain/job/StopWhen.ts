/**
 * A send of which too many fail stops by itself (contract.md §14 "Time"): it is paused as `failing` once so many percent of
 * its first outcomes failed for good, however and whenever that is told. Sends of one reference may be counted together, and stop
 * together. Who lets one go on is asked no more for it.
 */
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"
import type { Instant } from "../Instant.ts"
import * as Recipient from "./Recipient.ts"

const all = ["job", "reference"] as const

export interface StopWhen {
  readonly failedPercent: number
  readonly ofFirst: number
  /** `reference`: its outcomes are counted with those of the account's other such sends of its reference. */
  readonly over: (typeof all)[number]
}

export const mostOfFirst = 10_000

/** At most so many sends of a reference are looked at, the newest first. */
export const mostTogether = 1000

/** As a request has it, and as a job tells it. */
export const StopWhen = Schema.Struct({
  failed_percent: Schema.Int.pipe(Schema.between(1, 100)),
  of_first: Schema.Int.pipe(Schema.between(1, mostOfFirst)),
  over: Schema.optional(
    Schema.Literal(...all).annotations({
      description:
        "`reference`: the send is counted with the account's other sends of its `reference` that say so, of its newest 1,000, and all that have not ended are paused together. One that is accepted afterwards is paused before anything of it goes. Each is resumed by itself. Absent: `job`, its own outcomes alone."
    })
  )
}).annotations({
  identifier: "StopWhen",
  description:
    "Pauses the send (`pause_reason`: `failing`) once `failed_percent` of `of_first` failed for good among its first `of_first` outcomes, in whatever order its recipients go, by an answer or by a later report. As long as these have not come it is sent in parts that stop in time. It is asked no more once the send was resumed."
})

export const read = (asked: typeof StopWhen.Type | undefined): StopWhen | null =>
  asked === undefined
    ? null
    : { failedPercent: asked.failed_percent, ofFirst: asked.of_first, over: asked.over ?? "job" }

/** Of a request whose sends nothing holds together. */
export const faults = (request: {
  readonly reference?: string | undefined
  readonly stop_when?: typeof StopWhen.Type | undefined
}): ReadonlyArray<Fault.Fault> =>
  request.stop_when?.over !== "reference" || request.reference !== undefined
    ? []
    : [
        Fault.make(
          ["stop_when", "over"],
          "invalid_value",
          "The sends of a reference are counted together, and this one has none. Give it a reference, or leave over away."
        )
      ]

/** As a job tells it. */
export const told = ({ stopWhen }: Pick<Watched, "stopWhen">): typeof StopWhen.Type | null =>
  stopWhen === null
    ? null
    : { failed_percent: stopWhen.failedPercent, of_first: stopWhen.ofFirst, over: stopWhen.over }

/** The outcomes of a job's first recipients: of those that left dispatch first, in whatever order they went. */
export interface Firsts {
  /** How many of them failed for good. */
  readonly failed: number
  /** When the last of them came, until which all are among the first; null before. */
  readonly until: Instant | null
}

export const noFirsts: Firsts = { failed: 0, until: null }

/** The outcomes of other sends that are counted with a job's own. */
export interface Beside extends Firsts {
  /** How many of their recipients left dispatch. */
  readonly left: number
}

export const nothingBeside: Beside = { failed: 0, left: 0, until: null }

/** A job, as far as it is asked. */
export interface Watched {
  readonly counts: Recipient.Counts
  readonly recipients: number
  readonly stopWhen: StopWhen | null
  readonly firsts: Firsts | null
  /** Absent where its own outcomes count alone. */
  readonly beside?: Beside | undefined
}

const leftOf = ({ recipients }: Pick<Watched, "recipients">, counts: Recipient.Counts): number =>
  recipients - Recipient.countOf(counts, "open")

/** True of a job that other sends may be counted with. */
export const isShared = ({ firsts, stopWhen }: Pick<Watched, "firsts" | "stopWhen">): boolean =>
  firsts !== null && stopWhen?.over === "reference"

/** The counts that the other jobs bring to a job that is counted with them. */
export const besideOf = (others: Iterable<Watched>): Beside => {
  let { failed, left, until } = nothingBeside
  for (const { counts, firsts, recipients } of others) {
    failed += firsts?.failed ?? 0
    left += leftOf({ recipients }, counts)
    const since = firsts?.until ?? null
    if (since !== null && (until === null || since < until)) until = since
  }
  return { failed, left, until }
}

interface Outcome {
  readonly status: Recipient.Status
  readonly attemptedAt: Instant | null
  readonly updatedAt: Instant
}

/** The number of failures that stops it. */
const mostOf = ({ failedPercent, ofFirst }: StopWhen): number => Math.ceil((failedPercent * ofFirst) / 100)

/** True of an outcome of before the last of the first, or together with it. Until something is reported the outcome was its last change. */
const isFirst = ({ attemptedAt, status, updatedAt }: Outcome, until: Instant): boolean =>
  Recipient.leftDispatch(status) && (attemptedAt ?? updatedAt) <= until

/**
 * The first outcomes once these changed; null where nobody asks. What comes together is counted together. A later report changes the
 * outcome that it belongs to, whenever it comes.
 *
 * @param counts the job's after the changes
 */
export const firsts = (
  { beside = nothingBeside, firsts, recipients, stopWhen }: Watched,
  counts: Recipient.Counts,
  changes: Iterable<{ readonly before: Outcome; readonly after: Outcome }>,
  now: Instant
): Firsts | null => {
  if (stopWhen === null || firsts === null) return null
  const until = firsts.until ?? beside.until
  let { failed } = firsts
  for (const { after, before } of changes)
    if (until === null || isFirst(before, until))
      failed += Number(after.status === "failed") - Number(before.status === "failed")
  const isFull = leftOf({ recipients }, counts) + beside.left >= stopWhen.ofFirst
  return { failed, until: until ?? (isFull ? now : null) }
}

/** True when the job stops with its first outcomes, of which fewer had failed before. */
export const isReached = (before: Watched, after: Firsts | null): boolean =>
  before.stopWhen !== null &&
  before.firsts !== null &&
  after !== null &&
  after.failed > before.firsts.failed &&
  after.failed + (before.beside?.failed ?? 0) >= mostOf(before.stopWhen)

/** True of a job that the failures of its reference stop, its own or others'. */
export const isStopped = (job: Pick<Watched, "beside" | "firsts" | "stopWhen">): boolean =>
  isShared(job) &&
  job.stopWhen !== null &&
  (job.firsts?.failed ?? 0) + (job.beside?.failed ?? 0) >= mostOf(job.stopWhen)

/** True while its first outcomes have not all come: then no more are in flight than may fail. */
export const isAsked = ({
  beside = nothingBeside,
  firsts,
  stopWhen
}: Pick<Watched, "beside" | "firsts" | "stopWhen">): boolean =>
  stopWhen !== null && firsts !== null && (firsts.until ?? beside.until) === null

/** The number of its messages that may be claimed beside those in flight, so that it stops with no more failures than were asked for. */
export const room = (job: Pick<Watched, "beside" | "firsts" | "stopWhen">, inFlight: number): number =>
  job.stopWhen === null || !isAsked(job)
    ? Number.POSITIVE_INFINITY
    : Math.max(1, mostOf(job.stopWhen) - (job.firsts?.failed ?? 0) - (job.beside?.failed ?? 0)) - inFlight
