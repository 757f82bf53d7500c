/**
 * When something is due next that `drain` would do. Who moves a clock of their own goes from one such time to the next, and
 * who drains by a timer sleeps until then.
 */
import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import { WebhookTransport } from "../webhook/WebhookTransport.ts"
import type { Inbound } from "./Inbound.ts"

export const make = ({ nextPoll }: Pick<Inbound, "nextPoll">) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const sessions = yield* SessionStore
    const templates = yield* TemplateStore
    const webhooks = yield* WebhookStore
    const { reaches } = yield* WebhookTransport
    const nextDue: Effect.Effect<Instant | null, StorageError> = Effect.gen(function* () {
      const now = yield* Time.now
      return Time.firstOf([
        yield* jobs.nextDue(now),
        yield* jobs.nextExpiry,
        yield* webhooks.nextDue({ now, full: [], reaches }),
        yield* sessions.nextUnblock,
        yield* templates.nextCheck,
        yield* nextPoll
      ])
    })
    return nextDue
  })
