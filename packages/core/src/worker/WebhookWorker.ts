/** Signs and posts deliveries, and decides what an answer means (contract.md §7). */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as ExternalText from "../domain/ExternalText.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Memo from "../domain/Memo.ts"
import * as Retry from "../domain/Retry.ts"
import type { Attempt } from "../domain/webhook/Webhook.ts"
import * as Webhook from "../domain/webhook/Webhook.ts"
import * as Either from "../effect/Either.ts"
import * as Metrics from "../runtime/Metrics.ts"
import * as Moment from "../runtime/Moment.ts"
import * as Traces from "../runtime/Traces.ts"
import { SecretBox } from "../secret/SecretBox.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../storage/WebhookStore.ts"
import * as Signature from "../webhook/Signature.ts"
import type { WebhookAnswer } from "../webhook/WebhookTransport.ts"
import { excerptBytes, WebhookTransport } from "../webhook/WebhookTransport.ts"
import type * as EndpointLimits from "./EndpointLimits.ts"

/** How many secrets are kept unsealed. */
const cachedSecrets = 1000

export interface WebhookWorker {
  /** One request. It has an outcome whatever breaks: without one the delivery would stay in our hands. */
  readonly attempt: (delivery: ClaimedDelivery) => Effect.Effect<Attempted>
  /** As the transport says: deliveries to any other address are left to who can make them. */
  readonly reaches: ((url: string) => boolean) | undefined
  /** As the transport says. */
  readonly receiverAt: (url: string) => string | undefined
}

export interface Attempted {
  readonly settlement: DeliverySettlement
  readonly outcome: EndpointLimits.Outcome
}

type Answer = WebhookAnswer | { readonly _tag: "Unsent"; readonly reason: "secret_unreadable" }

/** The meaning of an answer for the delivery, its endpoint, and what else waits for that. */
export const decide = (
  delivery: Pick<ClaimedDelivery, "attempts" | "firstAttemptAt">,
  answer: Answer,
  now: Instant,
  random: { readonly jitter: number; readonly fraction: number }
): Pick<DeliverySettlement, "next" | "disable"> &
  Pick<Attempt, "reason"> &
  Pick<EndpointLimits.Outcome, "pauseMs"> => {
  const status = answer._tag === "Answered" ? answer.status : null
  if (status !== null && status >= 200 && status < 300) {
    return { next: "delivered", disable: null, reason: null, pauseMs: null }
  }
  const retryAfterMs = answer._tag === "Answered" ? Retry.readAfter(answer.retryAfter, now) : null
  const next = Retry.nextDelivery({
    failed: delivery.attempts + 1,
    firstAttemptAt: delivery.firstAttemptAt ?? now,
    now,
    retryAfterMs,
    ...random
  })
  const disable = status === 410 ? "The receiver answered 410 Gone." : null
  // Too many requests, or none for now: that is said of the receiver and not of one event.
  const asksForPause = retryAfterMs !== null && (status === 429 || status === 503)
  return {
    next: next ?? null,
    disable,
    reason: answer._tag === "Answered" ? "status" : answer.reason,
    pauseMs: asksForPause ? Math.min(retryAfterMs, Retry.longestRetryAfter) : null
  }
}

const toldOf = (answer: WebhookAnswer): Readonly<Record<string, string | number>> => ({
  ...(answer.status === null ? {} : { "http.response.status_code": answer.status }),
  ...(answer._tag === "Answered" ? {} : { "error.type": answer.reason })
})

/** One request, in a span of the trace that its event belongs to. */
const posting = (
  { post }: WebhookTransport["Type"],
  { body, endpoint, eventId, traceparent }: ClaimedDelivery,
  headers: Readonly<Record<string, string>>
): Effect.Effect<WebhookAnswer> =>
  Traces.asking(
    traceparent,
    "Sendwright.webhook",
    () => ({ "sendwright.webhook_id": endpoint.id, "sendwright.event_id": eventId }),
    (parent) =>
      post({
        url: endpoint.url,
        headers: {
          "content-type": "application/json",
          "user-agent": "Sendwright-Webhooks/1",
          ...(parent === null ? {} : { traceparent: parent }),
          ...headers
        },
        body
      }),
    toldOf
  )

const givenUp = ({ deliveryId, endpoint, eventId }: ClaimedDelivery, receiver: string | undefined) =>
  Effect.logWarning(
    `Delivery ${deliveryId} of event ${eventId} to ${receiver ?? `webhook ${endpoint.id}`} was given up`
  )

export const make = (options: {
  readonly headerNames: Signature.HeaderNames
  readonly jitter: number
}): Effect.Effect<WebhookWorker, never, SecretBox | WebhookTransport> =>
  Effect.gen(function* () {
    const { jitter } = options
    const box = yield* SecretBox
    const transport = yield* WebhookTransport

    const opened = Memo.make<string | null>(cachedSecrets)
    const measured = Metrics.ofDeliveries()

    /** Null where this process has not the key. */
    const open = (endpointId: string, sealed: string): string | null => {
      const place = Webhook.place(endpointId)
      return opened(`${place} ${sealed}`, () => Either.getOrNull(box.open(place, sealed)))
    }

    /** The current secret first, then those whose overlap has not ended. */
    const secrets = ({ endpoint }: ClaimedDelivery, now: Instant): ReadonlyArray<string> =>
      endpoint.secrets.flatMap(({ expiresAt, sealed }) => {
        const secret = expiresAt === null || expiresAt > now ? open(endpoint.id, sealed) : null
        return secret === null ? [] : [secret]
      })

    const post = (delivery: ClaimedDelivery, now: Instant): Effect.Effect<Answer> => {
      const [current, ...previous] = secrets(delivery, now)
      if (current === undefined) {
        return Effect.as(
          Effect.logError(
            `The secret of webhook ${delivery.endpoint.id} cannot be read with this SECRET_KEY`
          ),
          { _tag: "Unsent", reason: "secret_unreadable" }
        )
      }
      const headers = Signature.headers({
        id: delivery.eventId,
        timestamp: Math.floor(now / Time.second),
        body: delivery.body,
        secrets: [current, ...previous],
        names: options.headerNames
      })
      return posting(transport, delivery, headers)
    }

    /** An attempt that breaks is one like any other that found no connection. */
    const postWhole = (delivery: ClaimedDelivery, now: Instant): Effect.Effect<Answer> =>
      Effect.catchAllDefect(
        Effect.suspend(() => post(delivery, now)),
        (defect) =>
          Effect.as(
            Effect.logError(`The attempt of delivery ${delivery.deliveryId} broke`, Cause.die(defect)),
            {
              _tag: "Unanswered" as const,
              reason: "connection" as const,
              status: null
            }
          )
      )

    const receiverAt = (url: string) => transport.receiverAt?.(url)

    return {
      reaches: transport.reaches,
      receiverAt,
      attempt: (delivery) =>
        Effect.clockWith((clock) => {
          const at = Time.unsafeNow(clock)
          const began = Moment.unsafeNow(clock)
          return Effect.zipWith(postWhole(delivery, at), Random.next, (answer, fraction) => {
            const now = Time.unsafeNow(clock)
            const { disable, next, pauseMs, reason } = decide(delivery, answer, now, { jitter, fraction })
            const { deliveryId, fence } = delivery
            const durationMs = Math.round(Moment.unsafeNow(clock) - began)
            const status = answer._tag === "Unsent" ? null : answer.status
            const excerpt = answer._tag === "Answered" ? ExternalText.lines(answer.excerpt, excerptBytes) : ""
            measured(next === "delivered" ? next : next === null ? "given_up" : "failed", durationMs)
            return {
              settlement: {
                deliveryId,
                fence,
                attempt: { at, status, durationMs, reason, excerpt },
                next,
                disable
              },
              outcome: { delivered: next === "delivered", durationMs, pauseMs }
            }
          }).pipe(
            Effect.tap(({ settlement }) =>
              settlement.next === null ? givenUp(delivery, receiverAt(delivery.endpoint.url)) : Effect.void
            )
          )
        })
    }
  })
