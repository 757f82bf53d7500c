/** The binding over a real socket: what only a server can get wrong. */
import { connect } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { HttpLimits, Steps } from "@sendwright/http/server"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as MutableRef from "effect/MutableRef"
import * as Option from "effect/Option"
import * as NodeServer from "../../src/http/NodeServer.ts"
import * as Serving from "./Serving.ts"

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
    return Effect.sync(() => socket.destroy())
  })

interface Given {
  readonly graceMs?: number
  readonly besides?: Effect.Effect<void>
  readonly limits?: HttpLimits.Limits
}

/** Stopped by interruption, as a signal stops the process. */
const serving = (
  handle: Steps.Handle,
  { besides = Effect.void, graceMs = 10_000, limits = HttpLimits.defaults }: Given = {}
) =>
  Effect.gen(function* () {
    const stopping = MutableRef.make(false)
    const listening = yield* Deferred.make<number>()
    const running = yield* NodeServer.start({
      address: { port: 0, host: "127.0.0.1" },
      served: () => Serving.of(handle, { limits }, stopping),
      graceMs,
      limits,
      besides: { end: besides, underWay: () => [] }
    }).pipe(
      Effect.flatMap((port) => Deferred.succeed(listening, port)),
      Effect.zipRight(Effect.never),
      Effect.scoped,
      Effect.forkDaemon
    )
    const stopped = Effect.repeat(Effect.sleep(5), { until: () => MutableRef.get(stopping) })
    return {
      port: yield* Deferred.await(listening),
      /** Answers as soon as the stop has begun. */
      stop: Effect.zipLeft(Effect.fork(Fiber.interrupt(running)), stopped)
    }
  })

/** As the steps of the contract answer at a stop: with a refusal, or not at all where the client is gone. */
const orRefused = (answer: Effect.Effect<Steps.PlainResponse, Steps.Unread>) =>
  Effect.catchAll(answer, () =>
    Effect.map(Steps.refusing("http://base"), (refuse) => refuse("unavailable", "", 1000))
  )

const echo: Steps.Handle = ({ body }) =>
  orRefused(
    Effect.map(body(10), (bytes) => ({
      status: bytes === undefined ? 413 : 200,
      headers: {},
      body: bytes === undefined ? "too large" : Buffer.from(bytes).toString()
    }))
  )

const post = (headers: ReadonlyArray<string>, body: string) =>
  ["POST / HTTP/1.1", "Host: x", ...headers, "", body].join("\r\n")

const until = (isSo: () => boolean) => Effect.repeat(Effect.sleep(5), { until: isSo })

/** The answer that a client hears which goes on sending its body, bit by bit, until the connection is closed. */
const slowClient = (port: number, asked: string) =>
  Effect.async<string>((resume) => {
    let heard = ""
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => socket.write(asked))
    const more = setInterval(() => socket.write("more"), 20)
    socket.on("data", (chunk) => {
      heard += chunk
    })
    socket.on("error", () => undefined)
    socket.on("close", () => {
      clearInterval(more)
      resume(Effect.succeed(heard))
    })
  })

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

/** A handler that ends when it is told to, and says that it has begun. */
const held = Effect.gen(function* () {
  const begun = yield* Deferred.make<void>()
  const may = yield* Deferred.make<void>()
  const answer = Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(may))
  return { begun: Deferred.await(begun), release: Deferred.succeed(may, undefined), answer }
})

const fine = { status: 200, headers: {}, body: "done" }

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
      yield* Effect.flatMap(stop, Fiber.join)
    })
  )

  it.live("reads a body that comes with its head, one that comes after it, and none at all", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(echo)
      const head = post(["Content-Length: 4", "Connection: close"], "")
      const later = Effect.async<string>((resume) => {
        let heard = ""
        const socket = connect(port, "127.0.0.1", () => socket.write(`${head}bo`))
        // Once the head has been taken.
        const rest = setTimeout(() => socket.write("dy"), 50)
        socket.on("data", (chunk) => {
          heard += chunk
        })
        socket.on("close", () => resume(Effect.succeed(heard)))
        return Effect.sync(() => clearTimeout(rest))
      })
      expect(yield* exchange(port, `${head}body`)).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\n\r\nbody$/)
      expect(yield* later).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\n\r\nbody$/)
      expect(yield* exchange(port, post(["Connection: close"], ""))).toMatch(/\r\ncontent-length: 0\r\n/i)
    })
  )

  it.live("refuses a request with two Host headers or with none (RFC 9112 §3.2)", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(echo)
      const ask = (...hosts: ReadonlyArray<string>) =>
        exchange(port, ["GET / HTTP/1.1", ...hosts, "Connection: close", "", ""].join("\r\n"))
      expect(yield* ask("Host: one")).toMatch(/^HTTP\/1\.1 200 /)
      for (const hosts of [[], ["Host: one", "hOST: two"], ["Host: one", "Host: one"]]) {
        const heard = yield* ask(...hosts)
        expect(heard).toMatch(/^HTTP\/1\.1 400 [\s\S]*connection: close[\s\S]*"malformed_request"/i)
        expect(heard).toContain(hosts.length === 0 ? "is missing" : "must be given once")
      }
    })
  )

  it.live("refuses what a proxy may read in another way, and begins with nothing that is behind it", () =>
    Effect.gen(function* () {
      const begun: Array<string> = []
      const { port } = yield* serving(({ url }) =>
        Effect.sync(() => {
          begun.push(url)
          return fine
        })
      )
      const behind = "GET /behind HTTP/1.1\r\nHost: x\r\n\r\n"
      const old = post(["Connection: keep-alive", "Transfer-Encoding: chunked"], "0\r\n\r\n").replace(
        "1.1",
        "1.0"
      )
      const twice = (name: string) => post([`${name}: one`, `${name.toUpperCase()}: one`], "")
      const cases = [
        [old, "HTTP/1.0 has no Transfer-Encoding"],
        [post(["Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"), "Transfer-Encoding must be chunked alone"],
        [
          get.replace("1.1", "2.0").replace("Host", "Connection: keep-alive\r\nHost"),
          "The HTTP version must be 1.0 or 1.1"
        ],
        [
          get.replace("1.1", "0.9").replace("Host", "Connection: keep-alive\r\nHost"),
          "The HTTP version must be 1.0 or 1.1"
        ],
        ["GET / HTTP/1.1\r\nHost:\r\n\r\n", "The Host header is empty"],
        ["GET / HTTP/1.1\r\nHost:  \r\n\r\n", "The Host header is empty"],
        [
          get.replace("1.1", "1.0").replace("Host", "Connection: keep-alive\r\nHost: x\r\nHost"),
          "The Host header must be given once"
        ],
        [twice("Authorization"), "The Authorization header must be given once"],
        [twice("x-public-key"), "The x-public-key header must be given once"],
        [twice("x-secret-key"), "The x-secret-key header must be given once"],
        [twice("Idempotency-Key"), "The Idempotency-Key header must be given once"]
      ] as const
      for (const [asked, detail] of cases) {
        const heard = yield* exchange(port, asked + behind)
        expect([asked, heard]).toEqual([
          asked,
          expect.stringMatching(/^HTTP\/1\.1 400 [\s\S]*connection: close[\s\S]*"malformed_request"/i)
        ])
        expect(heard).toContain(detail)
        expect(heard.match(/HTTP\/1\.1 /g)).toHaveLength(1)
      }
      expect(begun).toEqual([])
      expect(yield* exchange(port, "GET / HTTP/1.0\r\n\r\n")).toMatch(/done$/)
    })
  )

  it.live("gives no body to a HEAD, whose answer the next one follows at once", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(() => Effect.succeed(fine))
      const heard = yield* exchange(port, get.replace("GET", "HEAD") + get, /done$/)
      expect(heard).toMatch(
        /^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)*content-length: 4\r\n(?:[^\r]+\r\n)*\r\nHTTP\/1\.1 200 /i
      )
    })
  )

  it.live("hands on a path as it came, whatever a router would make of it", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(({ url }) => Effect.succeed({ ...fine, body: `<${url}>` }))
      for (const path of ["/a;b", "/a#b", "/%61%zz", "//a//b/", "/a?b#c"]) {
        expect(yield* exchange(port, get.replace("/", path), />$/)).toMatch(/\r\n\r\n/)
        expect(yield* exchange(port, get.replace("/", path), />$/)).toContain(`<${path}>`)
      }
    })
  )

  it.live("takes a request for a WebSocket for what it is besides", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(() => Effect.succeed(fine))
      const asked = get.replace(
        "Host",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nHost"
      )
      const heard = yield* exchange(port, asked, /done$/)
      expect(heard).toMatch(/^HTTP\/1\.1 200 .*done$/s)
    })
  )

  it.live("answers a body that is longer than it says, and refuses what follows it", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(echo)
      const heard = yield* exchange(port, post(["Content-Length: 2"], "ok, and this is no request\r\n\r\n"))
      expect(heard).toMatch(
        /^HTTP\/1\.1 (200 .*\r\n\r\nok)?HTTP\/1\.1 400 .*malformed_request|^HTTP\/1\.1 400 /s
      )
    })
  )

  it.live("forgets the bodies of many clients that reset while they send", () =>
    Effect.gen(function* () {
      const bodies = { bodies: 100_000, bodiesPerAddress: 100_000 }
      let begun = 0
      const { port, stop } = yield* serving(
        ({ body }) => {
          begun += 1
          return orRefused(Effect.map(body(100_000), (bytes) => ({ ...fine, body: `got ${bytes?.length}` })))
        },
        { limits: { ...HttpLimits.defaults, ...bodies } }
      )
      const half = post(["Content-Length: 1000"], "x".repeat(100))
      for (let round = 1; round <= 10; round++) {
        const sockets = Array.from({ length: 100 }, () => {
          const socket = connect(port, "127.0.0.1", () => socket.write(half))
          return socket.on("error", () => undefined)
        })
        yield* until(() => begun === 100 * round)
        for (const socket of sockets) socket.resetAndDestroy()
      }
      yield* Effect.sleep(100)
      const whole = post(["Content-Length: 100000", "Connection: close"], "x".repeat(100_000))
      const [took, heard] = yield* Effect.timed(exchange(port, whole))
      expect(heard).toMatch(/got 100000$/)
      expect(Duration.toMillis(took)).toBeLessThan(2000)
      yield* Effect.flatMap(stop, Fiber.join)
    })
  )

  it.live("answers requests that come in one piece in their order", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(echo)
      const ask = (body: string, more: ReadonlyArray<string> = []) =>
        post([`Content-Length: ${body.length}`, ...more], body)
      const asked = [ask("first"), ask("second"), ask("third", ["Connection: close"])]
      const heard = yield* exchange(port, asked.join(""))
      expect(heard.match(/first|second|third/g)).toEqual(["first", "second", "third"])
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
      yield* Effect.flatMap(stop, Fiber.join)
    })
  )

  it.live("stops after what is under way, and hangs up on whoever it answered", () =>
    Effect.gen(function* () {
      const { answer, begun, release } = yield* held
      const { port, stop } = yield* serving(({ method }) =>
        Effect.as(method === "GET" ? answer : Effect.void, fine)
      )
      const client = yield* Effect.fork(exchange(port, get))
      yield* begun
      const stopped = yield* stop
      // One that comes now is answered, so by then the server has come to wait.
      const last = /^HTTP\/1\.1 200 .*connection: close.*done$/is
      expect(yield* exchange(port, post([], ""))).toMatch(last)
      expect(yield* stopped.poll).toEqual(Option.none())
      yield* release
      expect(yield* Fiber.join(client)).toMatch(last)
      yield* Fiber.join(stopped)
      expect(yield* exchange(port, get)).toBe("")
    })
  )

  it.live("answers while something besides it ends, and then stops at once", () =>
    Effect.gen(function* () {
      const { answer, begun, release } = yield* held
      const { port, stop } = yield* serving(() => Effect.succeed(fine), { besides: answer })
      const idle = yield* Effect.fork(exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n"))
      const stopped = yield* stop
      yield* begun
      expect(yield* exchange(port, get)).toMatch(/done$/)
      expect(yield* stopped.poll).toEqual(Option.none())
      yield* release
      const [took] = yield* Effect.timed(Fiber.join(stopped))
      expect(Duration.toMillis(took)).toBeLessThan(1000)
      expect(yield* Fiber.join(idle)).toBe("")
    })
  )

  it.live("waits for what a handler does after its client is gone", () =>
    Effect.gen(function* () {
      const { answer, begun, release } = yield* held
      const { port, stop } = yield* serving(() => Effect.uninterruptible(Effect.as(answer, fine)))
      const client = yield* Effect.fork(exchange(port, get))
      yield* begun
      yield* Fiber.interrupt(client)
      const stopped = yield* stop
      expect(yield* exchange(port, "nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /)
      expect(yield* stopped.poll).toEqual(Option.none())
      yield* release
      yield* Fiber.join(stopped)
    })
  )

  it.live("refuses at its stop what is still coming, and waits for none of it", () =>
    Effect.gen(function* () {
      const { answer, begun, release } = yield* held
      const seen: Array<string> = []
      let asked = 0
      const { port, stop } = yield* serving(({ body, method }) => {
        asked += 1
        return method === "GET"
          ? Effect.as(answer, fine)
          : orRefused(
              Effect.map(body(100), (bytes) => {
                seen.push(String(bytes))
                return fine
              })
            )
      })
      const slow = ["Content-Length: 9", "Transfer-Encoding: chunked"].map((length) =>
        exchange(port, post([length], length.startsWith("C") ? "slow" : "4\r\nslow\r\n"))
      )
      const clients = yield* Effect.fork(Effect.timed(Effect.all(slow, { concurrency: "unbounded" })))
      const heard = yield* Effect.fork(exchange(port, get))
      yield* begun
      yield* exchange(port, post(["Content-Length: 2"], "ok"), /done$/)
      yield* until(() => asked === 4)
      const stopped = yield* stop
      const [took, answers] = yield* Fiber.join(clients)
      for (const told of answers) {
        expect(told).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1\r\n.*connection: close.*"unavailable"/is)
      }
      expect(Duration.toMillis(took)).toBeLessThan(2000)
      // During the stop, too.
      expect(yield* exchange(port, post(["Content-Length: 9"], "slow"))).toMatch(/^HTTP\/1\.1 503 /)
      expect(yield* stopped.poll).toEqual(Option.none())
      yield* release
      const [rest] = yield* Effect.timed(Fiber.join(stopped))
      expect(Duration.toMillis(rest)).toBeLessThan(1000)
      expect(yield* Fiber.join(heard)).toMatch(/done$/)
      expect(seen).toEqual(["ok"])
    })
  )

  it.live("begins with no body that comes to its end after it was refused", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let asked = 0
      // One that cannot be interrupted while it waits.
      const { port, stop } = yield* serving(({ body }) => {
        asked += 1
        return Effect.uninterruptible(
          orRefused(
            Effect.map(body(100), (bytes) => {
              seen.push(String(bytes))
              return fine
            })
          )
        )
      })
      const client = Effect.async<string>((resume) => {
        let heard = ""
        const socket = connect(port, "127.0.0.1", () => socket.write(post(["Content-Length: 4"], "bo")))
        socket.on("data", (chunk) => {
          heard += chunk
          socket.write("dy")
        })
        socket.on("close", () => resume(Effect.succeed(heard)))
      })
      const asking = yield* Effect.fork(client)
      yield* exchange(port, post(["Content-Length: 2"], "ok"), /done$/)
      yield* until(() => asked === 2)
      yield* Effect.flatMap(stop, Fiber.join)
      expect(yield* Fiber.join(asking)).toMatch(/^HTTP\/1\.1 503 /)
      expect(seen).toEqual(["ok"])
    })
  )

  it.live("stops at once although clients that it refused go on sending", () =>
    Effect.gen(function* () {
      let begun = 0
      const { port, stop } = yield* serving((request) => {
        begun += 1
        return echo(request)
      })
      const client = slowClient(port, post(["Content-Length: 900000"], "slow"))
      const clients = yield* Effect.fork(Effect.all([client, client, client], { concurrency: "unbounded" }))
      yield* until(() => begun === 3)
      const [took] = yield* Effect.timed(Effect.flatMap(stop, Fiber.join))
      expect(Duration.toMillis(took)).toBeGreaterThan(400)
      expect(Duration.toMillis(took)).toBeLessThan(2000)
      for (const heard of yield* Fiber.join(clients)) expect(heard).toMatch(/^HTTP\/1\.1 503 /)
    })
  )
})

describe("a refusal before the body was read", () => {
  it.live("closes the connection, and waits only so long for a client that goes on sending", () =>
    Effect.gen(function* () {
      const begun: Array<string> = []
      const { port, stop } = yield* serving(({ url }) =>
        Effect.sync(() => {
          begun.push(url)
          return { status: 404, headers: {}, body: "nothing here" }
        })
      )
      const asked = post(["Content-Length: 1000000"], "x".repeat(50))
      const [took, heard] = yield* Effect.timed(slowClient(port, asked))
      expect(heard).toMatch(/^HTTP\/1\.1 404 .*connection: close.*nothing here$/is)
      expect(Duration.toMillis(took)).toBeGreaterThan(900)
      expect(Duration.toMillis(took)).toBeLessThan(3000)
      // Nothing that comes after it is begun.
      const whole = `${asked}${"x".repeat(1_000_000 - 50)}${get.replace("/", "/later")}`
      const [fast, again] = yield* Effect.timed(exchange(port, whole))
      expect(again).toMatch(/^(HTTP\/1\.1 404 .*connection: close.*nothing here)?$/is)
      expect(Duration.toMillis(fast)).toBeLessThan(3000)
      expect(begun).toEqual(["/", "/"])
      // One whose body has come keeps its connection.
      const kept = post(["Content-Length: 2"], "ok").repeat(2)
      const both = yield* exchange(port, kept, /nothing here.*nothing here/s)
      expect(both).not.toMatch(/connection: close/i)
      yield* Effect.flatMap(stop, Fiber.join)
    })
  )
})

describe("what is no request", () => {
  const problem = (heard: string) => {
    const [head = "", body = ""] = heard.split("\r\n\r\n")
    return { head, body: JSON.parse(body) }
  }

  it.live("is refused like any other, and the connection is closed", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* serving(echo)
      const cases = [
        ["nonsense\r\n\r\n", 400, "malformed_request"],
        ["GET / HTTP/1.1\r\n\r\n", 400, "malformed_request"],
        [post(["Content-Length: 2", "Content-Length: 3"], "ok"), 400, "malformed_request"],
        [post(["Transfer-Encoding: chunked"], "zz\r\n"), 400, "malformed_request"],
        [`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(16 * 1024)}\r\n\r\n`, 431, "headers_too_large"],
        [`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(2_000_000)}\r\n\r\n`, 431, "headers_too_large"]
      ] as const
      for (const [bytes, status, code] of cases) {
        const { body, head } = problem(yield* exchange(port, bytes))
        expect([bytes.slice(0, 60), head.slice(0, 13)]).toEqual([bytes.slice(0, 60), `HTTP/1.1 ${status} `])
        expect(head).toMatch(/content-type: application\/problem\+json/i)
        expect(head).toMatch(/x-content-type-options: nosniff/i)
        expect(head).toMatch(/connection: close/i)
        expect(body).toMatchObject({ ok: false, status, code, type: `http://base/problems/${code}` })
        expect(head.toLowerCase()).toContain(`x-request-id: ${body.request_id}`)
      }
      yield* Effect.flatMap(stop, Fiber.join)
    })
  )

  it.live("is one that never comes to its end", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* serving(echo, {
        limits: { ...HttpLimits.defaults, headersTime: 100, requestTime: 200 }
      })
      const half = yield* exchange(port, "GET / HTTP/1.1\r\nHost: x\r\n")
      expect(problem(half).body).toMatchObject({ status: 408, code: "request_timeout" })
      const { body } = problem(yield* exchange(port, post(["Content-Length: 9"], "slow")))
      expect(body).toMatchObject({ status: 408, code: "request_timeout" })
      yield* Effect.flatMap(stop, Fiber.join)
    })
  )

  it.live("is not one that expects something", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* serving(echo)
      const heard = yield* exchange(port, post(["Expect: tea", "Content-Length: 2"], "ok"), /ok$/)
      expect(heard).toMatch(/^HTTP\/1\.1 200 .*ok$/s)
      yield* Effect.flatMap(stop, Fiber.join)
    })
  )
})

describe("a CONNECT", () => {
  it.scopedLive("is answered as every refusal is, and no tunnel is made", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* serving(() => Effect.dieMessage("It is no request of ours."))
      const heard = yield* exchange(port, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n")
      expect(heard).toMatch(/^HTTP\/1\.1 405 /)
      expect(heard).toMatch(/\r\nallow: \r\n/)
      expect(heard).toMatch(/\r\ncontent-type: application\/problem\+json\r\n/)
      expect(heard).toContain('"code":"method_not_allowed"')
      yield* Effect.flatMap(stop, Fiber.join)
    })
  )
})
