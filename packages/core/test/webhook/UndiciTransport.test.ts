import { createServer, type Server } from "node:http"
import { connect, createServer as createTcpServer, type Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { parseNetwork, layer as policyLayer } from "../../src/webhook/AddressPolicy.ts"
import * as UndiciTransport from "../../src/webhook/UndiciTransport.ts"
import { excerptBytes, type WebhookAnswer, WebhookTransport } from "../../src/webhook/WebhookTransport.ts"
import { inside } from "../http/Inside.ts"

const portOf = (server: { readonly address: () => unknown }): number => {
  const address = server.address()
  return typeof address === "object" && address !== null && "port" in address ? Number(address.port) : 0
}

/** Whatever comes, on every address of this machine. */
const canary = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly bytes: () => number; readonly close: () => void }>(
    (resume) => {
      let bytes = 0
      const server = createTcpServer((socket) => {
        socket.on("data", (chunk) => {
          bytes += chunk.length
          socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        })
        socket.on("error", () => {})
      })
      server.listen(0, () => {
        resume(Effect.succeed({ port: portOf(server), bytes: () => bytes, close: () => server.close() }))
      })
    }
  ),
  ({ close }) => Effect.sync(close)
)

interface Receiver {
  readonly url: string
  readonly requests: Array<{ readonly headers: NodeJS.Dict<string | Array<string>>; readonly body: string }>
}

const receiver = (answer: Parameters<typeof createServer>[1]) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<Receiver & { readonly server: Server }>((resume) => {
        const requests: Receiver["requests"] = []
        const server = createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            requests.push({ headers: request.headers, body: Buffer.concat(chunks).toString("utf8") })
            answer?.(request, response)
          })
        })
        server.listen(0, "127.0.0.1", () => {
          resume(Effect.succeed({ server, requests, url: `http://127.0.0.1:${portOf(server)}/hook` }))
        })
      }),
      ({ server }) =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    ),
    ({ requests, url }): Receiver => ({ requests, url })
  )

const transport = (
  options: UndiciTransport.Options = {},
  networks: ReadonlyArray<string> = ["127.0.0.1/32"]
) =>
  UndiciTransport.layer(options).pipe(
    Layer.provide(
      policyLayer(
        networks.flatMap((cidr) => {
          const network = parseNetwork(cidr)
          return network === undefined ? [] : [network]
        })
      )
    )
  )

const post = (url: string, body = "{}"): Effect.Effect<WebhookAnswer, never, WebhookTransport> =>
  Effect.flatMap(WebhookTransport, (each) =>
    each.post({ url, headers: { "content-type": "application/json", "webhook-id": "e" }, body })
  )

const refused = { _tag: "Unanswered", reason: "address_refused", status: null }

describe("the transport", () => {
  it.scopedLive("sends the very bytes and the given headers, and nothing of a trace", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* receiver((_, response) => response.writeHead(202).end("thanks"))
      const body = '{"name":"Zoë 🎉","nul":"\\u0000"}'
      const answer = yield* Effect.withSpan(post(url, body), "a trace")
      expect(answer).toEqual({ _tag: "Answered", status: 202, retryAfter: null, excerpt: "thanks" })
      expect(requests.map((request) => request.body)).toEqual([body])
      expect(Object.keys(requests[0]?.headers ?? {}).sort()).toEqual([
        "connection",
        "content-length",
        "content-type",
        "host",
        "webhook-id"
      ])
    }).pipe(Effect.provide(transport()))
  )

  it.scopedLive("follows no redirect", () =>
    Effect.gen(function* () {
      const inside = yield* canary
      const { url } = yield* receiver((_, response) =>
        response.writeHead(307, { location: `http://127.0.0.1:${inside.port}/`, "retry-after": "120" }).end()
      )
      expect(yield* post(url)).toMatchObject({ status: 307, retryAfter: "120" })
      expect(inside.bytes()).toBe(0)
    }).pipe(Effect.provide(transport()))
  )

  it.scopedLive("reads no more of an answer than it keeps, however long that is", () =>
    Effect.gen(function* () {
      let written = 0
      const { url } = yield* receiver((_, response) => {
        const chunk = Buffer.alloc(64 * 1024, "x")
        const write = (): void => {
          while (!response.destroyed && written < 2 ** 30) {
            written += chunk.length
            if (!response.write(chunk)) return void response.once("drain", write)
          }
        }
        write()
      })
      const answer = yield* post(url)
      expect(answer).toMatchObject({ _tag: "Answered", status: 200 })
      expect(answer._tag === "Answered" ? answer.excerpt.length : 0).toBe(excerptBytes)
      expect(written).toBeLessThan(32 * 2 ** 20)
    }).pipe(Effect.provide(transport()))
  )

  it.scopedLive("takes one time for connecting, headers and body together", () =>
    Effect.gen(function* () {
      const silent = yield* receiver(() => {})
      const dripping = yield* receiver((_, response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write("."), 50)
        response.once("close", () => clearInterval(drip))
      })
      const answers = yield* Effect.all([post(silent.url), post(dripping.url)], { concurrency: 2 })
      expect(answers).toEqual([
        { _tag: "Unanswered", reason: "timeout", status: null },
        { _tag: "Unanswered", reason: "timeout", status: 200 }
      ])
    }).pipe(Effect.provide(transport({ timeoutMs: 400 })))
  )

  it.scopedLive("reports a connection that broke or was never made", () =>
    Effect.gen(function* () {
      const reset = yield* receiver((request) => request.socket.resetAndDestroy())
      const garbage = yield* receiver((request) => request.socket.end("HTTP/1.1 200 OK\r\nbroken"))
      const chunks = yield* receiver((request) =>
        request.socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n")
      )
      const gone = yield* Effect.scoped(Effect.map(canary, ({ port }) => `http://127.0.0.1:${port}/`))
      for (const url of [reset.url, garbage.url, gone]) {
        expect(yield* post(url)).toEqual({ _tag: "Unanswered", reason: "connection", status: null })
      }
      expect(yield* post(chunks.url)).toMatchObject({ _tag: "Unanswered", reason: "connection" })
    }).pipe(Effect.provide(transport()))
  )

  it.scopedLive("lets not one byte reach an inside address, however it is written", () =>
    Effect.gen(function* () {
      const { bytes, port } = yield* canary
      const answers = yield* Effect.forEach(inside, (host) => post(`http://${host}:${port}/`), {
        concurrency: 10
      })
      expect(answers).toEqual(inside.map(() => refused))
      expect(inside.length).toBeGreaterThanOrEqual(60)
      expect(bytes()).toBe(0)
    }).pipe(Effect.provide(transport({}, [])))
  )

  it.scopedLive(
    "goes through a proxy where there is one, but never to what the URL itself says is inside",
    () =>
      Effect.gen(function* () {
        const { requests, url } = yield* receiver((_, response) => response.writeHead(204).end())
        const asked: Array<string> = []
        const proxy = yield* Effect.acquireRelease(
          Effect.async<Server>((resume) => {
            const server = createServer()
            server.on("connect", (request: { readonly url?: string }, socket: Socket) => {
              asked.push(String(request.url))
              const [host = "", port = "0"] = String(request.url).split(":")
              const onward = connect(Number(port), host, () => {
                socket.write("HTTP/1.1 200 OK\r\n\r\n")
                onward.pipe(socket).pipe(onward)
              })
              onward.on("error", () => socket.destroy())
              socket.on("error", () => onward.destroy())
            })
            server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
          }),
          (server) => Effect.sync(() => server.close())
        )
        const through = transport({ proxy: Redacted.make(`http://127.0.0.1:${portOf(proxy)}`) })
        yield* Effect.gen(function* () {
          expect(yield* post(url)).toMatchObject({ status: 204 })
          expect(yield* post("http://10.0.0.1/")).toEqual(refused)
        }).pipe(Effect.provide(through))
        expect(requests).toHaveLength(1)
        expect(asked).toEqual([new URL(url).host])
      })
  )

  it.scopedLive(
    "is not kept waiting by a proxy that says nothing, refuses, goes away or leaves TLS unfinished",
    () =>
      Effect.gen(function* () {
        let connections = 0
        const proxyThat = (answer: (socket: Socket) => void) =>
          Effect.map(
            Effect.acquireRelease(
              Effect.async<ReturnType<typeof createTcpServer>>((resume) => {
                const sockets = new Set<Socket>()
                const server = createTcpServer((socket) => {
                  connections += 1
                  sockets.add(socket)
                  socket.on("error", () => {})
                  socket.once("data", () => answer(socket))
                })
                server.once("close", () => {
                  for (const socket of sockets) socket.destroy()
                })
                server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
              }),
              (server) => Effect.sync(() => server.close())
            ),
            (server) => Redacted.make(`http://user:pass%20word@127.0.0.1:${portOf(server)}`)
          )
        const ask = (answer: (socket: Socket) => void, url = "http://93.184.216.34/") =>
          Effect.gen(function* () {
            connections = 0
            const proxy = yield* proxyThat(answer)
            const began = performance.now()
            const answered = yield* Effect.provide(post(url), transport({ proxy, timeoutMs: 500 }))
            expect(performance.now() - began).toBeLessThan(2000)
            expect(connections).toBe(1)
            return answered
          })
        const timeout = { _tag: "Unanswered", reason: "timeout", status: null }
        const connection = { _tag: "Unanswered", reason: "connection", status: null }
        expect(yield* ask(() => {})).toEqual(timeout)
        expect(yield* ask((socket) => socket.end())).toEqual(connection)
        expect(yield* ask((socket) => socket.end("HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n"))).toEqual(
          connection
        )
        const connect = (socket: Socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n")
        expect(yield* ask(connect, "https://93.184.216.34/")).toEqual(timeout)
      })
  )
})
