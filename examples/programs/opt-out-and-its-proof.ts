/** How does an opt-out work, and how do I prove it? */
import { SendwrightError } from "sendwright"
import { createTestSendwright } from "sendwright/testing"

const t = await createTestSendwright()
const accountId = t.account.id
const ana = { phone: "34600001234" }
const consent = { ...ana, source: "checkout", proof: "order 17, box 2 ticked" }
await t.sw.admin.consents.record({ accountId, consents: [consent] })
const send = (idempotencyKey: string) => t.session.send({ template: "hello", to: ana, idempotencyKey })

const { jobId } = await send("order-17")
await t.person(ana.phone).replies("Stop!")
await t.advance("1 hour")
const { counts } = await t.session.job(jobId)
console.log(`accepted before: ${counts.skipped} skipped`)
try {
  await send("order-18")
} catch (error) {
  if (!SendwrightError.is(error)) throw error
  console.log(`later: ${error.code}`)
}
const { history } = await t.sw.admin.consents.find({ accountId, ...ana })
for (const { proof, source, status } of history) console.log(`${status}, ${source}, ${proof}`)
await t.stop()

//> accepted before: 1 skipped
//> later: consent_required
//> revoked, inbound-message, Message in-34600001234-1767603600000-1: Stop!
//> granted, checkout, order 17, box 2 ticked
