/** How do I hear replies, and answer them? */
import { createTestSendwright } from "sendwright/testing"

const t = await createTestSendwright()
const ana = t.person("34600001234")

// It is called again after a crash or an error: the key answers the same message once.
t.sw.on("message.received", async ({ data }) => {
  if (data.from === null || !/open/i.test(data.text)) return
  await t.session.sendDirect({
    to: data.from,
    text: "We are open from 9 to 5.",
    replyTo: data.messageId,
    idempotencyKey: `answer-to-${data.messageId}`
  })
})

await t.send({ to: "34600001234" })
await t.advance("1 min")
await ana.replies("When are you open?")
await t.advance("1 min")
console.log(ana.inbox.map(({ text }) => text).join(" … "))
const { open, until } = await t.session.window("34600001234")
console.log(`free text ${open ? "may go" : "may not go"} until ${until?.toISOString()}`)
await t.stop()

//> Hello … We are open from 9 to 5.
//> free text may go until 2026-01-06T09:01:00.000Z
