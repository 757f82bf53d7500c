/**
 * A second account, with a gateway of its own: it goes out amid sixty reminders and comes back. Somebody says STOP,
 * somebody says what may be one, an old endpoint takes no webhooks, and a key is revoked.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { gateway } from "../gateway.ts"
import { client, list, pick, text } from "./Api.ts"
import { type Host, sleep } from "./Host.ts"

const secret = "a secret of the gateway"
const patients = Array.from({ length: 60 }, (_, at) => ({
  phone: String(34_655_000_100 + at),
  external_id: `patient-${at + 1}`,
  variables: { "body.1": `Patient ${at + 1}` }
}))
const [ana, bruno] = patients.map(({ phone }) => phone)
const zoe = patients.at(-1)?.phone

const template = {
  name: "appointment_reminder",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello {{1}}, we see you {{2}}. Reply STOP to unsubscribe." }]
}

export interface Clinic {
  /** Resolves when everybody is decided, so the outage is over. */
  readonly reminded: () => Promise<void>
  readonly close: () => void
}

export const open = async (
  { admin, base }: Host,
  revoke: (publicKey: string) => Promise<unknown>
): Promise<Clinic> => {
  let hook = ""
  const { report, server: platform } = gateway({
    secret,
    hook: () => hook,
    deliver: async ({ message_id, to }) => {
      // What became of hers is never told.
      if (to === zoe) return new Promise(() => {})
      // The host may have been ended meanwhile, and nobody hears of it.
      setTimeout(() => report({ receipts: [{ message_id, status: "delivered" }] }).catch(() => {}), 100)
      return `clinic-${message_id}`
    }
  })

  // It is out from the 16th message on, for 1.8 s: about twenty are refused, so Sendwright stops sending to it.
  let taken = 0
  let backAt = Number.POSITIVE_INFINITY
  const front = createServer((request, response) => {
    if (request.url === "/old-crm") return response.writeHead(500).end("out of order")
    taken += 1
    if (taken < 16 || Date.now() > backAt) return platform.emit("request", request, response)
    if (taken === 16) backAt = Date.now() + 1_800
    return response.writeHead(503, { "retry-after": "60" }).end()
  })
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve))
  const address = front.address()
  const { port }: Pick<AddressInfo, "port"> =
    typeof address === "object" && address !== null ? address : { port: 0 }
  const url = `http://127.0.0.1:${port}`

  const account = await admin("/accounts", { name: "Demo clinic", currency: "EUR" })
  const accountId = text(account, "account", "id")
  const session = await admin(`/accounts/${accountId}/sessions`, {
    name: "Reminders",
    provider: "http",
    config: { url, secret, timeout_ms: 1_000 },
    pacing: { messages_per_second: 20 },
    retry_for: 2
  })
  const sessionId = text(session, "session", "id")
  hook = `${base}/hooks/http/${sessionId}`
  await admin(`/sessions/${sessionId}/connect`, undefined, "POST")
  const imported = await admin(`/sessions/${sessionId}/templates`, { templates: [template] }, "PUT")
  await admin(`/accounts/${accountId}/consents`, {
    consents: patients.map(({ phone }) => ({ phone, source: "reception" }))
  })
  await admin(`/accounts/${accountId}/webhooks`, {
    url: `${url}/old-crm`,
    events: ["job.completed", "recipient.failed", "message.received", "consent.revoked"],
    description: "The CRM of last year"
  })
  const leaked = await admin(`/sessions/${sessionId}/keys`, { name: "left in a repository" })
  await revoke(text(leaked, "key", "public_key"))

  const api = client(base, await admin(`/sessions/${sessionId}/keys`, { name: "appointments" }))
  const sent = await api(
    "/api/v1/template-messages/send",
    {
      template_id: pick(list(imported, "templates")[0], "template_id"),
      reference: "reminders",
      variables: { "body.2": "tomorrow at nine" },
      recipients: patients
    },
    { "idempotency-key": "reminders-of-today" }
  )
  const reminded = async () => {
    for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(200)) {
      const job = pick(await api(text(sent, "links", "status")), "job")
      if (text(job, "status") !== "completed") continue
      const at = new Date().toISOString()
      await report({
        messages: [
          { id: "in-1", from: ana, text: "STOP", at },
          { id: "in-2", from: bruno, text: "please don't text me at work", at }
        ]
      })
      return
    }
    throw new Error("The clinic's reminders did not end within half a minute.")
  }
  return {
    reminded,
    close: () => {
      front.close()
      front.closeAllConnections()
    }
  }
}
