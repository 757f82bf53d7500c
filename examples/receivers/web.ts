/** Webhooks wherever a handler is a function from a web-standard `Request` to a `Response`: Hono, Next.js, Bun, Deno. */
import { verifyWebhook, type WebhookEvent, WebhookRefused } from "@sendwright/core"
import { remember } from "./remember.ts"

export const receiver = (secrets: string | ReadonlyArray<string>, handle: (event: WebhookEvent) => void) => {
  const inbox = remember()
  return async (request: Request): Promise<Response> => {
    const body = new Uint8Array(await request.arrayBuffer())
    try {
      const event = verifyWebhook({ body, headers: request.headers, secrets })
      inbox.once(event.id, () => handle(event))
      return new Response(null, { status: 204 })
    } catch (error) {
      return new Response(null, { status: error instanceof WebhookRefused ? 400 : 500 })
    }
  }
}
