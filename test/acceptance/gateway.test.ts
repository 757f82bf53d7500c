/** contract.md §9: the provider `http`, a gateway of the operator's own. */
import { createServer, type RequestListener, type Server } from "node:http"
import { Signature } from "@sendwright/core"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { gateway } from "../../examples/gateway.ts"
import type { TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, template } from "../support/TestHost.ts"

const secret = "a-secret-of-the-gateway-that-nobody-may-see"

let host: TestHost
beforeAll(async () => {
  host = await start()
}, 30_000)
afterAll(() => host.stop())

const servers: Array<Server> = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const listen = async (server: Server): Promise<string> => {
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/send`
}

const session = async (url: string, more: Readonly<Record<string, unknown>> = {}) => {
  const plan = { minimum_wait_ms: 0, requests_per_minute: 100_000 }
  const account = await host.admin("/accounts", { name: "Gateway", currency: "EUR", plan })
  const accountId = String(at(account.json, "account", "id"))
  const created = await host.admin(`/accounts/${accountId}/sessions`, {
    name: "Own",
    provider: "http",
    config: { url, secret, headers: { "x-tenant": "shop" }, ...more }
  })
  expect(created.status, created.text).toBe(201)
  const id = String(at(created.json, "session", "id"))
  await host.admin(`/sessions/${id}/connect`, undefined, "POST")
  const key = await host.admin(`/sessions/${id}/keys`, {})
  const imported = await host.admin(`/sessions/${id}/templates`, { templates: [template] }, "PUT")
  const headers = {
    "x-public-key": String(at(key.json, "key", "public_key")),
    "x-secret-key": String(at(key.json, "secret_key"))
  }
  const send = async (...phones: ReadonlyArray<string>) => {
    await consent(host, accountId, ...phones)
    const body = sendBody(Number(at(imported.json, "templates", 0, "template_id")), ...phones)
    const answer = await host.request("/api/v1/template-messages/send", {
      headers: { ...headers, "idempotency-key": `send-${phones[0]}` },
      body
    })
    expect(answer.status, answer.text).toBe(202)
    return String(at(answer.json, "job_id"))
  }
  const job = async (jobId: string) =>
    (await host.request(`/api/v1/template-messages/${jobId}`, { headers })).json
  return { id, accountId, headers, send, job, hook: `${host.base}/hooks/http/${id}` }
}

const results = (job: unknown) => items(job, "job", "results")
const ended = (job: unknown) => at(job, "job", "status") === "completed"

/** Every request of a gateway that answers as it is told. */
const scripted = async (answer: RequestListener) => {
  const requests: Array<{ readonly headers: NodeJS.Dict<string | Array<string>>; readonly body: string }> = []
  const url = await listen(
    createServer((request, response) => {
      let body = ""
      request.on("data", (chunk) => {
        body += chunk
      })
      request.on("end", () => {
        requests.push({ headers: request.headers, body })
        answer(request, response)
      })
    })
  )
  return { url, requests }
}

describe("a gateway of one's own", () => {
  it("gets each message once, signed, and its signed receipts and replies come back", async () => {
    const delivered: Array<unknown> = []
    let hook = ""
    const { report, server } = gateway({
      secret,
      hook: () => hook,
      deliver: async (message) => {
        delivered.push(message)
        return `id-${delivered.length}`
      }
    })
    const shop = await session(await listen(server))
    hook = shop.hook
    const jobId = await shop.send("34600600001")
    const done = await eventually(() => shop.job(jobId), ended)
    expect(results(done).map((each) => at(each, "status"))).toEqual(["accepted"])
    const messageId = String(at(results(done)[0], "message_id"))
    expect(delivered).toEqual([
      {
        message_id: messageId,
        session_id: shop.id,
        to: "34600600001",
        type: "template",
        template: {
          name: "order_confirmation",
          language: "en_US",
          components: [
            { type: "header", parameters: [{ type: "text", text: "A-1" }] },
            {
              type: "body",
              parameters: [
                { type: "text", text: "Name 0" },
                { type: "text", text: "today" }
              ]
            },
            { type: "button", sub_type: "url", index: "0", parameters: [{ type: "text", text: "A-1" }] }
          ],
          variables: { "header.1": "A-1", "body.1": "Name 0", "body.2": "today", "button.0.1": "A-1" },
          rendered: {
            header: "Order A-1",
            body: "Hello Name 0, it arrives today.",
            buttons: [{ type: "url", text: "Track", url: "https://shop.example/t/A-1" }]
          }
        }
      }
    ])
    // By our id, by its own, and nonsense beside them.
    const receipts = [
      { message_id: messageId, status: "sent" },
      { id: "id-1", status: "read" },
      { status: "?" },
      7
    ]
    const messages = [{ id: "in-1", from: "34600600001", text: "STOP", at: new Date().toISOString() }]
    expect(await report({ receipts, messages })).toBe(200)
    expect(await report({ receipts, messages })).toBe(200)
    const read = await shop.job(jobId)
    expect(at(results(read)[0], "status")).toBe("read")
    const consents = await host.admin(`/accounts/${shop.accountId}/consents?phone=34600600001`)
    expect(items(consents.json, "history")).toHaveLength(2)

    const direct = await host.request("/api/public/messages/send", {
      headers: shop.headers,
      body: { to: "34600600001", message: "Hello" }
    })
    expect(direct.status, "the consent was withdrawn").toBe(403)
  })

  it("is asked by one message at a time while it is out of order, and has everything once it is back", async () => {
    let isAway = true
    const { requests, url } = await scripted((_, response) =>
      isAway ? response.writeHead(503).end("<h1>Down</h1>") : response.writeHead(200).end("{}")
    )
    const shop = await session(url, {})
    const phones = Array.from({ length: 240 }, (_, place) => `34600610${String(place).padStart(3, "0")}`)
    await host.admin(`/accounts/${shop.accountId}/webhooks`, {
      url: "https://receiver.example/hook",
      events: ["session.*"]
    })
    const jobId = await shop.send(...phones)
    const isPaused = (job: unknown) => at(job, "job", "status") === "paused"
    const paused = await eventually(() => shop.job(jobId), isPaused)
    expect(paused).toMatchObject({
      job: { pause_reason: "platform_unavailable", waiting_for: { limiter: "platform" } }
    })
    expect(at(paused, "job", "waiting_for", "until")).toMatch(/^2/)
    const shown = await host.admin(`/sessions/${shop.id}`)
    expect(at(shown.json, "session", "state")).toBe("connected")
    expect(at(shown.json, "session", "unavailable_since")).toMatch(/^2/)
    expect(at(shown.json, "session", "next_probe_at")).toMatch(/^2/)
    const connection = await host.request("/api/v1/connection", { headers: shop.headers })
    expect(at(connection.json, "session", "unavailable_since")).toMatch(/^2/)
    const attempted = requests.length
    // What was under way ends: 64 side by side at most, and a probe or two.
    expect(attempted).toBeLessThan(100)
    const direct = await host.request("/api/public/messages/send", {
      headers: shop.headers,
      body: { to: phones[0], message: "Hello" }
    })
    expect([direct.status, at(direct.json, "code")]).toEqual([422, "send_failed"])
    expect(direct.text).toContain("does not answer")

    isAway = false
    const done = await eventually(() => shop.job(jobId), ended)
    expect(results(done).map((each) => at(each, "status"))).toEqual(phones.map(() => "accepted"))
    const back = await host.admin(`/sessions/${shop.id}`)
    expect(at(back.json, "session", "unavailable_since")).toBeNull()
    const webhooks = await host.admin(`/accounts/${shop.accountId}/webhooks`)
    const deliveries = await host.admin(
      `/webhooks/${String(at(webhooks.json, "webhooks", 0, "id"))}/deliveries`
    )
    const told = items(deliveries.json, "deliveries").map(
      (each) => at(each, "event_type") ?? at(each, "type")
    )
    expect(told.toSorted()).toEqual(["session.available", "session.unavailable"])
  })

  it("is tried again for as long as its session says", async () => {
    const shop = await session(await listen(createServer((_, response) => response.writeHead(429).end())))
    for (const retry_for of [0, 604_801, 1.5, "60", true]) {
      const refused = await host.admin(`/sessions/${shop.id}`, { retry_for }, "PATCH")
      expect([retry_for, refused.status, at(refused.json, "errors", 0, "pointer")]).toEqual([
        retry_for,
        422,
        "/retry_for"
      ])
    }
    const changed = await host.admin(`/sessions/${shop.id}`, { retry_for: 2 }, "PATCH")
    expect(at(changed.json, "session", "retry_for")).toBe(2)
    const jobId = await shop.send("34600620001")
    const done = await eventually(() => shop.job(jobId), ended)
    expect(results(done)[0]).toMatchObject({ status: "failed", error: { code: "provider_unavailable" } })
    const reset = await host.admin(`/sessions/${shop.id}`, { retry_for: null }, "PATCH")
    expect(at(reset.json, "session", "retry_for")).toBeNull()
  })

  it("is asked again under the same key while it is busy, and believed when it refuses", async () => {
    let times = 0
    const { requests, url } = await scripted((request, response) => {
      times += 1
      if (request.headers["x-tenant"] !== "shop") return response.writeHead(400).end()
      if (times === 1) return response.writeHead(503, { "retry-after": "1" }).end()
      if (times === 2) return request.socket.destroy()
      return response
        .writeHead(422)
        .end('{"error":{"code":"recipient_unreachable","message":"No such number."}}')
    })
    const shop = await session(url)
    const jobId = await shop.send("34600600002")
    const done = await eventually(() => shop.job(jobId), ended, 20_000)
    expect(results(done)[0]).toMatchObject({
      status: "failed",
      attempts: 3,
      error: {
        code: "recipient_unreachable",
        provider_code: "recipient_unreachable",
        message: "No such number.",
        permanent: true
      }
    })
    expect(new Set(requests.map(({ headers }) => headers["idempotency-key"])).size).toBe(1)
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1)
    for (const { body, headers } of requests) {
      const timestamp = Number(headers["x-service-timestamp"])
      expect(headers["x-service-signature"]).toBe(Signature.sign(secret, timestamp, body))
    }
  })

  it("that answers slowly, endlessly or nonsense costs an attempt and nothing else", async () => {
    const kinds: Readonly<Record<string, RequestListener>> = {
      "34600600011": () => {},
      "34600600012": (_, response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write("{"), 100)
        response.once("close", () => clearInterval(drip))
      },
      "34600600013": (_, response) => {
        response.writeHead(200)
        const flood = (): void => {
          while (response.writable && response.write(Buffer.alloc(65_536, "x"))) {}
          response.once("drain", flood)
        }
        flood()
      },
      "34600600014": (_, response) => void response.end("no JSON"),
      "34600600015": (_, response) => void response.writeHead(404).end("<html>")
    }
    const url = await listen(
      createServer((request, response) => {
        let body = ""
        request.on("data", (chunk) => {
          body += chunk
        })
        request.on("end", () => kinds[String(at(JSON.parse(body), "to"))]?.(request, response))
      })
    )
    const shop = await session(url, { timeout_ms: 1000 })
    const jobId = await shop.send(...Object.keys(kinds))
    const codes = (job: unknown) => results(job).map((each) => at(each, "error", "code"))
    const settled = await eventually(
      () => shop.job(jobId),
      (job) =>
        results(job).filter((each) => at(each, "status") !== "sending").length >= 3 &&
        codes(job).filter((code) => code !== undefined).length >= 3
    )
    expect(at(settled, "job", "recipients")).toBe(5)
    const statuses = results(settled).map((each) => at(each, "status"))
    // What may have arrived is asked again under its key; what was answered with 2xx was taken.
    expect(statuses.slice(2)).toEqual(["accepted", "accepted", "failed"])
    expect(codes(settled).slice(0, 2)).toEqual(["outcome_unknown", "outcome_unknown"])
  })

  it("is refused a configuration that is not whole, with the fields' names", async () => {
    const account = await host.admin("/accounts", { name: "Wrong" })
    const path = `/accounts/${String(at(account.json, "account", "id"))}/sessions`
    const refused = await host.admin(path, {
      name: "Own",
      provider: "http",
      config: { url: "ftp://x", secret: "short", timeout_ms: 1 }
    })
    expect(refused.status).toBe(422)
    expect(items(refused.json, "errors").map((each) => at(each, "pointer"))).toEqual([
      "/config/url",
      "/config/secret",
      "/config/timeout_ms"
    ])
  })
})

describe("its hook", () => {
  it("refuses what is forged, stale or too large before it is looked at", async () => {
    const { url } = await scripted((_, response) => void response.end())
    const { hook } = await session(url)
    const post = async (body: string, headers: Readonly<Record<string, string>>) =>
      (await fetch(hook, { method: "POST", body, headers })).status
    const now = Math.floor(Date.now() / 1000)
    const signed = (body: string, at: number, key = secret) => ({
      "x-service-timestamp": String(at),
      "x-service-signature": Signature.sign(key, at, body)
    })
    expect(await post("{}", {})).toBe(401)
    expect(await post("{}", signed("{}", now, "another secret of somebody"))).toBe(401)
    expect(await post("{ }", signed("{}", now))).toBe(401)
    expect(await post("{}", signed("{}", now - 301))).toBe(401)
    expect(await post("not JSON", signed("not JSON", now))).toBe(422)
    expect(await post("{}", signed("{}", now))).toBe(422)
    const empty = '{"receipts":[]}'
    expect(await post(empty, signed(empty, now))).toBe(200)
    const large = " ".repeat(4 * 1024 * 1024 + 1)
    expect(await post(large, signed(large, now))).toBe(413)
    expect((await fetch(hook.replace("/http/", "/whatsapp/"), { method: "POST", body: "{}" })).status).toBe(
      404
    )
  })
})
