/** What tenants, operators, platforms and strangers do with a host, well and badly, with a canary in every place. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Signature } from "@sendwright/core"
import type { Answer, RequestOptions } from "../support/TestHost.ts"
import { at, eventually, template } from "../support/TestHost.ts"
import type { Canaries } from "./Canaries.ts"

/** A host that is asked, wherever it runs. */
export interface Subject {
  readonly base: string
  readonly adminToken: string
  readonly request: (path: string, options?: RequestOptions) => Promise<Answer>
}

export interface Ran {
  /** What was answered to refused requests. */
  readonly problems: ReadonlyArray<string>
  readonly metrics: string
  /** Makes requests of all kinds once more, whose refusals join the problems. */
  readonly again: () => Promise<void>
}

/** Forges a line of the log where one is written as it is. */
export const forgery = "[2026-01-01T00:00:00.000Z] INFO (#0): forged-by-a-platform"

const served = async (answer: (request: IncomingMessage, body: string, response: ServerResponse) => void) => {
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => {
      body += chunk
    })
    request.on("end", () => answer(request, body, response))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}

const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(JSON.stringify(body))
}

/** All that a platform could have at hand to put into an error: the secrets of its own session among it. */
const echo = (
  canaries: Canaries,
  { headers, url }: IncomingMessage,
  body: string,
  ...secrets: ReadonlyArray<string>
): string =>
  [
    `\u001b[31m\n${forgery}\r\n${forgery}\u2028${forgery}\u0085${forgery}\u202e`,
    JSON.stringify(headers),
    url,
    `+${canaries.echoedPhone} ${canaries.echoedPhone}`,
    ...secrets,
    body
  ].join(" ")

export const run = async (host: Subject, canaries: Canaries): Promise<Ran> => {
  const problems: Array<string> = []
  const request = async (path: string, options?: RequestOptions): Promise<Answer> => {
    const answer = await host.request(path, options)
    if (answer.status >= 400) problems.push(answer.text)
    return answer
  }
  // What an operator is answered is the operator's own.
  const admin = (path: string, body?: unknown, method?: string): Promise<Answer> =>
    host.request(`/admin/v1${path}`, {
      headers: { authorization: `Bearer ${host.adminToken}` },
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { body })
    })

  const gateway = await served((incoming, body, response) => {
    const to = String(at(JSON.parse(body), "to"))
    if (to === canaries.refusedPhone) {
      json(response, 400, {
        error: { code: canaries.gatewaySecret, message: echo(canaries, incoming, body) }
      })
    } else if (incoming.url?.includes("expired")) {
      json(response, 401, {
        error: {
          code: "credentials_rejected",
          message: echo(canaries, incoming, body, canaries.gatewaySecret)
        }
      })
    } else json(response, 200, { id: `gateway-${to.slice(-4)}` })
  })
  const cloud = await served((incoming, body, response) =>
    json(response, 401, {
      error: { code: 190, message: echo(canaries, incoming, body, canaries.appSecret, canaries.verifyToken) }
    })
  )
  let received = 0
  const receiver = await served((_, __, response) => {
    received += 1
    json(response, 500, {})
  })

  try {
    const plan = { minimum_wait_ms: 0, requests_per_minute: 100_000 }
    const account = await admin("/accounts", { name: "Canary", currency: "EUR", plan })
    const accountId = String(at(account.json, "account", "id"))
    const config = {
      url: `${gateway.url}/send?token=${canaries.gatewayQuery}`,
      secret: canaries.gatewaySecret,
      headers: { "x-api-key": canaries.gatewayHeader }
    }
    const keyed = async (name: string, provider: string, configuration: unknown) => {
      const created = await admin(`/accounts/${accountId}/sessions`, {
        name,
        provider,
        config: configuration
      })
      const id = String(at(created.json, "session", "id"))
      await admin(`/sessions/${id}/connect`, undefined, "POST")
      const key = await admin(`/sessions/${id}/keys`, {})
      const publicKey = String(at(key.json, "key", "public_key"))
      const rotated = await admin(`/keys/${publicKey}/rotate`, { overlap_seconds: 60 })
      for (const given of [key, rotated]) canaries.canary("secret key", String(at(given.json, "secret_key")))
      return {
        id,
        headers: { "x-public-key": publicKey, "x-secret-key": String(at(rotated.json, "secret_key")) }
      }
    }
    const own = await keyed("Own", "http", config)
    const expired = await keyed("Expired", "http", { ...config, url: `${gateway.url}/expired` })
    const whatsapp = await keyed("WhatsApp", "whatsapp_cloud", {
      phone_number_id: "1",
      waba_id: "2",
      access_token: canaries.accessToken,
      app_secret: canaries.appSecret,
      verify_token: canaries.verifyToken,
      base_url: cloud.url
    })
    const synced = await admin(`/sessions/${whatsapp.id}/templates/sync`, undefined, "POST")
    problems.push(synced.text)
    const webhook = await admin(`/accounts/${accountId}/webhooks`, {
      url: `${receiver.url}/hook?token=${canaries.webhookQuery}`,
      events: ["*"]
    })
    const webhookId = String(at(webhook.json, "webhook", "id"))
    const renewed = await admin(`/webhooks/${webhookId}/rotate`, {})
    for (const given of [webhook, renewed])
      canaries.canary("webhook secret", String(at(given.json, "secret")))
    const inUrl = { url: `http://user:${canaries.userInfo}@receiver.example/` }
    for (const refused of [
      await admin(`/accounts/${accountId}/webhooks`, inUrl),
      await admin(`/accounts/${accountId}/sessions`, {
        name: "Refused",
        provider: "http",
        config: { ...config, ...inUrl, headers: { "x-broken": `${canaries.gatewayHeader}\n` } }
      })
    ]) {
      problems.push(refused.text)
    }

    const imported = await admin(`/sessions/${own.id}/templates`, { templates: [template] }, "PUT")
    await admin(`/accounts/${accountId}/consents`, {
      consents: [canaries.phone, canaries.refusedPhone].map((phone) => ({ phone, source: "canary" }))
    })
    const body = {
      template_id: Number(at(imported.json, "templates", 0, "template_id")),
      reference: canaries.reference,
      variables: { "header.1": "A-1", "body.2": "today", "button.0.1": "A-1" },
      recipients: [canaries.phone, canaries.refusedPhone].map((phone) => ({
        phone,
        variables: { "body.1": canaries.variable }
      }))
    }
    const send = (key: string, more: object = {}) =>
      request("/api/v1/template-messages/send", {
        headers: { ...own.headers, "idempotency-key": key },
        body: { ...body, ...more }
      })
    const direct = (headers: Readonly<Record<string, string>>, to: string) =>
      request("/api/public/messages/send", { headers, body: { to, message: canaries.message } })
    const signed = (text: string, secret: string) => {
      const timestamp = Math.floor(Date.now() / 1000)
      return {
        raw: text,
        headers: {
          "x-service-timestamp": String(timestamp),
          "x-service-signature": Signature.sign(secret, timestamp, text)
        }
      }
    }
    const hook = `/hooks/http/${own.id}`

    const badly = async (): Promise<void> => {
      const wrong = { ...own.headers, "x-secret-key": canaries.wrongSecret }
      await request("/api/v1/connection", { headers: wrong })
      await request("/api/v1/connection", {
        headers: { "x-public-key": canaries.wrongSecret, "x-secret-key": "" }
      })
      await request("/admin/v1/accounts", { headers: { authorization: `Bearer ${canaries.wrongToken}` } })
      await request("/metrics", { headers: { authorization: `Bearer ${canaries.wrongToken}` } })
      await request(`/api/v1/templates?category=${canaries.query}&limit=${canaries.query}`, {
        headers: { ...own.headers, "x-unknown": canaries.bearer, cookie: canaries.bearer }
      })
      await request(`/${canaries.query}?a=${canaries.query}`)
      await send(canaries.wrongSecret, { currency: canaries.refused, unknown: canaries.refused })
      await request("/api/v1/template-messages/send", {
        headers: { ...own.headers, "idempotency-key": "a", "content-type": "application/json" },
        raw: `{"template_id": "${canaries.malformed}`
      })
      await send("without-consent", {
        recipients: [{ phone: canaries.strangerPhone, variables: { "body.1": "a" } }]
      })
      await direct(own.headers, canaries.strangerPhone)
      await request(hook, {
        raw: `{"receipts": ["${canaries.forged}"]}`,
        headers: { "x-service-signature": "a" }
      })
      await request(hook, signed(`{"receipts": ["${canaries.forged}"]}`, canaries.wrongSecret))
      await request(
        `/hooks/whatsapp/${whatsapp.id}?hub.mode=subscribe&hub.verify_token=${canaries.wrongVerifyToken}&hub.challenge=a`
      )
      await request(`/hooks/whatsapp/${whatsapp.id}`, { raw: canaries.forged })
    }

    await badly()
    const job = await send(canaries.idempotencyKey)
    const jobId = String(at(job.json, "job_id"))
    await eventually(
      () => host.request(`/api/v1/template-messages/${jobId}`, { headers: own.headers }),
      ({ json }) => at(json, "job", "status") === "completed"
    )
    await direct(own.headers, canaries.phone)
    await direct(own.headers, canaries.refusedPhone)
    await direct(expired.headers, canaries.phone)
    // It is disconnected by now, and says why.
    await direct(expired.headers, canaries.phone)
    await request("/api/v1/connection", { headers: whatsapp.headers })
    await request(
      hook,
      signed(
        JSON.stringify({
          receipts: [
            { id: "unknown", status: "failed", error: { message: `${forgery}\n${canaries.gatewaySecret}` } },
            { unreadable: canaries.unreadable }
          ],
          messages: [
            { id: "1", from: canaries.personPhone, text: canaries.inbound },
            { unreadable: canaries.unreadable, from: canaries.personPhone }
          ]
        }),
        canaries.gatewaySecret
      )
    )
    await eventually(
      async () => received,
      (count) => count > 0
    )
    const metrics = await host.request("/metrics", {
      headers: { authorization: `Bearer ${host.adminToken}` }
    })
    return {
      problems,
      metrics: metrics.text,
      again: async () => {
        await badly()
        await send(`${canaries.idempotencyKey}-again`)
        await direct(own.headers, canaries.phone)
        await request(
          hook,
          signed(
            JSON.stringify({ messages: [{ id: "2", from: canaries.personPhone, text: canaries.inbound }] }),
            canaries.gatewaySecret
          )
        )
      }
    }
  } finally {
    for (const { close } of [gateway, cloud, receiver]) close()
  }
}
