/** How do I send again what failed, and nobody twice? */
import { createTestSendwright } from "sendwright/testing"

const t = await createTestSendwright()
const [ana, bea, carl] = ["34600000001", "34600000002", "34600000003"] as const
t.platform.next(bea).fails("131049") // the person has had enough advertising for today
t.platform.next(carl).answersLate("2 days")
const { jobId } = await t.send({ to: [ana, bea, carl] })
const show = async () => {
  const { delivered, failed, unknown } = (await t.session.job(jobId)).counts
  console.log(`${delivered} delivered, ${failed} failed, ${unknown} unknown`)
}

await t.advance("1 day")
await show()
// Who is `unknown` may have the message, and gets it again only with `statuses: ["unknown"]`.
const { counts } = await t.session.retry(jobId, { codes: ["marketing_limited"], dryRun: true })
console.log(`a retry sends ${counts.failed} again`)
await t.session.retry(jobId, { codes: ["marketing_limited"] })
await t.advance("2 days")
await show()
await t.stop()

//> 1 delivered, 1 failed, 1 unknown
//> a retry sends 1 again
//> 3 delivered, 0 failed, 0 unknown
