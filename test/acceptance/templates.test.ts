/** contract.md §3, §10: what an import of templates makes of each item, and the names of variables. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as GraphApi from "../graph/Graph.ts"
import type { TestHost } from "../support/TestHost.ts"
import { at, consent, items, start, template, tenant } from "../support/TestHost.ts"

let host: TestHost
beforeAll(async () => {
  host = await start()
}, 30_000)
afterAll(() => host.stop())

describe("an import of templates", () => {
  const put = (sessionId: string, templates: unknown) =>
    host.admin(`/sessions/${sessionId}/templates`, { templates }, "PUT")
  const body = { type: "BODY", text: "Hi" }

  it("does what it can, and tells of each item what became of it", async () => {
    const owner = await tenant(host)
    const answer = await put(owner.sessionId, [
      { ...template, name: "first" },
      { language: "en", category: "UTILITY", components: [body] },
      { ...template, name: "slides", components: [body, { type: "CAROUSEL", cards: [] }] },
      { ...template, name: "broken", components: [{ type: "BODY", text: "{{1}} {{3}}" }] },
      { ...template, name: "first", components: [body] },
      "nothing",
      { ...template, name: "last", components: [body] }
    ])
    expect(answer.status, answer.text).toBe(200)
    expect(at(answer.json, "imported")).toBe(4)
    expect(items(answer.json, "templates").map((each) => at(each, "name"))).toEqual([
      "first",
      "slides",
      "broken",
      "last"
    ])
    const ids = items(answer.json, "templates").map((each) => at(each, "template_id"))
    const sendable = { status: "imported", language: "en_US", sendable: true, unsendable_reason: null }
    expect(items(answer.json, "results")).toEqual([
      { index: 0, name: "first", template_id: ids[0], ...sendable },
      {
        index: 1,
        name: null,
        language: "en",
        status: "refused",
        errors: [{ pointer: "/templates/1/name", code: "required", message: "`name` is required." }]
      },
      {
        ...sendable,
        index: 2,
        name: "slides",
        template_id: ids[1],
        sendable: false,
        unsendable_reason: "It has a carousel component."
      },
      {
        ...sendable,
        index: 3,
        name: "broken",
        template_id: ids[2],
        sendable: false,
        unsendable_reason:
          "It cannot be read at /components/0/text: Placeholders must be {{1}}, {{2}}, … without a gap."
      },
      {
        index: 4,
        name: "first",
        language: "en_US",
        status: "refused",
        errors: [
          {
            pointer: "/templates/4/name",
            code: "invalid_value",
            message: "Item 0 has this name and language already."
          }
        ]
      },
      {
        index: 5,
        name: null,
        language: null,
        status: "refused",
        errors: ["name", "language", "category", "components"].map((field) => ({
          pointer: `/templates/5/${field}`,
          code: "required",
          message: expect.stringContaining(`\`${field}\``)
        }))
      },
      { index: 6, name: "last", template_id: ids[3], ...sendable }
    ])
    const listed = await owner.get("/api/v1/templates?name=slides")
    expect(items(listed.json, "templates")).toMatchObject([
      { sendable: false, unsendable_reason: "It has a carousel component." }
    ])
  })

  it("of one with a cap on price shows it, also after an import that does not mention it", async () => {
    const owner = await tenant(host)
    const capped = { ...template, name: "capped", category: "MARKETING" }
    const cap = { bid_amount: 87_000, bid_strategy: "LOWEST_COST_WITH_BID_CAP" }
    const shown = async () => items((await owner.get("/api/v1/templates?name=capped")).json, "templates")
    const imported = await put(owner.sessionId, [{ ...capped, optimization_spec: cap }])
    expect(items(imported.json, "templates")).toMatchObject([{ max_price: cap }])
    await put(owner.sessionId, [capped])
    expect(await shown()).toMatchObject([{ max_price: cap }])
    await put(owner.sessionId, [{ ...capped, optimization_spec: null }])
    expect(await shown()).toMatchObject([{ max_price: null }])
  })

  it("is refused when nothing of it can be imported, or when it is no list", async () => {
    const owner = await tenant(host)
    const answer = await put(owner.sessionId, [{}, { ...template, category: "OTHER" }])
    expect([answer.status, at(answer.json, "code")]).toEqual([422, "invalid_request"])
    expect(items(answer.json, "errors").map((each) => at(each, "pointer"))).toEqual([
      "/templates/0/name",
      "/templates/0/language",
      "/templates/0/category",
      "/templates/0/components",
      "/templates/1/category"
    ])
    for (const templates of [undefined, [], "x", {}]) {
      const refused = await put(owner.sessionId, templates)
      expect([refused.status, at(refused.json, "errors", 0, "pointer")]).toEqual([422, "/templates"])
    }
  })
})

describe("a sync of templates", () => {
  it("mirrors what it can, and tells of each item what became of it", async () => {
    const config = {
      phone_number_id: "106540352242922",
      waba_id: "102290129340398",
      access_token: "test-access-token",
      app_secret: "test-app-secret",
      verify_token: "test-verify-token"
    }
    const item = (name: string, some: Readonly<Record<string, unknown>> = {}) => ({
      id: "1",
      name,
      language: "en",
      category: "MARKETING",
      status: "APPROVED",
      components: [{ type: "BODY", text: "Hi" }],
      ...some
    })
    const graph = await GraphApi.start({
      phoneNumberId: config.phone_number_id,
      wabaId: config.waba_id,
      accessToken: config.access_token,
      appSecret: config.app_secret,
      verifyToken: config.verify_token,
      templates: [item("first"), item("second"), item("third")]
    })
    try {
      const owner = await tenant(host)
      const created = await host.admin(`/accounts/${owner.accountId}/sessions`, {
        name: "WhatsApp",
        provider: "whatsapp_cloud",
        config: { ...config, base_url: graph.url }
      })
      const id = String(at(created.json, "session", "id"))
      const sync = () => host.admin(`/sessions/${id}/templates/sync`, undefined, "POST")
      const before = await sync()
      expect(items(before.json, "results").map((each) => at(each, "status"))).toEqual(
        Array(3).fill("imported")
      )
      const ids = items(before.json, "results").map((each) => at(each, "template_id"))
      graph.setTemplates([
        item("third"),
        item("first", { category: "GREETINGS" }),
        item("slides", { components: [{ type: "CAROUSEL" }, { type: "BODY", text: "Hi" }] })
      ])
      const after = await sync()
      expect(after.status, after.text).toBe(200)
      expect(at(after.json, "imported")).toBe(2)
      expect(items(after.json, "results")).toMatchObject([
        { index: 0, name: "third", status: "imported", template_id: ids[2], sendable: true },
        { index: 1, name: "first", status: "refused", errors: [{ pointer: "/templates/1/category" }] },
        { index: 2, name: "slides", status: "imported", sendable: false }
      ])
      expect(items(after.json, "skipped")).toEqual([
        {
          name: "first",
          language: "en",
          reason: "`category` must be MARKETING, UTILITY or AUTHENTICATION."
        }
      ])
      const key = await host.admin(`/sessions/${id}/keys`, {})
      await host.admin(`/sessions/${id}/connect`, undefined, "POST")
      const headers = {
        "x-public-key": String(at(key.json, "key", "public_key")),
        "x-secret-key": String(at(key.json, "secret_key"))
      }
      // The second is gone; the first is there, though it cannot be read any more.
      const listed = await host.request("/api/v1/templates", { headers })
      expect(items(listed.json, "templates").map((each) => at(each, "name"))).toEqual([
        "first",
        "third",
        "slides"
      ])
    } finally {
      await graph.close()
    }
  })
})

describe("a named template", () => {
  it("keeps the numbers of its names through imports in another order, and is sent by either", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600000650")
    const put = async (text: string) => {
      const answer = await host.admin(
        `/sessions/${owner.sessionId}/templates`,
        {
          templates: [
            {
              name: "named",
              language: "en",
              category: "UTILITY",
              parameter_format: "NAMED",
              components: [
                { type: "HEADER", format: "TEXT", text: "For {{who}}" },
                { type: "BODY", text }
              ]
            }
          ]
        },
        "PUT"
      )
      return Number(at(answer.json, "templates", 0, "template_id"))
    }
    const lookup = async (id: number) => {
      const detail = await owner.get(`/api/v1/templates/${id}`)
      return items(detail.json, "template", "variables").map((each) => [at(each, "key"), at(each, "name")])
    }
    const text = async (id: number, variables: Readonly<Record<string, string>>) => {
      const body = { template_id: id, recipients: [{ phone: "34600000650", variables }] }
      const answer = await owner.post("/api/v1/template-messages/estimate?explain=true", body)
      return at(answer.json, "estimate", "recipients_explained", 0, "rendered", "body") ?? answer.json
    }
    const id = await put("{{last_name}}, {{first_name}}")
    expect(await lookup(id)).toEqual([
      ["header.1", "who"],
      ["body.1", "last_name"],
      ["body.2", "first_name"]
    ])
    expect(await put("Dear {{title}} {{first_name}} {{last_name}}")).toBe(id)
    expect(await lookup(id)).toEqual([
      ["header.1", "who"],
      ["body.1", "last_name"],
      ["body.2", "first_name"],
      ["body.3", "title"]
    ])
    const byNumber = { "header.1": "A", "body.1": "Ruiz", "body.2": "Ana", "body.3": "Dr" }
    const byName = {
      "header.who": "A",
      "body.last_name": "Ruiz",
      "body.first_name": "Ana",
      "body.title": "Dr"
    }
    expect(await text(id, byNumber)).toBe("Dear Dr Ana Ruiz")
    expect(await text(id, byName)).toBe("Dear Dr Ana Ruiz")
    expect(await text(id, { ...byNumber, "body.title": "Dr" })).toMatchObject({
      errors: [{ pointer: "/recipients/0/variables/body.title", code: "variable_invalid" }]
    })
    await put("Dear {{title}}")
    expect((await lookup(id)).slice(1)).toEqual([["body.3", "title"]])
    await put("{{first_name}}")
    expect((await lookup(id)).slice(1)).toEqual([["body.2", "first_name"]])
  })
})
