/**
 * All bindings answer alike: one table of requests, over the host's server, over a server of the library, over one of
 * node:http, and as web-standard `Request`s.
 */
import { createServer, type Server } from "node:http"
import { connect } from "node:net"
import type * as PlatformApp from "@effect/platform/HttpApp"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { describe, expect, it } from "@effect/vitest"
import { Engine, Errors, Requests } from "@sendwright/core"
import { handlers, httpApp } from "@sendwright/http"
import { HttpApp, Routes } from "@sendwright/http/server"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { caller } from "../../../http/test/http/Caller.ts"
import * as NodeServer from "../../src/http/NodeServer.ts"

type EngineService = typeof Engine.Engine.Service

const dies = (name: string) => () => Effect.dieMessage(`${name} is not expected`)

const engine = (given: Partial<EngineService> = {}): EngineService =>
  Engine.Engine.of({
    identify: ({ secretKey }) =>
      secretKey === "right" ? Effect.succeed(caller) : Effect.fail(new Errors.InvalidCredentials()),
    callerOf: dies("callerOf"),
    authorize: (known) => Effect.succeed(known),
    templates: () => Effect.succeed({ items: [], next: null }),
    template: () => Effect.fail(new Errors.NotFound({ what: "template" })),
    estimate: dies("estimate"),
    send: (_, { request }) =>
      request instanceof Requests.Unchecked && request.faults.length > 0
        ? Effect.fail(new Errors.InvalidRequest({ faults: request.faults }))
        : Effect.succeed({ jobId: "0190a0a0-0000-7000-8000-000000000000", recipients: 1, replayed: true }),
    sendDirect: dies("sendDirect"),
    jobs: () => Effect.die(new Error("a bug")),
    job: dies("job"),
    search: dies("search"),
    message: dies("message"),
    window: dies("window"),
    timeline: dies("timeline"),
    cancel: dies("cancel"),
    pause: dies("pause"),
    resume: dies("resume"),
    change: dies("change"),
    receive: dies("receive"),
    readiness: Effect.succeed([]),
    senders: [],
    hook: (_, __, { body, method, query }) =>
      Effect.map(body instanceof Uint8Array ? Effect.succeed(body) : body, ({ length }) =>
        method === "GET" ? `${query["hub.challenge"]} ${length}` : null
      ),
    drain: Effect.dieMessage("drain"),
    nextDue: Effect.dieMessage("nextDue"),
    clock: { health: Effect.dieMessage("clock"), within: identity },
    admin: new Proxy(Object.create(null), {
      get: () =>
        new Proxy(Object.create(null), { get: () => () => Effect.succeed({ items: [], next: null }) })
    }),
    ...given
  })

const options = { baseUrl: "http://base", adminToken: Redacted.make("token") }

/** How the two are asked the same. */
type Ask = (path: string, init: RequestInit) => Promise<Response>

const overNode = Effect.gen(function* () {
  const service = engine()
  const port = yield* NodeServer.start({
    address: { port: 0, host: "127.0.0.1" },
    served: () => HttpApp.make({ engine: service, ...Routes.ofApi(service, options.baseUrl), ...options }),
    graceMs: 1000,
    besides: { end: Effect.void, underWay: () => [] }
  })
  const ask: Ask = (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init)
  return ask
})

const prefix = "/api/messaging"

/** As an embedder serves it by the library. */
const servedBy = (app: PlatformApp.Default<unknown>, below: string) =>
  Effect.gen(function* () {
    const server = yield* NodeHttpServer.make(() => createServer(), { port: 0, host: "127.0.0.1" })
    yield* server.serve(app)
    const ask: Ask = (path, init) =>
      server.address._tag === "TcpAddress"
        ? fetch(`http://127.0.0.1:${server.address.port}${below}${path}`, init)
        : Promise.reject(new Error("The server has no port."))
    return ask
  })

const overPlatform = Effect.provideService(httpApp(options), Engine.Engine, engine()).pipe(
  Effect.flatMap((app) => servedBy(app, ""))
)

/** A router of the library removes the prefix, and the app knows it nevertheless. */
const overRouter = Effect.provideService(httpApp({ ...options, prefix }), Engine.Engine, engine()).pipe(
  Effect.flatMap((app) => servedBy(HttpRouter.mountApp(HttpRouter.empty, prefix, app), prefix))
)

const overWeb = Effect.map(
  Effect.provideService(handlers(options), Engine.Engine, engine()),
  ({ web }): Ask =>
    (path, init) =>
      web(new Request(`http://base${path}`, init))
)

const listening = (server: Server): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () => Effect.sync(() => server.close() && server.closeAllConnections())
  )

/** Below a prefix, as whoever asks knows nothing of. */
const overHandler = Effect.gen(function* () {
  const { node } = yield* Effect.provideService(handlers({ ...options, prefix }), Engine.Engine, engine())
  const port = yield* listening(createServer(node))
  const ask: Ask = (path, init) => fetch(`http://127.0.0.1:${port}${prefix}${path}`, init)
  return ask
})

const credentials = { "x-public-key": "pk", "x-secret-key": "right" }
const json = { ...credentials, "content-type": "application/json" }
const send = "/api/v1/template-messages/send"
const session1 = "00000000-0000-7000-8000-000000000001"

const table: ReadonlyArray<readonly [path: string, status: number, init?: RequestInit]> = [
  ["/health/live", 200],
  ["/health/live", 200, { method: "HEAD" }],
  ["/health/live", 204, { method: "OPTIONS" }],
  ["/health/live", 405, { method: "DELETE" }],
  ["/health/ready", 200],
  ["/nothing", 404],
  ["/problems/required", 200],
  ["/problems/none%20such", 404],
  ["/openapi.json", 200],
  ["/docs", 200, { method: "HEAD" }],
  ["/", 302, { redirect: "manual" }],
  ["/", 405, { method: "POST" }],
  ["/?x=1", 422],
  // Paths that a router of the library reads otherwise.
  ["/health/live;x", 404],
  ["/health/liv%65", 404],
  ["/health//live", 404],
  ["/health/live/", 404],
  ["/Health/live", 404],
  ["/problems/%zz", 404],
  ["/metrics", 401],
  ["/admin/v1/accounts?limit=2", 200, { headers: { authorization: "Bearer token" } }],
  ["/health/live?now=1", 422],
  ["/docs?x=1", 422],
  ["/metrics?x=1", 401],
  ["/api/v1/connection?x=1", 422, { headers: credentials }],
  ["/api/public/test", 200, { method: "POST", headers: json }],
  ["/api/public/test", 200, { method: "POST", headers: json, body: "{}" }],
  ["/api/public/test", 422, { method: "POST", headers: json, body: '{"a":1}' }],
  ["/api/public/test", 415, { method: "POST", headers: credentials, body: "x" }],
  ["/admin/v1/accounts?limit=x&cursor=%zz", 422, { headers: { authorization: "Bearer token" } }],
  ["/api/v1/connection", 200, { headers: credentials }],
  ["/api/v1/connection", 401, { headers: { ...credentials, "x-secret-key": "wrong" } }],
  ["/api/v1/templates/1", 404, { headers: credentials }],
  ["/api/v1/templates/one", 422, { headers: credentials }],
  ["/api/v1/template-messages", 500, { headers: credentials }],
  [send, 202, { method: "POST", headers: { ...json, "idempotency-key": "k" }, body: "{}" }],
  [send, 422, { method: "POST", headers: json, body: "{" }],
  [send, 422, { method: "POST", headers: json }],
  // No UTF-8, of which a reader of the library makes other text.
  [send, 422, { method: "POST", headers: json, body: Buffer.from([0x7b, 0xff, 0x7d]) }],
  [send, 415, { method: "POST", headers: { ...json, "content-type": "text/plain" }, body: "{}" }],
  [send, 415, { method: "POST", headers: { ...json, "content-encoding": "gzip" }, body: "{}" }],
  [send, 413, { method: "POST", headers: json, body: " ".repeat(1024 * 1024 + 1) }],
  [send, 405, { method: "PUT", headers: json, body: "{}" }],
  [`/hooks/whatsapp/${session1}?hub.challenge=1+2`, 200],
  [`/hooks/http/${session1}`, 200, { method: "POST", body: "x".repeat(2 * 1024 * 1024) }],
  [`/hooks/http/${session1}`, 413, { method: "POST", body: "x".repeat(4 * 1024 * 1024 + 1) }]
]

/** Of the server, not of the answer; lengths are compared with bodies, of whose links the prefix is taken, and not of their tag. */
const apart = new Set(["date", "connection", "content-length", "etag", "keep-alive", "transfer-encoding"])

const answerOf = async (ask: Ask, path: string, init: RequestInit = {}) => {
  const headers = new Headers(init.headers)
  headers.set("x-request-id", "the-same")
  // `fetch` opens what comes compressed, and its length is that of what came.
  headers.set("accept-encoding", "identity")
  const response = await ask(path, { ...init, headers })
  const body = await response.text()
  const length = response.headers.get("content-length")
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => !apart.has(name)).toSorted()),
    body: body.replaceAll(prefix, ""),
    isMeasured: init.method === "HEAD" || response.status === 204 || length === `${Buffer.byteLength(body)}`
  }
}

describe("the bindings", () => {
  it.scopedLive("answer every request alike", () =>
    Effect.gen(function* () {
      const all = [
        yield* overNode,
        yield* overPlatform,
        yield* overWeb,
        yield* overHandler,
        yield* overRouter
      ]
      for (const [path, status, init] of table) {
        const [first, ...others] = yield* Effect.promise(() =>
          Promise.all(all.map((ask) => answerOf(ask, path, init)))
        )
        expect([path, init?.method, first?.status]).toEqual([path, init?.method, status])
        expect(first?.isMeasured, path).toBe(true)
        for (const other of others) expect(other).toEqual(first)
      }
    })
  )
})

describe("the functions", () => {
  /** A send that ends when it is told to. */
  const held = Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const may = yield* Deferred.make<void>()
    const interrupted = yield* Deferred.make<void>()
    const service = engine({
      templates: () =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.zipRight(Deferred.await(may)),
          Effect.as({ items: [], next: null }),
          Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
        )
    })
    const scope = yield* Scope.make()
    const { node, web: handler } = yield* handlers(options).pipe(
      Effect.provideService(Engine.Engine, service),
      Scope.extend(scope)
    )
    const ask = (init: RequestInit = {}) =>
      handler(new Request("http://base/api/v1/templates", { headers: credentials, ...init }))
    return { ask, node, begun: Deferred.await(begun), may, interrupted: Deferred.await(interrupted), scope }
  })

  it.live("refuses what comes once its scope closes, and waits for what is under way", () =>
    Effect.gen(function* () {
      const { ask, begun, may, scope } = yield* held
      const first = yield* Effect.fork(Effect.promise(() => ask()))
      yield* begun
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* Effect.yieldNow()
      expect((yield* Effect.promise(() => ask())).status).toBe(503)
      expect(closing.unsafePoll()).toBeNull()
      yield* Deferred.succeed(may, undefined)
      expect((yield* Fiber.join(first)).status).toBe(200)
      yield* Fiber.join(closing)
    })
  )

  it.live("interrupts what nobody waits for any more", () =>
    Effect.gen(function* () {
      const { ask, begun, interrupted } = yield* held
      const controller = new AbortController()
      const asked = yield* Effect.fork(
        Effect.exit(Effect.tryPromise(() => ask({ signal: controller.signal })))
      )
      yield* begun
      controller.abort()
      yield* interrupted
      expect(Exit.isFailure(yield* Fiber.join(asked))).toBe(true)
      const before = yield* Effect.exit(Effect.tryPromise(() => ask({ signal: controller.signal })))
      expect(Exit.isFailure(before)).toBe(true)
    })
  )

  it.scopedLive("interrupt what a client of Node's server has left", () =>
    Effect.gen(function* () {
      const { begun, interrupted, node } = yield* held
      const port = yield* listening(createServer(node))
      const controller = new AbortController()
      const asked = yield* Effect.fork(
        Effect.exit(
          Effect.tryPromise(() =>
            fetch(`http://127.0.0.1:${port}/api/v1/templates`, {
              headers: credentials,
              signal: controller.signal
            })
          )
        )
      )
      yield* begun
      controller.abort()
      yield* interrupted
      expect(Exit.isFailure(yield* Fiber.join(asked))).toBe(true)
    })
  )

  it.scopedLive("dismiss a body that is still coming once they stop", () =>
    Effect.gen(function* () {
      const { node, scope } = yield* held
      const port = yield* listening(createServer(node))
      const socket = yield* Effect.acquireRelease(
        Effect.sync(() => connect(port, "127.0.0.1")),
        (socket) => Effect.sync(() => socket.destroy())
      )
      let heard = ""
      const answered = Effect.async<void>((resume) => {
        socket.on("data", (chunk) => {
          heard += chunk
          resume(Effect.void)
        })
      })
      const head = Object.entries(json).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`POST ${send} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n${head.join("")}\r\n{`)
      yield* Effect.sleep(50)
      yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* answered
      expect(heard).toMatch(/^HTTP\/1\.1 503 /)
    })
  )
})
