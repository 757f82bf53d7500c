import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as Json from "../../src/domain/Json.ts"
import * as HttpGateway from "../../src/sender/HttpGateway.ts"
import * as HttpPlatform from "../../src/testing/HttpPlatform.ts"
import * as SenderSuite from "../../src/testing/SenderSuite/index.ts"
import * as Signature from "../../src/webhook/Signature.ts"

const secret = "a-secret-of-the-gateway-that-nobody-may-see"
const token = "a-token-of-the-gateway-that-nobody-may-see"

const json = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body)
})

/** A gateway as docs/senders.md wants it: what is signed and new under its key is sent on. */
const gateway = Effect.gen(function* () {
  const taken = new Map<string, SenderSuite.Taken>()
  const { closedUrl, situations, url } = yield* HttpPlatform.make({
    about: ({ body }) => Json.textAt(Json.parse(body), "message_id"),
    answer: ({ body, headers }, mood) => {
      const timestamp = Number(headers["x-service-timestamp"])
      const ours =
        headers["x-service-signature"] === Signature.sign(secret, timestamp, body) &&
        headers["x-token"] === token
      if (!ours) return json(401, { error: { code: "not_ours", message: "Who are you?" } })
      if (mood === "refuses") {
        return json(422, { error: { code: "recipient_unreachable", message: "No such number." } })
      }
      if (mood === "busy") return json(429, {}, { "retry-after": "7" })
      const key = headers["idempotency-key"] ?? ""
      const message = Json.parse(body)
      const one = taken.get(key) ?? {
        messageId: Json.textAt(message, "message_id") ?? null,
        to: Json.textAt(message, "to") ?? "",
        content: body,
        providerId: `gateway-${taken.size + 1}`
      }
      taken.set(key, one)
      return json(200, { id: one.providerId, status: "accepted" })
    }
  })
  // What is ours to write is not theirs to change, however they write its name.
  const headers = { "x-token": token, "X-Service-Signature": "none", "idempotency-key": "none" }
  const config = { url: `${url}/send`, secret, headers, timeout_ms: 60_000 }
  const platform: SenderSuite.Platform = {
    config,
    required: ["url", "secret"],
    secrets: ["secret", "headers"],
    unreachable: { ...config, url: closedUrl },
    situations: { ...situations, holds: SenderSuite.absent("A gateway cannot say that it holds a message.") },
    retryAfterMs: 7000,
    taken: () => [...taken.values()],
    templates: null,
    hook: {
      signed: (body, at) => {
        const timestamp = Math.floor(at / Time.second)
        return {
          method: "POST",
          headers: {
            "x-service-timestamp": String(timestamp),
            "x-service-signature": Signature.sign(secret, timestamp, body)
          },
          query: {},
          body: new TextEncoder().encode(body),
          now: at
        }
      },
      delivered: ({ messageId }) =>
        JSON.stringify({ receipts: [{ message_id: messageId, status: "delivered" }] }),
      staleAfterMs: Signature.toleranceSeconds * Time.second
    },
    reports: null
  }
  return { sender: yield* HttpGateway.make(), platform }
})

SenderSuite.suite("http", gateway)
