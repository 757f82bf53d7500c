/**
 * Webhook deliveries over undici: to public addresses only, without redirects, one timer for connecting, headers and
 * body, and nothing of the caller's trace in the headers. An egress proxy, where there is one, connects in our place
 * and is then who must refuse inside addresses; those that the URL itself names are refused here all the same.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Dispatcher } from "undici"
import { Agent, request } from "undici"
import { AddressPolicy } from "./AddressPolicy.ts"
import * as GuardedConnector from "./GuardedConnector.ts"
import * as ProxyConnector from "./ProxyConnector.ts"
import type { WebhookAnswer } from "./WebhookTransport.ts"
import { excerptBytes, timeoutMs, WebhookTransport } from "./WebhookTransport.ts"

export interface Options {
  /** An HTTP proxy that every delivery goes through, by CONNECT; it may carry a user and a password. */
  readonly proxy?: Redacted.Redacted<string> | undefined
  /** For connecting, headers and body together; {@link timeoutMs} unless said otherwise. */
  readonly timeoutMs?: number | undefined
}

const dispatcherOf = (allows: GuardedConnector.Allows, { proxy }: Options, timeoutMs: number): Dispatcher => {
  const connect =
    proxy === undefined
      ? GuardedConnector.make(allows, { timeoutMs })
      : ProxyConnector.make(new URL(Redacted.value(proxy)), timeoutMs)
  return new Agent({ connect, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
}

/** The start of the body; the rest is not read. */
const excerpt = async (body: AsyncIterable<Buffer> & { destroy: () => unknown }): Promise<string> => {
  const chunks: Array<Buffer> = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= excerptBytes) break
  }
  body.destroy()
  return Buffer.concat(chunks).subarray(0, excerptBytes).toString("utf8")
}

/** undici heeds the signal from the connection on; who waits is answered whatever it does. */
const ended = (signal: AbortSignal, asked: Promise<Dispatcher.ResponseData>): Promise<never> =>
  new Promise((_, reject) => {
    const end = (): void => {
      asked.then(
        ({ body }) => body.destroy(),
        () => {}
      )
      reject(signal.reason)
    }
    if (signal.aborted) end()
    else signal.addEventListener("abort", end, { once: true })
  })

const unanswered = (error: unknown, timedOut: boolean, status: number | null): WebhookAnswer => {
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  const refused = code === "ADDRESS_REFUSED"
  const late = timedOut || code.endsWith("_TIMEOUT")
  return { _tag: "Unanswered", reason: refused ? "address_refused" : late ? "timeout" : "connection", status }
}

export const layer = (options: Options = {}): Layer.Layer<WebhookTransport, never, AddressPolicy> =>
  Layer.scoped(
    WebhookTransport,
    Effect.gen(function* () {
      const policy = yield* AddressPolicy
      const limitMs = options.timeoutMs ?? timeoutMs
      const dispatcher = yield* Effect.acquireRelease(
        Effect.sync(() => dispatcherOf(policy.allows, options, limitMs)),
        (dispatcher) => Effect.promise(() => dispatcher.destroy())
      )
      return {
        post: ({ body, headers, url }) =>
          Effect.promise(async (interrupted): Promise<WebhookAnswer> => {
            if (policy.check(url) !== undefined)
              return unanswered(new GuardedConnector.AddressRefused(), false, null)
            const timeout = AbortSignal.timeout(limitMs)
            const signal = AbortSignal.any([interrupted, timeout])
            let status: number | null = null
            try {
              const asked = request(url, { method: "POST", headers, body, dispatcher, signal })
              const answer = await Promise.race([asked, ended(signal, asked)])
              status = answer.statusCode
              const retryAfter = answer.headers["retry-after"]
              return {
                _tag: "Answered",
                status,
                retryAfter: typeof retryAfter === "string" ? retryAfter : null,
                excerpt: await excerpt(answer.body)
              }
            } catch (error) {
              return unanswered(error, timeout.aborted, status)
            }
          })
      }
    })
  )
