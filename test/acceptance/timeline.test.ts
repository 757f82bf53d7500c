/** The story of a message over a real socket (contract.md §12): for operators, and for the key that sent it. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Answer, TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../support/TestHost.ts"

let host: TestHost
let receiver: Server
beforeAll(async () => {
  host = await start({ WEBHOOK_ALLOWED_NETWORKS: "127.0.0.1/32" })
  receiver = createServer((request, response) => {
    request.resume()
    response.writeHead(202).end()
  }).listen(0, "127.0.0.1")
}, 30_000)
afterAll(async () => {
  receiver.close()
  await host.stop()
})

const kindsOf = ({ json }: Answer) => items(json, "timeline").map((each) => at(each, "kind"))

/** A recipient whose message was delivered, of an account with a webhook. */
const delivered = async (phone: string, name = "Ana") => {
  const owner = await tenant(host)
  await consent(host, owner.accountId, phone)
  const port = (receiver.address() as AddressInfo).port
  await host.admin(`/accounts/${owner.accountId}/webhooks`, {
    url: `http://127.0.0.1:${port}/in?token=hidden`
  })
  const body = sendBody(owner.templateId, phone)
  const sent = await owner.send(
    { ...body, recipients: [{ phone, variables: { "body.1": name } }] },
    "order-1"
  )
  const jobId = String(at(sent.json, "job_id"))
  const messageId = `${jobId.slice(0, -3)}001`
  const path = `/messages/${messageId}/timeline`
  await eventually(
    () => host.admin(path),
    (answer) =>
      at(answer.json, "message", "status") === "delivered" &&
      items(answer.json, "timeline").filter((each) => at(each, "answer") === 202).length >= 2
  )
  return { jobId, messageId, owner, path, requestId: sent.headers.get("x-request-id") }
}

describe("the story of a message", () => {
  it("is told to operators: who asked, which consent decided, attempts, receipts, webhooks, what may be done", async () => {
    const { jobId, messageId, owner, path, requestId } = await delivered("34600007000")
    const told = await host.admin(path)
    expect(told.status, told.text).toBe(200)
    expect(at(told.json, "message")).toMatchObject({
      message_id: messageId,
      job_id: jobId,
      phone: "34600007000",
      status: "delivered",
      account_id: owner.accountId,
      session: "Sandbox",
      template: { name: "order_confirmation" },
      content: { header: "Order A-1", body: "Hello Ana, it arrives today." }
    })
    const entries = items(told.json, "timeline")
    for (const entry of entries)
      expect(Object.keys(Object(entry))).toEqual(
        expect.arrayContaining(["at", "kind", "title", "text", "code", "ms", "process", "link"])
      )
    const [accepted] = entries
    expect(accepted).toMatchObject({
      kind: "accepted",
      key: owner.publicKey,
      request_id: requestId,
      link: `/admin/v1/jobs/${jobId}`
    })
    expect(new Set(kindsOf(told))).toEqual(new Set(["accepted", "consent", "attempt", "receipt", "webhook"]))
    // It went at once: its one attempt tells its time and its process, too.
    expect(entries.filter((each) => at(each, "kind") === "attempt")).toMatchObject([
      { ms: expect.any(Number), process: expect.any(String) }
    ])
    const webhook = entries.find((each) => at(each, "kind") === "webhook")
    expect(webhook).toMatchObject({ answer: 202, ms: expect.any(Number) })
    expect(told.text).not.toContain("hidden")
    const delivery = await host.admin(String(at(webhook, "link")).replace("/admin/v1", ""))
    expect(delivery.status).toBe(200)
    expect(items(told.json, "next").map((each) => [at(each, "action"), at(each, "allowed")])).toEqual([
      ["wait", true],
      ["retry", false],
      ["cancel", false]
    ])
  }, 30_000)

  it("is told to the key that sent it, without addresses and processes, and to no other key", async () => {
    const { jobId, messageId, owner } = await delivered("34600007001")
    const path = `/api/v1/messages/${messageId}/timeline`
    const told = await owner.get(path)
    expect([told.status, at(told.json, "message", "message_id")]).toEqual([200, messageId])
    expect(at(told.json, "timeline", 0)).toMatchObject({ link: `/api/v1/template-messages/${jobId}` })
    expect(told.text).not.toContain('"address"')
    expect(told.text).not.toContain("127.0.0.1")
    const stranger = await tenant(host)
    expect((await stranger.get(path)).status).toBe(404)
    const weak = await tenant(host, { permissions: ["messages:send"] })
    expect((await weak.get(path)).status).toBe(403)
    expect((await owner.get("/api/v1/messages/0190aaaa-0000-7000-8000-000000000001/timeline")).status).toBe(
      404
    )
    expect((await owner.get("/api/v1/messages/nothing/timeline")).status).toBe(422)
  }, 30_000)

  it("is told to operators who only read, and to none who only reads metrics", async () => {
    const { path } = await delivered("34600007002")
    const asking = async (role: string) => {
      const made = await host.admin("/operators", { name: `of-${role}`, role })
      const authorization = `Bearer ${String(at(made.json, "token"))}`
      return (await host.request(`/admin/v1${path}`, { headers: { authorization } })).status
    }
    expect([await asking("read"), await asking("metrics")]).toEqual([200, 403])
    const masked = await host.admin("/operators", { name: "masked", role: "read", mask_phones: true })
    const authorization = `Bearer ${String(at(masked.json, "token"))}`
    for (const accept of ["application/json", "text/markdown"]) {
      const told = await host.request(`/admin/v1${path}`, { headers: { authorization, accept } })
      expect(told.status).toBe(200)
      expect(told.text).toContain("+34 600 ··· 002")
      expect(told.text).not.toContain("34600007002")
    }
  }, 30_000)

  it("is told of a direct message, too", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600007003")
    const sent = await owner.post("/api/public/messages/send", { to: "34600007003", message: "Ready." })
    const messageId = String(at(sent.json, "messageId"))
    const told = await host.admin(`/messages/${messageId}/timeline`)
    expect(at(told.json, "message")).toMatchObject({ template: null, content: { body: "Ready." } })
    expect(items(told.json, "timeline").filter((each) => at(each, "kind") === "attempt")).toMatchObject([
      { ms: expect.any(Number), process: expect.any(String) }
    ])
    expect((await owner.get(`/api/v1/messages/${messageId}/timeline`)).status).toBe(200)
    const weak = await tenant(host, { permissions: ["direct:send", "jobs:read"] })
    await consent(host, weak.accountId, "34600007005")
    const hidden = await weak.post("/api/public/messages/send", { to: "34600007005", message: "Secret." })
    const path = `/api/v1/messages/${String(at(hidden.json, "messageId"))}/timeline`
    const told2 = await weak.get(path)
    expect([told2.status, at(told2.json, "message", "content", "body")]).toEqual([200, null])
    expect(told2.text).not.toContain("Secret.")
  }, 30_000)

  it("is text for a ticket where Markdown is asked for, of which people's words make nothing else", async () => {
    const name = "<b onclick=x> [a](http://evil.example) *Ana* `x` @all"
    const { messageId, owner } = await delivered("34600007004", name)
    const markdown = await owner.get(`/api/v1/messages/${messageId}/timeline`)
    expect(markdown.headers.get("content-type")).toContain("application/json")
    const told = await host.request(`/api/v1/messages/${messageId}/timeline`, {
      headers: { ...owner.credentials, accept: "text/markdown" }
    })
    expect(told.headers.get("content-type")).toBe("text/markdown; charset=utf-8")
    expect(told.text).toContain(`# Message ${messageId}`)
    expect(told.text).toContain("- To: 34600007004")
    expect(told.text).toMatch(/^- \d{4}-\S+Z \*\*Delivered\*\*/m)
    expect(told.text).toContain("- cancel: no. Its job has ended.")
    expect(told.text).not.toMatch(/<b|[^\\]\]\(http|[^\\]\*Ana|:\/\/evil|@all/)
    expect(told.text).toContain("\\*Ana\\*")
  }, 30_000)
})
