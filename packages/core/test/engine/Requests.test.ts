/** A request in process is the contract's body with its names in camelCase: one key, one list of faults, however it came. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { greeting } from "../../../../test/support/Template.ts"
import * as Fault from "../../src/domain/Fault.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as Requests from "../../src/schema/Requests.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"
import { embedded, platform } from "../worker/Support.ts"

const phone = "34600000010"

const prepared = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { admin } = engine
  const account = yield* admin.accounts.create({
    name: "Shop",
    currency: "EUR",
    plan: { minimumWaitMs: 0, dailyTemplateRecipients: 3 }
  })
  const session = yield* admin.sessions.create(account.id, { name: "Sandbox", provider: "sandbox" })
  const { templates } = yield* admin.templates.importAll(session.id, [greeting])
  yield* admin.consents.record(account.id, [{ phone, source: "test" }])
  const caller = yield* engine.callerOf(session.id)
  return { account, engine, caller, templateId: templates[0]?.templateId ?? 0 }
})

const refusal = <A, E extends { readonly _tag: string; readonly faults?: ReadonlyArray<Fault.Fault> }>(
  send: Effect.Effect<A, E>
) => Effect.map(Effect.flip(send), ({ _tag: tag, faults = [] }) => ({ tag, faults }))

/** Requests with every kind of fault, as they are typed and as they come over HTTP. */
const faulty: ReadonlyArray<readonly [Requests.TemplateMessage, unknown]> = [
  [
    { templateId: 1.5, recipients: [{ phone: "+1", externalId: "x".repeat(256) }] },
    { template_id: 1.5, recipients: [{ phone: "+1", external_id: "x".repeat(256) }] }
  ],
  [
    { templateId: 404, currency: "XXX", recipients: [{ phone, externalId: "\0" }] },
    { template_id: 404, currency: "XXX", recipients: [{ phone, external_id: "\0" }] }
  ],
  [
    { templateId: 1, recipients: Array.from({ length: 251 }, () => ({ phone, externalId: "a" })) },
    { template_id: 1, recipients: Array.from({ length: 251 }, () => ({ phone, external_id: "a" })) }
  ]
]

/** What a caller without types may give in the place of a request, and the body that it stands for. */
const untyped: ReadonlyArray<readonly [given: unknown, body: unknown]> = [
  [null, null],
  [[], []],
  ["send", "send"],
  [{ templateId: undefined, recipients: undefined }, {}],
  [
    { templateId: 1, recipients: "34600000010" },
    { template_id: 1, recipients: "34600000010" }
  ],
  [
    { templateId: 1, recipients: [null, 1, { phone, externalId: 7 }], template: "greeting" },
    { template_id: 1, recipients: [null, 1, { phone, external_id: 7 }], template: "greeting" }
  ]
]

describe("a template that is asked for by name", () => {
  it.effect("is named by the refusal where the session has none that is approved", () =>
    Effect.gen(function* () {
      const { caller, engine } = yield* prepared
      const byName = yield* Effect.flip(engine.template(caller, { name: "order_shiped", language: "en" }))
      expect(byName.message).toBe('There is no such template: "order_shiped" in "en".')
      const byNumber = yield* Effect.flip(engine.template(caller, 404))
      expect(byNumber.message).toBe("There is no such template.")
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("an Idempotency-Key", () => {
  it.effect("that is known answers before anything that would refuse the send now", () =>
    Effect.gen(function* () {
      const { account, caller, engine, templateId } = yield* prepared
      const request = { templateId, recipients: [{ phone, variables: { "body.1": "Ana" } }] }
      const send = (idempotencyKey: string, more = {}) =>
        engine.send(caller, { idempotencyKey, request: { ...request, ...more } })
      const first = yield* send("known")
      yield* engine.admin.consents.record(account.id, [{ phone, source: "test", status: "revoked" }])
      expect(yield* send("known")).toEqual({ ...first, replayed: true })
      const tag = (sent: Effect.Effect<unknown, { readonly _tag: string }>) =>
        Effect.map(Effect.flip(sent), ({ _tag }) => _tag)
      expect(yield* tag(send("known", { reference: "other" }))).toBe("IdempotencyConflict")
      expect(yield* tag(send("known", { templateId: 404 }))).toBe("IdempotencyConflict")
      expect(yield* tag(send("new"))).toBe("ConsentRequired")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is asked for once where nothing refuses the send: in its commit", () =>
    Effect.gen(function* () {
      let asked = 0
      const counting = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          findByIdempotencyKey: (query: Parameters<typeof jobs.findByIdempotencyKey>[0]) =>
            Effect.suspend(() => {
              asked += 1
              return jobs.findByIdempotencyKey(query)
            })
        }))
      )
      yield* Effect.gen(function* () {
        const { caller, engine, templateId } = yield* prepared
        const request = { templateId, recipients: [{ phone, variables: { "body.1": "Ana" } }] }
        const send = engine.send(caller, { idempotencyKey: "key", request })
        expect([(yield* send).replayed, (yield* send).replayed]).toEqual([false, true])
      }).pipe(Effect.provide(Layer.provide(embedded(platform({}).sender), counting)))
      expect(asked).toBe(0)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a request in process", () => {
  it.effect("stands for the body that comes over HTTP, under one Idempotency-Key", () =>
    Effect.gen(function* () {
      const { caller, engine, templateId } = yield* prepared
      const common = { currency: "EUR", reference: "spring", variables: { "body.1": "Ana" } }
      const recipient = { phone, variables: { "body.1": "Ben" } }
      const typed = { templateId, ...common, recipients: [{ ...recipient, externalId: "customer-9" }] }
      const body = new Requests.Unchecked({
        recipients: [{ ...recipient, external_id: "customer-9" }],
        ...common,
        template_id: templateId
      })
      const send = (idempotencyKey: string, request: Requests.TemplateMessage | Requests.Unchecked) =>
        engine.send(caller, { idempotencyKey, request })
      const first = yield* send("typed", typed)
      expect(yield* send("typed", body)).toEqual({ ...first, replayed: true })
      const second = yield* send("body", body)
      expect(yield* send("body", typed)).toEqual({ ...second, replayed: true })
      const other = { ...typed, recipients: [{ ...recipient, externalId: "customer-8" }] }
      expect(yield* refusal(send("typed", other))).toMatchObject({ tag: "IdempotencyConflict" })
      const { results } = yield* engine.job(caller, first.jobId, { page: { limit: 250, after: null } })
      expect(results.items.map(({ externalId }) => externalId)).toEqual(["customer-9"])
      expect(yield* engine.estimate(caller, typed)).toEqual(yield* engine.estimate(caller, body))
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is refused as that body is: the same faults in the same order, which point into the body", () =>
    Effect.gen(function* () {
      const { caller, engine } = yield* prepared
      for (const [typed, body] of faulty) {
        const command = { idempotencyKey: undefined, request: typed }
        const refused = yield* refusal(engine.send(caller, command))
        const unchecked = new Requests.Unchecked(body)
        expect(refused).toEqual(yield* refusal(engine.send(caller, { ...command, request: unchecked })))
        expect(yield* refusal(engine.estimate(caller, typed))).toEqual(
          yield* refusal(engine.estimate(caller, unchecked))
        )
        expect(refused.faults.map(Fault.pointer)).toContain("/headers/Idempotency-Key")
      }
      const [[typed] = [{ templateId: 0, recipients: [] }]] = faulty
      const { faults } = yield* refusal(engine.send(caller, { idempotencyKey: "key", request: typed }))
      expect(faults.map(Fault.pointer)).toEqual([
        "/template_id",
        "/recipients/0/phone",
        "/recipients/0/external_id"
      ])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("of a caller without types is refused like a body without its shape", () =>
    Effect.gen(function* () {
      const { caller, engine } = yield* prepared
      for (const [given, body] of untyped) {
        const send = (request: unknown) =>
          // Who writes JavaScript has no compiler that would refuse it.
          refusal(
            engine.send(caller, { idempotencyKey: "key", request: request as Requests.TemplateMessage })
          )
        const refused = yield* send(given)
        expect(refused).toEqual(yield* send(new Requests.Unchecked(body)))
        expect(refused.tag).toBe("InvalidRequest")
      }
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
