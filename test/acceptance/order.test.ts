/** contract.md §2: one request broken in every way at once, mended one fault at a time, answers each refusal in turn. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Answer, Tenant, TestHost } from "../support/TestHost.ts"
import { at, consent, items, sendBody, start, tenant } from "../support/TestHost.ts"

let host: TestHost
beforeAll(async () => {
  host = await start()
}, 30_000)
afterAll(() => host.stop())

const phone = "34600000100"

interface Attempt {
  path: string
  method: string
  headers: Record<string, string>
  body: unknown
}

interface Step {
  readonly refusal: string
  readonly status: number
  readonly mend: (attempt: Attempt, owner: Tenant) => Promise<unknown> | unknown
}

const code = (answer: Answer): unknown => at(answer.json, "code")

const steps = (plan: (change: Record<string, unknown>) => Promise<unknown>): ReadonlyArray<Step> => [
  {
    refusal: "not_found",
    status: 404,
    mend: (attempt) => {
      attempt.path = "/api/v1/template-messages/send"
    }
  },
  {
    refusal: "method_not_allowed",
    status: 405,
    mend: (attempt) => {
      attempt.method = "POST"
    }
  },
  {
    refusal: "invalid_credentials",
    status: 401,
    mend: (attempt, owner) => {
      attempt.headers["x-secret-key"] = owner.secretKey
    }
  },
  {
    refusal: "rate_limited",
    status: 429,
    mend: () => plan({ requests_per_minute: 100_000 })
  },
  { refusal: "subscription_inactive", status: 402, mend: () => plan({ subscription: "active" }) },
  { refusal: "feature_unavailable", status: 402, mend: () => plan({ features: ["templates", "direct"] }) },
  {
    refusal: "insufficient_permission",
    status: 403,
    mend: (_, owner) =>
      host.admin(`/keys/${owner.publicKey}`, { permissions: ["messages:send", "jobs:read"] }, "PATCH")
  },
  {
    refusal: "session_disconnected",
    status: 409,
    mend: (_, owner) => host.admin(`/sessions/${owner.sessionId}/connect`, undefined, "POST")
  },
  {
    refusal: "unsupported_media_type",
    status: 415,
    mend: (attempt) => {
      attempt.headers["content-type"] = "application/json"
    }
  },
  {
    refusal: "invalid_request",
    status: 422,
    mend: (attempt, owner) => {
      attempt.headers["idempotency-key"] = "used"
      attempt.body = { ...sendBody(owner.templateId + 1000, "not a phone"), currency: "XXX" }
    }
  },
  {
    refusal: "idempotency_conflict",
    status: 409,
    mend: (attempt) => {
      attempt.headers["idempotency-key"] = "fresh"
    }
  },
  {
    refusal: "invalid_request",
    status: 422,
    mend: (attempt, owner) => {
      attempt.body = sendBody(owner.templateId, phone)
    }
  },
  { refusal: "consent_required", status: 403, mend: (_, owner) => consent(host, owner.accountId, phone) },
  { refusal: "quota_exceeded", status: 402, mend: () => plan({ daily_template_recipients: null }) },
  { refusal: "minimum_wait_active", status: 429, mend: () => plan({ minimum_wait_ms: 0 }) }
]

describe("the order of checks", () => {
  it("answers each refusal in turn and accepts what is wholly mended", async () => {
    const owner = await tenant(host, { permissions: ["messages:send"] })
    await consent(host, owner.accountId, "34600000101")
    expect((await owner.send(sendBody(owner.templateId, "34600000101"), "used")).status).toBe(202)

    const plan = (change: Record<string, unknown>) =>
      host.admin(`/accounts/${owner.accountId}`, { plan: change }, "PATCH")
    await plan({
      requests_per_minute: 1,
      subscription: "inactive",
      features: [],
      daily_template_recipients: 1,
      minimum_wait_ms: 3_600_000
    })
    await host.admin(`/keys/${owner.publicKey}`, { permissions: ["connection:read"] }, "PATCH")
    await host.admin(`/sessions/${owner.sessionId}/disconnect`, undefined, "POST")
    // Its allowance of one request a minute is gone.
    await owner.get("/api/v1/connection")

    const attempt: Attempt = {
      path: "/api/v1/template-messages/send/nowhere",
      method: "PUT",
      headers: {
        "x-public-key": owner.publicKey,
        "x-secret-key": "sk_wrong",
        "content-type": "text/plain",
        "idempotency-key": "not a key"
      },
      body: { template_id: "one", currency: "XXX", recipients: [{ phone: "+34 600" }, { phone: 7 }] }
    }
    const ask = () =>
      host.request(attempt.path, {
        method: attempt.method,
        headers: attempt.headers,
        raw: JSON.stringify(attempt.body)
      })

    for (const step of steps(plan)) {
      const answer = await ask()
      expect([answer.status, code(answer)], answer.text).toEqual([step.status, step.refusal])
      expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/)
      expect(at(answer.json, "ok")).toBe(false)
      expect(at(answer.json, "type")).toBe(`${host.base}/problems/${step.refusal}`)
      expect(at(answer.json, "request_id")).toBe(answer.headers.get("x-request-id"))
      await step.mend(attempt, owner)
    }
    const accepted = await ask()
    expect(accepted.status, accepted.text).toBe(202)
  })

  it("lists every fault of the shape at once, with what needs no look-up", async () => {
    const owner = await tenant(host)
    const answer = await owner.send(
      {
        template_id: "one",
        recipients: [{ phone: "+34 600 000 100" }, { phone: 7 }, {}],
        variables: { "body.1": 1 }
      },
      "a b"
    )
    expect(answer.status).toBe(422)
    const faults = items(answer.json, "errors").map((fault) => [at(fault, "pointer"), at(fault, "code")])
    expect(faults).toEqual(
      expect.arrayContaining([
        ["/headers/Idempotency-Key", "idempotency_key_invalid"],
        ["/template_id", "invalid_type"],
        ["/recipients/0/phone", "recipient_invalid"],
        ["/recipients/1/phone", "invalid_type"],
        ["/recipients/2/phone", "required"],
        ["/variables/body.1", "invalid_type"]
      ])
    )
  })

  it("lists 250 faulty recipients, and no more than 250 faults", async () => {
    const owner = await tenant(host)
    const recipients = Array.from({ length: 250 }, (_, index) => ({ phone: `+${index}` }))
    const answer = await owner.send({ template_id: owner.templateId, recipients }, "many")
    expect(answer.status).toBe(422)
    expect(items(answer.json, "errors")).toHaveLength(250)
  })
})
