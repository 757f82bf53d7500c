/** Three platforms that misbehave by the seed: one deduplicates, one can be asked, one can do neither. */
import * as Effect from "effect/Effect"
import type { Provider } from "../../packages/core/src/domain/session/Session.ts"
import type { Sender } from "../../packages/core/src/sender/Sender.ts"
import { SendResult } from "../../packages/core/src/sender/Sender.ts"
import type { Random } from "../support/Random.ts"

export const providers: ReadonlyArray<Provider> = ["sandbox", "http", "whatsapp_cloud"]

export interface Platform {
  /** How often a person got the message, by message id. */
  readonly effects: ReadonlyMap<string, number>
  readonly sender: (provider: Provider) => Sender
  /** For so long it answers nobody: it refuses at once, or keeps everybody waiting. */
  readonly goDown: (provider: Provider, ms: number, hangs: boolean) => void
  /** From here on it behaves. */
  readonly heal: () => void
}

/** As no text should be; databases and logs are told of it all the same. */
export const odd: ReadonlyArray<string> = [
  "nul\0",
  "high\ud800",
  "\udfff low",
  "long ".repeat(1000),
  "🎉".repeat(600),
  "line\r\nlevel=ERROR \u001b[2J",
  "\u202egnirts\u200b",
  "",
  "\\u0000 ' \" {NULL} ? $1"
]

export const make = (random: Random, now: () => number): Platform => {
  const outages = new Map<Provider, { readonly until: number; readonly hangs: boolean }>()
  const says = (otherwise: string): string =>
    faulty && random() < 0.1 ? (odd[Math.floor(random() * odd.length)] ?? "") : otherwise
  const failure = (code: string, permanent: boolean) => ({
    code,
    provider_code: faulty && random() < 0.2 ? says("1") : null,
    message: says("The simulated platform says so."),
    permanent
  })
  const effects = new Map<string, number>()
  let faulty = true

  const take = (provider: Provider, messageId: string): void => {
    const before = effects.get(messageId) ?? 0
    effects.set(messageId, provider === "sandbox" ? 1 : before + 1)
  }

  const accepted = (messageId: string) =>
    SendResult.Accepted({ providerId: says(`p-${messageId}`), status: random() < 0.2 ? "sent" : "accepted" })

  const sender = (provider: Provider): Sender => ({
    provider,
    deduplicates: provider === "sandbox",
    send: ({ messageId }) =>
      Effect.gen(function* () {
        const outage = outages.get(provider)
        const left = outage === undefined ? 0 : outage.until - now()
        if (faulty && outage !== undefined && left > 0) {
          if (!outage.hangs) {
            const unavailable = failure("unavailable", false)
            return SendResult.Transient({ failure: unavailable, retryAfterMs: null, answered: false })
          }
          yield* Effect.sleep(left)
          return SendResult.Ambiguous({ failure: failure("no_answer", false) })
        }
        const draw = faulty ? random() : 1
        const latency = draw < 0.03 ? 600_000 : Math.floor(random() * 400)
        yield* Effect.sleep(latency / 2)
        if (draw < 0.06) return SendResult.Ambiguous({ failure: failure("no_answer", false) })
        if (draw < 0.12)
          return SendResult.Transient({
            failure: failure("busy", false),
            retryAfterMs: draw < 0.09 ? 2000 : null
          })
        if (draw < 0.15) return SendResult.Rejected({ failure: failure("refused", true) })
        if (draw < 0.16) return yield* Effect.dieMessage("The sender broke before its request.")
        // From here on the platform has it.
        take(provider, messageId)
        yield* Effect.sleep(latency / 2)
        if (draw < 0.2) return SendResult.Ambiguous({ failure: failure("no_answer", false) })
        if (draw < 0.21) return yield* Effect.dieMessage("The sender broke after its request.")
        return accepted(messageId)
      }),
    ...(provider === "whatsapp_cloud"
      ? {
          lookUp: ({ messageId }) =>
            Effect.gen(function* () {
              yield* Effect.sleep(100)
              if (faulty && random() < 0.2) {
                return SendResult.Ambiguous({ failure: failure("cannot_tell", false) })
              }
              return effects.has(messageId) ? accepted(messageId) : null
            })
        }
      : {})
  })

  return {
    effects,
    sender,
    goDown: (provider, ms, hangs) => {
      outages.set(provider, { until: now() + ms, hangs })
    },
    heal: () => {
      faulty = false
    }
  }
}
