/** How do I receive webhooks in Express, verified? */
import { once } from "node:events"
import { verifyWebhook, WebhookRefused } from "@sendwright/core"
import express from "express"
import { createSendwright, memory, sandbox } from "sendwright"

let secret = "" // yours is a setting
const handled = new Set<string>() // yours is a table, in the transaction that handles the event
const app = express()
// The signature is of the bytes, so this route takes them as they came.
app.post("/hooks", express.raw({ type: "*/*" }), ({ body, headers }, response) => {
  try {
    const { data, id, type } = verifyWebhook({ body, headers, secrets: secret })
    if (!handled.has(id)) console.log(`${type}: ${data["message"]}`)
    handled.add(id)
    response.status(204).end()
  } catch (error) {
    response.status(error instanceof WebhookRefused ? 400 : 500).end()
  }
})
const server = app.listen(0, "127.0.0.1")
await once(server, "listening")
const url = `http://127.0.0.1:${Object(server.address()).port}/hooks`

const secretKey = Buffer.alloc(32, "not this one").toString("base64")
const webhooks = { allowedNetworks: ["127.0.0.0/8"] } // public addresses alone, without it
const sw = await createSendwright({ store: memory(), senders: [sandbox()], secretKey, webhooks })
const { id: accountId } = await sw.admin.accounts.create({ name: "Shop" })
const webhook = await sw.admin.webhooks.create({ accountId, url })
secret = webhook.secret
await sw.admin.webhooks.test({ id: webhook.id })
await sw.drain()
const forged = await fetch(url, { method: "POST", body: "{}" })
console.log(`forged: ${forged.status}`)
await sw.stop()
server.close()

//> webhook.test: This is a test event.
//> forged: 400
