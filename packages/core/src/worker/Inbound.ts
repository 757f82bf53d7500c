/**
 * Gives the news of platforms, each kind, to the file that applies it. News come by a hook, or by a sender that has to be
 * asked.
 */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { groupBy } from "../domain/GroupBy.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Session } from "../domain/session/Session.ts"
import { Signals } from "../runtime/Signals.ts"
import * as PersonHash from "../secret/PersonHash.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import * as Sanitize from "../sender/Sanitize.ts"
import type { InboundMessage } from "../sender/Sender.ts"
import { Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import type { ErasureStore } from "../storage/ErasureStore.ts"
import type { InboundStore } from "../storage/InboundStore.ts"
import type { JobStore, Report } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import type { EqualFailures } from "./EqualFailures.ts"
import * as InboundPeople from "./InboundPeople.ts"
import * as InboundReports from "./InboundReports.ts"
import * as PlatformUpdates from "./PlatformUpdates.ts"
import * as UnreadHooks from "./UnreadHooks.ts"

export interface Inbound {
  /** Applies reports; answers those whose message nobody knows. */
  readonly reports: (reports: ReadonlyArray<Report>) => Effect.Effect<ReadonlyArray<Report>, StorageError>
  /**
   * Applies all that a hook of the session brought. Fails where something of it could not be stored; the rest is then
   * stored all the same, and changes nothing when it comes again.
   */
  readonly content: (session: Session, content: Sanitize.Content) => Effect.Effect<void, StorageError>
  readonly applyEarlyReports: InboundReports.InboundReports["applyEarly"]
  /** Asks every sender that has to be asked; answers how much came, and when to ask again. */
  readonly poll: Effect.Effect<{ readonly count: number; readonly nextAt: Instant | null }, StorageError>
  /** When to ask again, as the last poll has told. */
  readonly nextPoll: Effect.Effect<Instant | null>
}

const without = <A>(all: ReadonlyArray<A>, some: ReadonlyArray<A>): ReadonlyArray<A> => {
  const left = new Set(all)
  for (const each of some) left.delete(each)
  return [...left]
}

const polling = (people: InboundPeople.InboundPeople, reports: InboundReports.InboundReports) =>
  Effect.gen(function* () {
    const senders = yield* Senders
    const sessions = yield* SessionStore
    // Reports that senders gave out and that are not stored yet: a sender does not give them again.
    let owedReports: ReadonlyArray<Report> = []
    let owedMessages: ReadonlyArray<InboundMessage> = []
    let nextPoll: Instant | null = null

    const poll: Inbound["poll"] = Effect.gen(function* () {
      const now = yield* Time.now
      let nextAt: Instant | null = null
      for (const sender of senders.values()) {
        if (sender.poll === undefined) continue
        const news = yield* sender.poll(now)
        owedReports = [...owedReports, ...news.reports]
        owedMessages = [...owedMessages, ...news.messages]
        nextAt = Time.firstOf([nextAt, news.nextAt])
      }
      nextPoll = nextAt
      const [dueReports, dueMessages] = [owedReports, owedMessages]
      for (const [sessionId, some] of groupBy(dueMessages, (message) => message.sessionId)) {
        const session = yield* sessions.find(sessionId)
        const messages = some.map(Sanitize.message)
        if (session !== null) yield* people(session, { messages, preferences: [], people: [] })
      }
      owedMessages = without(owedMessages, dueMessages)
      yield* reports.apply(dueReports)
      owedReports = without(owedReports, dueReports)
      return { count: dueReports.length + dueMessages.length, nextAt }
    })
    return { poll, nextPoll: Effect.sync(() => nextPoll) }
  })

export const make: Effect.Effect<
  Inbound,
  never,
  | EqualFailures
  | ErasureStore
  | InboundStore
  | JobStore
  | SecretBox
  | Senders
  | SessionStore
  | Signals
  | TemplateStore
> = Effect.gen(function* () {
  const { sends } = yield* Signals
  const hash = yield* PersonHash.make
  const people = yield* InboundPeople.make(hash)
  const reports = yield* InboundReports.make(people, hash)
  const unreadHooks = yield* UnreadHooks.make
  const news = yield* PlatformUpdates.make(unreadHooks, yield* SessionSender.make)

  const content: Inbound["content"] = Effect.fnUntraced(function* (session, brought) {
    const { contacts = [], messages, people: acquaintances = [], preferences, unread } = brought
    // People first; and what fails of one kind does not keep the others from being applied.
    const exits = [
      yield* Effect.exit(people(session, { contacts, messages, preferences, people: acquaintances })),
      yield* Effect.exit(Effect.asVoid(reports.apply(brought.reports, session))),
      yield* Effect.exit(news.session(session, brought.session)),
      yield* Effect.exit(news.templates(session, brought.templates)),
      yield* Effect.exit(unreadHooks.retain(session, unread))
    ]
    // Words make nothing due, and of receipts `InboundReports` tells; a session that fails may wait for one that went well.
    if (brought.session.length + brought.templates.length > 0 || session.failing !== null) yield* sends.notify
    for (const exit of exits) if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
  })

  return {
    reports: (some) => reports.apply(some),
    content,
    applyEarlyReports: reports.applyEarly,
    ...(yield* polling(people, reports))
  }
})
