/** What the adapter refuses by itself, in which order, and what every answer carries; the engine is a stub. */
import * as HttpApi from "@effect/platform/HttpApi"
import { describe, expect, it } from "@effect/vitest"
import { Engine, Errors, Requests } from "@sendwright/core"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as MutableRef from "effect/MutableRef"
import * as Api from "../../src/api/Api.ts"
import * as Steps from "../../src/http/Steps.ts"
import { caller } from "./Caller.ts"

type EngineService = typeof Engine.Engine.Service

/** The engine's part of a refusal: what was wrong before the body was looked at. */
const refusing = (request: unknown, name: string) =>
  request instanceof Requests.Unchecked && request.faults.length > 0
    ? Effect.fail(new Errors.InvalidRequest({ faults: request.faults }))
    : Effect.dieMessage(name)

/** What is not given dies with its name; the admin side is not called at all. */
const stub = (given: Partial<EngineService>): EngineService =>
  Engine.Engine.of({
    identify: () => Effect.succeed(caller),
    callerOf: () => Effect.dieMessage("callerOf"),
    authorize: (known) => Effect.succeed(known),
    templates: () => Effect.dieMessage("templates"),
    template: () => Effect.dieMessage("template"),
    estimate: (_, request) => refusing(request, "estimate"),
    send: (_, { request }) => refusing(request, "send"),
    sendDirect: (_, { request }) => refusing(request, "sendDirect"),
    jobs: () => Effect.dieMessage("jobs"),
    job: () => Effect.dieMessage("job"),
    search: () => Effect.dieMessage("search"),
    message: () => Effect.dieMessage("message"),
    window: () => Effect.dieMessage("window"),
    timeline: () => Effect.dieMessage("timeline"),
    cancel: () => Effect.dieMessage("cancel"),
    pause: () => Effect.dieMessage("pause"),
    resume: () => Effect.dieMessage("resume"),
    change: () => Effect.dieMessage("change"),
    receive: () => Effect.dieMessage("receive"),
    hook: () => Effect.dieMessage("hook"),
    readiness: Effect.succeed([]),
    senders: [],
    drain: Effect.dieMessage("drain"),
    nextDue: Effect.dieMessage("nextDue"),
    clock: { health: Effect.dieMessage("clock"), within: identity },
    admin: new Proxy(Object.create(null), { get: () => new Proxy(Object.create(null), {}) }),
    ...given
  })

const routesOf = (engine: EngineService) => Api.operations.map(({ route }) => route(engine))

interface Call {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

const json = { "content-type": "application/json" }

const call = (
  url: string,
  { body = "", headers = {}, method = "POST" }: Call = {},
  given: Partial<EngineService> = {},
  stopping = false
) =>
  Effect.gen(function* () {
    const engine = stub(given)
    const handle = yield* Steps.make({
      engine,
      routes: routesOf(engine),
      pages: new Map(),
      baseUrl: "http://base",
      adminToken: undefined,
      stopping: MutableRef.make(stopping)
    })
    const bytes = Buffer.from(body)
    const answer = yield* handle({
      method,
      url,
      headers,
      hasBody: bytes.length > 0,
      body: (maximum) => Effect.succeed(bytes.length > maximum ? undefined : bytes)
    })
    const read: unknown = answer.body === "" ? undefined : JSON.parse(String(answer.body))
    return { ...answer, json: read }
  })

const estimate = "/api/v1/template-messages/estimate"
const send = "/api/v1/template-messages/send"
const jobs = "/api/v1/template-messages"

describe("the contract", () => {
  it("has a route for every endpoint, and no route besides", () => {
    const promised: Array<string> = []
    HttpApi.reflect(Api.Api, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint }) => promised.push(`${endpoint.method} ${endpoint.path}`)
    })
    const routes = routesOf(stub({})).map((route) => `${route.method} ${route.pattern}`)
    expect(routes.toSorted()).toEqual(promised.toSorted())
  })
})

describe("the order", () => {
  const refusals: Partial<EngineService> = {
    identify: () => Effect.fail(new Errors.InvalidCredentials()),
    authorize: () => Effect.fail(new Errors.SubscriptionInactive())
  }

  it.effect("is route, credentials, then the key's rights, then the shape", () =>
    Effect.gen(function* () {
      const broken = { headers: { "content-type": "text/plain" }, body: "{" }
      expect((yield* call("/api/v1/nothing", broken, refusals)).status).toBe(404)
      expect((yield* call(estimate, { ...broken, method: "PATCH" }, refusals)).status).toBe(405)
      expect((yield* call(estimate, broken, refusals)).status).toBe(401)
      const { authorize } = refusals
      expect((yield* call(estimate, broken, authorize === undefined ? {} : { authorize })).status).toBe(402)
      expect((yield* call(estimate, broken)).status).toBe(415)
    })
  )

  it.effect("asks for each operation's permission", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const authorize: EngineService["authorize"] = (_, permission) => {
        asked.push(permission)
        return Effect.fail(new Errors.SessionDisconnected({ state: "disconnected", reason: null }))
      }
      const message = "/api/public/messages/00000000-0000-7000-8000-000000000001"
      const job = `${jobs}/00000000-0000-7000-8000-000000000000`
      for (const url of [
        "/api/v1/connection",
        "/api/v1/templates",
        "/api/v1/templates/1",
        jobs,
        job,
        message
      ]) {
        expect((yield* call(url, { method: "GET" }, { authorize })).status).toBe(409)
      }
      for (const url of [estimate, send, `${job}/cancel`, "/api/public/test", "/api/public/messages/send"]) {
        expect((yield* call(url, {}, { authorize })).status).toBe(409)
      }
      expect(asked).toEqual([
        "connection:read",
        "templates:read",
        "templates:read",
        "jobs:read",
        "jobs:read",
        "direct:read",
        "messages:estimate",
        "messages:send",
        "messages:send",
        null,
        "direct:send"
      ])
    })
  )
})

describe("a body", () => {
  const codeOf = (body: string | Uint8Array, headers: Readonly<Record<string, string>> = json) =>
    Effect.map(call(estimate, { body, headers }), (answer) => [answer.status, answer.json])

  it.effect("that is no JSON text in UTF-8 is invalid_json", () =>
    Effect.gen(function* () {
      const faulty = [
        "",
        "{",
        "nonsense",
        "\ufeff{}",
        Uint8Array.of(0x22, 0xff, 0x22),
        "[".repeat(500_000),
        `${"[".repeat(33)}${"]".repeat(33)}`
      ]
      for (const body of faulty) {
        expect(yield* codeOf(body)).toMatchObject([
          422,
          { code: "invalid_request", errors: [{ pointer: "", code: "invalid_json" }] }
        ])
      }
    })
  )

  it.effect("of another type, encoding or size is refused before it is read", () =>
    Effect.gen(function* () {
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/vnd.api+json"]) {
        expect(yield* codeOf("{}", { "content-type": type })).toMatchObject([415, {}])
      }
      expect(yield* codeOf("{}", {})).toMatchObject([415, { code: "unsupported_media_type" }])
      expect(yield* codeOf("{}", { ...json, "content-encoding": "gzip" })).toMatchObject([415, {}])
      const declared = { ...json, "content-length": "1048577" }
      expect(yield* codeOf("", declared)).toMatchObject([413, { code: "payload_too_large" }])
      expect(yield* codeOf(" ".repeat(1_048_577))).toMatchObject([413, { code: "payload_too_large" }])
    })
  )

  it.effect("reaches the engine as it came, with the key's header", () =>
    Effect.gen(function* () {
      const answer = yield* call(
        send,
        {
          headers: { "content-type": "application/json; charset=utf-8", "idempotency-key": ' "a b" ' },
          body: '{"variables": {"__proto__": "x"}}'
        },
        {
          send: (_, { idempotencyKey, request }) => {
            expect(idempotencyKey).toBe(' "a b" ')
            expect(request).toBeInstanceOf(Requests.Unchecked)
            const body = request instanceof Requests.Unchecked ? request.body : undefined
            expect(JSON.stringify(body)).toBe('{"variables":{"__proto__":"x"}}')
            return Effect.succeed({ jobId: "j", recipients: 1, replayed: true })
          }
        }
      )
      expect(answer.status).toBe(202)
      expect(answer.headers["idempotency-replayed"]).toBe("true")
      expect(answer.json).toEqual({
        ok: true,
        job_id: "j",
        status: "queued",
        recipients: 1,
        links: { status: "/api/v1/template-messages/j" }
      })
    })
  )

  it.effect("is not asked for by the connection test, and one that says something is refused", () =>
    Effect.gen(function* () {
      const test = (body: string, headers: Readonly<Record<string, string>>) =>
        Effect.map(call("/api/public/test", { headers, body }), (answer) => [answer.status, answer.json])
      for (const [body, headers] of [
        ["", json],
        ["", { "content-type": "text/plain" }],
        ["{}", json]
      ] as const) {
        expect(yield* test(body, headers)).toMatchObject([
          200,
          { ok: true, authenticated: true, connected: true }
        ])
      }
      expect(yield* test('{"key": "k"}', json)).toMatchObject([
        422,
        { errors: [{ pointer: "/key", code: "unknown_field" }] }
      ])
      expect(yield* test("[]", json)).toMatchObject([422, { errors: [{ code: "invalid_type" }] }])
      expect(yield* test("{", json)).toMatchObject([422, { errors: [{ code: "invalid_json" }] }])
      expect(yield* test("x", { "content-type": "text/plain" })).toMatchObject([415, {}])
    })
  )
})

describe("parameters", () => {
  it.effect("that are bad, unknown or given twice are told by pointer, all at once", () =>
    Effect.gen(function* () {
      const pointers = (url: string) =>
        Effect.map(call(url, { method: "GET" }), ({ json, status }) => [status, json])
      expect(yield* pointers(`${jobs}?limit=0&status=done&created_after=today&cursor=x`)).toMatchObject([
        422,
        {
          errors: [
            { pointer: "/query/limit", code: "out_of_range" },
            { pointer: "/query/cursor", code: "invalid_value" },
            { pointer: "/query/status", code: "invalid_value" },
            { pointer: "/query/created_after", code: "invalid_value" }
          ]
        }
      ])
      for (const limit of ["abc", "", "0x10", "1e1", "2.0", "99999999999999999999"]) {
        expect(yield* pointers(`${jobs}?limit=${limit}`)).toMatchObject([
          422,
          { errors: [{ pointer: "/query/limit", code: "invalid_type", message: /whole number/ }] }
        ])
      }
      for (const id of ["one", "1.5", "0x1", "%ff", "1%20"]) {
        expect(yield* pointers(`/api/v1/templates/${id}`)).toMatchObject([
          422,
          { errors: [{ pointer: "/path/templateId", code: "invalid_type" }] }
        ])
      }
      expect(yield* pointers(`${jobs}/nonsense`)).toMatchObject([
        422,
        { errors: [{ pointer: "/path/jobId", code: "invalid_value" }] }
      ])
      expect(yield* pointers(`${jobs}?colour=blue&limit=7&limit=8&statis=queued`)).toMatchObject([
        422,
        {
          errors: [
            { pointer: "/query/limit", code: "invalid_value", message: "`limit` must be given once." },
            { pointer: "/query/colour", code: "unknown_field" },
            { pointer: "/query/statis", code: "unknown_field", message: /Did you mean `status`/ }
          ]
        }
      ])
      const listed = yield* call(
        `${jobs}?limit=7`,
        { method: "GET" },
        {
          jobs: (_, { page }) => {
            expect(page).toEqual({ limit: 7, after: null })
            return Effect.succeed({ items: [], next: null })
          }
        }
      )
      expect(listed.json).toEqual({ ok: true, jobs: [], next_cursor: null })
    })
  )
})

describe("every answer", () => {
  const rate = { "ratelimit-policy": '"per-minute";q=600;w=60', ratelimit: '"per-minute";r=119;t=1' }

  it.effect("to a known key tells the rate, refusals and bugs included", () =>
    Effect.gen(function* () {
      expect((yield* call("/api/public/test")).headers).toMatchObject(rate)
      expect((yield* call(estimate, { headers: json, body: "{" })).headers).toMatchObject(rate)
      const bug = yield* call(estimate, { headers: json, body: "{}" })
      expect([bug.status, bug.headers]).toMatchObject([500, rate])
      const refused = yield* call(
        estimate,
        {},
        { authorize: () => Effect.fail(new Errors.SubscriptionInactive()) }
      )
      expect(refused.headers).toMatchObject(rate)
    })
  )

  it.effect("over the limit says how long to wait, in whole seconds and at least one", () =>
    Effect.gen(function* () {
      for (const [retryAfterMs, seconds] of [
        [0, "1"],
        [1001, "2"]
      ] as const) {
        const answer = yield* call(
          estimate,
          {},
          {
            identify: () =>
              Effect.fail(new Errors.RateLimited({ limit: 600, retryAfterMs, resetAfterMs: 59_001 }))
          }
        )
        expect([answer.status, answer.headers]).toMatchObject([
          429,
          {
            "retry-after": seconds,
            "ratelimit-policy": rate["ratelimit-policy"],
            ratelimit: '"per-minute";r=0;t=60'
          }
        ])
      }
    })
  )

  it.effect("carries an id and the security headers, found or not", () =>
    Effect.gen(function* () {
      for (const url of ["/health/live", "/nothing", "/admin/v1/accounts"]) {
        const { headers } = yield* call(url, { method: "GET" })
        expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "cache-control": "no-store" })
        expect(headers["x-request-id"]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/)
      }
    })
  )

  it.effect("of the connection test has the four fields, refused or not", () =>
    Effect.gen(function* () {
      const identify = () => Effect.fail(new Errors.InvalidCredentials())
      const unknown = yield* call("/api/public/test", {}, { identify })
      expect(unknown.json).toMatchObject({
        ok: false,
        authenticated: false,
        connected: false,
        code: "invalid_credentials"
      })
      const authorize = () =>
        Effect.fail(new Errors.SessionDisconnected({ state: "disconnected", reason: null }))
      const apart = yield* call("/api/public/test", {}, { authorize })
      expect(apart.json).toMatchObject({
        ok: false,
        authenticated: true,
        connected: false,
        code: "session_disconnected",
        message: expect.any(String)
      })
    })
  )

  it.effect("while the service stops is 503 with Retry-After", () =>
    Effect.gen(function* () {
      const answer = yield* call("/health/ready", { method: "GET" }, {}, true)
      expect([answer.status, answer.headers["retry-after"], answer.json]).toMatchObject([
        503,
        "1",
        { code: "unavailable" }
      ])
    })
  )
})

describe("a refusal by the engine", () => {
  it.effect("becomes its problem", () =>
    Effect.gen(function* () {
      const refused = (error: Effect.Effect.Error<ReturnType<EngineService["sendDirect"]>>) =>
        Effect.map(
          call(
            "/api/public/messages/send",
            { headers: json, body: "{}" },
            { sendDirect: () => Effect.fail(error) }
          ),
          ({ json, status }) => [status, json]
        )
      const failure = { code: "not_on_platform", provider_code: "131026", message: "No.", permanent: true }
      expect(
        yield* refused(new Errors.SendFailed({ messageId: "m", outcome: "failed", failure }))
      ).toMatchObject([422, { code: "send_failed", messageId: "m", reason: failure }])
      expect(
        yield* refused(new Errors.SendFailed({ messageId: "m", outcome: "unknown", failure }))
      ).toMatchObject([422, { outcome: "unknown" }])
      expect(yield* refused(new Errors.IdempotencyConflict({ jobId: null, messageId: "m" }))).toMatchObject([
        409,
        { code: "idempotency_conflict", message_id: "m" }
      ])
      expect(yield* refused(new Errors.IdempotencyConflict({ jobId: "j", messageId: null }))).toMatchObject([
        409,
        { job_id: "j" }
      ])
      const faults = Array.from({ length: 300 }, (_, index) => ({
        path: ["recipients", index, "a/b~c"],
        code: "consent_required" as const,
        message: "No consent."
      }))
      const [status, body] = yield* refused(new Errors.ConsentRequired({ faults, withdrawn: 0 }))
      expect(status).toBe(403)
      expect(body).toMatchObject({ type: "http://base/problems/consent_required", status: 403 })
      expect(body).toHaveProperty("errors.length", 250)
      expect(body).toHaveProperty("errors.0.pointer", "/recipients/0/a~1b~0c")
    })
  )
})
