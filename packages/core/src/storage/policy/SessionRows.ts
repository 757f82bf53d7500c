/** The operations that a database supplies for the rules of sessions, with those of the jobs that follow them. */

import type { Happening } from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Session } from "../../domain/session/Session.ts"
import type { Draft } from "../../domain/webhook/Event.ts"
import type { Program } from "../Program.ts"
import type { JobRows } from "./JobRows.ts"

export interface SessionRows extends Pick<JobRows, "lockJobs" | "lockJobsInTime" | "saveJobs"> {
  /** Locks and answers the session; null when there is none. Waits for other commits. */
  readonly lockSession: (id: string) => Program<Session | null>
  /**
   * Locks and answers the sessions whose block is over (`Session.blockIsOver`), by their ids, in that order; without waiting,
   * so but for those that another commit has.
   */
  readonly lockUnblockable: (now: Instant) => Program<ReadonlyArray<Session>>
  /** Writes a locked session's state: all but its account, its provider and what its operator set. */
  readonly saveSession: (session: Session) => Program<void>
  /** Writes what a locked session's operator set. */
  readonly saveSettings: (session: Session) => Program<void>
  /** The ids of the session's paused jobs, and of those that run where `running` is true. Takes no lock. */
  readonly jobsToFollow: (sessionId: string, running: boolean) => Program<ReadonlyArray<string>>
  readonly note: (happenings: ReadonlyArray<Happening>) => Program<void>
  readonly appendEvents: (accountId: string, drafts: ReadonlyArray<Draft>, now: Instant) => Program<void>
}
