/** One connection of an account to a messaging platform; owns the templates mirrored from it. */

import type { Keywords } from "../consent/Keywords.ts"
import * as FieldVersions from "../FieldVersions.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { PauseReason } from "../job/Job.ts"
import * as Circuit from "./Circuit.ts"
import type { ClosedMarket } from "./ClosedMarkets.ts"
import type { Pacing } from "./Pacing.ts"
import type { QuietHours } from "./QuietHours.ts"
import * as SameFailure from "./SameFailure.ts"

/** `sandbox`, `http`, `whatsapp_cloud`, or the name of a sender of yours. */
export type Provider = string

/** The name of a provider: it is a segment of its hooks' path as it is. */
export const providerForm = /^[a-z][a-z0-9_-]{0,63}$/

export const states = ["connected", "connecting", "disconnected"] as const
export type State = (typeof states)[number]

/**
 * Why a session is blocked: what an answer of its platform means, a restriction that its platform told of, or one failure that
 * its last attempts ended with (`SameFailure`).
 */
export const blockReasons = ["provider_blocked", "platform_restriction", "same_failure"] as const
export type BlockReason = (typeof blockReasons)[number]

/** The end of what its platform has to end, or the operator: behind it no time can be written. */
export const withoutEnd = Time.latest

/** A time to be told of; null where there is no telling. */
export const endOf = (until: Instant | null): Instant | null => (until === withoutEnd ? null : until)

export interface Session {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly provider: Provider
  /** The provider's configuration as encrypted JSON; plain text never reaches a store. */
  readonly config: string
  readonly pacing: Pacing
  /** Milliseconds for which a transient error is retried (`Retry.sendWindow`); null = by the message's purpose. */
  readonly retryForMs: number | null
  /** Markets that are closed for a category; null = those of the provider (`domain/session/ClosedMarkets`). */
  readonly closedMarkets: ReadonlyArray<ClosedMarket> | null
  /** The hours in which its messages go, by their purpose. */
  readonly quietHours: QuietHours
  /** By which words of an inbound text people withdraw and give consent. */
  readonly keywords: Keywords
  readonly state: State
  /** Why it is not connected; null while it is. */
  readonly reason: string | null
  /** The end of the platform's block of this session ({@link withoutEnd}); null without one. Its jobs pause until then. */
  readonly blockedUntil: Instant | null
  /** Null without a block. */
  readonly blockReason: BlockReason | null
  /** The code of the failure that its last attempts ended with; null of a block for another reason. */
  readonly blockCode: string | null
  /** The end of the platform's restriction on answers to people, until which direct messages are refused; null without one. */
  readonly repliesBlockedUntil: Instant | null
  /** The platform's last word on the session's standing and restrictions. */
  readonly told: FieldVersions.FieldVersions
  /**
   * The outage of its platform, with the time of the next probe; null while the platform answers. Its jobs pause
   * meanwhile.
   */
  readonly outage: Circuit.Outage | null
  /** The last outage that ended. Retries with a time limit get that much longer. Null when there was none. */
  readonly lastOutage: Circuit.Silence | null
  /** When it last became connected; null while it is not. */
  readonly connectedSince: Instant | null
  /** When its operator last connected it, gave it a configuration or ended its block: refusals of before are mended. Null when never. */
  readonly mendedAt: Instant | null
  /** Null of one whose last attempts did not end with one failure (`SameFailure`). */
  readonly failing: SameFailure.Failing | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** Reasons by which nobody expects it to be connected: it never was, or an operator disconnected it. */
export const meantReasons = { never: "never_connected", operator: "operator" } as const

/** The session's own time for which a transient error is tried again, in seconds, as it is written (`retry_for`). */
export const retryFor = ({ retryForMs }: Pick<Session, "retryForMs">): number | null =>
  retryForMs === null ? null : retryForMs / Time.second

/**
 * True when the block has ended, or a clock ahead of ours wrote it: a platform that still blocks the session says so
 * again.
 */
export const blockIsOver = (
  { blockedUntil, updatedAt }: Pick<Session, "blockedUntil" | "updatedAt">,
  now: Instant
): boolean => blockedUntil !== null && (blockedUntil <= now || Time.isAhead(updatedAt, now))

/** The parts of a session that decide if something may be sent over it. */
export type Standing = Pick<Session, "blockedUntil" | "blockReason" | "outage" | "state">

/** Why the session may not send now, apart from a probe of its platform; null when it may. */
export const obstacle = ({
  blockedUntil,
  blockReason,
  outage,
  state
}: Standing): Exclude<PauseReason, "template_changed" | "template_paused"> | null => {
  if (state !== "connected") return "session_disconnected"
  if (blockedUntil !== null) return blockReason ?? "provider_blocked"
  return outage === null ? null : "platform_unavailable"
}

/** True where nobody expects it to be connected. */
export const isMeant = ({ reason, state }: Pick<Session, "reason" | "state">): boolean =>
  state !== "connected" &&
  (reason === null || reason === meantReasons.never || reason === meantReasons.operator)

/** Why it may not send messages of a kind: a platform that restricts templates takes direct messages (contract.md §13). */
export const obstacleOf = (session: Standing, kind: "direct" | "template"): ReturnType<typeof obstacle> => {
  const found = obstacle(session)
  if (found !== "platform_restriction" || kind === "template") return found
  return session.outage === null ? null : "platform_unavailable"
}

/** Why it may not send now and since when; else since when it is connected. A block has no time of its own. */
export const situation = (session: Session): { readonly reason: string | null; readonly since: Instant } => {
  const { connectedSince, outage, reason, state, updatedAt } = session
  if (state !== "connected") return { reason, since: updatedAt }
  return { reason: obstacle(session), since: outage?.since ?? connectedSince ?? updatedAt }
}

/** The last time in which its platform did not answer, as far as it is known now; null when none was. */
export const silence = (
  { lastOutage, outage }: Pick<Session, "lastOutage" | "outage">,
  now: Instant
): Circuit.Silence | null => (outage === null ? lastOutage : { since: outage.since, until: now })

/** The part of a session that decides how its messages are sent: which sender, configured how, and retried for how long. */
export type Outbound = Pick<
  Session,
  "id" | "provider" | "config" | "connectedSince" | "retryForMs" | "closedMarkets" | "quietHours" | "failing"
>

export const outbound = ({
  closedMarkets,
  config,
  connectedSince,
  failing,
  id,
  provider,
  quietHours,
  retryForMs
}: Outbound): Outbound => ({
  id,
  provider,
  config,
  connectedSince,
  retryForMs,
  closedMarkets,
  quietHours,
  failing
})

/** Tells whether an answer of the platform is still about the session: its configuration, and since when it is connected. */
export type Connection = Pick<Session, "config" | "connectedSince">

/** The attempt that the platform speaks of. */
export interface Attempted {
  /** The connection with which the attempt was made; absent where nobody knows it any more, as with a receipt. */
  readonly connection?: Connection | undefined
  /** Not later than its end. */
  readonly since: Instant
}

/**
 * True when an attempt's result still applies to the session: its configuration was not replaced and it was not connected
 * again since (contract.md §13 "A code acts by what it says"). Always true without an attempt.
 */
export const isAbout = (session: Session, attempted: Attempted | undefined): boolean => {
  if (attempted === undefined) return true
  const { connection, since } = attempted
  if (connection !== undefined)
    return connection.config === session.config && connection.connectedSince === session.connectedSince
  const { connectedSince, mendedAt } = session
  return connectedSince !== null && since >= connectedSince && (mendedAt === null || since >= mendedAt)
}

/**
 * The session in a state; the same object when it is not connected for the same reason already. Connecting ends an outage and
 * mends what was refused before, also of a connected one, because the platform was just asked. Disconnecting ends an outage, too,
 * because the platform is no longer asked.
 */
export const transition = (
  session: Session,
  { reason, state }: Pick<Session, "reason" | "state">,
  now: Instant
): Session => {
  const isConnected = state === "connected"
  if (!isConnected && session.state === state && session.reason === reason && session.outage === null)
    return session
  // That block is our own conclusion, of refusals that a connect mends.
  const isConcluded = isConnected && session.blockReason === "same_failure"
  return {
    ...(isConcluded ? unblock(session, now) : session),
    state,
    reason: isConnected ? null : reason,
    outage: null,
    lastOutage: silence(session, now),
    connectedSince: isConnected ? (session.connectedSince ?? now) : null,
    mendedAt: isConnected ? now : session.mendedAt,
    failing: null,
    updatedAt: now
  }
}

/**
 * The session after its platform said that nothing more can be sent over it; the same one where it is not connected, or
 * connected since: platforms repeat what they said for days. They tell whole seconds.
 */
export const ended = (
  session: Session,
  { at, reason }: { readonly at: Instant | null; readonly reason: string },
  now: Instant
): Session =>
  session.connectedSince === null || (at !== null && at + Time.second <= session.connectedSince)
    ? session
    : transition(session, { state: "disconnected", reason }, now)

/** The session that its platform blocks; of two blocks the one that ends later holds. */
export const block = (
  session: Session,
  until: Instant,
  now: Instant,
  reason: BlockReason = "provider_blocked",
  blockCode: string | null = null
): Session =>
  session.blockedUntil !== null && session.blockedUntil >= until
    ? { ...session, updatedAt: now }
    : { ...session, blockedUntil: until, blockReason: reason, blockCode, updatedAt: now }

export const unblock = (session: Session, now: Instant): Session => ({
  ...session,
  blockedUntil: null,
  blockReason: null,
  blockCode: null,
  updatedAt: now
})

/** The session once its operator ended all that its platform restricts; a platform that still does says so again. */
export const released = (session: Session, now: Instant): Session => ({
  ...unblock(session, now),
  repliesBlockedUntil: null,
  mendedAt: now,
  failing: null
})

/** The end of an attempt, by the answer of its send or by a receipt. */
export interface End extends SameFailure.Ended {
  readonly attempted: Attempted
}

/**
 * The session after attempts have ended, in their order; the same one where that says nothing. What was mended since counts no
 * more, and one that is blocked is blocked no longer for them.
 */
export const afterEnds = (
  session: Session,
  way: SameFailure.Way,
  ends: ReadonlyArray<End>,
  now: Instant
): Session => {
  const before = session.failing?.[way] ?? null
  const streak = ends.reduce(
    (found, end) => (isAbout(session, end.attempted) ? SameFailure.next(found, end) : found),
    before
  )
  if (streak === before) return session
  const failing = (found: SameFailure.Streak | null) => SameFailure.withStreak(session.failing, way, found)
  const beside = session.failing?.[way === "answer" ? "receipt" : "answer"] ?? null
  if (streak === null || !SameFailure.stops(streak, beside) || session.blockedUntil !== null)
    return { ...session, failing: failing(streak) }
  const stopped = SameFailure.block(streak, now)
  const counted = { ...session, failing: failing(stopped.streak) }
  return block(counted, stopped.until, now, "same_failure", streak.code)
}

/** True when people may have no answer. */
export const refusesReplies = (
  { repliesBlockedUntil }: Pick<Session, "repliesBlockedUntil">,
  now: Instant
): boolean => repliesBlockedUntil !== null && repliesBlockedUntil > now

/** The effect of a platform's news on their session. */
export interface Announced {
  /** When the platform said it; null where it did not tell. */
  readonly at: Instant | null
  /** Why nothing more can be sent; null while something can. */
  readonly disconnects: string | null
  /** True when what the platform disconnected may send again. */
  readonly reinstates?: boolean
  /** Until when it restricts these; null where it restricts them no more, absent where it says nothing of them. */
  readonly restricts?: { readonly templates?: Instant | null; readonly replies?: Instant | null } | undefined
}

const restricted = (session: Session, until: Instant | null, now: Instant): Session => {
  const isRestricted = session.blockReason === "platform_restriction"
  const free = isRestricted ? unblock(session, now) : session
  return until === null || until <= now ? free : block(free, until, now, "platform_restriction")
}

const withReplies = (session: Session, until: Instant | null, now: Instant): Session => ({
  ...session,
  repliesBlockedUntil: until === null || until <= now ? null : until,
  updatedAt: now
})

const wordOf = (until: Instant | null | undefined): string | undefined =>
  until === undefined ? undefined : String(until)

/** Connected again where the platform's own word had disconnected it. */
const reinstated = (session: Session, { told }: Session, now: Instant): Session =>
  session.reason !== null && told["standing"]?.words.includes(session.reason)
    ? transition(session, { state: "connected", reason: null }, now)
    : session

/**
 * The session after its platform's news of it, of which each part counts that is newer than what was told (`FieldVersions.merge`). What it
 * reinstates is connected only where these very news had disconnected it.
 */
export const announced = (
  session: Session,
  { at, disconnects, reinstates = false, restricts = {} }: Announced,
  now: Instant
): { readonly session: Session; readonly isOlder: boolean } => {
  const hearing = FieldVersions.merge(session.told, at, now, false)
  let after = session
  const apply = (field: string, word: string | undefined, step: (session: Session) => Session): void => {
    if (hearing.isNews(field, word)) after = step({ ...after, told: hearing.told() })
  }
  const standing = disconnects ?? (reinstates ? "reinstated" : undefined)
  apply("standing", standing, (each) =>
    disconnects === null ? reinstated(each, session, now) : ended(each, { at, reason: disconnects }, now)
  )
  const { replies, templates } = restricts
  apply("templates", wordOf(templates), (each) => restricted(each, templates ?? null, now))
  apply("replies", wordOf(replies), (each) => withReplies(each, replies ?? null, now))
  return { session: after, isOlder: hearing.isOlder() }
}

/** The session whose platform does not answer; the same one when that is known, and when it is not connected. */
const unavailable = (session: Session, now: Instant): Session =>
  session.outage === null && session.state === "connected"
    ? { ...session, outage: Circuit.begin(now), lastOutage: null, updatedAt: now }
    : session

/** The session whose platform answers; the same one when that is known. */
const available = (session: Session, now: Instant): Session =>
  session.outage === null
    ? session
    : { ...session, outage: null, lastOutage: silence(session, now), updatedAt: now }

/** The session of which a process tells news; the same one when they change nothing. */
export const heard = (session: Session, what: Circuit.News["what"], now: Instant): Session => {
  switch (what) {
    case "OutageBegan":
      return unavailable(session, now)
    case "OutageEnded":
      return available(session, now)
    case "ProbeFailed":
    case "ProbeUnused":
      return session.outage === null
        ? session
        : { ...session, outage: Circuit.probed(session.outage, what === "ProbeFailed", now) }
  }
}
