/**
 * A session of the WhatsApp Cloud API in one run, against a stand-in of the platform on 127.0.0.1 and without a token:
 * connect, sync, one template to ten people of whom most meet a documented error, receipts and replies by the signed
 * hook, a template that is paused, and a STOP that ends the next send. Ends with 1 when anything is not as it tells.
 */
import { randomUUID } from "node:crypto"
import type { Behaviour } from "../../test/graph/Graph.ts"
import * as Graph from "../../test/graph/Graph.ts"
import { call, expectOk, list, pick, text } from "./Api.ts"
import * as Host from "./Host.ts"
import * as Receiver from "./Receiver.ts"
import { bold, dim, endProgress, progress, status, step, table } from "./Terminal.ts"

interface Person {
  readonly name: string
  readonly phone: string
  readonly platform: string
  readonly how?: Behaviour
  /** The status in the end, and the platform's code beside it. */
  readonly ends: readonly [status: string, providerCode: string]
}

const people: ReadonlyArray<Person> = [
  { name: "Ana", phone: "34612340001", platform: "delivers, and she reads it", ends: ["read", ""] },
  { name: "Bruno", phone: "34612340002", platform: "delivers", ends: ["delivered", ""] },
  {
    name: "Carla",
    phone: "34612340003",
    platform: "cannot reach her",
    how: { kind: "error", code: 131_026 },
    ends: ["failed", "131026"]
  },
  {
    name: "Diego",
    phone: "34612340004",
    platform: "knows that he stopped marketing",
    how: { kind: "error", code: 131_050 },
    ends: ["failed", "131050"]
  },
  {
    name: "Elena",
    phone: "34612340005",
    platform: "limits marketing to her",
    how: { kind: "error", code: 131_049 },
    ends: ["failed", "131049"]
  },
  {
    name: "Fabio",
    phone: "34612340006",
    platform: "asks for a rest of the pair, once",
    how: { kind: "error", code: 131_056, times: 1 },
    ends: ["delivered", ""]
  },
  {
    name: "Greta",
    phone: "34612340007",
    platform: "asks to slow down, Retry-After 1, once",
    how: { kind: "error", code: 130_429, retryAfter: "1", times: 1 },
    ends: ["delivered", ""]
  },
  {
    name: "Hugo",
    phone: "34612340008",
    platform: "takes it and holds it back",
    how: { kind: "held", messageStatus: "held_for_quality_assessment" },
    ends: ["accepted", "held_for_quality_assessment"]
  },
  {
    name: "Irene",
    phone: "34612340009",
    platform: "takes it, then reports a failure",
    how: { kind: "failed", code: 130_472 },
    ends: ["failed", "130472"]
  },
  {
    name: "Jorge",
    phone: "34612340010",
    platform: "takes it and breaks the connection",
    how: { kind: "reset", when: "after" },
    ends: ["delivered", ""]
  }
]
const [ana, bruno, , diego] = people.map(({ phone }) => phone)

const template = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  id: String(1_000_000 + name.length),
  name,
  language: "en",
  category: "MARKETING",
  status: "APPROVED",
  components: [
    { type: "BODY", text: "Hello {{1}}, your discount is waiting.", example: { body_text: [["Ana"]] } },
    {
      type: "BUTTONS",
      buttons: [
        { type: "URL", text: "Look", url: "https://shop.example/{{1}}", example: ["spring"] },
        { type: "QUICK_REPLY", text: "Stop" }
      ]
    }
  ],
  ...more
})

const config = {
  phone_number_id: "106540352242922",
  waba_id: "102290129340398",
  access_token: randomUUID(),
  app_secret: randomUUID(),
  verify_token: randomUUID()
}

let secret = ""
const receiver = await Receiver.start(() => secret)
const graph = await Graph.start({
  phoneNumberId: config.phone_number_id,
  wabaId: config.waba_id,
  accessToken: config.access_token,
  appSecret: config.app_secret,
  verifyToken: config.verify_token,
  latencyMs: 20,
  pageSize: 2,
  templates: [
    template("spring_discount"),
    template("summer_sale"),
    template("old_offer", { status: "PAUSED" }),
    template("find_us", {
      components: [
        { type: "HEADER", format: "LOCATION" },
        { type: "BODY", text: "We have moved." }
      ]
    }),
    template("winter_sale")
  ]
})
const host = await Host.start()

const stop = async () => {
  await host.stop()
  await graph.close()
  await receiver.close()
}

/** The story is told only as long as it is true. */
const check = (is: boolean, otherwise: string): void => {
  if (!is) throw new Error(otherwise)
}

const run = async () => {
  const { admin, base } = host
  await host.ready()
  step(`Host on ${base}, a stand-in for graph.facebook.com on ${graph.url}`)

  const account = await admin("/accounts", {
    name: "Demo shop",
    currency: "EUR",
    plan: { requests_per_minute: 1200 }
  })
  const accountId = text(account, "account", "id")
  const webhook = await admin(`/accounts/${accountId}/webhooks`, { url: receiver.url, events: ["*"] })
  secret = text(webhook, "secret")
  const created = await admin(`/accounts/${accountId}/sessions`, {
    name: "Shop on WhatsApp",
    provider: "whatsapp_cloud",
    config: { ...config, access_token: "expired", base_url: graph.url }
  })
  const sessionId = text(created, "session", "id")
  const connect = async (): Promise<unknown> =>
    pick(await admin(`/sessions/${sessionId}/connect`, undefined, "POST"), "session")

  const refused = await connect()
  check(text(refused, "state") === "disconnected", "The wrong token was not refused.")
  step(`With a wrong token the session is ${text(refused, "state")}: ${dim(text(refused, "reason"))}`)
  await admin(`/sessions/${sessionId}`, { config: { ...config, base_url: graph.url } }, "PATCH")
  const connected = await connect()
  check(text(connected, "state") === "connected", `It does not connect: ${text(connected, "reason")}`)
  step(`With the right one it is ${text(connected, "state")}`)

  const synced = await admin(`/sessions/${sessionId}/templates/sync`, undefined, "POST")
  const templates = list(synced, "templates")
  const pages = graph.requests().filter(({ path }) => path.includes("/message_templates")).length
  check(templates.length === 5 && pages === 3, `${templates.length} templates came over ${pages} pages.`)
  step(`Synced ${templates.length} templates over ${pages} pages:`)
  for (const each of templates) {
    const reason = text(each, "unsendable_reason")
    console.log(`    ${text(each, "name").padEnd(16)} ${text(each, "status")}${reason && `, ${dim(reason)}`}`)
  }
  const templateId = (name: string): unknown =>
    pick(
      templates.find((each) => text(each, "name") === name),
      "template_id"
    )

  const hook = `${base}/hooks/whatsapp/${sessionId}`
  check(await graph.subscribe(hook), "The hook did not answer the challenge.")
  const forged = await graph.post('{"entry":[]}', `sha256=${"0".repeat(64)}`)
  check(forged === 401, `A forged post was answered ${forged}.`)
  step(`The hook answered the challenge, and a post with another signature ${forged}`)

  const key = await admin(`/sessions/${sessionId}/keys`, { name: "demo" })
  const credentials = {
    "x-public-key": text(key, "key", "public_key"),
    "x-secret-key": text(key, "secret_key")
  }
  const post = (path: string, body: unknown) =>
    call(`${base}${path}`, { headers: { ...credentials, "idempotency-key": randomUUID() }, body })
  const send = (name: string, phones: ReadonlyArray<string | undefined>) =>
    post("/api/v1/template-messages/send", {
      template_id: templateId(name),
      variables: { "button.0.1": "spring" },
      recipients: people
        .filter(({ phone }) => phones.includes(phone))
        .map((person) => ({ phone: person.phone, variables: { "body.1": person.name } }))
    })
  const jobAt = async (link: string): Promise<unknown> =>
    pick(await expectOk(call(`${base}${link}`, { headers: credentials })), "job")
  const statusesOf = (job: unknown) => list(job, "results").map((result) => text(result, "status"))
  const countsOf = (job: unknown): string =>
    Object.entries(Object(pick(job, "counts")))
      .filter(([, count]) => count !== 0)
      .map(([name, count]) => `${count} ${status(name)}`)
      .join(" · ")

  /** Asks until it is so, and shows what there is until then. */
  const until = async (link: string, isSo: (job: unknown) => boolean): Promise<unknown> => {
    for (const deadline = Date.now() + 20_000; Date.now() < deadline; await Host.sleep(100)) {
      const job = await jobAt(link)
      progress(`    ${text(job, "status").padEnd(10)} ${countsOf(job)}`)
      if (!isSo(job)) continue
      endProgress()
      return job
    }
    throw new Error("The job did not come to what is told of it within 20 seconds.")
  }

  const phones = people.map(({ phone }) => phone)
  await admin(`/accounts/${accountId}/consents`, {
    consents: phones.map((phone) => ({ phone, source: "demo" }))
  })
  for (const { how, phone } of people) if (how !== undefined) graph.behave(phone, how)

  const accepted = await expectOk(send("spring_discount", phones))
  const link = text(accepted, "links", "status")
  step(`One template to ten people who consented, job ${bold(text(accepted, "job_id"))}`)
  await until(link, (job) => statusesOf(job)[0] === "delivered")
  const taken = graph.messages().find(({ to }) => to === ana)
  const seconds = () => String(Math.floor(Date.now() / 1000))
  await graph.report([{ id: taken?.id, status: "read", timestamp: seconds(), recipient_id: ana }])
  const expected = people.map(({ ends: [status] }) => status).join()
  const job = await until(link, (job) => statusesOf(job).join() === expected)
  console.log()
  const results = list(job, "results")
  table(
    ["Name", "The platform", "Status", "Attempts", "Code", "Platform's"],
    people.map(({ name, platform }, at) => [
      name,
      dim(platform),
      status(text(results[at], "status")),
      text(results[at], "attempts"),
      text(results[at], "error", "code") || "–",
      text(results[at], "error", "provider_code") || "–"
    ])
  )
  people.forEach(({ ends: [, providerCode], name }, at) => {
    const told = text(results[at], "error", "provider_code")
    check(told === providerCode, `${name} has the platform's code ${told}, not ${providerCode}.`)
  })
  console.log(`\n    ${text(job, "recipients")} recipients: ${countsOf(job)}\n`)

  graph.behave(String(bruno), { kind: "error", code: 132_015, times: 1 })
  const second = text(await expectOk(send("summer_sale", [bruno])), "links", "status")
  const paused = await until(second, (job) => text(job, "status") === "paused")
  step(`Another template meets 132015: its job is paused, ${text(paused, "pause_reason")}`)
  const approval = {
    event: "APPROVED",
    message_template_id: 1,
    message_template_name: "summer_sale",
    message_template_language: "en"
  }
  await graph.deliver(approval, "message_template_status_update")
  await until(second, (job) => statusesOf(job)[0] === "delivered")
  step("The platform approves it again, and the job goes on by itself")

  graph.behave(String(ana), { kind: "error", code: 131_047 })
  const direct = await post("/api/public/messages/send", { to: ana, message: "Are you there?" })
  check(direct.status === 422, `The text was answered ${direct.status}.`)
  step(`A text outside the 24 hours: ${direct.status} ${text(direct.body, "code")}, 131047`)
  console.log(`    ${dim(text(direct.body, "detail"))}`)

  const say = (from: unknown, body: string) =>
    graph.deliver(
      {
        messages: [{ from, id: `wamid.${randomUUID()}`, timestamp: seconds(), type: "text", text: { body } }]
      },
      "messages"
    )
  await say(ana, "Thank you!")
  await say(bruno, "Stop")
  const before = graph.messages().length
  const stopped = await send("winter_sale", [ana, bruno, diego])
  const missing = list(stopped.body, "errors")
  check(stopped.status === 403, `The send was answered ${stopped.status}, not 403.`)
  check(missing.length === 2, `${missing.length} recipients have no consent, not 2.`)
  check(graph.messages().length === before, "Something was sent all the same.")
  step('Ana answers "Thank you!", Bruno "Stop". The next send to Ana, Bruno and Diego:')
  console.log(`    ${stopped.status} ${text(stopped.body, "code")}, and nothing was sent to anyone`)
  for (const error of missing) {
    console.log(`    ${text(error, "pointer")}  ${dim(text(error, "message"))}`)
  }

  for (const deadline = Date.now() + 5_000; Date.now() < deadline; await Host.sleep(50)) {
    if (receiver.verified().get("message.received") === 2) break
  }
  check(receiver.verified().get("message.received") === 2, "The replies were not told by webhooks.")
  check(receiver.forged() === 0, `${receiver.forged()} webhooks could not be verified.`)
  step(`${receiver.total()} webhooks told all of it, signed and verified, the two replies among them`)
  check(graph.faults().length === 0, `The platform found fault: ${graph.faults().join("; ")}`)
  console.log(`\n${bold("Done.")} Next, with a token of your own: docs/whatsapp.md.`)
}

try {
  await run()
} catch (error) {
  endProgress()
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await stop()
}
