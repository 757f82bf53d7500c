/**
 * How a message is sent: one sender per provider. A sender makes one attempt and reports its result; the worker
 * decides whether and when to try again. `testing/SenderSuite` tests a sender's promises.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Address from "../domain/Address.ts"
import type { Purpose } from "../domain/consent/Consent.ts"
import type { Fault } from "../domain/Fault.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Content } from "../domain/job/Job.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import type { ClosedMarket } from "../domain/session/ClosedMarkets.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Pacing } from "../domain/session/Pacing.ts"
import { type Announced, type Provider, providerForm } from "../domain/session/Session.ts"
import type { Why } from "../domain/template/Template.ts"
import type { Report } from "../storage/JobStore.ts"

/** One message to one recipient. */
export interface OutboundMessage {
  /** The same in every attempt, crash and restart. A platform that deduplicates gets it as the key. */
  readonly messageId: string
  readonly sessionId: string
  /** A number of digits; where none is known the user id. */
  readonly to: string
  /** The platform's id of the person; null where the account names none. */
  readonly userId: string | null
  readonly content: Content
  /** Resolved values in the order of the template's variables. */
  readonly values: ReadonlyArray<string>
  /** Counting this one, from 1. */
  readonly attempt: number
  /** W3C's header for a platform that traces, too: this attempt's span, or the one that asked for the message. Absent where nobody traces. */
  readonly traceparent?: string
  /** The session's configuration, as {@link Sender.configure} made it. */
  readonly config: unknown
}

/** The names of whom a message is for. */
export const recipientOf = (address: Address.Address): Pick<OutboundMessage, "to" | "userId"> => {
  const { phone, userId } = Address.personOf(address)
  return { to: phone ?? userId ?? "", userId }
}

/** The names that a platform gives somebody, as it writes them. */
export interface Named {
  readonly phone: string | null
  readonly userId: string | null
}

/**
 * The result of one attempt. `answered` says whether the platform answered at all: false when it was not reached, did
 * not answer in time, or reported a server error (5xx). Twenty such attempts of a session in a row, or half a minute
 * of them, are an outage (contract.md §10): its jobs pause until one message gets an answer. It must be true if the
 * message alone is the cause.
 */
export type SendResult = Data.TaggedEnum<{
  /** `named`: whom the platform names as the one who gets it, where it names another number than `to`, or a user id. */
  Accepted: {
    readonly providerId: string | null
    readonly status: "accepted" | "sent"
    readonly named?: Named
  }
  /** The platform has it and looks at it first, for this reason; a receipt says what became of it. */
  Held: { readonly providerId: string | null; readonly failure: Failure; readonly named?: Named }
  /** The platform refused; the same request would be refused again. */
  Rejected: { readonly failure: Failure }
  /** The platform surely does not have it, and a later attempt may pass. `answered` is true when absent. */
  Transient: {
    readonly failure: Failure
    readonly retryAfterMs: number | null
    readonly answered?: boolean
  }
  /**
   * The platform may or may not have the message: a time-out or reset came after the request may have arrived.
   * `answered` is false when absent.
   */
  Ambiguous: { readonly failure: Failure; readonly answered?: boolean }
}>
export const SendResult = Data.taggedEnum<SendResult>()

/**
 * The platform has the message. Written out, because so many answers are of this kind and the constructor costs many
 * times as much.
 */
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

/** A request other than a send failed: the platform refused it or did not answer. */
export class PlatformRefusal extends Data.TaggedError("PlatformRefusal")<{ readonly failure: Failure }> {
  override get message(): string {
    return this.failure.message
  }
}

/**
 * A text that a person sent to the session's number, or a button that they pressed. The sender passes the platform's
 * values on: the engine checks times (`domain/Occurrence`) and cuts texts.
 */
export interface InboundMessage {
  /** The platform's id of the message, which a repetition has again. Null when the platform gave none. */
  readonly id: string | null
  readonly sessionId: string
  /** The person's phone; null when the platform told none. */
  readonly from: string | null
  /** The platform's id of the person, where it has such ids. */
  readonly userId?: string | null
  readonly text: string
  /**
   * False when the text is a button's label or a picture's caption, and neither written by the person nor a button's
   * payload: it may revoke consent, and never grants it. True when absent.
   */
  readonly areOwnWords?: boolean
  /** The label of a pressed button, where that is not its text. It may revoke consent, and never grants it. */
  readonly label?: string | null
  /** The platform's name of its kind, such as `reaction`. */
  readonly type?: string | null
  /** The payload of a pressed button, or the id of a chosen row. */
  readonly payload?: string | null
  /** The platform's object for it, by its kind; null where there is none. */
  readonly content?: unknown
  /** The platform's id of the message that it answers. */
  readonly contextId?: string | null
  /** The platform's id of the group in which it was said. */
  readonly groupId?: string | null
  /** True when an advertisement brought them, and answers are free of charge for three days. */
  readonly isReferred?: boolean
  /**
   * True when somebody else holds the conversation, such as the platform's own agent: it is read for consent and for who
   * is who, and told to nobody.
   */
  readonly isAside?: boolean
  /** Null when the platform told none. */
  readonly at: Instant | null
}

/** A request that a platform sent to us over HTTP. */
export interface HookRequest {
  readonly method: "GET" | "POST"
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** The bytes as they came: signatures are over these. */
  readonly body: Uint8Array
  readonly now: Instant
}

/** The platform's news of a template, in lower case. A field that is absent stays as it was. */
export interface TemplateNews {
  /** The platform's own id of it, which goes before the name and the language. */
  readonly platformId?: string | null
  readonly name: string
  readonly language: string
  readonly status?: string
  readonly quality?: string
  readonly category?: string
  /** The category that the platform is going to give it; null when that is over. */
  readonly correctCategory?: string | null
  /** Why it has its status; null where the platform says none. */
  readonly why?: Why | null
  /** True when its content is another than it was. */
  readonly isChanged?: boolean
  /** When the platform said it; null or absent = now. */
  readonly at?: Instant | null
  /** The part of the hook that tells it, for when the session has no such template. */
  readonly origin?: Omit<UnreadPart, "reason">
}

/** The platform's news of a session's account or number. */
export interface SessionNews {
  /** The platform's name for this kind of news. */
  readonly kind: string
  /** The platform's object. */
  readonly news: unknown
  /** Null when the platform told none. */
  readonly at: Instant | null
  /** Why nothing more can be sent over the session, which is disconnected for it; null when that is not so. */
  readonly disconnects: string | null
  /** True when the platform ends a disconnection that it had told of. */
  readonly reinstates?: boolean
  /** Until when it restricts these (`Session.Announced`). */
  readonly restricts?: Announced["restricts"]
  /** The refusals that it tells; what they ask of the session is done as if an attempt had met them. */
  readonly failures?: ReadonlyArray<Failure>
  /** The number that alone it is about, as the platform writes it. Absent = all of the account. */
  readonly number?: string
}

/** A person's consent or refusal for one kind of message, reported in another way than by a text. */
export interface Preference {
  /**
   * Distinguishes its repetitions from other preferences of the same person. Without an id each repetition of a
   * revocation is recorded.
   */
  readonly id?: string | null
  readonly phone: string | null
  readonly userId?: string | null
  /** Our message to which the person reacted, which identifies the person. */
  readonly messageId?: string | null
  readonly purpose: Purpose
  readonly status: "granted" | "revoked"
  /** Null when the platform told none. */
  readonly at: Instant | null
  readonly proof: string
}

/**
 * A report about a person's identity: a phone and a user id that were reported together, or one that replaced
 * another.
 */
export interface Acquaintance extends Named {
  /** Our message that they got, where their phone was not told. */
  readonly messageId?: string | null
  /** The address that a message of ours was sent to which this person got, or answered. */
  readonly asked?: Address.Address
  /** The name of the person before the change. */
  readonly formerly?: Named
  /** When the platform told it; absent = now. */
  readonly at?: Instant | null
}

/** A contact of a person with the session beside messages to it. */
export interface Contact extends Named {
  /** `call`: they called, or took a call; it opens the window. `answer`: another app or an agent wrote to them. */
  readonly kind: "call" | "answer"
  /** True when somebody else holds the conversation. */
  readonly isAside?: boolean
  /** Null when the platform told none. */
  readonly at: Instant | null
}

/** A part of a hook that was not understood, as it came. */
export interface UnreadPart {
  /** The platform's name for this kind of news. */
  readonly field: string
  /** The reason why the part was not understood, in a few words that hold for every part of its kind. */
  readonly reason: string
  readonly content: unknown
}

/** The contents of a post to a hook. */
export interface HookContent {
  readonly reports: ReadonlyArray<Report>
  readonly messages: ReadonlyArray<Omit<InboundMessage, "sessionId">>
  readonly preferences: ReadonlyArray<Preference>
  readonly people?: ReadonlyArray<Acquaintance>
  readonly contacts?: ReadonlyArray<Contact>
  readonly templates: ReadonlyArray<TemplateNews>
  readonly session?: ReadonlyArray<SessionNews>
  /** The parts that were not understood, which are kept for the operator; the rest is applied. */
  readonly unread: ReadonlyArray<UnreadPart>
  /**
   * All that the post tells of sessions by the platform's names of them ({@link Sender.addresses}): also of others, whose
   * hook the platform does not know. What stands above is the session's own part of it.
   */
  readonly addressed?: ReadonlyArray<Addressed>
}

/** The part of a post that is for the sessions of one address. */
export interface Addressed {
  readonly address: string
  readonly content: Omit<HookContent, "addressed">
  /** The same as it came, for when no session has the address. */
  readonly parts: ReadonlyArray<UnreadPart>
}

export type HookResult = Data.TaggedEnum<{
  /** A handshake: answered with this text. */
  Challenge: { readonly text: string }
  Content: HookContent
  /** The request is not the platform's, or not of now; nothing of it was parsed. */
  Forged: { readonly reason: string }
  /** The request is the platform's and cannot be read at all. */
  Malformed: { readonly reason: string }
}>
export const HookResult = Data.taggedEnum<HookResult>()

/** A sender and its abilities. The engine relies on what a sender declares here. */
export interface Sender {
  /** Unique in an engine, and of the form of `Session.providerForm`. */
  readonly provider: Provider
  /**
   * Describes the members of a session's configuration to operators, in Markdown without a full stop: "`url` and `token`".
   * The host's `/openapi.json` quotes it.
   */
  readonly configDescription?: string
  /** Reads a session's configuration, with every fault by its field. A sender without it has no configuration. */
  readonly configure?: (
    given: Readonly<Record<string, unknown>>
  ) => Either.Either<Readonly<Record<string, unknown>>, ReadonlyArray<Fault>>
  /** How fast the platform lets a session send, where its operator says nothing else. */
  readonly pacing?: (config: unknown) => Pacing
  /**
   * Asks the platform whether it knows us; null when it does. Called before a session is connected, and before a
   * message probes a platform after an outage: if the check gets no answer, the message is not sent. Only an answered
   * message ends an outage.
   */
  readonly check?: (config: unknown) => Effect.Effect<Failure | null>
  /**
   * Connects to the platform and sends nothing; null when that can be done. For one that cannot be asked ({@link check}), so that
   * an operator is told whether it can be reached.
   */
  readonly reach?: (config: unknown) => Effect.Effect<Failure | null>
  /** All templates of the session in the platform's form, over all pages. */
  readonly templates?: (config: unknown) => Effect.Effect<ReadonlyArray<unknown>, PlatformRefusal>
  /** Markets to which the platform delivers nothing of a category, where the session has no list of its own. */
  readonly closedMarkets?: ReadonlyArray<ClosedMarket>
  /** One template in the platform's form, as it is there now; null when the platform has none of this name and language. */
  readonly template?: (
    config: unknown,
    template: { readonly name: string; readonly language: string }
  ) => Effect.Effect<unknown, PlatformRefusal>
  /** True of a platform that takes free text to a person only for a day after their last message. */
  readonly hasWindow?: boolean
  /** The scope of the platform's user ids; the session when this is absent. */
  readonly portfolio?: (config: unknown) => string
  /**
   * The platform's names of a session, for a platform that posts the news of several sessions to the hook of one of them.
   * Addresses are stored in plain text.
   */
  readonly addresses?: (config: unknown) => ReadonlyArray<string>
  /** True when the session has the number, as the platform writes numbers; null when that cannot be told now. */
  readonly hasNumber?: (config: unknown, number: string) => Effect.Effect<boolean | null>
  /** True when a post is signed by a secret of this session, so that it is believed of it whatever hook it came to. */
  readonly isSigned?: (request: HookRequest, config: unknown) => boolean
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
  /** For a platform that is polled and does not call us: the news by `now`, and when to poll again. */
  readonly poll?: (now: Instant) => Effect.Effect<{
    readonly reports: ReadonlyArray<Report>
    readonly messages: ReadonlyArray<InboundMessage>
    readonly nextAt: Instant | null
  }>
  /**
   * For a platform that lives in this process, and forgot at the end of the last one what it had still to report: messages
   * that it took then, or may have taken. Told when the loops start. Some may be reported already, or by another process.
   */
  readonly resume?: (unreported: ReadonlyArray<UnreportedMessage>) => Effect.Effect<void>
}

/** A message of which a platform may have more to report. */
export interface UnreportedMessage
  extends Pick<OutboundMessage, "messageId" | "sessionId" | "to" | "userId"> {
  /** False while nobody knows whether the platform took it. */
  readonly wasAccepted: boolean
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
