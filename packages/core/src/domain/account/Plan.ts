/** The plan of an account: what it may do, and how much of it (contract.md §6, its defaults §13). */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"

export type Feature = "templates" | "direct"
export const features: ReadonlyArray<Feature> = ["templates", "direct"]

export interface Plan {
  /** Per API key. */
  readonly requestsPerMinute: number
  /** Between accepted sends of one API key; 0 = none. */
  readonly minimumWaitMs: number
  /** Per account and UTC day; null = unlimited. */
  readonly dailyDirectMessages: number | null
  /** Per account and UTC day; null = unlimited. */
  readonly dailyTemplateRecipients: number | null
  readonly features: ReadonlyArray<Feature>
  readonly subscription: "active" | "inactive"
}

export const defaults: Plan = {
  requestsPerMinute: 600,
  minimumWaitMs: 0,
  dailyDirectMessages: 1000,
  dailyTemplateRecipients: 100_000,
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

/**
 * The demand of a send by an API key, or by the process that owns the engine, which no minimum wait refuses (contract.md §13
 * "Sending").
 */
export const demand = (
  { dailyDirectMessages, dailyTemplateRecipients, minimumWaitMs }: Plan,
  kind: "template" | "direct",
  { isOwner, units }: { readonly isOwner: boolean; readonly units: number }
): Demand => ({
  units,
  dailyLimit: kind === "template" ? dailyTemplateRecipients : dailyDirectMessages,
  minimumWaitMs: isOwner ? 0 : minimumWaitMs
})

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

/** Quota first, then the minimum wait: the order of contract.md §2. */
export const decide = (demand: Demand, usage: Usage, now: Instant): Verdict => {
  if (demand.dailyLimit !== null && usage.usedToday + demand.units > demand.dailyLimit)
    return exhausted(demand.dailyLimit, usage, now)
  const { lastAcceptedAt } = usage
  if (demand.minimumWaitMs === 0 || lastAcceptedAt === null) return allowed
  // Otherwise a clock that was set back would refuse the key until that time.
  if (lastAcceptedAt - now > longestAcceptMs) return allowed
  const retryAt = Time.after(lastAcceptedAt, demand.minimumWaitMs)
  return retryAt > now ? { _tag: "TooSoon", retryAt } : allowed
}

/**
 * Decides a send inside the embedder's transaction: it is counted and not refused, since its process is trusted, except for
 * more than a whole day's quota in one send (contract.md §11 "Embedding").
 */
export const decideEmbedded = (demand: Demand, usage: Usage, now: Instant): Verdict =>
  demand.dailyLimit !== null && demand.units > demand.dailyLimit
    ? exhausted(demand.dailyLimit, usage, now)
    : allowed
