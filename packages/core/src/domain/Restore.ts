/**
 * A store that was restored from a backup, or that is elsewhere than it was (contract.md §11): it is held, nothing of it is
 * sent, until an operator says what becomes of what was open before.
 */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"

/**
 * Why a store is held: it is `older` than it was, or `elsewhere`; its server follows another one (`failover`); or an operator
 * said so.
 */
export const reasons = ["older", "elsewhere", "failover", "operator"] as const
export type Reason = (typeof reasons)[number]

/** The ways on: what was open before becomes `unknown` or `canceled`, or it is sent. */
export const ways = ["unknown", "cancel", "send"] as const
export type Way = (typeof ways)[number]

/** The jobs that were looked at, and what became of their open recipients. */
export interface Counts {
  readonly jobs: number
  readonly unknown: number
  readonly canceled: number
  readonly sent: number
}

export const noCounts: Counts = { jobs: 0, unknown: 0, canceled: 0, sent: 0 }

export const add = (a: Counts, b: Counts): Counts => ({
  jobs: a.jobs + b.jobs,
  unknown: a.unknown + b.unknown,
  canceled: a.canceled + b.canceled,
  sent: a.sent + b.sent
})

export interface Quarantine {
  readonly reason: Reason
  readonly since: Instant
  /**
   * The messages that the operator's decision has reached, by what became of them; it may have been interrupted before the
   * others.
   */
  readonly counts: Counts
}

const sentences: Readonly<Record<Reason, string>> = {
  older: "The store is older than it was when a process used it last",
  elsewhere: "The store is not where it was when a process used it last",
  failover: "The database's server has followed another one",
  operator: "An operator holds the store"
}

export const causeOf = ({ reason }: Pick<Quarantine, "reason">): string => sentences[reason]

export const nextStep =
  "Record the opt-outs that came since the backup, then say what becomes of what was open: sendwright restore --open unknown, cancel or send."

/** The state of a held store in words, with the next step of the operator. */
export const describe = (quarantine: Quarantine): string =>
  `${causeOf(quarantine)}: it is held since ${Time.format(quarantine.since)}, and nothing is sent. ${nextStep}`

// SQLite: a count in the database and in a file beside it

/** A count of starts and commits, and whose it is. */
export interface Counted {
  readonly store: string
  readonly commits: number
}

/**
 * Compares a database with the file beside it. The file is written after each commit, so a crash leaves it behind the
 * database and never ahead of it. A file without commits was written before the store's first one, which may have come since.
 */
export const compareCounts = (inFile: Counted | null, inDatabase: Counted | null): Reason | null => {
  if (inFile === null) return inDatabase === null ? null : "elsewhere"
  if (inDatabase === null) return inFile.commits === 0 ? null : "older"
  if (inDatabase.store !== inFile.store) return "elsewhere"
  return inDatabase.commits < inFile.commits ? "older" : null
}

// PostgreSQL: whose server it is

/** Where a database is. Null is what a role may not read. */
export interface Whereabouts {
  /** The server's system identifier, which its physical copies share. */
  readonly system: string | null
  /** The oid of the database. */
  readonly database: string | null
  /** The oid of the table that remembers this: a dump that is loaded makes another. */
  readonly relation: string | null
  /** The number grows when a copy of a server becomes one of its own. */
  readonly timeline: number | null
}

const differs = <A>(a: A | null, b: A | null): boolean => a !== null && b !== null && a !== b

/**
 * The reading of a new timeline of the server, where nothing else is new: a failover, which is told, or a restore, for which
 * the store is held.
 */
export type OnFailover = "tell" | "hold"

/** `moved` is told and not held. */
export const compareWhereabouts = (
  last: Whereabouts,
  now: Whereabouts,
  onFailover: OnFailover
): Reason | "moved" | null => {
  if (
    differs(last.system, now.system) ||
    differs(last.database, now.database) ||
    differs(last.relation, now.relation)
  )
    return "elsewhere"
  if (!differs(last.timeline, now.timeline)) return null
  return onFailover === "hold" ? "failover" : "moved"
}

/** The whereabouts to remember from now on. A part that the process may not read stays as it was. */
export const learn = (last: Whereabouts, now: Whereabouts): Whereabouts => ({
  system: now.system ?? last.system,
  database: now.database ?? last.database,
  relation: now.relation ?? last.relation,
  timeline: now.timeline ?? last.timeline
})
