/**
 * A bad night at a host: an outage, a paused template, a webhook that fails, a revoked key, a used-up quota, a process that died, an
 * unknown outcome and a wrong number.
 */
import { createServer, type Server } from "node:http"
import type { Answer, Tenant, TestHost } from "./TestHost.ts"
import { at, consent, eventually, items, sendBody, start, template, tenant } from "./TestHost.ts"

export interface Night {
  /** The host that goes on after the first one died. */
  readonly host: TestHost
  readonly shop: Tenant
  /** Of the job with a wrong number, an unknown outcome and a message that arrived. */
  readonly jobId: string
  readonly requestId: string
  readonly revokedKey: string
  readonly webhookId: string
  readonly pausedJobId: string
  readonly waitingJobId: string
  readonly outageSession: string
  readonly refused: Answer
  readonly end: () => Promise<void>
}

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`
}

const jobOf = (answer: Answer): string => String(at(answer.json, "job_id"))

/** @param environment of both hosts; its `DATABASE_URL` outlives the first one */
export const badNight = async (environment: Readonly<Record<string, string>>): Promise<Night> => {
  const first = await start(environment)
  const broken = createServer((_, response) => response.writeHead(503).end())
  const url = await listen(broken)

  const shop = await tenant(first)
  const wrong = "34600600001"
  await consent(first, shop.accountId, wrong, "34600600006", "34600601234")
  const webhook = await first.admin(`/accounts/${shop.accountId}/webhooks`, { url })
  const spring = sendBody(shop.templateId, wrong, "34600600006", "34600601234")
  const sent = await shop.send({ ...spring, reference: "spring" }, "spring-1")
  const jobId = jobOf(sent)
  await eventually(
    () => shop.get(`/api/v1/template-messages/${jobId}`),
    ({ json }) => at(json, "job", "status") === "completed"
  )
  const revoked = await first.admin(`/sessions/${shop.sessionId}/keys`, {})
  const revokedKey = String(at(revoked.json, "key", "public_key"))
  await first.admin(`/keys/${revokedKey}/revoke`, undefined, "POST")

  const small = await tenant(first, { plan: { daily_template_recipients: 1 } })
  await consent(first, small.accountId, "34600601235", "34600601236")
  await small.send(sendBody(small.templateId, "34600601235"), "small-1")
  const refused = await small.send(sendBody(small.templateId, "34600601236"), "small-2")

  const slow = await tenant(first, { session: { pacing: { messages_per_second: 0.01 } } })
  const crowd = ["34600601237", "34600601238", "34600601239"]
  await consent(first, slow.accountId, ...crowd)
  const pausedJobId = jobOf(await slow.send(sendBody(slow.templateId, ...crowd), "slow-1"))
  await first.admin(
    `/sessions/${slow.sessionId}/templates`,
    { templates: [{ ...template, status: "PAUSED" }] },
    "PUT"
  )

  const out = await tenant(first, {
    session: { provider: "http", config: { url, secret: "a-secret-of-the-gateway-that-nobody-may-see" } }
  })
  await first.admin(`/sessions/${out.sessionId}/connect`, undefined, "POST")
  const many = Array.from({ length: 20 }, (_, n) => `346006020${String(n + 10)}`)
  await consent(first, out.accountId, ...many)
  const waitingJobId = jobOf(await out.send(sendBody(out.templateId, ...many), "out-1"))
  await eventually(
    () => first.admin("/sessions?down=true"),
    ({ json }) => items(json, "sessions").length > 0
  )
  first.signal("SIGKILL")
  await first.ended
  const host = await start(environment)
  return {
    host,
    shop,
    jobId,
    requestId: String(sent.headers.get("x-request-id")),
    revokedKey,
    webhookId: String(at(webhook.json, "webhook", "id")),
    pausedJobId,
    waitingJobId,
    outageSession: out.sessionId,
    refused,
    end: async () => {
      await host.stop()
      broken.closeAllConnections()
      broken.close()
    }
  }
}
