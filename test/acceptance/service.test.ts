/** contract.md §A2.7, §4, §5, contract.md §2, §3: connection, templates, keys, limits, and what needs no credentials. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TestHost } from "../support/TestHost.ts"
import { at, items, start, template, tenant } from "../support/TestHost.ts"

let host: TestHost
beforeAll(async () => {
  host = await start()
}, 30_000)
afterAll(() => host.stop())

const endpoints: ReadonlyArray<readonly [string, string]> = [
  ["GET", "/api/v1/connection"],
  ["GET", "/api/v1/templates"],
  ["GET", "/api/v1/templates/1"],
  ["POST", "/api/v1/template-messages/estimate"],
  ["POST", "/api/v1/template-messages/send"],
  ["GET", "/api/v1/template-messages"],
  ["GET", "/api/v1/template-messages/01930000-0000-7000-8000-000000000000"],
  ["POST", "/api/v1/template-messages/01930000-0000-7000-8000-000000000000/cancel"],
  ["POST", "/api/public/test"],
  ["POST", "/api/public/messages/send"],
  ["GET", "/api/public/messages/01930000-0000-7000-8000-000000000001"]
]

describe("the endpoints", () => {
  it("answer 401 without credentials, with half of them, and for inactive and revoked keys alike", async () => {
    const owner = await tenant(host)
    const inactive = await tenant(host)
    await host.admin(`/keys/${inactive.publicKey}`, { status: "inactive" }, "PATCH")
    const revoked = await tenant(host)
    await host.admin(`/keys/${revoked.publicKey}/revoke`, undefined, "POST")
    for (const [method, path] of endpoints) {
      for (const headers of [
        {},
        { "x-public-key": owner.publicKey },
        { "x-secret-key": owner.secretKey },
        { "x-public-key": "pk_unknown", "x-secret-key": owner.secretKey },
        { "x-public-key": owner.publicKey, "x-secret-key": inactive.secretKey },
        inactive.credentials,
        revoked.credentials
      ]) {
        const answer = await host.request(path, { method, headers })
        expect([path, answer.status, at(answer.json, "code")]).toEqual([path, 401, "invalid_credentials"])
      }
    }
  })

  it("answer 409 with a disconnected session, every one", async () => {
    const owner = await tenant(host)
    await host.admin(`/sessions/${owner.sessionId}/disconnect`, undefined, "POST")
    for (const [method, path] of endpoints) {
      const answer = await host.request(path, { method, headers: owner.credentials })
      expect([path, answer.status, at(answer.json, "code")]).toEqual([path, 409, "session_disconnected"])
      expect(answer.headers.get("ratelimit-policy")).toMatch(/^"per-minute";q=\d+;w=60$/)
    }
    const tested = await owner.post("/api/public/test")
    expect(tested.json).toMatchObject({ ok: false, authenticated: true, connected: false })
    expect(typeof at(tested.json, "message")).toBe("string")
  })

  it("answer 403 to a key without the permission", async () => {
    const owner = await tenant(host, { permissions: [] })
    for (const [method, path] of endpoints.filter(([, path]) => path !== "/api/public/test")) {
      const answer = await host.request(path, { method, headers: owner.credentials })
      expect([path, answer.status, at(answer.json, "code")]).toEqual([path, 403, "insufficient_permission"])
    }
    expect((await owner.post("/api/public/test")).status).toBe(200)
  })
})

describe("connection and test", () => {
  it("keep a permission and a feature once, however often they are given", async () => {
    const owner = await tenant(host, { permissions: ["jobs:read", "jobs:read"] })
    expect(items((await owner.get("/api/v1/template-messages")).json, "jobs")).toEqual([])
    const twice = ["jobs:read", "direct:read", "jobs:read"]
    const changed = await host.admin(`/keys/${owner.publicKey}`, { permissions: twice }, "PATCH")
    expect(at(changed.json, "key", "permissions")).toEqual(["jobs:read", "direct:read"])
    const issued = await host.admin(`/sessions/${owner.sessionId}/keys`, { permissions: twice })
    expect(at(issued.json, "key", "permissions")).toEqual(["jobs:read", "direct:read"])
    const plan = { features: ["direct", "direct"] }
    const account = await host.admin(`/accounts/${owner.accountId}`, { plan }, "PATCH")
    expect(at(account.json, "account", "plan", "features"), account.text).toEqual(["direct"])
  })

  it("tell the session, the permissions and the limits", async () => {
    const owner = await tenant(host, { plan: { requests_per_minute: 120, minimum_wait_ms: 1000 } })
    const answer = await owner.get("/api/v1/connection")
    expect(answer.json).toMatchObject({
      ok: true,
      authenticated: true,
      connected: true,
      session: { id: owner.sessionId, name: "Sandbox", provider: "sandbox", state: "connected" },
      limits: { requests_per_minute: 120, minimum_wait_ms: 1000, recipients_per_request: 250 }
    })
    expect(items(answer.json, "permissions")).toHaveLength(7)
    expect(answer.headers.get("ratelimit-policy")).toBe('"per-minute";q=120;w=60')
    expect(answer.headers.get("ratelimit")).toMatch(/^"per-minute";r=119;t=\d+$/)
    const tested = await owner.post("/api/public/test")
    expect([tested.status, Object.keys(Object(tested.json))]).toEqual([
      200,
      ["ok", "authenticated", "connected", "message"]
    ])
  })

  it("are limited to the plan's requests per minute, exactly", async () => {
    const owner = await tenant(host, { plan: { requests_per_minute: 5 } })
    const statuses: Array<number> = []
    for (let index = 0; index < 7; index++) statuses.push((await owner.get("/api/v1/connection")).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    const limited = await owner.get("/api/v1/connection")
    expect(at(limited.json, "code")).toBe("rate_limited")
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
    expect(limited.headers.get("ratelimit")).toMatch(/^"per-minute";r=0;t=\d+$/)
  })
})

describe("templates", () => {
  it("list the approved ones with exactly the variables to be sent", async () => {
    const owner = await tenant(host)
    await host.admin(
      `/sessions/${owner.sessionId}/templates`,
      {
        templates: [
          { ...template, name: "pending_one", status: "PENDING" },
          {
            ...template,
            name: "promo",
            category: "MARKETING",
            components: [{ type: "BODY", text: "Hi {{first_name}}!" }],
            parameter_format: "NAMED"
          }
        ]
      },
      "PUT"
    )
    const answer = await owner.get("/api/v1/templates")
    expect(items(answer.json, "templates").map((each) => at(each, "name"))).toEqual([
      "order_confirmation",
      "promo"
    ])
    expect(at(answer.json, "next_cursor")).toBeNull()
    const filtered = await owner.get("/api/v1/templates?category=marketing")
    expect(items(filtered.json, "templates")).toHaveLength(1)
    const unknown = await owner.get("/api/v1/templates?category=bogus")
    expect([unknown.status, at(unknown.json, "errors", 0, "pointer")]).toEqual([422, "/query/category"])
    const detail = await owner.get(`/api/v1/templates/${owner.templateId}`)
    expect(items(detail.json, "template", "variables").map((each) => at(each, "key"))).toEqual([
      "header.1",
      "body.1",
      "body.2",
      "button.0.1"
    ])
    const stranger = await tenant(host)
    expect((await stranger.get(`/api/v1/templates/${owner.templateId}`)).status).toBe(404)
  })

  it("keep their id over a second import", async () => {
    const owner = await tenant(host)
    const again = await host.admin(
      `/sessions/${owner.sessionId}/templates`,
      { templates: [{ ...template, category: "MARKETING" }] },
      "PUT"
    )
    expect(at(again.json, "templates", 0, "template_id")).toBe(owner.templateId)
  })
})

describe("without credentials", () => {
  it("the description, the reference page, health and the problems are there", async () => {
    const description = await host.request("/openapi.json")
    expect(at(description.json, "info", "version")).toBe("1.0.0")
    expect(String(at(description.json, "openapi"))).toMatch(/^3\.1/)
    expect(at(description.json, "servers", 0, "url")).toBe(host.base)
    const paths = Object.keys(Object(at(description.json, "paths")))
    for (const [, path] of endpoints) {
      const known = path
        .replace(/\/1$/, "/{templateId}")
        .replace(/0193[0-9-]{31}0/, "{jobId}")
        .replace(/0193[0-9-]{31}1/, "{messageId}")
      expect(paths).toContain(known)
    }
    const docs = await host.request("/docs")
    expect(docs.headers.get("content-type")).toMatch(/^text\/html/)
    expect(docs.text).not.toMatch(/(src|href)="https?:\/\//)
    expect((await host.request("/health/live")).status).toBe(200)
    expect((await host.request("/health/ready")).status).toBe(200)
    expect((await host.request("/problems/consent_required")).status).toBe(200)
    expect((await host.request("/problems/nonsense")).status).toBe(404)
  })

  it("the admin API and the metrics are not", async () => {
    for (const path of ["/admin/v1/accounts", "/metrics"]) {
      expect((await host.request(path)).status).toBe(401)
      expect((await host.request(path, { headers: { authorization: "Bearer wrong" } })).status).toBe(401)
      expect(
        (await host.request(path, { headers: { authorization: `Bearer ${host.adminToken}` } })).status
      ).toBe(200)
    }
  })

  it("the admin API and the metrics take the token under its scheme, however that is written (RFC 9110 §11.1)", async () => {
    const status = async (authorization: string) =>
      (await host.request("/admin/v1/accounts", { headers: { authorization } })).status
    for (const scheme of ["bearer", "BEARER", "Bearer "])
      expect(await status(`${scheme} ${host.adminToken}`), scheme).toBe(200)
    for (const wrong of ["Basic ", "", "Bearer", "Bearer x", "Bearer  x"])
      expect(await status(`${wrong}${host.adminToken}`), wrong).toBe(401)
    expect(await status(`Bearer ${host.adminToken.toUpperCase()}`)).toBe(401)
    expect(await status("Bearer ")).toBe(401)
  })
})

describe("the start", () => {
  it("stops at a bad setting and names it", async () => {
    await expect(start({ PORT: "eighty" })).rejects.toThrow(/PORT/)
    await expect(start({ DATABASE_URL: "mysql://localhost" })).rejects.toThrow(/DATABASE_URL/)
    await expect(start({ SECRET_KEY: "short" })).rejects.toThrow(/SECRET_KEY/)
  }, 30_000)
})
