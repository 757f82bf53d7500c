/** The overlap of two campaigns, and when it is told as exact. */
import { expect, it } from "@effect/vitest"
import { Engine, Requests } from "@sendwright/core"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { sendBody, template } from "../../../../test/support/TestHost.ts"

const [ana, ben] = ["34600001234", "34600005678"]

/** Both got two campaigns. */
const campaigns = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { admin } = engine
  const account = yield* admin.accounts.create({ name: "Shop" })
  const session = yield* admin.sessions.create(account.id, { name: "Sandbox", provider: "sandbox" })
  const { templates } = yield* admin.templates.importAll(session.id, [template])
  yield* admin.consents.record(
    account.id,
    [ana, ben].map((phone) => ({ phone, source: "test" }))
  )
  const caller = yield* engine.callerOf(session.id)
  for (const reference of ["spring", "autumn"]) {
    const body = { ...sendBody(templates[0]?.templateId ?? 0, ana, ben), reference }
    const request = new Requests.Unchecked(body)
    yield* engine.send(caller, { idempotencyKey: reference, requestId: undefined, request })
  }
  yield* engine.drain
  const told = Effect.map(
    admin.jobs.overlap({ accountId: account.id, reference: "spring", other: "autumn" }),
    ({ isExact, people }) => [people.length, isExact]
  )
  return { account, admin, told }
})

it.effect("is not told as exact once somebody of it was erased", () =>
  Effect.gen(function* () {
    const { admin, told } = yield* campaigns
    expect(yield* told).toEqual([2, true])
    yield* admin.people.erase({ phone: ana, reason: "asked" })
    expect((yield* told)[1]).toBe(false)
  }).pipe(Effect.provide(TestEngine.layer))
)

it.effect("is told as exact while every result is kept, and not of an account that is older", () =>
  Effect.gen(function* () {
    const { account, admin, told } = yield* campaigns
    yield* TestClock.adjust("399 days")
    expect((yield* told)[1]).toBe(true)
    yield* TestClock.adjust("1 day")
    expect((yield* told)[1]).toBe(false)
    yield* admin.accounts.change(account.id, { retention: { resultsDays: null } })
    expect((yield* told)[1]).toBe(true)
  }).pipe(Effect.provide(TestEngine.layer))
)
