/**
 * A gateway of your own behind the provider `http`: it verifies what Sendwright posts, sends each message once by its
 * Idempotency-Key, and posts signed receipts to the session's hook. Put your platform's call where `deliver` is.
 *
 *   GATEWAY_SECRET=… HOOK=http://127.0.0.1:8080/hooks/http/<session id> npx tsx examples/gateway.ts
 */
import { createServer, type Server } from "node:http"
import { Signature } from "@sendwright/core"
import { isMain } from "./support/isMain.ts"

export interface Outgoing {
  readonly message_id: string
  readonly to: string
  readonly type: "template" | "text"
  readonly template?: { readonly name: string; readonly rendered: { readonly body: string } }
  readonly text?: { readonly body: string }
}

export interface Gateway {
  readonly server: Server
  /** Reports what became of messages, signed as Sendwright signs. */
  readonly report: (body: {
    readonly receipts?: ReadonlyArray<unknown>
    readonly messages?: ReadonlyArray<unknown>
  }) => Promise<number>
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

export const gateway = (options: {
  readonly secret: string
  readonly hook: () => string
  /** Your platform's call: answers its id of the message. */
  readonly deliver: (message: Outgoing) => Promise<string>
}): Gateway => {
  const { deliver, hook, secret } = options
  // By Idempotency-Key: yours is a table, for as long as a message may come again.
  const sent = new Map<string, Promise<string>>()
  const server = createServer(async (request, response) => {
    try {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(chunk)
      const body = Buffer.concat(chunks)
      const timestamp = Signature.readTimestamp(String(request.headers["x-service-timestamp"])) ?? 0
      const signature = String(request.headers["x-service-signature"])
      const ours =
        Signature.isFresh(timestamp, nowSeconds()) &&
        Signature.matches([signature], [secret], (key) => Signature.sign(key, timestamp, body))
      if (!ours) return response.writeHead(401).end()
      const key = String(request.headers["idempotency-key"])
      const message: Outgoing = JSON.parse(body.toString("utf8"))
      const id = sent.get(key) ?? deliver(message)
      sent.set(key, id)
      response.writeHead(200, { "content-type": "application/json" })
      return response.end(JSON.stringify({ id: await id, status: "accepted" }))
    } catch {
      return response.writeHead(500).end()
    }
  })
  return {
    server,
    report: async (told) => {
      const body = JSON.stringify(told)
      const timestamp = nowSeconds()
      const headers = {
        "content-type": "application/json",
        "x-service-timestamp": String(timestamp),
        "x-service-signature": Signature.sign(secret, timestamp, body)
      }
      return (await fetch(hook(), { method: "POST", headers, body })).status
    }
  }
}

if (isMain(import.meta.url)) {
  const { GATEWAY_SECRET: secret, HOOK: hook } = process.env
  if (secret === undefined || hook === undefined) throw new Error("Set GATEWAY_SECRET and HOOK.")
  const { report, server } = gateway({
    secret,
    hook: () => hook,
    deliver: async ({ message_id, template, text, to }) => {
      console.log(to, text?.body ?? template?.rendered.body)
      setTimeout(() => report({ receipts: [{ message_id, status: "delivered" }] }), 100)
      return `gateway-${message_id}`
    }
  })
  server.listen(4000, "127.0.0.1")
}
