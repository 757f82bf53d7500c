/**
 * Sends webhook deliveries with undici: to public addresses only, without redirects, with one time limit for
 * connecting, headers and body, and without trace headers. If there is an egress proxy, it opens the connection and
 * must itself refuse private addresses; private addresses in the URL are refused here in any case.
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

/** The number of URLs whose verdict is cached. */
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
      // Loaded together with undici, on which they are built.
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
      /** Cached, since the policy never changes during the transport's lifetime. */
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
