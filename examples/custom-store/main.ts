/**
 * One message through the engine on a store of your own: the store is `store.ts`, what proves it is
 * `custom-store.test.ts`, and the rest of this file is what every embedding has. Needs Node 22.16 or later.
 *
 *   npx tsx examples/custom-store/main.ts
 */
import { randomBytes } from "node:crypto"
import { Engine, layerOver, Sandbox } from "@sendwright/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { isMain } from "../support/isMain.ts"
import { prepare } from "../support/prepare.ts"
import * as Store from "./store.ts"

/** 32 bytes in base64. One of a file that stays is a secret, and the same at every start. */
const secretKey = Redacted.make(randomBytes(32).toString("base64"))

const stores = Store.layer({ filename: ":memory:" })
const layer = layerOver(stores, { senders: [Sandbox.make()], secretKey, start: false })

export const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const phones = ["34600001234"]
  const { caller, templateId } = yield* prepare(engine, phones)
  const variables = { "body.1": "Ana", "body.2": "tomorrow" }
  const recipients = phones.map((phone) => ({ phone }))
  const request = { templateId, variables, recipients }
  const { jobId } = yield* engine.send(caller, { idempotencyKey: "order-1001", request })
  yield* engine.drain
  const { results } = yield* engine.job(caller, jobId, { page: { limit: 250, after: null } })
  return results.items.map(({ phone, status }) => ({ phone, status }))
}).pipe(Effect.provide(layer))

if (isMain(import.meta.url)) {
  const shown = Effect.flatMap(program, (result) => Console.log(JSON.stringify(result, null, 2)))
  Effect.runPromise(shown)
}
