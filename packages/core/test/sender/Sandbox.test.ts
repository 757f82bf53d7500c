import * as Effect from "effect/Effect"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import type { OutboundMessage } from "../../src/sender/Sender.ts"
import * as SenderSuite from "../../src/testing/SenderSuite/index.ts"

/** The outcome is in the number's last four digits. */
const ending =
  (digits: string): SenderSuite.Meeting =>
  (message: OutboundMessage) => ({ ...message, to: message.to.slice(0, -4) + digits })

const inProcess = SenderSuite.absent("It is in this process: there is no connection.")

SenderSuite.suite(
  "sandbox",
  Effect.sync(() => ({
    sender: Sandbox.make({ latencyMs: 0 }),
    platform: {
      config: {},
      required: [],
      secrets: [],
      unreachable: inProcess,
      situations: {
        accepts: ending("1234"),
        holds: SenderSuite.absent("It has no digits for a message that is held."),
        refuses: ending("0001"),
        busy: ending("0003"),
        fails: ending("0002"),
        babbles: inProcess,
        resets: ending("0006"),
        hangs: inProcess
      },
      retryAfterMs: 1000,
      received: SenderSuite.absent("It shows nothing of what it has taken but its receipts."),
      templates: null,
      hook: null,
      reports: ending("1234")
    }
  }))
)
