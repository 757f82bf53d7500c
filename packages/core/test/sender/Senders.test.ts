/** The senders of an engine: which may stand together, and which providers its sessions may have. */
import { describe, expect, it } from "@effect/vitest"
import { AddressPolicy, Engine, Memory, SecretBox, Sender } from "@sendwright/core"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import { storeTimed } from "../../src/engine/EveryOperation.ts"

const named = (provider: string, more: Partial<Sender.Sender> = {}): Sender.Sender => ({
  provider,
  deduplicates: true,
  send: () => Effect.succeed(Sender.SendResult.Accepted({ providerId: null, status: "accepted" })),
  ...more
})

/** The reason for which a list of senders is refused; undefined where it is not. */
const mistake = (...senders: ReadonlyArray<Sender.Sender>) =>
  Effect.map(Effect.exit(Effect.scoped(Layer.build(Sender.layer(...senders)))), (exit) =>
    Exit.isFailure(exit) ? Cause.pretty(exit.cause) : undefined
  )

describe("a list of senders", () => {
  it.effect("has one sender of a provider", () =>
    Effect.gen(function* () {
      expect(yield* mistake(named("http"), named("pigeon"))).toBeUndefined()
      expect(yield* mistake(named("http"), named("pigeon"), named("http"))).toMatch(
        /Two senders have the `provider` "http"/
      )
    })
  )

  it.effect("has names that need no encoding as a segment of a path", () =>
    Effect.gen(function* () {
      for (const name of ["a", "pigeon-post_2", `p${"9".repeat(63)}`])
        expect(yield* mistake(named(name)), name).toBeUndefined()
      for (const name of ["", "Pigeon", "2pigeons", "a/b", "a.b", "ünder", "a ", `p${"9".repeat(64)}`])
        expect(yield* mistake(named(name)), name).toMatch(/`provider` must match/)
    })
  )
})

const layer = Engine.layer().pipe(
  Layer.provide(Memory.layer),
  Layer.provide(RecordingTransport.layer),
  Layer.provide(Sender.layer(named("pigeon"), named("raven"))),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([]))
)

describe("an engine", () => {
  it.effect("has the senders that it was given, and sessions of their providers alone", () =>
    Effect.gen(function* () {
      const { admin, senders } = yield* Engine.Engine
      expect(senders.map(({ provider }) => provider)).toEqual(["pigeon", "raven"])
      const account = yield* admin.accounts.create({ name: "Shop" })
      const create = (provider: string) => admin.sessions.create(account.id, { name: "S", provider })
      expect(yield* create("raven")).toMatchObject({ provider: "raven", state: "disconnected" })
      expect((yield* Effect.flip(create("sandbox"))).message).toMatch(/Available: pigeon, raven\./)
    }).pipe(Effect.provide(layer))
  )

  it("lists its senders where its operations run by the store's time, too", () => {
    const clock = { isOwn: false, health: Effect.dieMessage("health"), within: identity }
    const { senders } = storeTimed({ senders: [named("pigeon"), named("raven")] }, clock)
    expect(senders.map(({ provider }) => provider)).toEqual(["pigeon", "raven"])
  })
})
