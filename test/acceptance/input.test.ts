/** Bad input: every field, header, path and query answers a 4xx problem that names it; never a 5xx, never a secret. */
import { connect } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Answer, Tenant, TestHost } from "../support/TestHost.ts"
import { at, consent, items, sendBody, start, template, tenant } from "../support/TestHost.ts"

let host: TestHost
let owner: Tenant
beforeAll(async () => {
  host = await start()
  owner = await tenant(host)
  await consent(host, owner.accountId, "34600000100")
}, 30_000)
afterAll(() => host.stop())

const path = "/api/v1/template-messages/send"
let keys = 0
const raw = (content: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  host.request(path, {
    headers: { ...owner.credentials, "idempotency-key": `k${keys++}`, ...headers },
    raw: content
  })

const pointers = (answer: Answer) => items(answer.json, "errors").map((fault) => at(fault, "pointer"))
const codes = (answer: Answer) => items(answer.json, "errors").map((fault) => at(fault, "code"))

const expectProblem = (answer: Answer, status: number, code: string) => {
  expect([answer.status, at(answer.json, "code")], answer.text).toEqual([status, code])
  expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/)
  expect(answer.headers.get("x-request-id")).toBe(at(answer.json, "request_id"))
}

describe("the body", () => {
  it("that is not JSON is invalid_json", async () => {
    for (const content of ["", "{", "nonsense", '{"a":1,}', "\ufeff{}", "[1", '{"template_id":01}']) {
      const answer = await raw(content)
      expectProblem(answer, 422, "invalid_request")
      expect(codes(answer), content).toEqual(["invalid_json"])
    }
  })

  it("that is not UTF-8 is invalid_json", async () => {
    const answer = await raw(new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]))
    expectProblem(answer, 422, "invalid_request")
    expect(codes(answer)).toEqual(["invalid_json"])
  })

  it("with a member given twice is refused at that member, and records nothing (contract.md §10)", async () => {
    const record = '{"phone":"34600000177","source":"x","status":"revoked","status":"granted"}'
    const refused = await host.request(`/admin/v1/accounts/${owner.accountId}/consents`, {
      headers: { authorization: `Bearer ${host.adminToken}` },
      raw: `{"consents":[${record}]}`
    })
    expectProblem(refused, 422, "invalid_request")
    expect([codes(refused), pointers(refused)]).toEqual([["invalid_value"], ["/consents/0/status"]])
    const { json } = await host.admin(`/accounts/${owner.accountId}/consents?phone=34600000177`)
    expect(items(json, "history")).toEqual([])
    const unread = await raw('{"template_id":1,"template\\u005fid":2}')
    expect(pointers(unread), unread.text).toEqual(["/template_id"])
  })

  it("that is nested ten thousand levels deep is refused", async () => {
    const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`
    expectProblem(await raw(deep), 422, "invalid_request")
    expectProblem(await raw(`{"template_id":1,"recipients":${deep}}`), 422, "invalid_request")
    expectProblem(
      await raw(`${'{"variables":'.repeat(10_000)}1${"}".repeat(10_000)}`),
      422,
      "invalid_request"
    )
  })

  it("over 1 MiB is payload_too_large", async () => {
    const body = sendBody(owner.templateId, "34600000100")
    expectProblem(
      await raw(JSON.stringify({ ...body, padding: "x".repeat(1024 * 1024) })),
      413,
      "payload_too_large"
    )
  })

  it("of another media type is unsupported_media_type", async () => {
    for (const type of ["text/plain", "application/xml", "application/x-www-form-urlencoded"]) {
      expectProblem(await raw("{}", { "content-type": type }), 415, "unsupported_media_type")
    }
    const answer = await raw(JSON.stringify(sendBody(owner.templateId, "34600000100")), {
      "content-type": "application/json; charset=utf-8"
    })
    expect(answer.status, answer.text).toBe(202)
  })

  it("of another shape names each field", async () => {
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [null, ""],
      [[], ""],
      ["text", ""],
      [{ recipients: [{ phone: "34600000100" }] }, "/template_id"],
      [{ template_id: 1.5, recipients: [{ phone: "34600000100" }] }, "/template_id"],
      [{ template_id: "1", recipients: [{ phone: "34600000100" }] }, "/template_id"],
      [{ template_id: 1 }, "/recipients"],
      [{ template_id: 1, recipients: [] }, "/recipients"],
      [{ template_id: 1, recipients: {} }, "/recipients"],
      [{ template_id: 1, recipients: Array(251).fill({ phone: "34600000100" }) }, "/recipients"],
      [{ template_id: 1, recipients: [null] }, "/recipients/0"],
      [{ template_id: 1, recipients: [{ phone: 34600000100 }] }, "/recipients/0/phone"],
      [
        { template_id: 1, recipients: [{ phone: "34600000100", external_id: 5 }] },
        "/recipients/0/external_id"
      ],
      [{ template_id: 1, recipients: [{ phone: "34600000100", variables: [] }] }, "/recipients/0/variables"],
      [{ template_id: 1, currency: 7, recipients: [{ phone: "34600000100" }] }, "/currency"],
      [
        { template_id: 1, variables: { "body.1": null }, recipients: [{ phone: "34600000100" }] },
        "/variables/body.1"
      ]
    ]
    for (const [body, pointer] of cases) {
      const answer = await owner.send(body, `shape-${keys++}`)
      expectProblem(answer, 422, "invalid_request")
      expect(pointers(answer), JSON.stringify(body).slice(0, 100)).toContain(pointer)
    }
  })
})

describe("variables", () => {
  const variables = (own: unknown) => ({
    template_id: owner.templateId,
    recipients: [{ phone: "34600000100", variables: own }]
  })
  const complete = { "header.1": "A", "body.1": "B", "body.2": "C", "button.0.1": "D" }

  it("named __proto__ and constructor are just unknown", async () => {
    const text = JSON.stringify(variables(complete)).replace(
      '"header.1"',
      '"__proto__":"x","constructor":"y","header.1"'
    )
    const answer = await raw(text)
    expectProblem(answer, 422, "invalid_request")
    expect(codes(answer)).toEqual(["variable_unknown", "variable_unknown"])
    expect(pointers(answer)).toEqual([
      "/recipients/0/variables/__proto__",
      "/recipients/0/variables/constructor"
    ])
  })

  it("that are missing, unknown, blank or malformed are all told at once", async () => {
    const answer = await owner.send(
      variables({ "header.1": " ", "body.2": "two\nlines", "button.0.1": "../../x", "body.9": "?" }),
      `v${keys++}`
    )
    expectProblem(answer, 422, "invalid_request")
    const found = items(answer.json, "errors").map((fault) => `${at(fault, "code")} ${at(fault, "pointer")}`)
    expect(found.sort()).toEqual([
      "variable_invalid /recipients/0/variables/body.2",
      "variable_invalid /recipients/0/variables/button.0.1",
      "variable_invalid /recipients/0/variables/header.1",
      "variable_missing /recipients/0/variables/body.1",
      "variable_unknown /recipients/0/variables/body.9"
    ])
  })

  it("with NUL, lone surrogates, or too long are refused", async () => {
    for (const value of ["a\u0000b", "\ud800", "x".repeat(1025), "a     b", "tab\there"]) {
      const answer = await owner.send(variables({ ...complete, "body.1": value }), `n${keys++}`)
      expectProblem(answer, 422, "invalid_request")
      expect(pointers(answer)).toContain("/recipients/0/variables/body.1")
    }
  })
})

describe("recipients", () => {
  it("with a bad phone are told the corrected form", async () => {
    for (const [phone, corrected] of [
      ["+34600000100", "34600000100"],
      ["34 600-000.100", "34600000100"]
    ] as const) {
      const answer = await owner.send(sendBody(owner.templateId, phone), `p${keys++}`)
      expectProblem(answer, 422, "invalid_request")
      expect(codes(answer)).toEqual(["recipient_invalid"])
      expect(at(answer.json, "errors", 0, "message")).toContain(corrected)
    }
    for (const phone of ["", "0", "abc", "1234567890123456", "99912345678", "34600\u0000", "٣٤٦٠٠٠٠٠"]) {
      const answer = await owner.send(sendBody(owner.templateId, phone), `p${keys++}`)
      expectProblem(answer, 422, "invalid_request")
      expect(pointers(answer)).toContain("/recipients/0/phone")
    }
  })

  it("that repeat another with the same values are duplicates; with other values they are not", async () => {
    const body = sendBody(owner.templateId, "34600000100")
    const [first] = body.recipients
    const answer = await owner.send({ ...body, recipients: [first, first] }, `d${keys++}`)
    expectProblem(answer, 422, "invalid_request")
    expect(codes(answer)).toEqual(["recipient_duplicate"])
    const differing = [first, { ...first, variables: { "body.1": "Other" } }]
    expect((await owner.send({ ...body, recipients: differing }, `d${keys++}`)).status).toBe(202)
  })
})

describe("headers, paths and queries", () => {
  it("name what is wrong", async () => {
    const body = sendBody(owner.templateId, "34600000100")
    const missing = await owner.send(body)
    expectProblem(missing, 422, "invalid_request")
    expect(at(missing.json, "errors", 0)).toMatchObject({
      pointer: "/headers/Idempotency-Key",
      code: "required"
    })
    for (const key of ["", "a b", "x".repeat(129), "k1, k2"]) {
      const answer = await owner.send(body, key)
      expectProblem(answer, 422, "invalid_request")
      expect(pointers(answer)).toEqual(["/headers/Idempotency-Key"])
    }
    expect((await owner.send(body, "x".repeat(128))).status).toBe(202)
    for (const [target, pointer] of [
      ["/api/v1/templates/abc", "/path/templateId"],
      ["/api/v1/templates/1.5", "/path/templateId"],
      ["/api/v1/template-messages/not-a-uuid", "/path/jobId"],
      ["/api/v1/template-messages?limit=101", "/query/limit"],
      ["/api/v1/template-messages?limit=x", "/query/limit"],
      ["/api/v1/template-messages?created_after=yesterday", "/query/created_after"],
      [
        "/api/v1/template-messages?created_after=2026-02-01T00:00:00Z&created_before=2026-01-01T00:00:00Z",
        "/query/created_after"
      ],
      ["/api/v1/templates?cursor=%00", "/query/cursor"]
    ] as const) {
      const answer = await owner.get(target)
      expectProblem(answer, 422, "invalid_request")
      expect(pointers(answer), target).toEqual([pointer])
    }
    expectProblem(await owner.get("/api/v1/templates/999999"), 404, "not_found")
  })

  it("unknown routes, wrong methods and broken escapes are problems too", async () => {
    expectProblem(await owner.get("/nowhere"), 404, "not_found")
    expectProblem(await owner.get("/api/v1/template-messages/%zz"), 422, "invalid_request")
    const wrong = await owner.get("/api/v1/template-messages/send")
    expect([404, 405, 422]).toContain(wrong.status)
    const patched = await host.request("/api/v1/connection", { method: "DELETE" })
    expectProblem(patched, 405, "method_not_allowed")
    expect(patched.headers.get("allow")).toContain("GET")
  })

  it("keep a caller's X-Request-Id when it is visible ASCII, and make one otherwise", async () => {
    const kept = await host.request("/api/v1/connection", { headers: { "x-request-id": "mine-1" } })
    expect(kept.headers.get("x-request-id")).toBe("mine-1")
    const made = await host.request("/api/v1/connection", { headers: { "x-request-id": "x".repeat(129) } })
    expect(made.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/)
  })

  it("survive garbage on the socket", async () => {
    const { port } = new URL(host.base)
    const socket = connect(Number(port), "127.0.0.1")
    socket.on("error", () => undefined)
    socket.resume()
    socket.end("GARBAGE \u0000\r\n\r\n")
    await new Promise((resolve) => socket.once("close", resolve))
    expect((await host.request("/health/live")).status).toBe(200)
  })
})

describe("secrets", () => {
  it("are in no answer and no log line", async () => {
    const canary = "sk_CanaryCanaryCanaryCanaryCanaryCanaryCanary1_abcdef"
    const answer = await host.request("/api/v1/connection", {
      headers: { "x-public-key": owner.publicKey, "x-secret-key": canary }
    })
    expectProblem(answer, 401, "invalid_credentials")
    const shaped = await owner.send({ template_id: canary, recipients: [{ phone: canary }] }, `c${keys++}`)
    expectProblem(shaped, 422, "invalid_request")
    expect(answer.text + shaped.text).not.toContain("Canary")
    expect(host.output()).not.toContain("Canary")
    expect(host.output()).not.toContain(owner.secretKey)
    expect(host.output()).not.toContain(host.adminToken)
  })
})

describe("templates and currencies", () => {
  it("that cannot be sent are told by their own codes", async () => {
    const imported = await host.admin(
      `/sessions/${owner.sessionId}/templates`,
      {
        templates: [
          { ...template, name: "pending", status: "PENDING" },
          {
            ...template,
            name: "place",
            components: [
              { type: "HEADER", format: "LOCATION" },
              { type: "BODY", text: "Hi" }
            ]
          }
        ]
      },
      "PUT"
    )
    const [pending, place] = items(imported.json, "templates").map((each) => Number(at(each, "template_id")))
    for (const [templateId, code] of [
      [pending, "template_not_approved"],
      [place, "template_unsupported"],
      [999_999, "template_not_found"],
      [-1, "template_not_found"]
    ] as const) {
      const answer = await owner.send(sendBody(templateId ?? 0, "34600000100"), `t${keys++}`)
      expectProblem(answer, 422, "invalid_request")
      expect(
        items(answer.json, "errors").find((fault) => at(fault, "pointer") === "/template_id")
      ).toMatchObject({ code })
    }
    const answer = await owner.send(
      { ...sendBody(owner.templateId, "34600000100"), currency: "XXX" },
      `t${keys++}`
    )
    expectProblem(answer, 422, "invalid_request")
    expect(items(answer.json, "errors")).toMatchObject([
      { pointer: "/currency", code: "currency_unsupported" }
    ])
  })
})

describe("the admin API", () => {
  it("names what is wrong, field by field", async () => {
    const cases: ReadonlyArray<readonly [string, string, unknown, string]> = [
      ["POST", "/accounts", {}, "/name"],
      ["POST", "/accounts", { name: " " }, "/name"],
      ["POST", "/accounts", { name: "a\u0000b" }, "/name"],
      ["POST", "/accounts", { name: "x", currency: "euro" }, "/currency"],
      ["POST", "/accounts", { name: "x", plan: { requests_per_minute: 0 } }, "/plan/requests_per_minute"],
      ["POST", "/accounts", { name: "x", plan: { features: ["magic"] } }, "/plan/features/0"],
      ["GET", "/accounts/nobody", undefined, "/path/id"],
      [
        "POST",
        `/accounts/${owner.accountId}/sessions`,
        { name: "x", provider: "sandbox", keywords: { opt_in: ["yes", "!?"] } },
        "/keywords/opt_in/1"
      ],
      ["POST", `/accounts/${owner.accountId}/sessions`, { name: "x", provider: "pigeon" }, "/provider"],
      ["POST", `/accounts/${owner.accountId}/sessions`, { name: "x", provider: "http" }, "/config/url"],
      ["PATCH", `/sessions/${owner.sessionId}`, { name: "" }, "/name"],
      [
        "PATCH",
        `/sessions/${owner.sessionId}`,
        { pacing: { messages_per_second: 0 } },
        "/pacing/messages_per_second"
      ],
      ["POST", `/sessions/${owner.sessionId}/keys`, { permissions: ["all"] }, "/permissions/0"],
      ["POST", `/keys/${owner.publicKey}/rotate`, { overlap_seconds: -1 }, "/overlap_seconds"],
      ["PUT", `/sessions/${owner.sessionId}/templates`, { templates: [{}] }, "/templates/0/name"],
      ["POST", `/accounts/${owner.accountId}/consents`, { consents: [] }, "/consents"],
      ["POST", `/accounts/${owner.accountId}/consents`, { consents: [{ phone: "1" }] }, "/consents/0/source"],
      [
        "POST",
        `/accounts/${owner.accountId}/webhooks`,
        { url: "https://a.example/", events: ["nope"] },
        "/events/0"
      ],
      ["PUT", "/rate-cards", { currency: "EUR", effective_from: "soon", prices: [] }, "/effective_from"],
      ["POST", "/rate-cards/import", { currency: "EUR", effective_from: "soon", csv: "" }, "/csv"],
      [
        "POST",
        "/rate-cards/import",
        {
          currency: "EUR",
          effective_from: "2026-10-01T00:00:00Z",
          csv: "Market,Currency,Marketing\nSpain,EUR,a lot"
        },
        "/csv/rows/2/Marketing"
      ],
      ["GET", "/jobs?has=nothing", undefined, "/query/has"]
    ]
    for (const [method, target, body, pointer] of cases) {
      const answer = await host.admin(target, body, method)
      expectProblem(answer, 422, "invalid_request")
      expect(pointers(answer), `${method} ${target}`).toContain(pointer)
    }
  })

  it("tells the faults of shape and of value in one refusal (contract.md §2)", async () => {
    const cases: ReadonlyArray<readonly [string, string, unknown, ReadonlyArray<string>]> = [
      [
        "POST",
        "/accounts",
        { name: "", currency: "euro", plan: { requests_per_minute: 0, foo: 1 }, x: 1 },
        ["/name", "/currency", "/plan/requests_per_minute", "/plan/foo", "/x"]
      ],
      [
        "PATCH",
        `/accounts/${owner.accountId}`,
        { name: "a\tb", currency: "", x: 1 },
        ["/name", "/currency", "/x"]
      ],
      [
        "POST",
        `/accounts/${owner.accountId}/sessions`,
        { name: " ", provider: "pigeon", keywords: { opt_out: ["!", "x".repeat(41)], stop: [] } },
        ["/name", "/keywords/opt_out/0", "/keywords/opt_out/1", "/keywords/stop", "/provider"]
      ],
      [
        "PATCH",
        `/sessions/${owner.sessionId}`,
        { name: "", pacing: { pair_interval_ms: 0 }, keywords: { opt_in: [""] } },
        ["/name", "/pacing/pair_interval_ms", "/keywords/opt_in/0"]
      ],
      [
        "POST",
        `/sessions/${owner.sessionId}/keys`,
        { name: "x".repeat(256), permissions: ["all"] },
        ["/name", "/permissions/0"]
      ],
      ["PATCH", `/keys/${owner.publicKey}`, { status: "gone", name: "\ud800" }, ["/status", "/name"]],
      [
        "PUT",
        "/rate-cards",
        { currency: "eur", effective_from: "soon", prices: [{ market: "34", category: "x", price: "1,5" }] },
        ["/currency", "/effective_from", "/prices/0/category", "/prices/0/price"]
      ]
    ]
    for (const [method, target, body, expected] of cases) {
      const answer = await host.admin(target, body, method)
      expectProblem(answer, 422, "invalid_request")
      expect(pointers(answer), `${method} ${target}`).toEqual(expected)
    }
  })

  it("records the consents that are valid and tells those that are not, item by item", async () => {
    const answer = await host.admin(`/accounts/${owner.accountId}/consents`, {
      consents: [
        { phone: "34600000900", source: "form" },
        { phone: "+34600000901", source: "form" },
        { phone: "34600000902", source: "form", occurred_at: "2999-01-01T00:00:00Z" }
      ]
    })
    expect(answer.status, answer.text).toBe(200)
    expect(items(answer.json, "results").map((each) => at(each, "ok"))).toEqual([true, false, false])
    expect(at(answer.json, "results", 1, "errors", 0, "pointer")).toBe("/consents/1/phone")
  })

  it("answers 404 for what is not there", async () => {
    const nobody = "01930000-0000-7000-8000-000000000000"
    for (const [method, target] of [
      ["GET", `/accounts/${nobody}`],
      ["GET", `/sessions/${nobody}`],
      ["POST", `/sessions/${nobody}/connect`],
      ["POST", "/keys/pk_nobody/revoke"],
      ["DELETE", `/webhooks/${nobody}`],
      ["POST", `/deliveries/${nobody}/replay`],
      ["GET", `/jobs/${nobody}`],
      ["POST", `/jobs/${nobody}/cancel`]
    ] as const) {
      expectProblem(await host.admin(target, undefined, method), 404, "not_found")
    }
  })
})
