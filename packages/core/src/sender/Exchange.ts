/**
 * One HTTP exchange with a platform, and what is known of it afterwards: whether it surely never arrived, was answered,
 * or may have arrived. That is why it is undici itself: what is above it does not say at which moment it failed.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Agent, request } from "undici"
import type { Failure } from "../domain/Recipient.ts"
import { SendResult } from "./Sender.ts"

export interface ExchangeRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** For all of it: name, connection, headers and body. */
  readonly timeoutMs: number
  /** Of the answer's body, in bytes: the rest is not read. */
  readonly maximumBytes: number
}

export type Exchanged = Data.TaggedEnum<{
  Answered: {
    readonly status: number
    /** As it came. */
    readonly retryAfter: string | null
    /** UTF-8; cut at the maximum. */
    readonly body: string
  }
  /** Nothing was sent: no name, no connection, no TLS. */
  Unsent: { readonly reason: string }
  /** It was sent, or some of it, and no whole answer came. */
  Lost: { readonly reason: string }
}>
export const Exchanged = Data.taggedEnum<Exchanged>()

export type Exchange = (request: ExchangeRequest) => Effect.Effect<Exchanged>

const read = async (
  body: AsyncIterable<Buffer> & { readonly destroy: () => unknown },
  maximum: number
): Promise<string> => {
  const chunks: Array<Buffer> = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= maximum) break
  }
  body.destroy()
  return Buffer.concat(chunks).subarray(0, maximum).toString("utf8")
}

/** undici's and Node's words for what ends before the first byte. */
const beforeSending = new Set([
  "ENOTFOUND",
  "EAI_AGAIN",
  "EAI_NODATA",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "EPROTO"
])

const codeOf = (error: unknown): string => {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && "code" in error ? String(error.code) : "error"
}

/** Connections are kept for as long as the scope lives. */
export const make: Effect.Effect<Exchange, never, Scope.Scope> = Effect.gen(function* () {
  const dispatcher = yield* Effect.acquireRelease(
    Effect.sync(
      () => new Agent({ connections: 256, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } })
    ),
    (agent) => Effect.promise(() => agent.destroy())
  )
  return ({ maximumBytes, timeoutMs, url, ...options }) =>
    Effect.promise(async (signal): Promise<Exchanged> => {
      try {
        const { body, headers, statusCode: status } = await request(url, { ...options, dispatcher, signal })
        const retryAfter = headers["retry-after"]
        return Exchanged.Answered({
          status,
          retryAfter: typeof retryAfter === "string" ? retryAfter : null,
          body: await read(body, maximumBytes)
        })
      } catch (error) {
        const code = codeOf(error)
        return beforeSending.has(code) ? Exchanged.Unsent({ reason: code }) : Exchanged.Lost({ reason: code })
      }
    }).pipe(
      Effect.timeoutTo({
        duration: timeoutMs,
        onSuccess: (exchanged) => exchanged,
        onTimeout: () => Exchanged.Lost({ reason: "timeout" })
      })
    )
})

/** A platform that was not reached: trying again does no harm. */
export const unreachable = (reason: string): Failure => ({
  code: "provider_unreachable",
  provider_code: null,
  message: `The platform could not be reached (${reason}).`,
  permanent: false
})

/** A platform that may have the message. */
export const unanswered = (reason: string): Failure => ({
  code: "outcome_unknown",
  provider_code: null,
  message: `The platform did not answer (${reason}); it may have the message.`,
  permanent: false
})

/** What may pass: the platform answered, and surely did not take it (RFC 9110 §15.5.9, §15.6; RFC 6585 §4). */
export const mayPass = (status: number): boolean => status === 408 || status === 429 || status >= 500

/** What became of an attempt; what an answer says is the sender's to tell. */
export const meaning = (
  exchanged: Exchanged,
  answered: (answer: Extract<Exchanged, { readonly _tag: "Answered" }>) => SendResult
): SendResult => {
  switch (exchanged._tag) {
    case "Unsent":
      return SendResult.Transient({ failure: unreachable(exchanged.reason), retryAfterMs: null })
    case "Lost":
      return SendResult.Ambiguous({ failure: unanswered(exchanged.reason) })
    case "Answered":
      return answered(exchanged)
  }
}
