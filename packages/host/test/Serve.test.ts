/** The binding over a real socket: what only a server can get wrong. */
import { createServer } from "node:http"
import { connect } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as MutableRef from "effect/MutableRef"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { Adapter } from "../src/http/Adapter.ts"
import * as Serve from "../src/http/Serve.ts"

const freePort = Effect.async<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() =>
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    )
  })
})

/** Everything the server says to these bytes until it hangs up, or until `enough`. */
const exchange = (port: number, text: string, enough = /$^/) =>
  Effect.async<string>((resume) => {
    let heard = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(text))
    const done = () => resume(Effect.succeed(heard))
    socket.on("data", (chunk) => {
      heard += chunk
      if (enough.test(heard)) socket.destroy()
    })
    socket.on("close", done)
    socket.on("error", done)
  })

/** Stopped by interruption, as a signal stops the process. */
const serving = (handle: Adapter) =>
  Effect.gen(function* () {
    const port = yield* freePort
    const stopping = MutableRef.make(false)
    const listening = yield* Deferred.make<void>()
    const running = yield* Layer.effectDiscard(Deferred.succeed(listening, undefined)).pipe(
      Layer.provideMerge(Serve.layer({ handle, stopping, address: { port, host: "127.0.0.1" } })),
      Layer.launch,
      Effect.forkDaemon
    )
    yield* Deferred.await(listening)
    return { port, stopping, stop: Fiber.interrupt(running) }
  })

const echo: Adapter = ({ body }) =>
  Effect.map(body(10), (bytes) => ({
    status: bytes === undefined ? 413 : 200,
    headers: {},
    body: bytes === undefined ? "too large" : Buffer.from(bytes).toString()
  }))

const post = (headers: ReadonlyArray<string>, body: string) =>
  ["POST / HTTP/1.1", "Host: x", ...headers, "", body].join("\r\n")

/** Real time for sockets, whatever the clock of the test says. */
const turns = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 100)))

describe("the server", () => {
  it.live("reads the body of a request that offers an upgrade", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* serving(echo)
      const heard = yield* exchange(
        port,
        post(
          [
            "Connection: Upgrade, HTTP2-Settings",
            "Upgrade: h2c",
            "HTTP2-Settings: AAMAAABk",
            "Content-Length: 2"
          ],
          "ok"
        ),
        /ok$/
      )
      expect(heard).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\nok$/s)
      yield* stop
    })
  )

  it.live("answers a body that is too large instead of hanging up", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* serving(echo)
      const large = "x".repeat(3_000_000)
      const chunked = `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`
      for (const request of [
        post([`Content-Length: ${large.length}`], large),
        post(["Transfer-Encoding: chunked"], chunked)
      ]) {
        expect(yield* exchange(port, request, /too large$/)).toMatch(/^HTTP\/1\.1 413 /)
      }
      yield* stop
    })
  )

  it.live("stops after what is under way, and hangs up on whoever it answered", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const may = yield* Deferred.make<void>()
      const { port, stop, stopping } = yield* serving(() =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.zipRight(Deferred.await(may)),
          Effect.as({ status: 200, headers: {}, body: "done" })
        )
      )
      const client = yield* Effect.fork(exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
      yield* Deferred.await(begun)
      const stopped = yield* Effect.fork(stop)
      yield* Effect.repeat(Effect.sleep(5), { until: () => MutableRef.get(stopping) })
      yield* Effect.sleep(50)
      expect(yield* stopped.poll).toEqual(Option.none())
      yield* Deferred.succeed(may, undefined)
      expect(yield* client.await).toMatchObject({ _tag: "Success", value: expect.stringMatching(/done$/) })
      expect(yield* client.await).toMatchObject({ value: expect.stringMatching(/connection: close/i) })
      expect(yield* stopped.await).toMatchObject({ _tag: "Success" })
      expect(yield* exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")).toBe("")
    })
  )

  it.effect("stops although a client never ends its request", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* serving(echo)
      const client = yield* Effect.fork(exchange(port, post(["Content-Length: 9"], "slow")))
      yield* turns
      const stopped = yield* Effect.fork(stop)
      yield* turns
      expect(yield* stopped.poll).toEqual(Option.none())
      yield* TestClock.adjust("10 seconds")
      expect(yield* stopped.await).toMatchObject({ _tag: "Success" })
      expect(yield* client.await).toMatchObject({ value: "" })
    })
  )
})
