import { createSocket } from "node:dgram"
import type { LookupAddress } from "node:dns"
import { Resolver } from "node:dns"
import { createServer, type Server } from "node:http"
import { isIP } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Agent, request } from "undici"
import * as GuardedConnector from "../../src/http/GuardedConnector.ts"
import { inside } from "./Inside.ts"

type Lookup = NonNullable<Parameters<typeof GuardedConnector.make>[1]["lookup"]>

/** Stands for the public: on this machine 127.0.0.2 is allowed and nothing else. */
const allowed = "127.0.0.2"
const allows = (address: string) => address === allowed

const listening = (host: string, port: number) =>
  Effect.acquireRelease(
    Effect.async<{ readonly server: Server; readonly connections: () => number }>((resume) => {
      let connections = 0
      const server = createServer((_, response) => response.end("ok"))
      server.on("connection", () => {
        connections += 1
      })
      server.listen(port, host, () => resume(Effect.succeed({ server, connections: () => connections })))
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )

/** A receiver on the allowed address, and what must not be reached on the same port of the others. */
const machine = Effect.gen(function* () {
  const receiver = yield* listening(allowed, 0)
  const address = receiver.server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const canary = yield* listening("127.0.0.1", port)
  return { port, receiver: receiver.connections, canary: canary.connections }
})

/** The outcome of one request over a connection of its own. */
const ask = (url: string, lookup?: Lookup) =>
  Effect.promise(async () => {
    const options = { timeoutMs: 2000, ...(lookup === undefined ? {} : { lookup }) }
    const dispatcher = new Agent({ connect: GuardedConnector.make(allows, options) })
    try {
      const { statusCode } = await request(url, { dispatcher })
      return statusCode
    } catch (error) {
      return error instanceof Error && "code" in error ? error.code : error
    } finally {
      await dispatcher.destroy()
    }
  })

const answering =
  (...addresses: ReadonlyArray<string>): Lookup =>
  (_, __, callback) =>
    callback(
      null,
      addresses.map((address): LookupAddress => ({ address, family: isIP(address) }))
    )

/** A name server whose answer to everything is each of the addresses in turn, to be asked again at once. */
const nameServer = (turns: ReadonlyArray<ReadonlyArray<string>>) =>
  Effect.acquireRelease(
    Effect.async<{ readonly port: number; readonly asked: () => number; readonly close: () => void }>(
      (resume) => {
        const socket = createSocket("udp4")
        let asked = 0
        socket.on("message", (query, from) => {
          const addresses = turns[Math.min(asked, turns.length - 1)] ?? []
          asked += 1
          const head = Buffer.from(query.subarray(0, 12))
          head.writeUInt16BE(0x8180, 2)
          head.writeUInt16BE(addresses.length, 6)
          head.writeUInt32BE(0, 8)
          const question = query.subarray(12, query.indexOf(0, 12) + 5)
          // A pointer to the name, type A, class IN, no time to live, four bytes.
          const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4])
          const answers = addresses.flatMap((address) => [
            record,
            Buffer.from(address.split(".").map(Number))
          ])
          socket.send(Buffer.concat([head, question, ...answers]), from.port, from.address)
        })
        socket.bind(0, "127.0.0.1", () =>
          resume(
            Effect.succeed({ port: socket.address().port, asked: () => asked, close: () => socket.close() })
          )
        )
      }
    ),
    ({ close }) => Effect.sync(close)
  )

const by = (port: number): Lookup => {
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${port}`])
  return (hostname, _, callback) =>
    resolver.resolve4(hostname, (error, addresses) =>
      callback(
        error,
        (addresses ?? []).map((address) => ({ address, family: 4 }))
      )
    )
}

describe("a guarded connection", () => {
  it.scopedLive("is made to an allowed address, by name or as it is", () =>
    Effect.gen(function* () {
      const { canary, port } = yield* machine
      expect(yield* ask(`http://${allowed}:${port}/`)).toBe(200)
      expect(yield* ask(`http://receiver.example:${port}/`, answering(allowed))).toBe(200)
      expect(canary()).toBe(0)
    })
  )

  it.scopedLive("is not even begun to another one: literals, which no look-up ever sees, and names", () =>
    Effect.gen(function* () {
      const { canary, port } = yield* machine
      const literals = inside.filter((host) => {
        const url = `http://${host}/`
        return URL.canParse(url) && isIP(new URL(url).hostname.replace(/^\[|\]$/g, "")) !== 0
      })
      expect(literals.length).toBeGreaterThanOrEqual(60)
      for (const host of literals) {
        expect([host, yield* ask(`http://${host}:${port}/`)]).toEqual([host, "ADDRESS_REFUSED"])
      }
      for (const addresses of [["127.0.0.1"], ["::1", "127.0.0.1"], ["::ffff:127.0.0.1"], ["0.0.0.0"], []]) {
        expect(yield* ask(`http://receiver.example:${port}/`, answering(...addresses))).toBe(
          "ADDRESS_REFUSED"
        )
      }
      expect(canary()).toBe(0)
    })
  )

  it.scopedLive(
    "of a name with good and bad addresses is made to a good one, in whichever order they come",
    () =>
      Effect.gen(function* () {
        const { canary, port, receiver } = yield* machine
        for (const addresses of [
          ["127.0.0.1", allowed],
          [allowed, "127.0.0.1"],
          ["::1", "127.0.0.1", allowed]
        ]) {
          expect(yield* ask(`http://receiver.example:${port}/`, answering(...addresses))).toBe(200)
        }
        expect([receiver(), canary()]).toEqual([3, 0])
      })
  )

  it.scopedLive("is refused when the name server says another thing than before", () =>
    Effect.gen(function* () {
      const { canary, port, receiver } = yield* machine
      const names = yield* nameServer([[allowed], ["127.0.0.1"], ["127.0.0.1", allowed], ["169.254.169.254"]])
      const lookup = by(names.port)
      const url = `http://rebinding.example:${port}/`
      const outcomes = [
        yield* ask(url, lookup),
        yield* ask(url, lookup),
        yield* ask(url, lookup),
        yield* ask(url, lookup)
      ]
      expect(outcomes).toEqual([200, "ADDRESS_REFUSED", 200, "ADDRESS_REFUSED"])
      expect(names.asked()).toBe(4)
      expect([receiver(), canary()]).toEqual([2, 0])
    })
  )

  it.scopedLive("is cut before a byte when the socket is connected elsewhere than was allowed", () =>
    Effect.gen(function* () {
      const { port, receiver } = yield* machine
      // What is looked up is allowed, and by the time of the connection it is not any more.
      let times = 0
      const dispatcher = new Agent({
        connect: GuardedConnector.make(
          () => {
            times += 1
            return times === 1
          },
          { timeoutMs: 2000, lookup: answering(allowed) }
        )
      })
      const code = yield* Effect.promise(() =>
        request(`http://receiver.example:${port}/`, { dispatcher }).then(
          () => "answered",
          (error: { readonly code?: string }) => error.code
        )
      )
      yield* Effect.promise(() => dispatcher.destroy())
      expect(code).toBe("ADDRESS_REFUSED")
      expect([times, receiver()]).toEqual([2, 1])
    })
  )
})
