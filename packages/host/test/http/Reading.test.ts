/** Who is read when more has come than one turn of the event loop has time for: over a real socket. */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { connect } from "node:net"
import { expect, it } from "@effect/vitest"
import type { Steps } from "@sendwright/http/server"
import * as Effect from "effect/Effect"
import * as NodeServer from "../../src/http/NodeServer.ts"
import * as Serving from "./Serving.ts"

/** How often Node says so: of each request that it has parsed, of each connection that it has accepted. */
const counting = (channel: "http.server.request.start" | "net.server.socket") =>
  Effect.acquireRelease(
    Effect.sync(() => {
      let count = 0
      const note = (): void => {
        count += 1
      }
      subscribe(channel, note)
      return { count: () => count, end: () => unsubscribe(channel, note) }
    }),
    ({ end }) => Effect.sync(end)
  )

const connected = (port: number, from: string) =>
  Effect.acquireRelease(
    Effect.async<Socket>((resume) => {
      const socket = connect({ port, host: "127.0.0.1", localAddress: from }, () =>
        resume(Effect.succeed(socket))
      )
      socket.on("error", () => socket.destroy())
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const crowd = 150
const ahead = 16

const crowdOf = (port: number) =>
  Effect.all(
    Array.from({ length: crowd }, () => connected(port, "127.0.1.1")),
    { concurrency: 50 }
  )

const answered = (socket: Socket, request: string) =>
  Effect.async<void>((resume) => {
    socket.once("data", () => resume(Effect.void))
    socket.write(request)
  })

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

/** A server that notes how many requests were parsed when each path was first begun with. */
const serving = Effect.gen(function* () {
  const parsed = yield* counting("http.server.request.start")
  const accepted = yield* counting("net.server.socket")
  const begun = new Map<string, number>()
  const handle: Steps.Handle = ({ url }) =>
    Effect.sync(() => {
      if (!begun.has(url)) begun.set(url, parsed.count())
      return { status: 200, headers: {}, body: "done" }
    })
  const port = yield* NodeServer.start({
    address: { port: 0, host: "127.0.0.1" },
    served: () => Serving.of(handle),
    graceMs: 100,
    besides: { end: Effect.void, underWay: () => [] }
  })
  const allAccepted = (sockets: number) =>
    Effect.repeat(Effect.sleep(5), { until: () => accepted.count() >= sockets })
  return { port, begun, parsed: parsed.count, allAccepted }
})

it.scopedLive("who waits for each answer is answered before a crowd that sends ahead is read", () =>
  Effect.gen(function* () {
    const { allAccepted, begun, parsed, port } = yield* serving
    const patient = yield* connected(port, "127.0.0.1")
    yield* answered(patient, get("/before"))
    const sockets = yield* crowdOf(port)
    yield* allAccepted(crowd + 1)
    const before = parsed()
    for (const socket of sockets) socket.write(get("/crowd").repeat(ahead))
    yield* answered(patient, get("/patient"))
    expect((begun.get("/patient") ?? Number.NaN) - before).toBeLessThan(0.1 * crowd * ahead)
  })
)

it.scopedLive("who is new does not wait for a crowd of another address to be read", () =>
  Effect.gen(function* () {
    const { allAccepted, begun, parsed, port } = yield* serving
    const sockets = yield* crowdOf(port)
    const newcomer = yield* connected(port, "127.0.0.1")
    yield* allAccepted(crowd + 1)
    const before = parsed()
    for (const socket of sockets) socket.write(get("/crowd").repeat(ahead))
    yield* answered(newcomer, get("/newcomer"))
    expect((begun.get("/newcomer") ?? Number.NaN) - before).toBeLessThan(0.3 * crowd * ahead)
  })
)

it.scopedLive("all of a crowd are answered in the end", () =>
  Effect.gen(function* () {
    const { port } = yield* serving
    const sockets = yield* crowdOf(port)
    const heard = sockets.map((socket) =>
      Effect.async<number>((resume) => {
        let text = ""
        socket.on("data", (chunk) => {
          text += chunk
          const count = text.match(/done/g)?.length ?? 0
          if (count === ahead) resume(Effect.succeed(count))
        })
        socket.write(get("/crowd").repeat(ahead))
      })
    )
    const counts = yield* Effect.all(heard, { concurrency: "unbounded" })
    expect(counts.every((count) => count === ahead)).toBe(true)
  })
)
