/** The limiters that keep recipients waiting (decisions.md §12): of a job, and of all that wait together. */
import type { Instant } from "../Instant.ts"
import type { Session, Standing } from "../session/Session.ts"
import * as Sessions from "../session/Session.ts"
import type { Job } from "./Job.ts"

/** `worker`: nothing but a worker, or a free one. */
export const limiters = ["pace", "platform", "template", "session", "retry", "worker", "restore"] as const
export type Limiter = (typeof limiters)[number]

/** The obstacle to sending anything of a job; null when nothing does. */
export const hindrance = (
  { pauseReason, status }: Pick<Job, "pauseReason" | "status">,
  session: Standing | null
): Extract<Limiter, "platform" | "session" | "template"> | null => {
  const obstacle = session === null ? null : Sessions.obstacle(session)
  const isPaused = status === "paused"
  if (isPaused && (pauseReason === "template_paused" || pauseReason === "template_changed")) return "template"
  if (obstacle === "platform_unavailable") return "platform"
  return isPaused || obstacle !== null ? "session" : null
}

/** Jobs of one session that stand alike. */
export interface Group extends Pick<Job, "pauseReason" | "status"> {
  readonly session: Standing & Pick<Session, "pacing">
  /** Their recipients that nobody has attempted and, while they are paused, those that are to be attempted again. */
  readonly waiting: number
  /** The recipients that wait for another attempt, of jobs of which nobody waits for the first. */
  readonly retrying: number
}

/** Everything that waits in a store. */
export interface Backlog {
  readonly groups: ReadonlyArray<Group>
  /** The time at which the oldest of its jobs was accepted; null when nothing waits. */
  readonly oldestAt: Instant | null
  /** False when there were more jobs than were read. */
  readonly isExact: boolean
}

const limiterOf = (group: Group, isDispatched: boolean): Limiter => {
  const hindered = hindrance(group, group.session)
  if (group.status === "paused") return hindered ?? "session"
  if (!isDispatched) return "worker"
  return hindered ?? (group.session.pacing.messagesPerSecond === null ? "worker" : "pace")
}

/** The recipients that wait, by their limiter. */
export const byLimiter = (
  { groups }: Backlog,
  { isDispatched, isHeld }: { readonly isDispatched: boolean; readonly isHeld: boolean }
): ReadonlyMap<Limiter, number> => {
  const sums = new Map<Limiter, number>(limiters.map((limiter) => [limiter, 0]))
  const add = (limiter: Limiter, count: number): void => {
    sums.set(limiter, (sums.get(limiter) ?? 0) + count)
  }
  for (const group of groups) {
    const limiter = isHeld ? "restore" : limiterOf(group, isDispatched)
    add(limiter, group.waiting)
    // The limiter of the others of its job keeps these, too.
    add(limiter === "pace" || (limiter === "worker" && isDispatched) ? "retry" : limiter, group.retrying)
  }
  return sums
}
