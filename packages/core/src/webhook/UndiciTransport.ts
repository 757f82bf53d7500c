/**
 * Webhook deliveries over undici: to public addresses only, without redirects, one time limit for connecting, headers
 * and body, and nothing of the caller's trace in the headers. An egress proxy, where there is one, connects in our
 * place and is then who must refuse inside addresses; those that the URL itself names are refused here all the same.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Memo from "../domain/Memo.ts"
import * as HttpClient from "../http/HttpClient.ts"
import { AddressPolicy } from "./AddressPolicy.ts"
import type { WebhookAnswer } from "./WebhookTransport.ts"
import { excerptBytes, timeoutMs, WebhookTransport } from "./WebhookTransport.ts"

export interface Options {
  /** An HTTP proxy that every delivery goes through, by CONNECT; it may carry a user and a password. */
  readonly proxy?: Redacted.Redacted<string> | undefined
  /** For connecting, headers and body together, a whole number; {@link timeoutMs} unless said otherwise. */
  readonly timeoutMs?: number | undefined
}

/** Of how many URLs it is kept whether they may be asked. */
const cachedVerdicts = 1000

const addressRefused: WebhookAnswer = { _tag: "Unanswered", reason: "address_refused", status: null }

const answerOf = (exchanged: HttpClient.Exchanged): WebhookAnswer => {
  if (exchanged._tag === "Answered") {
    const { body: excerpt, retryAfter, status } = exchanged
    return { _tag: "Answered", status, retryAfter, excerpt }
  }
  const { reason } = exchanged
  if (reason === HttpClient.addressRefused) return addressRefused
  const late = reason === HttpClient.timeout || reason.endsWith("_TIMEOUT")
  const status = exchanged._tag === "Lost" ? exchanged.status : null
  return { _tag: "Unanswered", reason: late ? "timeout" : "connection", status }
}

export const layer = (options: Options = {}): Layer.Layer<WebhookTransport, never, AddressPolicy> =>
  Layer.scoped(
    WebhookTransport,
    Effect.gen(function* () {
      const { allows, check } = yield* AddressPolicy
      const limitMs = options.timeoutMs ?? timeoutMs
      // With undici, which they are made of.
      const connector = async () => {
        if (options.proxy !== undefined) {
          const { make } = await import("./ProxyConnector.ts")
          return make(new URL(Redacted.value(options.proxy)), limitMs)
        }
        const { make } = await import("../http/GuardedConnector.ts")
        return make(allows, { timeoutMs: limitMs })
      }
      const exchange = yield* HttpClient.make({}, connector)
      const verdicts = Memo.make<boolean>(cachedVerdicts)
      /** The policy is the same for as long as we live: what it says of a URL it says again of the same one. */
      const mayBeAsked = (url: string): boolean => verdicts(url, () => check(url) === undefined)
      return {
        post: ({ body, headers, url }) =>
          mayBeAsked(url)
            ? Effect.map(
                exchange({
                  method: "POST",
                  url,
                  headers,
                  body,
                  timeoutMs: limitMs,
                  maximumBytes: excerptBytes
                }),
                answerOf
              )
            : Effect.succeed(addressRefused)
      }
    })
  )
