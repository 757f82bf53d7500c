/** One attempt of a delivery, apart from the loop. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Time from "../../src/domain/Instant.ts"
import { defaultHeaderNames } from "../../src/webhook/Signature.ts"
import { WebhookTransport } from "../../src/webhook/WebhookTransport.ts"
import * as WebhookWorker from "../../src/worker/WebhookWorker.ts"
import { secretBox } from "./Support.ts"

describe("an attempt of a delivery", () => {
  it.effect("tells the log when it was the last one", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
      const { attempt } = yield* WebhookWorker.make({ headerNames: defaultHeaderNames, jitter: 0 })
      const delivery = {
        deliveryId: "delivery-1",
        fence: 1,
        endpoint: {
          id: "webhook-1",
          accountId: "account-1",
          url: "https://receiver.example/",
          events: ["*"],
          description: null,
          enabled: true,
          disabledReason: null,
          // Without a secret it cannot be posted, which is a failure like any other.
          secrets: [],
          failingSince: null,
          deliveriesPerSecond: null,
          batchRecipients: false,
          createdAt: Time.at(0),
          updatedAt: Time.at(0)
        },
        eventId: "event-1",
        body: "{}",
        traceparent: null
      }
      const attempts = [
        { ...delivery, attempts: 9, firstAttemptAt: Time.at(-6 * Time.day) },
        { ...delivery, attempts: 10, firstAttemptAt: Time.at(-8 * Time.day) }
      ]
      const settled = yield* Effect.forEach(attempts, attempt).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
      expect(settled.map(({ settlement }) => settlement.next)).toEqual([Time.day, null])
      expect(lines.filter((line) => line.includes("given up"))).toEqual([
        expect.stringContaining("Delivery delivery-1 of event event-1 to webhook webhook-1 was given up")
      ])
    }).pipe(
      Effect.provide(
        Layer.merge(secretBox, Layer.succeed(WebhookTransport, { post: () => Effect.dieMessage("Posted.") }))
      )
    )
  )
})
