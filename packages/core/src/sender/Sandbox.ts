/**
 * The sandbox: a platform of its own, deterministic and without a network. The last four digits of the number
 * choose the outcome (contract.md §9); the rest succeed and are delivered.
 */
import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Failure, Reported } from "../domain/job/Recipient.ts"
import type { Report } from "../storage/JobStore.ts"
import type { InboundMessage, OutboundMessage, Sender, UnreportedMessage } from "./Sender.ts"
import { SendResult } from "./Sender.ts"

export interface Options {
  /** How long an attempt takes; 0 = no time at all. */
  readonly latencyMs: number
  /** Between an attempt and its first receipt, and between receipts. */
  readonly receiptDelayMs: number
  /** Until the time-out of 0005 is resolved by a receipt. */
  readonly resolutionDelayMs: number
}

export const defaults: Options = { latencyMs: 2, receiptDelayMs: 5, resolutionDelayMs: 250 }

const failure = (
  code: string,
  provider_code: string | null,
  permanent: boolean,
  message: string
): Failure => ({
  code,
  provider_code,
  message,
  permanent
})

const notOnPlatform = failure("recipient_unreachable", "131026", true, "The number is not on the platform.")
const unavailable = failure(
  "provider_unavailable",
  "131016",
  false,
  "The platform is unavailable for the moment."
)
const throttled = failure("provider_rate_limited", "130429", false, "The platform asks to slow down.")
const undeliverable = failure(
  "undeliverable",
  "131026",
  true,
  "The platform accepted the message and could not deliver it."
)
const timedOut = failure(
  "outcome_unknown",
  null,
  false,
  "The platform did not answer in time; it may have the message."
)

/** The answer to an attempt, and the receipts that follow it, in the order in which they come. */
interface Script {
  readonly result: (attempt: number, providerId: string) => SendResult
  readonly receipts: ReadonlyArray<Reported>
  readonly failure?: Failure
  readonly late?: boolean
  readonly reply?: string
}

const accepted = (_: number, providerId: string): SendResult =>
  SendResult.Accepted({ providerId, status: "accepted" })

/** The platform's silence, which this number asked for: it tells nothing of the platform, and is no outage. */
const silence = (): SendResult => SendResult.Ambiguous({ failure: timedOut, answered: true })

const success: Script = { result: accepted, receipts: ["sent", "delivered"] }

const scripts: ReadonlyMap<string, Script> = new Map<string, Script>([
  ["0001", { result: () => SendResult.Rejected({ failure: notOnPlatform }), receipts: [] }],
  [
    "0002",
    {
      result: (attempt, providerId) =>
        attempt <= 2
          ? SendResult.Transient({ failure: unavailable, retryAfterMs: null })
          : accepted(attempt, providerId),
      receipts: ["sent", "delivered"]
    }
  ],
  [
    "0003",
    {
      result: (attempt, providerId) =>
        attempt === 1
          ? SendResult.Transient({ failure: throttled, retryAfterMs: 1000 })
          : accepted(attempt, providerId),
      receipts: ["sent", "delivered"]
    }
  ],
  ["0004", { result: accepted, receipts: ["sent", "failed"], failure: undeliverable }],
  ["0005", { result: silence, receipts: ["delivered"], late: true }],
  ["0006", { result: silence, receipts: [] }],
  ["0007", { result: accepted, receipts: ["sent"] }],
  ["0008", { result: accepted, receipts: ["delivered", "sent", "delivered", "sent"] }],
  ["0009", { result: accepted, receipts: ["sent", "delivered"], reply: "STOP" }]
])

type Named = Pick<OutboundMessage, "messageId" | "sessionId" | "to" | "userId">

const scriptOf = ({ to }: Named): Script => scripts.get(to.slice(-4)) ?? success

const providerIdOf = ({ messageId }: Named): string => `sandbox-${messageId}`

type News =
  | { readonly at: Instant; readonly report: Report }
  | { readonly at: Instant; readonly message: InboundMessage }

/** A sandbox with a memory of its own. */
export const make = (options: Partial<Options> = {}): Sender => {
  const { latencyMs, receiptDelayMs, resolutionDelayMs } = { ...defaults, ...options }
  let news: Array<News> = []

  const announce = (message: Named, script: Script, providerId: string, now: Instant): void => {
    let at = Time.after(now, script.late === true ? resolutionDelayMs : 0)
    for (const status of script.receipts) {
      at = Time.after(at, receiptDelayMs)
      const reportedFailure = status === "failed" ? (script.failure ?? null) : null
      news.push({
        at,
        report: {
          messageId: message.messageId,
          status,
          at,
          failure: reportedFailure,
          providerId
        }
      })
    }
    if (script.reply !== undefined) {
      at = Time.after(at, receiptDelayMs)
      const { sessionId, to, userId } = message
      const from = to === userId ? null : to
      news.push({
        at,
        message: { id: `${providerId}-reply`, sessionId, from, userId, text: script.reply, at }
      })
    }
  }

  const send = Effect.fnUntraced(function* (message: OutboundMessage) {
    if (latencyMs > 0) yield* Effect.sleep(latencyMs)
    const now = yield* Time.now
    const script = scriptOf(message)
    const providerId = providerIdOf(message)
    const result = script.result(message.attempt, providerId)
    if (result._tag === "Accepted" || result._tag === "Ambiguous") announce(message, script, providerId, now)
    return result
  })

  const resume = (unreported: ReadonlyArray<UnreportedMessage>) =>
    Effect.map(Time.now, (now) => {
      for (const message of unreported) {
        const script = scriptOf(message)
        // A crash amid an attempt leaves it open; a time-out that this number asked for does not.
        if (message.wasAccepted || script.late === true) announce(message, script, providerIdOf(message), now)
      }
    })

  const poll = (now: Instant) =>
    Effect.sync(() => {
      const come = news.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at)
      news = news.filter(({ at }) => at > now)
      return {
        reports: come.flatMap((item) => ("report" in item ? [item.report] : [])),
        messages: come.flatMap((item) => ("message" in item ? [item.message] : [])),
        nextAt: news.reduce<Instant | null>((next, { at }) => (next === null || at < next ? at : next), null)
      }
    })

  return { provider: "sandbox", configDescription: "nothing", deduplicates: false, send, poll, resume }
}
