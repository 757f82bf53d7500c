/**
 * An app that never says `stop`. By words: its store, the database's URL, and what it does. It tells that its message went out, and
 * that it is still there after a while; nothing of its own keeps the process.
 */
import Database from "better-sqlite3"
import { type CustomSender, createSendwright, memory, type Sender, sandbox } from "sendwright"
import { postgres } from "sendwright/postgres"
import { sqlite } from "sendwright/sqlite"

const [store = "", url = "", task = ""] = process.argv.slice(2)

const stores = {
  memory,
  file: () => sqlite({ file: url }),
  handle: () => sqlite({ database: new Database(":memory:"), migrate: true }),
  postgres: () => postgres({ url })
}
const isKnown = (name: string): name is keyof typeof stores => name in stores
if (!isKnown(store)) throw new Error(`There is no store ${store}.`)

const say = (what: string): void => void process.stdout.write(`${what}\n`)
/** Passes without keeping the process. */
const passes = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref())

const own = (send: CustomSender["send"]): Sender => ({ provider: "own", send })
const senders: Record<string, Sender> = {
  late: own(async () => {
    await passes(700)
    return { outcome: "accepted" }
  }),
  busy: own(async ({ attempt }) =>
    attempt === 1 ? { outcome: "later", message: "Busy.", retryAfterMs: 1500 } : { outcome: "accepted" }
  )
}
const sender = senders[task] ?? sandbox({ latencyMs: 50, receiptDelayMs: 300 })
const isOwn = task in senders

const sw = await createSendwright({
  store: stores[store](),
  senders: [sender],
  secretKey: Buffer.alloc(32, 7).toString("base64"),
  logLevel: "none",
  on: {
    [isOwn ? "recipient.accepted" : "recipient.delivered"]: async () => {
      await passes(100)
      say("done")
    }
  }
})
const account = await sw.admin.accounts.create({ name: "Shop", currency: "EUR" })
const accountId = account.id
const { id } = await sw.admin.sessions.create({
  accountId,
  name: "main",
  provider: isOwn ? "own" : "sandbox"
})
if (isOwn) await sw.admin.sessions.connect({ id })
const components = [{ type: "BODY", text: "Hello" }]
const template = { name: "hello", language: "en", category: "UTILITY", status: "APPROVED", components }
await sw.admin.templates.import({ sessionId: id, templates: [template] })
const to = [{ phone: "34600001234" }]
await sw.admin.consents.record({ accountId, consents: [{ phone: "34600001234", source: "form" }] })

if (task !== "idle" && task !== "reads") await sw.start()
if (task !== "waits") await sw.session(id).send({ template: "hello", to, idempotencyKey: "1" })
say("left")
void passes(task === "reads" || task === "waits" ? 1500 : 10_000).then(() => say("still here"))
if (task === "reads") for await (const { type } of sw.events()) say(type)
