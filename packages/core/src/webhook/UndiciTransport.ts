/**
 * Webhook deliveries over undici. The address policy is asked about the address that was really connected to,
 * before a byte is written: a name may resolve to anything by then, and a look-up hook is never called for an IP
 * literal. Redirects are not followed, and one timer bounds connecting, headers and body.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, buildConnector, request } from "undici"
import { AddressPolicy } from "./AddressPolicy.ts"
import type { WebhookAnswer } from "./WebhookTransport.ts"
import { excerptBytes, timeoutMs, WebhookTransport } from "./WebhookTransport.ts"

class AddressRefused extends Error {
  readonly code = "ADDRESS_REFUSED"
}

const guardedAgent = (allows: (address: string) => boolean): Agent => {
  const connect = buildConnector({ timeout: timeoutMs })
  return new Agent({
    connect: (options, callback) =>
      connect(options, (error, socket) => {
        if (error !== null) return callback(error, null)
        if (socket.remoteAddress !== undefined && allows(socket.remoteAddress)) return callback(null, socket)
        socket.destroy()
        return callback(new AddressRefused("The address is not allowed."), null)
      }),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs
  })
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

const unanswered = (error: unknown, timedOut: boolean): WebhookAnswer => {
  if (error instanceof AddressRefused) return { _tag: "Unanswered", reason: "address_refused" }
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  return { _tag: "Unanswered", reason: timedOut || code.endsWith("_TIMEOUT") ? "timeout" : "connection" }
}

export const layer: Layer.Layer<WebhookTransport, never, AddressPolicy> = Layer.scoped(
  WebhookTransport,
  Effect.gen(function* () {
    const policy = yield* AddressPolicy
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => guardedAgent(policy.allows)),
      (agent) => Effect.promise(() => agent.destroy())
    )
    return {
      post: ({ body, headers, url }) =>
        Effect.promise(async (interrupted): Promise<WebhookAnswer> => {
          const timeout = AbortSignal.timeout(timeoutMs)
          const signal = AbortSignal.any([interrupted, timeout])
          try {
            const answer = await request(url, { method: "POST", headers, body, dispatcher: agent, signal })
            const retryAfter = answer.headers["retry-after"]
            return {
              _tag: "Answered",
              status: answer.statusCode,
              retryAfter: typeof retryAfter === "string" ? retryAfter : null,
              excerpt: await excerpt(answer.body)
            }
          } catch (error) {
            return unanswered(error, timeout.aborted)
          }
        })
    }
  })
)
