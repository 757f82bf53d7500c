/** What comes back from platforms: reports of messages, and people's replies with what they say of consent. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { ConsentRecord } from "../domain/Consent.ts"
import * as Event from "../domain/Event.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as OptOut from "../domain/OptOut.ts"
import type { Session } from "../domain/Session.ts"
import * as Sanitize from "../sender/Sanitize.ts"
import type { HookContent } from "../sender/Sender.ts"
import { Senders } from "../sender/Sender.ts"
import { ConsentStore } from "../storage/ConsentStore.ts"
import { EventLog } from "../storage/EventLog.ts"
import type { Report } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import * as Isolate from "./Isolate.ts"

/** Applied in one commit, which others wait for. What comes twice changes nothing, so a cut between two does no harm. */
const reportsAtOnce = 100

export interface Inbound {
  /** Applies reports; answers those whose message nobody knows. */
  readonly reports: (
    reports: ReadonlyArray<Report>,
    sessionId?: string
  ) => Effect.Effect<ReadonlyArray<Report>, StorageError>
  /** Applies all that a hook of the session brought. */
  readonly content: (session: Session, content: HookContent) => Effect.Effect<void, StorageError>
  /** Applies reports that came before their message was known; answers how many. */
  readonly unpark: Effect.Effect<number, StorageError>
  /** Asks every sender that has to be asked; answers how much came, and when to ask again. */
  readonly poll: Effect.Effect<{ readonly count: number; readonly nextAt: Instant | null }, StorageError>
}

export const make: Effect.Effect<
  Inbound,
  never,
  ConsentStore | EventLog | JobStore | Senders | SessionStore | TemplateStore
> = Effect.gen(function* () {
  const consents = yield* ConsentStore
  const events = yield* EventLog
  const jobs = yield* JobStore
  const senders = yield* Senders
  const sessions = yield* SessionStore
  const templates = yield* TemplateStore
  const ids = Ids.make(yield* Ids.RandomBytes)

  const reports: Inbound["reports"] = Effect.fnUntraced(function* (reports, sessionId) {
    const of = sessionId === undefined ? {} : { sessionId }
    const left: Array<Report> = []
    for (let from = 0; from < reports.length; from += reportsAtOnce) {
      const now = yield* Clock.currentTimeMillis
      yield* Isolate.storeAll({
        items: reports.slice(from, from + reportsAtOnce).map(Sanitize.report),
        store: (some) =>
          Effect.map(jobs.receive({ now, reports: some, ...of }), ({ unmatched }) => left.push(...unmatched)),
        refused: ({ messageId, providerId }, cause) =>
          Effect.logError(`A report of message ${messageId ?? providerId} cannot be stored: dropped`, cause)
      })
    }
    return left
  })

  const record = Effect.fnUntraced(function* (
    { accountId }: Pick<Session, "accountId">,
    word: Pick<ConsentRecord, "phone" | "purpose" | "status" | "source" | "proof" | "occurredAt">
  ) {
    const now = yield* Clock.currentTimeMillis
    yield* consents.record({ accountId, records: [{ ...word, id: ids.uuid(now), recordedAt: now }] })
  })

  /** A person's text, once however often it comes, and the consent that it withdraws or gives. */
  const message = Effect.fnUntraced(function* (session: Session, message: HookContent["messages"][number]) {
    const now = yield* Clock.currentTimeMillis
    const { accountId } = session
    const drafts = [Event.messageReceived(session, message)]
    const fresh = yield* events.appendOnce({ id: `${session.id} ${message.id}`, accountId, drafts, now })
    const status = fresh ? OptOut.read(message.text) : undefined
    if (status === undefined) return
    yield* record(session, {
      phone: message.from,
      purpose: "all",
      status,
      source: "inbound-message",
      proof: `Message ${message.id}: ${message.text.trim()}`,
      occurredAt: message.at
    })
  })

  /** The platform's word on a template that we have. */
  const template = Effect.fnUntraced(function* (session: Session, news: HookContent["templates"][number]) {
    const { accountId, id: sessionId } = session
    const found = yield* templates.findNamed({ sessionId, name: news.name, language: news.language })
    if (found === null) return
    const { quality = found.quality, status = found.status } = news
    if (status === found.status && quality === found.quality) return
    const now = yield* Clock.currentTimeMillis
    yield* templates.importAll({ accountId, sessionId, contents: [{ ...found, status, quality }], now })
  })

  const content: Inbound["content"] = Effect.fnUntraced(function* (session, given) {
    const brought = Sanitize.hookContent(given)
    for (const fault of brought.unread) {
      yield* Effect.logWarning(`A hook of session ${session.id} brought something unreadable: ${fault}`)
    }
    yield* reports(brought.reports, session.id)
    yield* Effect.forEach(brought.messages, (each) => message(session, each), { discard: true })
    yield* Effect.forEach(
      brought.preferences,
      ({ at, phone, proof, purpose, status }) =>
        record(session, { phone, purpose, status, source: "platform", proof, occurredAt: at }),
      { discard: true }
    )
    yield* Effect.forEach(brought.templates, (each) => template(session, each), { discard: true })
  })

  const unpark = Effect.flatMap(Clock.currentTimeMillis, (now) => jobs.unpark({ now }))

  const poll: Inbound["poll"] = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    let count = 0
    let nextAt: Instant | null = null
    for (const sender of senders.values()) {
      if (sender.poll === undefined) continue
      const news = yield* sender.poll(now)
      yield* reports(news.reports)
      for (const each of news.messages) {
        const session = yield* sessions.find(each.sessionId)
        if (session !== null) yield* message(session, Sanitize.inboundMessage(each))
      }
      count += news.reports.length + news.messages.length
      if (news.nextAt !== null && (nextAt === null || news.nextAt < nextAt)) nextAt = news.nextAt
    }
    return { count, nextAt }
  })

  return { reports, content, unpark, poll }
})
