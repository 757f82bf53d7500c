/**
 * What changes jobs after their acceptance: outcomes, the rescue, reports of the platform, cancel, retry. Written once
 * for all stores: the decisions are `JobSteps`, the reads and writes {@link JobRows}.
 */
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Provider } from "../../domain/Session.ts"
import type { Step } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type { CancelResult, Claim, ClaimedJob, Report, RetryResult, Settlement } from "../JobStore.ts"
import { parkedMs } from "../JobStore.ts"
import type { Claims } from "./Claims.ts"
import type { Backend, EarlyReport, JobRows, RecipientPlace, Tx } from "./JobRows.ts"

/** Answers how many outcomes were still awaited. */
function* settle<B extends Backend>(
  rows: JobRows<B>,
  settlements: ReadonlyArray<Settlement>,
  now: Instant
): Tx<number, B> {
  if (settlements.length === 0) return 0
  const byJob = JobSteps.groupBy(settlements, ({ jobId }) => jobId)
  const awaited: Array<{ readonly job: B["job"]; readonly fresh: ReadonlyArray<Settlement> }> = []
  for (const job of yield* rows.lockJobs([...byJob.keys()])) {
    const fresh = (byJob.get(job.job.id) ?? []).filter(({ fence }) => fence === job.fence)
    if (job.inFlight > 0 && fresh.length > 0) awaited.push({ job, fresh })
  }
  const find = yield* rows.recipientsAt(
    awaited.map(({ fresh, job }) => ({ job, places: fresh.map(({ index }) => index) }))
  )
  const steps: Array<ReturnType<typeof JobSteps.settle<B["job"]>>> = []
  for (const { fresh, job } of awaited) {
    const others = fresh.some(JobSteps.stopsJob) ? yield* rows.recipientsOf(job, "open") : []
    const step = JobSteps.settle(job, (place) => find(job, place), fresh, now, others)
    if (step.moves.length > 0) steps.push(step)
  }
  yield* rows.saveJobs(steps, now)
  for (const { answer, held } of steps) if (answer !== undefined) yield* rows.saveAnswer(held, answer)
  return steps.reduce((sum, { settled }) => sum + settled, 0)
}

/** `JobStore.exchange`. People are locked before jobs, as by those who bring their word otherwise. */
export function* exchange<B extends Backend>(
  rows: JobRows<B>,
  claims: Claims<B>,
  {
    claim,
    now,
    settlements
  }: {
    readonly now: Instant
    readonly settlements: ReadonlyArray<Settlement>
    readonly claim: Claim | null
  }
): Tx<{ readonly settled: number; readonly claimed: ReadonlyArray<ClaimedJob> }, B> {
  const brought = JobSteps.inbound(settlements)
  for (const { accountId } of brought) yield* rows.lockPeople(accountId)
  const settled = yield* settle(rows, settlements, now)
  for (const inbound of brought) yield* rows.applyInbound(inbound, now)
  return { settled, claimed: claim === null ? [] : yield* claims.claim(claim, now) }
}

/** `JobStore.rescue`. */
export function* rescue<B extends Backend>(
  rows: JobRows<B>,
  {
    now,
    recoverable,
    worker
  }: { readonly worker: string; readonly now: Instant; readonly recoverable: ReadonlyArray<Provider> }
): Tx<number, B> {
  const steps: Array<ReturnType<typeof JobSteps.rescue<B["job"]>>> = []
  for (const { job, provider } of yield* rows.lockJobsOf(worker)) {
    const awaited = (yield* rows.recipientsOf(job, "awaited")).map(({ recipient }) => recipient)
    steps.push(JobSteps.rescue(job, awaited, provider !== null && recoverable.includes(provider), now))
  }
  yield* rows.saveJobs(steps, now)
  yield* rows.forgetWorker(worker)
  return steps.reduce((sum, { count }) => sum + count, 0)
}

interface Received {
  readonly applied: number
  readonly unmatched: ReadonlyArray<Report>
}

function* apply<B extends Backend>(
  rows: JobRows<B>,
  reports: ReadonlyArray<Report>,
  sessionId: string | null,
  now: Instant
): Tx<Received, B> {
  const foreign: Array<string> = []
  for (const { messageId, providerId } of reports)
    if (messageId === null && providerId !== null) foreign.push(providerId)
  const known: ReadonlyMap<string, RecipientPlace> =
    sessionId === null || foreign.length === 0 ? new Map() : yield* rows.findByProviderIds(sessionId, foreign)
  const placed: Array<RecipientPlace & { readonly report: Report }> = []
  for (const report of reports) {
    const { messageId, providerId } = report
    const place = messageId === null ? known.get(providerId ?? "") : Ids.parseMessageId(messageId)
    if (place !== undefined) placed.push({ jobId: place.jobId, index: place.index, report })
  }
  const byJob = JobSteps.groupBy(placed, ({ jobId }) => jobId)
  const locked = byJob.size === 0 ? [] : yield* rows.lockJobs([...byJob.keys()])
  const jobs = locked.filter(({ job }) => sessionId === null || job.sessionId === sessionId)
  const groupOf = (job: B["job"]) => byJob.get(job.job.id) ?? []
  const find = yield* rows.recipientsAt(
    jobs.map((job) => ({ job, places: groupOf(job).map(({ index }) => index) }))
  )
  const matched = new Set<Report>()
  const steps: Array<Step<B["job"]>> = []
  for (const job of jobs) {
    const group = groupOf(job)
    const step = JobSteps.receive(job, (place) => find(job, place), group, now)
    for (const { report } of group) matched.add(report)
    for (const report of step.unmatched) matched.delete(report)
    if (step.moves.length > 0) steps.push(step)
  }
  yield* rows.saveJobs(steps, now)
  return {
    applied: steps.reduce((sum, { moves }) => sum + moves.length, 0),
    unmatched: reports.filter((report) => !matched.has(report))
  }
}

/** `JobStore.receive`. */
export function* receive<B extends Backend>(
  rows: JobRows<B>,
  {
    now,
    reports,
    sessionId = null
  }: {
    readonly now: Instant
    readonly sessionId?: string | null
    readonly reports: ReadonlyArray<Report>
  }
): Tx<Received, B> {
  const received = yield* apply(rows, reports, sessionId, now)
  const early = received.unmatched.flatMap((report): ReadonlyArray<EarlyReport> => {
    const { messageId, providerId } = report
    return messageId === null && providerId !== null ? [{ providerId, report }] : []
  })
  if (sessionId !== null && early.length > 0) yield* rows.keepEarlyReports(sessionId, early, now)
  return received
}

/** `JobStore.unpark`. */
export function* unpark<B extends Backend>(rows: JobRows<B>, now: Instant): Tx<number, B> {
  yield* rows.forgetEarlyReports(now - parkedMs)
  let applied = 0
  const bySession = JobSteps.groupBy(yield* rows.takeEarlyReports(), ({ sessionId }) => sessionId)
  for (const [sessionId, taken] of bySession) {
    const reports = taken.map(({ report }) => report)
    applied += (yield* apply(rows, reports, sessionId, now)).applied
  }
  return applied
}

/** `JobStore.cancel`. */
export function* cancel<B extends Backend>(
  rows: JobRows<B>,
  { jobId, now }: { readonly jobId: string; readonly now: Instant }
): Tx<CancelResult | null, B> {
  const [job] = yield* rows.lockJobs([jobId])
  if (job === undefined) return null
  const { result, step } = JobSteps.cancel(job, yield* rows.recipientsOf(job, "open"), now)
  if (step !== null) yield* rows.saveJobs([step], now)
  return result
}

/** `JobStore.retry`. */
export function* retry<B extends Backend>(
  rows: JobRows<B>,
  command: Parameters<typeof JobSteps.retry>[2] & { readonly jobId: string }
): Tx<RetryResult | null, B> {
  const [job] = yield* rows.lockJobs([command.jobId])
  if (job === undefined) return null
  const { result, step } = JobSteps.retry(job, yield* rows.recipientsOf(job, "lost"), command)
  if (step !== null) yield* rows.saveJobs([step], command.now)
  return result
}
