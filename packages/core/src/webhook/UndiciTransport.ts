/**
 * Sends webhook deliveries with undici: to public addresses only, without redirects, with one time limit for
 * connecting, headers and body, and without trace headers. If there is an egress proxy, it opens the connection and
 * must itself refuse private addresses; private addresses in the URL are refused here in any case.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { buildConnector } from "undici"
import * as Memo from "../domain/Memo.ts"
import * as HttpClient from "../http/HttpClient.ts"
import * as Reach from "../http/Reach.ts"
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

/** Loaded together with undici, on which they are built. */
const connector = async (
  allows: (address: string) => boolean,
  proxy: Options["proxy"],
  limitMs: number
): Promise<buildConnector.connector> => {
  if (proxy !== undefined) {
    const { make } = await import("./ProxyConnector.ts")
    return make(new URL(Redacted.value(proxy)), limitMs)
  }
  const { make } = await import("../http/GuardedConnector.ts")
  return make(allows, { timeoutMs: limitMs })
}

/** Whether receivers can be connected to, by the way that deliveries take; nothing is sent. */
export const reach = (options: Options = {}): Effect.Effect<Reach.Reach, never, AddressPolicy> =>
  Effect.map(AddressPolicy, ({ allows }) =>
    Reach.make(() => connector(allows, options.proxy, options.timeoutMs ?? timeoutMs))
  )

export const layer = (options: Options = {}): Layer.Layer<WebhookTransport, never, AddressPolicy> =>
  Layer.scoped(
    WebhookTransport,
    Effect.gen(function* () {
      const { allows, check } = yield* AddressPolicy
      const limitMs = options.timeoutMs ?? timeoutMs
      const exchange = yield* HttpClient.make({}, () => connector(allows, options.proxy, limitMs))
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
