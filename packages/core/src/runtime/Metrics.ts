/**
 * The metrics of a process (contract.md §12): every name, what it tells and its labels. They are Effect's metrics, and so the
 * process's: what two engines in one process count is summed, and a gauge has what one of them measured last. No label has an
 * id of an account, a session or a person, and each has few values.
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import * as Record from "effect/Record"
import * as Recipient from "../domain/job/Recipient.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import * as MetricKey from "../effect/MetricKey.ts"

/** The beginning of each name. */
export const prefix = "sendwright_"

const counter = (name: string, description: string): MetricKey.Counter =>
  MetricKey.counter(prefix + name, { description, incremental: true })

const gauge = (name: string, description: string): MetricKey.Gauge =>
  MetricKey.gauge(prefix + name, { description })

/** @param bounds the upper ends of the buckets, in the metric's unit */
const histogram = (name: string, bounds: ReadonlyArray<number>, description: string): MetricKey.Histogram =>
  MetricKey.histogram(prefix + name, MetricBoundaries.fromIterable(bounds), description)

/** Every metric there is. */
export const keys = {
  accepted: counter("accepted_recipients_total", "Recipients of sends that this process has accepted."),
  outcomes: counter(
    "outcomes_total",
    "Recipients that came to an outcome, by their status and the failure's code; a failure that a receipt tells, too."
  ),
  attempts: counter("attempts_total", "Attempts to send a message that have ended, by what they brought."),
  attemptDuration: histogram(
    "attempt_duration_seconds",
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    "How long an attempt took, from its begin to the platform's answer."
  ),
  queueDelay: histogram(
    "queue_delay_seconds",
    [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 21_600],
    "How long a recipient that was due waited for its attempt, also for its session's pace."
  ),
  receiptDelay: histogram(
    "receipt_delay_seconds",
    [0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 21_600, 86_400],
    "How old a receipt was when it came, by its platform's time."
  ),
  waiting: gauge(
    "waiting_recipients",
    "Recipients of the whole store that wait, by what they wait for; at least so many where more than 10,000 jobs wait."
  ),
  oldestWaiting: gauge(
    "oldest_waiting_seconds",
    "For how long the oldest job of the whole store that waits has been accepted; 0 while none waits."
  ),
  deliveriesWaiting: gauge(
    "webhooks_waiting",
    "Webhooks to enabled endpoints that wait for an attempt; 10,000 where there are more."
  ),
  rescued: counter("rescued_recipients_total", "Recipients taken back from processes that died."),
  sessionUnavailable: gauge(
    "session_unavailable",
    "Sessions of the whole store that may not send now, of whatever cause."
  ),
  sessionMissed: gauge(
    "session_missed",
    "Those of them that nobody disconnected on purpose and that were connected before."
  ),
  deliveries: counter("webhook_deliveries_total", "Attempts to deliver a webhook, by what they brought."),
  deliveryDuration: histogram(
    "webhook_delivery_duration_seconds",
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    "How long a receiver of webhooks took to answer."
  ),
  refusals: counter(
    "refusals_total",
    "Requests that were refused, by the problem's code; connections that were cut, by the limit's setting."
  ),
  requestDuration: histogram(
    "http_request_duration_seconds",
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    "How long a request took to answer, by route and status."
  ),
  eventLoopDelay: histogram(
    "event_loop_delay_seconds",
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    "How late the event loop of this process was, four times a second."
  ),
  clockDifference: gauge("clock_difference_seconds", "The store's time less this process's."),
  storeBytes: gauge(
    "store_bytes",
    "The size of the store: of its file, or of its tables with their indexes."
  ),
  storeFreeBytes: gauge("store_free_bytes", "What is free of the disk that has the store's file."),
  storeGrowth: gauge(
    "store_growth_bytes",
    "How many bytes the store grows a day, as the mean of the last 30."
  ),
  build: gauge("build_info", "1; its labels tell the build of this process and its role.")
} as const

export type Key = (typeof keys)[keyof typeof keys]

/** Adds to a counter, sets a gauge, or observes a value. */
export type Write = (value: number) => void

type Labels = Readonly<Record<string, string>>

const labelsOf = (labels: Labels): ReadonlyArray<MetricLabel.MetricLabel> =>
  Object.entries(labels).map(([name, value]) => MetricLabel.make(name, value))

/** A metric under labels. It is made once and kept: to find it among all costs more than most that is counted. */
const counts = (key: MetricKey.Counter, labels: Labels = {}): Write => {
  const metric = Metric.fromMetricKey(MetricKey.taggedWithLabels(key, labelsOf(labels)))
  // From the start on, so that its first increase is seen as one.
  metric.unsafeUpdate(0, none)
  return (by) => metric.unsafeUpdate(by, none)
}

const sets = (key: MetricKey.Gauge, labels: Labels = {}): Write => {
  const metric = Metric.fromMetricKey(MetricKey.taggedWithLabels(key, labelsOf(labels)))
  return (value) => metric.unsafeUpdate(value, none)
}

const observes = (key: MetricKey.Histogram, labels: Labels = {}): Write => {
  const metric = Metric.fromMetricKey(MetricKey.taggedWithLabels(key, labelsOf(labels)))
  // The metric is listed from the start on, with nothing observed.
  metric.unsafeValue(none)
  return (value) => metric.unsafeUpdate(value, none)
}

const none: ReadonlyArray<MetricLabel.MetricLabel> = []

/** The same metric under labels that are known only when something is counted; each is kept. */
const kept = <Values extends ReadonlyArray<string>>(make: (...values: Values) => Write) => {
  const made = new Map<string, Write>()
  return (...values: Values): Write => {
    const name = values.join(" ")
    const known = made.get(name)
    if (known !== undefined) return known
    const write = make(...values)
    made.set(name, write)
    return write
  }
}

const seconds = (ms: number): number => Math.max(0, ms) / 1000

const attemptOutcomes = ["accepted", "failed", "retried", "unknown", "skipped", "released"] as const
/** `released`: it was not made, or given up at a stop, and is made again at no cost. */
export type AttemptOutcome = (typeof attemptOutcomes)[number]

/** @param ms how long it took; null where the platform was not asked */
export type AttemptEnded = (outcome: AttemptOutcome, ms: number | null) => void

export const ofAttempts = (): { readonly ended: AttemptEnded; readonly queued: (ms: number) => void } => {
  const by = Record.fromEntries(
    attemptOutcomes.map((outcome) => [outcome, counts(keys.attempts, { outcome })])
  )
  const took = observes(keys.attemptDuration)
  const waited = observes(keys.queueDelay)
  return {
    ended: (outcome, ms) => {
      by[outcome]?.(1)
      if (ms !== null) took(seconds(ms))
    },
    queued: (ms) => waited(seconds(ms))
  }
}

const knownCodes: ReadonlyArray<string> = [
  ...FailureCatalogue.entries.map(({ code }) => code),
  ...Object.keys(FailureCatalogue.own)
]

/** A sender of somebody's own may give any code. */
export const codeOf = (code: string | null): string =>
  code === null ? "none" : knownCodes.includes(code) ? code : "other"

export const ofOutcomes = (): ((status: string, code: string | null, count: number) => void) => {
  const by = kept((status, code) => counts(keys.outcomes, { status, code }))
  // From the start on, so that a process's first burst is seen.
  for (const status of Recipient.statuses) by(status, "none")
  for (const code of [...knownCodes, "other"]) by("failed", code)
  for (const code of ["outcome_unknown", "outcome_unstorable", "poisoned", "restored"]) by("unknown", code)
  by("skipped", "consent_required")
  return (status, code, count) => by(status, codeOf(code))(count)
}

const deliveryOutcomes = ["delivered", "failed", "given_up"] as const
/** `failed`: it is tried again. */
export type DeliveryOutcome = (typeof deliveryOutcomes)[number]

export const ofDeliveries = (): ((outcome: DeliveryOutcome, ms: number) => void) => {
  const by = Record.fromEntries(
    deliveryOutcomes.map((outcome) => [outcome, counts(keys.deliveries, { outcome })])
  )
  const took = observes(keys.deliveryDuration)
  return (outcome, ms) => {
    by[outcome]?.(1)
    took(seconds(ms))
  }
}

export const ofAcceptance = (): Write => counts(keys.accepted)

/** Takes the age of a receipt in milliseconds. */
export const ofReceipts = (): Write => {
  const aged = observes(keys.receiptDelay)
  return (ms) => aged(seconds(ms))
}

export const ofBacklog = () => {
  const oldest = sets(keys.oldestWaiting)
  const webhooks = sets(keys.deliveriesWaiting)
  const by = kept((limiter) => sets(keys.waiting, { limiter }))
  return (recipients: ReadonlyMap<string, number>, oldestMs: number, webhooksWaiting: number): void => {
    for (const [limiter, count] of recipients) by(limiter)(count)
    oldest(seconds(oldestMs))
    webhooks(webhooksWaiting)
  }
}

export const ofRescue = (): Write => counts(keys.rescued)

export const ofSessions = () => {
  const unavailable = sets(keys.sessionUnavailable)
  const missed = sets(keys.sessionMissed)
  return (counts: { readonly unavailable: number; readonly missed: number }): void => {
    unavailable(counts.unavailable)
    missed(counts.missed)
  }
}

/** Takes milliseconds. */
export const ofClock = (): Write => {
  const difference = sets(keys.clockDifference)
  return (ms) => difference(ms / 1000)
}

export const ofStore = (): {
  readonly bytes: Write
  readonly freeBytes: Write
  readonly growth: Write
} => ({
  bytes: sets(keys.storeBytes),
  freeBytes: sets(keys.storeFreeBytes),
  growth: sets(keys.storeGrowth)
})

/** Takes milliseconds. */
export const ofEventLoop = (): Write => {
  const late = observes(keys.eventLoopDelay)
  return (ms) => late(seconds(ms))
}

export const ofBuild = (labels: { readonly version: string; readonly node: string; readonly role: string }) =>
  sets(keys.build, labels)(1)

/**
 * Counts the answers to requests: each by its route and status, and each refusal by its code.
 *
 * @param codes those that are listed from the start on
 */
export const ofRequests = (codes: Iterable<string> = []) => {
  const took = kept((route, status) => observes(keys.requestDuration, { route, status }))
  const refused = kept((code) => counts(keys.refusals, { code }))
  for (const code of codes) refused(code)
  return {
    answered: (route: string, status: number, ms: number): void => took(route, String(status))(seconds(ms)),
    refused: (code: string): void => refused(code)(1)
  }
}
