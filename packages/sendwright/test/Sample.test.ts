/** The first send, as the README shows it. */
import { createSendwright, memory, SendwrightError, sandbox } from "sendwright"
import { expect, it } from "vitest"

const platformTemplate = {
  name: "order_shipped",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello {{1}}, your order is on its way." }]
}
const secretKey = Buffer.alloc(32, 7).toString("base64")

it("sends, drains and tells what became of it", async () => {
  const sw = await createSendwright({ store: memory(), senders: [sandbox({ receiptDelayMs: 0 })], secretKey })
  const account = await sw.admin.accounts.create({
    name: "Shop",
    currency: "EUR"
  })
  const session = await sw.admin.sessions.create({ accountId: account.id, name: "main", provider: "sandbox" })
  await sw.admin.templates.import({ sessionId: session.id, templates: [platformTemplate] })
  await sw.admin.consents.record({
    accountId: account.id,
    consents: [{ phone: "34600001234", source: "form" }]
  })
  const { jobId } = await sw.session(session.id).send({
    template: "order_shipped",
    language: "en",
    to: [{ phone: "34600001234", variables: { "body.1": "Ana" } }],
    idempotencyKey: "order-1"
  })
  await sw.drain()
  const job = await sw.session(session.id).job(jobId)
  expect([job.status, job.results[0]?.status]).toEqual(["completed", "delivered"])
  const found = []
  for await (const { id, kind, title } of sw.session(session.id).search("+34 600 001 234"))
    found.push([kind, id, title])
  expect(found).toEqual([["message", job.results[0]?.messageId, "order_shipped to +34600001234"]])
  const kinds = []
  for await (const { accountId, kind } of sw.admin.search({ q: "34600001234" })) kinds.push([kind, accountId])
  expect(kinds.sort()).toEqual([
    ["message", account.id],
    ["person", account.id]
  ])
  expect(() => sw.admin.search({ q: "ab" })).toThrow(SendwrightError)
  await sw.stop()
  await expect(sw.drain()).rejects.toThrow(SendwrightError)
})
