import { describe, expect, it } from "@effect/vitest"
import { Engine, Errors, StorageError } from "@sendwright/core"
import { Codec, Endpoint, Operation, Problems, Service } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as MutableRef from "effect/MutableRef"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as Steps from "../../src/http/Steps.ts"

/** Nobody calls the engine in these tests; a method that is called says its name. */
const engine = new Proxy(Object.create(null), {
  get: (_, name) => () => Effect.dieMessage(`${String(name)} is not expected`)
})

const { answer, forAnyone } = Operation
const { itself } = Codec

const live = Endpoint.get("live", "/health/live")
const Live = Schema.Struct({ ok: Schema.Boolean, status: Schema.String })
const fine = { ok: true, status: "live" }
const nobody = Engine.Engine.of(engine)

type Handler = () => Effect.Effect<never, Problems.EngineError> | Effect.Effect<typeof fine>

const served = (run: Handler) =>
  forAnyone(live, answer(itself(Live), fine), { summary: "", description: "" }, run).route(nobody)

const adapter = (run: Handler) =>
  Steps.make({
    engine: nobody,
    routes: [served(run)],
    pages: new Map(),
    baseUrl: "http://base",
    adminToken: Redacted.make("token"),
    stopping: MutableRef.make(false)
  })

const get = (method = "GET", headers: Record<string, string> = {}) => ({
  method,
  url: "/health/live",
  hasBody: false,
  headers,
  body: () => Effect.succeed(new Uint8Array())
})

describe("the adapter", () => {
  it.effect("turns a bug into a 500 that tells nothing of it", () =>
    Effect.gen(function* () {
      const handle = yield* adapter(() => Effect.die(new Error("secret sk_canary at /some/path")))
      const answer = yield* handle(get())
      expect(answer.status).toBe(500)
      expect(answer.headers["content-type"]).toBe("application/problem+json")
      expect(answer.body).not.toMatch(/canary|path/)
      expect(JSON.parse(String(answer.body))).toMatchObject({
        ok: false,
        code: "internal",
        type: "http://base/problems/internal"
      })
    })
  )

  it.effect("turns a storage that does not answer into a 503 with Retry-After", () =>
    Effect.gen(function* () {
      const failure = new StorageError.StorageError({
        operation: "job.accept",
        cause: new Error("disk /dev/sda1")
      })
      const handle = yield* adapter(() => Effect.fail(failure))
      const answer = yield* handle(get())
      expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "1"])
      expect(answer.body).not.toMatch(/sda1|job\.accept/)
    })
  )

  it.effect("turns a backlog that is full into a 503 with Retry-After that says what to do", () =>
    Effect.gen(function* () {
      const handle = yield* adapter(() =>
        Effect.fail(new Errors.Overloaded({ waitingFor: "commit", retryAfterMs: 1500 }))
      )
      const answer = yield* handle(get())
      expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "2"])
      expect(JSON.parse(String(answer.body))).toMatchObject({
        code: "unavailable",
        detail: expect.stringContaining("same Idempotency-Key")
      })
    })
  )

  it.effect("serves HEAD as GET, answers OPTIONS, and lists what a path has in Allow", () =>
    Effect.gen(function* () {
      const handle = yield* adapter(() => Effect.succeed(fine))
      expect((yield* handle(get("HEAD"))).status).toBe(200)
      const options = yield* handle(get("OPTIONS"))
      expect([options.status, options.headers["allow"]]).toEqual([204, "GET, HEAD, OPTIONS"])
      const put = yield* handle(get("PUT"))
      expect([put.status, put.headers["allow"]]).toEqual([405, "GET, HEAD, OPTIONS"])
    })
  )

  it.effect("keeps a request id of visible ASCII, and makes one otherwise", () =>
    Effect.gen(function* () {
      const handle = yield* adapter(() => Effect.succeed(fine))
      const id = (given: string) =>
        Effect.map(handle(get("GET", { "x-request-id": given })), (a) => a.headers["x-request-id"])
      expect(yield* id("abc")).toBe("abc")
      for (const bad of ["", "a b", "é", "x".repeat(129)]) expect(yield* id(bad)).toMatch(/^[0-9a-f-]{36}$/)
    })
  )
})

describe("a tracer", () => {
  it.effect("is given one request in so many, and nothing that may be secret", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const native = yield* Effect.tracer
      const tracer = Tracer.make({
        context: native.context,
        span: (...given) => {
          const span = native.span(...given)
          spans.push(span)
          return span
        }
      })
      const handle = yield* Steps.make({
        engine: nobody,
        routes: [served(() => Effect.withSpan(Effect.succeed(fine), "within"))],
        pages: new Map(),
        baseUrl: "http://base",
        adminToken: undefined,
        stopping: MutableRef.make(false),
        spanEvery: 3
      })
      const asked = Effect.suspend(() => handle(get("GET", { authorization: "secret" })))
      yield* Effect.repeatN(asked, 6).pipe(Effect.withTracerEnabled(false), Effect.withTracer(tracer))
      expect(spans.map(({ name }) => name)).toEqual(["GET request", "within", "GET request", "within"])
      expect(Object.fromEntries(spans[0]?.attributes ?? [])).toEqual({ "http.route": "/health/live" })
    })
  )
})

describe("while the service stops, the adapter", () => {
  it.effect("refuses all that comes, and says when to come back; whether it lives is still answered", () =>
    Effect.gen(function* () {
      const handle = yield* Steps.make({
        engine: nobody,
        routes: Service.service.map(({ route }) => route(nobody)),
        pages: new Map([["/docs", { access: "anyone", contentType: "text/html", body: Effect.succeed("") }]]),
        baseUrl: "http://base",
        adminToken: Redacted.make("token"),
        stopping: MutableRef.make(true)
      })
      const statuses = yield* Effect.forEach(
        ["/health/live", "/health/ready", "/problems/internal", "/docs", "/nothing"],
        (url) =>
          Effect.map(handle({ ...get(), url }), ({ headers, status }) => [
            url,
            status,
            headers["retry-after"]
          ])
      )
      expect(statuses).toEqual([
        ["/health/live", 200, undefined],
        ["/health/ready", 503, "1"],
        ["/problems/internal", 503, "1"],
        ["/docs", 503, "1"],
        ["/nothing", 503, "1"]
      ])
    })
  )
})

describe("the problems", () => {
  it("explains every problem code and every fault code", () => {
    for (const [code, entry] of Object.entries(Problems.catalogue)) {
      expect([code, entry.description.length > 40]).toEqual([code, true])
    }
    expect(Problems.faultDescription("required")).toBeDefined()
    expect(Problems.faultDescription("constructor")).toBeUndefined()
  })
})
