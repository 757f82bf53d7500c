/** What comes back from platforms: reports of messages, and people's replies with what they say of consent. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { ConsentRecord } from "../domain/Consent.ts"
import * as Event from "../domain/Event.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as OptOut from "../domain/OptOut.ts"
import type { InboundMessage } from "../sender/Sender.ts"
import { Senders } from "../sender/Sender.ts"
import { ConsentStore } from "../storage/ConsentStore.ts"
import { EventLog } from "../storage/EventLog.ts"
import type { Report } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

export interface Inbound {
  /** Applies reports; answers those whose message nobody knows. */
  readonly reports: (reports: ReadonlyArray<Report>) => Effect.Effect<ReadonlyArray<Report>, StorageError>
  /** Records a person's text, and the consent it withdraws or gives. */
  readonly message: (message: InboundMessage) => Effect.Effect<void, StorageError>
  /** Asks every sender that has to be asked; answers how much came, and when to ask again. */
  readonly poll: Effect.Effect<{ readonly count: number; readonly nextAt: Instant | null }, StorageError>
}

export const make: Effect.Effect<
  Inbound,
  never,
  ConsentStore | EventLog | JobStore | Senders | SessionStore
> = Effect.gen(function* () {
  const consents = yield* ConsentStore
  const events = yield* EventLog
  const jobs = yield* JobStore
  const senders = yield* Senders
  const sessions = yield* SessionStore
  const ids = Ids.make(yield* Ids.RandomBytes)

  const reports: Inbound["reports"] = Effect.fnUntraced(function* (reports) {
    if (reports.length === 0) return []
    const now = yield* Clock.currentTimeMillis
    const { unmatched } = yield* jobs.receive({ now, reports })
    return unmatched
  })

  const message: Inbound["message"] = Effect.fnUntraced(function* (message) {
    const session = yield* sessions.find(message.sessionId)
    if (session === null) return
    const now = yield* Clock.currentTimeMillis
    const { accountId } = session
    yield* events.append({ accountId, drafts: [Event.messageReceived(session, message)], now })
    const status = OptOut.read(message.text)
    if (status === undefined) return
    const record: ConsentRecord = {
      id: ids.uuid(now),
      phone: message.from,
      purpose: "all",
      status,
      source: "inbound-message",
      proof: `Message ${message.id}: ${message.text.trim()}`,
      occurredAt: message.at,
      recordedAt: now
    }
    yield* consents.record({ accountId, records: [record] })
  })

  const poll: Inbound["poll"] = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    let count = 0
    let nextAt: Instant | null = null
    for (const sender of senders.values()) {
      if (sender.poll === undefined) continue
      const news = yield* sender.poll(now)
      yield* reports(news.reports)
      yield* Effect.forEach(news.messages, message, { discard: true })
      count += news.reports.length + news.messages.length
      if (news.nextAt !== null && (nextAt === null || news.nextAt < nextAt)) nextAt = news.nextAt
    }
    return { count, nextAt }
  })

  return { reports, message, poll }
})
