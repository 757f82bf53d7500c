/** What `@effect/platform` and its server do by themselves, and must not do here. */
import { createServer } from "node:http"
import { connect, type Socket } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { describe, expect, it } from "@effect/vitest"
import type { Steps } from "@sendwright/http/server"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as NodeServer from "../../src/http/NodeServer.ts"
import * as Serving from "./Serving.ts"

const besides = { end: Effect.void, underWay: () => [] }

const ours = (handle: Steps.Handle) =>
  NodeServer.start({
    address: { port: 0, host: "127.0.0.1" },
    served: () => Serving.of(handle),
    graceMs: 5000,
    besides
  })

/** The server of an embedder. */
const theirs = (handle: Steps.Handle) =>
  Effect.gen(function* () {
    const { app } = yield* Serving.of(handle)
    const server = yield* NodeHttpServer.make(() => createServer(), { port: 0, host: "127.0.0.1" })
    yield* server.serve(app)
    return server.address._tag === "TcpAddress" ? server.address.port : 0
  })

const client = (port: number, text: string) =>
  Effect.async<Socket>((resume) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text, () => resume(Effect.succeed(socket))))
    socket.on("error", () => socket.destroy())
  })

const until = (isSo: () => boolean) => Effect.repeat(Effect.sleep(5), { until: isSo })

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

/** A handler that never ends by itself, and how often it began and ended. */
const endless = () => {
  const count = { begun: 0, ended: 0 }
  const handle: Steps.Handle = () =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        count.begun += 1
      }),
      () => Effect.never,
      () =>
        Effect.sync(() => {
          count.ended += 1
        })
    )
  return { count, handle }
}

describe("a client that leaves", () => {
  for (const [name, serve] of [
    ["the host's server", ours],
    ["a server of the library", theirs]
  ] as const)
    it.scopedLive(`ends what is done for it, however many leave: ${name}`, () =>
      Effect.gen(function* () {
        const { count, handle } = endless()
        const port = yield* serve(handle)
        const sockets = yield* Effect.all(
          Array.from({ length: 200 }, () => client(port, get)),
          { concurrency: "unbounded" }
        )
        yield* until(() => count.begun === 200)
        for (const socket of sockets) socket.destroy()
        yield* until(() => count.ended === 200)
      })
    )

  it.scopedLive("ends all that it sent ahead, also behind an answer that was not given yet", () =>
    Effect.gen(function* () {
      const { count, handle } = endless()
      const socket = yield* client(yield* ours(handle), get.repeat(2))
      yield* until(() => count.begun === 2)
      socket.destroy()
      yield* until(() => count.ended === 2)
    })
  )

  it.scopedLive("leaves no fiber behind whose answer waited for its turn", () =>
    Effect.gen(function* () {
      const { count, handle } = endless()
      let answered = 0
      const before = (yield* Fiber.roots).length
      const port = yield* ours((request) => {
        if (request.url === "/") return handle(request)
        answered += 1
        return Effect.succeed({ status: 200, headers: {}, body: "done" })
      })
      const own = (yield* Fiber.roots).length - before
      const sockets = yield* Effect.all(
        Array.from({ length: 20 }, () => client(port, get + get.replace("/", "/second")))
      )
      yield* until(() => answered === 20)
      for (const socket of sockets) socket.destroy()
      yield* until(() => count.ended === 20)
      yield* Effect.sleep(20)
      expect((yield* Fiber.roots).length - before).toBe(own)
    })
  )
})

describe("a span", () => {
  it.live("is made of no request by the library, since it would hold headers and query", () =>
    Effect.gen(function* () {
      const spans: Array<string> = []
      const native = yield* Effect.tracer
      const tracer = Tracer.make({
        context: native.context,
        span: (...given) => {
          const span = native.span(...given)
          spans.push(span.name)
          return span
        }
      })
      const scope = yield* Scope.make()
      const port = yield* ours(() => Effect.succeed({ status: 200, headers: {}, body: "done" })).pipe(
        Scope.extend(scope),
        Effect.withTracer(tracer),
        Effect.locally(FiberRef.currentTracerEnabled, true)
      )
      yield* Effect.promise(() =>
        fetch(`http://127.0.0.1:${port}/?hub.verify_token=a`, { headers: { "x-secret-key": "b" } })
      )
      yield* Scope.close(scope, Exit.void)
      expect(spans).toEqual([])
    })
  )
})
