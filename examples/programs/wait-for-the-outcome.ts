/** How do I wait for what became of a message? */
import { createSendwright, memory, sandbox } from "sendwright"

const secretKey = Buffer.alloc(32, "not this one").toString("base64")
const senders = [sandbox({ receiptDelayMs: 20 })]
const sw = await createSendwright({ store: memory(), senders, secretKey })
const { id: accountId } = await sw.admin.accounts.create({ name: "Shop" })
const { id } = await sw.admin.sessions.create({ accountId, name: "main", provider: "sandbox" })
const components = [{ type: "BODY", text: "Your order is on its way." }]
const template = { name: "shipped", language: "en", category: "UTILITY", status: "APPROVED", components }
await sw.admin.templates.import({ sessionId: id, templates: [template] })
const consents = [{ phone: "34600001234", source: "form" }]
await sw.admin.consents.record({ accountId, consents })

// An app has these handlers from its start on: events wait in the store until they were heard.
const outcome = new Promise<string>((resolve) => {
  sw.on("recipient.delivered", ({ data }) => resolve(`${data.externalId} is delivered`))
  sw.on("recipient.failed", ({ data }) => resolve(`${data.externalId}: ${data.error?.message}`))
})
await sw.start()
const to = { phone: "34600001234", externalId: "customer 7" }
await sw.session(id).send({ template: "shipped", to, idempotencyKey: "order-1" })
console.log(await outcome)
await sw.stop()

//> customer 7 is delivered
