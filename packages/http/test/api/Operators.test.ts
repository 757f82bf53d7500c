/** Operators, their roles and the audit log, asked of every route of the admin API over a real store. */
import { describe, expect, it } from "@effect/vitest"
import { AddressPolicy, Engine, Sandbox, SecretBox, Sender, type Stores } from "@sendwright/core"
import { AdminApi } from "@sendwright/core/contract"
import { Postgres } from "@sendwright/core/postgres"
import { Sqlite } from "@sendwright/core/sqlite"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { emptyDatabase } from "../../../../test/support/Postgres.ts"
import { at, items, template } from "../../../../test/support/TestHost.ts"
import * as Guesses from "../../src/http/Guesses.ts"
import * as Handler from "../http/Handler.ts"

const { adminToken } = Handler
const address = "203.0.113.7"
const phone = "34600001234"

/** A platform whose templates can be synced, and whose hook brings a text that may be a refusal. */
const platform: Sender.Sender = {
  provider: "whatsapp_cloud",
  deduplicates: true,
  templates: () => Effect.succeed([template]),
  receive: () =>
    Effect.succeed(
      Sender.HookResult.Content({
        reports: [],
        messages: ["said", "asked"].map((id) => ({
          id,
          from: "34600005678",
          text: "can you stop the order",
          at: null
        })),
        preferences: [],
        templates: [],
        unread: []
      })
    ),
  send: () => Effect.succeed(Sender.SendResult.Accepted({ providerId: null, status: "accepted" }))
}

const on = <E>(stores: Layer.Layer<Stores.Stores, E>) =>
  Engine.layer().pipe(
    Layer.provide(stores),
    Layer.provide(RecordingTransport.layer),
    Layer.provide(Sender.layer(Sandbox.make({ latencyMs: 0, receiptDelayMs: 0 }), platform)),
    Layer.provide(SecretBox.layerRandom),
    Layer.provide(AddressPolicy.layer([]))
  )

const layer = on(Sqlite.layer({ filename: ":memory:" }))

const postgres = on(
  Layer.unwrapScoped(Effect.map(emptyDatabase, (url) => Postgres.layer({ url: Redacted.make(url) })))
)

interface Answer {
  readonly status: number
  readonly json: unknown
}

/** A host, called as an operator. */
const host = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const handle = yield* Handler.over(engine, { guesses: { ...Guesses.defaults, perAddress: 1_000_000 } })
  let requests = 0
  const request = Effect.fnUntraced(function* (
    method: string,
    url: string,
    body?: unknown,
    token: string = adminToken,
    headers: Readonly<Record<string, string>> = {}
  ) {
    requests += 1
    const bytes = new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body))
    const { body: answered, status } = yield* handle({
      method,
      url,
      address,
      headers: {
        authorization: `Bearer ${token}`,
        "x-request-id": `request-${requests}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      hasBody: body !== undefined,
      body: () => Effect.succeed(bytes)
    })
    const text = String(answered)
    const answer: Answer = { status, json: text.startsWith("{") ? JSON.parse(text) : text }
    return answer
  })
  const admin = (method: string, path: string, body?: unknown, token?: string) =>
    request(method, `/admin/v1${path}`, body, token)
  const entries = (query = "") =>
    Effect.map(admin("GET", `/audit?limit=100${query}`), ({ json }) => items(json, "entries"))
  const operator = Effect.fnUntraced(function* (name: string, role: string) {
    const { json } = yield* admin("POST", "/operators", { name, role })
    return String(at(json, "token"))
  })
  return { engine, request, admin, entries, operator, lastRequest: () => `request-${requests}` }
})

const quiet = Logger.withMinimumLogLevel(LogLevel.None)

const endpoints = AdminApi.operations.map(({ endpoint }) => endpoint)

type Step = readonly [
  route: (typeof endpoints)[number]["name"],
  method: string,
  path: string,
  body: unknown,
  /** Its name in the audit log. */
  operation: string
]

/** One act for each route that changes something, and what each answers. */
const everyAct = Effect.gen(function* () {
  const { admin, engine, entries, lastRequest, request } = yield* host
  const answers: Array<unknown> = []
  const acted = new Map<string, string>()
  const act = Effect.fnUntraced(function* (...[route, method, path, body, operation]: Step) {
    const before = yield* entries()
    const { json, status } = yield* admin(method, path, body)
    const requestId = lastRequest()
    expect([route, status < 300]).toEqual([route, true])
    answers.push(json)
    const [entry, ...rest] = yield* entries()
    expect([route, rest.length]).toEqual([route, before.length])
    expect(entry).toMatchObject({ operator: "ADMIN_TOKEN", address, operation, request_id: requestId })
    acted.set(route, operation)
    return { json, entry }
  })
  /** A dry run is a look, so that nothing is recorded. */
  const look = Effect.fnUntraced(function* (path: string, body: object) {
    const before = yield* entries()
    const { status } = yield* admin("POST", path, { ...body, dry_run: true })
    expect([path, status < 300, (yield* entries()).length]).toEqual([path, true, before.length])
  })
  const idOf = (answer: { readonly json: unknown }, name: string) => String(at(answer.json, name, "id"))

  const account = idOf(
    yield* act(
      "createAccount",
      "POST",
      "/accounts",
      { name: "Shop", plan: { minimum_wait_ms: 0 } },
      "accounts.create"
    ),
    "account"
  )
  yield* act("changeAccount", "PATCH", `/accounts/${account}`, { name: "Shop 2" }, "accounts.change")
  const session = idOf(
    yield* act(
      "createSession",
      "POST",
      `/accounts/${account}/sessions`,
      { name: "S", provider: "sandbox" },
      "sessions.create"
    ),
    "session"
  )
  const mirrored = yield* admin("POST", `/accounts/${account}/sessions`, {
    name: "M",
    provider: "whatsapp_cloud"
  })
  yield* act("changeSession", "PATCH", `/sessions/${session}`, { config: {}, name: "S 2" }, "sessions.change")
  yield* act("disconnect", "POST", `/sessions/${session}/disconnect`, undefined, "sessions.disconnect")
  yield* act("connect", "POST", `/sessions/${session}/connect`, undefined, "sessions.connect")
  const issued = yield* act("issueKey", "POST", `/sessions/${session}/keys`, {}, "keys.issue")
  const publicKey = String(at(issued.json, "key", "public_key"))
  yield* act("rotateKey", "POST", `/keys/${publicKey}/rotate`, {}, "keys.rotate")
  yield* act("changeKey", "PATCH", `/keys/${publicKey}`, { name: "till" }, "keys.change")
  const imported = yield* act(
    "importTemplates",
    "PUT",
    `/sessions/${session}/templates`,
    { templates: [template] },
    "templates.importAll"
  )
  yield* act(
    "syncTemplates",
    "POST",
    `/sessions/${idOf(mirrored, "session")}/templates/sync`,
    undefined,
    "templates.sync"
  )
  yield* act(
    "erasePerson",
    "POST",
    "/people/erase",
    { phone: "34600009999", reason: "asked" },
    "people.erase"
  )
  yield* act(
    "recordConsents",
    "POST",
    `/accounts/${account}/consents`,
    { consents: [phone, "34600009998"].map((phone) => ({ phone, source: "form" })) },
    "consents.record"
  )
  yield* act(
    "moveConsents",
    "POST",
    `/accounts/${account}/consents/move`,
    { from: "34600009998", to: "34600009997", reason: "told" },
    "consents.move"
  )
  yield* request("POST", `/hooks/whatsapp/${idOf(mirrored, "session")}`, {})
  const doubtful = yield* admin("GET", `/accounts/${account}/perhaps-refusals`)
  const [refusal, question] = items(doubtful.json, "perhaps_refusals")
  yield* act(
    "recordRefusal",
    "POST",
    `/perhaps-refusals/${String(at(refusal, "id"))}/record`,
    undefined,
    "consents.recordRefusal"
  )
  yield* act(
    "dismissRefusal",
    "POST",
    `/perhaps-refusals/${String(at(question, "id"))}/dismiss`,
    undefined,
    "consents.dismissRefusal"
  )
  const webhook = yield* act(
    "createWebhook",
    "POST",
    `/accounts/${account}/webhooks`,
    { url: "https://shop.example/hook" },
    "webhooks.create"
  )
  const webhookId = idOf(webhook, "webhook")
  yield* act("changeWebhook", "PATCH", `/webhooks/${webhookId}`, { description: "New" }, "webhooks.change")
  yield* act("rotateWebhook", "POST", `/webhooks/${webhookId}/rotate`, {}, "webhooks.rotate")
  const tested = yield* act("testWebhook", "POST", `/webhooks/${webhookId}/test`, undefined, "webhooks.test")
  yield* Effect.orDie(engine.drain)
  yield* act(
    "replayDelivery",
    "POST",
    `/deliveries/${String(at(tested.json, "delivery_id"))}/replay`,
    undefined,
    "webhooks.replay"
  )
  yield* look(`/webhooks/${webhookId}/replay`, { since: "2020-01-01T00:00:00Z" })
  yield* act(
    "replayWebhook",
    "POST",
    `/webhooks/${webhookId}/replay`,
    { since: "2020-01-01T00:00:00Z" },
    "webhooks.replaySince"
  )
  yield* act("removeWebhook", "DELETE", `/webhooks/${webhookId}`, undefined, "webhooks.remove")
  const card = { currency: "USD", effective_from: "2020-01-01T00:00:00Z" }
  yield* act(
    "addRateCard",
    "PUT",
    "/rate-cards",
    { ...card, prices: [{ market: "*", category: "utility", price: "1" }] },
    "rateCards.add"
  )
  const csv = "Market,Currency,Marketing,Utility,Authentication\nSpain,USD,0.0615,0.0200,0.0200\n"
  yield* act("importRateCard", "POST", "/rate-cards/import", { ...card, csv }, "rateCards.importList")
  const sent = yield* request(
    "POST",
    "/api/v1/template-messages/send",
    {
      template_id: at(imported.json, "templates", 0, "template_id"),
      recipients: [
        { phone, variables: { "header.1": "A", "body.1": "Ana", "body.2": "today", "button.0.1": "A" } }
      ]
    },
    "",
    {
      "x-public-key": publicKey,
      "x-secret-key": String(at(issued.json, "secret_key")),
      "idempotency-key": "order-1"
    }
  )
  const job = String(at(sent.json, "job_id"))
  yield* look(`/jobs/${job}/retry`, { phones: [phone] })
  yield* look("/jobs/retry", { filter: { account_id: account } })
  yield* act("retryJob", "POST", `/jobs/${job}/retry`, { phones: [phone] }, "jobs.retry")
  const planned = yield* act(
    "retryJobs",
    "POST",
    "/jobs/retry",
    { filter: { account_id: account, reference: "for +34 600 000 100" } },
    "retries.begin"
  )
  const retryId = String(at(planned.json, "retry", "retry_id"))
  yield* act("cancelRetry", "POST", `/retries/${retryId}/cancel`, undefined, "retries.cancel")
  yield* act("pauseJob", "POST", `/jobs/${job}/pause`, undefined, "jobs.pause")
  yield* act("resumeJob", "POST", `/jobs/${job}/resume`, undefined, "jobs.resume")
  yield* act("changeJob", "PATCH", `/jobs/${job}`, { hours: { from: "00:00", to: "23:59" } }, "jobs.change")
  yield* act("cancelJob", "POST", `/jobs/${job}/cancel`, undefined, "jobs.cancel")
  yield* act("revokeKey", "POST", `/keys/${publicKey}/revoke`, undefined, "keys.revoke")
  yield* act("purge", "POST", "/purge", {}, "storage.purge")
  yield* act("restore", "POST", "/restore", { hold: true }, "restore.hold")
  yield* act("resealSecrets", "POST", "/secrets/reseal", undefined, "secrets.reseal")
  yield* act("createOperator", "POST", "/operators", { name: "ana", role: "read" }, "operators.create")
  yield* act("rotateOperator", "POST", "/operators/ana/rotate", {}, "operators.rotate")
  yield* act("revokeOperator", "POST", "/operators/ana/revoke", undefined, "operators.revoke")
  return { admin, acted, answers, entries, account, session, publicKey }
})

const acts = endpoints.filter(({ method }) => method !== "GET")

describe("the audit log", () => {
  const ofEach = Effect.gen(function* () {
    const { acted } = yield* everyAct
    expect([...acted.keys()].toSorted()).toEqual(acts.map(({ name }) => name).toSorted())
    expect(new Set(acted.values()).size).toBe(acted.size)
  })

  it.effect("has one entry of each act on SQLite, whatever the route", () =>
    ofEach.pipe(Effect.provide(layer), quiet)
  )

  it.effect("has one entry of each act on PostgreSQL, whatever the route", () =>
    ofEach.pipe(Effect.provide(postgres), quiet)
  )

  it.effect("tells what a thing was before and after, without secrets and whole phone numbers", () =>
    Effect.gen(function* () {
      const { account, answers, entries, publicKey, session } = yield* everyAct
      const [changed] = yield* entries(`&operation=accounts.change&target=${account}`)
      expect(changed).toMatchObject({ before: { name: "Shop" }, after: { name: "Shop 2", currency: "USD" } })
      const [configured] = yield* entries(`&operation=sessions.change&target=${session}`)
      expect(configured).toMatchObject({
        before: { name: "S", config: "kept" },
        after: { name: "S 2", config: "changed" }
      })
      const [rotated] = yield* entries(`&operation=keys.rotate&target=${publicKey}`)
      expect(items(rotated, "before", "secrets")).toEqual([
        { created_at: expect.any(String), expires_at: null }
      ])
      expect(items(rotated, "after", "secrets")).toHaveLength(2)
      const [connected] = yield* entries(`&operation=sessions.connect&target=${session}`)
      expect(connected).toMatchObject({ before: { state: "disconnected" }, after: { state: "connected" } })
      const [removed] = yield* entries("&operation=webhooks.remove")
      expect(removed).toMatchObject({ before: { url: "https://shop.example/hook" }, after: null })
      const [recorded] = yield* entries("&operation=consents.record")
      expect(recorded).toMatchObject({
        after: { granted: 2, refused: 0, consents: [{ phone: "…1234" }, { phone: "…9998" }] }
      })
      const [retried] = yield* entries("&operation=jobs.retry")
      expect(retried).toMatchObject({ after: { retried: { failed: 0, unknown: 0 }, phones: ["…1234"] } })
      const log = JSON.stringify(yield* entries())
      const secrets = answers.flatMap((answer) =>
        ["secret_key", "secret", "token"].flatMap((name) => at(answer, name) ?? [])
      )
      expect(secrets).toHaveLength(6)
      for (const secret of [...secrets, phone, adminToken]) expect(log).not.toContain(secret)
      expect(log).not.toMatch(/v1\.[\w-]{8}\./)
    }).pipe(Effect.provide(layer), quiet)
  )

  it.effect("has an entry with counts for each commit of an import of very many", () =>
    Effect.gen(function* () {
      const { admin, entries } = yield* host
      const { json } = yield* admin("POST", "/accounts", { name: "Shop" })
      const consents = Array.from({ length: 1000 }, (_, n) => ({
        phone: `3460000${1000 + n}`,
        source: "form"
      }))
      yield* admin("POST", `/accounts/${String(at(json, "account", "id"))}/consents`, { consents })
      const recorded = yield* entries("&operation=consents.record")
      expect(recorded.map((entry) => at(entry, "after"))).toEqual(
        Array.from({ length: 10 }, () => ({ granted: 100, revoked: 0, refused: 0, kept_refused: 0 }))
      )
    }).pipe(Effect.provide(layer), quiet)
  )

  it.effect("has nothing of a refused act, nor of a read", () =>
    Effect.gen(function* () {
      const { admin, entries } = yield* host
      const nobody = "01900000-0000-7000-8000-000000000000"
      for (const { method, path } of endpoints) {
        // These two ask for nothing, so nobody is refused them.
        if (path === "/admin/v1/secrets/reseal" || path === "/admin/v1/purge") continue
        const url = path.replace("/admin/v1", "").replace(/:\w+/, nobody)
        for (const body of method === "GET" ? [undefined] : [{}, { unknown: 1 }, undefined]) {
          yield* admin(method, url, body)
        }
      }
      yield* admin("POST", "/operators", { name: "ana", role: "read" })
      for (const name of ["ana", "ADMIN_TOKEN", "admin_token", "cli:ana", "Ana", "", "a b"]) {
        expect((yield* admin("POST", "/operators", { name, role: "admin" })).status).toBe(422)
      }
      expect((yield* entries()).map((entry) => at(entry, "operation"))).toEqual(["operators.create"])
    }).pipe(Effect.provide(layer), quiet)
  )

  it.effect("is filtered by operator, operation, target and time, in pages whose cursors are its own", () =>
    Effect.gen(function* () {
      const { admin, entries, operator } = yield* host
      const ana = yield* operator("ana", "admin")
      yield* TestClock.adjust("1 hour")
      for (const name of ["One", "Two", "Three"]) yield* admin("POST", "/accounts", { name }, ana)
      expect(yield* entries("&operator=ana")).toHaveLength(3)
      expect(yield* entries("&operator=ADMIN_TOKEN&to=1970-01-01T01:00:00Z")).toHaveLength(1)
      expect(yield* entries("&from=1970-01-01T01:00:00Z")).toHaveLength(3)
      const first = yield* admin("GET", "/audit?limit=2&operator=ana")
      const cursor = String(at(first.json, "next_cursor"))
      const rest = yield* admin("GET", `/audit?limit=2&operator=ana&cursor=${cursor}`)
      expect(
        [...items(first.json, "entries"), ...items(rest.json, "entries")].map((entry) =>
          at(entry, "after", "name")
        )
      ).toEqual(["Three", "Two", "One"])
      expect(at(rest.json, "next_cursor")).toBeNull()
      expect((yield* admin("GET", `/audit?operator=bob&cursor=${cursor}`)).status).toBe(422)
      expect((yield* admin("GET", "/audit?from=yesterday")).status).toBe(422)
    }).pipe(Effect.provide(layer), quiet)
  )
})

/** What support does besides reading (contract.md §13 "Operating"). */
const ofSupport: ReadonlySet<string> = new Set([
  "recordConsents",
  "recordRefusal",
  "dismissRefusal",
  "cancelJob",
  "pauseJob",
  "resumeJob",
  "retryJob",
  "retryJobs",
  "cancelRetry",
  "replayWebhook",
  "replayDelivery"
])

describe("an operator's role", () => {
  it.effect("support records revocations and grants nothing, and decides on doubtful texts", () =>
    Effect.gen(function* () {
      const { admin, operator, request } = yield* host
      const desk = yield* operator("desk", "support")
      const shop = yield* admin("POST", "/accounts", { name: "Shop" })
      const account = String(at(shop.json, "account", "id"))
      const record = (...consents: ReadonlyArray<object>) =>
        admin("POST", `/accounts/${account}/consents`, { consents }, desk)
      const revoked = { phone, status: "revoked", source: "told us by phone" }
      expect(yield* record(revoked)).toMatchObject({ status: 200, json: { recorded: 1 } })
      for (const granted of [
        { phone, source: "form" },
        { phone, status: "granted", source: "form" }
      ])
        expect(yield* record(revoked, granted)).toMatchObject({
          status: 403,
          json: {
            code: "insufficient_permission",
            detail: "The operator has the role support, and this needs admin."
          }
        })
      const session = yield* admin("POST", `/accounts/${account}/sessions`, {
        name: "M",
        provider: "whatsapp_cloud"
      })
      yield* request("POST", `/hooks/whatsapp/${String(at(session.json, "session", "id"))}`, {})
      const overview = yield* admin("GET", "/overview", undefined, desk)
      expect(items(overview.json, "overview", "attention")).toContainEqual(
        expect.objectContaining({
          kind: "refusals_doubtful",
          count: 2,
          link: `/admin/v1/accounts/${account}/perhaps-refusals`
        })
      )
      const listed = () =>
        Effect.map(admin("GET", `/accounts/${account}/perhaps-refusals`, undefined, desk), ({ json }) =>
          items(json, "perhaps_refusals")
        )
      const dismiss = (text: unknown) =>
        Effect.map(
          admin("POST", `/perhaps-refusals/${String(at(text, "id"))}/dismiss`, undefined, desk),
          ({ status }) => status
        )
      const [one, other] = yield* listed()
      expect([yield* dismiss(one), yield* dismiss(one), yield* dismiss(other)]).toEqual([200, 404, 200])
      expect(yield* listed()).toEqual([])
    }).pipe(Effect.provide(layer), quiet)
  )

  it.effect("decides of every route of the admin API, before anything of the request is looked at", () =>
    Effect.gen(function* () {
      const { admin, entries, operator, request } = yield* host
      const tokens = {
        metrics: yield* operator("prometheus", "metrics"),
        read: yield* operator("auditor", "read"),
        support: yield* operator("desk", "support"),
        admin: yield* operator("ana", "admin")
      }
      const before = yield* entries()
      for (const { method, name, path } of endpoints) {
        const url = path.replace("/admin/v1", "").replace(/:\w+/, "nothing")
        const refused = { status: 403, json: expect.objectContaining({ code: "insufficient_permission" }) }
        const asked = Effect.fnUntraced(function* (role: keyof typeof tokens) {
          const { json, status } = yield* admin(
            method,
            url,
            method === "GET" ? undefined : { unknown: 1 },
            tokens[role]
          )
          return status === 403 ? refused : { status, json: at(json, "code") }
        })
        expect([name, yield* asked("metrics")]).toEqual([name, refused])
        const isRead = (yield* asked("read")).status !== 403
        expect([name, isRead]).toEqual([name, method === "GET"])
        const isOfSupport = (yield* asked("support")).status !== 403
        expect([name, isOfSupport]).toEqual([name, isRead || ofSupport.has(name)])
        expect((yield* asked("admin")).status).not.toBe(403)
      }
      for (const token of Object.values(tokens)) {
        expect((yield* request("GET", "/metrics", undefined, token)).status).toBe(200)
      }
      expect((yield* entries()).length).toBe(before.length)
      expect(yield* entries("&operator=auditor")).toEqual([])
    }).pipe(Effect.provide(layer), quiet)
  )

  it.effect("is of a token that overlaps with two others at most, and ends when it is revoked", () =>
    Effect.gen(function* () {
      const { admin, operator } = yield* host
      const tokens = [yield* operator("ana", "read")]
      const rotate = (body: unknown) =>
        Effect.map(admin("POST", "/operators/ana/rotate", body), ({ json }) => {
          tokens.push(String(at(json, "token")))
          return items(json, "operator", "secrets").length
        })
      const accepted = Effect.suspend(() =>
        Effect.map(Effect.all(tokens.map((token) => admin("GET", "/accounts", undefined, token))), (all) =>
          all.map(({ status }) => status)
        )
      )
      expect([yield* rotate({}), yield* rotate({}), yield* rotate({})]).toEqual([2, 3, 3])
      expect(yield* accepted).toEqual([401, 200, 200, 200])
      expect(yield* rotate({ overlap_seconds: 0 })).toBe(1)
      expect(yield* accepted).toEqual([401, 401, 401, 401, 200])
      yield* rotate({ overlap_seconds: 60 })
      yield* TestClock.adjust("1 minute")
      expect(yield* accepted).toEqual([401, 401, 401, 401, 401, 200])
      const listed = yield* admin("GET", "/operators")
      expect(items(listed.json, "operators")).toMatchObject([{ name: "ana", role: "read", status: "active" }])
      expect(JSON.stringify(listed.json)).not.toMatch(/v1\.|op_/)
      expect((yield* admin("POST", "/operators/ana/revoke")).status).toBe(200)
      expect((yield* accepted).at(-1)).toBe(401)
      expect((yield* admin("POST", "/operators/ana/rotate", {})).status).toBe(422)
      expect((yield* admin("POST", "/operators/nobody/rotate", {})).status).toBe(404)
    }).pipe(Effect.provide(layer), quiet)
  )
})
