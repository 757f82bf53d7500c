/** What an account may do, and how much of it (decisions.md §6). */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"

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

/** What an account has used of its plan when a send asks to be accepted. */
export interface Usage {
  /** Units of this kind accepted in the current UTC day. */
  readonly usedToday: number
  /** When this API key's last send was accepted. */
  readonly lastAcceptedAt: Instant | null
}

/** What a send asks of the plan. */
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
 * A send takes its time before it waits for those of the same key, so that one which was accepted meanwhile is later than
 * it. By more than this nobody waits: then a clock was set back.
 */
const longestAcceptMs = 10 * Time.second

/** Quota first, then the minimum wait: the order of decisions.md §2. */
export const decide = (demand: Demand, usage: Usage, now: Instant): Verdict => {
  if (demand.dailyLimit !== null && usage.usedToday + demand.units > demand.dailyLimit) {
    return {
      _tag: "QuotaExhausted",
      limit: demand.dailyLimit,
      used: usage.usedToday,
      resetsAt: Time.endOfUtcDay(now)
    }
  }
  const { lastAcceptedAt } = usage
  if (demand.minimumWaitMs === 0 || lastAcceptedAt === null) return allowed
  // A clock that was set back must not lock a key out until it is there again.
  if (lastAcceptedAt - now > longestAcceptMs) return allowed
  const retryAt = lastAcceptedAt + demand.minimumWaitMs
  return retryAt > now ? { _tag: "TooSoon", retryAt } : allowed
}
