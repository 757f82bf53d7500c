/**
 * The retry of many jobs in one act: a plan, which workers carry out job by job. What becomes of each recipient is decided as in
 * the retry of one job (`RetrySelection`). A plan takes those alone that stood so when it began, so nobody is retried by it twice.
 */

import * as Money from "../billing/Money.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Page } from "../Page.ts"
import * as FailureCatalogue from "../session/FailureCatalogue.ts"
import type { Standing } from "../session/Session.ts"
import * as Job from "./Job.ts"
import type { FailureCount } from "./Recipient.ts"
import * as Recipient from "./Recipient.ts"
import type { RetryCounts, RetrySelection, Verdict } from "./RetrySelection.ts"
import * as Selection from "./RetrySelection.ts"
import type { Limiter } from "./Waiting.ts"
import * as Waiting from "./Waiting.ts"

/** The jobs that a plan is about, as a list of jobs has them. Times are inclusive at their begin, and exclusive at their end. */
export interface Filter {
  /** One job, and then nothing else is asked of it. */
  readonly jobId?: string | undefined
  readonly accountId?: string | undefined
  readonly sessionId?: string | undefined
  readonly publicKey?: string | undefined
  readonly templateId?: number | undefined
  readonly reference?: string | undefined
  readonly status?: Job.Status | undefined
  readonly createdAfter?: Instant | undefined
  readonly createdBefore?: Instant | undefined
  readonly completedAfter?: Instant | undefined
  readonly completedBefore?: Instant | undefined
}

/** The recipients of these jobs that are retried. */
export type Recipients = Pick<RetrySelection, "codes" | "statuses">

export interface Wanted {
  readonly filter: Filter
  readonly selection: Recipients
}

export const statuses = ["running", "completed", "canceled"] as const
export type Status = (typeof statuses)[number]

/** Why nothing of a job is retried: as the retry of one job is refused. */
export const reasons = ["job_ended", "content_expired"] as const
export type Reason = (typeof reasons)[number]

/** Jobs that are alike, with how many of their recipients this is about, and one of them. */
export interface Some {
  readonly jobs: number
  readonly recipients: number
  readonly jobId: string
}

export interface Refusal extends Some {
  readonly reason: Reason
}

/** The limiters that keep recipients waiting which were retried. */
export const limiters = [
  "client",
  "platform",
  "session",
  "template"
] as const satisfies ReadonlyArray<Limiter>

/** Recipients that were retried and wait, since their session or template may not send. */
export interface Wait extends Some {
  readonly limiter: (typeof limiters)[number]
}

/** Recipients that were sent again before, and have not failed since: of somebody else's retry, or of an earlier one. */
export interface Again extends Some {
  /** When that was, of the one job. */
  readonly at: Instant
  /** Null where no act is recorded. */
  readonly operator: string | null
  /** The retry of many jobs by which it was; null of one by hand. */
  readonly retryId: string | null
}

/** The estimate of a currency: by the prices of the acceptance, if all of them are delivered. */
export interface Cost {
  readonly currency: string
  /** Null when nothing could be priced. */
  readonly total: string | null
  /** False when something could not be priced. */
  readonly isComplete: boolean
}

/** Recipients that are retried, or would be, and those that are left. */
export interface Sums {
  /** Jobs of which something is retried. */
  readonly jobs: number
  readonly counts: RetryCounts
  readonly codes: ReadonlyArray<FailureCount>
  /** Recipients that are left since nobody named them: of unknown outcome, and permanently failed. */
  readonly unknown: ReadonlyArray<FailureCount>
  readonly permanent: ReadonlyArray<FailureCount>
  /** Recipients that changed after the plan began. */
  readonly changed: number
  readonly refused: ReadonlyArray<Refusal>
  /** Told of jobs alone of which this retries nothing. */
  readonly again: ReadonlyArray<Again>
  /** Codes that it asks for, which nobody failed with and the catalogue does not have. */
  readonly foreign?: ReadonlyArray<string>
  readonly waiting: ReadonlyArray<Wait>
  readonly costs: ReadonlyArray<Cost>
}

export const none: Sums = {
  jobs: 0,
  counts: Selection.noCounts,
  codes: [],
  unknown: [],
  permanent: [],
  changed: 0,
  refused: [],
  again: [],
  waiting: [],
  costs: []
}

export const recipientsOf = ({ counts }: Pick<Sums, "counts">): number => counts.failed + counts.unknown

const sumOf = (counts: ReadonlyArray<FailureCount>): number =>
  counts.reduce((sum, { recipients }) => sum + recipients, 0)

const refusedAs: Readonly<Record<Reason, string>> = {
  job_ended: "of jobs that were canceled, which is final",
  content_expired: "of jobs whose content is kept no longer"
}

const againText = ({ at, operator, recipients, retryId }: Again): string => {
  const which = retryId === null ? "" : ` in the retry ${retryId}`
  const who = operator === null ? "" : ` by ${operator}${which}`
  return `${recipients} ${recipients === 1 ? "was" : "were"} sent again${who} at ${Time.format(at)}, and did not fail since.`
}

const foreignText = (code: string): string => {
  const own = FailureCatalogue.explain(code)?.code
  return own === undefined
    ? `${code} is no code of the catalogue.`
    : `${code} is the gateway's own code; its failures have the code \`${own}\`.`
}

/** With the codes that were asked for and match nobody, since they are none of the catalogue: a gateway's own, or mistyped. */
export const withForeign = (sums: Sums, { codes = [] }: Pick<Recipients, "codes">): Sums => {
  const known = new Set([...sums.codes, ...sums.unknown, ...sums.permanent].map(({ code }) => code))
  // Of those that changed or are refused no code is counted.
  const isUncounted = sums.changed > 0 || sums.refused.length > 0
  const foreign = codes.filter((code) => !known.has(code) && FailureCatalogue.explain(code)?.code !== code)
  return isUncounted || foreign.length === 0 ? sums : { ...sums, foreign }
}

/** The reasons for which some are not retried. */
const reasonsOf = (sums: Sums): ReadonlyArray<string> => {
  const parts: ReadonlyArray<readonly [number, string]> = [
    [sumOf(sums.permanent), "permanent: they go again only where `codes` names their code"],
    [
      sumOf(sums.unknown),
      "of unknown outcome: they go again only where `statuses` names `unknown`, and may get it twice"
    ],
    [sums.changed, "changed since it began: somebody sent them again, or a report came"],
    ...sums.refused.map(({ reason, recipients }) => [recipients, refusedAs[reason]] as const)
  ]
  const left = parts.flatMap(([count, what]) =>
    count === 0 ? [] : [`${count} ${count === 1 ? "is" : "are"} ${what}.`]
  )
  return [...left, ...sums.again.map(againText), ...(sums.foreign ?? []).map(foreignText)]
}

/** Why nobody is retried; null where somebody is. */
export const whyNobody = (sums: Sums): string | null => {
  if (recipientsOf(sums) > 0) return null
  const told = reasonsOf(sums)
  return told.length === 0 ? "Nobody that it asks for has failed." : told.join(" ")
}

export interface Plan extends Wanted {
  readonly id: string
  /** The operator who asked for it; null of an embedder that names nobody. */
  readonly operator: string | null
  readonly status: Status
  readonly begunAt: Instant
  readonly updatedAt: Instant
  /** The time at which it was completed or canceled. */
  readonly endedAt: Instant | null
  /** The counts of what it would do when it began. */
  readonly expected: Expected
  readonly sums: Sums
  /** The place of the last job that it has dealt with: it goes on behind it. Null before the first, and not told. */
  readonly place: number | null
}

/** Why a plan retried nobody; null of one that goes on, and where it retried somebody. */
export const whyNobodyOf = ({
  selection,
  status,
  sums
}: Pick<Plan, "selection" | "status" | "sums">): string | null => {
  if (status === "running") return null
  const isUntold = status === "canceled" && reasonsOf(sums).length === 0
  return isUntold && recipientsOf(sums) === 0
    ? "It was canceled before it came to anybody."
    : whyNobody(withForeign(sums, selection))
}

/** The counts of what a plan would do, by the jobs that were looked at. */
export interface Expected {
  readonly jobs: number
  readonly recipients: number
  /** False where there are more jobs than were counted. */
  readonly isExact: boolean
}

/** Counted by reading them before a plan begins: more jobs with failures than these are told to be more. */
export const mostCounted = 4000

/** The codes that are told each; what platforms of other senders invent beyond them is summed. */
const mostCodes = 50
export const otherCode = "other"

const codesOf = (...some: ReadonlyArray<FailureCount>): ReadonlyArray<FailureCount> => {
  const sums = Recipient.failuresByCode(some)
  if (sums.length <= mostCodes) return sums
  const rest = sums.slice(mostCodes).map((each) => ({ ...each, code: otherCode }))
  return Recipient.failuresByCode([...sums.slice(0, mostCodes), ...rest])
}

const someOf = <A extends Some>(all: ReadonlyArray<A>, name: (each: A) => string): ReadonlyArray<A> => {
  const sums = new Map<string, A>()
  for (const each of all) {
    const known = sums.get(name(each))
    const sum =
      known === undefined
        ? each
        : { ...known, jobs: known.jobs + each.jobs, recipients: known.recipients + each.recipients }
    sums.set(name(each), sum)
  }
  return [...sums.values()]
}

/** Each operator who sent again is told, up to so many. */
const mostAgain = 10

export const againOf = (all: ReadonlyArray<Again>): ReadonlyArray<Again> => {
  const found = someOf(all, ({ operator, retryId }) => `${retryId} ${operator}`)
  const rest = found.slice(mostAgain).map((each) => ({ ...each, operator: null, retryId: null }))
  return [...found.slice(0, mostAgain), ...someOf(rest, () => "rest")]
}

const costsOf = (costs: ReadonlyArray<Cost>): ReadonlyArray<Cost> => {
  const sums = new Map<string, Cost>()
  for (const each of costs) {
    const known = sums.get(each.currency)
    const totals = [known?.total, each.total].flatMap((total) => total ?? [])
    sums.set(each.currency, {
      currency: each.currency,
      total: totals.length === 0 ? null : Money.total(totals),
      isComplete: each.isComplete && known?.isComplete !== false
    })
  }
  return [...sums.values()]
}

export const add = (before: Sums, more: Sums): Sums => ({
  jobs: before.jobs + more.jobs,
  counts: {
    failed: before.counts.failed + more.counts.failed,
    unknown: before.counts.unknown + more.counts.unknown
  },
  codes: codesOf(...before.codes, ...more.codes),
  unknown: codesOf(...before.unknown, ...more.unknown),
  permanent: codesOf(...before.permanent, ...more.permanent),
  changed: before.changed + more.changed,
  refused: someOf([...before.refused, ...more.refused], ({ reason }) => reason),
  again: againOf([...before.again, ...more.again]),
  waiting: someOf([...before.waiting, ...more.waiting], ({ limiter }) => limiter),
  costs: costsOf([...before.costs, ...more.costs])
})

/** Why the retry of a job is refused; null where it is not. */
export const refusalOf = (job: Pick<Job.Job, "contentExpiredAt" | "status">): Reason | null => {
  const obstacle = Job.retryObstacle(job)
  return obstacle === "canceled" ? "job_ended" : obstacle
}

const counted = (recipients: ReadonlyArray<Job.RecipientResult>): ReadonlyArray<FailureCount> =>
  codesOf(
    ...recipients.map(({ failure, status }) => ({ code: failure?.code ?? otherCode, status, recipients: 1 }))
  )

/** The fate of a job's recipients. */
export const sumsOf = (
  job: Pick<Job.Job, "contentExpiredAt" | "currency" | "id" | "status">,
  judged: ReadonlyArray<{ readonly recipient: Job.RecipientResult; readonly verdict: Verdict }>
): Sums => {
  const those = (wanted: Verdict) =>
    judged.flatMap(({ recipient, verdict }) => (verdict === wanted ? [recipient] : []))
  const [chosen, unknown, permanent, changed] = [
    those("chosen"),
    those("unknown"),
    those("permanent"),
    those("changed")
  ]
  const left: Sums = {
    ...none,
    unknown: counted(unknown),
    permanent: counted(permanent),
    changed: changed.length
  }
  if (chosen.length === 0) return left
  const reason = refusalOf(job)
  if (reason !== null)
    return { ...left, refused: [{ reason, jobs: 1, recipients: chosen.length, jobId: job.id }] }
  const prices = chosen.flatMap(({ price }) => price ?? [])
  const failed = chosen.filter(({ status }) => status === "failed").length
  return {
    ...left,
    jobs: 1,
    counts: { failed, unknown: chosen.length - failed },
    codes: counted(chosen),
    costs: [
      {
        currency: job.currency,
        total: prices.length === 0 ? null : Money.total(prices),
        isComplete: prices.length === chosen.length
      }
    ]
  }
}

/** The part of a job that waits once it is retried, by its session and the status of its template as they are. */
export const waitsOf = (
  job: Job.Job,
  sums: Sums,
  { session, template }: { readonly session: Standing | null; readonly template: string | null }
): Sums => {
  const recipients = recipientsOf(sums)
  if (recipients === 0) return sums
  const hindered = session === null ? "session" : Waiting.hindrance(job, session)
  // As a claim has it, which asks nothing of a template that is not there.
  const limiter = hindered ?? (template === null || template === "approved" ? null : "template")
  return limiter === null ? sums : { ...sums, waiting: [{ limiter, jobs: 1, recipients, jobId: job.id }] }
}

/** The jobs that a plan of a time looks at: those with failures, that there were then. */
export const listed = ({ filter }: Wanted, begunAt: Instant, page: Page) => {
  const { accountId, jobId: _, publicKey, sessionId, ...rest } = filter
  return {
    ...rest,
    by: { accountId, publicKey, sessionId },
    kind: "template",
    has: "failures",
    createdBefore: Time.min(filter.createdBefore ?? Time.latest, Time.after(begunAt, 1)),
    page,
    reads: 1
  } as const
}

/** The same with another text as its reference; the same object where that is the same. */
export const withReference = (wanted: Wanted, text: (reference: string) => string): Wanted => {
  const { reference } = wanted.filter
  if (reference === undefined || text(reference) === reference) return wanted
  return { ...wanted, filter: { ...wanted.filter, reference: text(reference) } }
}

/** A plan as it begins. */
export const begin = (
  wanted: Wanted,
  { expected, id, now, operator }: Pick<Plan, "expected" | "id" | "operator"> & { readonly now: Instant }
): Plan => ({
  ...wanted,
  id,
  operator,
  status: "running",
  begunAt: now,
  updatedAt: now,
  endedAt: null,
  expected,
  sums: none,
  place: null
})

/** The plan behind a job; behind the last it is done. */
export const stepped = (plan: Plan, sums: Sums, place: number | null, now: Instant): Plan => ({
  ...plan,
  sums: add(plan.sums, sums),
  place: place ?? plan.place,
  updatedAt: now,
  ...(place === null ? ({ status: "completed", endedAt: now } as const) : {})
})

/** The plan that goes on no further; the same one where it has ended. */
export const canceled = (plan: Plan, now: Instant): Plan =>
  plan.status === "running" ? { ...plan, status: "canceled", updatedAt: now, endedAt: now } : plan
