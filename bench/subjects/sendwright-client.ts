/**
 * What leaves Sendwright. Given: the gateway's port, and which: "webhook" posts a body that is made before, "signed"
 * the same with the signature of a webhook, "http" is the sender of that provider, which writes, signs and reads its
 * messages, "whatsapp" the one of the Cloud API, which signs nothing.
 */
import {
  AddressPolicy,
  HttpGateway,
  type Sender,
  Signature,
  UndiciTransport,
  WebhookTransport,
  WhatsApp
} from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { expose } from "../Child.ts"
import { atOnce, type Client } from "./Client.ts"
import { messagesPath } from "./Gateway.ts"
import { body, template } from "./Message.ts"

const [port = "", kind = ""] = process.argv.slice(2)
const base = `http://127.0.0.1:${port}`
const url = base + messagesPath
const secret = "whsec_0123456789abcdef0123456789abcdef"
const json = { "content-type": "application/json", "user-agent": "Sendwright-Webhooks/1" }

const sending = (sender: Sender.Sender, given: Readonly<Record<string, unknown>>) => (n: number) =>
  Effect.flatMap(
    sender.send({
      messageId: `0190a1b2-0000-7000-8000-${String(n).padStart(12, "0")}`,
      sessionId: "0190a1b2-0000-7000-8000-000000000001",
      to: "34612345678",
      userId: null,
      content: { kind: "template", templateId: 1, template },
      values: [`Name ${n}`],
      attempt: 1,
      config: given
    }),
    (result) => (result._tag === "Accepted" ? Effect.void : Effect.die(JSON.stringify(result)))
  )

const posting = (headersOf: () => Readonly<Record<string, string>>) =>
  Effect.map(
    WebhookTransport.WebhookTransport,
    ({ post }) =>
      () =>
        Effect.flatMap(post({ url, headers: headersOf(), body }), (answer) =>
          answer._tag === "Answered" && answer.status === 200
            ? Effect.void
            : Effect.die(JSON.stringify(answer))
        )
  )

/** Written as the worker of deliveries does. */
const signed = (): Readonly<Record<string, string>> => ({
  "content-type": "application/json",
  "user-agent": "Sendwright-Webhooks/1",
  ...Signature.headers({
    id: "0190a1b2-0000-7000-8000-000000000000",
    timestamp: Math.floor(Date.now() / 1000),
    body,
    secrets: [secret],
    names: Signature.defaultHeaderNames
  })
})

const clients = {
  webhook: posting(() => json),
  signed: posting(signed),
  http: Effect.map(HttpGateway.make(), (sender) =>
    sending(sender, { url, secret, headers: {}, timeout_ms: 10_000 })
  ),
  whatsapp: Effect.map(WhatsApp.make(), (sender) =>
    sending(sender, {
      phone_number_id: "1",
      waba_id: "1",
      access_token: "token-0123456789",
      app_secret: secret,
      verify_token: "verify",
      base_url: base
    })
  )
} as const

/** As the workers do it: fibers that stay, each with one after the other. */
const during = (ms: number, one: (n: number) => Effect.Effect<void>) =>
  Effect.suspend(() => {
    const began = performance.now()
    let count = 0
    const each = Effect.whileLoop({
      while: () => performance.now() - began < ms,
      body: () => {
        count += 1
        return one(count)
      },
      step: () => {}
    })
    const all = Effect.all(
      Array.from({ length: atOnce }, () => each),
      { concurrency: "unbounded", discard: true }
    )
    return Effect.map(all, () => (count * 1000) / (performance.now() - began))
  })

const isKnown = (name: string): name is keyof typeof clients => name in clients

const program = Effect.gen(function* () {
  const one = yield* isKnown(kind) ? clients[kind] : Effect.dieMessage(`There is no client ${kind}`)
  const run = Runtime.runPromise(yield* Effect.runtime())
  expose<Client>({ post: (ms) => run(during(ms, one)) })
  yield* Effect.never
})

const network = AddressPolicy.parseNetwork("127.0.0.0/8")
const transport = UndiciTransport.layer().pipe(
  Layer.provide(AddressPolicy.layer(network === undefined ? [] : [network]))
)
await Effect.runPromise(Effect.scoped(Effect.provide(program, transport)))
