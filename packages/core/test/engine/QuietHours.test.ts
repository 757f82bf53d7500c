/** The hours of a session (contract.md §14 "Time"), as its operator sets them and what is sent over it keeps them. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { greeting } from "../../../../test/support/Template.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as QuietHours from "../../src/domain/session/QuietHours.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type { TemplateMessage } from "../../src/schema/Requests.ts"
import type { QuietHoursChange } from "../../src/schema/Times.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"

const spain = "34600000100"
const page = { limit: 250, after: null }
const at = (text: string) => Time.parse(text) ?? Time.at(Number.NaN)
const day = { from: "09:00", to: "20:00" }

/** Night in Spain has begun, and ends for all of it at 9:00 UTC, with that on the Canaries. */
const begin = Effect.fnUntraced(function* (quietHours: QuietHoursChange, text = "2026-12-01T20:30:00Z") {
  yield* TestClock.setTime(at(text))
  const engine = yield* Engine.Engine
  const { admin } = engine
  const { id } = yield* admin.accounts.create({ name: "Shop" })
  yield* admin.consents.record(id, [{ phone: spain, source: "test" }])
  const session = yield* admin.sessions.create(id, { name: "Main", provider: "sandbox", quietHours })
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const sale = { ...greeting, name: "sale", category: "MARKETING" }
  const { templates } = yield* admin.templates.importAll(session.id, [sale, greeting])
  const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
  let keys = 0
  const send = Effect.fnUntraced(function* (some: Partial<TemplateMessage> = {}, template = 0) {
    const { jobId } = yield* engine.send(yield* engine.identify({ publicKey: key.publicKey, secretKey }), {
      idempotencyKey: `sale-${keys++}`,
      request: {
        templateId: templates[template]?.templateId ?? 0,
        variables: { "body.1": "Ana" },
        recipients: [{ phone: spain }],
        ...some
      }
    })
    return jobId
  })
  const became = Effect.fnUntraced(function* (jobId: string) {
    const { results, waitingFor } = yield* engine.job(caller, jobId, { page })
    const [{ failure = null, nextAt = null, status = "" } = {}] = results.items
    if (status !== "queued") return failure?.code ?? status
    return `queued for ${waitingFor?.limiter} until ${Time.formatOrNull(nextAt)}`
  })
  const goTo = (text: string) => Effect.zipRight(TestClock.setTime(at(text)), engine.drain)
  return { admin, became, caller, engine, goTo, send, session }
})

describe("the hours of a session", () => {
  it.effect("hold what is of their purpose, and nothing else", () =>
    Effect.gen(function* () {
      const { became, engine, goTo, send } = yield* begin({ marketing: day })
      const sale = yield* send()
      const order = yield* send({}, 1)
      yield* engine.drain
      expect(yield* became(sale)).toBe("queued for hours until 2026-12-02T09:00:00.000Z")
      expect(yield* became(order)).toBe("delivered")
      yield* goTo("2026-12-02T09:00:00Z")
      expect(yield* became(sale)).toBe("delivered")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("are narrowed by a send's own, and never widened", () =>
    Effect.gen(function* () {
      const { became, engine, send } = yield* begin({ marketing: day })
      const narrower = yield* send({ hours: { from: "10:00", to: "12:00" } })
      const wider = yield* send({ hours: { from: "06:00", to: "23:00" } })
      yield* engine.drain
      expect(yield* became(narrower)).toBe("queued for hours until 2026-12-02T10:00:00.000Z")
      expect(yield* became(wider)).toBe("queued for hours until 2026-12-02T09:00:00.000Z")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("skip what comes outside of them where they say so, and are those of a change of times", () =>
    Effect.gen(function* () {
      const { became, caller, engine, send } = yield* begin({ marketing: { ...day, outside: "skip" } })
      const skipped = yield* send()
      const moved = yield* send({ sendAt: new Date("2026-12-02T12:00:00Z") })
      yield* engine.change(caller, moved, { send_at: "2026-12-03T12:00:00Z" })
      yield* engine.drain
      expect(yield* became(skipped)).toBe("outside_hours")
      expect(yield* became(moved)).toBe("queued for schedule until 2026-12-03T12:00:00.000Z")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("hold what was accepted before them, and nobody is attempted for that", () =>
    Effect.gen(function* () {
      const { admin, became, engine, goTo, send, session } = yield* begin({})
      const sale = yield* send()
      const scheduled = yield* send({ sendAt: new Date("2026-12-02T07:30:00Z") })
      yield* admin.sessions.change(session.id, { quietHours: { marketing: day } })
      yield* engine.drain
      expect(yield* became(sale)).toBe("queued for hours until 2026-12-02T09:00:00.000Z")
      yield* goTo("2026-12-02T07:30:00Z")
      expect(yield* became(scheduled)).toBe("queued for hours until 2026-12-02T09:00:00.000Z")
      yield* goTo("2026-12-02T09:00:00Z")
      expect([yield* became(sale), yield* became(scheduled)]).toEqual(["delivered", "delivered"])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("leave a send within them as it is without them", () =>
    Effect.gen(function* () {
      const { caller, engine, send } = yield* begin({ marketing: day }, "2026-12-01T12:00:00Z")
      const jobId = yield* send()
      expect((yield* engine.job(caller, jobId, { page })).job.timing).toBeNull()
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("change by purpose, and are refused by their field", () =>
    Effect.gen(function* () {
      const { admin, session } = yield* begin({ marketing: day })
      const held = { ...day, days: null, outside: "hold" } as const
      expect(session.quietHours).toEqual({ ...QuietHours.none, marketing: held })
      const change = (quietHours: QuietHoursChange) => admin.sessions.change(session.id, { quietHours })
      expect((yield* change({ utility: day })).quietHours).toEqual({
        ...QuietHours.none,
        marketing: held,
        utility: held
      })
      const none = yield* change({ marketing: null, utility: null })
      expect(none.quietHours).toEqual(QuietHours.none)
      for (const [hours, path] of [
        [{ from: "09:00", to: "09:00" }, []],
        [{ from: "09:00", to: "10:00", days: [1, 1] }, []],
        [{ from: "09:00", to: "10:00", days: [8] }, ["days", 0]],
        [{ from: "25:00", to: "10:00" }, ["from"]]
      ] as const)
        expect(yield* Effect.flip(change({ marketing: hours }))).toMatchObject({
          _tag: "InvalidRequest",
          faults: [{ path: ["quiet_hours", "marketing", ...path] }]
        })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
