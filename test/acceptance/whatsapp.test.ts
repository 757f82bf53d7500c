/** contract.md §9: a session of the WhatsApp Cloud API, over a stand-in that is as the platform is documented. */
import { FailureCatalogue } from "@sendwright/core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Graph } from "../graph/Graph.ts"
import * as GraphApi from "../graph/Graph.ts"
import * as Webhooks from "../graph/Webhooks.ts"
import type { TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, start } from "../support/TestHost.ts"

const config = {
  phone_number_id: "106540352242922",
  waba_id: "102290129340398",
  access_token: "token-that-nobody-may-see",
  app_secret: "app-secret-that-nobody-may-see",
  verify_token: "verify-me"
}

const templateNamed = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  id: String(1_000_000 + name.length),
  name,
  language: "en",
  category: "MARKETING",
  status: "APPROVED",
  components: [
    { type: "HEADER", format: "IMAGE" },
    { type: "BODY", text: "Hello {{1}}, your order {{2}} is on its way." },
    {
      type: "BUTTONS",
      buttons: [
        { type: "QUICK_REPLY", text: "Stop" },
        { type: "URL", text: "Track", url: "https://shop.example/{{1}}" }
      ]
    }
  ],
  ...more
})

const named = templateNamed("named", {
  parameter_format: "NAMED",
  components: [{ type: "BODY", text: "Hello {{first_name}}, it is {{day}}." }]
})

const templates = ["first", "second", "third"].map((name) => templateNamed(name))

let host: TestHost
let graph: Graph
beforeAll(async () => {
  ;[host, graph] = await Promise.all([
    start(),
    GraphApi.start({
      phoneNumberId: config.phone_number_id,
      wabaId: config.waba_id,
      accessToken: config.access_token,
      appSecret: config.app_secret,
      verifyToken: config.verify_token,
      templates: [...templates, named]
    })
  ])
}, 30_000)
afterAll(async () => {
  await Promise.all([host.stop(), graph.close()])
})

let sessions = 0

/** An account with a session that is connected and synced, and a key. */
const session = async (pacing: Readonly<Record<string, unknown>> = { messages_per_second: null }) => {
  sessions += 1
  const plan = { minimum_wait_ms: 0, requests_per_minute: 100_000 }
  const account = await host.admin("/accounts", { name: `Shop ${sessions}`, currency: "EUR", plan })
  const accountId = String(at(account.json, "account", "id"))
  const created = await host.admin(`/accounts/${accountId}/sessions`, {
    name: "WhatsApp",
    provider: "whatsapp_cloud",
    config: { ...config, base_url: graph.url },
    pacing
  })
  expect(created.status, created.text).toBe(201)
  const id = String(at(created.json, "session", "id"))
  const connected = await host.admin(`/sessions/${id}/connect`, undefined, "POST")
  expect(connected.json).toMatchObject({ session: { state: "connected", reason: null } })
  const synced = await host.admin(`/sessions/${id}/templates/sync`, undefined, "POST")
  expect(synced.status, synced.text).toBe(200)
  const key = await host.admin(`/sessions/${id}/keys`, {})
  const headers = {
    "x-public-key": String(at(key.json, "key", "public_key")),
    "x-secret-key": String(at(key.json, "secret_key"))
  }
  const idOf = (name: string) =>
    Number(
      at(
        items(synced.json, "templates").find((each) => at(each, "name") === name),
        "template_id"
      )
    )
  const send = async (name: string, ...phones: ReadonlyArray<string>) => {
    await consent(host, accountId, ...phones)
    const variables = {
      "header.media": "https://cdn.shop.example/hat.png",
      "body.1": "Ana",
      "body.2": "A-17",
      "button.0.1": "A-17"
    }
    const answer = await host.request("/api/v1/template-messages/send", {
      headers: { ...headers, "idempotency-key": `${name}-${phones[0]}` },
      body: {
        template_id: idOf(name),
        variables: name === "named" ? { "body.first_name": "Ana", "body.2": "Monday" } : variables,
        recipients: phones.map((phone) => ({ phone }))
      }
    })
    expect(answer.status, answer.text).toBe(202)
    return String(at(answer.json, "job_id"))
  }
  const job = async (jobId: string) =>
    (await host.request(`/api/v1/template-messages/${jobId}`, { headers })).json
  const callback = `${host.base}/hooks/whatsapp/${id}`
  return { accountId, id, idOf, headers, synced, send, job, callback }
}

const results = (job: unknown) => items(job, "job", "results")
const statuses = (job: unknown) => results(job).map((each) => at(each, "status"))
const ended = (job: unknown) => ["completed", "failed"].includes(String(at(job, "job", "status")))

describe("a session of the WhatsApp Cloud API", () => {
  it("mirrors its templates over all pages, sends in the documented form, and is told what became of it", async () => {
    const shop = await session()
    expect(items(shop.synced.json, "templates")).toHaveLength(4)
    expect(await graph.subscribe(shop.callback)).toBe(true)
    const first = await shop.send("first", "34600100001", "34600100002")
    const second = await shop.send("named", "34600100001")
    const done = await eventually(
      () => shop.job(first),
      (job) => statuses(job).every((status) => status === "delivered")
    )
    expect(statuses(done)).toEqual(["delivered", "delivered"])
    await eventually(
      () => shop.job(second),
      (job) => statuses(job)[0] === "delivered"
    )
    expect(graph.faults()).toEqual([])
    // Two jobs may reach one phone in either order.
    const sent = graph
      .messages()
      .find(({ body, to }) => to === "34600100001" && at(body, "template", "name") === "first")
    expect(sent?.callbackData).toBe(at(results(done)[0], "message_id"))
    expect(sent?.body).toMatchObject({
      template: {
        name: "first",
        language: { code: "en" },
        components: [
          {
            type: "header",
            parameters: [{ type: "image", image: { link: "https://cdn.shop.example/hat.png" } }]
          },
          {
            type: "body",
            parameters: [
              { type: "text", text: "Ana" },
              { type: "text", text: "A-17" }
            ]
          },
          { type: "button", sub_type: "url", index: "1", parameters: [{ type: "text", text: "A-17" }] }
        ]
      }
    })
    const namedBody = graph.messages().find(({ body }) => at(body, "template", "name") === "named")?.body
    expect(at(namedBody, "template", "components", 0, "parameters")).toEqual([
      { type: "text", parameter_name: "first_name", text: "Ana" },
      { type: "text", parameter_name: "day", text: "Monday" }
    ])
  })

  it("tells what it cost beside what was estimated, by the category that each message was billed in", async () => {
    const price = (category: string, price: string) => ({
      market: "Spain",
      prefixes: ["34"],
      category,
      price
    })
    const card = {
      currency: "EUR",
      effective_from: "2026-01-01T00:00:00Z",
      prices: [price("marketing", "0.0509"), price("utility", "0.0170"), price("service", "0.0120")]
    }
    expect((await host.admin("/rate-cards", card, "PUT")).status).toBe(200)
    const shop = await session()
    expect(await graph.subscribe(shop.callback)).toBe(true)
    const [asEstimated, free, cheaper] = ["34600190001", "34600190002", "34600190003"]
    for (const phone of [free, cheaper]) graph.behave(phone, { kind: "silent" })
    const jobId = await shop.send("first", asEstimated, free, cheaper)
    await eventually(
      () => shop.job(jobId),
      (job) => statuses(job).join() === "delivered,accepted,accepted"
    )
    const receipt = (phone: string, status: string, pricing: object) => ({
      id: graph.messages().find(({ to }) => to === phone)?.id,
      status,
      timestamp: "1790000000",
      recipient_id: phone,
      pricing
    })
    const inWindow = {
      billable: false,
      pricing_model: "PMP",
      type: "free_customer_service",
      category: "service"
    }
    const asUtility = { billable: true, pricing_model: "PMP", type: "regular", category: "utility" }
    await graph.report([receipt(free, "delivered", inWindow), receipt(cheaper, "delivered", asUtility)])
    const done = await eventually(
      () => shop.job(jobId),
      (job) => statuses(job).join() === "delivered,delivered,delivered"
    )
    expect(results(done).map((each) => at(each, "pricing"))).toEqual([
      { category: "marketing", free: false },
      { category: "service", free: true },
      { category: "utility", free: false }
    ])
    expect(at(done, "job", "estimated_cost")).toBe("0.1527")
    expect(at(done, "job", "actual_cost")).toBe("0.0679")

    // A message without a template, too.
    const person = "34600190004"
    graph.behave(person, { kind: "silent" })
    await consent(host, shop.accountId, person)
    const sent = await host.request("/api/public/messages/send", {
      headers: shop.headers,
      body: { to: person, message: "Your order is ready." }
    })
    const path = `/api/public/messages/${String(at(sent.json, "messageId"))}`
    const costs = async () => {
      const { json } = await host.request(path, { headers: shop.headers })
      return ["currency", "estimatedCost", "actualCost"].map((name) => at(json, "message", name))
    }
    expect(await costs()).toEqual(["EUR", "0.0120", "0"])
    const asService = { billable: true, pricing_model: "PMP", type: "regular", category: "service" }
    await graph.report([receipt(person, "delivered", asService)])
    const delivered = await eventually(costs, (found) => found[2] !== "0")
    expect(delivered).toEqual(["EUR", "0.0120", "0.0120"])
    const listed = await host.admin(`/messages?account_id=${shop.accountId}`)
    expect(items(listed.json, "messages")).toMatchObject([
      { estimated_cost: "0.0120", actual_cost: "0.0120" }
    ])
  })

  it("shows every documented error with its reason in the job's results", async () => {
    const shop = await session()
    const terminal = FailureCatalogue.entries.filter(
      ({ action }) => action === "fail" || action === "revoke_marketing"
    )
    const codes = terminal.flatMap(({ whatsapp }) => whatsapp)
    const phones = codes.map((code, place) => {
      const phone = `3460020${String(1000 + place)}`
      graph.behave(phone, { kind: "error", code, details: `Details of ${code}` })
      return phone
    })
    const jobId = await shop.send("first", ...phones)
    const job = await eventually(() => shop.job(jobId), ended)
    expect(results(job).map((each) => at(each, "error", "provider_code"))).toEqual(codes.map(String))
    expect(results(job).map((each) => at(each, "error", "code"))).toEqual(
      terminal.flatMap(({ code, whatsapp }) => whatsapp.map(() => code))
    )
    expect(new Set(results(job).map((each) => at(each, "status")))).toEqual(new Set(["failed"]))
    expect(at(results(job)[0], "error", "message")).toContain("Details of")
    // Who stopped marketing is asked nothing more of that kind.
    const stopped = phones[codes.indexOf(131_050)] ?? ""
    const consents = await host.admin(`/accounts/${shop.accountId}/consents?phone=${stopped}`)
    expect(items(consents.json, "current").find((each) => at(each, "purpose") === "marketing")).toMatchObject(
      {
        status: "revoked"
      }
    )
  })

  it("sends nothing to a market that is closed for the category, unless the session opens it", async () => {
    const shop = await session()
    const american = "12125550199"
    const others = ["14165550199", "34600510001"]
    const body = {
      template_id: shop.idOf("named"),
      variables: { "body.first_name": "Ana", "body.2": "Monday" },
      recipients: [american, ...others].map((phone) => ({ phone }))
    }
    const estimated = await host.request("/api/v1/template-messages/estimate", {
      headers: shop.headers,
      body
    })
    expect(estimated.json).toMatchObject({
      estimate: { undeliverable: [{ phone: american }], without_consent: 3 }
    })
    await consent(host, shop.accountId, american, ...others)
    const sendAs = async (key: string) => {
      const headers = { ...shop.headers, "idempotency-key": key }
      const { json } = await host.request("/api/v1/template-messages/send", { headers, body })
      return eventually(() => shop.job(String(at(json, "job_id"))), ended)
    }
    const job = await sendAs("closed")
    const hasFailed = (found: unknown) => statuses(found).map((status) => status === "failed")
    expect(hasFailed(job)).toEqual([true, false, false])
    expect(results(job)[0]).toMatchObject({ error: { code: "country_restricted", permanent: true } })
    expect(graph.messages().filter(({ to }) => to === american)).toEqual([])
    const change = await host.admin(`/sessions/${shop.id}`, { closed_markets: [] }, "PATCH")
    expect(at(change.json, "session", "closed_markets")).toEqual([])
    expect(hasFailed(await sendAs("opened"))).toEqual([false, false, false])
    const wrong = await host.admin(
      `/sessions/${shop.id}`,
      { closed_markets: [{ category: "marketing", prefixes: ["+1"] }] },
      "PATCH"
    )
    expect([wrong.status, at(wrong.json, "errors", 0, "pointer")]).toEqual([
      422,
      "/closed_markets/0/prefixes/0"
    ])
  })

  it("tries again what passes, and not what it cannot know", async () => {
    const shop = await session()
    // A callback of another session of the number would bring its receipts, too.
    graph.unsubscribe()
    const [throttled, unavailable, html, cut, unanswered] = [1, 2, 3, 4, 5].map((n) => `3460030000${n}`)
    graph.behave(throttled ?? "", { kind: "error", code: 130_429, times: 1, retryAfter: "1" })
    graph.behave(unavailable ?? "", { kind: "error", code: 131_016, times: 1 })
    graph.behave(html ?? "", { kind: "html" })
    graph.behave(cut ?? "", { kind: "reset", when: "after" })
    graph.behave(unanswered ?? "", { kind: "reset", when: "before" })
    const phones = [throttled, unavailable, cut, unanswered].map(String)
    const jobId = await shop.send("first", ...phones)
    const waiting = await shop.send("second", String(html))
    const job = await eventually(() => shop.job(jobId), ended)
    expect(statuses(job)).toEqual(["accepted", "accepted", "unknown", "unknown"])
    expect(at(results(await shop.job(waiting))[0], "status")).toBe("sending")
    expect(graph.messages().filter(({ to }) => to === cut)).toHaveLength(1)
    // The receipt says what became of it: by our id, which came back with it.
    const taken = graph.messages().find(({ to }) => to === cut)
    await graph.subscribe(shop.callback)
    const status = { id: taken?.id, status: "delivered", timestamp: "1767225600", recipient_id: cut }
    expect(await graph.report([{ ...status, biz_opaque_callback_data: taken?.callbackData }])).toBe(200)
    const settled = await shop.job(jobId)
    expect(statuses(settled)[2]).toBe("delivered")
  })

  it("stops what one cause concerns: the job, the template, the number, the session", async () => {
    const shop = await session()
    graph.behave("34600400001", { kind: "error", code: 132_001 })
    graph.behave("34600400002", { kind: "error", code: 132_001 })
    const failed = await shop.send("first", "34600400001", "34600400002")
    expect(await eventually(() => shop.job(failed), ended)).toMatchObject({ job: { status: "failed" } })

    graph.behave("34600400003", { kind: "error", code: 132_015, times: 1 })
    const paused = await shop.send("second", "34600400003")
    const isPaused = (job: unknown) => at(job, "job", "status") === "paused"
    expect(await eventually(() => shop.job(paused), isPaused)).toMatchObject({
      job: { pause_reason: "template_paused" }
    })
    await graph.subscribe(shop.callback)
    const approved = {
      event: "APPROVED",
      message_template_name: "second",
      message_template_language: "en",
      message_template_id: 1
    }
    expect(await graph.deliver(approved, "message_template_status_update")).toBe(200)
    expect(statuses(await eventually(() => shop.job(paused), ended))).not.toContain("failed")

    const worse = {
      previous_quality_score: "GREEN",
      new_quality_score: "YELLOW",
      message_template_id: 1_000_006,
      message_template_name: "second",
      message_template_language: "en"
    }
    expect(await graph.deliver(worse, "message_template_quality_update")).toBe(200)
    const listed = await host.request("/api/v1/templates?name=second", { headers: shop.headers })
    expect(items(listed.json, "templates")).toMatchObject([{ status: "approved", quality: "yellow" }])

    graph.behave("34600400004", { kind: "error", code: 131_048, times: 1 })
    const blocked = await shop.send("third", "34600400004")
    expect(await eventually(() => shop.job(blocked), isPaused)).toMatchObject({
      job: { pause_reason: "provider_blocked" }
    })
    const { json } = await host.admin(`/sessions/${shop.id}`)
    expect(at(json, "session", "blocked_until")).toMatch(/^2/)

    const other = await session()
    graph.unsubscribe()
    graph.behave("34600400005", { kind: "error", code: 190, times: 1 })
    const waiting = await other.send("first", "34600400005")
    const down = await eventually(
      () => host.admin(`/sessions/${other.id}`),
      (answer) => at(answer.json, "session", "state") === "disconnected"
    )
    expect(String(at(down.json, "session", "reason"))).not.toBe("")
    await host.admin(`/sessions/${other.id}/connect`, undefined, "POST")
    expect(statuses(await eventually(() => other.job(waiting), ended))).toEqual(["accepted"])
  })

  it("says why it is not connected, and never tells a secret", async () => {
    graph.authorize(false)
    const account = await host.admin("/accounts", { name: "Wrong token" })
    const path = `/accounts/${String(at(account.json, "account", "id"))}/sessions`
    const created = await host.admin(path, {
      name: "WhatsApp",
      provider: "whatsapp_cloud",
      config: { ...config, base_url: graph.url }
    })
    const id = String(at(created.json, "session", "id"))
    const refused = await host.admin(`/sessions/${id}/connect`, undefined, "POST")
    graph.authorize(true)
    expect(refused.json).toMatchObject({ session: { state: "disconnected" } })
    expect(String(at(refused.json, "session", "reason"))).toMatch(/token/i)
    expect(at((await host.admin(`/sessions/${id}`)).json, "session", "reason")).toBe(
      at(refused.json, "session", "reason")
    )
    for (const secret of [config.access_token, config.app_secret]) {
      expect(created.text + refused.text + host.output()).not.toContain(secret)
    }
    const { access_token, ...incomplete } = config
    const missing = await host.admin(path, {
      name: "WhatsApp",
      provider: "whatsapp_cloud",
      config: { ...incomplete, phone_number_id: "x" }
    })
    expect(missing.status).toBe(422)
    expect(items(missing.json, "errors").map((each) => at(each, "pointer"))).toEqual(
      expect.arrayContaining(["/config/access_token", "/config/phone_number_id"])
    )
    expect(missing.text).not.toContain(access_token)
  })

  it("takes the pace of a new configuration where that asks for another, and keeps what the operator set besides", async () => {
    const { id } = await session({ pair_interval_ms: 500 })
    const change = async (body: Readonly<Record<string, unknown>>) => {
      const changed = await host.admin(`/sessions/${id}`, body, "PATCH")
      expect(changed.status, changed.text).toBe(200)
      return at(changed.json, "session", "pacing")
    }
    const local = { ...config, base_url: graph.url }
    const pace = (messages_per_second: number) => ({ messages_per_second, pair_interval_ms: 500 })
    expect(await change({ config: { ...local, messages_per_second: 250 } })).toEqual(pace(250))
    expect(await change({ pacing: { messages_per_second: 20 } })).toEqual(pace(20))
    expect(await change({ config: { ...local, api_version: "v24.0", messages_per_second: 250 } })).toEqual(
      pace(20)
    )
    const both = { config: { ...local, messages_per_second: 1000 }, pacing: { messages_per_second: 30 } }
    expect(await change(both)).toEqual(pace(30))
    expect(await change({ config: local })).toEqual(pace(30))
    expect(await change({ config: { messages_per_second: null } })).toEqual(pace(80))
  }, 30_000)
})

describe("its hook", () => {
  it("takes whom it answers and reports by another number for the person that was asked for", async () => {
    const shop = await session()
    await graph.subscribe(shop.callback)
    const refused = async (phone: string) => {
      const answer = await host.request("/api/v1/template-messages/send", {
        headers: { ...shop.headers, "idempotency-key": `again-${phone}` },
        body: {
          template_id: shop.idOf("named"),
          variables: { "body.first_name": "Ana", "body.2": "Monday" },
          recipients: [{ phone }]
        }
      })
      return [answer.status, at(answer.json, "code")]
    }
    const stop = (from: string) => {
      const timestamp = String(Math.floor(Date.now() / 1000))
      const message = { from, id: `wamid.stop.${from}`, timestamp, type: "text", text: { body: "STOP" } }
      return graph.deliver({ messages: [message] }, "messages")
    }
    // By the answer alone, and by the receipts that follow it.
    for (const [asked, waId, silent] of [
      ["2250707123456", "22507123456", true],
      ["22901971234567", "2291971234567", false]
    ] as const) {
      graph.rename(asked, waId)
      if (silent) graph.behave(asked, { kind: "silent" })
      const jobId = await shop.send("named", asked)
      const sent = silent ? "accepted" : "delivered"
      const job = await eventually(
        () => shop.job(jobId),
        (job) => statuses(job)[0] === sent
      )
      expect(statuses(job)).toEqual([sent])
      expect(await stop(waId)).toBe(200)
      expect(await refused(asked)).toEqual([403, "consent_required"])
    }
    expect(graph.faults()).toEqual([])
  })

  it("takes only what the platform signed, whole batches of it, and each thing once", async () => {
    const shop = await session()
    const wrong = await host.request(
      `/hooks/whatsapp/${shop.id}?hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1`
    )
    expect(wrong.status).toBe(401)
    await graph.subscribe(shop.callback)
    expect(await graph.post('{"entry":[]}', "sha256=00")).toBe(401)
    expect(await graph.post("not even JSON", undefined)).toBe(401)
    const unknown = await host.request("/hooks/whatsapp/01990000-0000-7000-8000-000000000000", {
      method: "POST",
      body: {}
    })
    expect(unknown.status).toBe(404)

    const events: Array<string> = []
    const jobId = await shop.send("first", "34600500001")
    const wamid = await eventually(
      async () => graph.messages().find(({ to }) => to === "34600500001"),
      (found) => found !== undefined
    )
    events.push(String(wamid?.id))
    const status = (name: string, more: object = {}) => ({
      id: wamid?.id,
      status: name,
      timestamp: "1767225600",
      recipient_id: "34600500001",
      ...more
    })
    // Without our id in it, by the platform's own; and what cannot be read keeps nothing else from being applied.
    const batch = [status("read"), { nonsense: true }, status("delivered"), status("read"), status("sent")]
    expect(await graph.report(batch)).toBe(200)
    const read = await eventually(
      () => shop.job(jobId),
      (job) => statuses(job)[0] === "read"
    )
    expect(statuses(read)).toEqual(["read"])

    const stop = {
      messages: [
        {
          from: "34600500001",
          id: "wamid.stop",
          timestamp: "1767225601",
          type: "text",
          text: { body: "Stop" }
        },
        {
          from: "34600500001",
          id: "wamid.stop",
          timestamp: "1767225601",
          type: "text",
          text: { body: "Stop" }
        }
      ]
    }
    expect(await graph.deliver(stop, "messages")).toBe(200)
    expect(await graph.deliver(stop, "messages")).toBe(200)
    const consents = await host.admin(`/accounts/${shop.accountId}/consents?phone=34600500001`)
    expect(items(consents.json, "history").filter((each) => at(each, "status") === "revoked")).toHaveLength(1)
  })

  it("takes hooks over the bytes that came, with the platform's escapes and without", async () => {
    const shop = await session()
    await graph.subscribe(shop.callback)
    const said = (from: string) => ({
      messaging_product: "whatsapp",
      metadata: { display_phone_number: "15550100100", phone_number_id: config.phone_number_id },
      contacts: [{ wa_id: from, profile: { name: "Zoë 😀" } }],
      messages: [
        { from, id: `wamid.${from}`, timestamp: "1790000000", type: "text", text: { body: "ADIÓS" } }
      ]
    })
    await host.admin(`/sessions/${shop.id}`, { keywords: { opt_out: ["adiós"] } }, "PATCH")
    const [escaped, plain] = ["34600700001", "34600700002"]
    expect(await graph.deliver(said(String(escaped)), "messages")).toBe(200)
    const raw = JSON.stringify(Webhooks.envelope(config.waba_id, "messages", said(String(plain))))
    expect(await graph.post(raw, Webhooks.signature(raw, config.app_secret))).toBe(200)
    // The signature is of the bytes: the same JSON written otherwise has another one.
    const written = Webhooks.written(Webhooks.envelope(config.waba_id, "messages", said("34600700003")))
    expect(await graph.post(written, Webhooks.signature(raw, config.app_secret))).toBe(401)
    for (const phone of [escaped, plain]) {
      const { json } = await host.admin(`/accounts/${shop.accountId}/consents?phone=${phone}`)
      expect(items(json, "history")).toMatchObject([{ status: "revoked" }])
    }
  })
})
