/** contract.md §10: times, lengths, blank texts and media URLs are judged alike wherever a request has one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { inside } from "../../packages/core/test/http/Inside.ts"
import type { Answer, Tenant, TestHost } from "../support/TestHost.ts"
import { at, consent, items, sendBody, start, tenant } from "../support/TestHost.ts"

let host: TestHost
let owner: Tenant
beforeAll(async () => {
  host = await start()
  owner = await tenant(host)
  await consent(host, owner.accountId, "34600000100")
}, 30_000)
afterAll(() => host.stop())

const pointers = (answer: Answer) => items(answer.json, "errors").map((fault) => at(fault, "pointer"))

const estimate = (body: unknown) => owner.post("/api/v1/template-messages/estimate", body)
const direct = (message: string) => owner.post("/api/public/messages/send", { to: "34600000100", message })

describe("a time", () => {
  const never = [
    "2026-02-30T10:00:00Z",
    "2026-02-29T10:00:00Z",
    "2026-11-22T24:00:00Z",
    "2026-11-22T10:60:00Z",
    "2026-11-22T10:00:00+24:00",
    "2026-11-22"
  ]

  it("that does not exist is refused wherever one is read", async () => {
    const webhook = await host.admin(`/accounts/${owner.accountId}/webhooks`, { url: "https://a.example/" })
    const webhookId = String(at(webhook.json, "webhook", "id"))
    const price = { market: "*", category: "utility", price: "1" }
    for (const time of never) {
      const query = encodeURIComponent(time)
      const card = { currency: "EUR", effective_from: time }
      const refused: ReadonlyArray<readonly [Answer, string]> = [
        [await owner.get(`/api/v1/template-messages?created_after=${query}`), "/query/created_after"],
        [await owner.get(`/api/v1/template-messages?created_before=${query}`), "/query/created_before"],
        [
          await host.admin(`/jobs?account_id=${owner.accountId}&created_after=${query}`),
          "/query/created_after"
        ],
        [await host.admin(`/webhooks/${webhookId}/replay`, { since: time }), "/since"],
        [await host.admin("/rate-cards", { ...card, prices: [price] }, "PUT"), "/effective_from"],
        [
          await host.admin("/rate-cards/import", { ...card, csv: "Market,Currency,Marketing\nSpain,EUR,1" }),
          "/effective_from"
        ]
      ]
      for (const [answer, pointer] of refused) {
        expect([time, answer.status, ...pointers(answer)]).toEqual([time, 422, pointer])
      }
      const item = { phone: "34600000100", source: "form", occurred_at: time }
      const consents = await host.admin(`/accounts/${owner.accountId}/consents`, { consents: [item] })
      expect([time, at(consents.json, "results", 0, "errors", 0, "pointer")]).toEqual([
        time,
        "/consents/0/occurred_at"
      ])
    }
  })

  it("of a leap second is that of the second before", async () => {
    const item = { phone: "34600000101", source: "form", occurred_at: "2016-12-31T23:59:60.9Z" }
    const recorded = await host.admin(`/accounts/${owner.accountId}/consents`, { consents: [item] })
    expect(at(recorded.json, "recorded"), recorded.text).toBe(1)
    const found = await host.admin(`/accounts/${owner.accountId}/consents?phone=34600000101`)
    expect(at(found.json, "history", 0, "occurred_at")).toBe("2016-12-31T23:59:59.900Z")
  })
})

describe("a length", () => {
  const wide = (count: number) => "😀".repeat(count)

  it("counts code points", async () => {
    const named = (name: string) => host.admin("/accounts", { name, currency: "EUR" })
    const recipient = (external_id: string) => {
      const body = sendBody(owner.templateId, "34600000100")
      return estimate({ ...body, recipients: body.recipients.map((each) => ({ ...each, external_id })) })
    }
    const valued = (value: string) => {
      const variables = { "header.1": "A", "body.1": value, "body.2": "", "button.0.1": "D" }
      const recipients = [{ phone: "34600000100", variables: { ...variables, "body.2": "C" } }]
      return estimate({ template_id: owner.templateId, recipients })
    }
    const item = (some: Readonly<Record<string, string>>) =>
      host.admin(`/accounts/${owner.accountId}/consents`, {
        consents: [{ phone: "34600000100", source: "form", ...some }]
      })
    const gateway = (secret: string) =>
      host.admin(`/accounts/${owner.accountId}/sessions`, {
        name: "Gateway",
        provider: "http",
        config: { url: "https://gateway.example/", secret }
      })
    const fixed = "Hello , it arrives C.".length
    const cases: ReadonlyArray<readonly [(text: string) => Promise<Answer>, number, number]> = [
      [named, 255, 201],
      [recipient, 255, 200],
      [valued, 1024 - fixed, 200],
      [direct, 4096, 200],
      [gateway, 512, 201]
    ]
    for (const [call, maximum, status] of cases) {
      const [fits, over] = [await call(wide(maximum)), await call(wide(maximum + 1))]
      expect([maximum, fits.status, over.status], fits.text).toEqual([maximum, status, 422])
    }
    for (const [field, maximum] of [
      ["source", 255],
      ["proof", 2000]
    ] as const) {
      const [fits, over] = [
        await item({ [field]: wide(maximum) }),
        await item({ [field]: wide(maximum + 1) })
      ]
      expect([field, at(fits.json, "recorded"), at(over.json, "recorded")]).toEqual([field, 1, 0])
    }
    const webhook = (description: string) =>
      host.admin(`/accounts/${owner.accountId}/webhooks`, { url: "https://a.example/", description })
    expect([(await webhook(wide(500))).status, (await webhook(wide(501))).status]).toEqual([201, 422])
  })
})

describe("a text that shows nothing", () => {
  it("is blank, as a message, a name, a source and a variable", async () => {
    for (const text of ["\u200b", "\u2800\u3164", "\u00a0\u2060\ufeff", "\u00ad\u180e"]) {
      const variables = { "header.1": "A", "body.1": text, "body.2": "C", "button.0.1": "D" }
      const answers: ReadonlyArray<readonly [Answer, string]> = [
        [await direct(text), "/message"],
        [await host.admin("/accounts", { name: text }), "/name"],
        [
          await estimate({
            template_id: owner.templateId,
            recipients: [{ phone: "34600000100", variables }]
          }),
          "/recipients/0/variables/body.1"
        ]
      ]
      for (const [answer, pointer] of answers) {
        expect([JSON.stringify(text), answer.status, ...pointers(answer)]).toEqual([
          JSON.stringify(text),
          422,
          pointer
        ])
      }
      const consents = await host.admin(`/accounts/${owner.accountId}/consents`, {
        consents: [{ phone: "34600000100", source: text }]
      })
      expect(at(consents.json, "results", 0, "errors", 0, "pointer")).toBe("/consents/0/source")
    }
  })
})

describe("a media URL", () => {
  it("is refused where a webhook's would be", async () => {
    const imported = await host.admin(
      `/sessions/${owner.sessionId}/templates`,
      {
        templates: [
          {
            name: "picture",
            language: "en",
            category: "UTILITY",
            components: [
              { type: "HEADER", format: "IMAGE" },
              { type: "BODY", text: "Hi" }
            ]
          }
        ]
      },
      "PUT"
    )
    const template_id = at(imported.json, "templates", 0, "template_id")
    const asked = (urls: ReadonlyArray<string>) =>
      estimate({
        template_id,
        recipients: urls.map((url) => ({ phone: "34600000100", variables: { "header.media": url } }))
      })
    // The host of these tests allows webhooks to 127.0.0.0/8; a platform has nothing to fetch there.
    const refused = await asked(inside.map((name) => `https://${name}/a.png`))
    expect(pointers(refused)).toEqual(inside.map((_, place) => `/recipients/${place}/variables/header.media`))
    const fine = await asked(["https://cdn.example.com/a.png", "https://8.8.8.8/a.png"])
    expect(fine.status, fine.text).toBe(200)
  })
})
