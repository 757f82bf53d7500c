/** What operators look at over all accounts, asked of the host's own handler (decisions.md §12). */
import { describe, expect, it } from "@effect/vitest"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import { at, items, sendBody, template } from "../../../../test/support/TestHost.ts"
import * as Handler from "../http/Handler.ts"

const phone = "34600001234"

/** A host with an account, an approved template and a consent; asked as its operator, or with its key. */
const host = Effect.gen(function* () {
  const { account, credentials, engine, handle, session } = yield* Handler.make()
  const ask = Effect.fnUntraced(function* (url: string, body?: unknown, method = "GET") {
    const bytes = Buffer.from(body === undefined ? "" : JSON.stringify(body))
    const headers = {
      ...credentials,
      "content-type": "application/json",
      "content-length": String(bytes.length)
    }
    const hasBody = body !== undefined
    const answer = yield* handle({ method, url, headers, hasBody, body: () => Effect.succeed(bytes) })
    const json: unknown = JSON.parse(String(answer.body))
    return { status: answer.status, json }
  })
  const { templates } = yield* engine.admin.templates.importAll(session.id, [template])
  const templateId = templates[0]?.templateId ?? 0
  yield* engine.admin.consents.record(account.id, [{ phone, source: "test" }])
  let sends = 0
  const send = Effect.fnUntraced(function* (reference: string) {
    sends += 1
    const body = { ...sendBody(templateId, phone), reference }
    const bytes = Buffer.from(JSON.stringify(body))
    const headers = {
      ...credentials,
      "content-type": "application/json",
      "content-length": String(bytes.length),
      "idempotency-key": `key-${sends}`
    }
    const url = "/api/v1/template-messages/send"
    const answer = yield* handle({
      method: "POST",
      url,
      headers,
      hasBody: true,
      body: () => Effect.succeed(bytes)
    })
    return String(at(JSON.parse(String(answer.body)), "job_id"))
  })
  return { account, ask, engine, send, session, templateId }
})

const provided = <A, E>(test: Effect.Effect<A, E, Effect.Effect.Context<typeof host>>) =>
  test.pipe(Effect.provide(TestEngine.layer))

describe("lists over accounts", () => {
  it.effect("are of sessions, webhooks and deliveries, each read with all that it is", () =>
    provided(
      Effect.gen(function* () {
        const { account, ask, engine, session } = yield* host
        const ids = Effect.fnUntraced(function* (url: string, name: string) {
          return items((yield* ask(`/admin/v1${url}`)).json, name).map((each) => at(each, "id"))
        })
        expect(yield* ids("/sessions", "sessions")).toEqual([session.id])
        expect(yield* ids("/sessions?down=true", "sessions")).toEqual([])
        const url = "https://receiver.example/hooks"
        const { endpoint } = yield* engine.admin.webhooks.create(account.id, { url })
        expect(yield* ids("/webhooks", "webhooks")).toEqual([endpoint.id])
        expect(yield* ids("/webhooks?failing=true", "webhooks")).toEqual([])
        expect(at((yield* ask(`/admin/v1/webhooks/${endpoint.id}`)).json, "webhook", "url")).toBe(url)
        const deliveryId = yield* engine.admin.webhooks.test(endpoint.id)
        const query = `webhook_id=${endpoint.id}&status=pending&type=webhook.test&after=1970-01-01T00:00:00Z`
        expect(yield* ids(`/deliveries?${query}`, "deliveries")).toEqual([deliveryId])
        const { json } = yield* ask(`/admin/v1/deliveries/${deliveryId}`)
        expect(at(json, "delivery")).toMatchObject({
          webhook_id: endpoint.id,
          status: "pending",
          attempts: []
        })
        expect(JSON.parse(String(at(json, "delivery", "payload")))).toMatchObject({ type: "webhook.test" })
        expect((yield* ask(`/admin/v1/deliveries/${endpoint.id}`)).status).toBe(404)
      })
    )
  )

  it.effect(
    "are of templates of any status, and a preview has the given values and the examples of others",
    () =>
      provided(
        Effect.gen(function* () {
          const { ask, engine, session, templateId } = yield* host
          yield* engine.admin.templates.importAll(session.id, [
            { ...template, name: "old", status: "PAUSED" }
          ])
          const listed = yield* ask(`/admin/v1/sessions/${session.id}/templates?status=paused`)
          expect(items(listed.json, "templates").map((each) => at(each, "name"))).toEqual(["old"])
          const preview = (variables: string) =>
            ask(`/admin/v1/templates/${templateId}/preview?variables=${encodeURIComponent(variables)}`)
          const { json } = yield* preview('{"body.1":"Ben"}')
          expect(at(json, "preview")).toMatchObject({
            header: "Order A-1",
            body: "Hello Ben, it arrives today.",
            missing: ["header.1", "body.2", "button.0.1"]
          })
          const refused = [yield* preview("[]"), yield* preview('{"body.9":"x"}')]
          expect(refused.map(({ status }) => status)).toEqual([422, 422])
        })
      )
  )
})

describe("GET /admin/v1/jobs", () => {
  it.effect("lists jobs of all accounts, each with its owner, its key, and by what it was asked for", () =>
    provided(
      Effect.gen(function* () {
        const { account, ask, engine, send, session, templateId } = yield* host
        yield* engine.admin.accounts.change(account.id, { plan: { minimumWaitMs: 0 } })
        const [first, second] = [yield* send("spring"), yield* send("autumn")]
        const { json } = yield* ask("/admin/v1/jobs")
        expect(items(json, "jobs").map((job) => at(job, "job_id"))).toEqual([second, first])
        expect(items(json, "jobs")[1]).toMatchObject({
          account_id: account.id,
          account: "Shop",
          session_id: session.id,
          session: "Sandbox",
          template_id: templateId,
          reference: "spring",
          idempotency_key: "key-1",
          failures: []
        })
        expect(json).toMatchObject({ next_cursor: null, looked_at: null })
        for (const [query, found] of [
          [`session_id=${session.id}&has=waiting`, [second, first]],
          [`template_id=${templateId}&reference=spring`, [first]],
          ["has=failed", []],
          ["stuck=true", []],
          [`key=${String(at(items(json, "jobs")[0], "key"))}&status=queued`, [second, first]]
        ] as const) {
          const { json } = yield* ask(`/admin/v1/jobs?${query}`)
          expect([query, items(json, "jobs").map((job) => at(job, "job_id"))]).toEqual([query, found])
        }
        expect(at((yield* ask(`/admin/v1/jobs/${first}`)).json, "job", "idempotency_key")).toBe("key-1")
      })
    )
  )

  it.effect("groups the jobs of a reference with their sums, and refuses other filters beside", () =>
    provided(
      Effect.gen(function* () {
        const { account, ask, engine, send } = yield* host
        yield* engine.admin.accounts.change(account.id, { plan: { minimumWaitMs: 0 } })
        for (const reference of ["spring", "autumn", "spring"]) yield* send(reference)
        const { json } = yield* ask("/admin/v1/jobs?group=reference&limit=1")
        expect(items(json, "references")).toMatchObject([
          {
            account_id: account.id,
            reference: "spring",
            jobs: 2,
            is_exact: true,
            recipients: 2,
            counts: { queued: 2 }
          }
        ])
        const next = yield* ask(
          `/admin/v1/jobs?group=reference&limit=1&cursor=${String(at(json, "next_cursor"))}`
        )
        expect(items(next.json, "references")).toMatchObject([{ reference: "autumn", jobs: 1 }])
        const refused = yield* ask("/admin/v1/jobs?group=reference&has=failed")
        expect([refused.status, items(refused.json, "errors").map((error) => at(error, "pointer"))]).toEqual([
          422,
          ["/query/has"]
        ])
      })
    )
  )
})
