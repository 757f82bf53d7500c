/**
 * Embed the engine in memory: accept a send, let it run, read the result. No network, no database, and the time is
 * whatever clock the program runs under: under a test clock a whole day passes at once.
 *
 *   npx tsx examples/embed-in-memory.ts
 */
import { Engine } from "@sendwright/core"
import { TestEngine } from "@sendwright/core/testing"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { isMain } from "./support/isMain.ts"
import { prepare } from "./support/prepare.ts"

export const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { caller, templateId } = yield* prepare(engine, ["34600000001", "34600001234", "34600010001"])

  const acknowledgement = yield* engine.send(caller, {
    idempotencyKey: "order-1001",
    request: {
      templateId,
      variables: { "body.2": "tomorrow" },
      recipients: [
        { phone: "34600001234", variables: { "body.1": "Ana" } },
        { phone: "34600010001", variables: { "body.1": "Bruno" } }
      ]
    }
  })

  // Does all that is due: claims, sends, receipts, webhooks.
  yield* engine.drain

  const { job, results } = yield* engine.job(caller, acknowledgement.jobId, {
    page: { limit: 250, after: null }
  })
  return {
    status: job.status,
    recipients: results.items.map(({ failure, address: phone, status }) => ({
      phone,
      status,
      reason: failure?.message ?? null
    }))
  }
})

if (isMain(import.meta.url)) {
  const shown = Effect.flatMap(program, (result) => Console.log(JSON.stringify(result, null, 2)))
  Effect.runPromise(Effect.provide(shown, TestEngine.layer))
}
