/** The example receivers: each takes what is ours, once, and refuses the rest. */
import { Signature, type WebhookEvent } from "@sendwright/core"
import { afterEach, describe, expect, it } from "vitest"
import * as OnFastify from "../../examples/receivers/fastify.ts"
import * as OnNode from "../../examples/receivers/node-http.ts"
import * as OnWeb from "../../examples/receivers/web.ts"

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`
const id = "0198f0a0-0000-7000-8000-000000000001"
// Spaces and escapes that a parser would not give back.
const body = `{ "id":"${id}", "type":"webhook.test", "created_at":"2026-01-01T00:00:00.000Z", "data":{"n":1.0,"e":"\\u00e9"} }`

const signed = () => ({
  "content-type": "application/json",
  ...Signature.headers({
    id,
    timestamp: Math.floor(Date.now() / 1000),
    body,
    secrets: [secret],
    names: Signature.defaultHeaderNames
  })
})

type Post = (headers: Readonly<Record<string, string>>, body: string) => Promise<number>

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const receivers: Readonly<Record<string, (handle: (event: WebhookEvent) => void) => Promise<Post>>> = {
  "node:http": async (handle) => {
    const server = OnNode.receiver(secret, handle)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    closing.push(() => server.close())
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return async (headers, body) =>
      (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body })).status
  },
  Fastify: async (handle) => {
    const app = OnFastify.receiver(secret, handle)
    closing.push(() => app.close())
    return async (headers, payload) =>
      (await app.inject({ method: "POST", url: "/hooks", headers, payload })).statusCode
  },
  "a web-standard Request": async (handle) => {
    const receive = OnWeb.receiver(secret, handle)
    return async (headers, body) =>
      (await receive(new Request("http://receiver.example/", { method: "POST", headers, body }))).status
  }
}

describe.each(Object.keys(receivers))("a receiver on %s", (name) => {
  it("takes a delivery once, however often it comes, and refuses what is not ours", async () => {
    const events: Array<WebhookEvent> = []
    const post = await receivers[name]?.((event) => events.push(event))
    expect(await post?.(signed(), body)).toBe(204)
    expect(await post?.(signed(), body)).toBe(204)
    expect(await post?.(signed(), body.replace("1.0", "2.0"))).toBe(400)
    expect(await post?.({ "content-type": "application/json" }, body)).toBe(400)
    expect(events.map((event) => event.id)).toEqual([id])
  })

  it("answers 500 when it could not handle the event, so that it comes again", async () => {
    const post = await receivers[name]?.(() => {
      throw new Error("The database is down.")
    })
    expect(await post?.(signed(), body)).toBe(500)
  })
})
