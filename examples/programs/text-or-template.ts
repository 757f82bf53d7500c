/** How do I write a text, and a template in its place where the window for texts is closed? */
import { createTestSendwright } from "sendwright/testing"

const t = await createTestSendwright()
await t.template("order_ready", "Your order {{1}} is ready.")
await t.consent("34600001234")
const ana = t.person("34600001234")
const tell = async (order: string) => {
  for await (const { name, templateId } of t.session.templates()) {
    if (name !== "order_ready") continue
    const { sentAs } = await t.session.sendDirect({
      to: "34600001234",
      text: `Hi Ana, order ${order} is here, until eight.`,
      otherwise: { templateId, variables: { "body.1": order } },
      idempotencyKey: `ready-${order}`
    })
    await t.advance("1 min")
    console.log(`${sentAs}: ${ana.inbox.at(-1)?.text}`)
  }
}

ana.windowCloses()
await tell("17")
await ana.replies("Thanks!")
await tell("18")
await t.stop()

//> template: Your order 17 is ready.
//> text: Hi Ana, order 18 is here, until eight.
