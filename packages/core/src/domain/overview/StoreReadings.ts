/** The rows by which a store is looked at as a whole: each is read up to a bound, so a look costs the same however much there is. */
import type { Account } from "../account/Account.ts"
import type { Happening } from "../Happening.ts"
import type { Instant } from "../Instant.ts"
import type { Tally } from "../job/Tally.ts"
import type { Backlog } from "../job/Waiting.ts"
import type { Quarantine } from "../Restore.ts"
import type { Size } from "../Size.ts"
import type { Session } from "../session/Session.ts"
import type { Template } from "../template/Template.ts"
import type { Attempt, Endpoint } from "../webhook/Webhook.ts"

type Owner = Pick<Account, "id" | "name" | "plan">

export interface OwnedSession {
  readonly session: Session
  readonly account: Owner
}

/** Recipients of whom nobody knows whether they got something. */
export interface Unknowns {
  readonly recipients: number
  readonly jobs: number
  /** The time of the first of these jobs that changed last; null where there is none. */
  readonly since: Instant | null
}

/** Parts of hooks that nobody understood. */
export interface UnreadCount {
  readonly count: number
  readonly firstAt: Instant
  /** One of those that they came to. */
  readonly sessionId: string
}

/** Texts that may be refusals, and that nobody has decided on. */
export interface DoubtCount {
  readonly count: number
  readonly firstAt: Instant
  /** One of those that have some. */
  readonly accountId: string
}

/** An endpoint that fails or is disabled, and how many deliveries wait for it. */
export interface Troubled {
  readonly endpoint: Endpoint
  readonly waiting: number
  /** The newest attempt of some that wait for another; null where there is none. */
  readonly last: Pick<Attempt, "reason" | "status"> | null
}

/** The standing of the endpoints of a store. */
export interface Standing {
  readonly healthy: number
  readonly failing: number
  readonly disabled: number
  /** The time that receivers took for the attempts of the newest deliveries, in milliseconds. */
  readonly durations: ReadonlyArray<number>
  readonly troubled: ReadonlyArray<Troubled>
}

/** A process over the store, as it told of itself. */
export interface Process {
  readonly id: string
  readonly role: string
  readonly version: string
  readonly since: Instant
  readonly seenAt: Instant
  readonly inFlight: number
  readonly slots: number
}

/** The part of a UTC day's quota that an account has used. */
export interface Usage {
  readonly account: Owner
  readonly template: number
  readonly direct: number
}

export interface StoreReadings {
  readonly now: Instant
  readonly quarantine: Quarantine | null
  /** True while a process lives that sends. */
  readonly isDispatched: boolean
  readonly backlog: Backlog
  readonly deliveriesWaiting: number
  /** Of the last hour. */
  readonly tallies: ReadonlyArray<Tally>
  readonly sessions: ReadonlyArray<OwnedSession>
  /** Templates that something waits for. */
  readonly templates: ReadonlyArray<Template>
  /** The providers whose templates are read of their platform. */
  readonly synced: ReadonlySet<string>
  readonly processes: ReadonlyArray<Process>
  /** For so long a process that says nothing is believed to live. */
  readonly leaseMs: number
  readonly webhooks: Standing
  readonly storage: Size
  readonly unknowns: Unknowns
  /** Of the last day; null when all was understood. */
  readonly unread: UnreadCount | null
  /** Null when there is none. */
  readonly doubts: DoubtCount | null
  /** Of the last day, newest first. */
  readonly happenings: ReadonlyArray<Happening>
  /** The times at which erasures began that nobody goes on with. */
  readonly stuckErasures: ReadonlyArray<Instant>
  readonly usage: ReadonlyArray<Usage>
  readonly clock: { readonly differenceMs: number | null; readonly uncertain: boolean }
}
