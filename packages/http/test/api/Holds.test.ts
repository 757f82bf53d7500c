/** A job that is held and goes on (contract.md §14 "Time"), asked of the host's own handler. */

import { describe, expect, it } from "@effect/vitest"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import { at, sendBody, template } from "../../../../test/support/TestHost.ts"
import * as Handler from "../http/Handler.ts"

const phone = "34600001234"

describe("a job that its client holds", () => {
  it.effect(
    "is sent once it goes on, and says meanwhile whom it waits for; one that has ended is not held",
    () =>
      Effect.gen(function* () {
        const { account, credentials, engine, handle, session } = yield* Handler.make()
        const { templates } = yield* engine.admin.templates.importAll(session.id, [template])
        yield* engine.admin.consents.record(account.id, [{ phone, source: "test" }])
        const ask = Effect.fnUntraced(function* (method: string, url: string, body?: unknown) {
          const bytes = Buffer.from(body === undefined ? "" : JSON.stringify(body))
          const headers = {
            ...credentials,
            "content-type": "application/json",
            "content-length": String(bytes.length),
            "idempotency-key": "one"
          }
          const hasBody = body !== undefined
          const answer = yield* handle({ method, url, headers, hasBody, body: () => Effect.succeed(bytes) })
          const json: unknown = JSON.parse(String(answer.body))
          return { status: answer.status, json }
        })
        const body = sendBody(templates[0]?.templateId ?? 0, phone)
        const sent = yield* ask("POST", "/api/v1/template-messages/send", body)
        const job = `/api/v1/template-messages/${String(at(sent.json, "job_id"))}`
        const ofOperator = `/admin/v1/jobs/${String(at(sent.json, "job_id"))}`

        const held = yield* ask("POST", `${job}/pause`)
        expect([held.status, at(held.json, "job", "status")]).toEqual([200, "paused"])
        yield* engine.drain
        const waiting = yield* ask("GET", job)
        expect(at(waiting.json, "job")).toMatchObject({
          status: "paused",
          pause_reason: "client",
          counts: { queued: 1 },
          waiting_for: { limiter: "client", until: null }
        })
        const stuck = yield* ask("GET", "/admin/v1/jobs?stuck=true")
        expect(at(stuck.json, "jobs")).toEqual([])

        expect((yield* ask("POST", `${ofOperator}/resume`)).status).toBe(200)
        yield* engine.drain
        expect(at((yield* ask("GET", job)).json, "job", "status")).toBe("completed")
        for (const url of [`${job}/pause`, `${job}/resume`, `${ofOperator}/pause`])
          expect(yield* ask("POST", url)).toMatchObject({ status: 409, json: { code: "job_ended" } })
        expect((yield* ask("POST", `${job.slice(0, -3)}fff/pause`)).status).toBe(404)
      }).pipe(Effect.provide(TestEngine.layer))
  )
})
