/** How do I write a sender for my SMS gateway? */
import { type CustomSender, createSendwright, memory } from "sendwright"

/** The gateway's call, a `fetch` of yours: its answer has a status, and an id where it took the message. */
const gateway = async (sms: { readonly to: string; readonly text: string; readonly reference: string }) => {
  console.log(`the gateway has: ${sms.text}`)
  return { status: 202, id: `sms-of-${sms.to}` }
}

const sms: CustomSender = {
  provider: "sms",
  send: async ({ content, messageId, to }) => {
    const text = content.kind === "direct" ? content.text : content.body
    // A rejected promise is `unknown`: the gateway may have the message, and it is not sent again.
    const { id, status } = await gateway({ to, text, reference: messageId })
    if (status === 429) return { outcome: "later", message: "The gateway is busy.", retryAfterMs: 30_000 }
    if (status >= 500) return { outcome: "unknown", message: `The gateway answered ${status}.` }
    if (status >= 400) return { outcome: "refused", code: String(status), message: "The gateway refused." }
    return { outcome: "accepted", providerId: id }
  }
}

const secretKey = Buffer.alloc(32, "not this one").toString("base64")
const sw = await createSendwright({ store: memory(), senders: [sms], secretKey })
const { id: accountId } = await sw.admin.accounts.create({ name: "Shop" })
const { id } = await sw.admin.sessions.create({ accountId, name: "SMS", provider: "sms" })
await sw.admin.sessions.connect({ id })
await sw.admin.consents.record({ accountId, consents: [{ phone: "34600001234", source: "form" }] })
const { messageId } = await sw.session(id).sendDirect({ to: "34600001234", text: "Your order is ready." })
// Call this where the gateway tells of a delivery, with the reference that it was given.
await sw.receive([{ messageId, status: "delivered" }])
console.log((await sw.session(id).message(messageId)).status)
await sw.stop()

//> the gateway has: Your order is ready.
//> delivered
