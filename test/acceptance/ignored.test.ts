/** contract.md §10 "Requests": nothing is ignored, every fault is told at once, cursors keep to their list. */
import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Answer, Tenant, TestHost } from "../support/TestHost.ts"
import { at, consent, items, sendBody, start, tenant } from "../support/TestHost.ts"

const phone = "34600000100"
let host: TestHost
let owner: Tenant
beforeAll(async () => {
  host = await start()
  owner = await tenant(host)
  await consent(host, owner.accountId, phone)
}, 30_000)
afterAll(() => host.stop())

const path = "/api/v1/template-messages/send"
const faults = (answer: Answer) =>
  items(answer.json, "errors").map((fault) => `${at(fault, "code")} ${at(fault, "pointer")}`)

const refused = (answer: Answer, ...expected: ReadonlyArray<string>) => {
  expect([answer.status, at(answer.json, "code")], answer.text).toEqual([422, "invalid_request"])
  expect(faults(answer).sort()).toEqual([...expected].sort())
}

describe("a name that is not known", () => {
  it("does not record a revocation as a grant", async () => {
    const consents = [{ phone: "34600000177", source: "form", staus: "revoked" }]
    const answer = await host.admin(`/accounts/${owner.accountId}/consents`, { consents })
    refused(answer, "unknown_field /consents/0/staus")
    expect(at(answer.json, "errors", 0, "message")).toContain("Did you mean `status`?")
    const state = await host.admin(`/accounts/${owner.accountId}/consents?phone=34600000177`)
    expect(items(state.json, "history")).toEqual([])
  })

  it("does not issue a key with every permission", async () => {
    const before = await host.admin(`/sessions/${owner.sessionId}/keys`)
    const answer = await host.admin(`/sessions/${owner.sessionId}/keys`, { permission: ["jobs:read"] })
    refused(answer, "unknown_field /permission")
    expect(at(answer.json, "errors", 0, "message")).toContain("`permissions`")
    expect((await host.admin(`/sessions/${owner.sessionId}/keys`)).text).toBe(before.text)
  })

  it("does not leave a leaked secret alive", async () => {
    const answer = await host.admin(`/keys/${owner.publicKey}/rotate`, { overlap: 0 })
    refused(answer, "unknown_field /overlap")
    expect(at(answer.json, "errors", 0, "message")).toContain("`overlap_seconds`")
  })

  it("does not send at once what was to be sent later, or not at all", async () => {
    const body = { ...sendBody(owner.templateId, phone), dry_run: true, deliver_at: "2099-01-01T00:00:00Z" }
    refused(await owner.send(body, "later"), "unknown_field /dry_run", "unknown_field /deliver_at")
    expect(items((await owner.get("/api/v1/template-messages")).json, "jobs")).toEqual([])
    // It left its key free.
    expect((await owner.send(sendBody(owner.templateId, phone), "later")).status).toBe(202)
  })

  it("does not answer everything where a part was asked for", async () => {
    for (const [list, name] of [
      ["/api/v1/template-messages", "state"],
      ["/api/v1/templates", "approved"],
      ["/api/v1/connection", "verbose"],
      ["/health/live", "probe"],
      ["/openapi.json", "format"]
    ] as const)
      refused(await owner.get(`${list}?${name}=x`), `unknown_field /query/${name}`)
    refused(await host.admin(`/jobs?account_id=${owner.accountId}&phone=1`), "unknown_field /query/phone")
    refused(
      await owner.get("/api/v1/template-messages?status=queued&status=failed"),
      "invalid_value /query/status"
    )
  })

  it("is no part of a session's configuration", async () => {
    const config = { url: "https://gateway.example/send", secret: "0123456789abcdef0123", timeout: 5 }
    const answer = await host.admin(`/accounts/${owner.accountId}/sessions`, {
      name: "Gateway",
      provider: "http",
      config
    })
    refused(answer, "unknown_field /config/timeout")
    expect(at(answer.json, "errors", 0, "message")).toContain("`timeout_ms`")
    const changed = await host.admin(`/sessions/${owner.sessionId}`, { config: { speed: 1 } }, "PATCH")
    refused(changed, "unknown_field /config/speed")
  })

  it("may stand in a platform's template and in variables, which judge their own names", async () => {
    const body = sendBody(owner.templateId, phone)
    const answer = await owner.send({ ...body, variables: { ...body.variables, constructor: "x" } }, "own")
    refused(answer, "variable_unknown /variables/constructor")
  })
})

describe("every fault", () => {
  it("of header, query and JSON is told at once", async () => {
    const answer = await host.request(`${path}?explain=true&explain=false`, {
      headers: { ...owner.credentials, "idempotency-key": "a b" },
      raw: '{"template_id": 1,'
    })
    refused(
      answer,
      "idempotency_key_invalid /headers/Idempotency-Key",
      "invalid_value /query/explain",
      "unknown_field /query/explain",
      "invalid_json "
    )
  })

  it("of the template is told with those of the shape, as far as the body can be read", async () => {
    const answer = await owner.send(
      {
        template_id: owner.templateId,
        currency: "XXX",
        dry_run: true,
        variables: { "header.1": "A", "body.2": "two\nlines", "button.0.1": "A" },
        recipients: [
          { phone, name: "Ana" },
          { phone: "+34 600 000 101", variables: { "body.1": "B", "body.9": "?" } },
          { phone: 7, variables: { "body.1": "C" } },
          { phone: "34600000103", variables: { "body.1": 5 } },
          { phone: "34600000104", variables: { "body.1": "D" }, external_id: "1" },
          { phone: "34600000104", variables: { "body.1": "D" }, external_id: "2" },
          null
        ]
      },
      "every"
    )
    refused(
      answer,
      "unknown_field /dry_run",
      "unknown_field /recipients/0/name",
      "invalid_type /recipients/2/phone",
      "invalid_type /recipients/3/variables/body.1",
      "invalid_type /recipients/6",
      "currency_unsupported /currency",
      "variable_invalid /variables/body.2",
      "variable_missing /recipients/0/variables/body.1",
      "recipient_invalid /recipients/1/phone",
      "variable_unknown /recipients/1/variables/body.9",
      "recipient_duplicate /recipients/5"
    )
  })

  it("of an unknown template is told with those of the shape, for an estimate, too", async () => {
    const body = { template_id: 999_999, recipients: [{ phone: "1" }], currency: 5, when: "now" }
    const answer = await owner.post("/api/v1/template-messages/estimate?explain=yes", body)
    refused(
      answer,
      "invalid_value /query/explain",
      "invalid_type /currency",
      "unknown_field /when",
      "template_not_found /template_id",
      "recipient_invalid /recipients/0/phone"
    )
  })

  it("of a rendered text is told for each recipient", async () => {
    const body = sendBody(owner.templateId, phone, "34600000101")
    const recipients = body.recipients.map((each) => ({ ...each, variables: { "body.1": "x".repeat(1020) } }))
    const answer = await owner.send({ ...body, recipients }, "rendered")
    expect(answer.status).toBe(422)
    expect(new Set(faults(answer).map((each) => each.split("/")[2]))).toEqual(new Set(["0", "1"]))
  })

  it("of the shape is told before the idempotency key is looked at", async () => {
    const body = sendBody(owner.templateId, phone)
    expect((await owner.send(body, "first")).status).toBe(202)
    refused(await owner.send({ ...body, more: 1 }, "first"), "unknown_field /more")
    expect((await owner.send(body, "first")).headers.get("idempotency-replayed")).toBe("true")
  })
})

describe("a cursor", () => {
  it("goes on in its own list alone, and tells no position", async () => {
    const other = await tenant(host)
    for (const each of [owner, other]) {
      await consent(host, each.accountId, phone)
      for (const key of ["c1", "c2", "c3"])
        expect((await each.send(sendBody(each.templateId, phone), key)).status).toBe(202)
    }
    const list = "/api/v1/template-messages"
    const first = await owner.get(`${list}?limit=2`)
    const cursor = String(at(first.json, "next_cursor"))
    const second = await owner.get(`${list}?limit=1&cursor=${cursor}`)
    expect(second.status, second.text).toBe(200)
    const ids = [...items(first.json, "jobs"), ...items(second.json, "jobs")].map((job) => at(job, "job_id"))
    expect(new Set(ids).size).toBe(3)
    expect(Buffer.from(cursor, "base64url").toString("latin1")).not.toMatch(/^\w?\d+$/)

    const { accountId, sessionId } = owner
    const jobs = await host.admin(`/jobs?account_id=${accountId}&limit=1`)
    const sessions = await host.admin(`/accounts?limit=1`)
    const asked = [
      await other.get(`${list}?cursor=${cursor}`),
      await owner.get(`${list}?status=completed&cursor=${cursor}`),
      await owner.get(`/api/v1/templates?cursor=${cursor}`),
      await owner.get(`${list}?cursor=${Buffer.from("p1").toString("base64url")}`),
      await owner.get(`${list}?cursor=${"A".repeat(48)}`),
      await host.admin(`/jobs?account_id=${accountId}&cursor=${cursor}`),
      await host.admin(`/jobs?account_id=${other.accountId}&cursor=${at(jobs.json, "next_cursor")}`),
      await host.admin(`/sessions/${sessionId}/keys?cursor=${at(sessions.json, "next_cursor")}`)
    ]
    for (const answer of asked) refused(answer, "invalid_value /query/cursor")
  })

  it("of a job's results keeps to the job and its filter", async () => {
    const phones = Array.from({ length: 3 }, (_, index) => `3460000020${index}`)
    await consent(host, owner.accountId, ...phones)
    const jobOf = async (key: string) =>
      `/api/v1/template-messages/${at((await owner.send(sendBody(owner.templateId, ...phones), key)).json, "job_id")}`
    const [job, twin] = [await jobOf("r1"), await jobOf("r2")]
    const page = await owner.get(`${job}?limit=2`)
    const cursor = String(at(page.json, "job", "next_cursor"))
    expect(items((await owner.get(`${job}?cursor=${cursor}`)).json, "job", "results")).toHaveLength(1)
    refused(await owner.get(`${twin}?cursor=${cursor}`), "invalid_value /query/cursor")
    refused(await owner.get(`${job}?recipient_status=failed&cursor=${cursor}`), "invalid_value /query/cursor")
  })
})

describe("HTTP", () => {
  it("401 says how to prove who one is (RFC 9110 §11.6.1)", async () => {
    const challenge = (answer: Answer) => [answer.status, answer.headers.get("www-authenticate")]
    expect(challenge(await host.request("/api/v1/connection"))).toEqual([
      401,
      'ApiKey realm="api", headers="x-public-key x-secret-key"'
    ])
    const bearer = [401, 'Bearer realm="admin"']
    expect(challenge(await host.request("/admin/v1/accounts"))).toEqual(bearer)
    expect(challenge(await host.request("/metrics"))).toEqual(bearer)
    const session = await host.admin(`/accounts/${owner.accountId}/sessions`, {
      name: "Gateway",
      provider: "http",
      config: { url: "https://gateway.example/send", secret: "0123456789abcdef0123" }
    })
    const hook = await host.request(`/hooks/http/${at(session.json, "session", "id")}`, { body: {} })
    expect(challenge(hook)).toEqual([401, 'Signature realm="hooks"'])
  })

  it("a target in the absolute form is served", async () => {
    const { port } = new URL(host.base)
    const ask = (target: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), "127.0.0.1")
        let text = ""
        socket.on("data", (chunk) => {
          text += chunk
        })
        socket.on("error", reject)
        socket.on("close", () => resolve(text))
        socket.write(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`)
      })
    for (const target of [
      `${host.base}/health/live`,
      "http://elsewhere.example/health/live",
      "HTTP://x/health/live"
    ])
      expect(await ask(target), target).toMatch(/^HTTP\/1\.1 200 /)
    expect(await ask(`${host.base}/health/live?x=1`)).toMatch(/^HTTP\/1\.1 422 [\s\S]*\/query\/x/)
    expect(await ask(host.base)).toMatch(/^HTTP\/1\.1 302 /)
    expect(await ask(`${host.base}?x=1`)).toMatch(/^HTTP\/1\.1 422 [\s\S]*\/query\/x/)
    expect(await ask(`${host.base}/nothing?x=1`)).toMatch(/^HTTP\/1\.1 404 /)
    expect(await ask("ftp://127.0.0.1/health/live")).toMatch(/^HTTP\/1\.1 404 /)
  })
})
