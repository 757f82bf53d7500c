/** What an operator does for a person who asks to be forgotten, or what is known of them. */
import { describe, expect, it } from "@effect/vitest"
import { AddressPolicy, Engine, Memory, Sandbox, SecretBox, Sender } from "@sendwright/core"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { at, items } from "../../../../test/support/TestHost.ts"
import * as Handler from "../http/Handler.ts"

const { adminToken } = Handler
const phone = "34600001234"

const layer = Engine.layer().pipe(
  Layer.provide(Memory.layer),
  Layer.provide(RecordingTransport.layer),
  Layer.provide(Sender.layer(Sandbox.make({ latencyMs: 0, receiptDelayMs: 0 }))),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([]))
)

/** A host with an account in which somebody consents. */
const host = Effect.gen(function* () {
  yield* TestClock.setTime(Date.UTC(2026, 2, 14, 12))
  const engine = yield* Engine.Engine
  const handle = yield* Handler.over(engine)
  const request = Effect.fnUntraced(function* (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {}
  ) {
    const bytes = new TextEncoder().encode(body === undefined ? "" : JSON.stringify(body))
    const answer = yield* handle({
      method,
      url: `/admin/v1${path}`,
      address: "203.0.113.7",
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers
      },
      hasBody: body !== undefined,
      body: () => Effect.succeed(bytes)
    })
    const text = String(answer.body)
    return {
      status: answer.status,
      type: answer.headers["content-type"],
      text,
      json: text.startsWith("{") ? JSON.parse(text) : null
    }
  })
  const account = yield* engine.admin.accounts.create({ name: "Shop" })
  const record = (some: object) =>
    request("POST", `/accounts/${account.id}/consents`, {
      consents: [{ phone, source: "form <b>", ...some }]
    })
  yield* record({ proof: "signed by Ana" })
  yield* TestClock.adjust("1 minute")
  return { account, engine, record, request }
})

describe("a person", () => {
  it.scoped("is told what is known of them, in any spelling of their number", () =>
    Effect.gen(function* () {
      const { account, request } = yield* host
      for (const who of [phone, `%2B${phone}`, `00${phone}`, "%2B34%20600%20001%20234"]) {
        const { json, status } = yield* request("GET", `/people/${who}/export?account_id=${account.id}`)
        expect(status).toBe(200)
        expect(at(json, "person")).toMatchObject({
          phones: [phone],
          consents: [{ phone, status: "granted", source: "form <b>", proof: "signed by Ana" }],
          messages: [],
          cut: []
        })
      }
      const statusOf = (path: string) => Effect.map(request("GET", path), ({ status }) => status)
      expect(yield* statusOf("/people/34600009999/export")).toBe(404)
      expect(yield* statusOf(`/people/${phone}/export?account_id=${crypto.randomUUID()}`)).toBe(404)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("is looked up in all accounts by one request, of which no act is recorded", () =>
    Effect.gen(function* () {
      const { account, engine, request } = yield* host
      const other = yield* engine.admin.accounts.create({ name: "Other" })
      yield* engine.admin.consents.record(other.id, [{ phone, status: "revoked", source: "letter" }])
      const before = items((yield* request("GET", "/audit")).json, "entries")
      const { json } = yield* request("GET", `/people?phone=${phone}`)
      expect(at(json, "person", "phone")).toBe(phone)
      const known = new Map(items(json, "person", "accounts").map((each) => [at(each, "account_id"), each]))
      expect([...known.keys()].sort()).toEqual([account.id, other.id].sort())
      const utility = (id: string) =>
        items(known.get(id), "current").find((each) => at(each, "purpose") === "utility")
      expect(at(utility(account.id), "status")).toBe("granted")
      expect(at(utility(other.id), "status")).toBe("revoked")
      expect(at(known.get(other.id), "history", 0, "source")).toBe("letter")
      expect(known.get(other.id)).toMatchObject({ windows: [], perhaps_refusals: [] })
      expect(items((yield* request("GET", "/audit")).json, "entries")).toEqual(before)
      const nobody = yield* request("GET", "/people?phone=34600009999")
      expect(at(nobody.json, "person", "accounts")).toEqual([])
      expect((yield* request("GET", "/people")).status).toBe(422)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("reads it on a page that runs nothing", () =>
    Effect.gen(function* () {
      const { request } = yield* host
      const page = yield* request("GET", `/people/${phone}/export`, undefined, { accept: "text/html" })
      expect(page.type).toBe("text/html; charset=utf-8")
      expect(page.text).toContain("form &lt;b&gt;")
      expect(page.text).toContain("signed by Ana")
      expect(page.text).not.toMatch(/<script|form <b>|src=|href=/)
    }).pipe(Effect.provide(layer))
  )

  it.scoped("is erased, and what was said before opens nothing", () =>
    Effect.gen(function* () {
      const { account, engine, record, request } = yield* host
      const asked = { phone: `+${phone}`, reason: `letter of ${phone}` }
      const dry = yield* request("POST", "/people/erase", { ...asked, dry_run: true })
      expect(at(dry.json, "erasure")).toMatchObject({
        id: null,
        state: null,
        phones: [phone],
        counts: { consents: 1 }
      })
      const erased = yield* request("POST", "/people/erase", asked)
      expect(at(erased.json, "erasure")).toMatchObject({
        state: "going_on",
        counts: { consents: 1, canceled: 0 }
      })

      const old = yield* record({ occurred_at: "2026-03-14T12:00:30Z" })
      expect(at(old.json, "results", 0)).toMatchObject({
        ok: false,
        errors: [{ pointer: "/consents/0/occurred_at", code: "out_of_range" }]
      })
      const verdictOf = (purpose: string) =>
        Effect.map(
          engine.admin.consents.find(account.id, { phone }),
          ({ current }) => current.find((each) => each.purpose === purpose)?.verdict._tag
        )
      expect(yield* verdictOf("utility")).toBe("Missing")

      yield* TestClock.adjust("1 minute")
      yield* engine.drain
      const listed = yield* request("GET", "/people/erasures")
      expect(items(listed.json, "erasures")[0]).toMatchObject({ state: "done", next_at: null })
      expect(listed.text).not.toContain(phone)
      const log = yield* request("GET", "/audit")
      expect(log.text).toContain("people.erase")
      expect(log.text).not.toContain(phone)

      yield* TestClock.adjust("1 second")
      // Without a time it opens nobody who was erased.
      expect(at((yield* record({})).json, "results", 0, "ok")).toBe(false)
      const now = new Date(yield* Clock.currentTimeMillis).toISOString()
      expect(at((yield* record({ occurred_at: now })).json, "results", 0, "ok")).toBe(true)
      expect(yield* verdictOf("utility")).toBe("Granted")
      const known = yield* request("GET", `/people/${phone}/export`)
      // By number: what was sealed stands behind.
      expect(items(known.json, "person", "consents")).toMatchObject([
        { phone, proof: null },
        { phone: expect.stringMatching(/^erased:[0-9a-f]{24}$/), source: "form <b>", proof: null }
      ])
    }).pipe(Effect.provide(layer))
  )

  it.scoped("is named by a number or a user id, and a reason is given", () =>
    Effect.gen(function* () {
      const { request } = yield* host
      for (const body of [{ reason: "x" }, { phone: "12", reason: "x" }, { phone }, { phone, reason: " " }])
        expect((yield* request("POST", "/people/erase", body)).status).toBe(422)
    }).pipe(Effect.provide(layer))
  )
})
