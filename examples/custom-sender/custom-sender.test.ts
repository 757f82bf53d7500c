/** What the engine relies on, proven for the sender of this folder. */
import * as SenderSuite from "@sendwright/core/testing/SenderSuite"
import * as Effect from "effect/Effect"
import { platform } from "./platform.ts"
import { pigeon } from "./sender.ts"

const subject = Effect.map(platform, ({ closedUrl, config, messages, situations }) => ({
  sender: pigeon,
  platform: {
    config,
    required: ["url", "token"],
    secrets: ["token"],
    unreachable: { ...config, url: closedUrl },
    situations: { ...situations, holds: SenderSuite.absent("Pigeon holds nothing back.") },
    retryAfterMs: 7000,
    taken: () =>
      messages.map(({ id, reference, text, to }) => ({
        messageId: reference,
        to,
        content: text,
        providerId: id
      })),
    templates: null,
    hook: null,
    reports: null
  }
}))

SenderSuite.suite("pigeon", subject)
