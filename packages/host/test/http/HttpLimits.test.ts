/** What one client, one address and all of them together may take of a server: over a real socket. */
import { readFileSync } from "node:fs"
import type { Socket } from "node:net"
import { connect } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { AddressPolicy } from "@sendwright/core"
import { HttpLimits, type Steps } from "@sendwright/http/server"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { value } from "../../../../test/support/Metered.ts"
import * as NodeServer from "../../src/http/NodeServer.ts"
import * as Serving from "./Serving.ts"

interface Given {
  readonly limits?: Partial<HttpLimits.Limits>
  readonly trusted?: ReadonlyArray<string>
}

const networks = (...given: ReadonlyArray<string>) =>
  given.flatMap((cidr) => {
    const network = AddressPolicy.parseNetwork(cidr)
    return network === undefined ? [] : [network]
  })

/** A server that ends with the test; `stop` ends it before and answers how long that took. */
const serving = (handle: Steps.Handle, { limits, trusted = [] }: Given = {}) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const bounds = { limits: { ...HttpLimits.defaults, ...limits }, trustedProxies: networks(...trusted) }
    const port = yield* Scope.extend(
      NodeServer.start({
        address: { port: 0, host: "127.0.0.1" },
        served: () => Serving.of(handle, bounds),
        graceMs: 5000,
        ...bounds,
        besides: { end: Effect.void, underWay: () => [] }
      }),
      scope
    )
    return { port, stop: Effect.timed(Scope.close(scope, Exit.void)) }
  })

interface Client {
  readonly socket: Socket
  readonly heard: () => string
  readonly closed: Effect.Effect<void>
}

const client = (port: number, text = "", from = "127.0.0.1") =>
  Effect.acquireRelease(
    Effect.async<Client>((resume) => {
      let heard = ""
      const closed = Effect.unsafeMakeLatch(false)
      const socket = connect({ port, host: "127.0.0.1", localAddress: from }, () => {
        socket.write(text)
        resume(Effect.succeed({ socket, heard: () => heard, closed: closed.await }))
      })
      socket.on("data", (chunk) => {
        heard += chunk
      })
      socket.on("error", () => socket.destroy())
      socket.on("close", () => closed.unsafeOpen())
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
const last = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

const until = (isSo: () => boolean) => Effect.repeat(Effect.sleep(5), { until: isSo })

/** A handler that counts what it was given, and answers when it is told to. */
const held = (body: string | Uint8Array = "done") => {
  const may = Effect.unsafeMakeLatch(false)
  let begun = 0
  const handle: Steps.Handle = () =>
    Effect.suspend(() => {
      begun += 1
      return Effect.as(may.await, { status: 200, headers: {}, body })
    })
  return { handle, begun: () => begun, release: may.open }
}

const answering =
  (body: string | Uint8Array): Steps.Handle =>
  () =>
    Effect.succeed({ status: 200, headers: {}, body })

/** How many connections were cut for reading nothing, as the metrics tell. */
const cuts = () => Effect.runSync(value("refusals_total", { code: "LIMIT_STALLED" }))

describe("a connection", () => {
  it.scopedLive("whose client resets it with requests in the pipeline keeps no stop waiting", () =>
    Effect.gen(function* () {
      const { begun, handle, release } = held()
      const { port, stop } = yield* serving(handle)
      const { socket } = yield* client(port, get.repeat(10))
      yield* until(() => begun() > 0)
      socket.resetAndDestroy()
      yield* release
      yield* Effect.sleep(50)
      const [took] = yield* stop
      expect(Duration.toMillis(took)).toBeLessThan(1000)
    })
  )

  it.scopedLive("with more requests in the pipeline than it may have is cut, and none of them is begun", () =>
    Effect.gen(function* () {
      const { begun, handle, release } = held()
      const { port } = yield* serving(handle, { limits: { pipelined: 16 } })
      const over = yield* client(port, get.repeat(1500))
      yield* over.closed
      expect([begun(), over.heard()]).toEqual([0, ""])
      yield* release
      const within = yield* client(port, get.repeat(15) + last)
      yield* within.closed
      expect(within.heard().match(/done/g)).toHaveLength(16)
      expect(begun()).toBe(16)
    })
  )

  it.scopedLive("with heads in the pipeline that are larger than they may be is cut, and none is begun", () =>
    Effect.gen(function* () {
      const { begun, handle, release } = held()
      const { port } = yield* serving(handle)
      const many = (headers: number) => get.replace("\r\n\r\n", `\r\n${"a: b\r\n".repeat(headers - 1)}\r\n`)
      const long = get.replace("/", `/${"x".repeat(15 * 1024)}`)
      for (const heads of [many(99).repeat(6), long.repeat(3)]) {
        const over = yield* client(port, heads)
        yield* over.closed
        expect([begun(), over.heard()]).toEqual([0, ""])
      }
      yield* release
      for (const heads of [many(99).repeat(3), long.repeat(1)]) {
        const within = yield* client(port, heads + last)
        yield* within.closed
        expect(within.heard()).toMatch(/done$/)
      }
      // Those that were answered count no more.
      const often = yield* client(port)
      for (let asked = 1; asked <= 4; asked++) {
        often.socket.write(long)
        yield* until(() => often.heard().match(/done/g)?.length === asked)
      }
    })
  )

  it.scopedLive("is told when a request has too many headers, of which Node would drop some in silence", () =>
    Effect.gen(function* () {
      const { begun, handle, release } = held()
      const { port } = yield* serving(handle)
      yield* release
      const ask = (count: number, ...late: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const headers = Array.from({ length: count - 1 - late.length }, (_, at) =>
            at === 0 ? "Connection: close" : `h${at}: ${at}`
          )
          const lines = ["GET / HTTP/1.1", "Host: x", ...headers, ...late, "", ""]
          const { closed, heard } = yield* client(port, lines.join("\r\n"))
          yield* closed
          return heard()
        })
      expect(yield* ask(100)).toMatch(/^HTTP\/1\.1 200 /)
      // The last of those that are allowed is looked at, too.
      expect(yield* ask(100, "Host: y")).toMatch(/^HTTP\/1\.1 400 .*must be given once/s)
      const refused = /^HTTP\/1\.1 431 .*connection: close.*"code":"headers_too_large"/is
      for (const count of [101, 102, 128, 160, 1500]) expect(yield* ask(count, "Host: y")).toMatch(refused)
      expect(begun()).toBe(1)
    })
  )

  it.scopedLive("has few of its requests begun at a time, and all of them answered in their order", () =>
    Effect.gen(function* () {
      const { begun, handle, release } = held()
      const { port } = yield* serving(handle, { limits: { concurrent: 3 } })
      const { closed, heard } = yield* client(port, get.repeat(9) + last)
      yield* until(() => begun() === 3)
      yield* Effect.sleep(50)
      expect(begun()).toBe(3)
      yield* release
      yield* closed
      expect(heard().match(/done/g)).toHaveLength(10)
    })
  )

  it.scopedLive("that is told that an answer is its last one has none of those behind it begun", () =>
    Effect.gen(function* () {
      let begun = 0
      const handle: Steps.Handle = () =>
        Effect.sync(() => {
          begun += 1
          // Too long to leave at once: the connection is still open when the next one could begin.
          return { status: 429, headers: { connection: "close" }, body: "no".repeat(4_000_000) }
        })
      const { port } = yield* serving(handle, { limits: { concurrent: 1 } })
      const { closed, heard } = yield* client(port, get.repeat(9))
      yield* closed
      expect(begun).toBe(1)
      expect(heard().match(/HTTP\/1.1 429/g)).toHaveLength(1)
    })
  )

  it.scopedLive("whose answers lie unread has no more of its requests begun, until they are read", () =>
    Effect.gen(function* () {
      let begun = 0
      const large = Buffer.alloc(32 * 1024 * 1024)
      const { port } = yield* serving(
        () =>
          Effect.sync(() => {
            begun += 1
            return { status: 200, headers: {}, body: large }
          }),
        { limits: { concurrent: 1 } }
      )
      const { closed, socket } = yield* client(port)
      socket.pause()
      socket.write(get + get + last)
      yield* until(() => begun > 0)
      yield* Effect.sleep(100)
      expect(begun).toBe(1)
      socket.removeAllListeners("data")
      socket.resume()
      yield* closed
      expect(begun).toBe(3)
    })
  )

  it.scopedLive("whose client reads nothing is cut, and one whose answer takes long is not", () =>
    Effect.gen(function* () {
      const limits = { stalled: 1000 }
      const { port } = yield* serving(answering(Buffer.alloc(32 * 1024 * 1024)), { limits })
      const { handle, release } = held()
      const slow = yield* serving(handle, { limits })
      const waiting = yield* client(slow.port, last)
      const stalled = yield* client(port)
      stalled.socket.pause()
      stalled.socket.write(last)
      const before = cuts()
      const [took] = yield* Effect.timed(until(() => cuts() > before))
      expect(Duration.toMillis(took)).toBeGreaterThan(900)
      expect(Duration.toMillis(took)).toBeLessThan(5000)
      stalled.socket.resume()
      yield* stalled.closed
      expect(stalled.heard().length).toBeLessThan(32 * 1024 * 1024)
      yield* release
      yield* waiting.closed
      expect(waiting.heard()).toMatch(/done$/)
    })
  )
})

describe("connections", () => {
  const refused = /^HTTP\/1\.1 503 .*retry-after: \d+.*connection: close.*"code":"unavailable"/is

  it.scopedLive("over their number are answered 503, until one of them is closed", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(answering("done"), { limits: { connections: 2 } })
      const [first] = yield* Effect.all([client(port, get), client(port, get)])
      yield* until(() => first.heard() !== "")
      const third = yield* client(port, last)
      yield* third.closed
      expect(third.heard()).toMatch(refused)
      first.socket.destroy()
      const again = yield* Effect.repeat(
        Effect.gen(function* () {
          const { closed, heard } = yield* client(port, last)
          yield* closed
          return heard()
        }),
        { until: (heard) => !refused.test(heard) }
      )
      expect(again).toMatch(/done$/)
    })
  )

  it.scopedLive("of one address over their number are answered 503, and those of others are served", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(answering("done"), { limits: { connectionsPerAddress: 1 } })
      const first = yield* client(port, get)
      yield* until(() => first.heard() !== "")
      const second = yield* client(port, last)
      yield* second.closed
      expect(second.heard()).toMatch(refused)
      const other = yield* client(port, last, "127.0.0.2")
      yield* other.closed
      expect(other.heard()).toMatch(/done$/)
    })
  )

  it.scopedLive("of a trusted proxy have no number of their own", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(answering("done"), {
        limits: { connectionsPerAddress: 1 },
        trusted: ["127.0.0.1/32"]
      })
      const first = yield* client(port, get)
      yield* until(() => first.heard() !== "")
      const second = yield* client(port, last)
      yield* second.closed
      expect(second.heard()).toMatch(/done$/)
    })
  )
})

describe("the memory for bodies", () => {
  const echo: Steps.Handle = ({ body }) =>
    Effect.match(body(1024), {
      onSuccess: (bytes) => ({ status: 200, headers: {}, body: `got ${bytes?.length}` }),
      onFailure: () => ({ status: 503, headers: { connection: "close" }, body: "no room" })
    })
  const head = (length: number) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`

  it.scopedLive("is taken by what has come of a body, and not by the length that it announces", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(echo, { limits: { bodies: 1000, bodiesPerAddress: 1000 } })
      const idle = yield* Effect.all(Array.from({ length: 10 }, () => client(port, `${head(1000)}x`)))
      yield* Effect.sleep(50)
      const whole = yield* client(port, `${head(900)}x`)
      yield* Effect.sleep(50)
      whole.socket.write("x".repeat(899))
      yield* until(() => /got 900$/.test(whole.heard()))
      expect(idle.map(({ heard }) => heard())).toEqual(Array(10).fill(""))
      const half = yield* client(port, head(900) + "x".repeat(600))
      yield* Effect.sleep(50)
      const over = yield* client(port, head(900) + "x".repeat(600))
      yield* over.closed
      expect(over.heard()).toMatch(/^HTTP\/1\.1 503 .*no room$/s)
      half.socket.destroy()
    })
  )

  it.scopedLive("is taken by chunks as they come, and is free again when their client is gone", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(echo, { limits: { bodies: 1000, bodiesPerAddress: 1000 } })
      const chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      const chunk = (length: number) => `${length.toString(16)}\r\n${"x".repeat(length)}\r\n`
      const first = yield* client(port, chunked + chunk(600))
      yield* Effect.sleep(50)
      const second = yield* client(port, chunked + chunk(300))
      yield* Effect.sleep(50)
      second.socket.write(chunk(200))
      yield* second.closed
      expect(second.heard()).toMatch(/no room$/)
      first.socket.destroy()
      yield* Effect.sleep(50)
      const third = yield* client(port, `${head(1000)}${"x".repeat(500)}`)
      yield* Effect.sleep(50)
      third.socket.write("x".repeat(500))
      yield* until(() => /got 1000$/.test(third.heard()))
    })
  )
})

describe("the client's address", () => {
  it.scopedLive("reaches the handler by way of a trusted proxy", () =>
    Effect.gen(function* () {
      const handle: Steps.Handle = ({ address }) =>
        Effect.succeed({ status: 200, headers: {}, body: String(address) })
      const { port } = yield* serving(handle, { trusted: ["127.0.0.1/32"] })
      const asked = last.replace("Host", "X-Forwarded-For: 198.51.100.1, 203.0.113.9\r\nHost")
      const proxied = yield* client(port, asked)
      const direct = yield* client(port, asked, "127.0.0.2")
      yield* Effect.all([proxied.closed, direct.closed])
      expect([proxied, direct].map(({ heard }) => heard().split("\r\n\r\n")[1])).toEqual([
        "203.0.113.9",
        "127.0.0.2"
      ])
    })
  )
})

describe("docs/limits.md", () => {
  it("has the limits as they are", () => {
    const page = readFileSync(new URL("../../../../docs/limits.md", import.meta.url), "utf8")
    const rows = [...page.matchAll(/^\| `(LIMIT_\w+)` +\| (.+?) +\| (.+?) +\| (.+?) +\|$/gm)].map(
      ([, setting, value, bounds, over]) => ({ setting, value, bounds, over })
    )
    expect(rows).toEqual(
      Object.values(HttpLimits.table).map(({ bounds, over, setting, unit, value }) => ({
        setting,
        value: `${value} ${unit}`.trim(),
        bounds,
        over
      }))
    )
  })
})
