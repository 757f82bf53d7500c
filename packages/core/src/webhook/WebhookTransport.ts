/** How a delivery reaches its receiver: one POST, no redirects, one time limit for all of it. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Failure } from "../domain/webhook/Webhook.ts"

export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type WebhookAnswer =
  | {
      readonly _tag: "Answered"
      readonly status: number
      /** As it came. */
      readonly retryAfter: string | null
      /** At most 16 KiB. */
      readonly excerpt: string
    }
  | {
      readonly _tag: "Unanswered"
      readonly reason: Extract<Failure, "timeout" | "connection" | "address_refused">
      /** When the headers came and the body did not. */
      readonly status: number | null
    }

/** For connecting, the headers and the body together (contract.md §7). */
export const timeoutMs = 15_000

export const excerptBytes = 16 * 1024

export class WebhookTransport extends Context.Tag("@sendwright/core/webhook/WebhookTransport")<
  WebhookTransport,
  {
    readonly post: (request: WebhookRequest) => Effect.Effect<WebhookAnswer>
    /**
     * False of an address that this process cannot deliver to now: what is due for it waits for another process, or until it
     * can. Every address is reached when this is absent.
     */
    readonly reaches?: (url: string) => boolean
    /**
     * Who receives at an address that is none of a network, such as "the handlers of …". Each failure of theirs is the transport's
     * to tell, and the log names no webhook that nobody made. Undefined of any other address.
     */
    readonly receiverAt?: (url: string) => string | undefined
  }
>() {}
