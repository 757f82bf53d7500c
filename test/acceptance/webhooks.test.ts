/** contract.md §A6 and contract.md §7: what arrives at a receiver. */
import { createServer } from "node:http"
import { Signature, verifyWebhook } from "@sendwright/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../support/TestHost.ts"

interface Delivery {
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: string
}

let host: TestHost
let base: string
const received: Array<Delivery> = []
const failures = new Map<string, number>()
const receiver = createServer(async (request, response) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const path = request.url ?? ""
  received.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString("utf8") })
  const left = failures.get(path) ?? 0
  failures.set(path, left - 1)
  response.writeHead(path === "/gone" ? 410 : left > 0 ? 500 : 200).end("answer")
})

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
  const address = receiver.address()
  base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
  host = await start()
}, 30_000)
afterAll(async () => {
  await host.stop()
  receiver.closeAllConnections()
  receiver.close()
})

const at1 = (path: string) => received.filter((delivery) => delivery.path === path)
const header = (delivery: Delivery, name: string) => String(delivery.headers[name])

describe("webhooks", () => {
  it("carry exactly id, type, created_at and data, signed over the bytes sent, and tell the whole story", async () => {
    const owner = await tenant(host)
    const created = await host.admin(`/accounts/${owner.accountId}/webhooks`, { url: `${base}/story` })
    expect(created.status, created.text).toBe(201)
    const secret = String(at(created.json, "secret"))
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    await consent(host, owner.accountId, "34600001000")
    const accepted = await owner.send(sendBody(owner.templateId, "34600001000"), "story")
    const jobId = at(accepted.json, "job_id")
    const types = () => at1("/story").map(({ body }) => String(at(JSON.parse(body), "type")))
    const expected = [
      "job.completed",
      "job.processing",
      "recipient.accepted",
      "recipient.delivered",
      "recipient.sent"
    ]
    await eventually(
      async () => types(),
      (found) => found.length >= expected.length
    )
    expect(types().sort()).toEqual(expected)

    let sequence = 0
    for (const delivery of at1("/story").sort((a, b) => a.body.localeCompare(b.body))) {
      const event: unknown = JSON.parse(delivery.body)
      expect(Object.keys(Object(event))).toEqual(["id", "type", "created_at", "data"])
      expect(at(event, "data", "job_id")).toBe(jobId)
      const timestamp = header(delivery, "x-service-timestamp")
      expect(timestamp).toMatch(/^\d{10}$/)
      expect(header(delivery, "x-service-signature")).toBe(
        Signature.sign(secret, Number(timestamp), delivery.body)
      )
      expect(header(delivery, "webhook-id")).toBe(at(event, "id"))
      expect(header(delivery, "webhook-signature")).toBe(
        Signature.signStandard(secret, String(at(event, "id")), Number(timestamp), delivery.body)
      )
      expect(delivery.headers).not.toHaveProperty("traceparent")
      if (String(at(event, "type")).startsWith("recipient.")) {
        const grown = Number(at(event, "data", "sequence"))
        expect(grown).toBeGreaterThan(0)
        sequence = Math.max(sequence, grown)
      }
    }
    expect(sequence).toBeGreaterThanOrEqual(3)
  })

  it("are retried with the same id and bytes, and every attempt is listed", async () => {
    const owner = await tenant(host)
    failures.set("/flaky", 1)
    const created = await host.admin(`/accounts/${owner.accountId}/webhooks`, { url: `${base}/flaky` })
    const webhookId = String(at(created.json, "webhook", "id"))
    const tested = await host.admin(`/webhooks/${webhookId}/test`, undefined, "POST")
    expect(tested.status, tested.text).toBeLessThan(300)
    await eventually(
      async () => at1("/flaky"),
      (found) => found.length >= 2,
      12_000
    )
    const [first, second] = at1("/flaky")
    expect(second?.body).toBe(first?.body)
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"])
    const deliveries = await eventually(
      () => host.admin(`/webhooks/${webhookId}/deliveries`),
      ({ json }) => items(json, "deliveries", 0, "attempts").length === 2
    )
    const attempts = items(deliveries.json, "deliveries", 0, "attempts")
    expect(attempts.map((attempt) => at(attempt, "status"))).toEqual([500, 200])
  })

  it("disable an endpoint that answers 410, lose nothing, and resume when it is enabled", async () => {
    const owner = await tenant(host)
    const created = await host.admin(`/accounts/${owner.accountId}/webhooks`, { url: `${base}/gone` })
    const webhookId = String(at(created.json, "webhook", "id"))
    await host.admin(`/webhooks/${webhookId}/test`, undefined, "POST")
    const disabled = await eventually(
      () => host.admin(`/accounts/${owner.accountId}/webhooks`),
      ({ json }) => at(json, "webhooks", 0, "enabled") === false
    )
    expect(at(disabled.json, "webhooks", 0, "enabled")).toBe(false)
    await host.admin(`/webhooks/${webhookId}/test`, undefined, "POST")
    const enabled = await host.admin(
      `/webhooks/${webhookId}`,
      { enabled: true, url: `${base}/back` },
      "PATCH"
    )
    expect(enabled.status, enabled.text).toBe(200)
    const back = await eventually(
      async () => at1("/back"),
      (found) => found.length >= 2
    )
    expect(back.length).toBeGreaterThanOrEqual(2)
  })

  it("are not registered for addresses inside, whatever the spelling", async () => {
    const owner = await tenant(host)
    for (const url of [
      "http://10.0.0.1/",
      "http://169.254.169.254/latest",
      "http://[::ffff:10.0.0.1]/",
      "http://0xa000001/",
      "ftp://example.com/",
      "https://user:pass@example.com/",
      "nonsense"
    ]) {
      const answer = await host.admin(`/accounts/${owner.accountId}/webhooks`, { url })
      expect([url, answer.status]).toEqual([url, 422])
      expect(at(answer.json, "errors", 0, "pointer")).toBe("/url")
    }
  })

  it("tell of sessions, templates, consents and replies to whoever subscribes", async () => {
    const owner = await tenant(host)
    await host.admin(`/accounts/${owner.accountId}/webhooks`, { url: `${base}/all`, events: ["*"] })
    await consent(host, owner.accountId, "34600000009")
    await owner.send(sendBody(owner.templateId, "34600000009"), "stop")
    await host.admin(`/sessions/${owner.sessionId}/disconnect`, undefined, "POST")
    await host.admin(`/sessions/${owner.sessionId}/connect`, undefined, "POST")
    const types = () => new Set(at1("/all").map(({ body }) => at(JSON.parse(body), "type")))
    const wanted = [
      "consent.granted",
      "message.received",
      "consent.revoked",
      "session.disconnected",
      "session.connected"
    ]
    const found = await eventually(
      async () => types(),
      (seen) => wanted.every((type) => seen.has(type))
    )
    expect([...found]).toEqual(expect.arrayContaining(wanted))
  })

  it("can be batched, limited and replayed, and their secrets changed, with errors that name the field", async () => {
    const owner = await tenant(host)
    const path = `/accounts/${owner.accountId}/webhooks`
    const created = await host.admin(path, {
      url: `${base}/settings`,
      events: ["webhook.*"],
      deliveries_per_second: 50,
      batch_recipients: true
    })
    expect(created.json).toMatchObject({
      webhook: {
        deliveries_per_second: 50,
        batch_recipients: true,
        failing_since: null,
        secrets: [{ expires_at: null }]
      }
    })
    const id = String(at(created.json, "webhook", "id"))
    const changed = await host.admin(`/webhooks/${id}`, { deliveries_per_second: null }, "PATCH")
    expect(changed.json).toMatchObject({ webhook: { deliveries_per_second: null, batch_recipients: true } })
    for (const [body, pointer] of [
      [{ deliveries_per_second: 0 }, "/deliveries_per_second"],
      [{ deliveries_per_second: 1e9 }, "/deliveries_per_second"],
      [{ batch_recipients: "yes" }, "/batch_recipients"],
      [{ events: ["recipient.batch"] }, "/events/0"]
    ] as const) {
      const refused = await host.admin(`/webhooks/${id}`, body, "PATCH")
      expect([refused.status, at(refused.json, "errors", 0, "pointer")]).toEqual([422, pointer])
    }

    const rotated = await host.admin(`/webhooks/${id}/rotate`, { overlap_seconds: 604_800 })
    expect(rotated.json).toMatchObject({
      webhook: { secrets: [{ expires_at: null }, { expires_at: expect.any(String) }] }
    })
    const tooLong = await host.admin(`/webhooks/${id}/rotate`, { overlap_seconds: 604_801 })
    expect([tooLong.status, at(tooLong.json, "errors", 0, "pointer")]).toEqual([422, "/overlap_seconds"])

    await host.admin(`/webhooks/${id}/test`, undefined, "POST")
    const [first] = await eventually(
      async () => at1("/settings"),
      (found) => found.length >= 1
    )
    const headers = { ...first?.headers }
    for (const secret of [created, rotated].map(({ json }) => String(at(json, "secret")))) {
      expect(verifyWebhook({ body: first?.body ?? "", headers, secrets: secret }).type).toBe("webhook.test")
    }

    const since = "2020-01-01T00:00:00Z"
    for (const which of ["failed", "missing"]) {
      const replayed = await host.admin(`/webhooks/${id}/replay`, { since, which })
      expect(replayed.json).toEqual({ ok: true, replayed: 0 })
    }
    const unknown = await host.admin(`/webhooks/${id}/replay`, { since, which: "all" })
    expect([unknown.status, at(unknown.json, "errors", 0, "pointer")]).toEqual([422, "/which"])
    const { json } = await eventually(
      () => host.admin(`/webhooks/${id}/deliveries`),
      (answer) => at(answer.json, "deliveries", 0, "status") === "delivered"
    )
    const again = await host.admin(
      `/deliveries/${String(at(json, "deliveries", 0, "id"))}/replay`,
      undefined,
      "POST"
    )
    expect(again.json).toMatchObject({ delivery: { status: "pending" } })
    await eventually(
      async () => at1("/settings"),
      (found) => found.length >= 2
    )
    expect(at1("/settings")[1]?.body).toBe(first?.body)
  })
})
