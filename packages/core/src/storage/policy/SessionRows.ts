/** The operations that a database supplies for the rules of sessions, with those of the jobs that follow them. */

import type { Happening } from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Session } from "../../domain/session/Session.ts"
import type { Draft } from "../../domain/webhook/Event.ts"
import type { Backend, JobRows, Tx } from "./JobRows.ts"

export interface SessionRows<B extends Backend>
  extends Pick<JobRows<B>, "lockJobs" | "lockJobsInTime" | "saveJobs"> {
  /** Locks and answers the session; null when there is none. Waits for other commits. */
  readonly lockSession: (id: string) => Tx<Session | null, B>
  /**
   * Locks and answers the sessions whose block is over (`Session.blockIsOver`), by their ids, in that order; without waiting,
   * so but for those that another commit has.
   */
  readonly lockUnblockable: (now: Instant) => Tx<ReadonlyArray<Session>, B>
  /** Writes a locked session's state: all but its account, its provider and what its operator set. */
  readonly saveSession: (session: Session) => Tx<void, B>
  /** Writes what a locked session's operator set. */
  readonly saveSettings: (session: Session) => Tx<void, B>
  /** The ids of the session's paused jobs, and of those that run where `running` is true. Takes no lock. */
  readonly jobsToFollow: (sessionId: string, running: boolean) => Tx<ReadonlyArray<string>, B>
  readonly note: (happenings: ReadonlyArray<Happening>) => Tx<void, B>
  readonly appendEvents: (accountId: string, drafts: ReadonlyArray<Draft>, now: Instant) => Tx<void, B>
}
