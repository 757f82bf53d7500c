/** Everything that leaves over HTTP survives what a proxy says before the answer. */
import { createServer, type Socket } from "node:net"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as HttpGateway from "../../src/sender/HttpGateway.ts"
import type { OutboundMessage, Sender } from "../../src/sender/Sender.ts"
import * as WhatsApp from "../../src/sender/WhatsApp.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import * as UndiciTransport from "../../src/webhook/UndiciTransport.ts"
import { WebhookTransport } from "../../src/webhook/WebhookTransport.ts"

const interim = [
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 102 Processing\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
]

/** Says all of them, one after the other, and then answers 200 with this body. */
const platform = (body: string) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => {})
        socket.on("data", async () => {
          for (const each of interim) {
            socket.write(each)
            await new Promise((resolve) => setImmediate(resolve))
          }
          socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" ? address?.port : 0
        const close = () => {
          for (const socket of sockets) socket.destroy()
          server.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const sent = (sender: Sender, given: Readonly<Record<string, unknown>>) => {
  const message: OutboundMessage = {
    messageId: "01980000-0000-7000-8000-000000000001",
    sessionId: "session",
    to: "34600000001",
    userId: null,
    content: { kind: "direct", text: "Hello", linkPreview: false },
    values: [],
    attempt: 1,
    config: Either.getOrThrow(sender.configure?.(given) ?? Either.right({}))
  }
  return Effect.all([sender.send(message), sender.send(message)])
}

it.scopedLive("a gateway may announce its answer", () =>
  Effect.gen(function* () {
    const { url } = yield* platform('{"id":"g-1"}')
    const results = yield* sent(yield* HttpGateway.make(), { url, secret: "a-secret-of-the-gateway" })
    for (const result of results) expect(result).toMatchObject({ _tag: "Accepted", providerId: "g-1" })
  })
)

it.scopedLive("WhatsApp may announce its answer", () =>
  Effect.gen(function* () {
    const { url } = yield* platform('{"messages":[{"id":"wamid.1"}]}')
    const results = yield* sent(yield* WhatsApp.make(), {
      phone_number_id: "1",
      waba_id: "2",
      access_token: "token",
      app_secret: "secret",
      verify_token: "verify",
      base_url: url
    })
    for (const result of results) expect(result).toMatchObject({ _tag: "Accepted", providerId: "wamid.1" })
  })
)

it.scopedLive("a webhook receiver may announce its answer", () =>
  Effect.gen(function* () {
    const { url } = yield* platform("thanks")
    const network = AddressPolicy.parseNetwork("127.0.0.1/32")
    const transport = Layer.provide(
      UndiciTransport.layer(),
      AddressPolicy.layer(network === undefined ? [] : [network])
    )
    const post = Effect.flatMap(WebhookTransport, (each) => each.post({ url, headers: {}, body: "{}" }))
    const answers = yield* Effect.provide(Effect.all([post, post]), transport)
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, excerpt: "thanks" })
  })
)
