/** One connection of an account to a messaging platform; owns the templates mirrored from it. */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import type { PauseReason } from "./Job.ts"
import type { Keywords } from "./Keywords.ts"
import type { Pacing } from "./Pacing.ts"

/** `sandbox`, `http`, `whatsapp_cloud`, or the name of a sender of yours. */
export type Provider = string
/** Those that come with Sendwright. */
export const providers = ["sandbox", "http", "whatsapp_cloud"] as const

export type State = "connected" | "connecting" | "disconnected"

export interface Session {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly provider: Provider
  /** The provider's configuration as encrypted JSON; plain text never reaches a store. */
  readonly config: string
  readonly pacing: Pacing
  /** By which words of an inbound text people withdraw and give consent. */
  readonly keywords: Keywords
  readonly state: State
  /** Why it is not connected; null while it is. */
  readonly reason: string | null
  /** Until when the platform takes nothing more from it; null = it does. Its jobs pause meanwhile. */
  readonly blockedUntil: Instant | null
  /** When it last became connected; null while it is not. */
  readonly connectedSince: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** True when the block has ended or was written by a clock ahead: one that still holds the platform tells again. */
export const blockIsOver = (
  { blockedUntil, updatedAt }: Pick<Session, "blockedUntil" | "updatedAt">,
  now: Instant
): boolean => blockedUntil !== null && (blockedUntil <= now || Time.isAhead(updatedAt, now))

/** Why nothing may be sent over it now; null when something may. */
export const obstacle = ({
  blockedUntil,
  state
}: Pick<Session, "blockedUntil" | "state">): Extract<
  PauseReason,
  "session_disconnected" | "provider_blocked"
> | null =>
  state !== "connected" ? "session_disconnected" : blockedUntil !== null ? "provider_blocked" : null
