/** What the engine relies on, proven for the sender of this folder. */
import type { Instant, Sender } from "@sendwright/core"
import * as SenderSuite from "@sendwright/core/testing/SenderSuite"
import * as Effect from "effect/Effect"
import { platform, signed } from "./platform.ts"
import { pigeon } from "./sender.ts"

const subject = Effect.map(platform, ({ closedUrl, config, messages, situations }) => ({
  sender: pigeon,
  platform: {
    config,
    required: ["url", "token", "hook_secret"],
    secrets: ["token", "hook_secret"],
    unreachable: { ...config, url: closedUrl },
    situations: { ...situations, holds: SenderSuite.absent("Pigeon holds nothing back.") },
    retryAfterMs: 7000,
    received: () =>
      messages.map(({ id, reference, text, to }) => ({
        messageId: reference,
        to,
        content: text,
        providerId: id
      })),
    templates: null,
    hook: {
      signed: (body: string, now: Instant.Instant) => ({
        method: "POST" as const,
        headers: signed(body, now),
        query: {},
        body: new TextEncoder().encode(body),
        now
      }),
      delivered: ({ messageId }: Sender.OutboundMessage, providerId: string | null) =>
        JSON.stringify({ receipts: [{ reference: messageId, id: providerId, status: "delivered" }] }),
      staleAfterMs: 300_000
    },
    reports: null
  }
}))

SenderSuite.suite("pigeon", subject)
