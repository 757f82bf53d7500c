/** contract.md §A2.6, §3, §4.1 and contract.md §3, §4, §9 over a real socket. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../support/TestHost.ts"

let host: TestHost
beforeAll(async () => {
  host = await start()
}, 30_000)
afterAll(() => host.stop())

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe("a template send", () => {
  it("is acknowledged as queued, then polled to its end", async () => {
    const owner = await tenant(host)
    const phones = ["0000", "0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009"].map(
      (last) => `3461234${last}`
    )
    await consent(host, owner.accountId, ...phones)
    const accepted = await owner.send(sendBody(owner.templateId, ...phones), "order-1")
    expect(accepted.status, accepted.text).toBe(202)
    const jobId = String(at(accepted.json, "job_id"))
    expect(jobId).toMatch(uuid)
    expect(accepted.json).toEqual({
      ok: true,
      job_id: jobId,
      status: "queued",
      recipients: 10,
      links: { status: `/api/v1/template-messages/${jobId}` }
    })

    const expected = {
      "34612340000": "delivered",
      "34612340001": "failed",
      "34612340002": "delivered",
      "34612340003": "delivered",
      "34612340004": "failed",
      "34612340005": "delivered",
      "34612340006": "unknown",
      "34612340007": "sent",
      "34612340008": "delivered",
      "34612340009": "delivered"
    }
    const statuses = (json: unknown) =>
      Object.fromEntries(
        items(json, "job", "results").map((result) => [at(result, "phone"), at(result, "status")])
      )
    const settled = await eventually(
      () => owner.get(`/api/v1/template-messages/${jobId}`),
      ({ json }) => JSON.stringify(statuses(json)) === JSON.stringify(expected)
    )
    expect(statuses(settled.json)).toEqual(expected)
    const job = at(settled.json, "job")
    expect(at(job, "status")).toBe("completed")
    const counts = Object.values(Object(at(job, "counts")))
    expect(counts).toHaveLength(10)
    expect(counts.reduce((sum: number, count) => sum + Number(count), 0)).toBe(10)
    expect(at(job, "template")).toEqual({
      template_id: owner.templateId,
      name: "order_confirmation",
      language: "en_US"
    })
    const [, notOnPlatform, transient] = items(job, "results")
    expect(at(notOnPlatform, "error", "permanent")).toBe(true)
    expect(at(notOnPlatform, "error", "provider_code")).toBe("131026")
    expect(at(transient, "attempts")).toBe(3)
    expect(at(transient, "delivered_at")).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)

    const consents = await host.admin(`/accounts/${owner.accountId}/consents?phone=34612340009`)
    expect(JSON.stringify(consents.json)).toContain("revoked")
    const refused = await owner.send(sendBody(owner.templateId, "34612340009"), "order-2")
    expect([refused.status, at(refused.json, "code")]).toEqual([403, "consent_required"])
    expect(at(refused.json, "errors", 0, "pointer")).toBe("/recipients/0/phone")
    const why =
      /^The recipient withdrew consent on \d{4}-\S+Z\. Leave them out, or register what they gave since, with its time\.$/
    expect(at(refused.json, "detail")).toMatch(why)
    expect(at(refused.json, "errors", 0, "message")).toMatch(why)
  })

  it("answers the same key and body with the very same body, whatever the order of its keys", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000200")
    const body = sendBody(owner.templateId, "34600000200")
    const first = await owner.send(body, "twice")
    const reordered = Object.fromEntries(Object.entries(body).reverse())
    const second = await host.request("/api/v1/template-messages/send", {
      headers: { ...owner.credentials, "idempotency-key": '"twice"' },
      raw: JSON.stringify(reordered, null, 4)
    })
    expect([first.status, second.status]).toEqual([202, 202])
    expect(second.text).toBe(first.text)
    expect(first.headers.get("idempotency-replayed")).toBeNull()
    expect(second.headers.get("idempotency-replayed")).toBe("true")
    const other = await owner.send({ ...body, variables: { ...body.variables, "body.2": "later" } }, "twice")
    expect([other.status, at(other.json, "code")]).toEqual([409, "idempotency_conflict"])
    expect(at(other.json, "job_id")).toBe(at(first.json, "job_id"))
  })

  it("makes one job of a hundred concurrent twins", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000300")
    const body = sendBody(owner.templateId, "34600000300")
    const answers = await Promise.all(Array.from({ length: 100 }, () => owner.send(body, "twins")))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const jobs = await owner.get("/api/v1/template-messages")
    expect(items(jobs.json, "jobs")).toHaveLength(1)
  })

  it("is another key's not_found", async () => {
    const owner = await tenant(host)
    const stranger = await tenant(host)
    await consent(host, owner.accountId, "34600000400")
    const accepted = await owner.send(sendBody(owner.templateId, "34600000400"), "mine")
    const link = String(at(accepted.json, "links", "status"))
    expect((await owner.get(link)).status).toBe(200)
    const foreign = await stranger.get(link)
    const unknown = await stranger.get("/api/v1/template-messages/01930000-0000-7000-8000-000000000000")
    expect([foreign.status, unknown.status]).toEqual([404, 404])
    expect(at(foreign.json, "detail")).toBe(at(unknown.json, "detail"))
    expect(items((await stranger.get("/api/v1/template-messages")).json, "jobs")).toEqual([])
  })

  it("keeps its history over a secret rotation", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000500")
    const accepted = await owner.send(sendBody(owner.templateId, "34600000500"), "before")
    const rotated = await host.admin(`/keys/${owner.publicKey}/rotate`, { overlap_seconds: 0 })
    const fresh = { ...owner.credentials, "x-secret-key": String(at(rotated.json, "secret_key")) }
    expect((await owner.get("/api/v1/template-messages")).status).toBe(401)
    const again = await host.request("/api/v1/template-messages/send", {
      headers: { ...fresh, "idempotency-key": "before" },
      body: sendBody(owner.templateId, "34600000500")
    })
    expect([again.status, at(again.json, "job_id")]).toEqual([202, at(accepted.json, "job_id")])
  })

  it("pages its results and the list of jobs", async () => {
    const owner = await tenant(host)
    const phones = Array.from({ length: 7 }, (_, index) => `3461000000${index}`)
    await consent(host, owner.accountId, ...phones)
    for (const [index, phone] of phones.entries()) {
      expect((await owner.send(sendBody(owner.templateId, phone), `page-${index}`)).status).toBe(202)
    }
    const first = await owner.get("/api/v1/template-messages?limit=3")
    expect(items(first.json, "jobs")).toHaveLength(3)
    const cursor = String(at(first.json, "next_cursor"))
    await owner.send(sendBody(owner.templateId, phones[0] ?? ""), "page-more")
    const second = await owner.get(`/api/v1/template-messages?limit=3&cursor=${cursor}`)
    const ids = [...items(first.json, "jobs"), ...items(second.json, "jobs")].map((job) => at(job, "job_id"))
    expect(new Set(ids).size).toBe(6)
    expect((await owner.get("/api/v1/template-messages?limit=0")).status).toBe(422)
    expect((await owner.get("/api/v1/template-messages?cursor=nonsense")).status).toBe(422)
    expect((await owner.get("/api/v1/template-messages?status=nonsense")).status).toBe(422)
  })
})

describe("an estimate", () => {
  it("is exact, by the longest prefix, and needs no consent", async () => {
    const owner = await tenant(host)
    await host.admin(
      "/rate-cards",
      {
        currency: "USD",
        effective_from: "2026-01-01T00:00:00Z",
        prices: [
          { market: "North America", prefixes: ["1"], category: "utility", price: "0.0100" },
          {
            market: "Rest of Latin America",
            prefixes: ["1809", "1829"],
            category: "utility",
            price: "0.0250"
          },
          { market: "34", category: "utility", price: "0.1" }
        ]
      },
      "PUT"
    )
    const body = {
      ...sendBody(owner.templateId, "12025550100", "18095550100", "34600000600", "4915112345678"),
      currency: "USD"
    }
    const answer = await owner.post("/api/v1/template-messages/estimate", body)
    expect(answer.status, answer.text).toBe(200)
    const estimate = at(answer.json, "estimate")
    expect(at(estimate, "binding")).toBe(false)
    expect(Number(at(estimate, "total"))).toBe(0.135)
    expect(at(estimate, "complete")).toBe(false)
    expect([at(estimate, "recipients"), at(estimate, "billable_recipients")]).toEqual([4, 3])
    expect(items(estimate, "unpriced").map((each) => at(each, "phone"))).toEqual(["4915112345678"])
    expect(at(estimate, "without_consent")).toBe(4)
    const explained = await owner.post("/api/v1/template-messages/estimate?explain=true", body)
    expect(explained.status).toBe(200)
    expect(explained.text).toContain("recipient")
    expect(explained.text).toContain("Hello Name 0, it arrives today.")
  })

  it("has no total when nothing has a price, as its job has none, and is complete when everything has one", async () => {
    const owner = await tenant(host)
    const estimate = async (currency: string, ...phones: ReadonlyArray<string>) => {
      const body = { ...sendBody(owner.templateId, ...phones), currency }
      return at((await owner.post("/api/v1/template-messages/estimate", body)).json, "estimate")
    }
    expect(await estimate("IDR", "34600000610", "4915112345678")).toMatchObject({
      total: null,
      complete: false,
      billable_recipients: 0,
      rate_card: null
    })
    expect(await estimate("USD", "4915112345678")).toMatchObject({ total: null, complete: false })
    expect(await estimate("USD", "34600000610", "12025550100")).toMatchObject({
      total: "0.1100",
      complete: true,
      unpriced: []
    })
    await consent(host, owner.accountId, "34600000610")
    const sent = await owner.send(
      { ...sendBody(owner.templateId, "34600000610"), currency: "IDR" },
      "unpriced"
    )
    const job = await owner.get(`/api/v1/template-messages/${String(at(sent.json, "job_id"))}`)
    expect(at(job.json, "job", "estimated_cost")).toBeNull()
  })

  it("is priced by the list that the platform publishes, as it is downloaded", async () => {
    const owner = await tenant(host)
    const csv = [
      "Rate card as of 1 October",
      "Market,Currency,Marketing,Utility,Authentication,Service",
      "Spain,$US,0.0615,0.0170,0.0170,n/a",
      "North America,$US,0.0250,0.0034,0.0034,n/a",
      "Rest of Latin America,$US,0.0740,0.0113,0.0113,n/a",
      "Spain,MXN,1.1,0.3,0.3,n/a"
    ].join("\r\n")
    const imported = await host.admin("/rate-cards/import", {
      currency: "USD",
      effective_from: "2026-01-02T00:00:00Z",
      csv
    })
    expect(imported.status, imported.text).toBe(200)
    expect(items(at(imported.json, "rate_card"), "prices")).toHaveLength(9)
    const body = {
      ...sendBody(owner.templateId, "12025550100", "18095550100", "34600000600", "4915112345678"),
      currency: "USD"
    }
    const answer = await owner.post("/api/v1/template-messages/estimate", body)
    const estimate = at(answer.json, "estimate")
    expect(items(estimate, "breakdown").map((each) => [at(each, "market"), at(each, "unit_price")])).toEqual([
      ["North America", "0.0034"],
      ["Rest of Latin America", "0.0113"],
      ["Spain", "0.0170"]
    ])
    expect(items(estimate, "unpriced").map((each) => at(each, "phone"))).toEqual(["4915112345678"])
  })
})

describe("a direct message", () => {
  it("is sent now, or refused with the platform's reason", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000700", "34600000001", "34600000006")
    const sent = await owner.post("/api/public/messages/send", { to: "34600000700", message: "Hello" })
    expect(sent.status, sent.text).toBe(200)
    expect(at(sent.json, "to")).toBe("34600000700")
    expect(at(sent.json, "messageId")).toMatch(uuid)
    const failed = await owner.post("/api/public/messages/send", { to: "34600000001", message: "Hello" })
    expect([failed.status, at(failed.json, "code")]).toEqual([422, "send_failed"])
    expect(at(failed.json, "messageId")).toMatch(uuid)
    const unknown = await owner.post("/api/public/messages/send", { to: "34600000006", message: "Hello" })
    expect([unknown.status, at(unknown.json, "outcome")]).toEqual([422, "unknown"])
    const refused = await owner.post("/api/public/messages/send", { to: "34600000701", message: "Hello" })
    expect([refused.status, at(refused.json, "code")]).toEqual([403, "consent_required"])
  })

  it("replays under its Idempotency-Key and counts against the daily limit", async () => {
    const owner = await tenant(host, { plan: { daily_direct_messages: 1 } })
    await consent(host, owner.accountId, "34600000800")
    const body = { to: "34600000800", message: "Hello" }
    const first = await owner.post("/api/public/messages/send", body, { "idempotency-key": "d1" })
    const again = await owner.post("/api/public/messages/send", body, { "idempotency-key": "d1" })
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.text).toBe(first.text)
    const over = await owner.post("/api/public/messages/send", body)
    expect([over.status, at(over.json, "code")]).toEqual([402, "daily_limit_reached"])
  })
})
