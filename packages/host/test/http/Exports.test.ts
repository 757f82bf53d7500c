/** An answer of any length: as fast as it is read, and never taken for whole when it broke off. */
import { createServer } from "node:http"
import { connect } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { describe, expect, it } from "@effect/vitest"
import type { Steps } from "@sendwright/http/server"
import * as Effect from "effect/Effect"
import * as NodeServer from "../../src/http/NodeServer.ts"
import * as Serving from "./Serving.ts"

const ours = (handle: Steps.Handle) =>
  NodeServer.start({
    address: { port: 0, host: "127.0.0.1" },
    served: () => Serving.of(handle),
    graceMs: 5000,
    besides: { end: Effect.void, underWay: () => [] }
  })

/** The server of an embedder. */
const theirs = (handle: Steps.Handle) =>
  Effect.gen(function* () {
    const { app } = yield* Serving.of(handle)
    const server = yield* NodeHttpServer.make(() => createServer(), { port: 0, host: "127.0.0.1" })
    yield* server.serve(app)
    return server.address._tag === "TcpAddress" ? server.address.port : 0
  })

const answering =
  (stream: Steps.Streaming): Steps.Handle =>
  () =>
    Effect.succeed({ status: 200, headers: { "content-type": "text/csv" }, body: "", stream })

const piece = Buffer.alloc(64 * 1024, "a")

const until = (isSo: () => boolean) => Effect.repeat(Effect.sleep(5), { until: isSo })

describe.each([
  ["the host's server", ours],
  ["a server of the library's", theirs]
])("an export at %s", (_, start) => {
  it.live("comes whole, in pieces", () =>
    Effect.gen(function* () {
      const port = yield* start(
        answering(async function* () {
          for (let made = 0; made < 100; made++) yield piece
        })
      )
      const response = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/`))
      const text = yield* Effect.promise(() => response.text())
      expect([response.status, text.length]).toEqual([200, 100 * piece.length])
      expect(response.headers.get("content-length")).toBeNull()
      const head = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/`, { method: "HEAD" }))
      expect([head.status, yield* Effect.promise(() => head.text())]).toEqual([200, ""])
    }).pipe(Effect.scoped)
  )

  it.live("that breaks off is cut, and not ended", () =>
    Effect.gen(function* () {
      const port = yield* start(
        answering(async function* () {
          yield piece
          throw new Error("gone")
        })
      )
      const read = Effect.tryPromise(() =>
        fetch(`http://127.0.0.1:${port}/`).then((response) => response.text())
      )
      expect((yield* Effect.exit(read))._tag).toBe("Failure")
    }).pipe(Effect.scoped)
  )

  it.live("is made as fast as it is read, and no more of it once its client is gone", () =>
    Effect.gen(function* () {
      let made = 0
      let ended = 0
      const port = yield* start(
        answering(async function* () {
          try {
            for (;;) {
              made += 1
              yield piece
            }
          } finally {
            ended += 1
          }
        })
      )
      const socket = connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
      socket.pause()
      socket.on("error", () => {})
      yield* until(() => made > 0)
      let before = -1
      // What is held back: the kernel's and the streams' own.
      yield* Effect.repeat(
        Effect.delay(
          Effect.sync(() => {
            const isStill = made === before
            before = made
            return isStill
          }),
          100
        ),
        { until: (isStill) => isStill }
      )
      expect(made).toBeLessThan(400)
      socket.destroy()
      yield* until(() => ended === 1)
    }).pipe(Effect.scoped)
  )
})
