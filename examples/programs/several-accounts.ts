/** How do I keep several customers apart? */
import { createSendwright, memory, SendwrightError, sandbox } from "sendwright"

const secretKey = Buffer.alloc(32, "not this one").toString("base64")
const sw = await createSendwright({ store: memory(), senders: [sandbox()], secretKey })
const components = [{ type: "BODY", text: "Hello from {{1}}" }]
const template = { name: "hello", language: "en", category: "UTILITY", status: "APPROVED", components }

/** A customer has consents, limits and prices of its own, and a session for each of its numbers. */
const customer = async (name: string) => {
  const plan = { dailyTemplateRecipients: 1 }
  const { id: accountId } = await sw.admin.accounts.create({ name, plan })
  const { id } = await sw.admin.sessions.create({ accountId, name: "main", provider: "sandbox" })
  await sw.admin.templates.import({ sessionId: id, templates: [template] })
  const send = async (phone: string) => {
    try {
      const to = { phone, variables: { "body.1": name } }
      await sw.session(id).send({ template: "hello", to, idempotencyKey: `hello-${phone}` })
      console.log(`${name}: sent`)
    } catch (error) {
      if (!SendwrightError.is(error)) throw error
      console.log(`${name}: ${error.code}`)
    }
  }
  return { accountId, send }
}

const shop = await customer("Shop")
const clinic = await customer("Clinic")
const consents = ["34600001234", "34600005678"].map((phone) => ({ phone, source: "form" }))
await sw.admin.consents.record({ accountId: shop.accountId, consents })
await clinic.send("34600001234") // who agreed to the shop's messages has not agreed to the clinic's
await shop.send("34600001234")
await shop.send("34600005678")
await sw.stop()

//> Clinic: consent_required
//> Shop: sent
//> Shop: quota_exceeded
