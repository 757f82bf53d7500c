/** The senders of a host: its own three, and those that its program gives it. */
import { describe, expect, it } from "@effect/vitest"
import { Engine, Sender } from "@sendwright/core"
import { InFlight } from "@sendwright/http/server"
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as EngineLayer from "../src/EngineLayer.ts"
import * as HostConfig from "../src/HostConfig.ts"

const named = (provider: string): Sender.Sender => ({
  provider,
  deduplicates: true,
  send: () => Effect.succeed(Sender.SendResult.Accepted({ providerId: null, status: "accepted" }))
})

/** The providers of a host that is given senders. */
const providers = (...senders: ReadonlyArray<Sender.Sender>) =>
  Effect.gen(function* () {
    const config = yield* HostConfig.load
    const underWay = { attempts: InFlight.make(), webhooks: InFlight.make() }
    const context = yield* Layer.build(EngineLayer.layer(config, underWay, { senders }))
    return Context.get(context, Engine.Engine).senders.map(({ provider }) => provider)
  }).pipe(
    Effect.scoped,
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["DATABASE_URL", "sqlite::memory:"]])))
  )

/** The reason for which a host does not start with senders. */
const mistake = (...senders: ReadonlyArray<Sender.Sender>) =>
  Effect.map(Effect.flip(Effect.sandbox(providers(...senders))), Cause.pretty)

describe("a host with senders of one's own", () => {
  it.live("has them beside its own three", () =>
    Effect.gen(function* () {
      expect(yield* providers(named("pigeon"))).toEqual(["sandbox", "http", "whatsapp_cloud", "pigeon"])
    })
  )

  it.live(
    "does not start with a second sender of a provider, nor with one whose hooks have another's path",
    () =>
      Effect.gen(function* () {
        expect(yield* mistake(named("http"))).toContain('Two senders have the `provider` "http"')
        expect(yield* mistake(named("whatsapp"))).toContain(
          "The hooks at /hooks/whatsapp are of `whatsapp_cloud`"
        )
      })
  )
})
