/** Every operation that takes a caller looks at it (contract.md §2), also when the caller was kept. */

import { describe, expect, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import type { Permission } from "../../src/domain/account/ApiKey.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"

type EngineService = Context.Tag.Service<Engine.Engine>

const phone = "34600001234"
const page = { limit: 25, after: null }

/** Every operation that takes a caller, with the permission that it needs. */
type Operation = readonly [
  name: string,
  permission: Permission,
  run: Effect.Effect<unknown, { readonly _tag: string }>
]

/** It takes a time of its own. */
const searched = (engine: EngineService, caller: Engine.Caller) =>
  Effect.gen(function* () {
    const searching = yield* Effect.fork(engine.search(caller, { text: phone, page }))
    yield* TestClock.adjust("50 millis")
    return yield* Fiber.join(searching)
  })

const operations = (
  engine: EngineService,
  caller: Engine.Caller,
  templateId: number
): ReadonlyArray<Operation> => {
  const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
  const request = { templateId, recipients }
  const direct = { to: phone, message: "Hello" }
  return [
    ["templates", "templates:read", engine.templates(caller, { page })],
    ["template", "templates:read", engine.template(caller, templateId)],
    ["estimate", "messages:estimate", engine.estimate(caller, request)],
    ["send", "messages:send", engine.send(caller, { idempotencyKey: "order-1", request })],
    ["sendDirect", "direct:send", engine.sendDirect(caller, { idempotencyKey: undefined, request: direct })],
    ["window", "direct:send", engine.window(caller, phone)],
    ["message", "direct:read", engine.message(caller, "none")],
    ["jobs", "jobs:read", engine.jobs(caller, { page })],
    ["job", "jobs:read", engine.job(caller, "none", { page })],
    ["search", "jobs:read", searched(engine, caller)],
    ["timeline", "jobs:read", engine.timeline(caller, "none")],
    ["cancel", "messages:send", engine.cancel(caller, "none")],
    ["change", "messages:send", engine.change(caller, "none", {})],
    ["pause", "messages:send", engine.pause(caller, "none")],
    ["resume", "messages:send", engine.resume(caller, "none")]
  ]
}

/** The end of each operation: its refusal, or "done". */
const outcomes = (engine: EngineService, caller: Engine.Caller, templateId: number) =>
  Effect.forEach(operations(engine, caller, templateId), ([name, , operation]) =>
    Effect.match(operation, {
      onFailure: ({ _tag }): readonly [string, string] => [name, _tag],
      onSuccess: (): readonly [string, string] => [name, "done"]
    })
  )

const prepared = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { accountId, caller: ofSession, templateId } = yield* prepare(engine, [phone])
  const { key, secretKey } = yield* engine.admin.keys.issue(ofSession.session.id, {})
  const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
  const told = Effect.map(outcomes(engine, caller, templateId), (all) => new Map(all))
  /** The refusal of all operations; undefined when they are not refused alike. */
  const refusal = Effect.map(told, (all) => {
    const tags = new Set(all.values())
    return tags.size === 1 ? [...tags][0] : undefined
  })
  return { engine, admin: engine.admin, accountId, caller, templateId, told, refusal }
})

const anHour = TestClock.adjust("1 hour")

describe("every operation that takes a caller", () => {
  it.effect("is looked at here", () =>
    Effect.gen(function* () {
      const { caller, engine, templateId } = yield* prepared
      const others = [
        "identify",
        "callerOf",
        "authorize",
        "receive",
        "hook",
        "admin",
        "drain",
        "nextDue",
        "clock",
        "readiness",
        "senders"
      ]
      const named = operations(engine, caller, templateId).map(([name]) => name)
      expect(Object.keys(engine).toSorted()).toEqual([...named, ...others].toSorted())
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("needs its own permission and no other", () =>
    Effect.gen(function* () {
      const { caller, engine, templateId } = yield* prepared
      for (const [name, permission] of operations(engine, caller, templateId)) {
        const only = { ...caller, key: { ...caller.key, permissions: [permission] } }
        const told = yield* outcomes(engine, only, templateId)
        const allowed = told.filter(([, outcome]) => outcome !== "InsufficientPermission")
        expect(allowed.map(([each]) => each)).toContain(name)
        for (const [other, needed] of operations(engine, caller, templateId)) {
          expect(allowed.some(([each]) => each === other)).toBe(needed === permission)
        }
      }
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("refuses a kept caller whose key was revoked or is inactive", () =>
    Effect.gen(function* () {
      const { admin, caller, refusal, told } = yield* prepared
      yield* anHour
      expect((yield* told).get("send")).toBe("done")
      yield* admin.keys.change(caller.key.publicKey, { status: "inactive" })
      yield* anHour
      expect(yield* refusal).toBe("InvalidCredentials")
      yield* admin.keys.revoke(caller.key.publicKey)
      yield* anHour
      expect(yield* refusal).toBe("InvalidCredentials")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("refuses a kept caller whose subscription ended", () =>
    Effect.gen(function* () {
      const { accountId, admin, refusal } = yield* prepared
      yield* admin.accounts.change(accountId, { plan: { subscription: "inactive" } })
      yield* anHour
      expect(yield* refusal).toBe("SubscriptionInactive")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("refuses a kept caller whose plan lost the feature, and reads past jobs still", () =>
    Effect.gen(function* () {
      const { accountId, admin, told } = yield* prepared
      yield* admin.accounts.change(accountId, { plan: { features: [] } })
      yield* anHour
      const outcomes = yield* told
      expect([outcomes.get("send"), outcomes.get("sendDirect")]).toEqual([
        "FeatureUnavailable",
        "FeatureUnavailable"
      ])
      expect(outcomes.get("jobs")).toBe("done")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("refuses a kept caller whose key lost its permissions", () =>
    Effect.gen(function* () {
      const { admin, caller, refusal } = yield* prepared
      yield* admin.keys.change(caller.key.publicKey, { permissions: ["connection:read"] })
      yield* anHour
      expect(yield* refusal).toBe("InsufficientPermission")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("refuses a kept caller whose session is disconnected, and serves it once that is connected", () =>
    Effect.gen(function* () {
      const { admin, caller, refusal, told } = yield* prepared
      yield* admin.sessions.disconnect(caller.session.id)
      yield* anHour
      expect(yield* refusal).toBe("SessionDisconnected")
      yield* admin.sessions.connect(caller.session.id)
      yield* anHour
      expect((yield* told).get("send")).toBe("done")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("uses the plan of now for a kept caller", () =>
    Effect.gen(function* () {
      const { accountId, admin, told } = yield* prepared
      yield* admin.accounts.change(accountId, { plan: { dailyDirectMessages: 0 } })
      yield* anHour
      expect((yield* told).get("sendDirect")).toBe("DailyLimitReached")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("refuses in the order of contract.md §2", () =>
    Effect.gen(function* () {
      const { accountId, admin, caller, engine } = yield* prepared
      // Each mends what the one before it was refused for; the shape and the consent are wrong throughout.
      const wrong = { idempotencyKey: undefined, request: { templateId: 1, recipients: [] } }
      const refused = Effect.map(Effect.flip(engine.send(caller, wrong)), ({ _tag }) => _tag)
      const send = Effect.zipRight(TestClock.adjust("1 second"), refused)
      const { publicKey } = caller.key
      yield* admin.keys.change(publicKey, { status: "inactive", permissions: ["jobs:read"] })
      yield* admin.accounts.change(accountId, { plan: { subscription: "inactive", features: ["direct"] } })
      yield* admin.sessions.disconnect(caller.session.id)
      yield* anHour
      expect(yield* send).toBe("InvalidCredentials")
      yield* admin.keys.change(publicKey, { status: "active" })
      expect(yield* send).toBe("SubscriptionInactive")
      yield* admin.accounts.change(accountId, { plan: { subscription: "active" } })
      expect(yield* send).toBe("FeatureUnavailable")
      yield* admin.accounts.change(accountId, { plan: { features: ["templates"] } })
      expect(yield* send).toBe("InsufficientPermission")
      yield* admin.keys.change(publicKey, { permissions: ["messages:send"] })
      expect(yield* send).toBe("SessionDisconnected")
      yield* admin.sessions.connect(caller.session.id)
      expect(yield* send).toBe("InvalidRequest")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("notes the use of a kept caller's key", () =>
    Effect.gen(function* () {
      const { caller, told } = yield* prepared
      const keys = yield* ApiKeyStore
      yield* anHour
      yield* told
      const found = yield* keys.identify(caller.key.publicKey)
      expect(found?.key.lastUsedAt).toBe(60 * 60 * 1000)
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a caller", () => {
  it.effect("that was identified just now is not looked up again, and one of a second ago is", () =>
    Effect.gen(function* () {
      const { admin, caller, engine } = yield* prepared
      yield* admin.keys.revoke(caller.key.publicKey)
      const authorized = Effect.isSuccess(engine.authorize(caller, null))
      expect(yield* authorized).toBe(true)
      yield* TestClock.adjust("999 millis")
      expect(yield* authorized).toBe(true)
      yield* TestClock.adjust("1 millis")
      expect(yield* authorized).toBe(false)
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("from the future of a clock that was set back is looked up again", () =>
    Effect.gen(function* () {
      const { admin, caller, engine } = yield* prepared
      yield* admin.keys.revoke(caller.key.publicKey)
      const ahead = { ...caller, knownAt: Time.after(caller.knownAt, 3_600_000) }
      expect(yield* Effect.flip(engine.authorize(ahead, null))).toMatchObject({ _tag: "InvalidCredentials" })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a caller of a session", () => {
  it.effect("needs no API key, and may do all that its account's plan allows", () =>
    Effect.gen(function* () {
      const { accountId, admin, caller, engine, templateId } = yield* prepared
      const mine = yield* engine.callerOf(caller.session.id)
      const outcome = Effect.map(outcomes(engine, mine, templateId), (all) => new Map(all))
      yield* admin.keys.revoke(caller.key.publicKey)
      expect(yield* outcome).toEqual(
        new Map([
          ...operations(engine, mine, templateId).map(([name]) => [name, "done"] as const),
          ["message", "NotFound"],
          ["job", "NotFound"],
          ["timeline", "NotFound"],
          ["cancel", "NotFound"],
          ["change", "NotFound"],
          ["pause", "NotFound"],
          ["resume", "NotFound"]
        ])
      )
      yield* admin.sessions.disconnect(caller.session.id)
      yield* anHour
      expect(new Set((yield* outcome).values())).toEqual(new Set(["SessionDisconnected"]))
      yield* admin.accounts.change(accountId, { plan: { subscription: "inactive" } })
      yield* anHour
      expect(new Set((yield* outcome).values())).toEqual(new Set(["SubscriptionInactive"]))
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("has Idempotency-Keys and jobs of the session, apart from those of its API keys", () =>
    Effect.gen(function* () {
      const { caller, engine, templateId } = yield* prepared
      const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
      const command = { idempotencyKey: "order-1", request: { templateId, recipients } }
      const ofKey = yield* engine.send(caller, command)
      const first = yield* engine.send(yield* engine.callerOf(caller.session.id), command)
      const again = yield* engine.send(yield* engine.callerOf(caller.session.id), command)
      expect([first.replayed, again.replayed, again.jobId]).toEqual([false, true, first.jobId])
      expect(first.jobId).not.toBe(ofKey.jobId)
      const jobs = yield* engine.jobs(yield* engine.callerOf(caller.session.id), { page })
      expect(jobs.items.map(({ id }) => id)).toEqual([first.jobId])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is not found where there is no such session, and cannot be presented from outside", () =>
    Effect.gen(function* () {
      const { caller, engine } = yield* prepared
      expect(yield* Effect.flip(engine.callerOf("none"))).toMatchObject({ _tag: "NotFound", what: "session" })
      const presented = { publicKey: caller.session.id, secretKey: "" }
      expect(yield* Effect.flip(engine.identify(presented))).toMatchObject({ _tag: "InvalidCredentials" })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
