/** How do I tell a person what I know of them, and forget them? */
import { createTestSendwright } from "sendwright/testing"

const t = await createTestSendwright()
const phone = "34600001234"
await t.send({ to: phone })
await t.advance("1 min")

const { consents, messages } = await t.sw.admin.people.export({ who: phone })
console.log(`known: ${messages.length} message, ${consents.length} consent`)
const { counts } = await t.sw.admin.people.erase({ phone, reason: "letter of 3 March" })
console.log(`erased: ${counts.recipients} recipient, ${counts.consents} consent`)
await t.advance("1 hour")
const left = await t.sw.admin.people.export({ who: phone })
console.log(`left: ${left.messages.length} messages`)
// The results stay, under a keyed hash in the place of the number, so that sums are right.
for await (const result of t.sw.admin.export.results())
  console.log(result.status, result.phone?.split(":")[0])
await t.stop()

//> known: 1 message, 1 consent
//> erased: 1 recipient, 1 consent
//> left: 0 messages
//> delivered erased
