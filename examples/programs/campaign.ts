/** How do I send a campaign at a pace, in its people's daytime? */
import { createTestSendwright } from "sendwright/testing"

const t = await createTestSendwright({ now: new Date("2030-01-08T08:00:00Z") })
await t.template("newsletter", "Hello {{1}}, the sale begins.")
const people = { Ana: "34600001234", Kenji: "81312345678", Mary: "12125550123" }
await t.consent(...Object.values(people))
const { jobId } = await t.session.send({
  template: "newsletter",
  to: Object.entries(people).map(([name, phone]) => ({ phone, variables: { "body.1": name } })),
  idempotencyKey: "sale-2030",
  hours: { from: "10:00", to: "20:00" }, // where each of them is, by the country of the number
  pace: { perMinute: 60 },
  stopWhen: { failedPercent: 5, ofFirst: 200 } // a person looks at it, and resumes it
})
await t.advance("1 day")
for (const [name, phone] of Object.entries(people))
  console.log(name, t.person(phone).inbox[0]?.at.toISOString())
console.log((await t.session.job(jobId)).status)
await t.stop()

//> Ana 2030-01-08T10:00:00.000Z
//> Kenji 2030-01-08T08:00:00.000Z
//> Mary 2030-01-08T20:00:00.000Z
//> completed
