/**
 * How a message leaves: one sender per provider. A sender makes one attempt and says what became of it; whether
 * and when to try again is the worker's decision. It is proven with `testing/SenderSuite`.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { Purpose } from "../domain/consent/Consent.ts"
import type { Fault } from "../domain/Fault.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Content } from "../domain/job/Job.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Pacing } from "../domain/session/Pacing.ts"
import { type Provider, providerForm } from "../domain/session/Session.ts"
import type { Report } from "../storage/JobStore.ts"

/** One message to one recipient. */
export interface OutboundMessage {
  /** Stable over every attempt, crash and restart: what a platform that deduplicates is given. */
  readonly messageId: string
  readonly sessionId: string
  readonly to: string
  readonly content: Content
  /** Resolved values in the order of the template's variables. */
  readonly values: ReadonlyArray<string>
  /** Counting this one, from 1. */
  readonly attempt: number
  /** The session's configuration, as {@link Sender.configure} made it. */
  readonly config: unknown
}

/**
 * What became of one attempt. `answered` says if the platform answered at all: false when it could not be reached, said
 * nothing in time, or answered that it is out of order (5xx). Twenty such attempts of a session in a row, or half a
 * minute of them, are an outage (decisions.md §10): its jobs pause until one message gets an answer. Say true where one
 * message alone is the cause.
 */
export type SendResult = Data.TaggedEnum<{
  Accepted: { readonly providerId: string | null; readonly status: "accepted" | "sent" }
  /** The platform has it and looks at it first, for this reason; a receipt says what became of it. */
  Held: { readonly providerId: string | null; readonly failure: Failure }
  /** The platform refused; the same request would be refused again. */
  Rejected: { readonly failure: Failure }
  /** The platform surely does not have it, and a later attempt may pass. `answered` is true when absent. */
  Transient: {
    readonly failure: Failure
    readonly retryAfterMs: number | null
    readonly answered?: boolean
  }
  /** It may or may not have it: a time-out or reset after the request may have arrived. `answered` is false when absent. */
  Ambiguous: { readonly failure: Failure; readonly answered?: boolean }
}>
export const SendResult = Data.taggedEnum<SendResult>()

/** The platform has it. So many answers say so that it is written out: the constructor costs many times as much. */
export const accepted = (providerId: string | null, status: "accepted" | "sent"): SendResult => ({
  _tag: "Accepted",
  providerId,
  status
})

/** The platform surely does not have it: rejected, or to be tried again, as the failure says. */
export const refused = (failure: Failure, retryAfterMs: number | null = null, answered = true): SendResult =>
  failure.permanent
    ? SendResult.Rejected({ failure })
    : SendResult.Transient({ failure, retryAfterMs, answered })

/** True when the platform answered the attempt. */
export const isAnswered = (result: SendResult): boolean => {
  switch (result._tag) {
    case "Transient":
      return result.answered !== false
    case "Ambiguous":
      return result.answered === true
    default:
      return true
  }
}

/**
 * True when a failed {@link Sender.check} is the platform's answer: its reason is permanent, or one that the catalogue
 * knows, and not that the platform is unavailable.
 */
export const isCheckAnswered = ({ code, permanent }: Failure): boolean =>
  permanent || (code !== "provider_unavailable" && FailureCatalogue.find(code) !== undefined)

/** The platform was asked for something else than a send, and did not answer it. */
export class PlatformRefusal extends Data.TaggedError("PlatformRefusal")<{ readonly failure: Failure }> {
  override get message(): string {
    return this.failure.message
  }
}

/**
 * A text that a person sent to the session's number, or a button that they pressed. Times are believed only within five
 * minutes (`domain/Occurrence`), and texts are cut: a sender hands on what it was told.
 */
export interface InboundMessage {
  /** The platform's, which repeats a message under it. Null when it told none. */
  readonly id: string | null
  readonly sessionId: string
  /** The person's phone; null when the platform told none. */
  readonly from: string | null
  /** The platform's id of the person, where it has such ids. */
  readonly userId?: string | null
  readonly text: string
  /**
   * False where the text is a button's label or a picture's caption, and neither what the person wrote nor a button's
   * payload: it may revoke consent, and never grants it. True when absent.
   */
  readonly areOwnWords?: boolean
  /** The label of a pressed button, where that is not its text. It may revoke consent, and never grants it. */
  readonly label?: string | null
  /** Null when the platform told none. */
  readonly at: Instant | null
}

/** What a platform sent to us over HTTP. */
export interface HookRequest {
  readonly method: "GET" | "POST"
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** The bytes as they came: signatures are over these. */
  readonly body: Uint8Array
  readonly now: Instant
}

/** What the platform tells of a template, in lower case. */
export interface TemplateNews {
  readonly name: string
  readonly language: string
  readonly status?: string
  readonly quality?: string
}

/** A person's word on one kind of message, by another way than a text. */
export interface Preference {
  /** Tells its repetitions from others of the same person. Without one a revocation is recorded however often it comes. */
  readonly id?: string | null
  readonly phone: string | null
  readonly userId?: string | null
  /** Our message that it is said of: who got it is known here. */
  readonly messageId?: string | null
  readonly purpose: Purpose
  readonly status: "granted" | "revoked"
  /** Null when the platform told none. */
  readonly at: Instant | null
  readonly proof: string
}

/** News of who somebody is: a phone and a user id that were told together, or one that came in the place of another. */
export interface Acquaintance {
  readonly phone: string | null
  readonly userId: string | null
  /** Our message that they got, where their phone was not told. */
  readonly messageId?: string | null
  /** By what they were known before. */
  readonly formerly?: { readonly phone: string | null; readonly userId: string | null }
}

/** What a hook brought. */
export interface HookContent {
  readonly reports: ReadonlyArray<Report>
  readonly messages: ReadonlyArray<Omit<InboundMessage, "sessionId">>
  readonly preferences: ReadonlyArray<Preference>
  readonly people?: ReadonlyArray<Acquaintance>
  readonly templates: ReadonlyArray<TemplateNews>
  /** What could not be read, in words for the log; the rest is applied all the same. */
  readonly unread: ReadonlyArray<string>
  /** How much of it was for another session of the platform's, and is not here. */
  readonly foreign?: number
}

export type HookResult = Data.TaggedEnum<{
  /** A handshake: answered with this text. */
  Challenge: { readonly text: string }
  Content: HookContent
  /** It is not the platform's, or not of now; nothing of it was parsed. */
  Forged: { readonly reason: string }
  /** It is the platform's and cannot be read at all. */
  Malformed: { readonly reason: string }
}>
export const HookResult = Data.taggedEnum<HookResult>()

/** What a sender can do beside sending. Said honestly: what it says is relied upon. */
export interface Sender {
  /** Unique in an engine, and of the form of `Session.providerForm`. */
  readonly provider: Provider
  /**
   * Describes the members of a session's configuration to operators, in Markdown without a full stop: "`url` and `token`".
   * The host's `/openapi.json` quotes it.
   */
  readonly configDescription?: string
  /** Reads a session's configuration as it is given, with every fault by its field; without it there is none. */
  readonly configure?: (
    given: Readonly<Record<string, unknown>>
  ) => Either.Either<Readonly<Record<string, unknown>>, ReadonlyArray<Fault>>
  /** How fast the platform lets a session send, where its operator says nothing else. */
  readonly pacing?: (config: unknown) => Pacing
  /**
   * Asks the platform whether it knows us; null when it does. Before a session is connected, and before a message asks a
   * platform again that did not answer: where this gets no answer either, the message is not sent. Only a message that is
   * answered ends an outage.
   */
  readonly check?: (config: unknown) => Effect.Effect<Failure | null>
  /** All templates of the session in the platform's form, over all pages. */
  readonly templates?: (config: unknown) => Effect.Effect<ReadonlyArray<unknown>, PlatformRefusal>
  /** Within what the platform's ids of people mean somebody; within the session where this is absent. */
  readonly portfolio?: (config: unknown) => string
  /** Reads what the platform posted to the session's hook; thousands of items in turns of the event loop. */
  readonly receive?: (request: HookRequest, config: unknown) => Effect.Effect<HookResult>
  /** Whether the platform drops a second request under one message id, so that repeating it is harmless. */
  readonly deduplicates: boolean
  readonly send: (message: OutboundMessage) => Effect.Effect<SendResult>
  /**
   * For a platform that can be asked whether it has a message: null when it surely has not, `Ambiguous` when it
   * cannot tell yet. Asked before the next attempt when the last had no outcome.
   */
  readonly lookUp?: (message: OutboundMessage) => Effect.Effect<SendResult | null>
  /** For a platform that is asked for news instead of calling us: what has come by `now`, and when to ask again. */
  readonly poll?: (now: Instant) => Effect.Effect<{
    readonly reports: ReadonlyArray<Report>
    readonly messages: ReadonlyArray<InboundMessage>
    readonly nextAt: Instant | null
  }>
}

/** Whether a message whose attempt had no outcome may be tried again without being sent twice. */
export const canRecover = (sender: Sender): boolean => sender.deduplicates || sender.lookUp !== undefined

/** The senders that this engine has, by provider. */
export class Senders extends Context.Tag("@sendwright/core/sender/Senders")<
  Senders,
  ReadonlyMap<Provider, Sender>
>() {}

/** Finds the mistake in a list of senders; undefined when there is none. */
const mistakeIn = (senders: ReadonlyArray<Sender>): string | undefined => {
  const seen = new Set<Provider>()
  for (const { provider } of senders) {
    if (!providerForm.test(provider))
      return `A sender's \`provider\` must match ${providerForm.source}, and one is ${JSON.stringify(provider)}.`
    if (seen.has(provider))
      return `Two senders have the \`provider\` "${provider}": give one of them another name.`
    seen.add(provider)
  }
  return undefined
}

/** The given senders, one per provider. Two of one provider are a defect, and so is a name of another form. */
export const layer = (...senders: ReadonlyArray<Sender>): Layer.Layer<Senders> =>
  Layer.effect(
    Senders,
    Effect.suspend(() => {
      const mistake = mistakeIn(senders)
      return mistake === undefined
        ? Effect.succeed(new Map(senders.map((sender) => [sender.provider, sender])))
        : Effect.dieMessage(mistake)
    })
  )
