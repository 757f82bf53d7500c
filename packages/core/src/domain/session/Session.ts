/** One connection of an account to a messaging platform; owns the templates mirrored from it. */

import type { Keywords } from "../consent/Keywords.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { PauseReason } from "../job/Job.ts"
import * as Circuit from "./Circuit.ts"
import type { ClosedMarket } from "./ClosedMarkets.ts"
import type { Pacing } from "./Pacing.ts"

/** `sandbox`, `http`, `whatsapp_cloud`, or the name of a sender of yours. */
export type Provider = string

/** The name of a provider: it is a segment of its hooks' path as it is. */
export const providerForm = /^[a-z][a-z0-9_-]{0,63}$/

export const states = ["connected", "connecting", "disconnected"] as const
export type State = (typeof states)[number]

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
  /** By which words of an inbound text people withdraw and give consent. */
  readonly keywords: Keywords
  readonly state: State
  /** Why it is not connected; null while it is. */
  readonly reason: string | null
  /** The end of the platform's block of this session; null without one. Its jobs pause until then. */
  readonly blockedUntil: Instant | null
  /**
   * The outage of its platform, with the time of the next probe; null while the platform answers. Its jobs pause
   * meanwhile.
   */
  readonly outage: Circuit.Outage | null
  /** The last outage that ended. Retries with a time limit get that much longer. Null when there was none. */
  readonly lastOutage: Circuit.Silence | null
  /** When it last became connected; null while it is not. */
  readonly connectedSince: Instant | null
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
export type Standing = Pick<Session, "blockedUntil" | "outage" | "state">

/** Why the session may not send now, apart from a probe of its platform; null when it may. */
export const obstacle = ({
  blockedUntil,
  outage,
  state
}: Standing): Exclude<PauseReason, "template_changed" | "template_paused"> | null => {
  if (state !== "connected") return "session_disconnected"
  if (blockedUntil !== null) return "provider_blocked"
  return outage === null ? null : "platform_unavailable"
}

/** True where nobody expects it to be connected. */
export const isMeant = ({ reason, state }: Pick<Session, "reason" | "state">): boolean =>
  state !== "connected" &&
  (reason === null || reason === meantReasons.never || reason === meantReasons.operator)

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
  "id" | "provider" | "config" | "connectedSince" | "retryForMs" | "closedMarkets"
>

export const outbound = ({
  closedMarkets,
  config,
  connectedSince,
  id,
  provider,
  retryForMs
}: Outbound): Outbound => ({
  id,
  provider,
  config,
  connectedSince,
  retryForMs,
  closedMarkets
})

/** Tells whether an answer of the platform is still about the session: its configuration, and since when it is connected. */
export type Connection = Pick<Session, "config" | "connectedSince">

/**
 * True when an attempt's result still applies to the session: its configuration was not replaced and it was not
 * connected again since it was read for the attempt. Always true without a connection.
 */
export const isAbout = (session: Session, attempted: Connection | undefined): boolean =>
  attempted === undefined ||
  (attempted.config === session.config && attempted.connectedSince === session.connectedSince)

/**
 * The session in a state; the same object when it is in that state for the same reason. Connecting ends an outage,
 * because the platform was just asked. Disconnecting ends it, too, because the platform is no longer asked.
 */
export const transition = (
  session: Session,
  { reason, state }: Pick<Session, "reason" | "state">,
  now: Instant
): Session => {
  const isConnected = state === "connected"
  if (session.state === state && session.reason === reason && session.outage === null) return session
  return {
    ...session,
    state,
    reason: isConnected ? null : reason,
    outage: null,
    lastOutage: silence(session, now),
    connectedSince: isConnected ? (session.connectedSince ?? now) : null,
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

/** The session that its platform blocks; of two times the later one holds. */
export const block = (session: Session, until: Instant, now: Instant): Session => ({
  ...session,
  blockedUntil: Math.max(session.blockedUntil ?? 0, until),
  updatedAt: now
})

export const unblock = (session: Session, now: Instant): Session => ({
  ...session,
  blockedUntil: null,
  updatedAt: now
})

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
