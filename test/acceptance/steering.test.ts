/** contract.md §10 "Reading and steering with an API key", over a real socket. */
import { createServer } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Tenant, TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../support/TestHost.ts"

const events: Array<unknown> = []
const receiver = createServer((request, response) => {
  let body = ""
  request.on("data", (chunk) => {
    body += chunk
  })
  request.on("end", () => {
    events.push(JSON.parse(body))
    response.writeHead(204).end()
  })
})

let host: TestHost
let receiverUrl = ""
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  const address = receiver.address()
  receiverUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`
  host = await start()
}, 30_000)
afterAll(async () => {
  await host.stop()
  receiver.closeAllConnections()
  receiver.close()
})

const absent = "01930000-0000-7000-8000-000000000001"
const jobs = "/api/v1/template-messages"
const messages = "/api/public/messages"

/** Credentials of another key of the same session. */
const secondKey = async (owner: Tenant, permissions?: ReadonlyArray<string>) => {
  const issued = await host.admin(
    `/sessions/${owner.sessionId}/keys`,
    permissions === undefined ? {} : { permissions }
  )
  return {
    "x-public-key": String(at(issued.json, "key", "public_key")),
    "x-secret-key": String(at(issued.json, "secret_key"))
  }
}

const pace = (owner: Tenant, messagesPerSecond: number | null) =>
  host.admin(`/sessions/${owner.sessionId}`, { pacing: { messages_per_second: messagesPerSecond } }, "PATCH")

const told = (family: string, reference: string): ReadonlyArray<string> =>
  events
    .filter((event) => String(at(event, "type")).startsWith(family))
    .filter((event) => at(event, "data", "reference") === reference)
    .map((event) => String(at(event, "type")))

describe("a direct message", () => {
  it("whose outcome is unknown is read by its key, and seen settled by its receipt", async () => {
    const owner = await tenant(host)
    await host.admin(`/accounts/${owner.accountId}/webhooks`, { url: receiverUrl })
    await consent(host, owner.accountId, "34600000005", "34600000006")
    const body = { to: "34600000005", message: "Hello", reference: "late" }
    const headers = { "idempotency-key": "late" }
    const sent = await owner.post(`${messages}/send`, body, headers)
    const id = String(at(sent.json, "messageId"))
    expect([sent.status, at(sent.json, "outcome"), at(sent.json, "links")]).toEqual([
      422,
      "unknown",
      { status: `${messages}/${id}` }
    ])
    expect(at((await owner.post(`${messages}/send`, body, headers)).json, "links")).toEqual({
      status: `${messages}/${id}`
    })

    const settled = await eventually(
      () => owner.get(`${messages}/${id.toUpperCase()}`),
      ({ json }) => at(json, "message", "status") === "delivered"
    )
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(settled.json).toEqual({
      ok: true,
      message: {
        messageId: id,
        to: "34600000005",
        user_id: null,
        status: "delivered",
        sent_as: "text",
        outcome: null,
        error: null,
        reference: "late",
        createdAt: time,
        updatedAt: time,
        sentAt: null,
        deliveredAt: time,
        readAt: null,
        currency: expect.any(String),
        estimatedCost: null,
        actualCost: null
      }
    })
    await eventually(
      async () => told("message.", "late"),
      (found) => found.length > 0
    )
    expect(told("message.", "late")).toEqual(["message.delivered"])

    const lost = await owner.post(`${messages}/send`, { to: "34600000006", message: "Hello" })
    const unknown = await owner.get(String(at(lost.json, "links", "status")))
    expect(unknown.json).toMatchObject({
      message: {
        status: "unknown",
        outcome: "unknown",
        error: { code: "outcome_unknown", permanent: false },
        reference: null
      }
    })
  })

  it("is not_found to every other key, and so is what is no direct message", async () => {
    const owner = await tenant(host)
    const stranger = await tenant(host)
    await consent(host, owner.accountId, "34600000100")
    const sent = await owner.post(`${messages}/send`, { to: "34600000100", message: "Hello" })
    const path = `${messages}/${at(sent.json, "messageId")}`
    expect((await owner.get(path)).status).toBe(200)
    const accepted = await owner.send(sendBody(owner.templateId, "34600000100"), "job")
    const jobId = String(at(accepted.json, "job_id"))
    const detail = await owner.get(`${jobs}/${jobId}`)
    const ofJob = `${messages}/${at(items(detail.json, "job", "results")[0], "message_id")}`
    const answers = [
      await stranger.get(path),
      await host.request(path, { headers: await secondKey(owner) }),
      await owner.get(`${messages}/${absent}`),
      await owner.get(`${messages}/${jobId}`),
      await owner.get(ofJob),
      await owner.get(`${path.slice(0, -3)}002`)
    ]
    for (const { json, status } of answers) {
      expect([status, at(json, "code"), at(json, "detail")]).toEqual([
        404,
        "not_found",
        "There is no such message."
      ])
    }
    const malformed = await owner.get(`${messages}/12`)
    expect([malformed.status, at(malformed.json, "errors", 0, "pointer")]).toEqual([422, "/path/messageId"])
    expect((await owner.get(`${messages}/send`)).status).toBe(405)
  })

  it("is read with the permission direct:read, which a key has unless told otherwise", async () => {
    const owner = await tenant(host, { plan: { features: ["templates"] } })
    const connection = await owner.get("/api/v1/connection")
    expect(items(connection.json, "permissions")).toContain("direct:read")
    expect((await owner.get(`${messages}/${absent}`)).status).toBe(404)
    const without = await secondKey(owner, ["direct:send", "jobs:read"])
    const refused = await host.request(`${messages}/${absent}`, { headers: without })
    expect([refused.status, at(refused.json, "code")]).toEqual([403, "insufficient_permission"])
  })
})

describe("a job", () => {
  it("is canceled by its key, for good", async () => {
    const owner = await tenant(host)
    await pace(owner, 0.001)
    const phones = ["34600000100", "34600000101", "34600000102"]
    await consent(host, owner.accountId, ...phones)
    const accepted = await owner.send(sendBody(owner.templateId, ...phones), "cancel")
    const link = String(at(accepted.json, "links", "status"))
    const stranger = await tenant(host)
    const foreign = await stranger.post(`${link}/cancel`)
    const unknown = await stranger.post(`${jobs}/${absent}/cancel`)
    const second = await host.request(`${link}/cancel`, { method: "POST", headers: await secondKey(owner) })
    expect([foreign.status, unknown.status, second.status]).toEqual([404, 404, 404])
    expect(at(foreign.json, "detail")).toBe(at(unknown.json, "detail"))
    const reader = await secondKey(owner, ["jobs:read"])
    const refused = await host.request(`${link}/cancel`, { method: "POST", headers: reader })
    expect([refused.status, at(refused.json, "code")]).toEqual([403, "insufficient_permission"])
    expect((await owner.post(`${jobs}/12/cancel`)).status).toBe(422)

    const canceled = await owner.post(`${link}/cancel`)
    expect(canceled.status, canceled.text).toBe(202)
    expect(["canceling", "canceled"]).toContain(at(canceled.json, "job", "status"))
    expect(at(canceled.json, "job", "links")).toEqual({ status: link })
    const ended = await eventually(
      () => owner.get(link),
      ({ json }) => at(json, "job", "status") === "canceled"
    )
    expect(Number(at(ended.json, "job", "counts", "canceled"))).toBeGreaterThanOrEqual(2)

    const jobId = at(accepted.json, "job_id")
    const late = [
      await owner.post(`${link}/cancel`),
      await host.admin(`/jobs/${jobId}/cancel`, undefined, "POST"),
      await host.admin(`/jobs/${jobId}/retry`, undefined, "POST"),
      await host.admin(`/jobs/${jobId}/retry`, { dry_run: true, statuses: ["failed", "unknown"] })
    ]
    for (const { json, status } of late) expect([status, at(json, "code")]).toEqual([409, "job_ended"])
    expect((await owner.get(link)).text).toBe(ended.text)
    expect((await host.request("/problems/job_ended")).status).toBe(200)
  })

  it("that has completed is not canceled, by key or operator", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000100")
    const accepted = await owner.send(sendBody(owner.templateId, "34600000100"), "done")
    const link = String(at(accepted.json, "links", "status"))
    await eventually(
      () => owner.get(link),
      ({ json }) => at(json, "job", "counts", "delivered") === 1
    )
    const jobId = at(accepted.json, "job_id")
    for (const answer of [
      await owner.post(`${link}/cancel`),
      await host.admin(`/jobs/${jobId}/cancel`, undefined, "POST")
    ]) {
      expect([answer.status, at(answer.json, "code")]).toEqual([409, "job_ended"])
      expect(String(at(answer.json, "detail"))).toContain("completed")
    }
  })

  it("is no direct message, to the operator either", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000006")
    const sent = await owner.post(`${messages}/send`, { to: "34600000006", message: "Hello" })
    const id = `${String(at(sent.json, "messageId")).slice(0, -3)}000`
    for (const path of [`/jobs/${id}/cancel`, `/jobs/${id}/retry`]) {
      expect((await host.admin(path, undefined, "POST")).status).toBe(404)
    }
    expect((await owner.post(`${jobs}/${id}/cancel`)).status).toBe(404)
  })
})

describe("a reference", () => {
  it("names a send in its job, in lists and in every event of it", async () => {
    const owner = await tenant(host)
    await host.admin(`/accounts/${owner.accountId}/webhooks`, { url: receiverUrl })
    await host.admin(`/accounts/${owner.accountId}/webhooks`, {
      url: `${receiverUrl}batch`,
      batch_recipients: true
    })
    const phones = ["34600000100", "34600000001"]
    await consent(host, owner.accountId, ...phones)
    // 255 characters, each of two UTF-16 units.
    const reference = "🧾".repeat(255)
    const body = { ...sendBody(owner.templateId, ...phones), reference }
    const accepted = await owner.send(body, "named")
    expect(accepted.status, accepted.text).toBe(202)
    await owner.send(sendBody(owner.templateId, ...phones), "nameless")
    const link = String(at(accepted.json, "links", "status"))
    const detail = await eventually(
      () => owner.get(link),
      ({ json }) => at(json, "job", "counts", "delivered") === 1 && at(json, "job", "status") === "completed"
    )
    expect(at(detail.json, "job", "reference")).toBe(reference)
    const list = await owner.get(jobs)
    expect(items(list.json, "jobs").map((job) => at(job, "reference"))).toEqual([null, reference])
    const query = `reference=${encodeURIComponent(reference)}`
    for (const found of [
      await owner.get(`${jobs}?${query}`),
      await host.admin(`/jobs?account_id=${owner.accountId}&${query}`)
    ]) {
      expect(items(found.json, "jobs").map((job) => at(job, "job_id"))).toEqual([at(accepted.json, "job_id")])
    }
    expect(items((await owner.get(`${jobs}?reference=other`)).json, "jobs")).toEqual([])
    const shown = await host.admin(`/jobs/${at(accepted.json, "job_id")}`)
    expect(at(shown.json, "job", "reference")).toBe(reference)

    const expected = [
      "job.completed",
      "job.completed",
      "job.processing",
      "job.processing",
      "recipient.accepted",
      "recipient.delivered",
      "recipient.failed",
      "recipient.sent"
    ]
    await eventually(
      async () => [...told("job.", reference), ...told("recipient.", reference)],
      (found) => found.length >= expected.length
    )
    expect([...told("job.", reference), ...told("recipient.", reference)].sort()).toEqual(expected)
    const changes = events
      .filter((event) => at(event, "type") === "recipient.batch")
      .flatMap((event) => items(event, "data", "changes"))
      .filter((change) => at(change, "data", "job_id") === at(accepted.json, "job_id"))
    expect(new Set(changes.map((change) => at(change, "data", "reference")))).toEqual(new Set([reference]))

    const renamed = await owner.send({ ...body, reference: "another" }, "named")
    expect([renamed.status, at(renamed.json, "code")]).toEqual([409, "idempotency_conflict"])
    expect((await owner.send(body, "named")).headers.get("idempotency-replayed")).toBe("true")
    expect((await owner.post(`${jobs}/estimate`, body)).status).toBe(200)
  })

  it("names a direct message for the operator, too", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000100")
    const body = { to: "34600000100", message: "Hello", reference: "ticket 7" }
    expect((await owner.post(`${messages}/send`, body)).status).toBe(200)
    const list = await host.admin(`/messages?account_id=${owner.accountId}`)
    expect(items(list.json, "messages").map((each) => at(each, "reference"))).toEqual(["ticket 7"])
  })

  it("is 1 to 255 well-formed characters that show something", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000100")
    const faulty = ["", " \t ", "\u200b\u2060", "a\u0000b", "\ud800", "x".repeat(256), 7, null, ["a"]]
    for (const reference of faulty) {
      const send = await owner.send({ ...sendBody(owner.templateId, "34600000100"), reference }, "faulty")
      const direct = await owner.post(`${messages}/send`, { to: "34600000100", message: "Hi", reference })
      for (const answer of [send, direct]) {
        expect([
          reference,
          answer.status,
          items(answer.json, "errors").map((each) => at(each, "pointer"))
        ]).toEqual([reference, 422, ["/reference"]])
      }
    }
    const filter = await owner.get(`${jobs}?reference=`)
    expect([filter.status, at(filter.json, "errors", 0, "pointer")]).toEqual([422, "/query/reference"])
  })
})

describe("a retry", () => {
  it("chooses what cannot do harm, and the rest only by name", async () => {
    const owner = await tenant(host)
    const phones = ["34600000100", "34600000001", "34600000004", "34600000006"]
    await consent(host, owner.accountId, ...phones)
    const accepted = await owner.send(sendBody(owner.templateId, ...phones), "retried")
    const link = String(at(accepted.json, "links", "status"))
    const settle = () =>
      eventually(
        () => owner.get(link),
        ({ json }) => {
          const { delivered, failed, unknown } = Object(at(json, "job", "counts"))
          return delivered === 1 && failed === 2 && unknown === 1 && at(json, "job", "status") === "completed"
        }
      )
    const ended = await settle()
    const retry = (body?: unknown) => host.admin(`/jobs/${at(accepted.json, "job_id")}/retry`, body, "POST")
    const counted = async (body: Readonly<Record<string, unknown>>) => {
      const { json } = await retry({ ...body, dry_run: true })
      expect(at(json, "dry_run")).toBe(true)
      expect(at(json, "job", "status")).toBe("completed")
      return [at(json, "retried"), at(json, "counts", "failed"), at(json, "counts", "unknown")]
    }
    expect(await counted({})).toEqual([0, 0, 0])
    expect(await counted({ statuses: ["failed"] })).toEqual([0, 0, 0])
    expect(await counted({ statuses: ["failed", "unknown"] })).toEqual([1, 0, 1])
    expect(await counted({ phones })).toEqual([2, 2, 0])
    expect(await counted({ phones, statuses: ["failed", "unknown"] })).toEqual([3, 2, 1])
    expect(await counted({ codes: ["recipient_unreachable"] })).toEqual([1, 1, 0])
    expect(await counted({ codes: ["recipient_unreachable"], phones: ["34600000004"] })).toEqual([0, 0, 0])
    expect((await owner.get(link)).text).toBe(ended.text)

    expect((await retry()).json).toMatchObject({ ok: true, retried: 0, dry_run: false })
    expect((await owner.get(link)).text).toBe(ended.text)
    const again = await retry({ codes: ["undeliverable"] })
    expect(again.json).toMatchObject({
      retried: 1,
      counts: { failed: 1, unknown: 0 },
      dry_run: false,
      job: { status: "processing", counts: { failed: 1, queued: 1, unknown: 1 } }
    })
    const attempts = (json: unknown) =>
      items(json, "job", "results").map((each) => [at(each, "status"), at(each, "attempts")])
    expect(attempts((await settle()).json)).toEqual(attempts(ended.json))
  })

  it("refuses by field what it does not know", async () => {
    const refused = await host.admin(
      `/jobs/${absent}/retry`,
      { statuses: ["delivered"], codes: [7], phones: [], dry_run: "yes" },
      "POST"
    )
    expect([refused.status, items(refused.json, "errors").map((each) => at(each, "pointer"))]).toEqual([
      422,
      ["/statuses/0", "/codes/0", "/phones", "/dry_run"]
    ])
    const malformed = await host.admin(
      `/jobs/${absent}/retry`,
      { codes: ["", "x".repeat(65)], phones: ["+34600000100"] },
      "POST"
    )
    expect(items(malformed.json, "errors").map((each) => [at(each, "pointer"), at(each, "code")])).toEqual([
      ["/codes/0", "out_of_range"],
      ["/codes/1", "out_of_range"],
      ["/phones/0", "recipient_invalid"]
    ])
    for (const list of [
      { codes: Array(51).fill("busy") },
      { phones: Array(251).fill("34600000100") },
      { statuses: ["failed", "unknown", "failed"] }
    ]) {
      expect((await host.admin(`/jobs/${absent}/retry`, list, "POST")).status).toBe(422)
    }
    expect((await host.admin(`/jobs/${absent}/retry`, {}, "POST")).status).toBe(404)
  })
})
