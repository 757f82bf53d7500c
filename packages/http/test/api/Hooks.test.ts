/** What a platform's hook may cost before anything shows that it is one: nothing is read of what is for nobody. */
import { describe, expect, it } from "@effect/vitest"
import { AddressPolicy, Engine, HttpGateway, Memory, SecretBox, Sender } from "@sendwright/core"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MutableRef from "effect/MutableRef"
import * as TestClock from "effect/TestClock"
import * as HttpLimits from "../../src/http/HttpLimits.ts"
import * as Routes from "../../src/http/Routes.ts"
import * as Steps from "../../src/http/Steps.ts"

const send = () => Effect.succeed(Sender.SendResult.Accepted({ providerId: null, status: "accepted" }))

/** A platform that shakes hands, and whose posts are all believed. */
const pigeon: Sender.Sender = {
  provider: "pigeon",
  deduplicates: true,
  send,
  receive: ({ method, query }) =>
    Effect.succeed(
      method === "GET"
        ? Sender.HookResult.Challenge({ text: query["echo"] ?? "" })
        : Sender.HookResult.Content({ reports: [], messages: [], preferences: [], templates: [], unread: [] })
    )
}

/** A platform that posts nothing. */
const deaf: Sender.Sender = { provider: "deaf", deduplicates: true, send }

const engineLayer = Engine.layer().pipe(
  Layer.provide(Memory.layer),
  Layer.provide(RecordingTransport.layer),
  Layer.provide(
    Layer.unwrapScoped(Effect.map(HttpGateway.make(), (sender) => Sender.layer(sender, pigeon, deaf)))
  ),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([]))
)

const nobody = "0190a0a0-0000-7000-8000-000000000000"

/** The host over an engine in memory with a gateway's session. */
const serving = (limits: Partial<HttpLimits.Limits> = {}) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const { accounts, sessions } = engine.admin
    const account = yield* accounts.create({ name: "Shop" })
    const session = yield* sessions.create(account.id, {
      name: "Gateway",
      provider: "http",
      config: { url: "https://gateway.example/send", secret: "a secret of the gateway, long enough" }
    })
    const own = yield* sessions.create(account.id, { name: "Birds", provider: "pigeon" })
    const silent = yield* sessions.create(account.id, { name: "Silent", provider: "deaf" })
    const handle = yield* Steps.make({
      engine,
      ...Routes.ofApi(engine, "http://base"),
      baseUrl: "http://base",
      adminToken: undefined,
      stopping: MutableRef.make(false),
      limits: { ...HttpLimits.defaults, ...limits }
    })
    let reads = 0
    const post = (
      path: string,
      { address = "192.0.2.1", length = "2" }: { address?: string; length?: string } = {}
    ) =>
      Effect.map(
        handle({
          method: "POST",
          url: path,
          headers: { "content-length": length },
          address,
          hasBody: true,
          body: () =>
            Effect.sync(() => {
              reads += 1
              return new TextEncoder().encode("{}")
            })
        }),
        ({ headers, status }) => ({ status, retryAfter: headers["retry-after"] })
      )
    /** All that an answer says, but for its id. */
    const ask = (method: string, path: string) =>
      Effect.map(
        handle({
          method,
          url: path,
          headers: { "x-request-id": "the-same" },
          hasBody: method === "POST",
          body: () => Effect.succeed(new TextEncoder().encode("{}"))
        }),
        ({ body, headers, status }) => ({ status, allow: headers["allow"], body: String(body) })
      )
    const ids = { gateway: session.id, pigeon: own.id, deaf: silent.id }
    return { ask, handle, ids, post, reads: () => reads, sessionId: session.id, engine }
  })

describe("the body of a hook", () => {
  it.effect("is not read for an unknown session, or one of another platform", () =>
    Effect.gen(function* () {
      const { post, reads, sessionId } = yield* serving()
      for (const path of [`/hooks/http/${nobody}`, `/hooks/whatsapp/${sessionId}`, "/hooks/http/nonsense"]) {
        expect(yield* post(path)).toMatchObject({ status: 404 })
      }
      expect(reads()).toBe(0)
      expect(yield* post(`/hooks/http/${sessionId}`)).toMatchObject({ status: 401 })
      expect(reads()).toBe(1)
    }).pipe(Effect.provide(engineLayer))
  )

  it.effect("is not read, nor a session looked up, where a parameter is given twice", () =>
    Effect.gen(function* () {
      const { handle, post, reads, sessionId } = yield* serving()
      const query = "hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=a&hub.verify_token=verify"
      const { body, status } = yield* handle({
        method: "GET",
        url: `/hooks/whatsapp/${nobody}?${query}`,
        headers: {},
        hasBody: false,
        body: () => Effect.succeed(new Uint8Array())
      })
      expect([status, JSON.parse(String(body)).errors]).toMatchObject([
        422,
        [{ pointer: "/query/hub.verify_token", code: "invalid_value" }]
      ])
      expect(yield* post(`/hooks/http/${sessionId}?a=1&a=2`)).toMatchObject({ status: 422 })
      expect(reads()).toBe(0)
    }).pipe(Effect.provide(engineLayer))
  )

  it.effect("is not read when it is declared too long", () =>
    Effect.gen(function* () {
      const { post, reads, sessionId } = yield* serving()
      expect(yield* post(`/hooks/http/${sessionId}`, { length: "4194305" })).toMatchObject({ status: 413 })
      expect(reads()).toBe(0)
    }).pipe(Effect.provide(engineLayer))
  )

  it.effect(
    "is not read over its address's rate at the session, which takes nothing from other addresses",
    () =>
      Effect.gen(function* () {
        const { post, reads, sessionId } = yield* serving({ hooksPerSession: 3 })
        const path = `/hooks/http/${sessionId}`
        const flood = yield* Effect.replicateEffect(post(path, { address: "192.0.2.1" }), 4)
        const other = yield* post(path, { address: "192.0.2.2" })
        expect(flood.map(({ status }) => status)).toEqual([401, 401, 401, 429])
        expect(flood[3]?.retryAfter).toBe("1")
        expect(other).toMatchObject({ status: 401 })
        expect(reads()).toBe(4)
        yield* TestClock.adjust("1 second")
        expect(yield* post(path, { address: "192.0.2.1" })).toMatchObject({ status: 401 })
      }).pipe(Effect.provide(engineLayer))
  )

  it.effect("is not read, nor a session looked up, over the address's rate", () =>
    Effect.gen(function* () {
      const { post, reads, sessionId } = yield* serving({ hooksPerAddress: 2 })
      const first = [yield* post(`/hooks/http/${nobody}`), yield* post(`/hooks/http/${nobody}`)]
      expect(first.map(({ status }) => status)).toEqual([404, 404])
      expect(yield* post(`/hooks/http/${nobody}`)).toEqual({ status: 429, retryAfter: "1" })
      expect(yield* post(`/hooks/http/${sessionId}`)).toMatchObject({ status: 429 })
      expect(reads()).toBe(0)
      expect(yield* post(`/hooks/http/${sessionId}`, { address: "192.0.2.2" })).toMatchObject({ status: 401 })
    }).pipe(Effect.provide(engineLayer))
  )
})

describe("a hook of any provider", () => {
  it.effect("is read by its sender, under the provider's name", () =>
    Effect.gen(function* () {
      const { ask, ids } = yield* serving()
      const path = `/hooks/pigeon/${ids.pigeon}`
      expect(yield* ask("POST", path)).toMatchObject({ status: 200, body: '{"ok":true}' })
      expect(yield* ask("GET", `${path}?echo=coo`)).toMatchObject({ status: 200, body: "coo" })
      expect(yield* ask("POST", `/hooks/pige%6Fn/${ids.pigeon}`)).toMatchObject({ status: 200 })
      expect(yield* ask("DELETE", path)).toMatchObject({ status: 405, allow: "GET, HEAD, POST, OPTIONS" })
    }).pipe(Effect.provide(engineLayer))
  )

  it.effect("is refused as an unknown session is where the engine has no such sender, or it takes none", () =>
    Effect.gen(function* () {
      const { ask, ids } = yield* serving()
      for (const method of ["GET", "POST"]) {
        const unknown = yield* ask(method, `/hooks/pigeon/${nobody}`)
        expect(unknown.status).toBe(404)
        const others = [
          `/hooks/crow/${nobody}`,
          `/hooks/crow/${ids.pigeon}`,
          `/hooks/deaf/${ids.deaf}`,
          `/hooks/deaf/${ids.pigeon}`,
          `/hooks/pigeon/${ids.gateway}`,
          `/hooks/sandbox/${ids.pigeon}`,
          `/hooks/Pigeon/${ids.pigeon}`,
          `/hooks/%70igeon%00/${ids.pigeon}`,
          `/hooks/pigeon%2F/${ids.pigeon}`,
          `/hooks/__proto__/${ids.pigeon}`,
          `/hooks/${"p".repeat(4000)}/${ids.pigeon}`,
          `/hooks/%E0%A4%A/${ids.pigeon}`,
          "/hooks/pigeon/nonsense"
        ]
        for (const path of others) expect(yield* ask(method, path), `${method} ${path}`).toEqual(unknown)
      }
    }).pipe(Effect.provide(engineLayer))
  )

  it.effect("has its body read once the session is known, and no more often than the session's rate", () =>
    Effect.gen(function* () {
      const { ids, post, reads } = yield* serving({ hooksPerSession: 1, hooksPerAddress: 4 })
      const statuses = yield* Effect.forEach(
        [
          `/hooks/crow/${ids.pigeon}`,
          `/hooks/pigeon/${ids.pigeon}`,
          `/hooks/pigeon/${ids.pigeon}`,
          `/hooks/deaf/${ids.deaf}`,
          `/hooks/pigeon/${ids.pigeon}`
        ],
        (path) => Effect.map(post(path), ({ status }) => status)
      )
      expect([statuses, reads()]).toEqual([[404, 200, 429, 404, 429], 1])
    }).pipe(Effect.provide(engineLayer))
  )

  it.effect("leaves the routes of the contract as they are", () =>
    Effect.gen(function* () {
      const { ask, ids } = yield* serving()
      expect(yield* ask("GET", `/hooks/http/${ids.gateway}`)).toMatchObject({
        status: 405,
        allow: "POST, OPTIONS"
      })
    }).pipe(Effect.provide(engineLayer))
  )
})

describe("/openapi.json and /docs", () => {
  it.effect("tell the senders that the engine has", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving()
      const page = Routes.ofApi(engine, "http://base").pages.get("/openapi.json")
      const { components } = JSON.parse(String(yield* page?.body ?? Effect.succeed("{}")))
      expect(components.schemas.Provider.enum).toEqual(["http", "pigeon", "deaf"])
      expect(components.schemas.SessionConfiguration.description).toMatch(/`http`: `url` and `secret`/)
    }).pipe(Effect.provide(engineLayer))
  )

  it.effect("are made once, and all answers share their bytes", () =>
    Effect.gen(function* () {
      const { engine } = yield* serving()
      const { pages } = Routes.ofApi(engine, "http://base")
      for (const path of ["/openapi.json", "/docs"]) {
        const made = yield* Effect.all(
          Array.from({ length: 3 }, () => pages.get(path)?.body ?? Effect.succeed("")),
          { concurrency: "unbounded" }
        )
        expect(made[0]).toBeInstanceOf(Uint8Array)
        expect(made[0]?.length).toBeGreaterThan(10_000)
        expect(made.every((each) => each === made[0])).toBe(true)
      }
    }).pipe(Effect.provide(engineLayer))
  )

  const reading = (limits: Partial<HttpLimits.Limits>) =>
    Effect.map(
      serving(limits),
      ({ handle }) =>
        (url: string, address: string) =>
          Effect.map(
            handle({
              method: "GET",
              url,
              headers: {},
              address,
              hasBody: false,
              body: () => Effect.succeed(new Uint8Array())
            }),
            ({ headers, status }) => [status, headers["retry-after"], headers["connection"]]
          )
    )

  it.effect("are read so often from one address; one more is its connection's last answer", () =>
    Effect.gen(function* () {
      const read = yield* reading({ pagesPerAddress: 2 })
      expect((yield* read("/openapi.json", "192.0.2.1"))[0]).toBe(200)
      expect((yield* read("/docs", "192.0.2.1"))[0]).toBe(200)
      expect(yield* read("/docs", "192.0.2.1")).toEqual([429, "1", "close"])
      expect((yield* read("/docs", "192.0.2.2"))[0]).toBe(200)
      expect((yield* read("/health/live", "192.0.2.1"))[0]).toBe(200)
      yield* TestClock.adjust("1 second")
      expect((yield* read("/docs", "192.0.2.1"))[0]).toBe(200)
    }).pipe(Effect.provide(engineLayer))
  )

  it.effect("are read so often in all", () =>
    Effect.gen(function* () {
      const read = yield* reading({ pages: 2 })
      expect((yield* read("/docs", "192.0.2.1"))[0]).toBe(200)
      expect((yield* read("/docs", "192.0.2.2"))[0]).toBe(200)
      expect(yield* read("/docs", "192.0.2.3")).toEqual([503, "1", "close"])
    }).pipe(Effect.provide(engineLayer))
  )
})
