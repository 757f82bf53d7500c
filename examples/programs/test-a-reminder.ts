/** How do I test a reminder without waiting for it? */
import { createTestSendwright } from "sendwright/testing"

const t = await createTestSendwright({ now: new Date("2030-01-05T08:00:00Z") })
await t.template("reminder", "Dear {{1}}, see you tomorrow at 10:30.")
await t.consent("34600001234", "34600005678")
const remind = (phone: string, name: string) =>
  t.session.send({
    template: "reminder",
    to: { phone, variables: { "body.1": name } },
    idempotencyKey: `reminder-of-${name}`,
    sendAt: { local: "2030-01-07T10:30", timeZone: "Europe/Madrid" },
    expiresAt: { local: "2030-01-08T10:30", timeZone: "Europe/Madrid" }
  })

await remind("34600001234", "Ana")
await remind("34600005678", "Bea")
await t.advance("2 days")
await t.person("34600005678").replies("STOP")
const before = t.person("34600001234").inbox.length
await t.advance("2 hours")
const [reminder] = t.person("34600001234").inbox
console.log(`Ana: ${before} before, then ${reminder?.at.toISOString()} ${reminder?.text}`)
console.log(`Bea said STOP: ${t.person("34600005678").inbox.length} messages`)
await t.stop()

//> Ana: 0 before, then 2030-01-07T09:30:00.000Z Dear Ana, see you tomorrow at 10:30.
//> Bea said STOP: 0 messages
