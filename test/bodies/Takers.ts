/**
 * Every route that takes a body, with one that it takes, asked in this process on SQLite. Made from what is served: a
 * new route without an example is told by `without`.
 */
import { createHmac } from "node:crypto"
import {
  AddressPolicy,
  Engine,
  HttpGateway,
  Sandbox,
  SecretBox,
  Sender,
  Signature,
  WhatsApp
} from "@sendwright/core"
import { Sqlite } from "@sendwright/core/sqlite"
import { RecordingTransport } from "@sendwright/core/testing"
import { Routes, Steps } from "@sendwright/http/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MutableRef from "effect/MutableRef"
import * as Redacted from "effect/Redacted"

export interface Taker {
  /** Method and pattern. */
  readonly name: string
  readonly method: string
  readonly url: string
  /** A hook's body is looked at by the session's sender. */
  readonly isHook: boolean
  readonly headers: (bytes: Uint8Array) => Readonly<Record<string, string>>
  /** A new one each time, since some may come once. */
  readonly example: () => object
}

export interface Told {
  readonly status: number
  readonly contentType: string | undefined
  readonly json: unknown
}

/** An engine with every sender on a database in memory, or in a file. */
export const engine = (
  filename = ":memory:"
): Layer.Layer<Engine.Engine, Layer.Layer.Error<ReturnType<typeof Engine.layer | typeof Sqlite.layer>>> =>
  Engine.layer().pipe(
    Layer.provide(Sqlite.layer({ filename })),
    Layer.provide(RecordingTransport.layer),
    Layer.provide(
      Layer.unwrapScoped(
        Effect.map(Effect.all([HttpGateway.make(), WhatsApp.make()]), (senders) =>
          Sender.layer(Sandbox.make({ latencyMs: 0, receiptDelayMs: 0, resolutionDelayMs: 0 }), ...senders)
        )
      )
    ),
    Layer.provide(SecretBox.layerRandom),
    Layer.provide(AddressPolicy.layer([]))
  )

const gatewaySecret = "0123456789abcdef0123456789abcdef"
const appSecret = "app secret"
const numberId = "106540352242922"
const wabaId = "102290129340398"

export const template = (name: string) => ({
  name,
  language: "en_US",
  category: "UTILITY",
  status: "APPROVED",
  parameter_format: "POSITIONAL",
  quality_score: { score: "GREEN" },
  components: [
    { type: "HEADER", format: "TEXT", text: "Order {{1}}", example: { header_text: ["A-1"] } },
    { type: "BODY", text: "Hello {{1}}, it arrives {{2}}.", example: { body_text: [["Ana", "today"]] } },
    { type: "FOOTER", text: "Shop" },
    {
      type: "BUTTONS",
      buttons: [{ type: "URL", text: "Track", url: "https://shop.example/t/{{1}}", example: ["A-1"] }]
    }
  ]
})

export const phone = (n: number): string => `346${String(n).padStart(6, "0")}55`

const common = { features: ["templates", "direct"], subscription: "active" } as const

const plan = {
  ...common,
  requests_per_minute: 1_000_000,
  minimum_wait_ms: 0,
  daily_direct_messages: null,
  daily_template_recipients: null
}

const inProcess = {
  ...common,
  requestsPerMinute: 1_000_000,
  minimumWaitMs: 0,
  dailyDirectMessages: null,
  dailyTemplateRecipients: null
}

/** Of a valid send. */
const recipients = 250

export const make = Effect.gen(function* () {
  const service = yield* Engine.Engine
  const { admin } = service
  const account = yield* admin.accounts.create({ name: "Shop", currency: "EUR", plan: inProcess })
  const { operator } = yield* admin.operators.create({ name: "olga", role: "read" })
  const session = yield* admin.sessions.create(account.id, { name: "Sandbox", provider: "sandbox" })
  const gateway = yield* admin.sessions.create(account.id, {
    name: "Gateway",
    provider: "http",
    config: { url: "https://gateway.example/send", secret: gatewaySecret }
  })
  const whatsApp = yield* admin.sessions.create(account.id, {
    name: "WhatsApp",
    provider: "whatsapp_cloud",
    config: {
      phone_number_id: numberId,
      waba_id: wabaId,
      access_token: "token",
      app_secret: appSecret,
      verify_token: "verify"
    }
  })
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const spare = yield* admin.keys.issue(session.id, {})
  const { endpoint } = yield* admin.webhooks.create(account.id, { url: "https://shop.example/events" })
  const { templates } = yield* admin.templates.importAll(session.id, [template("order_confirmation")])
  const templateId = templates[0]?.templateId ?? 0
  const consents = Array.from({ length: recipients }, (_, n) => ({ phone: phone(n), source: "test" }))
  yield* admin.consents.record(account.id, consents)
  const caller = yield* service.identify({ publicKey: key.publicKey, secretKey })
  const variables = { "header.1": "A-1", "body.1": "Ana", "body.2": "today", "button.0.1": "A-1" }
  const { jobId } = yield* service.send(caller, {
    idempotencyKey: "first",
    request: { templateId, recipients: [{ phone: phone(0), variables }] }
  })

  const content = Routes.ofApi(service, "http://base")
  const handle = yield* Steps.make({
    engine: service,
    ...content,
    baseUrl: "http://base",
    adminToken: Redacted.make("token"),
    stopping: MutableRef.make(false)
  })

  let count = 0
  const fresh = () => {
    count += 1
    return count
  }
  const send = (many: number) => ({
    template_id: templateId,
    currency: "EUR",
    variables: { "header.1": "A-1", "body.2": "today", "button.0.1": "A-1" },
    reference: "spring",
    recipients: Array.from({ length: many }, (_, n) => ({
      external_id: `customer-${n}`,
      phone: phone(n),
      variables: { "body.1": `Name ${n}` }
    }))
  })

  /** A hook of the WhatsApp Cloud API. */
  const posted = () => ({
    object: "whatsapp_business_account",
    entry: [
      {
        id: wabaId,
        changes: [
          {
            field: "messages",
            value: {
              messaging_product: "whatsapp",
              metadata: { display_phone_number: "34600000000", phone_number_id: numberId },
              contacts: [{ profile: { name: "Ana" }, wa_id: phone(0) }],
              messages: [
                {
                  from: phone(0),
                  id: `wamid.${fresh()}`,
                  timestamp: "1750000000",
                  type: "text",
                  text: { body: "Hello" }
                }
              ],
              statuses: [
                {
                  id: `wamid.${fresh()}`,
                  status: "failed",
                  timestamp: "1750000000",
                  recipient_id: phone(1),
                  errors: [{ code: 131026, title: "Undeliverable", message: "Undeliverable" }]
                }
              ]
            }
          }
        ]
      }
    ]
  })

  const times = {
    send_at: { local: "2020-01-01T08:00", time_zone: "recipient" },
    expires_at: null,
    hours: { from: "09:00", to: "20:00", days: [1, 2], outside: "hold" }
  }

  /** By method and pattern: the path's parameters, and a body with every member. */
  const examples: Readonly<Record<string, readonly [string, () => object]>> = {
    "POST /api/v1/template-messages/estimate": ["", () => send(1)],
    "POST /api/v1/template-messages/send": ["", () => send(1)],
    "POST /api/public/messages/send": [
      "",
      () => ({
        to: phone(0),
        message: "Hello",
        linkPreview: true,
        buttons: [{ id: "yes", title: "Yes" }],
        reply_to: "wamid.1",
        reference: "spring"
      })
    ],
    "POST /admin/v1/accounts": ["", () => ({ name: "Shop", currency: "EUR", plan })],
    "PATCH /admin/v1/accounts/:id": [account.id, () => ({ name: "Shop", currency: "EUR", plan })],
    "POST /admin/v1/accounts/:id/sessions": [
      account.id,
      () => ({
        name: "Gateway",
        provider: "http",
        config: {
          url: "https://gateway.example/send",
          secret: gatewaySecret,
          headers: { "X-Shop": "spring" },
          timeout_ms: 1000
        },
        pacing: { messages_per_second: 10, pair_interval_ms: 100 },
        quiet_hours: { marketing: { from: "09:00", to: "20:00", days: [1, 5], outside: "hold" } },
        keywords: { opt_out: ["halt"], opt_in: ["again"] }
      })
    ],
    "PATCH /admin/v1/sessions/:id": [
      whatsApp.id,
      () => ({
        name: "WhatsApp",
        pacing: { messages_per_second: null, pair_interval_ms: null },
        keywords: { opt_out: ["halt"], opt_in: null },
        config: {
          phone_number_id: numberId,
          waba_id: wabaId,
          access_token: "token",
          app_secret: appSecret,
          verify_token: "verify",
          api_version: "v23.0",
          base_url: "https://graph.facebook.com"
        }
      })
    ],
    "POST /admin/v1/sessions/:id/keys": [
      session.id,
      () => ({ name: "Key", permissions: ["messages:send", "jobs:read"] })
    ],
    "POST /admin/v1/keys/:publicKey/rotate": [spare.key.publicKey, () => ({ overlap_seconds: 0 })],
    "PATCH /admin/v1/keys/:publicKey": [
      spare.key.publicKey,
      () => ({ status: "active", permissions: ["jobs:read"], name: "Key" })
    ],
    "PUT /admin/v1/sessions/:id/templates": [
      session.id,
      () => ({ templates: [template(`order_${fresh()}`)] })
    ],
    "POST /admin/v1/accounts/:id/consents": [
      account.id,
      () => ({
        consents: [
          {
            // Of one who has no records yet: the next ones go through those that there are.
            phone: phone(1000 + fresh()),
            status: "granted",
            purpose: "all",
            source: "shop",
            proof: "Order A-1",
            occurred_at: "2020-01-01T00:00:00Z"
          }
        ]
      })
    ],
    "POST /admin/v1/accounts/:id/consents/move": [
      account.id,
      // One move, told again: a number has a grant to move once.
      () => ({ from: phone(recipients - 1), to: "34700000001", reason: "She showed her contract." })
    ],
    "POST /admin/v1/accounts/:id/webhooks": [
      account.id,
      () => ({
        url: "https://shop.example/events",
        events: ["job.*"],
        description: "Shop",
        deliveries_per_second: 10,
        batch_recipients: true
      })
    ],
    "PATCH /admin/v1/webhooks/:id": [
      endpoint.id,
      () => ({
        url: "https://shop.example/events",
        events: ["*"],
        description: "Shop",
        deliveries_per_second: null,
        batch_recipients: false,
        enabled: true
      })
    ],
    "POST /admin/v1/webhooks/:id/rotate": [endpoint.id, () => ({ overlap_seconds: 0 })],
    "POST /admin/v1/webhooks/:id/replay": [
      endpoint.id,
      () => ({ since: "2020-01-01T00:00:00Z", which: "failed", dry_run: true })
    ],
    "PUT /admin/v1/rate-cards": [
      "",
      () => ({
        currency: "EUR",
        effective_from: "2020-01-01T00:00:00Z",
        prices: [{ market: "Spain", prefixes: ["34"], category: "utility", price: "0.02" }]
      })
    ],
    "POST /admin/v1/rate-cards/import": [
      "",
      () => ({
        currency: "EUR",
        effective_from: "2020-01-01T00:00:00Z",
        csv: "Market,Currency,Marketing,Utility,Authentication\nSpain,EUR,0.0618,0.02,n/a\n"
      })
    ],
    "PATCH /api/v1/template-messages/:jobId": [jobId, () => times],
    "PATCH /admin/v1/jobs/:id": [jobId, () => times],
    "POST /admin/v1/jobs/:id/retry": [
      jobId,
      () => ({ statuses: ["failed", "unknown"], codes: ["131026"], phones: [phone(0)], dry_run: true })
    ],
    "POST /admin/v1/jobs/retry": [
      "",
      () => ({ filter: { reference: "spring", statuses: ["failed"], codes: ["131026"] }, dry_run: true })
    ],
    "POST /admin/v1/people/erase": ["", () => ({ phone: phone(0), reason: "asked", dry_run: true })],
    "POST /admin/v1/purge": ["", () => ({ dry_run: true })],
    "POST /admin/v1/restore": ["", () => ({ open: "send", dry_run: true })],
    "POST /admin/v1/mcp": [
      "",
      () => ({
        jsonrpc: "2.0",
        id: fresh(),
        method: "tools/call",
        params: { name: "search", arguments: { q: phone(0) } }
      })
    ],
    "POST /admin/v1/operators": ["", () => ({ name: `ana-${fresh()}`, role: "read" })],
    "POST /admin/v1/operators/:name/rotate": [operator.name, () => ({ overlap_seconds: 0 })],
    "POST /hooks/whatsapp/:sessionId": [whatsApp.id, posted],
    "POST /hooks/:provider/:sessionId": [`whatsapp_cloud/${whatsApp.id}`, posted],
    "POST /hooks/http/:sessionId": [
      gateway.id,
      () => ({
        receipts: [{ id: `g-${fresh()}`, status: "delivered", at: "2020-01-01T00:00:00Z" }],
        messages: [{ id: `m-${fresh()}`, from: phone(0), text: "Hello", at: "2020-01-01T00:00:00Z" }]
      })
    ]
  }

  const headers = (access: string, pattern: string) => (bytes: Uint8Array) => {
    const common = {
      "content-type": "application/json",
      "content-length": String(bytes.length),
      "idempotency-key": `key-${fresh()}`
    }
    if (access === "operator") return { ...common, authorization: "Bearer token" }
    if (access === "key") return { ...common, "x-public-key": key.publicKey, "x-secret-key": secretKey }
    if (!pattern.startsWith("/hooks/http/")) {
      const signature = createHmac("sha256", appSecret).update(bytes).digest("hex")
      return { ...common, "x-hub-signature-256": `sha256=${signature}` }
    }
    const timestamp = Math.floor(Date.now() / 1000)
    return {
      ...common,
      "x-service-timestamp": String(timestamp),
      "x-service-signature": Signature.sign(gatewaySecret, timestamp, bytes)
    }
  }

  // A sign-in takes 4 KiB and keeps nothing: `test/contract/console.test.ts` has its bodies.
  const routes = content.routes.filter(
    ({ acceptsBody, handler, method }) =>
      (acceptsBody && handler.access !== "browser") || (handler.access === "hook" && method === "POST")
  )
  const named = routes.map((route) => ({ ...route, name: `${route.method} ${route.pattern}` }))
  const takers = named.flatMap(({ handler: { access }, method, name, pattern }): ReadonlyArray<Taker> => {
    const [parameter, example] = examples[name] ?? []
    return parameter === undefined || example === undefined
      ? []
      : [
          {
            name,
            method,
            url: pattern.replace(/:\w+(\/:\w+)?/, parameter),
            isHook: access === "hook",
            headers: headers(access, pattern),
            example
          }
        ]
  })

  const ask = (
    { headers, method, url }: Pick<Taker, "headers" | "method" | "url">,
    bytes: Uint8Array
  ): Effect.Effect<Told> =>
    Effect.map(
      handle({ method, url, headers: headers(bytes), hasBody: true, body: () => Effect.succeed(bytes) }),
      ({ body, headers, status }) => ({
        status,
        contentType: headers["content-type"],
        // Not before somebody looks: the answer of thousands of items is long, and to read it is no part of its cost.
        get json() {
          return JSON.parse(String(body))
        }
      })
    )

  return {
    /** Routes that have no example here. */
    without: named.flatMap(({ name }) => (examples[name] === undefined ? [name] : [])),
    takers,
    ask,
    handle,
    /** A body of so many recipients that is taken. */
    send
  }
})
