/** Claims due deliveries, signs and posts them, and decides what an answer means (decisions.md §7). */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Random from "effect/Random"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Retry from "../domain/Retry.ts"
import type { Attempt } from "../domain/Webhook.ts"
import { SecretBox } from "../secret/SecretBox.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../storage/WebhookStore.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import * as Signature from "../webhook/Signature.ts"
import type { WebhookAnswer } from "../webhook/WebhookTransport.ts"
import { timeoutMs, WebhookTransport } from "../webhook/WebhookTransport.ts"

/** Longer than one attempt can take. */
export const leaseMs = 2 * timeoutMs

/** An endpoint that answers with nothing but failures for this long is disabled. */
export const disableAfterMs = 5 * Time.day

export interface WebhookWorker {
  /** Takes due deliveries, at most so many. */
  readonly claim: (limit: number) => Effect.Effect<ReadonlyArray<ClaimedDelivery>, StorageError>
  /** Attempts one delivery and hands in what became of it. */
  readonly deliver: (delivery: ClaimedDelivery) => Effect.Effect<void, StorageError>
}

/** `Retry-After` in seconds or as an HTTP date; null for anything else. */
export const readRetryAfter = (header: string | null, now: Instant): number | null => {
  if (header === null) return null
  if (/^\d{1,9}$/.test(header.trim())) return Number(header.trim()) * Time.second
  const date = Date.parse(header)
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

/** What an answer means for the delivery and its endpoint. */
export const decide = (
  delivery: Pick<ClaimedDelivery, "attempts" | "firstAttemptAt" | "endpoint">,
  answer: WebhookAnswer,
  now: Instant,
  draw: number
): Pick<DeliverySettlement, "next" | "disable"> & Pick<Attempt, "reason"> => {
  const answered = answer._tag === "Answered"
  if (answered && answer.status >= 200 && answer.status < 300) {
    return { next: "delivered", disable: null, reason: null }
  }
  const next = Retry.nextDelivery({
    failed: delivery.attempts + 1,
    firstAttemptAt: delivery.firstAttemptAt ?? now,
    now,
    retryAfterMs: answered ? readRetryAfter(answer.retryAfter, now) : null,
    jitter: Retry.deliveryJitter,
    draw
  })
  const { failingSince } = delivery.endpoint
  const disable =
    answered && answer.status === 410
      ? "The receiver answered 410 Gone."
      : failingSince !== null && now - failingSince >= disableAfterMs
        ? "Every delivery failed for 5 days."
        : null
  return { next: next ?? null, disable, reason: answered ? "status" : answer.reason }
}

export const make = (options: {
  readonly worker: string
  readonly headerNames: Signature.HeaderNames
}): Effect.Effect<WebhookWorker, never, SecretBox | WebhookStore | WebhookTransport> =>
  Effect.gen(function* () {
    const box = yield* SecretBox
    const store = yield* WebhookStore
    const transport = yield* WebhookTransport

    /** The current secret first, then those whose overlap has not ended. */
    const secrets = ({ endpoint }: ClaimedDelivery, now: Instant): ReadonlyArray<string> =>
      endpoint.secrets
        .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
        .flatMap(({ sealed }) =>
          Either.match(box.open(`webhook|${endpoint.id}`, sealed), {
            onLeft: () => [],
            onRight: (secret) => [secret]
          })
        )

    const post = (delivery: ClaimedDelivery, now: Instant): Effect.Effect<WebhookAnswer> => {
      const [current, ...previous] = secrets(delivery, now)
      if (current === undefined) {
        return Effect.dieMessage(
          `The secret of webhook ${delivery.endpoint.id} cannot be read with this SECRET_KEY.`
        )
      }
      const headers = Signature.headers({
        id: delivery.eventId,
        timestamp: Math.floor(now / Time.second),
        body: delivery.body,
        secrets: [current, ...previous],
        names: options.headerNames
      })
      return transport.post({
        url: delivery.endpoint.url,
        headers: { "content-type": "application/json", "user-agent": "Sendwright-Webhooks/1", ...headers },
        body: delivery.body
      })
    }

    return {
      claim: Effect.fnUntraced(function* (limit) {
        const now = yield* Clock.currentTimeMillis
        const claim = { worker: options.worker, until: now + leaseMs, limit }
        const { claimed } = yield* store.exchange({ now, settlements: [], claim })
        return claimed
      }),
      deliver: Effect.fnUntraced(function* (delivery) {
        const at = yield* Clock.currentTimeMillis
        const answer = yield* post(delivery, at)
        const now = yield* Clock.currentTimeMillis
        const { disable, next, reason } = decide(delivery, answer, now, yield* Random.next)
        const answered = answer._tag === "Answered" ? answer : { status: null, excerpt: "" }
        const attempt = {
          at,
          status: answered.status,
          durationMs: now - at,
          reason,
          excerpt: answered.excerpt
        }
        const { deliveryId, fence } = delivery
        const settlements = [{ deliveryId, fence, attempt, next, disable }]
        yield* store.exchange({ now, settlements, claim: null })
      })
    }
  })
