/**
 * How a message leaves: one sender per provider. A sender makes one attempt and says what became of it; whether
 * and when to try again is the worker's decision. It is proven with `testing/SenderSuite`.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Instant } from "../domain/Instant.ts"
import type { Content } from "../domain/Job.ts"
import type { Failure } from "../domain/Recipient.ts"
import type { Provider } from "../domain/Session.ts"
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
}

/** What became of one attempt. */
export type SendResult = Data.TaggedEnum<{
  Accepted: { readonly providerId: string | null; readonly status: "accepted" | "sent" }
  /** The platform refused; the same request would be refused again. */
  Rejected: { readonly failure: Failure }
  /** The platform surely does not have it, and a later attempt may pass. */
  Transient: { readonly failure: Failure; readonly retryAfterMs: number | null }
  /** It may or may not have it: a time-out or reset after the request may have arrived. */
  Ambiguous: { readonly failure: Failure }
}>
export const SendResult = Data.taggedEnum<SendResult>()

/** A text that a person sent to the session's number. */
export interface InboundMessage {
  readonly id: string
  readonly sessionId: string
  readonly from: string
  readonly text: string
  readonly at: Instant
}

export interface Sender {
  readonly provider: Provider
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

/** The given senders, one per provider. */
export const layer = (...senders: ReadonlyArray<Sender>): Layer.Layer<Senders> =>
  Layer.succeed(Senders, new Map(senders.map((sender) => [sender.provider, sender])))
