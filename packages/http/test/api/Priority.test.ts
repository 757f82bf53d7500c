/** What goes first within a session (contract.md §13), a send's own pace and what stops it (§14), asked of the host's own handler. */

import { describe, expect, it } from "@effect/vitest"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import { at, sendBody, template } from "../../../../test/support/TestHost.ts"
import * as Handler from "../http/Handler.ts"

const phone = "34600001234"

const host = Effect.gen(function* () {
  const { account, credentials, engine, handle, session } = yield* Handler.make()
  yield* engine.admin.accounts.change(account.id, { plan: { minimumWaitMs: 0 } })
  const { templates } = yield* engine.admin.templates.importAll(session.id, [
    template,
    { ...template, name: "spring_sale", category: "MARKETING" }
  ])
  const idOf = (name: string) => templates.find((each) => each.name === name)?.templateId ?? 0
  yield* engine.admin.consents.record(account.id, [{ phone, source: "test" }])
  let asked = 0
  const ask = Effect.fnUntraced(function* (url: string, body?: unknown, key?: string) {
    asked += 1
    const bytes = Buffer.from(body === undefined ? "" : JSON.stringify(body))
    const headers = {
      ...credentials,
      "content-type": "application/json",
      "content-length": String(bytes.length),
      "idempotency-key": key ?? `key-${asked}`
    }
    const answer = yield* handle({
      method: body === undefined ? "GET" : "POST",
      url,
      headers,
      hasBody: body !== undefined,
      body: () => Effect.succeed(bytes)
    })
    const json: unknown = JSON.parse(String(answer.body))
    return { status: answer.status, json }
  })
  const send = (templateId: number, some: object = {}, key?: string) =>
    ask("/api/v1/template-messages/send", { ...sendBody(templateId, phone), ...some }, key)
  return { ask, order: idOf("order_confirmation"), sale: idOf("spring_sale"), send }
})

describe("the priority of a send", () => {
  it.effect("follows its template's category, or is what it asks for; job, story and overview tell it", () =>
    Effect.gen(function* () {
      const { ask, order, sale, send } = yield* host
      for (const [templateId, some, expected] of [
        [order, {}, "normal"],
        [sale, {}, "low"],
        [sale, { priority: "high" }, "high"]
      ] as const) {
        const sent = yield* send(templateId, some)
        expect(sent.status).toBe(202)
        const jobId = String(at(sent.json, "job_id"))
        const { json } = yield* ask(`/api/v1/template-messages/${jobId}`)
        expect(at(json, "job", "priority")).toBe(expected)
        const messageId = String(at(json, "job", "results", 0, "message_id"))
        const story = yield* ask(`/api/v1/messages/${messageId}/timeline`)
        expect(at(story.json, "message", "priority")).toBe(expected)
      }
      const { json } = yield* ask("/admin/v1/overview")
      expect(at(json, "overview", "waiting", "by_priority")).toEqual({ high: 1, normal: 1, low: 1 })
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is told by the estimate", () =>
    Effect.gen(function* () {
      const { ask, sale } = yield* host
      const body = sendBody(sale, phone)
      for (const [some, expected] of [
        [{}, "low"],
        [{ priority: "normal" }, "normal"]
      ] as const) {
        const { json } = yield* ask("/api/v1/template-messages/estimate", { ...body, ...some })
        expect(at(json, "estimate", "priority")).toBe(expected)
      }
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is refused where it is none, and covered by the Idempotency-Key", () =>
    Effect.gen(function* () {
      const { order, send } = yield* host
      const wrong = yield* send(order, { priority: "urgent" })
      expect(wrong.status).toBe(422)
      expect(at(wrong.json, "errors", 0)).toMatchObject({ pointer: "/priority", code: "invalid_value" })
      expect((yield* send(order, { priority: "low" }, "one")).status).toBe(202)
      expect((yield* send(order, { priority: "low" }, "one")).status).toBe(202)
      expect((yield* send(order, { priority: "high" }, "one")).status).toBe(409)
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a send's own pace, and what stops it", () => {
  const some = { pace: { per_minute: 30 }, stop_when: { failed_percent: 5, of_first: 200 } }

  it.effect("are told by its job, which is done by its own pace", () =>
    Effect.gen(function* () {
      const { ask, order, send } = yield* host
      const sent = yield* send(order, some)
      const { json } = yield* ask(`/api/v1/template-messages/${at(sent.json, "job_id")}`)
      expect(at(json, "job")).toMatchObject({ ...some, stop_when: { ...some.stop_when, over: "job" } })
      const over = { ...some.stop_when, over: "reference" }
      const shared = yield* send(order, { reference: "spring", stop_when: over })
      const found = yield* ask(`/api/v1/template-messages/${at(shared.json, "job_id")}`)
      expect(at(found.json, "job", "stop_when")).toEqual(over)
      expect(at(json, "job", "expected_completion_at")).toBe(
        new Date(Date.parse(String(at(json, "job", "created_at"))) + 2000).toISOString()
      )
      const plain = yield* send(order)
      const other = yield* ask(`/api/v1/template-messages/${at(plain.json, "job_id")}`)
      expect(at(other.json, "job")).toMatchObject({ pace: null, stop_when: null })
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("are refused where they are none, by their fields, and covered by the Idempotency-Key", () =>
    Effect.gen(function* () {
      const { ask, order, send } = yield* host
      for (const [wrong, pointer] of [
        [{ pace: { per_minute: 0 } }, "/pace/per_minute"],
        [{ pace: { per_minute: 1.5 } }, "/pace/per_minute"],
        [{ pace: 5 }, "/pace"],
        [{ pace: { per_hour: 5 } }, "/pace/per_minute"],
        [{ stop_when: { failed_percent: 5 } }, "/stop_when/of_first"],
        [{ stop_when: { failed_percent: 101, of_first: 200 } }, "/stop_when/failed_percent"],
        [{ stop_when: { failed_percent: 0, of_first: 200 } }, "/stop_when/failed_percent"],
        [{ stop_when: { failed_percent: 5, of_first: 0 } }, "/stop_when/of_first"],
        [{ stop_when: { ...some.stop_when, over: "session" } }, "/stop_when/over"],
        [{ stop_when: { ...some.stop_when, over: "reference" } }, "/stop_when/over"]
      ] as const) {
        const refused = yield* send(order, wrong)
        expect(refused.status).toBe(422)
        const { json, status } = yield* ask("/api/v1/template-messages/estimate", {
          ...sendBody(order, phone),
          ...wrong
        })
        expect(status).toBe(422)
        for (const each of [refused.json, json]) expect(JSON.stringify(at(each, "errors"))).toContain(pointer)
      }
      expect((yield* send(order, some, "one")).status).toBe(202)
      expect((yield* send(order, some, "one")).status).toBe(202)
      for (const other of [{}, { ...some, pace: { per_minute: 31 } }, { pace: some.pace }])
        expect((yield* send(order, other, "one")).status).toBe(409)
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
