import { createServer, type Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "../../src/http/HttpClient.ts"

interface Server {
  readonly url: string
  readonly seen: ReadonlyArray<string>
  /** All that there were. */
  readonly sockets: ReadonlySet<Socket>
}

/** Does with every connection what it is told, once something has come over it. */
const server = (answer: (socket: Socket) => unknown) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<Server & { readonly close: () => void }>((resume) => {
        const seen: Array<string> = []
        const sockets = new Set<Socket>()
        const listening = createServer((socket) => {
          sockets.add(socket)
          socket.on("error", () => {})
          socket.on("data", (chunk) => {
            seen.push(chunk.toString())
            answer(socket)
          })
        })
        const close = (): void => {
          for (const socket of sockets) socket.destroy()
          listening.close()
        }
        listening.listen(0, "127.0.0.1", () => {
          const address = listening.address()
          const port = typeof address === "object" ? address?.port : 0
          resume(Effect.succeed({ url: `http://127.0.0.1:${port}/`, seen, sockets, close }))
        })
      }),
      ({ close }) => Effect.sync(close)
    ),
    ({ seen, sockets, url }): Server => ({ seen, sockets, url })
  )

const request = (url: string, timeoutMs = 5000): HttpClient.Request => ({
  method: "POST",
  url,
  headers: {},
  body: "{}",
  timeoutMs,
  maximumBytes: 5
})

describe("an exchange", () => {
  it.scopedLive(
    "is unsent at its time limit while it waits for a connection, and never leaves after it",
    () =>
      Effect.gen(function* () {
        const { seen, url } = yield* server((socket) =>
          setTimeout(() => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), 300)
        )
        const exchange = yield* HttpClient.make({ connections: 1 })
        const first = yield* Effect.fork(exchange(request(`${url}first`)))
        yield* Effect.yieldNow()
        const second = yield* exchange(request(`${url}second`, 100))
        expect(second).toMatchObject({ _tag: "Unsent", reason: HttpClient.timeout })
        expect(yield* Fiber.join(first)).toMatchObject({ _tag: "Answered", status: 200 })
        expect(yield* exchange(request(`${url}third`))).toMatchObject({ _tag: "Answered" })
        expect(seen.map((text) => /\/\w+/.exec(text)?.[0])).toEqual(["/first", "/third"])
      })
  )

  it.scopedLive("is lost when it was sent, with the status where that came", () =>
    Effect.gen(function* () {
      const silent = yield* server((socket) => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n"))
      const half = yield* server((socket) => socket.end("HTTP/1.1 201 OK\r\ncontent-length: 9\r\n\r\n."))
      const exchange = yield* HttpClient.make({})
      expect(yield* exchange(request(silent.url, 100))).toMatchObject({
        _tag: "Lost",
        reason: HttpClient.timeout,
        status: null
      })
      expect(yield* exchange(request(half.url))).toMatchObject({ _tag: "Lost", status: 201 })
    })
  )

  it.scopedLive("is unsent where nobody listens, and where its TLS is not understood", () =>
    Effect.gen(function* () {
      const garbage = yield* server((socket) => socket.end("this is no TLS"))
      const gone = yield* Effect.scoped(server(() => {}))
      const exchange = yield* HttpClient.make({})
      expect(yield* exchange(request(gone.url))).toMatchObject({ _tag: "Unsent", reason: "ECONNREFUSED" })
      expect((yield* exchange(request(garbage.url.replace("http:", "https:"))))._tag).toBe("Unsent")
    })
  )

  it.scopedLive("is answered by what comes after what announces it, and by no more than its maximum", () =>
    Effect.gen(function* () {
      const { url } = yield* server((socket) =>
        socket.write(
          "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" +
            "HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 8\r\nconnection: close\r\n\r\n12345678"
        )
      )
      const exchange = yield* HttpClient.make({})
      expect(yield* exchange(request(url))).toMatchObject({
        _tag: "Answered",
        status: 429,
        retryAfter: "7",
        body: "12345"
      })
    })
  )

  it.scopedLive("is answered after every interim response, however its bytes are cut", () =>
    Effect.gen(function* () {
      const interim =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\nx: y\r\n\r\n"
      // A body that looks like one, in a chunk of its own, is a body.
      const [head, body] = ["HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"]
      const whole = Buffer.from(interim + head + body)
      for (const size of [1, 7, 13, 25, 64, interim.length + head.length, 1000]) {
        const { sockets, url } = yield* server(async (socket) => {
          for (let at = 0; at < whole.length; at += size) {
            socket.write(whole.subarray(at, at + size))
            await new Promise((resolve) => setImmediate(resolve))
          }
        })
        const exchange = yield* HttpClient.make({})
        for (const _ of [1, 2]) {
          const answer = yield* exchange({ ...request(url), maximumBytes: 1000 })
          expect(answer, `in pieces of ${size}`).toMatchObject({ _tag: "Answered", status: 200, body })
        }
        expect(sockets.size).toBe(1)
      }
    })
  )

  it.scopedLive("is lost when nothing but interim responses come, or nothing that is HTTP", () =>
    Effect.gen(function* () {
      const exchange = yield* HttpClient.make({})
      for (const said of [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 100 Contin",
        "HTTP/",
        `HTTP/1.1 100 Continue\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
        "nothing that anybody could read"
      ]) {
        const { url } = yield* server((socket) => socket.end(said))
        const lost = yield* exchange(request(url))
        expect(lost, said.slice(0, 40)).toMatchObject({ _tag: "Lost", status: null })
      }
    })
  )

  it.scopedLive("is lost when interim responses come without end, long before its time is over", () =>
    Effect.gen(function* () {
      const exchange = yield* HttpClient.make({})
      for (const each of ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 E\r\na:\r\nb:\r\n\r\n"]) {
        const { url } = yield* server((socket) => {
          const flood = (): void => {
            while (!socket.destroyed && socket.write(each.repeat(100))) {}
          }
          socket.on("drain", flood)
          socket.on("error", () => {})
          flood()
        })
        const lost = yield* exchange(request(url, 10_000))
        expect(lost).toEqual({ _tag: "Lost", reason: "TOO_MANY_INTERIM_RESPONSES", status: null })
      }
    })
  )

  it.scopedLive("tells where a redirect leads, and does not go there", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* server((socket) =>
        socket.write("HTTP/1.1 308 Permanent Redirect\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n")
      )
      const exchange = yield* HttpClient.make({})
      expect(yield* exchange(request(url))).toMatchObject({ status: 308, location: "/there" })
      expect(seen).toHaveLength(1)
    })
  )

  it.scopedLive("goes over the connection of the one that was answered just before", () =>
    Effect.gen(function* () {
      const { seen, sockets, url } = yield* server((socket) =>
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
      )
      const exchange = yield* HttpClient.make({})
      const inTurn = Effect.replicateEffect(exchange(request(url)), 10)
      yield* Effect.all(
        Array.from({ length: 8 }, () => inTurn),
        { concurrency: 8 }
      )
      expect(seen).toHaveLength(80)
      expect(sockets.size).toBe(8)
    })
  )

  it.scopedLive("lets go of its connection when it is interrupted", () =>
    Effect.gen(function* () {
      let asked = () => {}
      let closed = () => {}
      const isAsked = new Promise<void>((resolve) => {
        asked = resolve
      })
      const isClosed = new Promise<void>((resolve) => {
        closed = resolve
      })
      const { url } = yield* server((socket) => {
        socket.once("close", closed)
        asked()
      })
      const exchange = yield* HttpClient.make({})
      const waiting = yield* Effect.fork(exchange(request(url, 600_000)))
      yield* Effect.promise(() => isAsked)
      yield* Fiber.interrupt(waiting)
      yield* Effect.promise(() => isClosed)
    })
  )
})
