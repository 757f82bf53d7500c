/**
 * How long the platform takes free text to a person (contract.md §14): a day from their last message to the session. Who came by an
 * advertisement is answered free of charge for three.
 */
import * as Erasure from "../Erasure.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Job } from "../job/Job.ts"
import type { Change } from "../job/Transitions.ts"
import * as FailureCatalogue from "./FailureCatalogue.ts"

export interface Window {
  readonly openUntil: Instant
  /** Null where nothing is free of charge. */
  readonly freeUntil: Instant | null
  /** When the last message began that the platform refused for a closed window; null without one. */
  readonly closedAt: Instant | null
  /** When they last wrote what another app or an agent handles; null where they wrote nothing of it. */
  readonly asideAt: Instant | null
}

/** A session's knowledge of a person's window. */
export interface Heard {
  /** Null where they never wrote, or long ago. */
  readonly window: Window | null
  /** True where another app or an agent has had messages of the session. */
  readonly isShared: boolean
}

/** A window as it is now. */
export interface Told {
  readonly open: boolean
  /** When it closes, or has closed; null where none is known. */
  readonly until: Instant | null
  readonly freeUntil: Instant | null
  /** False where the platform is left to decide. */
  readonly certain: boolean
}

/** @param at when they wrote */
export const opened = (
  at: Instant,
  { isAside = false, isReferred = false }: { readonly isReferred?: boolean; readonly isAside?: boolean } = {}
): Window => ({
  openUntil: Time.after(at, Time.day),
  freeUntil: isReferred ? Time.after(at, 3 * Time.day) : null,
  closedAt: null,
  asideAt: isAside ? at : null
})

/** The end of a window that nothing opened. */
export const never = Time.at(0)

/** A message of another app or of an agent to somebody opens no window: the message tells only that the session has the person. */
export const answeredAside = (at: Instant): Window => ({
  openUntil: never,
  freeUntil: null,
  closedAt: null,
  asideAt: at
})

/** True of the change that has a template go in the place of a refused text. */
const isReplaced = (replacedAt: Instant | null, { after, before }: Change): boolean =>
  replacedAt !== null && after.requeuedAt === replacedAt && before.requeuedAt !== replacedAt

/**
 * The close that a refusal tells, by the answer or by a receipt: of what was open when the message began, since the person may have
 * written meanwhile.
 */
export const closedBy = (
  { content, createdAt, replacedAt }: Pick<Job, "content" | "createdAt" | "replacedAt">,
  { after, before }: Change
): Window | undefined =>
  content.kind === "direct" &&
  (isReplaced(replacedAt, { after, before }) ||
    (FailureCatalogue.isOfWindow(after.failure) && !FailureCatalogue.isOfWindow(before.failure))) &&
  !Erasure.isErased(after.address)
    ? { openUntil: createdAt, freeUntil: null, closedAt: createdAt, asideAt: null }
    : undefined

const laterOf = (one: Instant | null, other: Instant | null): Instant | null =>
  one === null || other === null ? (one ?? other) : Time.max(one, other)

/** Of two that are told in any order. */
export const later = (one: Window, other: Window | undefined): Window =>
  other === undefined
    ? one
    : {
        openUntil: Time.max(one.openUntil, other.openUntil),
        freeUntil: laterOf(one.freeUntil, other.freeUntil),
        closedAt: laterOf(one.closedAt, other.closedAt),
        asideAt: laterOf(one.asideAt, other.asideAt)
      }

/** The end: what they wrote before a message that was refused opens nothing any more. The platform tells whole seconds. */
const untilOf = ({ closedAt, openUntil }: Window): Instant =>
  closedAt !== null && Time.before(openUntil, Time.day - Time.second) <= closedAt
    ? Time.min(openUntil, closedAt)
    : openUntil

/**
 * A window as it is told, and as a send goes by it. Who never wrote, and who may be answered free of charge, is left to the platform,
 * which may know more of them.
 *
 * @param hasWindow true of a platform that refuses free text outside of a window
 */
export const told = ({ isShared, window }: Heard, hasWindow: boolean, now: Instant): Told => {
  const until = window === null || window.openUntil === never ? null : untilOf(window)
  const freeUntil = window?.freeUntil ?? null
  const open = until !== null && until > now
  const isRefused = hasWindow && (freeUntil === null || freeUntil <= now)
  return { open, until, freeUntil, certain: window !== null && !isShared && (open || isRefused) }
}

/** True when free text would surely be refused, and is not asked for. */
export const isSurelyClosed = ({ certain, open }: Told): boolean => certain && !open

/** For so long a window is kept that is over: that somebody wrote long ago says nothing of now. */
export const keptMs = 30 * Time.day
