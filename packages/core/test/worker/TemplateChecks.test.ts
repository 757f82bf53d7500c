/** A template that is another at its platform than here: it is fetched once, and its jobs wait (contract.md §11). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import type { Sender } from "../../src/sender/Sender.ts"
import { PlatformRefusal, SendResult } from "../../src/sender/Sender.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { find, owner, results } from "../StorageSuite/Setup.ts"
import { accepted, acceptOf, during, platform } from "./Support.ts"

const mismatch = SendResult.Rejected({
  failure: { code: "template_mismatch", provider_code: "132000", message: "Does not fit.", permanent: true }
})

/** As the platform lists it: with so many variables in its body. */
const listed = (variables: number, status = "APPROVED") => {
  const { language, name } = Fixtures.template()
  const places = Array.from({ length: variables }, (_, place) => `{{${place + 1}}}`).join(" and ")
  const components = [{ type: "BODY", text: `Hello ${places} there` }]
  return { id: "9", name, language, category: "UTILITY", status, components }
}

const begin = Effect.gen(function* () {
  const who = yield* owner
  const templates = yield* TemplateStore
  const { accountId, sessionId } = who
  const [template] = yield* templates.importAll({
    accountId,
    sessionId,
    contents: [Fixtures.template()],
    now: Time.at(0)
  })
  const templateId = template?.templateId ?? 0
  const ask = templates.askAgain({ sessionId, templateId, refusedSince: null, now: Time.at(0) })
  return { who, templates, templateId, ask, variables: template?.variables.length ?? 0 }
})

const fetching = (template: NonNullable<Sender["template"]>, send: Parameters<typeof platform>[1]) => {
  const made = platform({}, send)
  return { ...made.sender, template }
}

describe("a template that is to be fetched", () => {
  it.effect("holds its jobs until the platform answers, and they go on where they still fit", () =>
    Effect.gen(function* () {
      const { ask, variables, who } = yield* begin
      const jobId = yield* acceptOf(who, 2)
      yield* ask
      let [fetches, isUp] = [0, false]
      const unreachable = new PlatformRefusal({
        failure: { code: "provider_unavailable", provider_code: null, message: "Down.", permanent: false }
      })
      const fetch = () =>
        Effect.suspend(() => {
          fetches += 1
          return isUp ? Effect.succeed(listed(variables)) : Effect.fail(unreachable)
        })
      yield* during(
        fetching(fetch, () => Effect.succeed(accepted)),
        Effect.gen(function* () {
          yield* TestClock.adjust("5 seconds")
          expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "template_changed" })
          expect(fetches).toBe(1)
          isUp = true
          yield* TestClock.adjust("30 seconds")
          expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 2 } })
          expect(fetches).toBe(2)
        })
      )
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("ends its jobs where they do not fit any more, with that cause", () =>
    Effect.gen(function* () {
      const { ask, variables, who } = yield* begin
      const jobId = yield* acceptOf(who, 2)
      yield* ask
      yield* during(
        fetching(
          () => Effect.delay(Effect.succeed(listed(variables + 1)), "3 seconds"),
          () => Effect.dieMessage("nothing is sent")
        ),
        Effect.gen(function* () {
          yield* TestClock.adjust("10 seconds")
          expect(yield* find(jobId)).toMatchObject({ status: "failed", counts: { failed: 2 } })
          expect((yield* results(jobId)).map(({ failure }) => failure?.code)).toEqual([
            "template_mismatch",
            "template_mismatch"
          ])
        })
      )
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("lets its jobs go on where the platform refuses to tell it", () =>
    Effect.gen(function* () {
      const { ask, who } = yield* begin
      const jobId = yield* acceptOf(who, 1)
      yield* ask
      const failure = {
        code: "provider_unavailable",
        provider_code: null,
        message: "Down.",
        permanent: true
      }
      yield* during(
        fetching(
          () => Effect.fail(new PlatformRefusal({ failure })),
          () => Effect.succeed(accepted)
        ),
        Effect.gen(function* () {
          yield* TestClock.adjust("30 seconds")
          expect(yield* find(jobId)).toMatchObject({ status: "completed" })
        })
      )
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a refusal that says that a message does not fit its template", () => {
  it.effect("fetches the template once, and fails nobody else where nothing changed", () =>
    Effect.gen(function* () {
      const { variables, who } = yield* begin
      const jobId = yield* acceptOf(who, 6)
      let [attempts, fetches] = [0, 0]
      yield* during(
        fetching(
          () =>
            Effect.sync(() => {
              fetches += 1
              return listed(variables)
            }),
          () => {
            attempts += 1
            return Effect.succeed(attempts <= 2 ? mismatch : accepted)
          }
        ),
        Effect.gen(function* () {
          yield* TestClock.adjust("30 seconds")
          expect(yield* find(jobId)).toMatchObject({
            status: "completed",
            counts: { accepted: 4, failed: 2 }
          })
          expect(fetches).toBe(1)
        })
      )
    }).pipe(Effect.provide(Memory.layer))
  )
})
