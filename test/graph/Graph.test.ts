/** That the stand-in takes, refuses and reports what the platform would, so that other tests may trust it. */
import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { at, items } from "../support/TestHost.ts"
import { type Graph, start } from "./Graph.ts"

const appSecret = "app-secret"

const order = {
  id: "1689556908129832",
  name: "order",
  language: "en_US",
  status: "APPROVED",
  category: "UTILITY",
  components: [
    { type: "HEADER", format: "IMAGE" },
    { type: "BODY", text: "Hello {{1}}, it arrives {{2}}." },
    {
      type: "BUTTONS",
      buttons: [
        { type: "QUICK_REPLY", text: "Stop" },
        { type: "URL", text: "Track", url: "https://shop.example/t/{{1}}" }
      ]
    }
  ]
}
const named = {
  id: "2",
  name: "named",
  language: "en_US",
  status: "APPROVED",
  category: "MARKETING",
  parameter_format: "NAMED",
  components: [{ type: "BODY", text: "Hello {{first}} {{last}}." }]
}
const paused = { ...named, id: "3", name: "paused", status: "PAUSED" }

const words = (...texts: ReadonlyArray<string>) => texts.map((text) => ({ type: "text", text }))
const image = {
  type: "header",
  parameters: [{ type: "image", image: { link: "https://shop.example/a.png" } }]
}
const body = { type: "body", parameters: words("Ana", "today") }
const button = { type: "button", sub_type: "url", index: "1", parameters: words("A-1") }

const message = (rest: object) => ({
  messaging_product: "whatsapp",
  recipient_type: "individual",
  to: "16505551234",
  ...rest
})
const templateOf = (components: ReadonlyArray<object>, name = "order") =>
  message({ type: "template", template: { name, language: { code: "en_US" }, components } })
const textOf = (text: object) => message({ type: "text", text })
const hello = textOf({ body: "Hello" })

interface Hook {
  readonly raw: string
  readonly signature: unknown
}

/** A callback that echoes challenges when it is told the right token. */
const listen = async () => {
  const hooks: Array<Hook> = []
  const server = createServer(async (request, response) => {
    const query = new URL(request.url ?? "/", "http://callback.invalid").searchParams
    if (request.method === "GET") {
      response.end(query.get("hub.verify_token") === "verify" ? query.get("hub.challenge") : "no")
      return
    }
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    const raw = Buffer.concat(chunks).toString("utf8")
    const signature = request.headers["x-hub-signature-256"]
    hooks.push({ raw, signature })
    const expected = `sha256=${createHmac("sha256", appSecret).update(raw).digest("hex")}`
    response.writeHead(signature === expected ? 200 : 401).end()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const statuses = () =>
    hooks.flatMap(({ raw }) => items(JSON.parse(raw), "entry", 0, "changes", 0, "value", "statuses"))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}/hook?session=1`, hooks, statuses, close }
}

const options = {
  phoneNumberId: "111",
  wabaId: "222",
  accessToken: "token",
  appSecret,
  verifyToken: "verify"
}

describe("the stand-in for the platform", () => {
  let graph: Graph
  let callback: Awaited<ReturnType<typeof listen>>
  beforeEach(async () => {
    graph = await start({ ...options, templates: [order, named, paused] })
    callback = await listen()
  })
  afterEach(async () => {
    await graph.close()
    callback.close()
  })

  const call = async (path: string, sent?: unknown, token = "token", signal?: AbortSignal) => {
    const response = await fetch(path.startsWith("http") ? path : `${graph.url}${path}`, {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(sent === undefined ? {} : { method: "POST", body: JSON.stringify(sent) }),
      ...(signal === undefined ? {} : { signal })
    })
    const text = await response.text()
    const json: unknown = text.startsWith("{") ? JSON.parse(text) : undefined
    return { status: response.status, headers: response.headers, text, json }
  }
  const send = (sent: unknown, signal?: AbortSignal) => call("/v23.0/111/messages", sent, "token", signal)
  const codeOf = async (sent: unknown) => at((await send(sent)).json, "error", "code")

  it("accepts a template and reports it sent and delivered", async () => {
    expect(await graph.subscribe(callback.url)).toBe(true)
    const sent = { ...templateOf([image, body, button]), biz_opaque_callback_data: "r1" }
    const { json, status } = await send(sent)
    await graph.settled()
    const id = at(json, "messages", 0, "id")
    expect(status).toBe(200)
    expect(json).toEqual({
      messaging_product: "whatsapp",
      contacts: [{ input: "16505551234", wa_id: "16505551234" }],
      messages: [{ id: expect.stringMatching(/^wamid\./), message_status: "accepted" }]
    })
    expect(graph.messages()).toEqual([
      { id, to: "16505551234", type: "template", body: sent, callbackData: "r1" }
    ])
    const common = {
      id,
      timestamp: expect.stringMatching(/^\d{10}$/),
      recipient_id: "16505551234",
      biz_opaque_callback_data: "r1"
    }
    const pricing = { billable: true, pricing_model: "PMP", type: "regular", category: "utility" }
    expect(callback.statuses()).toEqual([
      { ...common, status: "sent", pricing },
      { ...common, status: "delivered" }
    ])
    expect(graph.faults()).toEqual([])
  })

  it("posts what it is told to, signed unless it is forged", async () => {
    expect(await graph.subscribe(callback.url.replace("hook", "nothing"))).toBe(true)
    expect(await graph.report([{ id: "wamid.x", status: "read" }])).toBe(200)
    expect(await graph.deliver({ event: "PAUSED" }, "message_template_status_update")).toBe(200)
    expect(await graph.post("{}", undefined)).toBe(401)
    expect(await graph.post("{}", "sha256=00")).toBe(401)
    expect(callback.hooks.map(({ signature }) => typeof signature)).toEqual([
      "string",
      "string",
      "undefined",
      "string"
    ])
    expect(JSON.parse(callback.hooks[1]?.raw ?? "")).toEqual({
      object: "whatsapp_business_account",
      entry: [
        { id: "222", changes: [{ field: "message_template_status_update", value: { event: "PAUSED" } }] }
      ]
    })
  })

  it("subscribes nobody who does not echo the challenge", async () => {
    const other = await start({ ...options, verifyToken: "another" })
    expect(await other.subscribe(callback.url)).toBe(false)
    await expect(other.post("{}", undefined)).rejects.toThrow("No callback")
    await other.close()
  })

  it.each<[string, unknown]>([
    ["messaging_product", { ...hello, messaging_product: "sms" }],
    ["recipient_type", { ...hello, recipient_type: "company" }],
    ["to", { ...hello, to: "650 555 1234" }],
    ["type", { ...hello, type: "carrier pigeon" }],
    ["image", { ...hello, type: "image" }],
    ["context", { ...hello, context: { id: "wamid.x" } }],
    ["message_id", { messaging_product: "whatsapp", status: "read" }],
    ["biz_opaque_callback_data", { ...hello, biz_opaque_callback_data: "x".repeat(513) }],
    ["text.body", textOf({ body: "" })],
    ["text.body", textOf({ body: "x".repeat(4097) })],
    ["text.preview_url", textOf({ body: "x", preview_url: "no" })],
    ["constructor", { ...hello, constructor: 1 }],
    ["template", message({ type: "template" })],
    ["index", templateOf([image, body, { ...button, index: 10 }])],
    ["image", templateOf([{ type: "header", parameters: [{ type: "image", image: {} }] }, body, button])],
    ["one parameter", templateOf([image, body, { ...button, parameters: words("a", "b") }])],
    ["a second body", templateOf([image, body, body, button])],
    ["parameter_name", templateOf([{ type: "body", parameters: words("Ana", "Lee") }], "named")],
    ["JSON object", []]
  ])("refuses and remembers a wrong %s", async (name, sent) => {
    expect((await send(sent)).status).toBe(400)
    expect(graph.faults()[0]).toContain(name)
    expect(graph.messages()).toEqual([])
  })

  it("takes what client libraries send", async () => {
    const link = "https://shop.example/a.pdf"
    const { recipient_type: _, ...bare } = hello
    const accepted: ReadonlyArray<object> = [
      templateOf([image, body, { ...button, index: 1 }]),
      bare,
      { ...hello, type: undefined },
      { ...hello, to: "+16505551234" },
      { ...bare, to: undefined, recipient: "US.13491208655302741918" },
      { ...hello, context: { message_id: "wamid.x" } },
      message({ type: "document", document: { link, filename: "a.pdf", caption: "Yours" } }),
      message({ type: "image", image: { id: "1" } }),
      message({ type: "reaction", reaction: { message_id: "wamid.x", emoji: "" } }),
      message({ type: "location", location: { latitude: 1, longitude: "2", name: "Here" } }),
      message({ type: "contacts", contacts: [{ name: { formatted_name: "Ana" } }] }),
      message({ type: "interactive", interactive: { type: "button", body: { text: "Hi" }, action: {} } })
    ]
    for (const sent of accepted) expect([sent, (await send(sent)).status]).toEqual([sent, 200])
    expect(graph.messages()).toHaveLength(accepted.length)
    const read = { messaging_product: "whatsapp", status: "read", message_id: "wamid.x" }
    expect((await send({ ...read, typing_indicator: { type: "text" } })).json).toEqual({ success: true })
    const created = await call("/v23.0/222/message_templates", {
      name: "news",
      language: "en",
      category: "marketing",
      components: [{ type: "BODY", text: "News" }]
    })
    expect(created.json).toMatchObject({ status: "PENDING", category: "MARKETING" })
    expect(
      await codeOf(message({ type: "template", template: { name: "news", language: { code: "en" } } }))
    ).toBe(132001)
    expect(graph.messages()).toHaveLength(accepted.length)
    expect(graph.faults()).toEqual([])
    await call("/v23.0/222/message_templates", { name: "No Name", language: "en", category: "NEWS" })
    expect(graph.faults()[0]).toContain("name must be")
  })

  it("writes and signs hooks as the platform does, by escapes", async () => {
    await graph.subscribe(callback.url)
    const value = { text: "café 😀", link: "https://shop.example/a" }
    expect(await graph.deliver(value, "messages")).toBe(200)
    const raw = callback.hooks[0]?.raw ?? ""
    expect(raw).toContain(String.raw`"text":"caf\u00e9 \ud83d\ude00","link":"https:\/\/shop.example\/a"`)
    expect(at(JSON.parse(raw), "entry", 0, "changes", 0, "value")).toEqual(value)
  })

  it("refuses what does not fit the template, which is no fault of shape", async () => {
    const video = {
      type: "header",
      parameters: [{ type: "video", video: { link: "https://shop.example/a" } }]
    }
    const names = (...given: ReadonlyArray<string>) => [
      {
        type: "body",
        parameters: given.map((name) => ({ type: "text", text: "x", parameter_name: name }))
      }
    ]
    expect(await codeOf(templateOf([image, { ...body, parameters: words("Ana") }, button]))).toBe(132000)
    expect(await codeOf(templateOf([image, body]))).toBe(132000)
    expect(await codeOf(templateOf([image, body, { ...button, index: "7" }]))).toBe(132000)
    expect(await codeOf(templateOf([video, body, button]))).toBe(132012)
    expect(await codeOf(templateOf([body, button]))).toBe(132012)
    expect(await codeOf(templateOf([image, body, { ...button, index: "0" }]))).toBe(132012)
    expect(await codeOf(templateOf(names("first", "middle"), "named"))).toBe(132012)
    expect(await codeOf(templateOf(names("last", "first"), "named"))).toBe(undefined)
    expect(await codeOf(templateOf([], "nothing"))).toBe(132001)
    expect(await codeOf(templateOf([], "paused"))).toBe(132015)
    graph.setTemplates([])
    expect(await codeOf(templateOf([image, body, button]))).toBe(132001)
    expect(graph.faults()).toEqual([])
  })

  it("answers an error as often as it is told to", async () => {
    graph.behave("+1 650 555 1234", {
      kind: "error",
      code: 130429,
      details: "Slow",
      retryAfter: "2",
      times: 1
    })
    const refused = await send(hello)
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"])
    expect(refused.json).toEqual({
      error: {
        message: "(#130429) Rate limit hit",
        type: "OAuthException",
        code: 130429,
        error_data: { messaging_product: "whatsapp", details: "Slow" },
        fbtrace_id: expect.any(String)
      }
    })
    expect((await send(hello)).status).toBe(200)
  })

  it("breaks, hangs, holds, fails and keeps silent", async () => {
    await graph.subscribe(callback.url)
    graph.behave(hello.to, { kind: "html" })
    expect(await send(hello)).toMatchObject({ status: 502, text: expect.stringContaining("<html>") })
    graph.behave(hello.to, { kind: "reset", when: "before" })
    await expect(send(hello)).rejects.toThrow()
    graph.behave(hello.to, { kind: "hang" })
    await expect(send(hello, AbortSignal.timeout(100))).rejects.toThrow()
    graph.behave(hello.to, { kind: "silent" })
    await send(hello)
    graph.behave(hello.to, { kind: "held", messageStatus: "paused" })
    expect(at((await send(hello)).json, "messages", 0, "message_status")).toBe("paused")
    await graph.settled()
    expect([graph.messages().length, callback.statuses().length]).toEqual([2, 0])

    graph.behave(hello.to, { kind: "failed", code: 131026 })
    await send(hello)
    await graph.settled()
    expect(callback.statuses()).toMatchObject([
      { status: "failed", errors: [{ code: 131026, title: "Message undeliverable" }] }
    ])
    graph.behave(hello.to, { kind: "reset", when: "after" })
    await expect(send(hello)).rejects.toThrow()
    await graph.settled()
    expect(callback.statuses().map((status) => at(status, "status"))).toEqual(["failed", "sent", "delivered"])
    expect(at(callback.statuses()[1], "pricing", "category")).toBe("service")
    expect([graph.messages().length, graph.requests().length, graph.faults()]).toEqual([4, 7, []])
  })

  it("posts a receipt again that was not taken", async () => {
    await graph.subscribe(callback.url)
    const { url } = callback
    callback.close()
    await send(hello)
    const { port } = new URL(url)
    const taken: Array<string> = []
    const later = createServer((request, response) => {
      taken.push(request.url ?? "")
      response.end()
    }).listen(Number(port), "127.0.0.1")
    await graph.settled()
    expect(taken.length).toBe(2)
    later.close()
    later.closeAllConnections()
  })

  it("tells of the phone number and of the templates page by page", async () => {
    expect((await call("/v23.0/111?fields=quality_rating,throughput")).json).toEqual({
      id: "111",
      quality_rating: "GREEN",
      throughput: { level: "STANDARD" }
    })
    expect(at((await call("/v23.0/111")).json, "verified_name")).toBe("Sendwright Test")
    const first = await call("/v23.0/222/message_templates?fields=name,status&limit=100")
    expect(items(first.json, "data")).toEqual([
      { name: "order", status: "APPROVED", id: "1689556908129832" },
      { name: "named", status: "APPROVED", id: "2" }
    ])
    const second = await call(String(at(first.json, "paging", "next")))
    expect(items(second.json, "data")).toEqual([{ name: "paused", status: "PAUSED", id: "3" }])
    expect(at(second.json, "paging", "next")).toBe(undefined)
    expect(graph.faults()).toEqual([])
  })

  it("refuses strangers and what it does not know", async () => {
    expect(at((await call("/v23.0/111", undefined, "other")).json, "error", "code")).toBe(190)
    expect(await call("/v23.0/999")).toMatchObject({ status: 404, json: { error: { code: 100 } } })
    expect(graph.faults()).toEqual([])
    await call("/v23.0/111/message")
    expect(graph.faults()).toEqual(["GET /v23.0/111/message: there is no such call"])
    graph.authorize(false)
    expect(await call("/v23.0/111")).toMatchObject({ status: 401, json: { error: { code: 190 } } })
  })
})
