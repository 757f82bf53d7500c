/** The store at a glance: what needs somebody, what waits, who works. */
import type { Priority } from "./Messages.ts"

export type AttentionKind =
  | "clock_differs"
  | "disk_full"
  | "erasure_stuck"
  | "failures_rising"
  | "hooks_unread"
  | "no_worker"
  | "poisoned"
  | "process_lost"
  | "queue_slow"
  | "quota_full"
  | "refusals_doubtful"
  | "restore_held"
  | "session_blocked"
  | "session_disconnected"
  | "session_unavailable"
  | "template_paused"
  | "unknown_outcomes"
  | "webhook_disabled"
  | "webhook_failing"

/** What needs somebody. */
export interface Attention {
  readonly kind: AttentionKind
  /** Null where nobody knows. */
  readonly since: Date | null
  readonly title: string
  /** What it costs, and whom, the likely cause, and the next step. */
  readonly text: string
  /** Of the recipients, deliveries or other things that it costs something. */
  readonly count: number
  /** The path of the REST API that shows what it is of: a session, a webhook, an account and so on. */
  readonly link: string
}

export interface SessionAtAGlance {
  readonly id: string
  readonly name: string
  readonly accountId: string
  readonly account: string
  readonly provider: string
  readonly state: "connected" | "connecting" | "disconnected"
  /** Why nothing may be sent over it; null where it may. */
  readonly reason: string | null
  readonly since: Date
  readonly waiting: number
  readonly oldestAt: Date | null
  readonly sentPerSecond: number
  readonly pacePerSecond: number | null
  readonly failedLastHour: number
  readonly emptyAt: Date | null
}

/** The size of the store, and when the disk is full at this pace. */
export interface StorageSize {
  readonly kind: "memory" | "sqlite" | "postgres"
  readonly bytes: number
  /** The mean of the last 30 days; null before it is known for a day. */
  readonly bytesPerDay: number | null
  /** Of the disk with the SQLite file; null elsewhere. */
  readonly freeBytes: number | null
  readonly fullAt: Date | null
  readonly oldest: { readonly events: Date | null; readonly results: Date | null }
}

export interface Overview {
  readonly at: Date
  readonly version: string | null
  /** Means of the last five minutes. */
  readonly rates: { readonly acceptedPerMinute: number; readonly outcomesPerMinute: number }
  readonly waiting: {
    readonly total: number
    /** False where more than 10,000 jobs wait: then these are of as many. */
    readonly totalIsExact: boolean
    readonly oldestAt: Date | null
    readonly by: ReadonlyArray<{
      readonly limiter:
        | "client"
        | "hours"
        | "pace"
        | "platform"
        | "restore"
        | "retry"
        | "schedule"
        | "session"
        | "template"
        | "worker"
      readonly recipients: number
      /** When that may end by itself; of `platform` when it is asked again. */
      readonly until: Date | null
    }>
    /** The same recipients by their priority. */
    readonly byPriority: Readonly<Record<Priority, number>>
  }
  /** The last hour. */
  readonly minutes: ReadonlyArray<{
    readonly at: Date
    readonly accepted: number
    /** Taken by their platform. */
    readonly done: number
    readonly failed: number
    readonly unknown: number
  }>
  /** The most urgent first; empty where all is well. */
  readonly attention: ReadonlyArray<Attention>
  /** At most 100, those in need first. */
  readonly sessions: ReadonlyArray<SessionAtAGlance>
  readonly processes: ReadonlyArray<{
    readonly id: string
    /** `embedded` of an app; `all`, `api` or `worker` of a host. */
    readonly role: string
    readonly version: string
    readonly since: Date
    readonly seenAt: Date
    readonly inFlight: number
    readonly slots: number
  }>
  readonly webhooks: {
    readonly healthy: number
    readonly failing: number
    readonly disabled: number
    readonly waiting: number
    readonly p95Ms: number | null
  }
  readonly storage: StorageSize
}

export interface HealthReport {
  readonly at: Date
  readonly version: string | null
  readonly verdict: "ok" | "degraded" | "failing"
  /** What is not flowing, succeeding or fresh, the most urgent first. */
  readonly lines: ReadonlyArray<{
    /** As that of what needs somebody; `not_ready` of the process itself. */
    readonly kind: AttentionKind | "not_ready"
    readonly verdict: "degraded" | "failing"
    readonly lacks: "flowing" | "succeeding" | "fresh"
    readonly since: Date | null
    readonly says: string
    readonly cause: string
    readonly next: string
    readonly count: number
    /** The path of the REST API that shows what it is of. */
    readonly link: string
  }>
}
