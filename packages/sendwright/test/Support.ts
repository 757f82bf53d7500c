/** An account with one session, a template and somebody who agreed, over any store. */
import type { CustomSender, Options, Sender, Sendwright } from "sendwright"
import { createSendwright, memory, sandbox } from "sendwright"
import { onTestFinished } from "vitest"

export const secretKey = Buffer.alloc(32, 7).toString("base64")
export const ana = "34600001234"
export const bea = "34600005678"

export const template = (name = "hello", language = "en", text = "Hello") => ({
  name,
  language,
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text }]
})

/** All but the secret key. */
type Some = Partial<Omit<Options, "secretKey" | "secretKeys">>

export const open = async (some: Some = {}): Promise<Sendwright> => {
  const sw = await createSendwright({
    store: memory(),
    senders: [sandbox({ latencyMs: 0, receiptDelayMs: 0 })],
    secretKey,
    logLevel: "none",
    ...some
  })
  onTestFinished(() => sw.stop({ graceMs: 0 }))
  return sw
}

export const furnish = async (sw: Sendwright, provider = "sandbox") => {
  const account = await sw.admin.accounts.create({
    name: "Shop",
    currency: "EUR"
  })
  const { id } = await sw.admin.sessions.create({ accountId: account.id, name: "main", provider })
  if (provider !== "sandbox") await sw.admin.sessions.connect({ id })
  await sw.admin.templates.import({ sessionId: id, templates: [template()] })
  const consents = [ana, bea].map((phone) => ({ phone, source: "test" }))
  await sw.admin.consents.record({ accountId: account.id, consents })
  return { account, session: sw.session(id) }
}

export const start = async (some: Some = {}) => {
  const sw = await open(some)
  return { sw, ...(await furnish(sw)) }
}

/** A platform of the app's own, and what it was asked for. */
export const platform = (some: Partial<CustomSender> = {}) => {
  const sent: Array<Parameters<CustomSender["send"]>[0]> = []
  const sender: Sender = {
    provider: "own",
    ...some,
    send: async (message) => {
      sent.push(message)
      return some.send === undefined
        ? { outcome: "accepted", providerId: message.messageId }
        : some.send(message)
    }
  }
  return { sent, sender }
}

export const list = async <A>(items: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  for await (const item of items) found.push(item)
  return found
}
