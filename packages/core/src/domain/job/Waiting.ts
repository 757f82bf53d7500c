/** The limiters that keep recipients waiting (contract.md §12): of a job, and of all that wait together. */
import type { Instant } from "../Instant.ts"
import type { Session, Standing } from "../session/Session.ts"
import * as Sessions from "../session/Session.ts"
import type { Job, PauseReason } from "./Job.ts"
import * as Jobs from "./Job.ts"
import * as Pace from "./Pace.ts"
import type { Priority } from "./Priority.ts"

/** `worker`: nothing but a worker, or a free one. */
export const limiters = [
  "pace",
  "platform",
  "template",
  "session",
  "retry",
  "worker",
  "restore",
  "client",
  "schedule",
  "hours"
] as const
export type Limiter = (typeof limiters)[number]

/** The pauses of a job that end with its template's. */
export const templatePauses: ReadonlyArray<PauseReason> = ["template_paused", "template_changed"]

/** The obstacle to sending anything of a job; null when nothing does. */
export const hindrance = (
  { pauseReason, status }: Pick<Job, "pauseReason" | "status">,
  session: Standing | null
): Extract<Limiter, "client" | "platform" | "session" | "template"> | null => {
  const obstacle = session === null ? null : Sessions.obstacle(session)
  const isPaused = status === "paused"
  if (isPaused && Jobs.isHeld({ pauseReason })) return "client"
  if (isPaused && pauseReason !== null && templatePauses.includes(pauseReason)) return "template"
  if (obstacle === "platform_unavailable") return "platform"
  return isPaused || obstacle !== null ? "session" : null
}

/** Jobs of one session that stand alike. */
export interface Group extends Pick<Job, "pauseReason" | "priority" | "status"> {
  readonly session: Standing & Pick<Session, "id" | "pacing">
  /** Of those that are paused for their template. */
  readonly templateId: number | null
  /** Why none of them is due: their time has not come, or they were put off to hours that are allowed; null of what is due. */
  readonly notDue: Extract<Limiter, "hours" | "schedule"> | null
  /** Recipients of these jobs that nobody has attempted and, while the jobs are paused, those that are to be attempted again. */
  readonly waiting: number
  /** The pace that each of these jobs has of its own; null where they have none. */
  readonly perMinute: number | null
  /** So many of them wait of that job of which the most do. */
  readonly longest: number
  /** The recipients that wait for another attempt, of jobs of which nobody waits for the first. */
  readonly retrying: number
  /** The time at which the oldest of them was accepted. */
  readonly oldestAt: Instant
  /** The time of the next attempt of those that are retried or are not due; null where there is none. */
  readonly nextAt: Instant | null
}

/** Everything that waits in a store. */
export interface Backlog {
  readonly groups: ReadonlyArray<Group>
  /** The time at which the oldest of its jobs with something due was accepted; null when nothing is due. */
  readonly oldestAt: Instant | null
  /** False when there were more jobs than were read. */
  readonly isExact: boolean
}

const limiterOf = (group: Group, isDispatched: boolean): Limiter => {
  // Nothing else keeps it before its time.
  if (group.notDue !== null) return group.notDue
  const hindered = hindrance(group, group.session)
  if (group.status === "paused") return hindered ?? "session"
  if (!isDispatched) return "worker"
  const { perMinute, session } = group
  return hindered ?? (Pace.slower(session.pacing.messagesPerSecond, perMinute) === null ? "worker" : "pace")
}

/** Reasons that keep everything of a store. */
export interface Keeping {
  readonly isDispatched: boolean
  readonly isHeld: boolean
}

/** A group, by the limiters of its recipients: those that are retried have that of the others where it keeps these, too. */
export interface Limited {
  readonly group: Group
  readonly limiter: Limiter
  readonly retryLimiter: Limiter
}

export const limit = (
  { groups }: Pick<Backlog, "groups">,
  { isDispatched, isHeld }: Keeping
): ReadonlyArray<Limited> =>
  groups.map((group) => {
    const limiter = isHeld ? "restore" : limiterOf(group, isDispatched)
    const isFree = limiter === "pace" || (limiter === "worker" && isDispatched)
    return { group, limiter, retryLimiter: isFree ? "retry" : limiter }
  })

/** The groups of a backlog that are due, and wait for something else than their time. */
export const due = ({ groups }: Pick<Backlog, "groups">): ReadonlyArray<Group> =>
  groups.filter(({ notDue }) => notDue === null)

/** The recipients that wait and are due, by their priority. */
export const byPriority = (backlog: Backlog): Readonly<Record<Priority, number>> => {
  const sums = { high: 0, normal: 0, low: 0 }
  for (const { priority, retrying, waiting } of due(backlog)) sums[priority] += waiting + retrying
  return sums
}

/** The recipients that wait, by their limiter. */
export const byLimiter = (backlog: Backlog, keeping: Keeping): ReadonlyMap<Limiter, number> => {
  const sums = new Map<Limiter, number>(limiters.map((limiter) => [limiter, 0]))
  const add = (limiter: Limiter, count: number): void => {
    sums.set(limiter, (sums.get(limiter) ?? 0) + count)
  }
  for (const { group, limiter, retryLimiter } of limit(backlog, keeping)) {
    add(limiter, group.waiting)
    add(retryLimiter, group.retrying)
  }
  return sums
}
