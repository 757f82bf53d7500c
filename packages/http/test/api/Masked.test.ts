/**
 * An operator of `mask_phones` sees no number of anybody (contract.md §12): every GET of the admin API is asked for over a store
 * that has people in all places, and so are the other forms of answers. An operation without an entry here fails.
 */
import { expect, it } from "@effect/vitest"
import { AddressPolicy, Engine, SecretBox, Sender } from "@sendwright/core"
import { AdminApi } from "@sendwright/core/contract"
import { Sqlite } from "@sendwright/core/sqlite"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as TestClock from "effect/TestClock"
import { at, items } from "../../../../test/support/TestHost.ts"
import * as Handler from "../http/Handler.ts"

const { adminToken } = Handler

/** Recipients, a writer of texts, and numbers in texts, in some spellings. */
const [ana, ben, cleo, writer, dana] = [
  "34600001234",
  "5215512345678",
  "3906123456",
  "447700900123",
  "1234567"
]
const people = [ana, ben, cleo, writer, dana]
const said = `call ${ana} or +${ben}, 00${cleo}`
/** Somebody without a number, and a writer who has one. */
const [fay, writersId] = ["US.13491208655302741918", "ES.7z7"]

/** One more number, as people write it. */
const eva = "34600602222"
const spellings = [
  "34600 602222",
  "+34.600.602.222",
  "34/600/602/222",
  "34  600  602  222",
  "34\u202f600\u202f602\u202f222",
  "34\u2011600\u2011602\u2011222",
  "34\u2013600\u2013602\u2013222",
  "34_600_602_222",
  "34:600:602:222",
  "34·600·602·222",
  "34,600,602,222",
  "34%20600%20602%20222",
  "+34 (0) 600 602 222",
  "600 602 222",
  "\uff13\uff14\uff16\uff10\uff10\uff16\uff10\uff12\uff12\uff12\uff12",
  "\u0663\u0664\u0666\u0660\u0660\u0666\u0660\u0662\u0662\u0662\u0662"
]
const written = spellings.join(" or ")

/** A platform that says everybody's number wherever it can. */
const platform: Sender.Sender = {
  provider: "talkative",
  deduplicates: true,
  send: ({ to: phone }) =>
    phone === ana
      ? Effect.succeed(Sender.SendResult.Accepted({ providerId: `wamid.${phone}`, status: "accepted" }))
      : Effect.succeed(
          Sender.SendResult.Rejected({
            failure: {
              code: `no-${phone}`,
              provider_code: phone,
              message: `No ${phone}. ${said}`,
              permanent: true
            }
          })
        ),
  receive: () =>
    Effect.succeed(
      Sender.HookResult.Content({
        reports: [],
        messages: [
          {
            id: `m-${writer}`,
            from: writer,
            userId: writersId,
            text: `can you stop ${said} or ${fay}`,
            at: null
          },
          { id: `n-${writer}`, from: null, text: `stop ${said} ${written}`, at: null }
        ],
        preferences: [],
        templates: [],
        unread: [{ field: "odd", reason: said, content: JSON.stringify({ from: writer, said, written }) }]
      })
    )
}

const layer = Engine.layer().pipe(
  Layer.provide(Sqlite.layer({ filename: ":memory:" })),
  Layer.provideMerge(RecordingTransport.layer),
  Layer.provide(Sender.layer(platform)),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([]))
)

const hook = `https://shop.example/hooks/${ana}`

const host = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const handle = yield* Handler.over(engine)
  return Effect.fnUntraced(function* (
    method: string,
    url: string,
    {
      body,
      headers = {},
      token = adminToken
    }: {
      readonly body?: unknown
      readonly headers?: Readonly<Record<string, string>>
      readonly token?: string
    } = {}
  ) {
    const bytes = new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body))
    const answer = yield* handle({
      method,
      url,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      hasBody: body !== undefined,
      body: () => Effect.succeed(bytes)
    })
    const { stream } = answer
    const pieces: Array<Uint8Array> = []
    if (stream !== undefined)
      yield* Effect.promise(async () => {
        for await (const piece of stream()) pieces.push(piece)
      })
    const text = stream === undefined ? String(answer.body) : Buffer.concat(pieces).toString()
    return {
      status: answer.status,
      text,
      json: text.startsWith("{") && stream === undefined ? JSON.parse(text) : text
    }
  })
})

type Ask = Effect.Effect.Success<typeof host>

/** A shop that has numbers everywhere. */
const shop = (ask: Ask) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const admin = (method: string, path: string, body?: unknown) =>
      Effect.map(ask(method, `/admin/v1${path}`, { body }), ({ json, status, text }) => {
        expect([method, path, status < 300, text]).toEqual([method, path, true, text])
        return json
      })
    const account = String(
      at(yield* admin("POST", "/accounts", { name: said, plan: { minimum_wait_ms: 0 } }), "account", "id")
    )
    const session = String(
      at(
        yield* admin("POST", `/accounts/${account}/sessions`, {
          name: said,
          provider: "talkative",
          config: {}
        }),
        ...["session", "id"]
      )
    )
    yield* admin("POST", `/sessions/${session}/connect`)
    const key = yield* admin("POST", `/sessions/${session}/keys`, { name: said })
    const made = yield* admin("PUT", `/sessions/${session}/templates`, {
      templates: [
        {
          ...{ name: "call_us", language: "en", category: "UTILITY", status: "APPROVED", id: "1234567890" },
          components: [
            { type: "BODY", text: `Hi {{1}}, ${said}` },
            {
              type: "BUTTONS",
              buttons: [{ type: "URL", text: "Call", url: "https://shop.example/34/600/602/222" }]
            }
          ]
        }
      ]
    })
    const consents = [
      ...[ana, ben, cleo, dana].map((phone) => ({ phone, source: said, proof: written })),
      { user_id: fay, source: fay, proof: fay }
    ]
    yield* admin("POST", `/accounts/${account}/consents`, { consents })
    const webhook = String(
      at(
        yield* admin("POST", `/accounts/${account}/webhooks`, {
          url: hook,
          events: ["*"],
          description: said
        }),
        ...["webhook", "id"]
      )
    )
    const { answer } = yield* RecordingTransport.Recorder
    yield* answer(hook, { _tag: "Answered", status: 400, retryAfter: null, excerpt: `${said} ${written}` })
    const credentials = {
      "x-public-key": String(at(key, "key", "public_key")),
      "x-secret-key": String(at(key, "secret_key"))
    }
    const template = Number(at(made, "templates", 0, "template_id"))
    const sent = yield* ask("POST", "/api/v1/template-messages/send", {
      headers: {
        ...credentials,
        "idempotency-key": `order-${ana}:34_600_602_222`,
        "x-request-id": `request-${ana}`
      },
      body: {
        template_id: template,
        reference: said,
        recipients: [
          ...[ana, ben, cleo, dana].map((phone) => ({
            ...{ phone, external_id: `customer_${phone} 34600 602222`, variables: { "body.1": written } }
          })),
          { user_id: fay, external_id: `customer ${fay}`, variables: { "body.1": fay } }
        ]
      }
    })
    expect([sent.status, sent.text]).toEqual([202, sent.text])
    yield* ask("POST", `/hooks/talkative/${session}`, { body: {} })
    yield* Effect.orDie(engine.drain)
    const direct = yield* Effect.fork(
      ask("POST", "/api/public/messages/send", {
        headers: credentials,
        body: { to: ana, message: said }
      })
    )
    yield* TestClock.adjust("1 minute")
    yield* Fiber.join(direct)
    const again = yield* ask("POST", "/api/v1/template-messages/send", {
      headers: { ...credentials, "idempotency-key": "again" },
      body: {
        template_id: template,
        reference: "again",
        recipients: [{ phone: ana, variables: { "body.1": written } }]
      }
    })
    expect([again.status, again.text]).toEqual([202, again.text])
    yield* Effect.orDie(engine.drain)
    yield* admin("POST", "/people/erase", { phone: "34699999999", reason: said })
    yield* admin("POST", "/operators", { name: "ben", role: "read" })
    const token = String(
      at(yield* admin("POST", "/operators", { name: "ana", role: "read", mask_phones: true }), "token")
    )
    const [delivery] = items(yield* admin("GET", "/deliveries"), "deliveries")
    const job = String(at(sent.json, "job_id"))
    const retry = yield* admin("POST", "/jobs/retry", { filter: { reference: said } })
    return {
      ...{ account, session, webhook, job, template, token, publicKey: credentials["x-public-key"] },
      delivery: String(at(delivery, "id")),
      retry: String(at(retry, "retry", "retry_id")),
      message: `${job.slice(0, -1)}2`
    }
  })

type Shop = Effect.Effect.Success<ReturnType<typeof shop>>

const idOf = (path: string, made: Shop): string => {
  for (const [collection, id] of Object.entries({
    "/accounts/": made.account,
    "/sessions/": made.session,
    "/webhooks/": made.webhook,
    "/deliveries/": made.delivery,
    "/jobs/": made.job,
    "/retries/": made.retry,
    "/messages/": made.message,
    "/templates/": String(made.template),
    "/people/": ana
  }))
    if (path.includes(`${collection}:`)) return id
  return ""
}

/** What is asked for besides, by operation; some are asked for in several ways. */
const queries = (made: Shop): Readonly<Record<string, ReadonlyArray<string>>> => ({
  adminSearch: [
    ...people,
    fay,
    writersId,
    said.slice(0, 11),
    made.job,
    made.message,
    `order-${ana}:34_600_602_222`
  ].map((text) => `q=${encodeURIComponent(text)}`),
  consents: [`phone=${ana}`, `user_id=${writersId}`, `user_id=${fay}`],
  person: [`phone=${ana}`, `user_id=${writersId}`, `user_id=${fay}`],
  messages: [`account_id=${made.account}`],
  adminJobs: ["", "group=reference"],
  overlap: [`reference=${encodeURIComponent(said)}&other=again`],
  previewTemplate: [said, written].map(
    (text) => `variables=${encodeURIComponent(JSON.stringify({ "body.1": text }))}`
  ),
  exportResults: ["", "format=csv"],
  exportConsents: ["", "format=csv"],
  events: ["", `job_id=${made.job}`],
  exportEvents: ["", "format=csv"],
  usage: ["", "by=template", "by=market"]
})

/** Whatever stands between the digits, but for other words. */
const spelled = [...people, eva, "600602222"].map((phone) => new RegExp([...phone].join("[^0-9A-Za-z]{0,3}")))

/** The numbers that a text tells. */
const toldIn = (text: string): ReadonlyArray<string> => [
  ...spelled.filter((phone) => phone.test(text)).map(String),
  ...[...spellings, fay, writersId, "13491208655302741918"].filter((each) => text.includes(each))
]

it.effect("an operator who is not to see numbers sees none, whatever is read", () =>
  Effect.gen(function* () {
    const ask = yield* host
    const made = yield* shop(ask)
    const known = queries(made)
    const withNumbers: Array<string> = []
    const masked: Array<string> = []
    for (const { endpoint } of AdminApi.operations) {
      if (endpoint.method !== "GET") continue
      for (const query of known[endpoint.name] ?? [""])
        for (const accept of ["application/json", "text/html", "text/markdown"]) {
          const path = endpoint.path.replace(/:\w+/, idOf(endpoint.path, made))
          const url = `${path}${query === "" ? "" : `?${query}`}`
          const [seen, whole] = [
            yield* ask("GET", url, { token: made.token, headers: { accept } }),
            yield* ask("GET", url, { headers: { accept } })
          ]
          expect([url, seen.status, seen.text]).toEqual([url, 200, seen.text])
          const found = toldIn(seen.text)
          expect([url, accept, found, found.length > 0 ? seen.text : ""]).toEqual([url, accept, [], ""])
          if (toldIn(whole.text).length > 0) withNumbers.push(endpoint.name)
          if (seen.text.includes("···")) masked.push(endpoint.name)
        }
    }
    // Each has something to hide where an operator who may see it finds it.
    expect(new Set(withNumbers)).toEqual(new Set([...masked].filter((name) => withNumbers.includes(name))))
    expect(new Set(withNumbers).size).toBeGreaterThan(18)
  }).pipe(Effect.provide(layer), Logger.withMinimumLogLevel(LogLevel.None))
)

it.effect("an operator who is not to see numbers finds by them, and is refused without them", () =>
  Effect.gen(function* () {
    const ask = yield* host
    const { job, token } = yield* shop(ask)
    const found = yield* ask("GET", `/admin/v1/search?q=${ana}`, { token })
    expect(items(found.json, "results")).toContainEqual(
      expect.objectContaining({
        kind: "message",
        title: "call_us to +34 600 ··· 234",
        id: `${job.slice(0, -1)}1`
      })
    )
    for (const path of [
      `people/${writer}9/export`,
      `jobs?${ana}=1`,
      `jobs?status=${ana}`,
      `search?q=${ana}%00`
    ]) {
      const refused = yield* ask("GET", `/admin/v1/${path}`, { token })
      expect([path, refused.status >= 400]).toEqual([path, true])
      expect([path, toldIn(refused.text)]).toEqual([path, []])
    }
    const acting = yield* ask("POST", `/admin/v1/jobs/${job}/cancel`, { token })
    expect(acting.status).toBe(403)
  }).pipe(Effect.provide(layer), Logger.withMinimumLogLevel(LogLevel.None))
)

it.effect("a phone of seven digits is masked wherever it is one, and as it was asked for", () =>
  Effect.gen(function* () {
    const ask = yield* host
    const { job, token } = yield* shop(ask)
    const story = `/admin/v1/messages/${job.slice(0, -1)}4/timeline`
    const { json } = yield* ask("GET", story, { token })
    expect(at(json, "message", "phone")).toBe("+1 ··· 567")
    const markdown = yield* ask("GET", story, { token, headers: { accept: "text/markdown" } })
    expect(markdown.text).toContain("- To: \\+1 ··· 567")
    for (const who of [dana, "%2B1%20234%20567", "001-234-567"])
      for (const accept of ["application/json", "text/html"]) {
        const path = `/admin/v1/people/${who}/export`
        const person = yield* ask("GET", path, { token, headers: { accept } })
        expect([path, person.status, toldIn(person.text)]).toEqual([path, 200, []])
        expect(person.text).toContain("+1 ··· 567")
      }
  }).pipe(Effect.provide(layer), Logger.withMinimumLogLevel(LogLevel.None))
)

it.effect("a link that would tell a number leads to the account instead, and can be followed", () =>
  Effect.gen(function* () {
    const ask = yield* host
    const { account, job, token } = yield* shop(ask)
    const links: Array<string> = []
    for (const phone of [ana, dana]) {
      const found = yield* ask("GET", `/admin/v1/search?q=${phone}`, { token })
      links.push(...items(found.json, "results").map((each) => String(at(each, "link"))))
    }
    for (const index of [1, 4]) {
      const story = yield* ask("GET", `/admin/v1/messages/${job.slice(0, -1)}${index}/timeline`, { token })
      const entries = items(story.json, "timeline").map((each) => at(each, "link"))
      links.push(...entries.filter((link) => link !== null).map(String))
    }
    expect(links.filter((link) => link === `/admin/v1/accounts/${account}`).length).toBeGreaterThan(3)
    for (const link of new Set(links)) {
      const { status } = yield* ask("GET", link, { token })
      expect([link, status]).toEqual([link, 200])
    }
  }).pipe(Effect.provide(layer), Logger.withMinimumLogLevel(LogLevel.None))
)

it.effect("who acts, or reads metrics alone, is not made with masked numbers", () =>
  Effect.gen(function* () {
    const ask = yield* host
    for (const role of ["admin", "metrics"]) {
      const body = { name: "ana", role, mask_phones: true }
      const { json, status } = yield* ask("POST", "/admin/v1/operators", { body })
      expect([status, at(json, "errors", 0, "pointer")]).toEqual([422, "/mask_phones"])
    }
  }).pipe(Effect.provide(layer), Logger.withMinimumLogLevel(LogLevel.None))
)
