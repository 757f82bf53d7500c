/** A host with the sender of a platform that proves nothing: it takes whatever is posted, and shakes every hand. */
import { Sender } from "@sendwright/core"
import { Process } from "@sendwright/host"
import * as Effect from "effect/Effect"

const { HookResult, SendResult } = Sender

const taken = HookResult.Content({ reports: [], messages: [], preferences: [], templates: [], unread: [] })

const trusting: Sender.Sender = {
  provider: "trusting",
  deduplicates: true,
  send: () => Effect.succeed(SendResult.Accepted({ providerId: null, status: "accepted" })),
  receive: ({ method }) =>
    Effect.succeed(method === "GET" ? HookResult.Challenge({ text: "welcome" }) : taken)
}

Process.run({ senders: [trusting] })
