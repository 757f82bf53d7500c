/** What an operator has read is told again only once it changed, and with `If-Match` changed only while it did not. */
import { describe, expect, it } from "@effect/vitest"
import { AddressPolicy, Engine, Sandbox, SecretBox, Sender, type Stores } from "@sendwright/core"
import { AdminApi } from "@sendwright/core/contract"
import { Postgres } from "@sendwright/core/postgres"
import { Sqlite } from "@sendwright/core/sqlite"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { emptyDatabase } from "../../../../test/support/Postgres.ts"
import { at, items, template } from "../../../../test/support/TestHost.ts"
import * as Handler from "./Handler.ts"

const on = <E>(stores: Layer.Layer<Stores.Stores, E>) =>
  Engine.layer().pipe(
    Layer.provide(stores),
    Layer.provide(RecordingTransport.layer),
    Layer.provide(Sender.layer(Sandbox.make({ latencyMs: 0, receiptDelayMs: 0 }))),
    Layer.provide(SecretBox.layerRandom),
    Layer.provide(AddressPolicy.layer([]))
  )

const stores = [
  ["SQLite", on(Sqlite.layer({ filename: ":memory:" }))],
  [
    "PostgreSQL",
    on(Layer.unwrapScoped(Effect.map(emptyDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))))
  ]
] as const

const serving = Effect.gen(function* () {
  const { account, credentials, engine, handle, session } = yield* Handler.make()
  const ask = (path: string, method = "GET", body?: unknown, more: Readonly<Record<string, string>> = {}) =>
    Effect.map(
      handle({
        method,
        url: `/admin/v1${path}`,
        headers: {
          authorization: credentials.authorization,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...more
        },
        address: "203.0.113.7",
        hasBody: body !== undefined,
        body: () => Effect.succeed(Buffer.from(JSON.stringify(body ?? null)))
      }),
      ({ body, headers, status }) => ({
        status,
        tag: headers["etag"] ?? "",
        json: body.length === 0 ? null : JSON.parse(String(body))
      })
    )
  const { endpoint } = yield* engine.admin.webhooks.create(account.id, { url: "https://shop.example/hook" })
  return { account, ask, credentials, endpoint, engine, session }
})

describe.each(stores)("If-Match over %s", (_name, layer) => {
  it.scopedLive("a change is made of what was read, and not of what it is no more", () =>
    Effect.gen(function* () {
      const { account, ask, endpoint, session } = yield* serving
      const things: ReadonlyArray<readonly [path: string, member: string, change: (name: string) => object]> =
        [
          [`/accounts/${account.id}`, "name", (name) => ({ name })],
          [`/sessions/${session.id}`, "name", (name) => ({ name })],
          [`/webhooks/${endpoint.id}`, "description", (description) => ({ description })]
        ]
      for (const [path, member, change] of things) {
        const { tag } = yield* ask(path)
        expect((yield* ask(path, "GET", undefined, { "if-none-match": tag })).status).toBe(304)
        expect((yield* ask(path, "PATCH", change("first"), { "if-match": tag })).status).toBe(200)
        const refused = yield* ask(path, "PATCH", change("second"), { "if-match": tag })
        expect([refused.status, at(refused.json, "code")]).toEqual([412, "precondition_failed"])
        expect(at(refused.json, "detail")).toMatch(/^It was changed since it was read, .* read it again/)
        const now = yield* ask(path)
        expect(Object.values(Object(now.json)).map((each) => at(each, member))).toContain("first")
        // A proxy that compresses has weakened one of them; who names none or any is not refused.
        const several = `"another", W/${now.tag}`
        expect((yield* ask(path, "PATCH", change("third"), { "if-match": several })).status).toBe(200)
        expect((yield* ask(path, "PATCH", change("fourth"), { "if-match": "*" })).status).toBe(200)
        expect((yield* ask(path, "PATCH", change("fifth"))).status).toBe(200)
      }
      const gone = yield* ask(
        `/accounts/01900000-0000-7000-8000-000000000000`,
        "PATCH",
        {},
        { "if-match": "*" }
      )
      expect(gone.status).toBe(404)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("of several who read the same and change it at once, one does", () =>
    Effect.gen(function* () {
      const { ask, engine, session } = yield* serving
      const path = `/sessions/${session.id}`
      const { tag } = yield* ask(path)
      const names = ["one", "two", "three", "four"]
      const answers = yield* Effect.all(
        names.map((name) => ask(path, "PATCH", { name }, { "if-match": tag })),
        { concurrency: "unbounded" }
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412])
      const [done] = answers.filter(({ status }) => status === 200)
      expect(at((yield* ask(path)).json, "session", "name")).toBe(at(done?.json, "session", "name"))
      const { items: acts } = yield* engine.admin.audit.list({
        operation: "sessions.change",
        page: { limit: 10, after: null }
      })
      expect(acts.length).toBe(1)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("of several who import templates or rate cards at once, one does", () =>
    Effect.gen(function* () {
      const { ask, session } = yield* serving
      const together = Effect.fnUntraced(function* (path: string, bodies: ReadonlyArray<unknown>) {
        const { tag } = yield* ask(path)
        const answers = yield* Effect.all(
          bodies.map((body) => ask(path, "PUT", body, { "if-match": tag })),
          { concurrency: "unbounded" }
        )
        expect(answers.map(({ status }) => status >= 300).sort()).toEqual([false, true, true, true])
      })
      const names = ["one", "two", "three", "four"]
      yield* together(
        `/sessions/${session.id}/templates`,
        names.map((name) => ({ templates: [{ ...template, name }] }))
      )
      const card = { currency: "EUR", prices: [{ market: "*", category: "utility", price: "1" }] }
      yield* together(
        "/rate-cards",
        names.map((_, month) => ({ ...card, effective_from: `2020-0${month + 1}-01T00:00:00Z` }))
      )
    }).pipe(Effect.provide(layer))
  )
})

it.scopedLive("each change of the admin API hears it, and says so where nothing could have been read", () =>
  Effect.gen(function* () {
    const { account, ask, credentials, endpoint, engine, session } = yield* serving
    yield* engine.admin.templates.importAll(session.id, [template])
    yield* engine.admin.consents.record(account.id, [{ phone: "34600001234", source: "test" }])
    const { templates } = (yield* ask(`/sessions/${session.id}/templates`)).json
    const caller = yield* engine.identify({
      publicKey: credentials["x-public-key"],
      secretKey: credentials["x-secret-key"]
    })
    const { jobId } = yield* engine.send(caller, {
      idempotencyKey: "1",
      request: {
        templateId: Number(at(items(templates)[0], "template_id")),
        recipients: [
          {
            phone: "34600001234",
            variables: { "header.1": "A-1", "body.1": "Ana", "body.2": "today", "button.0.1": "A-1" }
          }
        ]
      }
    })
    const ids: Readonly<Record<string, string>> = {
      accounts: account.id,
      sessions: session.id,
      webhooks: endpoint.id,
      jobs: jobId
    }
    const asked: Array<string> = []
    for (const operation of AdminApi.operations) {
      const { method, path } = operation.endpoint
      if (!["DELETE", "PATCH", "PUT"].includes(method)) continue
      const { reference } = operation.route(engine)
      const url = path
        .replace("/admin/v1", "")
        .replace(":publicKey", credentials["x-public-key"])
        .replace(/(\w+)\/:id/, (_, of: string) => `${of}/${ids[of]}`)
      const answered = yield* ask(url, method, reference.request, { "if-match": '"another"' })
      expect([operation.endpoint.name, answered.status, at(answered.json, "code")]).toEqual([
        operation.endpoint.name,
        412,
        "precondition_failed"
      ])
      asked.push(`${method} ${path}`)
      if (path.endsWith(":publicKey"))
        expect(at(answered.json, "detail")).toMatch(/^Nothing answers an ETag for this path/)
    }
    expect(asked.length).toBeGreaterThan(6)
  }).pipe(Effect.provide(stores[0][1]))
)
