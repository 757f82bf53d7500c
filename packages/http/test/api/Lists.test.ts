/** What operators look at over all accounts, asked of the host's own handler (contract.md §12). */

import { describe, expect, it } from "@effect/vitest"
import type { Admin } from "@sendwright/core"
import { Instant } from "@sendwright/core"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
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
      "idempotency-key": `key-${sends}`,
      "x-request-id": `request-${sends}`
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

  it.effect("take an id in upper case for the same id, in a filter as in a path", () =>
    provided(
      Effect.gen(function* () {
        const { account, ask, engine, send, session } = yield* host
        const { endpoint } = yield* engine.admin.webhooks.create(account.id, {
          url: "https://receiver.example"
        })
        const jobId = yield* send("spring")
        yield* engine.drain
        const found: Array<unknown> = []
        for (const url of [
          `/jobs?account_id=${account.id}&session_id=${session.id}`,
          `/jobs/${jobId}`,
          `/deliveries?webhook_id=${endpoint.id}&about=${jobId}`,
          `/templates?session_id=${session.id}`,
          `/events?account_id=${account.id}`,
          `/events?job_id=${jobId}`,
          `/accounts/${account.id}/sessions`
        ]) {
          const asIs = yield* ask(`/admin/v1${url}`)
          const isId = /[0-9a-f]{8}-[0-9a-f-]{27}/g
          expect([url, yield* ask(`/admin/v1${url.replaceAll(isId, (text) => text.toUpperCase())}`)]).toEqual(
            [url, asIs]
          )
          found.push(asIs.status)
        }
        expect(new Set(found)).toEqual(new Set([200]))
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
          request_id: "request-1",
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
        expect(at((yield* ask(`/admin/v1/jobs/${first}`)).json, "job")).toMatchObject({
          idempotency_key: "key-1",
          request_id: "request-1"
        })
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

describe("GET /admin/v1/events", () => {
  it.effect("tells over all accounts what has its time, newest first, page by page and by every filter", () =>
    provided(
      Effect.gen(function* () {
        const { account, ask, engine, send, session } = yield* host
        const jobId = yield* send("spring")
        yield* TestClock.adjust("1 second")
        yield* engine.admin.consents.record(account.id, [{ phone, status: "revoked", source: "by letter" }])
        yield* TestClock.adjust("1 second")
        yield* ask(`/admin/v1/sessions/${session.id}/disconnect`, undefined, "POST")
        const events = (query = "") =>
          Effect.map(ask(`/admin/v1/events?${query}`), ({ json }) => items(json, "events"))
        const all = yield* events()
        const types = all.map((each) => at(each, "type"))
        expect(new Set(types)).toEqual(
          new Set(["session.disconnected", "consent.revoked", "job.created", "audit.recorded"])
        )
        const times = all.map((each) => String(at(each, "at")))
        expect(times).toEqual(times.toSorted().reverse())
        expect(all.find((each) => at(each, "type") === "job.created")).toMatchObject({
          account_id: account.id,
          session_id: session.id,
          job_id: jobId,
          message_id: null,
          sequence: null,
          data: { reference: "spring", recipients: 1, request_id: "request-1" }
        })
        expect(all.find((each) => at(each, "type") === "consent.revoked")).toMatchObject({
          account_id: account.id,
          data: { phone, source: "by letter", purpose: "all" }
        })
        const found: Array<unknown> = []
        for (let cursor: unknown = ""; typeof cursor === "string"; ) {
          const asked = cursor === "" ? "" : `&cursor=${cursor}`
          const { json } = yield* ask(`/admin/v1/events?limit=1${asked}`)
          found.push(...items(json, "events"))
          cursor = at(json, "next_cursor")
        }
        expect(found).toEqual(all)
        for (const [query, expected] of [
          ["type=session.*", ["session.disconnected"]],
          ["type=consent.revoked", ["consent.revoked"]],
          [`session_id=${session.id}`, ["session.disconnected", "job.created"]],
          [`account_id=${account.id}`, ["session.disconnected", "consent.revoked", "job.created"]],
          ["type=message.*", []],
          [
            `account_id=${account.id}&after=1970-01-01T00:00:01Z&before=1970-01-01T00:00:02Z`,
            ["consent.revoked"]
          ]
        ] as const) {
          const some = (yield* events(query)).map((each) => at(each, "type"))
          expect([query, some]).toEqual([query, expected])
        }
        const statuses = yield* Effect.forEach(
          [
            "type=nothing",
            "after=2026-01-02T00:00:00Z&before=2026-01-01T00:00:00Z",
            `account_id=${session.id}`,
            `job_id=${session.id}`
          ],
          (query) => Effect.map(ask(`/admin/v1/events?${query}`), ({ status }) => status)
        )
        expect(statuses).toEqual([422, 422, 404, 404])
      })
    )
  )

  it.live("tells each refusal of a long import once, and ends", () =>
    provided(
      Effect.gen(function* () {
        const { account, ask, engine } = yield* host
        const refusals = Array.from({ length: 2500 }, (_, place) => ({
          ...{ phone: String(34_610_000_000 + place), status: "revoked" as const, source: "a list" }
        }))
        yield* engine.admin.consents.record(account.id, refusals)
        const phones: Array<unknown> = []
        let cursor: unknown = ""
        for (let page = 0; typeof cursor === "string" && page < 30; page += 1) {
          const asked = cursor === "" ? "" : `&cursor=${cursor}`
          const { json } = yield* ask(`/admin/v1/events?type=consent.revoked&limit=100${asked}`)
          phones.push(...items(json, "events").map((each) => at(each, "data", "phone")))
          cursor = at(json, "next_cursor")
        }
        expect([phones.length, new Set(phones).size, cursor]).toEqual([2500, 2500, null])
      })
    )
  )

  it.effect(
    "tells of one job each step of its recipients, and its end; the export tells the same of all",
    () =>
      provided(
        Effect.gen(function* () {
          const { account, ask, engine, send, session } = yield* host
          const jobId = yield* send("spring")
          const { sendDirect } = engine
          const caller = yield* engine.callerOf(session.id)
          yield* sendDirect(caller, {
            idempotencyKey: undefined,
            requestId: undefined,
            request: { to: phone, message: "Hi" }
          })
          yield* engine.drain
          const { json } = yield* ask(`/admin/v1/events?job_id=${jobId}`)
          const ofJob = items(json, "events")
          const types = ofJob.map((each) => String(at(each, "type")))
          expect(types.toSorted()).toEqual([
            "job.completed",
            "job.created",
            "recipient.attempted",
            "recipient.delivered",
            "recipient.sent"
          ])
          expect(ofJob.find((each) => at(each, "type") === "recipient.delivered")).toMatchObject({
            job_id: jobId,
            sequence: expect.any(Number),
            data: { phone, attempts: 1, error: null }
          })
          expect(
            items((yield* ask(`/admin/v1/events?job_id=${jobId}&type=job.*`)).json, "events")
          ).toHaveLength(2)
          const exported = (filter: Admin.EventsFilter) =>
            Effect.flatMap(engine.admin.events.export(filter), (found) =>
              Effect.map(Stream.runCollect(found), (pages) => [...pages].flat())
            )
          const all = yield* exported({ accountId: account.id })
          expect(
            all
              .filter((each) => each.jobId === jobId)
              .map(({ type }) => type)
              .toSorted()
          ).toEqual(types.toSorted())
          expect(all.filter(({ type }) => type === "message.delivered")).toHaveLength(1)
          expect(yield* exported({ jobId, type: "recipient.attempted" })).toMatchObject([{ jobId }])
          expect(yield* exported({ after: Instant.at(1e12) })).toEqual([])
          const results = yield* Effect.flatMap(engine.admin.exports.results({}), Stream.runCollect)
          expect([...results].flat().map(({ job }) => job.content.kind)).toEqual(["template", "direct"])
          const direct = yield* Effect.flatMap(
            engine.admin.exports.results({ kind: "direct" }),
            Stream.runCollect
          )
          expect([...direct].flat()).toHaveLength(1)
        })
      )
  )
})

describe("GET /admin/v1/accounts/{id}/usage", () => {
  it.effect("sums recipients and money by day, template, market and session, exactly", () =>
    provided(
      Effect.gen(function* () {
        const { account, ask, engine, send, session, templateId } = yield* host
        yield* engine.admin.accounts.change(account.id, { currency: "EUR", plan: { minimumWaitMs: 0 } })
        const price = { market: "34", prefixes: null, category: "utility", price: "0.0123" } as const
        yield* engine.admin.rateCards.add({ currency: "EUR", effectiveFrom: Instant.at(0), prices: [price] })
        for (const reference of ["one", "two", "three"]) yield* send(reference)
        yield* engine.drain
        yield* TestClock.adjust("1 day")
        yield* send("four")
        const usage = (query: string) =>
          Effect.map(ask(`/admin/v1/accounts/${account.id}/usage?${query}`), ({ json }) => at(json, "usage"))
        const none = { day: null, template_id: null, template: null, market: null, session_id: null }
        const days = yield* usage("by=day")
        expect(days).toMatchObject({
          by: "day",
          from: "1970-01-01T00:00:00.000Z",
          whole_since: "1970-01-01T00:00:00.000Z",
          groups: [
            { ...none, day: "1970-01-02", currency: "EUR", recipients: 1, estimated: "0.0123", actual: "0" },
            { ...none, day: "1970-01-01", recipients: 3, estimated: "0.0369", actual: "0.0369" }
          ]
        })
        expect(at(days, "groups", 0, "counts")).toMatchObject({ waiting: 1, delivered: 0 })
        const all = { recipients: 4, estimated: "0.0492", actual: "0.0369" }
        for (const [by, key] of [
          ["template", { template_id: templateId, template: "order_confirmation" }],
          ["market", { market: "34" }],
          ["session", { session_id: session.id }]
        ] as const)
          expect(at(yield* usage(`by=${by}`), "groups")).toMatchObject([{ ...none, ...key, ...all }])
        expect(at(yield* usage("by=session&from=1970-01-02T00:00:00Z"), "groups")).toMatchObject([
          { recipients: 1 }
        ])
        expect(at(yield* usage("by=session&to=1970-01-01T00:00:00Z"), "groups")).toEqual([])
        expect(yield* usage("")).toMatchObject({ day: "1970-01-02", template_recipients: { used: 1 } })
        const statuses = yield* Effect.forEach(
          [
            "from=1970-01-01T00:00:00Z",
            "by=day&from=1970-01-02T00:00:00Z&to=1970-01-01T00:00:00Z",
            "by=hour"
          ],
          (query) =>
            Effect.map(ask(`/admin/v1/accounts/${account.id}/usage?${query}`), ({ status }) => status)
        )
        expect(statuses).toEqual([422, 422, 422])
      })
    )
  )
})
