/**
 * Webhooks with node:http: the bytes as they came are verified, then the event is handled once, then answered.
 *
 *   WEBHOOK_SECRET=whsec_… npx tsx examples/receivers/node-http.ts
 */
import { createServer, type Server } from "node:http"
import { verifyWebhook, type WebhookEvent, WebhookRefused } from "@sendwright/core"
import { isMain } from "../support/isMain.ts"
import { remember } from "./remember.ts"
import { secretOf } from "./secret.ts"

/** More than any event has. */
const longest = 1024 * 1024

export const receiver = (
  secrets: string | ReadonlyArray<string>,
  handle: (event: WebhookEvent) => void
): Server => {
  const inbox = remember()
  return createServer(async (request, response) => {
    try {
      const chunks: Array<Buffer> = []
      let length = 0
      // A client that goes away in the midst of its body ends this with an error.
      for await (const chunk of request) {
        length += chunk.length
        if (length > longest) return response.writeHead(413).end()
        chunks.push(chunk)
      }
      const event = verifyWebhook({ body: Buffer.concat(chunks), headers: request.headers, secrets })
      inbox.once(event.id, () => handle(event))
      return response.writeHead(204).end()
    } catch (error) {
      return response.writeHead(error instanceof WebhookRefused ? 400 : 500).end()
    }
  })
}

if (isMain(import.meta.url)) {
  receiver(secretOf(process.env), ({ data, type }) => console.log(type, data)).listen(3000)
}
