import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/TestClock"
import { greeting } from "../../../../test/support/Template.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { Signals } from "../../src/runtime/Signals.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import { results } from "../StorageSuite/Setup.ts"
import { accepted, platform, running } from "../worker/Support.ts"

/** Who has been woken, in turn. */
const waiters = Effect.gen(function* () {
  const { sends } = yield* Signals
  const woken: Array<string> = []
  const wait = Effect.fnUntraced(function* (name: string, ms: number) {
    const waiting = Effect.tap(sends.wait(ms), () => Effect.sync(() => woken.push(name)))
    const fiber = yield* Effect.fork(waiting)
    yield* TestClock.adjust(0)
    return fiber
  })
  const notify = Effect.zipRight(sends.notify, TestClock.adjust(0))
  return { notify, wait, woken }
})

describe("loops that wait", () => {
  it.effect("are woken by a notice", () =>
    Effect.gen(function* () {
      const { notify, wait, woken } = yield* waiters
      yield* wait("a", 1000)
      yield* notify
      expect(woken).toEqual(["a"])
    }).pipe(Effect.provide(Signals.layer))
  )

  it.effect("find a notice that came while nobody waited, once", () =>
    Effect.gen(function* () {
      const { notify, wait, woken } = yield* waiters
      yield* notify
      yield* notify
      yield* wait("a", 1000)
      yield* wait("b", 1000)
      expect(woken).toEqual(["a"])
    }).pipe(Effect.provide(Signals.layer))
  )

  it.effect("return when their own time is over, and take no notice then", () =>
    Effect.gen(function* () {
      const { notify, wait, woken } = yield* waiters
      yield* wait("a", 300)
      yield* TestClock.adjust(299)
      expect(woken).toEqual([])
      yield* TestClock.adjust(1)
      expect(woken).toEqual(["a"])
      yield* notify
      yield* wait("b", 1000)
      expect(woken).toEqual(["a", "b"])
    }).pipe(Effect.provide(Signals.layer))
  )

  it.effect("lose no notice when they are interrupted", () =>
    Effect.gen(function* () {
      const { wait, woken } = yield* waiters
      const waiting = yield* wait("a", 1000)
      yield* (yield* Signals).sends.notify
      yield* Fiber.interrupt(waiting)
      yield* wait("b", 1000)
      expect(woken).toEqual(["b"])
    }).pipe(Effect.provide(Signals.layer))
  )
})

describe("an idle dispatcher on SQLite", () => {
  it.scopedLive("has claimed a send when it is accepted: both are one commit", () => {
    const begun = Effect.runSync(Queue.unbounded<string>())
    const latch = Effect.unsafeMakeLatch()
    // Who has taken one is not idle any more.
    const { sender } = platform({}, ({ messageId }) =>
      Effect.zipRight(Queue.offer(begun, messageId), Effect.as(latch.await, accepted))
    )
    return Effect.gen(function* () {
      const { admin, identify, send } = yield* Engine.Engine
      const plan = { minimumWaitMs: 0, dailyTemplateRecipients: null, requestsPerMinute: 1000 }
      const account = yield* admin.accounts.create({ name: "account", plan })
      const session = yield* admin.sessions.create(account.id, { name: "session", provider: "sandbox" })
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      const caller = yield* identify({ publicKey: key.publicKey, secretKey })
      const {
        templates: [template]
      } = yield* admin.templates.importAll(session.id, [greeting])
      const phone = "34600000055"
      yield* admin.consents.record(account.id, [{ phone, source: "test" }])
      const request = {
        templateId: template?.templateId ?? 0,
        recipients: [{ phone, variables: { "body.1": "Ana" } }]
      }
      let sends = 0
      const statusOfNext = Effect.gen(function* () {
        sends += 1
        const { jobId } = yield* send(caller, { idempotencyKey: `send-${sends}`, request })
        const [recipient] = yield* results(jobId)
        yield* Queue.take(begun)
        return recipient?.status
      })
      // A machine that is busy with something else may cut a group of commits between any two.
      const status = yield* Effect.repeat(statusOfNext, { until: (status) => status === "sending", times: 3 })
      expect(status).toBe("sending")
    }).pipe(
      Effect.ensuring(latch.open),
      Effect.provide(Layer.provideMerge(running(sender), Sqlite.layer({ filename: ":memory:" })))
    )
  })
})
