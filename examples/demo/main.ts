/**
 * The whole service in one run: a host on a fresh SQLite file, one template to ten recipients (each outcome of the
 * sandbox among them), one direct message, signed webhooks received and verified. Then the console, with more to look
 * at, until Ctrl-C; with `--once` it ends there.
 */
import { randomUUID } from "node:crypto"
import { client, list, pick, text } from "./Api.ts"
import * as Campaigns from "./Campaigns.ts"
import * as Clinic from "./Clinic.ts"
import * as Host from "./Host.ts"
import * as Receiver from "./Receiver.ts"
import { bold, dim, endProgress, progress, status, step, table } from "./Terminal.ts"

const outcomes: ReadonlyArray<readonly [suffix: string, name: string, expectation: string]> = [
  ["1234", "Ana", "succeeds"],
  ["0001", "Bruno", "is not on the platform"],
  ["0002", "Carla", "fails twice for a moment, then is accepted"],
  ["0003", "Diego", "is told to slow down, then is accepted"],
  ["0004", "Elena", "is accepted, then fails by receipt"],
  ["0005", "Fabio", "times out, a receipt resolves it later"],
  ["0006", "Greta", "times out and is never resolved"],
  ["0007", "Hugo", "is accepted but never delivered"],
  ["0008", "Irene", "has receipts repeated and out of order"],
  ["0009", "Jorge", "replies STOP"]
]

const template = {
  name: "order_confirmation",
  language: "en_US",
  category: "UTILITY",
  status: "APPROVED",
  components: [
    { type: "HEADER", format: "TEXT", text: "Order {{1}}", example: { header_text: ["A-1001"] } },
    {
      type: "BODY",
      text: "Hello {{1}}, your order is on its way and arrives {{2}}.",
      example: { body_text: [["Ana", "tomorrow"]] }
    },
    { type: "FOOTER", text: "Reply STOP to unsubscribe" },
    {
      type: "BUTTONS",
      buttons: [{ type: "URL", text: "Track", url: "https://shop.example/track/{{1}}", example: ["A-1001"] }]
    }
  ]
}

let secret = ""
const receiver = await Receiver.start(() => secret)
const host = await Host.start()
let clinic: Clinic.Clinic | undefined

const stop = async () => {
  await host.stop()
  clinic?.close()
  await receiver.close()
}

const run = async () => {
  const { admin, base } = host
  await host.ready()
  step(`Host on ${base}, fresh database in ${dim(host.folder)}`)

  await admin(
    "/rate-cards",
    {
      currency: "EUR",
      effective_from: "2026-01-01T00:00:00.000Z",
      prices: [
        { market: "Spain", prefixes: ["34"], category: "utility", price: "0.0200" },
        { market: "*", category: "utility", price: "0.0100" },
        { market: "Brazil", prefixes: ["55"], category: "marketing", price: "0.0530" },
        { market: "*", category: "marketing", price: "0.0480" }
      ]
    },
    "PUT"
  )
  const operator = async (name: string) => text(await admin("/operators", { name, role: "admin" }), "token")
  const token = await operator("demo")
  const marta = host.as(await operator("marta"))
  clinic = await Clinic.open(host, (publicKey) => marta(`/keys/${publicKey}/revoke`, {}))

  const account = await admin("/accounts", {
    name: "Demo shop",
    currency: "EUR",
    plan: { requests_per_minute: 1200 }
  })
  const accountId = text(account, "account", "id")
  const session = await admin(`/accounts/${accountId}/sessions`, { name: "Sandbox", provider: "sandbox" })
  const sessionId = text(session, "session", "id")
  const key = await admin(`/sessions/${sessionId}/keys`, { name: "demo" })
  const imported = await admin(`/sessions/${sessionId}/templates`, { templates: [template] }, "PUT")
  const templateId = pick(list(imported, "templates")[0], "template_id")
  step("Account, sandbox session, API key and one approved template")

  const recipients = outcomes.map(([suffix, name]) => ({
    phone: `3461234${suffix}`,
    external_id: name.toLowerCase(),
    variables: { "body.1": name }
  }))
  await admin(`/accounts/${accountId}/consents`, {
    consents: recipients.map(({ phone }) => ({ phone, source: "demo" }))
  })
  const webhook = await admin(`/accounts/${accountId}/webhooks`, { url: receiver.url, events: ["*"] })
  secret = text(webhook, "secret")
  step("Consent of ten people, a rate card, and a webhook endpoint that takes every event")

  const api = client(base, key)

  const request = {
    template_id: templateId,
    variables: { "header.1": "A-1001", "body.2": "tomorrow", "button.0.1": "A-1001" },
    recipients
  }
  const estimate = await api("/api/v1/template-messages/estimate", request)
  step(
    `Estimate: ${text(estimate, "estimate", "total")} ${text(estimate, "estimate", "currency")}, not binding`
  )

  const idempotencyKey = randomUUID()
  const acknowledgement = await api("/api/v1/template-messages/send", request, {
    "idempotency-key": idempotencyKey
  })
  const link = text(acknowledgement, "links", "status")
  step(`Send accepted as job ${bold(text(acknowledgement, "job_id"))}`)
  const again = await api("/api/v1/template-messages/send", request, { "idempotency-key": idempotencyKey })
  step(
    `The same request again answers the same job: ${text(again, "job_id") === text(acknowledgement, "job_id")}`
  )

  const direct = await api("/api/public/messages/send", {
    to: "34612345678",
    message: "Hello from Sendwright"
  }).catch(async () => {
    await admin(`/accounts/${accountId}/consents`, { consents: [{ phone: "34612345678", source: "demo" }] })
    return api("/api/public/messages/send", { to: "34612345678", message: "Hello from Sendwright" })
  })
  step(`Direct message ${text(direct, "status")} (the first try was refused: no consent was registered)`)
  console.log()

  /** Settled: nothing left to dispatch, and nothing new has come for a second. */
  const settled = async () => {
    let quietSince = Date.now()
    let before = ""
    for (const deadline = Date.now() + 60_000; Date.now() < deadline; await Host.sleep(100)) {
      const job = pick(await api(link), "job")
      const counts = Object.entries(Object(pick(job, "counts"))).filter(([, count]) => count !== 0)
      const now = JSON.stringify([counts, receiver.total()])
      progress(
        `  ${text(job, "status").padEnd(10)} ${counts.map(([name, count]) => `${count} ${status(name)}`).join(" · ")}  ${dim(`${receiver.total()} webhooks verified`)}`
      )
      if (now !== before) quietSince = Date.now()
      before = now
      if (text(job, "status") === "completed" && Date.now() - quietSince > 1000) return job
    }
    throw new Error("The job did not settle within a minute.")
  }
  const job = await settled()
  endProgress()
  console.log()

  const rows = list(job, "results").map((result, at) => {
    const delivered = pick(result, "delivered_at") !== null
    return [
      text(result, "phone"),
      outcomes[at]?.[1] ?? "",
      status(text(result, "status")),
      text(result, "attempts"),
      delivered ? text(result, "unit_price") : "–",
      text(result, "error", "message") || dim(outcomes[at]?.[2] ?? "")
    ]
  })
  table(["Recipient", "Name", "Status", "Attempts", "Cost", "Reason"], rows)
  console.log(
    `\nCost: ${text(job, "actual_cost")} of ${text(job, "estimated_cost")} ${text(job, "currency")} estimated\n`
  )
  table(
    ["Webhook event", "Verified"],
    [...receiver.verified()].map(([type, count]) => [type, String(count)])
  )
  if (receiver.forged() > 0) throw new Error(`${receiver.forged()} webhooks could not be verified.`)
  if (receiver.total() === 0) throw new Error("No webhook arrived.")
  await clinic.reminded()
  await Campaigns.begin(host, accountId)
  console.log(`
${bold("Done.")} Next: docs/first-send.md.

The console: ${bold(`${base}/console`)}
Sign in with: ${token}
A second account had an outage, a campaign is under way, and another one waits for tomorrow.`)
}

const interrupted = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => resolve())
})

const story = async () => {
  await run()
  if (process.argv.includes("--once")) return
  console.log(dim("Ctrl-C ends it."))
  await interrupted
}

try {
  await Promise.race([story(), interrupted])
} catch (error) {
  endProgress()
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
await stop()
process.exit()
