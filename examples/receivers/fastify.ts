/**
 * Webhooks with Fastify. Its JSON parser is replaced by one that keeps the bytes; with Express the same is
 * `express.raw({ type: "application/json" })` on this route.
 *
 *   WEBHOOK_SECRET=whsec_… npx tsx examples/receivers/fastify.ts
 */
import { verifyWebhook, type WebhookEvent, WebhookRefused } from "@sendwright/core"
import Fastify from "fastify"
import { isMain } from "../support/isMain.ts"
import { remember } from "./remember.ts"
import { secretOf } from "./secret.ts"

export const receiver = (secrets: string | ReadonlyArray<string>, handle: (event: WebhookEvent) => void) => {
  const inbox = remember()
  const app = Fastify()
  app.addContentTypeParser<Buffer>("application/json", { parseAs: "buffer" }, (_, body, done) =>
    done(null, body)
  )
  app.setErrorHandler((error, _, reply) => reply.code(error instanceof WebhookRefused ? 400 : 500).send())
  app.post<{ Body: Buffer }>("/hooks", async ({ body, headers }, reply) => {
    const event = verifyWebhook({ body, headers, secrets })
    inbox.once(event.id, () => handle(event))
    return reply.code(204).send()
  })
  return app
}

if (isMain(import.meta.url)) {
  const app = receiver(secretOf(process.env), ({ data, type }) => console.log(type, data))
  await app.listen({ port: 3000 })
}
