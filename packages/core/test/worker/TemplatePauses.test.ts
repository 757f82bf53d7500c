/** A platform that refuses a message because its template is paused (contract.md §3). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import { SendResult } from "../../src/sender/Sender.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { find, owner } from "../StorageSuite/Setup.ts"
import { accepted, acceptOf, during, platform } from "./Support.ts"

const paused = SendResult.Transient({
  failure: { code: "template_paused", provider_code: "132015", message: "Paused.", permanent: false },
  retryAfterMs: null
})

const become = Effect.fnUntraced(function* (
  who: Effect.Effect.Success<typeof owner>,
  status: string,
  now: Time.Instant
) {
  const templates = yield* TemplateStore
  const contents = [Fixtures.template({ status })]
  yield* templates.importAll({ ...who, contents, now })
})

describe("a refusal that says the template is paused", () => {
  it.effect("pauses the template and its job, which goes on once the template is approved", () =>
    Effect.gen(function* () {
      const who = yield* owner
      yield* become(who, "approved", Time.at(0))
      const jobId = yield* acceptOf(who, 2)
      let isPaused = true
      const { sender } = platform({}, () => Effect.succeed(isPaused ? paused : accepted))
      yield* during(
        sender,
        Effect.gen(function* () {
          yield* TestClock.adjust("5 seconds")
          expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "template_paused" })
          isPaused = false
          yield* become(who, "approved", Time.at(5000))
          yield* TestClock.adjust("5 seconds")
          expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 2 } })
        })
      )
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect(
    "and arrives after the template was approved again changes nothing: the message is sent again",
    () =>
      Effect.gen(function* () {
        const who = yield* owner
        yield* become(who, "approved", Time.at(0))
        const jobId = yield* acceptOf(who, 2)
        let attempts = 0
        const { sender } = platform({}, () => {
          attempts += 1
          return attempts === 1 ? Effect.delay(Effect.succeed(paused), "4 seconds") : Effect.succeed(accepted)
        })
        yield* during(
          sender,
          Effect.gen(function* () {
            yield* TestClock.adjust("1500 millis")
            yield* become(who, "paused", Time.at(1500))
            yield* become(who, "approved", Time.at(1600))
            yield* TestClock.adjust("10 seconds")
            expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 2 } })
            expect(attempts).toBe(3)
            const { items } = yield* (yield* TemplateStore).listApproved({
              sessionId: who.sessionId,
              page: { limit: 1, after: null }
            })
            expect(items).toHaveLength(1)
          })
        )
      }).pipe(Effect.provide(Memory.layer))
  )
})
