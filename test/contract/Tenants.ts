/** Two tenants of one host, and what each of them has: something of every kind that a route names by an id. */
import type { Tenant, TestHost } from "../support/TestHost.ts"
import { at, consent, items, sendBody, tenant } from "../support/TestHost.ts"

export interface Owned extends Tenant {
  readonly jobId: string
  readonly messageId: string
  readonly webhookId: string
  readonly deliveryId: string
  readonly retryId: string
}

const phone = "34600000100"

/** An account with a sandbox session, a key, a template, a job, a direct message, a webhook, a delivery and a retry. */
export const make = async (host: TestHost, receiver: string): Promise<Owned> => {
  const owner = await tenant(host)
  await consent(host, owner.accountId, phone)
  const webhook = await host.admin(`/accounts/${owner.accountId}/webhooks`, { url: receiver, events: ["*"] })
  const webhookId = String(at(webhook.json, "webhook", "id"))
  const delivery = await host.admin(`/webhooks/${webhookId}/test`, undefined, "POST")
  const job = await owner.send(sendBody(owner.templateId, phone), "first")
  const message = await owner.post("/api/public/messages/send", { to: phone, message: "Hello" })
  const retry = await host.admin("/jobs/retry", { filter: { account_id: owner.accountId } })
  return {
    ...owner,
    retryId: String(at(retry.json, "retry", "retry_id")),
    jobId: String(at(job.json, "job_id")),
    messageId: String(at(message.json, "messageId")),
    webhookId,
    deliveryId: String(at(delivery.json, "delivery_id"))
  }
}

/** A second key of another session of the same account, with a template and a job of its own. */
export const sibling = async (host: TestHost, owner: Owned): Promise<Owned> => {
  const session = await host.admin(`/accounts/${owner.accountId}/sessions`, {
    name: "Second",
    provider: "sandbox"
  })
  const sessionId = String(at(session.json, "session", "id"))
  const key = await host.admin(`/sessions/${sessionId}/keys`, {})
  const templates = [
    {
      name: "second",
      language: "en",
      category: "UTILITY",
      status: "APPROVED",
      components: [{ type: "BODY", text: "Hi" }]
    }
  ]
  const imported = await host.admin(`/sessions/${sessionId}/templates`, { templates }, "PUT")
  const templateId = Number(at(items(imported.json, "templates")[0], "template_id"))
  const credentials = {
    "x-public-key": String(at(key.json, "key", "public_key")),
    "x-secret-key": String(at(key.json, "secret_key"))
  }
  const post: Owned["post"] = (path, body, headers = {}) =>
    host.request(path, {
      method: "POST",
      headers: { ...credentials, ...headers },
      ...(body === undefined ? {} : { body })
    })
  const send: Owned["send"] = (body, idempotencyKey = "first") =>
    post("/api/v1/template-messages/send", body, { "idempotency-key": idempotencyKey })
  const job = await send({ template_id: templateId, recipients: [{ phone }] })
  const message = await post("/api/public/messages/send", { to: phone, message: "Hello again" })
  return {
    ...owner,
    sessionId,
    templateId,
    credentials,
    publicKey: credentials["x-public-key"],
    secretKey: credentials["x-secret-key"],
    send,
    post,
    get: (path) => host.request(path, { headers: credentials }),
    jobId: String(at(job.json, "job_id")),
    messageId: String(at(message.json, "messageId"))
  }
}
