/** Where senders may send to: the policy of webhooks (contract.md §7), with networks of its own. */
import { createServer } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as PublicUrl from "../../src/domain/PublicUrl.ts"
import * as Either from "../../src/effect/Either.ts"
import * as HttpGateway from "../../src/sender/HttpGateway.ts"
import type * as PlatformHttp from "../../src/sender/PlatformHttp.ts"
import type { OutboundMessage, Sender } from "../../src/sender/Sender.ts"
import * as WhatsApp from "../../src/sender/WhatsApp.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { inside } from "../http/Inside.ts"

const network = (cidr: string): ReadonlyArray<PublicUrl.Network> => {
  const found = PublicUrl.parseNetwork(cidr)
  return found === undefined ? [] : [found]
}

const subjects: ReadonlyArray<{
  readonly provider: string
  readonly make: (options?: PlatformHttp.Options) => Effect.Effect<Sender, never, Scope.Scope>
  readonly field: string
  readonly config: (url: string) => Readonly<Record<string, unknown>>
}> = [
  {
    provider: "http",
    make: HttpGateway.make,
    field: "url",
    config: (url) => ({ url, secret: "a-secret-of-the-gateway" })
  },
  {
    provider: "whatsapp_cloud",
    make: WhatsApp.make,
    field: "base_url",
    config: (url) => ({
      phone_number_id: "1",
      waba_id: "2",
      access_token: "token",
      app_secret: "secret",
      verify_token: "verify",
      base_url: url
    })
  }
]

/** Counts what connects to it. */
const machine = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly connections: () => number; readonly close: () => void }>(
    (resume) => {
      let connections = 0
      const server = createServer((_, response) => response.end("{}"))
      server.on("connection", () => {
        connections += 1
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(
          Effect.succeed({
            port,
            connections: () => connections,
            close: () => {
              server.closeAllConnections()
              server.close()
            }
          })
        )
      })
    }
  ),
  ({ close }) => Effect.sync(close)
)

const message = (config: unknown): OutboundMessage => ({
  messageId: Fixtures.makeIds().uuid(Fixtures.now),
  sessionId: "session",
  to: "34600000001",
  userId: null,
  content: { kind: "direct", text: "Hello", linkPreview: false },
  values: [],
  attempt: 1,
  config
})

describe.each(subjects)("the address of a session's platform: $provider", ({ config, field, make }) => {
  const faults = (sender: Sender, url: string) => {
    const read = sender.configure?.(config(url)) ?? Either.right({})
    return Either.isLeft(read) ? read.left : []
  }

  it.scoped("is refused inside a network, in every spelling, by its field and with what to do", () =>
    Effect.gen(function* () {
      const sender = yield* make({ networks: [] })
      for (const host of inside) {
        const [fault, ...others] = faults(sender, `http://${host}/send`)
        expect(fault?.path, host).toEqual(["config", field])
        expect(others, host).toEqual([])
      }
      expect(faults(sender, "http://169.254.169.254/")[0]?.message).toContain("SENDER_ALLOWED_NETWORKS")
      expect(faults(sender, "https://gateway.example/send?a=b")).toEqual([])
    })
  )

  it.scoped("may be this machine's own unless said otherwise, and never a metadata service", () =>
    Effect.gen(function* () {
      const sender = yield* make()
      for (const host of ["127.0.0.1:8080", "[::1]:8080", "localhost"]) {
        expect(faults(sender, `http://${host}/`), host).toEqual([])
      }
      for (const host of [
        "169.254.169.254",
        "[fe80::a9fe:a9fe]",
        "10.0.0.1",
        "gateway.internal",
        "gateway"
      ]) {
        expect(faults(sender, `http://${host}/`), host).toHaveLength(1)
      }
    })
  )

  it.scoped("may be in a network that is allowed, by address and by an inside name", () =>
    Effect.gen(function* () {
      const sender = yield* make({ networks: network("10.0.0.0/8") })
      for (const host of ["10.1.2.3", "gateway", "gateway.internal:8080"]) {
        expect(faults(sender, `http://${host}/`), host).toEqual([])
      }
      for (const host of ["127.0.0.1", "localhost", "192.168.0.1"]) {
        expect(faults(sender, `http://${host}/`), host).toHaveLength(1)
      }
    })
  )

  it.scoped("has no credentials, which nobody would send, and no fragment", () =>
    Effect.gen(function* () {
      const sender = yield* make()
      for (const url of [
        "https://a:b@gateway.example/",
        "https://gateway.example/#a",
        "ftp://gateway.example/"
      ]) {
        expect(faults(sender, url), url).toHaveLength(1)
      }
    })
  )

  it.live("is looked at again where the connection is made, by name and by number", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { connections, port } = yield* machine
        const sender = yield* make({ networks: network("10.0.0.0/8") })
        for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"]) {
          const kept = config(`http://${host}:${port}`)
          const result = yield* sender.send(message({ timeout_ms: 1000, headers: {}, ...kept }))
          expect(result, host).toMatchObject({ _tag: "Transient", failure: { code: "provider_unreachable" } })
          const said = result._tag === "Transient" ? result.failure.message : ""
          expect(said, host).toContain("SENDER_ALLOWED_NETWORKS")
        }
        expect(connections()).toBe(0)
      })
    )
  )
})
