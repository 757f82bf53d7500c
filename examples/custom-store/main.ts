/**
 * One message through the engine on a store of your own: the store is `store.ts`, what proves it is
 * `custom-store.test.ts`, and the rest of this file is what every embedding has. Needs Node 22.16 or later.
 *
 *   npx tsx examples/custom-store/main.ts
 */
import { AddressPolicy, Engine, Sandbox, SecretBox, Sender } from "@sendwright/core"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isMain } from "../support/isMain.ts"
import { prepare } from "../support/prepare.ts"
import * as Store from "./store.ts"

const layer = Engine.layer().pipe(
  Layer.provide(Store.layer({ filename: ":memory:" })),
  Layer.provide(Sender.layer(Sandbox.make())),
  Layer.provide(RecordingTransport.layer),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([]))
)

export const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const phones = ["34600001234"]
  const { caller, templateId } = yield* prepare(engine, phones)
  const variables = { "body.1": "Ana", "body.2": "tomorrow" }
  const recipients = phones.map((phone) => ({ phone }))
  const request = { template_id: templateId, variables, recipients }
  const { jobId } = yield* engine.send(caller, { idempotencyKey: "order-1001", request })
  yield* engine.drain
  const { results } = yield* engine.job(caller, jobId, { page: { limit: 250, after: null } })
  return results.items.map(({ phone, status }) => ({ phone, status }))
}).pipe(Effect.provide(layer))

if (isMain(import.meta.url)) {
  const shown = Effect.flatMap(program, (result) => Console.log(JSON.stringify(result, null, 2)))
  Effect.runPromise(shown)
}
