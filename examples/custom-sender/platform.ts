/** Pigeon itself, on a free port of this machine: what the sender is tried against. */
import { Signature } from "@sendwright/core"
import { HttpPlatform } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"

export interface Message {
  readonly id: string
  readonly reference: string
  readonly to: string
  readonly text: string
}

const token = "a-token-that-nobody-may-see"
const hookSecret = "a-secret-that-signs-hooks"

const json = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers,
  body: JSON.stringify(body)
})

/** The headers of what it posts to a hook; at an instant in milliseconds. */
export const signed = (body: string, at: number): Readonly<Record<string, string>> => {
  const timestamp = Math.floor(at / 1000)
  return {
    "x-pigeon-timestamp": String(timestamp),
    "x-pigeon-signature": Signature.sign(hookSecret, timestamp, body)
  }
}

export const platform = Effect.gen(function* () {
  const messages: Array<Message> = []
  const http = yield* HttpPlatform.make({
    about: ({ body, path }) => (body === "" ? path.replace("/messages/", "") : JSON.parse(body).reference),
    answer: ({ body, headers, method, path }, mood) => {
      if (headers["authorization"] !== `Bearer ${token}`) return json(401, { error: "Who are you?" })
      if (method === "GET") {
        const found = messages.find(({ reference }) => path === `/messages/${reference}`)
        return found === undefined ? json(404, { error: "No such message." }) : json(200, found)
      }
      if (mood === "refuses") return json(400, { error: "No such number." })
      if (mood === "busy") return json(429, { error: "Slow down." }, { "retry-after": "7" })
      const message: Message = { id: `pigeon-${messages.length + 1}`, ...JSON.parse(body) }
      messages.push(message)
      return json(201, { id: message.id })
    }
  })
  return { ...http, config: { url: http.url, token, hook_secret: hookSecret }, messages }
})
