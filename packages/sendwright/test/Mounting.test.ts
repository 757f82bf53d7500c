/** The API in the app's own server, below a prefix. */
import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import * as Effect from "effect/Effect"
import express from "express"
import Fastify from "fastify"
import type { Sender, SendResult, Sendwright } from "sendwright"
import { httpGateway } from "sendwright"
import { createHandler, type Handler, toNodeHandler } from "sendwright/http"
import { assertions, createTestSendwright } from "sendwright/testing"
import { describe, expect, it, onTestFinished } from "vitest"
import * as Known from "../src/inside/Known.ts"
import type { Ask } from "./Servers.ts"
import { listen, prefix, servers } from "./Servers.ts"
import { ana, furnish, list, open, platform, start, template } from "./Support.ts"

const adminToken = "0123456789abcdefghijklmn"
const operator = { authorization: `Bearer ${adminToken}` }

const credentialsOf = async (sw: Sendwright, sessionId: string) => {
  const { publicKey, secretKey } = await sw.admin.keys.issue({ sessionId })
  return { "x-public-key": publicKey, "x-secret-key": secretKey }
}

const begin = async (some: Parameters<typeof start>[0] = {}) => {
  const { account, session, sw } = await start(some)
  const keys = await credentialsOf(sw, session.id)
  const [template] = await list(session.templates())
  return { account, session, sw, keys, templateId: template?.templateId }
}

const post = (headers: Readonly<Record<string, string>>, body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body)
})

const jsonOf = async (response: Promise<Response>): Promise<Record<string, unknown>> => {
  const body: unknown = await (await response).json()
  return Object.fromEntries(Object.entries(body ?? {}))
}

const send = `${prefix}/api/v1/template-messages/send`

describe.each(servers)("below a prefix in %s", (_name, mount, tellsAddress) => {
  const serve = async (sw: Sendwright): Promise<Ask> => mount(createHandler(sw, { adminToken, prefix }))

  it("a send is accepted, and its link leads to the job", async () => {
    const { keys, sw, templateId } = await begin()
    const ask = await serve(sw)
    const body = { template_id: templateId, recipients: [{ phone: ana }] }
    const response = await ask(send, post({ ...keys, "idempotency-key": "order-1" }, body))
    const { job_id, links } = await jsonOf(Promise.resolve(response))
    expect(response.status).toBe(202)
    expect(links).toEqual({ status: `${prefix}/api/v1/template-messages/${job_id}` })
    await sw.drain()
    const { job } = await jsonOf(ask(`${prefix}/api/v1/template-messages/${job_id}`, { headers: keys }))
    expect(job).toMatchObject({ status: "completed", links })
    const { jobs } = await jsonOf(ask(`${prefix}/api/v1/template-messages`, { headers: keys }))
    expect(jobs).toMatchObject([{ job_id, links }])
  })

  it("the description and the problems know it", async () => {
    const { sw } = await start()
    const ask = await serve(sw)
    const described = await jsonOf(ask(`${prefix}/openapi.json`))
    expect(described["servers"]).toEqual([{ url: prefix }])
    expect(JSON.stringify(described)).not.toContain('"status":"/api/v1')
    const refused = await ask(`${prefix}/api/v1/nothing`)
    const { type } = await jsonOf(Promise.resolve(refused))
    expect([refused.status, type]).toEqual([404, `${prefix}/problems/not_found`])
    expect((await ask(`${prefix}/problems/not_found`)).status).toBe(200)
    const front = await ask(`${prefix}/`)
    expect(new URL(front.headers.get("location") ?? "", `http://app${prefix}/`).pathname).toBe(
      `${prefix}/docs`
    )
    expect((await ask(`${prefix}/docs`)).status).toBe(200)
  })

  it("what is beside it is the app's", async () => {
    const { keys, sw } = await begin()
    const ask = await serve(sw)
    for (const path of ["/", "/api/v1/connection", "/health/live", "/api", `${prefix}s/health/live`]) {
      const response = await ask(path, { headers: keys })
      expect([path, response.status, await response.text()]).toEqual([path, 404, "from the app"])
    }
  })

  it("methods and paths are answered as the host answers them", async () => {
    const { sw } = await start()
    const ask = await serve(sw)
    const table: ReadonlyArray<readonly [path: string, method: string, status: number]> = [
      ["/health/live", "GET", 200],
      ["/health/live", "HEAD", 200],
      ["/health/live", "OPTIONS", 204],
      ["/health/live", "PUT", 405],
      ["/health/live/", "GET", 404],
      ["//health/live", "GET", 404],
      ["/health/live?now=1", "GET", 422],
      ["/health/liv%65", "GET", 404],
      ["/admin/v1/accounts", "GET", 401]
    ]
    for (const [path, method, status] of table) {
      const response = await ask(`${prefix}${path}`, { method })
      expect([path, method, response.status]).toEqual([path, method, status])
      if (method === "HEAD") expect(await response.text()).toBe("")
      if (status === 405) expect(response.headers.get("allow")).toBe("GET, HEAD, OPTIONS")
    }
  })

  it("a hook is signed over the bytes as they came", async () => {
    const { account, sessionId, sw } = await withGateway()
    await sw.admin.consents.record({ accountId: account.id, consents: [{ phone: ana, source: "form" }] })
    const ask = await serve(sw)
    const body = `{ "messages" : [ {"id":"in-1",  "from":"${ana}","text":"ST\\u004fP","at":"2026-01-01T00:00:00Z"}\r\n]\t}`
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac("sha256", gatewaySecret).update(`${timestamp}.${body}`).digest("hex")
    const headers = { "x-service-timestamp": timestamp, "x-service-signature": signature }
    const path = `${prefix}/hooks/http/${sessionId}`
    expect((await ask(path, post({ ...headers, "x-service-signature": "0".repeat(64) }, body))).status).toBe(
      401
    )
    const answered = await ask(path, post(headers, body))
    expect([answered.status, await answered.json()]).toEqual([200, { ok: true }])
    const { history } = await sw.admin.consents.find({ accountId: account.id, phone: ana })
    expect(history.map(({ status }) => status)).toContain("revoked")
  })

  it("a body that is too long is refused, and the client hears it", async () => {
    const { keys, sw } = await begin()
    const ask = await serve(sw)
    const response = await ask(send, post({ ...keys, "idempotency-key": "k" }, " ".repeat(1024 * 1024 + 1)))
    expect([response.status, (await jsonOf(Promise.resolve(response)))["code"]]).toEqual([
      413,
      "payload_too_large"
    ])
    expect((await ask(`${prefix}/health/live`)).status).toBe(200)
  })

  it("an answer is given that ends its connection", async () => {
    const { sw } = await start()
    const ask = await serve(sw)
    let status = 200
    for (let asked = 0; status === 200 && asked < 300; asked += 1)
      status = (await ask(`${prefix}/docs`)).status
    expect([429, 503]).toContain(status)
    expect((await ask(`${prefix}/health/live`)).status).toBe(200)
  })

  it("what an operator does is done, and audited with the address where that is known", async () => {
    const { sw } = await start()
    const ask = await serve(sw)
    const made = await ask(`${prefix}/admin/v1/accounts`, post(operator, { name: "Another" }))
    expect(made.status).toBe(201)
    const [entry] = await list(sw.admin.audit({ operation: "accounts.create" }))
    expect(entry).toMatchObject({
      operator: "ADMIN_TOKEN",
      address: tellsAddress ? "127.0.0.1" : null
    })
  })

  it("new requests are refused once it stops, and those under way end", async () => {
    const { begun, finish, sender } = held()
    const { ask, direct, sw } = await directly(sender, serve)
    const first = ask(...direct)
    await begun
    const stopped = sw.stop({ graceMs: 5000 })
    const late = await ask(...direct)
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "1"])
    finish({ outcome: "accepted", providerId: "p-1" })
    expect((await first).status).toBe(200)
    await stopped
    expect((await ask(...direct)).status).toBe(503)
  })

  it("a request that outlasts the stop is told so", async () => {
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    let checks = 0
    const { sender } = platform({
      check: () => {
        checks += 1
        if (checks === 1) return Promise.resolve(null)
        begin()
        return new Promise(() => {})
      }
    })
    const sw = await open({ senders: [sender] })
    const { session } = await furnish(sw, "own")
    const ask = await serve(sw)
    const first = ask(`${prefix}/admin/v1/sessions/${session.id}/connect`, {
      method: "POST",
      headers: operator
    })
    await begun
    await sw.stop({ graceMs: 50 })
    const answered = await first
    expect([answered.status, (await jsonOf(Promise.resolve(answered)))["detail"]]).toEqual([
      503,
      "The service is stopping."
    ])
  })
})

describe("a body that somebody has read before", () => {
  const told = async (response: Promise<Response>) => {
    const { detail, status } = await jsonOf(response)
    expect(status).toBe(500)
    expect(detail).toMatch(/^The body was read before .* Mount the API before express\.json\(\)/)
  }
  const request = (keys: Readonly<Record<string, string>>) =>
    post({ ...keys, "idempotency-key": "k" }, { template_id: 1, recipients: [{ phone: ana }] })

  it("is told of with what to do, in Express", async () => {
    const { keys, sw } = await begin()
    const app = express()
    app.use(express.json())
    app.use(prefix, toNodeHandler(createHandler(sw, { prefix })))
    const base = await listen(createServer(app))
    await told(fetch(`${base}${send}`, request(keys)))
    // What has no body is served.
    expect((await fetch(`${base}${prefix}/api/v1/connection`, { headers: keys })).status).toBe(200)
  })

  it("is told of with what to do, in Fastify", async () => {
    const { keys, sw } = await begin()
    const app = Fastify()
    const node = toNodeHandler(createHandler(sw, { prefix }))
    app.all(`${prefix}/*`, (request, reply) => {
      reply.hijack()
      node(request.raw, reply.raw)
    })
    onTestFinished(() => app.close())
    const base = await app.listen({ port: 0, host: "127.0.0.1" })
    await told(fetch(`${base}${send}`, request(keys)))
  })

  it("is told of with what to do, in a web-standard request", async () => {
    const { keys, sw } = await begin()
    const handler = createHandler(sw, { prefix })
    const read = new Request(`https://shop.example${send}`, request(keys))
    await read.json()
    await told(handler(read))
    const reading = new Request(`https://shop.example${send}`, request(keys))
    reading.body?.getReader()
    await told(handler(reading))
  })
})

describe("a handler", () => {
  const health = async (handler: Handler, path: string) =>
    (await handler(new Request(`https://shop.example${path}`))).status

  it("takes a prefix as a path is written, and as a URL spells it", async () => {
    const { sw } = await start()
    const mounted: ReadonlyArray<readonly [prefix: string | undefined, path: string]> = [
      [undefined, ""],
      ["", ""],
      ["/", ""],
      ["/messages/", "/messages"],
      ["/a/b/c", "/a/b/c"],
      ["/caf\u00e9", "/caf%C3%A9"],
      ["/caf%C3%A9", "/caf%C3%A9"],
      ["/~shop", "/~shop"]
    ]
    for (const [given, path] of mounted) {
      const handler = createHandler(sw, { prefix: given })
      expect([given, await health(handler, `${path}/health/live`)]).toEqual([given, 200])
      expect(await health(handler, `/x${path}/health/live`)).toBe(404)
    }
  })

  it("refuses a prefix that no request can begin with, and all else that cannot be, at once", async () => {
    const { sw } = await start()
    for (const bad of [
      "api/",
      "/a//b",
      "//",
      "/a/../b",
      "/a/.",
      "/a b",
      "/a?b",
      "/a#b",
      "/a\\b",
      "https://x/a"
    ])
      expect(() => createHandler(sw, { prefix: bad }), bad).toThrow(/`prefix` must be a path/)
    const wrong = {
      prefix: "api",
      baseUrl: "shop.example",
      adminToken: "let-me-in",
      trustedProxies: ["everybody"]
    }
    const paths = ["/prefix", "/baseUrl", "/adminToken", "/trustedProxies"]
    expect(refusal(() => createHandler(sw, wrong))).toMatchObject({
      code: "invalid_options",
      issues: paths.map((path) => ({ path }))
    })
    expect(refusal(() => createHandler(sw, { adminToken: "" }))).toMatchObject({ code: "invalid_options" })
    const misspelled: object = { prefx: "/api" }
    expect(refusal(() => createHandler(sw, misspelled))).toMatchObject({ issues: [{ path: "/prefx" }] })
    for (const other of [undefined, {}, { admin: {} }])
      expect(refusal(() => Reflect.apply(createHandler, undefined, [other]))).toMatchObject({
        code: "invalid_options"
      })
    expect(refusal(() => toNodeHandler(async () => new Response()))).toMatchObject({
      code: "invalid_options"
    })
  })

  it("is told by a server of Node's that it has to be made one of Node's", async () => {
    const { sw } = await start()
    const answer = Reflect.apply(createHandler(sw), undefined, [{ url: "/", headers: {} }, {}])
    await expect(answer).rejects.toThrow("toNodeHandler(handler)")
  })

  it("begins types and the description's server with where clients reach the app", async () => {
    const { sw } = await start()
    const handler = createHandler(sw, { baseUrl: "https://shop.example/", prefix })
    const at = `https://shop.example${prefix}`
    expect(await jsonOf(handler(new Request(`${at}/openapi.json`)))).toMatchObject({ servers: [{ url: at }] })
    expect(await jsonOf(handler(new Request(`${at}/none`)))).toMatchObject({
      type: `${at}/problems/not_found`
    })
  })

  it("may be one of several, and has the lists' cursors of all", async () => {
    const { keys, sw, templateId } = await begin()
    const one = createHandler(sw, { prefix: "/one" })
    const other = createHandler(sw, { prefix: "/other" })
    for (const idempotencyKey of ["a", "b"])
      await one(
        new Request(
          "https://shop.example/one/api/v1/template-messages/send",
          post(
            { ...keys, "idempotency-key": idempotencyKey },
            { template_id: templateId, recipients: [{ phone: ana }] }
          )
        )
      )
    const list = "api/v1/template-messages?limit=1"
    const first = await jsonOf(one(new Request(`https://shop.example/one/${list}`, { headers: keys })))
    const url = `https://shop.example/other/${list}&cursor=${first["next_cursor"]}`
    const { jobs } = await jsonOf(other(new Request(url, { headers: keys })))
    expect(jobs).toMatchObject([{ links: { status: expect.stringMatching(/^\/other\/api\/v1\//) } }])
  })

  it("names the client by the header of proxies that are trusted, and by nobody else's", async () => {
    const { sw } = await start()
    const handler = createHandler(sw, { adminToken, trustedProxies: ["10.0.0.0/8"] })
    const forwarded = { ...operator, "x-forwarded-for": "203.0.113.9" }
    for (const address of ["10.0.0.1", "192.0.2.1"]) {
      const made = post(forwarded, { name: address })
      await handler(new Request("https://shop.example/admin/v1/accounts", made), { address })
    }
    const entries = await list(sw.admin.audit({ operation: "accounts.create" }))
    expect(entries.slice(0, 2).map(({ address }) => address)).toEqual(["192.0.2.1", "203.0.113.9"])
  })

  it("says so where a router has mounted it at another path than its prefix", async () => {
    const { sw } = await start()
    const mounted: ReadonlyArray<readonly [path: string, prefix: string | undefined, status: number]> = [
      ["/api", undefined, 500],
      ["/api", "/messages", 500],
      ["/api/messages", "/api", 500],
      ["/api", "/apis", 500],
      ["/api", "/api", 200],
      ["/api/", "/api/", 200],
      ["/", undefined, 200]
    ]
    for (const [path, given, status] of mounted) {
      const app = express()
      app.use(path, toNodeHandler(createHandler(sw, { prefix: given })))
      const base = await listen(createServer(app))
      const response = await fetch(`${base}${path === "/" ? "" : path.replace(/\/$/, "")}/health/live`)
      expect([path, given, response.status]).toEqual([path, given, status])
      if (status === 500) expect((await jsonOf(Promise.resolve(response)))["detail"]).toContain("`prefix`")
    }
  })

  it("takes a second argument of the server's own for no client", async () => {
    const { sw } = await start()
    const handler = createHandler(sw, { adminToken })
    const others = [null, { address: null }, { address: { family: "IPv4" } }, { params: {} }, 7]
    for (const [place, other] of others.entries()) {
      const made = new Request("https://shop.example/admin/v1/accounts", post(operator, { name: `${place}` }))
      const answered: Promise<Response> = Reflect.apply(handler, undefined, [made, other])
      expect((await answered).status).toBe(201)
    }
    const [entry] = await list(sw.admin.audit({ operation: "accounts.create" }))
    expect(entry?.address).toBeNull()
  })

  it("tells that a body broke off", async () => {
    const { keys, sw } = await begin()
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
      pull: (controller) => controller.error(new Error("gone"))
    })
    const headers = { ...keys, "content-type": "application/json", "idempotency-key": "k" }
    // The types of Node's `Request` do not know what it asks for with a stream.
    const init: RequestInit = { method: "POST", headers, body }
    Reflect.set(init, "duplex", "half")
    const asked = new Request("https://shop.example/api/v1/template-messages/send", init)
    expect(await jsonOf(createHandler(sw)(asked))).toMatchObject({
      code: "malformed_request",
      detail: "The body broke off."
    })
  })

  it("has no admin API without a token", async () => {
    const { sw } = await start()
    const asked = new Request("https://shop.example/admin/v1/accounts", { headers: operator })
    expect((await createHandler(sw)(asked)).status).toBe(404)
  })

  it("keeps the events of an account that it creates for the handlers of the process", async () => {
    const heard: Array<string> = []
    const sw = await open({ on: { "consent.granted": ({ data }) => void heard.push(data.phone ?? "") } })
    const handler = createHandler(sw, { adminToken })
    const act = (path: string, body: unknown) =>
      jsonOf(handler(new Request(`https://shop.example/admin/v1${path}`, post(operator, body))))
    const { account } = await act("/accounts", { name: "New" })
    const id: unknown = Reflect.get(Object(account), "id")
    await act(`/accounts/${id}/consents`, { consents: [{ phone: ana, source: "form" }] })
    await sw.drain()
    expect(heard).toEqual([ana])
  })

  it("keeps those of an account that another process has created, from its first request on", async () => {
    const heard: Array<string> = []
    const sw = await open({ on: { "job.canceled": ({ data }) => void heard.push(data.jobId) } })
    const { admin } = Known.insideOf(sw).engine
    const account = await Effect.runPromise(admin.accounts.create({ name: "Theirs", currency: "EUR" }))
    const session = { name: "main", provider: "sandbox" }
    const { id: sessionId } = await Effect.runPromise(admin.sessions.create(account.id, session))
    const keys = await credentialsOf(sw, sessionId)
    await sw.admin.templates.import({ sessionId, templates: [template()] })
    await sw.admin.consents.record({ accountId: account.id, consents: [{ phone: ana, source: "form" }] })
    const handler = createHandler(sw)
    const asked = async (path: string, init: RequestInit) =>
      jsonOf(handler(new Request(`https://shop.example/api/v1${path}`, init)))
    const { templates } = await asked("/templates", { headers: keys })
    const body = { template_id: Object(templates)[0].template_id, recipients: [{ phone: ana }] }
    const { job_id } = await asked("/template-messages/send", post({ ...keys, "idempotency-key": "k" }, body))
    await asked(`/template-messages/${job_id}/cancel`, { method: "POST", headers: keys })
    await sw.drain()
    expect(heard).toEqual([job_id])
  })

  it("serves the Sendwright of a test", async () => {
    const t = await createTestSendwright()
    onTestFinished(() => t.stop())
    const handler = createHandler(t.sw, { prefix })
    const keys = await credentialsOf(t.sw, t.session.id)
    await t.consent(ana)
    const [hello] = await list(t.session.templates())
    const body = { template_id: hello?.templateId, recipients: [{ phone: ana }] }
    const asked = new Request(`https://shop.example${send}`, post({ ...keys, "idempotency-key": "k" }, body))
    expect((await handler(asked)).status).toBe(202)
    await t.advance("1 min")
    assertions.toHaveBeenDelivered(t.person(ana))
  })

  it("is not made of a Sendwright that was stopped", async () => {
    const sw = await open()
    await sw.stop()
    expect(refusal(() => createHandler(sw))).toMatchObject({ code: "unavailable" })
  })
})

/** What a call throws. */
const refusal = (call: () => unknown): unknown => {
  try {
    return call()
  } catch (error) {
    return error
  }
}

/** A platform that answers when it is told to. */
const held = () => {
  let begin = (): void => {}
  let finish = (_: SendResult): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const answer = new Promise<SendResult>((resolve) => {
    finish = resolve
  })
  const { sender } = platform({
    send: () => {
      begin()
      return answer
    }
  })
  return { begun, finish: (result: SendResult) => finish(result), sender }
}

const gatewaySecret = "a secret of the gateway, long enough"

const withGateway = async () => {
  const sw = await open({ senders: [httpGateway()] })
  const account = await sw.admin.accounts.create({ name: "Shop", currency: "EUR" })
  const session = await sw.admin.sessions.create({
    accountId: account.id,
    name: "gateway",
    provider: "http",
    config: { url: "https://gateway.example/send", secret: gatewaySecret }
  })
  return { sw, account, sessionId: session.id }
}

/** A direct message by the API, over a platform that the test holds. */
const directly = async (sender: Sender, serve: (sw: Sendwright) => Promise<Ask>) => {
  const sw = await open({ senders: [sender] })
  const { session } = await furnish(sw, "own")
  const keys = await credentialsOf(sw, session.id)
  const direct = [`${prefix}/api/public/messages/send`, post(keys, { to: ana, message: "Hello" })] as const
  return { ask: await serve(sw), direct, sw }
}
