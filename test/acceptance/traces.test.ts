/** Where what a client traces goes on, and what an OpenTelemetry collector is told of it. */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TestHost } from "../support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../support/TestHost.ts"

interface Asked {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const asked: Array<Asked> = []
/** The collector, the gateway and the receiver of webhooks. */
const world = createServer(async (request, response) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString("utf8")
  asked.push({ path: request.url ?? "", headers: request.headers, body })
  response.setHeader("content-type", "application/json").end('{"id":"gw-1"}')
})
const askedAt = (path: string) => asked.filter((each) => each.path === path)

const folder = mkdtempSync(join(tmpdir(), "sendwright-traces-"))
const secret = "a-secret-of-the-gateway-that-nobody-may-see"
let base: string
const host = (environment: Readonly<Record<string, string>> = {}): Promise<TestHost> =>
  start({
    DATABASE_URL: `sqlite:${join(folder, "host.db")}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `${base}/`,
    OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20key, x-tenant=shop",
    OTEL_SERVICE_NAME: "messages",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=other,deployment.environment=a%2Cb",
    ...environment
  })

beforeAll(async () => {
  await new Promise<void>((resolve) => world.listen(0, "127.0.0.1", resolve))
  const address = world.address()
  base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
})
afterAll(() => {
  world.closeAllConnections()
  world.close()
  rmSync(folder, { recursive: true, force: true })
})

const phones = ["34600004001", "34600004002", "34600004003", "34600004004"] as const
const trace = "0af7651916cd43dd8448eb211c80319c"
const span = "b7ad6b7169203331"
const bad = `00-${"0".repeat(32)}-${span}-01`

interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
}

const spans = (): ReadonlyArray<Span> =>
  askedAt("/v1/traces")
    .flatMap(({ body }) => items(JSON.parse(body), "resourceSpans", 0, "scopeSpans", 0, "spans"))
    .map((each) => ({
      name: String(at(each, "name")),
      traceId: String(at(each, "traceId")),
      spanId: String(at(each, "spanId")),
      ...(at(each, "parentSpanId") === undefined ? {} : { parentSpanId: String(at(each, "parentSpanId")) })
    }))
const named = (name: string) => spans().filter((each) => each.name === name)

/** What the gateway was asked for a person, by its header. */
const passedOn = (phone: string) =>
  askedAt("/send").find(({ body }) => at(JSON.parse(body), "to") === phone)?.headers["traceparent"]

describe("a trace of a client", () => {
  it("goes on to the attempts and webhooks, also of the process that takes over, and to the collector", async () => {
    const [one, unsampled, malformed, direct] = phones
    const accepting = await host({ ROLE: "api" })
    const owner = await tenant(accepting, {
      session: { provider: "http", config: { url: `${base}/send`, secret } }
    })
    await accepting.admin(`/sessions/${owner.sessionId}/connect`, undefined, "POST")
    await consent(accepting, owner.accountId, ...phones)
    const hook = { url: `${base}/hook`, events: ["recipient.accepted"] }
    expect((await accepting.admin(`/accounts/${owner.accountId}/webhooks`, hook)).status).toBe(201)
    for (const [phone, traceparent] of [
      [one, `00-${trace}-${span}-01`],
      [unsampled, `00-${trace}-${span}-00`],
      [malformed, bad]
    ] as const) {
      const body = sendBody(owner.templateId, phone)
      const path = "/api/v1/template-messages/send"
      const answer = await owner.post(path, body, { "idempotency-key": phone, traceparent })
      expect(answer.status, answer.text).toBe(202)
    }
    await accepting.stop()

    const working = await host()
    const texted = await working.request("/api/public/messages/send", {
      headers: { ...owner.credentials, traceparent: `00-${trace}-${span}-01` },
      body: { to: direct, message: "Hello" }
    })
    expect(texted.status, texted.text).toBe(200)
    await eventually(
      async () => [askedAt("/send").length, askedAt("/hook").length],
      ([sent = 0, told = 0]) => sent >= 4 && told >= 3
    )
    await working.stop()

    const [request, ...others] = named("POST request").filter(({ traceId }) => traceId === trace)
    expect(request?.parentSpanId).toBe(span)
    expect(others).toHaveLength(1)
    const send = named("Engine.send").find(({ parentSpanId }) => parentSpanId === request?.spanId)
    const attempt = named("Sendwright.attempt").find(({ parentSpanId }) => parentSpanId === send?.spanId)
    const text = named("Engine.sendDirect")[0]
    const attemptOfText = named("Sendwright.attempt").find(
      ({ parentSpanId }) => parentSpanId === text?.spanId
    )
    const webhook = named("Sendwright.webhook")[0]
    expect(webhook?.parentSpanId).toBe(send?.spanId)
    for (const each of [send, attempt, text, attemptOfText, webhook]) expect(each?.traceId).toBe(trace)
    expect(named("Sendwright.attempt")).toHaveLength(2)

    expect(passedOn(one)).toBe(`00-${trace}-${attempt?.spanId}-01`)
    expect(passedOn(direct)).toBe(`00-${trace}-${attemptOfText?.spanId}-01`)
    expect(passedOn(unsampled)).toBe(`00-${trace}-${span}-00`)
    expect(passedOn(malformed)).toBeUndefined()
    expect(
      askedAt("/hook")
        .map(({ headers }) => headers["traceparent"] ?? "")
        .sort()
    ).toEqual(["", `00-${trace}-${webhook?.spanId}-01`, `00-${trace}-${span}-00`].sort())
  }, 60_000)

  it("is told under the names that the variables give, and with no number and no secret", () => {
    const [first] = askedAt("/v1/traces")
    expect([first?.headers["api-key"], first?.headers["x-tenant"]]).toEqual(["a key", "shop"])
    const resource = items(JSON.parse(first?.body ?? ""), "resourceSpans", 0, "resource", "attributes")
    expect(resource).toContainEqual({ key: "service.name", value: { stringValue: "messages" } })
    expect(resource).toContainEqual({ key: "deployment.environment", value: { stringValue: "a,b" } })
    expect(resource.filter((each) => at(each, "key") === "service.name")).toHaveLength(1)
    const told = asked.filter(({ path }) => path.startsWith("/v1/")).map(({ body }) => body)
    expect(told.join()).toContain('"sendwright_attempts_total"')
    for (const kept of [...phones, secret, "Hello", "test-admin-token", base])
      expect(told.join()).not.toContain(kept)
  })
})
