/**
 * The verbs that change jobs after their acceptance: outcomes, the rescue, reports of the platform, cancel, retry.
 * Written once for all stores: the decisions are `JobSteps`, the reads and writes {@link JobRows}.
 */

import { groupBy } from "../../domain/GroupBy.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as RetryPlan from "../../domain/job/RetryPlan.ts"
import type { RetrySelection } from "../../domain/job/RetrySelection.ts"
import * as SentAgain from "../../domain/job/SentAgain.ts"
import * as StopWhen from "../../domain/job/StopWhen.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import * as Retry from "../../domain/Retry.ts"
import type * as Circuit from "../../domain/session/Circuit.ts"
import type { Provider } from "../../domain/session/Session.ts"
import * as Endings from "../Endings.ts"
import type { JobChange } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type {
  CancelResult,
  Claim,
  ClaimedJob,
  EarlyReportsApplied,
  HoldResult,
  JobStore,
  Met,
  Refused,
  Report,
  ReportedEnd,
  ReportsApplied,
  RetimeResult,
  RetryResult,
  Settlement
} from "../JobStore.ts"
import { earlyReportMs, maximumEarlyReports } from "../JobStore.ts"
import type { Program } from "../Program.ts"
import type { Claimed, Claims } from "./Claims.ts"
import type { EarlyReport, JobRows, RecipientPlace, StoredJob } from "./JobRows.ts"
import type { SessionRows } from "./SessionRows.ts"
import * as Sessions from "./Sessions.ts"
import * as Workers from "./Workers.ts"

/** What steps ended, of jobs as they were read. */
const endsOf = (
  jobs: ReadonlyArray<StoredJob>,
  steps: ReadonlyArray<JobChange<StoredJob>>
): Endings.Endings => {
  const before = new Map(jobs.map(({ job }) => [job.id, job]))
  return Endings.endingsOf(
    steps.map(({ changes, state: { job } }) => ({ before: before.get(job.id) ?? job, after: job, changes }))
  )
}

/**
 * Writes what outcomes made of jobs. Where these stop a reference, its other jobs are paused in the same commit; one of a session
 * that another commit has locked is paused by its next claim.
 */
function* saveOutcomes(rows: JobRows, steps: ReadonlyArray<JobChange<StoredJob>>, now: Instant) {
  yield* rows.saveJobs(steps, now)
  for (const { changes, state } of steps) {
    if (!StopWhen.isShared(state.job) || !changes.some(({ after }) => after.status === "failed")) continue
    // Jobs that are written together did not know of each other.
    if (!StopWhen.isStopped(yield* rows.withBeside(state.job))) continue
    const others = yield* rows.lockTogether(state.job)
    const stopped = others.flatMap((each) => JobSteps.withJob(each, Transitions.stopTogether(each.job, now)))
    yield* rows.saveJobs(stopped, now)
  }
}

/** Settles the outcomes that are still awaited, and answers how many, and those whose jobs are `busy`. */
function* settle(
  rows: JobRows,
  settlements: ReadonlyArray<Settlement>,
  now: Instant
): Program<{
  readonly settled: number
  readonly busy: ReadonlyArray<Settlement>
  readonly ends: Endings.Endings
}> {
  if (settlements.length === 0) return { settled: 0, busy: [], ends: Endings.nothing }
  const byJob = groupBy(settlements, ({ jobId }) => jobId)
  const { busy, jobs } = yield* rows.lockJobsInTime([...byJob.keys()])
  const settled = jobs.map((job) => ({ job, fresh: byJob.get(job.job.id) ?? [] }))
  const find = yield* rows.recipientsAt(
    settled.map(({ fresh, job }) => ({ job, places: fresh.map(({ index }) => index) }))
  )
  const steps: Array<ReturnType<typeof JobSteps.settle<StoredJob>>> = []
  for (const { fresh, job } of settled) {
    const others = fresh.some(JobSteps.stopsJob) ? yield* rows.recipientsOf(job, "open") : []
    const step = JobSteps.settle(job, (place) => find(job, place), fresh, now, others)
    if (step.changes.length > 0) steps.push(step)
  }
  yield* saveOutcomes(rows, steps, now)
  for (const { answer, state } of steps) if (answer !== undefined) yield* rows.saveAnswer(state, answer)
  return {
    settled: steps.reduce((sum, { settled }) => sum + settled, 0),
    busy: busy.flatMap((id) => byJob.get(id) ?? []),
    ends: endsOf(jobs, steps)
  }
}

/** The outcomes whose words on people may be applied now: those of accounts whose people nobody else is changing. */
function* withFreePeople(
  rows: JobRows,
  settlements: ReadonlyArray<Settlement>
): Program<readonly [free: ReadonlyArray<Settlement>, busy: ReadonlyArray<Settlement>]> {
  const accounts = new Set(JobSteps.inbound(settlements).map(({ accountId }) => accountId))
  const busy = new Set<string>()
  for (const accountId of accounts) if (!(yield* rows.lockPeopleInTime(accountId))) busy.add(accountId)
  if (busy.size === 0) return [settlements, []]
  const isBusy = ({ inbound }: Settlement) => inbound !== undefined && busy.has(inbound.accountId)
  return [settlements.filter((each) => !isBusy(each)), settlements.filter(isBusy)]
}

const nothing: Claimed = { claimed: [], unreadable: [] }

/**
 * `JobStore.settleAndClaim`. People are locked before jobs, as by those who bring their word otherwise, and sessions between
 * them, as by those who change these. Nobody waits here for what another keeps locked: its outcomes are answered as postponed.
 */
export function* settleAndClaim(
  rows: JobRows,
  sessions: SessionRows,
  claims: Claims,
  {
    claim,
    news = [],
    now,
    settlements
  }: {
    readonly now: Instant
    readonly settlements: ReadonlyArray<Settlement>
    readonly news?: ReadonlyArray<Circuit.News>
    readonly claim: Claim | null
  }
): Program<
  Claimed & {
    readonly settled: number
    readonly postponed: ReadonlyArray<Settlement>
    readonly ends: Endings.Endings
  } & Sessions.Heard
> {
  const [free, silenced] = yield* withFreePeople(rows, settlements)
  const heard =
    news.length === 0
      ? { turned: [], unheard: [] }
      : yield* Sessions.hear(
          sessions,
          news,
          settlements.map(({ jobId }) => jobId),
          now
        )
  const { busy, ends, settled } = yield* settle(rows, free, now)
  for (const inbound of JobSteps.inbound(free)) yield* rows.applyInbound(inbound, now)
  const claimed =
    claim === null ? nothing : yield* claims.claim(claim, now, settlements.length + news.length > 0)
  // The news of people in these outcomes is applied.
  const postponed = [...silenced, ...busy.map(({ inbound: _, ...outcome }) => outcome)]
  return { settled, postponed, ends, ...heard, ...claimed }
}

/** `JobStore.rescue`. */
export function* rescue(
  rows: JobRows,
  {
    beats,
    beside = [],
    now,
    recoverable,
    suspectWaits = Retry.suspectWaits,
    worker
  }: {
    readonly worker: string
    readonly beside?: ReadonlyArray<string>
    readonly beats?: ReadonlyMap<string, number>
    readonly now: Instant
    readonly recoverable: ReadonlyArray<Provider>
    readonly suspectWaits?: ReadonlyArray<number>
  }
): Program<number> {
  if (yield* rows.isQuarantined()) return 0
  // Before anything is read that they have.
  const workers = yield* Workers.forgetDead(rows, [worker, ...beside], beats, now)
  const steps: Array<ReturnType<typeof JobSteps.rescue<StoredJob>>> = []
  for (const { awaited, job, provider } of yield* rows.lockJobsOf(workers)) {
    const isRecoverable = provider !== null && recoverable.includes(provider)
    steps.push(JobSteps.rescue(job, awaited, now, { recoverable: isRecoverable, suspectWaits }))
  }
  yield* rows.saveJobs(steps, now)
  return steps.reduce((sum, { count }) => sum + count, 0)
}

/** `JobStore.giveBack`. */
export function* giveBack(
  rows: JobRows,
  { now, worker }: { readonly worker: string; readonly now: Instant }
): Program<number> {
  yield* rows.forgetWorker(worker, undefined)
  const held = yield* rows.lockJobsOf([worker])
  const steps = held.map(({ awaited, job }) => JobSteps.giveBack(job, awaited, now))
  yield* rows.saveJobs(steps, now)
  return steps.reduce((sum, { count }) => sum + count, 0)
}

/** A report, and the session whose platform brought it; null when it may be of any. */
interface Brought {
  readonly report: Report
  readonly sessionId: string | null
}

/** The places of the reports' messages, by our ids or by the platform's; undefined where no message is known. */
function* placesOf(
  rows: JobRows,
  brought: ReadonlyArray<Brought>
): Program<(brought: Brought) => RecipientPlace | undefined> {
  const known = new Map<string | null, ReadonlyMap<string, RecipientPlace>>()
  for (const [sessionId, group] of groupBy(brought, ({ sessionId }) => sessionId)) {
    const providerIds: Array<string> = []
    for (const { report } of group)
      if (report.messageId === null && report.providerId !== null) providerIds.push(report.providerId)
    if (providerIds.length > 0) known.set(sessionId, yield* rows.findByProviderIds(sessionId, providerIds))
  }
  return ({ report: { messageId, providerId }, sessionId }) =>
    messageId === null ? known.get(sessionId)?.get(providerId ?? "") : Ids.parseMessageId(messageId)
}

/** Applies reports of any sessions: their jobs are locked together, in the order in which all commits lock jobs. */
function* apply(rows: JobRows, brought: ReadonlyArray<Brought>, now: Instant): Program<ReportsApplied> {
  const placeOf = yield* placesOf(rows, brought)
  const placed: Array<RecipientPlace & Brought> = []
  for (const each of brought) {
    const { report, sessionId } = each
    const place = placeOf(each)
    if (place !== undefined) placed.push({ report, sessionId, jobId: place.jobId, index: place.index })
  }
  const byJob = groupBy(placed, ({ jobId }) => jobId)
  const jobs = byJob.size === 0 ? [] : yield* rows.lockJobs([...byJob.keys()])
  const ofJobs = jobs.map((job) => ({
    job,
    // A platform reports on its own session's messages alone.
    group: (byJob.get(job.job.id) ?? []).filter(
      ({ sessionId }) => sessionId === null || sessionId === job.job.sessionId
    )
  }))
  const find = yield* rows.recipientsAt(
    ofJobs.map(({ group, job }) => ({ job, places: group.map(({ index }) => index) }))
  )
  const matched = new Set<Report>()
  const met: Array<Met> = []
  const refused: Array<Refused> = []
  const ended: Array<ReportedEnd> = []
  const steps: Array<JobChange<StoredJob>> = []
  for (const { group, job } of ofJobs) {
    const step = JobSteps.receive(job, (place) => find(job, place), group, now)
    for (const { report } of group) matched.add(report)
    for (const report of step.unmatched) matched.delete(report)
    met.push(...step.met)
    refused.push(...step.refused)
    ended.push(...step.ended)
    if (step.changes.length > 0) steps.push(step)
  }
  yield* saveOutcomes(rows, steps, now)
  return {
    applied: steps.reduce((sum, { changes }) => sum + changes.length, 0),
    unmatched: brought.flatMap(({ report }) => (matched.has(report) ? [] : [report])),
    met,
    refused,
    ended,
    ends: endsOf(jobs, steps)
  }
}

/** `JobStore.receive`. */
export function* receive(
  rows: JobRows,
  {
    now,
    reports,
    sessionId = null
  }: {
    readonly now: Instant
    readonly sessionId?: string | null
    readonly reports: ReadonlyArray<Report>
  }
): Program<ReportsApplied> {
  const brought = reports.map((report) => ({ report, sessionId }))
  const received = yield* apply(rows, brought, now)
  const early = received.unmatched.flatMap((report): ReadonlyArray<EarlyReport> => {
    const { messageId, providerId } = report
    return messageId === null && providerId !== null ? [{ providerId, report }] : []
  })
  if (sessionId !== null && early.length > 0) yield* rows.saveEarlyReports(sessionId, early, now)
  return received
}

/** The answer of `JobStore.applyEarlyReports` while no report is kept. */
export const noEarlyReports = (): EarlyReportsApplied => {
  const none: ReadonlyArray<never> = []
  return { applied: 0, ends: Endings.nothing, met: none, refused: none, ended: none, forgotten: new Map() }
}

/** `JobStore.applyEarlyReports`. */
export function* applyEarlyReports(rows: JobRows, now: Instant): Program<EarlyReportsApplied> {
  const forgotten = yield* rows.forgetEarlyReports(Time.before(now, earlyReportMs), maximumEarlyReports)
  const { applied, ended, ends, met, refused } = yield* apply(rows, yield* rows.removeMatchedReports(), now)
  return { applied, ended, ends, met, refused, forgotten }
}

/** `JobStore.cancel`. */
export function* cancel(
  rows: JobRows,
  { jobId, now }: { readonly jobId: string; readonly now: Instant }
): Program<CancelResult | null> {
  const [job] = yield* rows.lockJobs([jobId])
  if (job === undefined) return null
  const { result, step } = JobSteps.cancel(job, yield* rows.recipientsOf(job, "open"), now)
  if (step !== null) yield* rows.saveJobs([step], now)
  return result
}

/** `JobStore.hold`. */
export function* hold(
  rows: JobRows,
  { isHeld, jobId, now }: Parameters<JobStore["Type"]["hold"]>[0]
): Program<HoldResult | null> {
  const [job] = yield* rows.lockJobs([jobId])
  if (job === undefined) return null
  const { result, steps } = JobSteps.hold(job, isHeld, now)
  if (steps.length > 0) yield* rows.saveJobs(steps, now)
  return result
}

/** `JobStore.claimMessage`. */
export function* claimMessage(
  rows: JobRows,
  { jobId, now, worker }: Parameters<JobStore["Type"]["claimMessage"]>[0]
): Program<ClaimedJob | null> {
  if (yield* rows.isQuarantined()) return null
  const [state] = yield* rows.lockJobs([jobId])
  if (state === undefined) return null
  const { content } = state.job
  if (content.kind !== "direct" || !Jobs.isReadable(content) || !Jobs.dispatchable(state.job.status))
    return null
  const [due] = (yield* rows.recipientsOf(state, "open")).filter(
    ({ fence, recipient }) => fence === null && Transitions.isDue(recipient, now)
  )
  if (due === undefined) return null
  const step = JobSteps.claim(state, content, [due.recipient], now, null)
  const [fence = 0] = yield* rows.saveClaims(worker, [{ step, deferred: [] }], [], now)
  return { ...step.claimed, fence }
}

/** `JobStore.retime`. */
export function* retime(
  rows: JobRows,
  { change, jobId, now }: Parameters<JobStore["Type"]["retime"]>[0]
): Program<RetimeResult | null> {
  const [job] = yield* rows.lockJobs([jobId])
  if (job === undefined) return null
  const { result, steps } = JobSteps.retime(job, yield* rows.recipientsOf(job, "open"), change, now)
  if (steps.length > 0) yield* rows.saveJobs(steps, now)
  return result
}

/** So many jobs are looked at in one commit for who expired. */
const expiringAtOnce = 20

/** `JobStore.expire`. */
export function* expire(rows: JobRows, now: Instant): Program<number> {
  if (yield* rows.isQuarantined()) return 0
  const ids = yield* rows.expiringJobs(now, expiringAtOnce)
  if (ids.length === 0) return 0
  const steps: Array<JobChange<StoredJob>> = []
  for (const job of (yield* rows.lockJobsInTime(ids)).jobs)
    steps.push(JobSteps.expire(job, yield* rows.recipientsOf(job, "open"), now))
  yield* rows.saveJobs(steps, now)
  return steps.length
}

/** `JobStore.abandon`. */
export function* abandon(
  rows: JobRows,
  { failure, jobId, now, openSince }: Parameters<JobStore["Type"]["abandon"]>[0]
): Program<void> {
  const [job] = yield* rows.lockJobs([jobId])
  if (job === undefined) return
  const open = yield* rows.recipientsOf(job, "open")
  const meant = open.filter(({ recipient }) => openSince === undefined || recipient.updatedAt <= openSince)
  const step = JobSteps.abandon(job, meant, failure, now)
  if (step !== null) yield* rows.saveJobs([step], now)
}

/** With those whom another retry sent again, where this one retries nothing of the job. */
export function* withAgain(
  rows: Pick<JobRows, "actsOn" | "recipientsOf">,
  job: StoredJob,
  sums: RetryPlan.Sums,
  { phones }: RetrySelection,
  plan?: Pick<RetryPlan.Plan, "begunAt" | "id">
): Program<RetryPlan.Sums> {
  if (RetryPlan.recipientsOf(sums) > 0) return sums
  const again = (yield* rows.recipientsOf(job, "again")).map(({ recipient }) => recipient)
  if (again.length === 0) return sums
  const { id } = job.job
  return SentAgain.withAgain(sums, id, again, { phones, acts: yield* rows.actsOn(id) }, plan)
}

/** `JobStore.retry`. */
export function* retry(
  rows: JobRows,
  command: Parameters<typeof JobSteps.retry>[2] & { readonly jobId: string }
): Program<RetryResult | null> {
  const [job] = yield* rows.lockJobs([command.jobId])
  if (job === undefined) return null
  const { result, step } = JobSteps.retry(job, yield* rows.recipientsOf(job, "lost"), command)
  if (step !== null) yield* rows.saveJobs([step], command.now)
  if (result._tag !== "Retried") return result
  return { ...result, sums: yield* withAgain(rows, job, result.sums, command.selection) }
}
