/** Sends at a time, with an expiry, and within hours (contract.md §14 "Time"): what becomes of them as time goes by. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { waitOfTurn } from "../../src/engine/JobAccess.ts"
import type { TemplateMessage } from "../../src/schema/Requests.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

const spain = "34600001234"
const page = { limit: 250, after: null }
const variables = { "body.1": "Ana", "body.2": "tomorrow" }

const layer = Engine.layer().pipe(
  Layer.provideMerge(Memory.layer),
  Layer.provideMerge(RecordingTransport.layer),
  Layer.provide(Sender.layer(Sandbox.make({ latencyMs: 0, receiptDelayMs: 0 }))),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([]))
)

const at = (text: string) => Time.parse(text) ?? Time.at(Number.NaN)

/** Goes to a time and lets everything happen that is due by then. */
const goTo = Effect.fnUntraced(function* (text: string) {
  const engine = yield* Engine.Engine
  yield* TestClock.setTime(at(text))
  yield* engine.drain
})

const begin = Effect.fnUntraced(function* (text: string, phones: ReadonlyArray<string> = [spain]) {
  const engine = yield* Engine.Engine
  yield* TestClock.setTime(at(text))
  const prepared = yield* prepare(engine, phones)
  let keys = 0
  const send = (request: Partial<TemplateMessage>, phones: ReadonlyArray<string> = [spain]) =>
    engine.send(prepared.caller, {
      idempotencyKey: `order-${keys++}`,
      request: {
        templateId: prepared.templateId,
        recipients: phones.map((phone) => ({ phone, variables })),
        ...request
      }
    })
  const job = (jobId: string) => engine.job(prepared.caller, jobId, { page })
  const became = (jobId: string) =>
    Effect.map(job(jobId), ({ job: { status }, results }) => ({
      status,
      results: results.items.map(({ failure, nextAt, status, updatedAt }) =>
        status === "skipped"
          ? failure?.code
          : status === "queued"
            ? `queued until ${Time.formatOrNull(nextAt)}`
            : `${status} ${Time.format(updatedAt)}`
      )
    }))
  return { ...prepared, engine, send, job, became }
})

describe("a send at a time", () => {
  it.effect("goes at that time and not before, and what was sent meanwhile is not held up", () =>
    Effect.gen(function* () {
      const { became, engine, job, send } = yield* begin("2026-12-01T12:00:00Z")
      const { jobId } = yield* send({ sendAt: new Date("2026-12-24T08:00:00Z") })
      const { jobId: atOnce } = yield* send({})
      yield* goTo("2026-12-24T07:59:59.999Z")
      expect(yield* became(jobId)).toEqual({
        status: "queued",
        results: ["queued until 2026-12-24T08:00:00.000Z"]
      })
      const until = at("2026-12-24T08:00:00Z")
      expect((yield* job(jobId)).waitingFor).toEqual({ limiter: "schedule", until })
      expect((yield* engine.admin.jobs.list({ page, isStuck: true })).items).toEqual([])
      expect((yield* became(atOnce)).status).toBe("completed")
      yield* goTo("2026-12-24T08:00:00Z")
      expect(yield* became(jobId)).toEqual({
        status: "completed",
        results: ["delivered 2026-12-24T08:00:00.000Z"]
      })
    }).pipe(Effect.provide(layer))
  )

  it.effect("costs what it costs then: a card may have come into force since, and the estimate stays", () =>
    Effect.gen(function* () {
      const { engine, job, send } = yield* begin("2026-12-01T12:00:00Z")
      const card = (effectiveFrom: string, price: string) =>
        engine.admin.rateCards.add({
          currency: "EUR",
          effectiveFrom: at(effectiveFrom),
          prices: [{ category: "utility", market: "34", price, prefixes: null }]
        })
      yield* card("2026-11-01T00:00:00Z", "0.0500")
      yield* card("2026-12-10T00:00:00Z", "0.0900")
      const { jobId } = yield* send({ sendAt: new Date("2026-12-24T08:00:00Z") })
      const { jobId: atOnce } = yield* send({})
      yield* goTo("2026-12-24T08:00:00Z")
      const costs = Effect.fnUntraced(function* (jobId: string) {
        const { actualCost, job: found, results } = yield* job(jobId)
        return [found.estimatedCost, actualCost, results.items.map(({ price }) => price)]
      })
      expect(yield* costs(atOnce)).toEqual(["0.0500", "0.0500", ["0.0500"]])
      expect(yield* costs(jobId)).toEqual(["0.0500", "0.0900", ["0.0900"]])
    }).pipe(Effect.provide(layer))
  )

  it.effect("may say it as a local time, at the recipient's place, and for a recipient alone", () =>
    Effect.gen(function* () {
      const { became, job, send } = yield* begin("2026-12-01T12:00:00Z", [
        spain,
        "34600001235",
        "34600001236"
      ])
      const moment = { local: "2026-12-24T09:00", timeZone: "recipient" }
      const { jobId } = yield* send({
        sendAt: moment,
        recipients: [
          { phone: spain, variables },
          { phone: "34600001235", variables, timeZone: "Europe/Madrid" },
          { phone: "34600001236", variables, sendAt: new Date("2026-12-02T12:00:00Z") }
        ]
      })
      expect((yield* became(jobId)).results).toEqual([
        "queued until 2026-12-24T09:00:00.000Z",
        "queued until 2026-12-24T08:00:00.000Z",
        "queued until 2026-12-02T12:00:00.000Z"
      ])
      const { timing } = (yield* job(jobId)).job
      expect(timing).toMatchObject({ sendAt: moment, startsAt: at("2026-12-02T12:00:00Z") })
    }).pipe(Effect.provide(layer))
  )

  it.effect("is sent once if it is asked for again under its key, whose body covers its times", () =>
    Effect.gen(function* () {
      const { caller, engine, templateId } = yield* begin("2026-12-01T12:00:00Z")
      const send = (sendAt: string) =>
        engine.send(caller, {
          idempotencyKey: "reminder",
          request: { templateId, sendAt: new Date(sendAt), recipients: [{ phone: spain, variables }] }
        })
      const first = yield* send("2026-12-24T08:00:00Z")
      expect(yield* send("2026-12-24T08:00:00Z")).toMatchObject({ jobId: first.jobId, replayed: true })
      expect(yield* Effect.flip(send("2026-12-24T09:00:00Z"))).toMatchObject({ _tag: "IdempotencyConflict" })
    }).pipe(Effect.provide(layer))
  )

  it.effect("is canceled while it waits, and refused where consent is gone by then", () =>
    Effect.gen(function* () {
      const { accountId, became, caller, engine, send } = yield* begin("2026-12-01T12:00:00Z")
      const { jobId: canceled } = yield* send({ sendAt: new Date("2026-12-24T08:00:00Z") })
      const { jobId } = yield* send({ sendAt: new Date("2026-12-24T08:00:00Z") })
      yield* engine.cancel(caller, canceled)
      yield* TestClock.setTime(at("2026-12-02T12:00:00Z"))
      yield* engine.admin.consents.record(accountId, [{ phone: spain, source: "test", status: "revoked" }])
      yield* goTo("2026-12-24T08:00:00Z")
      expect(yield* became(canceled)).toMatchObject({ status: "canceled" })
      expect(yield* became(jobId)).toEqual({ status: "completed", results: ["consent_required"] })
    }).pipe(Effect.provide(layer))
  )
})

describe("the end of a send", () => {
  it.effect("is told by its estimate and its job: the first time, and the last by the pace", () =>
    Effect.gen(function* () {
      const { caller, engine, job, send, templateId } = yield* begin("2026-12-01T12:00:00Z", [
        spain,
        "34600001235"
      ])
      const request = {
        templateId,
        sendAt: { local: "2026-12-24T09:00", timeZone: "recipient" },
        pace: { perMinute: 1 },
        recipients: [
          { phone: spain, variables },
          { phone: "34600001235", variables, timeZone: "Europe/Madrid" }
        ]
      }
      const startsAt = at("2026-12-24T08:00:00Z")
      const end = { endsAt: at("2026-12-24T09:01:00Z"), limitedBy: "schedule" }
      expect(yield* engine.estimate(caller, request)).toMatchObject({ startsAt, ...end })
      const { jobId } = yield* send(request)
      expect(yield* job(jobId)).toMatchObject({ job: { timing: { startsAt } }, ...end })
      yield* goTo("2026-12-24T08:00:00Z")
      expect(yield* job(jobId)).toMatchObject(end)
      yield* goTo("2026-12-24T09:00:00Z")
      expect(yield* job(jobId)).toMatchObject({ endsAt: null, limitedBy: null, job: { status: "completed" } })
      const atOnce = { ...request, sendAt: undefined, pace: undefined }
      const now = at("2026-12-24T09:00:00Z")
      expect(yield* engine.estimate(caller, atOnce)).toMatchObject({
        startsAt: now,
        endsAt: null,
        limitedBy: null
      })
    }).pipe(Effect.provide(layer))
  )
})

describe("a send that expires", () => {
  it.effect("is not sent after that", () =>
    Effect.gen(function* () {
      const { became, engine, send } = yield* begin("2026-12-01T12:00:00Z")
      const { jobId } = yield* send({
        sendAt: new Date("2026-12-24T08:00:00Z"),
        expiresAt: new Date("2026-12-24T09:00:00Z")
      })
      yield* TestClock.setTime(at("2026-12-24T09:00:00Z"))
      yield* engine.drain
      expect(yield* became(jobId)).toEqual({ status: "completed", results: ["expired"] })
    }).pipe(Effect.provide(layer))
  )
})

describe("a change of a job's times", () => {
  it.effect("moves those whom nobody attempted, and keeps what it does not name", () =>
    Effect.gen(function* () {
      const { became, caller, engine, send } = yield* begin("2026-12-01T12:00:00Z", [spain, "34600001235"])
      const { jobId } = yield* send({
        sendAt: new Date("2026-12-24T08:00:00Z"),
        recipients: [
          { phone: spain, variables },
          { phone: "34600001235", variables, sendAt: new Date("2026-12-20T08:00:00Z") }
        ]
      })
      const hours = { from: "09:00", to: "20:00" }
      yield* engine.change(caller, jobId, {
        send_at: { local: "2026-12-22T07:00", time_zone: "recipient" },
        hours
      })
      expect((yield* became(jobId)).results).toEqual([
        "queued until 2026-12-22T09:00:00.000Z",
        "queued until 2026-12-20T09:00:00.000Z"
      ])
      const changed = yield* engine.admin.jobs.change(jobId, {
        hours: null,
        expires_at: "2026-12-22T07:30:00Z"
      })
      expect(changed.timing).toEqual({
        sendAt: { local: "2026-12-22T07:00", timeZone: "recipient" },
        expiresAt: at("2026-12-22T07:30:00Z"),
        hours: null,
        startsAt: at("2026-12-20T08:00:00Z"),
        expiring: at("2026-12-22T07:30:00Z")
      })
      yield* goTo("2026-12-20T08:00:00Z")
      yield* engine.change(caller, jobId, { send_at: "2026-12-21T08:00:00Z" })
      expect((yield* became(jobId)).results).toEqual([
        "queued until 2026-12-21T08:00:00.000Z",
        "delivered 2026-12-20T08:00:00.000Z"
      ])
      yield* goTo("2026-12-21T08:00:00Z")
      const refused = yield* Effect.flip(engine.change(caller, jobId, { hours }))
      expect(refused._tag).toBe("JobEnded")
    }).pipe(Effect.provide(layer))
  )

  it.effect("is refused by its hours where the session's leave nothing of them", () =>
    Effect.gen(function* () {
      const { caller, engine, send, templateId } = yield* begin("2026-12-01T12:00:00Z")
      const recipients = [{ phone: spain, variables, timeZone: "Europe/Madrid" }]
      const { jobId } = yield* send({ sendAt: new Date("2026-12-02T08:00:00Z"), recipients })
      const quietHours = { utility: { from: "18:00", to: "20:00" } }
      yield* engine.admin.sessions.change(caller.session.id, { quietHours })
      const hours = { from: "11:00", to: "13:00" }
      const refused = { _tag: "InvalidRequest", faults: [{ path: ["hours"] }] }
      const given = { hours, expires_at: "2026-12-03T08:00:00Z" }
      expect(yield* Effect.flip(engine.change(caller, jobId, given))).toMatchObject(refused)
      const later = yield* engine.callerOf(caller.session.id)
      const estimate = engine.estimate(later, { templateId, hours, recipients })
      expect(yield* Effect.flip(estimate)).toMatchObject(refused)
    }).pipe(Effect.provide(layer))
  )

  it.effect("gives a job a time that had none, and is refused by the field that is wrong", () =>
    Effect.gen(function* () {
      const { became, caller, engine, send } = yield* begin("2026-12-01T12:00:00Z")
      const { jobId } = yield* send({})
      yield* engine.change(caller, jobId, {
        send_at: "2026-12-02T08:00:00Z",
        expires_at: "2026-12-02T09:00:00Z"
      })
      for (const [given, path] of [
        [{ send_at: "2026-12-02T09:00:00Z" }, ["send_at"]],
        [{ expires_at: "2026-12-02T08:00:00Z" }, ["expires_at"]],
        [{ expires_at: "2028-12-02T08:00:00Z" }, ["expires_at"]],
        [{ hours: { from: "09:00", to: "09:00" } }, ["hours"]]
      ] as const)
        expect(yield* Effect.flip(engine.change(caller, jobId, given))).toMatchObject({
          _tag: "InvalidRequest",
          faults: [{ path }]
        })
      yield* goTo("2026-12-02T07:59:59Z")
      expect((yield* became(jobId)).results).toEqual(["queued until 2026-12-02T08:00:00.000Z"])
      yield* goTo("2026-12-02T08:00:00Z")
      expect((yield* became(jobId)).results).toEqual(["delivered 2026-12-02T08:00:00.000Z"])
    }).pipe(Effect.provide(layer))
  )
})

describe("a send that expires while something keeps it", () => {
  it.effect("ends at that time, though its client holds it or its session is down", () =>
    Effect.gen(function* () {
      const { caller, engine, send } = yield* begin("2026-12-01T12:00:00Z")
      const expiresAt = new Date("2026-12-01T13:00:00Z")
      const { jobId: held } = yield* send({ expiresAt })
      yield* engine.pause(caller, held)
      const { jobId: down } = yield* send({ expiresAt })
      yield* engine.admin.sessions.disconnect(caller.session.id)
      yield* goTo("2026-12-01T12:59:59.999Z")
      const found = (id: string) => engine.admin.jobs.find(id, { page })
      expect((yield* found(held)).job.status).toBe("paused")
      expect(yield* engine.nextDue).toBe(at("2026-12-01T13:00:00Z"))
      yield* goTo("2026-12-01T13:00:00Z")
      for (const jobId of [held, down])
        expect((yield* found(jobId)).results.items).toMatchObject([
          { status: "skipped", failure: { code: "expired" } }
        ])
      expect(yield* engine.nextDue).toBeNull()
    }).pipe(Effect.provide(layer))
  )
})

describe("a send within hours", () => {
  const hours = { from: "09:00", to: "20:00" }

  it.effect("waits for them at each recipient's place", () =>
    Effect.gen(function* () {
      const { became, send } = yield* begin("2026-12-01T20:00:00Z", [spain, "81900001234", "34600001236"])
      const recipients = [
        { phone: spain, variables },
        { phone: "81900001234", variables },
        { phone: "34600001236", variables, timeZone: "America/New_York" }
      ]
      const { jobId } = yield* send({ hours, recipients })
      yield* goTo("2026-12-01T20:00:01Z")
      expect(yield* became(jobId)).toEqual({
        status: "processing",
        results: [
          "queued until 2026-12-02T09:00:00.000Z",
          "queued until 2026-12-02T00:00:00.000Z",
          expect.stringMatching(/^delivered 2026-12-01T20/)
        ]
      })
      yield* goTo("2026-12-02T00:00:00Z")
      yield* goTo("2026-12-02T09:00:00Z")
      expect((yield* became(jobId)).results.slice(0, 2)).toEqual([
        "delivered 2026-12-02T09:00:00.000Z",
        "delivered 2026-12-02T00:00:00.000Z"
      ])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is skipped outside of them where it says so", () =>
    Effect.gen(function* () {
      const { became, send } = yield* begin("2026-12-01T20:00:00Z")
      const { jobId } = yield* send({ hours: { ...hours, outside: "skip" } })
      yield* goTo("2026-12-01T20:00:01Z")
      expect(yield* became(jobId)).toEqual({ status: "completed", results: ["outside_hours"] })
    }).pipe(Effect.provide(layer))
  )

  it.effect("is put off if it runs into the night, and its attempts are not counted", () =>
    Effect.gen(function* () {
      const { became, engine, job, send } = yield* begin("2026-12-01T18:59:00Z")
      const { jobId } = yield* send({ hours })
      yield* TestClock.setTime(at("2026-12-01T19:00:00Z"))
      yield* engine.drain
      expect(yield* became(jobId)).toEqual({
        status: "queued",
        results: ["queued until 2026-12-02T09:00:00.000Z"]
      })
      const found = yield* job(jobId)
      expect(found.results.items[0]?.attempts).toBe(0)
      expect(found.waitingFor).toEqual({ limiter: "hours", until: at("2026-12-02T09:00:00Z") })
      yield* goTo("2026-12-02T09:00:00Z")
      expect((yield* became(jobId)).results).toEqual(["delivered 2026-12-02T09:00:00.000Z"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("says of another attempt that its hours put off that it waits for them", () =>
    Effect.gen(function* () {
      const { job, send } = yield* begin("2026-12-01T18:59:00Z")
      const { jobId } = yield* send({ hours })
      const { job: found, results } = yield* job(jobId)
      const waitsFor = (nextAt: Time.Instant) => {
        const tried = results.items.map((each) => ({
          ...each,
          status: "sending" as const,
          attempts: 1,
          nextAt
        }))
        return waitOfTurn(found, null, tried, at("2026-12-01T19:10:00Z"))
      }
      const until = at("2026-12-02T09:00:00Z")
      expect(waitsFor(until)).toEqual({ limiter: "hours", until })
      expect(waitsFor(at("2026-12-02T09:05:00Z"))).toBeNull()
    }).pipe(Effect.provide(layer))
  )

  it.effect("expires where they come too late", () =>
    Effect.gen(function* () {
      const { became, send } = yield* begin("2026-12-01T20:00:00Z")
      const { jobId } = yield* send({ hours, expiresAt: new Date("2026-12-02T08:00:00Z") })
      yield* goTo("2026-12-01T20:00:01Z")
      expect(yield* became(jobId)).toEqual({ status: "completed", results: ["expired"] })
    }).pipe(Effect.provide(layer))
  )
})

describe("a time that cannot be", () => {
  const refusalOf = (request: object) =>
    Effect.gen(function* () {
      const { caller, engine, templateId } = yield* begin("2026-12-01T12:00:00Z")
      const body = { templateId, recipients: [{ phone: spain, variables }], ...request }
      const refused = yield* Effect.flip(engine.estimate(caller, body as TemplateMessage))
      return refused._tag === "InvalidRequest" ? refused.faults : []
    }).pipe(Effect.provide(layer))
  const faultsOf = (request: object) =>
    Effect.map(refusalOf(request), (faults) => faults.map(({ path }) => `/${path.join("/")}`))

  it.effect("is told what a recipient's zone would be", () =>
    Effect.map(
      refusalOf({ recipients: [{ phone: spain, variables, timeZone: "Europe/Atlantis" }] }),
      (faults) => expect(faults[0]?.message).toContain('the name of a time zone, such as "Europe/Madrid"')
    )
  )

  it.effect.each([
    ["/send_at/time_zone", { sendAt: { local: "2026-12-24T09:00", timeZone: "Europe/Atlantis" } }],
    ["/send_at/time_zone", { sendAt: { local: "2026-12-24T09:00" } }],
    ["/send_at/local", { sendAt: { local: "2026-02-30T09:00", timeZone: "Europe/Madrid" } }],
    ["/send_at/zone", { sendAt: { local: "2026-12-24T09:00", timeZone: "Europe/Madrid", zone: "UTC" } }],
    ["/send_at", { sendAt: "tomorrow" }],
    ["/send_at", { sendAt: new Date(Number.NaN) }],
    ["/send_at", { sendAt: new Date("2027-12-03T12:00:00Z") }],
    ["/expires_at", { expiresAt: new Date("2026-12-01T12:00:00Z") }],
    [
      "/expires_at",
      { sendAt: new Date("2026-12-24T08:00:00Z"), expiresAt: new Date("2026-12-24T08:00:00Z") }
    ],
    ["/hours", { hours: { from: "09:00", to: "09:00" } }],
    ["/hours/to", { hours: { from: "09:00", to: "24:30" } }],
    ["/hours/days/0", { hours: { from: "09:00", to: "10:00", days: [0] } }],
    ["/hours/til", { hours: { from: "09:00", to: "10:00", til: "11:00" } }],
    ["/recipients/0/time_zone", { recipients: [{ phone: spain, variables, timeZone: "Madrid" }] }],
    [
      "/recipients/0/time_zone",
      { recipients: [{ phone: "12025550123", variables }], hours: { from: "09:00", to: "11:00" } }
    ],
    [
      "/recipients/0/send_at",
      {
        recipients: [{ phone: spain, variables, sendAt: new Date("2026-12-24T08:00:00Z") }],
        expiresAt: new Date("2026-12-20T08:00:00Z")
      }
    ]
  ] as const)("is refused by its field: %s", ([field, request]) =>
    Effect.map(faultsOf(request), (faults) => expect(faults).toEqual([field]))
  )
})

describe("a retry", () => {
  it.effect("names recipients by their numbers or their user ids", () =>
    Effect.gen(function* () {
      const { engine, send } = yield* begin("2026-12-01T12:00:00Z")
      const { jobId } = yield* send({})
      const counted = yield* engine.admin.jobs.retry(jobId, { phones: ["US.1349", spain], dryRun: true })
      expect(counted.counts.failed).toBe(0)
      const refused = yield* Effect.flip(engine.admin.jobs.retry(jobId, { phones: ["1349"] }))
      expect(refused).toMatchObject({ faults: [{ path: ["phones", 0] }] })
    }).pipe(Effect.provide(layer))
  )
})
