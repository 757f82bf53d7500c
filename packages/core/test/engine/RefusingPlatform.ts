/** A job that goes one message a second, over a platform that refuses by its answers or by receipts, as a test says. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import type { Report } from "../../src/storage/JobStore.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

interface Platform {
  /** What its next hook tells. */
  readonly reports: Array<Report>
  /** Posts the hook. */
  readonly hook: Effect.Effect<unknown>
}

/** @param platformOf what the platform does with a message, and with what else it is asked */
export const job = <E>(
  stores: Layer.Layer<Stores, E>,
  phones: ReadonlyArray<string>,
  platformOf: (platform: Platform) => Pick<Sender.Sender, "send" | "template">
) =>
  Effect.gen(function* () {
    const reports: Array<Report> = []
    let post: Effect.Effect<unknown> = Effect.void
    const sender: Sender.Sender = {
      provider: "sandbox",
      deduplicates: true,
      receive: () =>
        Effect.sync(() =>
          Sender.HookResult.Content({
            reports: reports.splice(0),
            messages: [],
            preferences: [],
            templates: [],
            unread: []
          })
        ),
      ...platformOf({ reports, hook: Effect.suspend(() => post) })
    }
    const below = yield* Layer.build(Layer.merge(stores, SecretBox.layerRandom))
    /** Another process over the same store. */
    const start = Effect.map(
      Layer.build(
        Engine.layer().pipe(
          Layer.provide(Layer.succeedContext(below)),
          Layer.provide(Sender.layer(sender)),
          Layer.provide(RecordingTransport.layer),
          Layer.provide(AddressPolicy.layer([]))
        )
      ),
      Context.get(Engine.Engine)
    )
    const engine = yield* start
    const { caller, templateId } = yield* prepare(engine, phones)
    const { id } = caller.session
    yield* engine.admin.sessions.change(id, { pacing: { messagesPerSecond: 1 } })
    const request = { method: "POST", headers: {}, query: {}, body: new Uint8Array() } as const
    const hookOf = (by: typeof engine) => Effect.orDie(by.hook("sandbox", id, request))
    post = hookOf(engine)
    const variables = { "body.1": "Ana", "body.2": "tomorrow" }
    const { jobId } = yield* engine.send(caller, {
      idempotencyKey: "1",
      request: { templateId, recipients: phones.map((phone) => ({ phone, variables })) }
    })
    const found = Effect.map(
      engine.job(caller, jobId, { page: { limit: 1, after: null } }),
      ({ job: each }) => each
    )
    return { caller, engine, hookOf, id, job: found, start }
  })
