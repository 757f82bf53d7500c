/**
 * One message through the engine with a sender of your own: the sender is `sender.ts`, what proves it is
 * `custom-sender.test.ts`, and the rest of this file is what every embedding has.
 *
 *   npx tsx examples/custom-sender/main.ts
 */
import { Engine, layerMemory } from "@sendwright/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { isMain } from "../support/isMain.ts"
import { prepare } from "../support/prepare.ts"
import { platform } from "./platform.ts"
import { pigeon } from "./sender.ts"

const layer = layerMemory({ senders: [pigeon], start: false })

export const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { config, messages } = yield* platform
  const phones = ["34600001234"]
  const { caller, templateId } = yield* prepare(engine, phones, {
    name: "Pigeon",
    provider: "pigeon",
    config
  })
  const variables = { "body.1": "Ana", "body.2": "tomorrow" }
  const recipients = phones.map((phone) => ({ phone }))
  const request = { templateId, variables, recipients }
  const { jobId } = yield* engine.send(caller, { idempotencyKey: "order-1001", request })
  yield* engine.drain
  const { results } = yield* engine.job(caller, jobId, { page: { limit: 250, after: null } })
  return { results: results.items.map(({ address: phone, status }) => ({ phone, status })), messages }
}).pipe(Effect.provide(layer), Effect.scoped)

if (isMain(import.meta.url)) {
  const shown = Effect.flatMap(program, (result) => Console.log(JSON.stringify(result, null, 2)))
  Effect.runPromise(shown)
}
