/** The plan of an account: what it may do, and how much of it (decisions.md §6). */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"

export type Feature = "templates" | "direct"
export const features: ReadonlyArray<Feature> = ["templates", "direct"]

export interface Plan {
  /** Per API key. */
  readonly requests_per_minute: number
  /** Between accepted sends of one API key; 0 = none. */
  readonly minimum_wait_ms: number
  /** Per account and UTC day; null = unlimited. */
  readonly daily_direct_messages: number | null
  /** Per account and UTC day; null = unlimited. */
  readonly daily_template_recipients: number | null
  readonly features: ReadonlyArray<Feature>
  readonly subscription: "active" | "inactive"
}

export const defaults: Plan = {
  requests_per_minute: 120,
  minimum_wait_ms: 1000,
  daily_direct_messages: 1000,
  daily_template_recipients: 100_000,
  features,
  subscription: "active"
}

/** The part of its plan that an account has used before a send. */
export interface Usage {
  /** Units of this kind accepted in the current UTC day. */
  readonly usedToday: number
  /** When this API key's last send was accepted. */
  readonly lastAcceptedAt: Instant | null
}

/** The demand of a send on the plan. */
export interface Demand {
  /** Recipients of a template send, or 1 for a direct message. */
  readonly units: number
  readonly dailyLimit: number | null
  readonly minimumWaitMs: number
}

export type Verdict =
  | { readonly _tag: "Allowed" }
  | {
      readonly _tag: "QuotaExhausted"
      readonly limit: number
      readonly used: number
      readonly resetsAt: Instant
    }
  | { readonly _tag: "TooSoon"; readonly retryAt: Instant }

const allowed: Verdict = { _tag: "Allowed" }

/**
 * How far the last acceptance may be after `now`. A send reads the clock before it waits for other sends of its key,
 * so that one accepted meanwhile is later. A longer difference means that a clock was set back.
 */
const longestAcceptMs = 10 * Time.second

const exhausted = (limit: number, { usedToday }: Usage, now: Instant): Verdict => ({
  _tag: "QuotaExhausted",
  limit,
  used: usedToday,
  resetsAt: Time.endOfUtcDay(now)
})

/** Quota first, then the minimum wait: the order of decisions.md §2. */
export const decide = (demand: Demand, usage: Usage, now: Instant): Verdict => {
  if (demand.dailyLimit !== null && usage.usedToday + demand.units > demand.dailyLimit)
    return exhausted(demand.dailyLimit, usage, now)
  const { lastAcceptedAt } = usage
  if (demand.minimumWaitMs === 0 || lastAcceptedAt === null) return allowed
  // Otherwise a clock that was set back would refuse the key until that time.
  if (lastAcceptedAt - now > longestAcceptMs) return allowed
  const retryAt = lastAcceptedAt + demand.minimumWaitMs
  return retryAt > now ? { _tag: "TooSoon", retryAt } : allowed
}

/**
 * Decides a send inside the embedder's transaction, whose limits are applied after the commit (decisions.md §10
 * "Embedding"). A send of more than a whole day's quota is refused, since it would wait for ever.
 */
export const decideEmbedded = (demand: Demand, usage: Usage, now: Instant): Verdict =>
  demand.dailyLimit !== null && demand.units > demand.dailyLimit
    ? exhausted(demand.dailyLimit, usage, now)
    : allowed

/**
 * The later of an API key's last acceptance and the last time when limits were applied to its sends after a commit.
 * That time is ignored if a clock ahead of ours wrote it, since it would hide later acceptances.
 */
export const lastOf = (
  accepted: Instant | null,
  limitsAppliedAt: Instant | null,
  now: Instant
): Instant | null => {
  if (limitsAppliedAt === null || Time.isAhead(limitsAppliedAt, now)) return accepted
  return accepted === null ? limitsAppliedAt : Math.max(accepted, limitsAppliedAt)
}

/** A limit that a job waits for, by the plan's field. */
export type Limiter = "daily_template_recipients" | "minimum_wait_ms"
export const limiters: ReadonlyArray<Limiter> = ["daily_template_recipients", "minimum_wait_ms"]

/** A job whose limits are not applied yet. */
export interface PendingLimits {
  /** The API key that sent it. */
  readonly publicKey: string
  readonly units: number
}

/** The limit that a job waits for, and when to try again. */
export interface LimitWait {
  readonly limiter: Limiter
  readonly until: Instant
}

/**
 * Applies an account's limits to its jobs in order, as if each was sent now; null for a job that may go. Jobs of one
 * API key wait one minimum wait apart, so that each is tried again when it may go.
 */
export const applyLimits = <J extends PendingLimits>(
  jobs: ReadonlyArray<J>,
  plan: Pick<Plan, "daily_template_recipients" | "minimum_wait_ms">,
  usage: { readonly usedToday: number; readonly lastAcceptedAt: ReadonlyMap<string, Instant> },
  now: Instant
): ReadonlyArray<readonly [job: J, wait: LimitWait | null]> => {
  let { usedToday } = usage
  const lastAcceptedAt = new Map(usage.lastAcceptedAt)
  const next = new Map<string, Instant>()
  const { daily_template_recipients: dailyLimit, minimum_wait_ms: minimumWaitMs } = plan

  const applyOne = ({ publicKey, units }: PendingLimits): LimitWait | null => {
    const used = { usedToday, lastAcceptedAt: lastAcceptedAt.get(publicKey) ?? null }
    const verdict = decide({ units, dailyLimit, minimumWaitMs }, used, now)
    if (verdict._tag === "QuotaExhausted")
      return { limiter: "daily_template_recipients", until: verdict.resetsAt }
    if (verdict._tag === "TooSoon") {
      const until = next.get(publicKey) ?? verdict.retryAt
      next.set(publicKey, until + minimumWaitMs)
      return { limiter: "minimum_wait_ms", until }
    }
    usedToday += units
    lastAcceptedAt.set(publicKey, now)
    return null
  }
  return jobs.map((job) => [job, applyOne(job)])
}
