/** What the author of a sender gives the suite: the sender, and a hand on the platform behind it. */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import type { HookRequest, OutboundMessage, Sender } from "../../sender/Sender.ts"

/** Why the platform has no such thing: what is tested with it is shown as skipped for this reason. */
export class Absent extends Data.TaggedClass("Absent")<{ readonly reason: string }> {}
export const absent = (reason: string): Absent => new Absent({ reason })

/** Lets the platform do so with this message; answers the message, changed where that depends on it. */
export type Meeting = (message: OutboundMessage) => OutboundMessage

/** A message that is never answered. */
export interface Hanging {
  readonly message: OutboundMessage
  /** Ends when the platform has the whole request. */
  readonly arrived: Effect.Effect<void>
  /** Ends when the sender has let go of the connection. */
  readonly released: Effect.Effect<void>
}

/** What the platform can be made to do with a message. */
export interface Situations {
  readonly accepts: Meeting
  /** The platform has the message, and looks at it first. */
  readonly holds: Meeting | Absent
  /** For good. */
  readonly refuses: Meeting | Absent
  /** For now: it is to be asked again after {@link Platform.retryAfterMs}. */
  readonly busy: Meeting | Absent
  /** The platform does not take it, and something in between answers with an error page. */
  readonly fails: Meeting | Absent
  /** The platform takes it, and its answer is a success that nobody can read. */
  readonly babbles: Meeting | Absent
  /** The platform takes it, and the connection breaks before a byte of its answer. */
  readonly resets: Meeting | Absent
  readonly hangs: ((message: OutboundMessage) => Hanging) | Absent
}

/** A message that the platform has taken. One that it has dropped as a repetition is not taken again. */
export interface ReceivedMessage {
  /** Ours; null where the platform is not told. */
  readonly messageId: string | null
  readonly to: string
  /** As it came: the text, or each value of the template, is found in it. */
  readonly content: string
  /** The platform's id of it; null when it gives none. */
  readonly providerId: string | null
}

/** How the platform posts to a session's hook. */
export interface Hook {
  /** A request of the platform's own, signed at this time with the configuration's secrets. */
  readonly signed: (body: string, at: Instant) => HookRequest
  /** The body that tells of one delivered message. */
  readonly delivered: (message: OutboundMessage, providerId: string | null) => string
  /** How old a request may be. */
  readonly staleAfterMs: number | Absent
}

export interface Platform {
  /** Of a session, whole and right, as an operator gives it; `{}` for a sender without `configure`. */
  readonly config: Readonly<Record<string, unknown>>
  /** The fields that have no default. */
  readonly required: ReadonlyArray<string>
  /** The fields that nobody may see, and whose change the platform notices. */
  readonly secrets: ReadonlyArray<string>
  /** A configuration by which the platform is not found. */
  readonly unreachable: Readonly<Record<string, unknown>> | Absent
  readonly situations: Situations
  /** null = it does not say for how long it is busy. */
  readonly retryAfterMs: number | null
  /** All of them, in their order. */
  readonly received: (() => ReadonlyArray<ReceivedMessage>) | Absent
  /** Of a sender with `templates`: more than a page of them, by name. */
  readonly templates: {
    readonly names: ReadonlyArray<string>
    readonly nameOf: (template: unknown) => unknown
  } | null
  /** Of a sender with `receive`. */
  readonly hook: Hook | null
  /** Of a sender with `poll`: a message that is taken, and whose reports come within a day. */
  readonly reports: Meeting | null
}

export interface Subject {
  readonly sender: Sender
  readonly platform: Platform
}
