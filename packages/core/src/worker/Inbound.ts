/** Applies what platforms tell: reports of messages, and people's texts with their words on consent. */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Occurrence from "../domain/Occurrence.ts"
import * as Person from "../domain/Person.ts"
import type { Session } from "../domain/session/Session.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import * as Sanitize from "../sender/Sanitize.ts"
import type { Acquaintance, InboundMessage, Preference } from "../sender/Sender.ts"
import { Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import * as InboundSteps from "../storage/InboundSteps.ts"
import type { InboundItem } from "../storage/InboundStore.ts"
import { InboundStore } from "../storage/InboundStore.ts"
import { groupBy } from "../storage/JobSteps.ts"
import type { Met, Report } from "../storage/JobStore.ts"
import { JobStore, maximumEarlyReports } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import * as InboundItems from "./InboundItems.ts"
import * as Isolate from "./Isolate.ts"
import * as News from "./News.ts"
import * as UnreadHooks from "./UnreadHooks.ts"

/** Applied in one commit, which others wait for. What comes twice changes nothing, so a cut between two does no harm. */
const reportsAtOnce = 100

/** Items that fail one after the other, before any is stored: the store is at fault then, and not one of them. */
const failuresOfStore = 10

/** People who are asked for before others have their turn. */
const atOnce = 32

/** Acquaintances that are not told to the store again for a while. Receipts tell them of every message. */
const acquaintancesCached = 20_000
/** A number may have changed hands meanwhile, by a hook that another process has read: then the store is told anew. */
const acquaintedMs = Time.hour

/** The longest id of a message that is looked for. */
const longestId = 512

type Failed = Cause.Cause<StorageError>

/** Stores items in one commit. */
type Receive = (items: ReadonlyArray<InboundItem>) => Effect.Effect<Exit.Exit<unknown, StorageError>>

export interface Inbound {
  /** Applies reports; answers those whose message nobody knows. */
  readonly reports: (reports: ReadonlyArray<Report>) => Effect.Effect<ReadonlyArray<Report>, StorageError>
  /**
   * Applies all that a hook of the session brought. Fails where something of it could not be stored; the rest is then
   * stored all the same, and changes nothing when it comes again.
   */
  readonly content: (session: Session, content: Sanitize.Content) => Effect.Effect<void, StorageError>
  /** Applies reports that came before their message was known; answers how many. */
  readonly applyEarlyReports: Effect.Effect<number, StorageError>
  /** Forgets what was not understood of hooks and is too old. */
  readonly forgetUnread: UnreadHooks.UnreadHooks["forget"]
  /** Asks every sender that has to be asked; answers how much came, and when to ask again. */
  readonly poll: Effect.Effect<{ readonly count: number; readonly nextAt: Instant | null }, StorageError>
}

const without = <A>(all: ReadonlyArray<A>, some: ReadonlyArray<A>): ReadonlyArray<A> => {
  const left = new Set(all)
  for (const each of some) left.delete(each)
  return [...left]
}

export const make: Effect.Effect<
  Inbound,
  never,
  InboundStore | JobStore | SecretBox | Senders | SessionStore | TemplateStore
> = Effect.gen(function* () {
  const store = yield* InboundStore
  const jobs = yield* JobStore
  const resolve = yield* SessionSender.make
  const senders = yield* Senders
  const sessions = yield* SessionStore
  const ids = Ids.make(yield* Ids.RandomBytes)
  const unreadHooks = yield* UnreadHooks.make
  const news = yield* News.make(unreadHooks)

  /** The recipient of a message of ours; null when it is not the session's. */
  const recipientOf = Effect.fnUntraced(function* (session: Session, messageId: string | null | undefined) {
    const place = Ids.parseMessageId(messageId ?? "")
    if (place === undefined) return null
    const job = yield* jobs.find(place.jobId)
    if (job === null || job.sessionId !== session.id) return null
    const page = { limit: 1, after: place.index - 1 }
    const { items } = yield* jobs.results({ jobId: place.jobId, page })
    return items.find(({ index }) => index === place.index)?.phone ?? null
  })

  /** A preference is that of whom the platform names, and of whom the message was sent to. */
  const withRecipient = Effect.fnUntraced(function* (session: Session, preference: Preference) {
    const phone = yield* recipientOf(session, preference.messageId)
    if (phone === null || phone === preference.phone) return [preference]
    if (preference.phone === null) return [{ ...preference, phone }]
    const { id = null } = preference
    return [preference, { ...preference, phone, id: id === null ? null : `${id} sent to ${phone}` }]
  })

  /**
   * The messages, each answer to a message of ours with the number that this one was sent to. What is said in a group is
   * said by many.
   */
  const withAsked = Effect.fnUntraced(function* (
    session: Session,
    messages: ReadonlyArray<InboundItems.Message>
  ) {
    const answered = ({ contextId, groupId }: InboundItems.Message): string | null =>
      contextId != null && groupId == null && contextId.length <= longestId ? contextId : null
    const providerIds = [...new Set(messages.flatMap((message) => answered(message) ?? []))]
    if (providerIds.length === 0) return messages
    const sentTo = yield* jobs.sentTo({ sessionId: session.id, providerIds })
    return messages.map((message) => {
      const asked = sentTo.get(answered(message) ?? "")
      return asked === undefined ? message : { ...message, asked }
    })
  })

  /** When they were stored, by their names. */
  const acquainted = new Map<string, Instant>()

  const nameOf = (session: Session, { asked, messageId, phone, userId }: Acquaintance): string =>
    JSON.stringify([session.id, phone ?? messageId, userId, asked])

  /** Those who are not known to be known, by their names. */
  function* strangers(session: Session, people: ReadonlyArray<Acquaintance>, now: Instant) {
    const found = new Map<string, Acquaintance>()
    for (const each of people) {
      const name = nameOf(session, each)
      const isKnown = now - (acquainted.get(name) ?? -Infinity) < acquaintedMs
      if (each.formerly !== undefined || !isKnown) found.set(name, each)
      yield
    }
    return found
  }

  /** The newest are kept. */
  const remember = (cache: Map<string, Instant>, names: Iterable<string>, now: Instant): void => {
    for (const name of names) {
      cache.delete(name)
      cache.set(name, now)
    }
    for (const name of cache.keys()) {
      if (cache.size <= acquaintancesCached) return
      cache.delete(name)
    }
  }

  const crowded = new Map<string, Instant>()

  /** Tells once of each, for such a platform goes on. */
  const noteCrowded = Effect.fnUntraced(function* (
    { accountId, id }: Session,
    keys: Iterable<string>,
    now: Instant
  ) {
    const added = [...keys].map((key) => `${accountId} ${key}`).filter((name) => !crowded.has(name))
    if (added.length === 0) return
    remember(crowded, added, now)
    yield* Effect.logWarning(
      `A hook of session ${id} names ${added.length} phone(s) or user id(s) with more others than the ${Person.maximumLinks} that are remembered of one: the platform mixes people up. Opt-outs hold for whoever is named with them; an opt-in holds for nobody else.`
    )
  })

  /** Each in a commit of its own, so that one that cannot be stored does not hold up the others. */
  const receiveEach = Effect.fnUntraced(function* (receive: Receive, items: ReadonlyArray<InboundItem>) {
    let failed: Failed | undefined
    let failures = 0
    for (const item of items) {
      const exit = yield* receive([item])
      if (Exit.isSuccess(exit)) continue
      failed ??= exit.cause
      failures += 1
      if (failures === failuresOfStore) break
    }
    return failed === undefined ? undefined : { cause: failed, stopped: failures === failuresOfStore }
  })

  /** Stores what was brought of people, in parts of one commit each. */
  const people = Effect.fnUntraced(function* (session: Session, brought: InboundItems.Brought) {
    const preferences: Array<Preference> = []
    for (const [place, each] of brought.preferences.entries()) {
      if (place % atOnce === atOnce - 1) yield* EventLoopBudget.yieldIfSpent
      preferences.push(...(yield* withRecipient(session, each)))
    }
    const now = yield* Clock.currentTimeMillis
    const newPeople = yield* EventLoopBudget.runInPieces(strangers(session, brought.people, now))
    const known: Array<Acquaintance> = []
    for (const each of newPeople.values()) {
      if (known.length % atOnce === atOnce - 1) yield* EventLoopBudget.yieldIfSpent
      known.push(each.phone === null ? { ...each, phone: yield* recipientOf(session, each.messageId) } : each)
    }
    const messages = yield* withAsked(session, brought.messages)
    const items = yield* EventLoopBudget.runInPieces(
      InboundItems.make(session, { messages, preferences, people: known }, ids, now)
    )
    if (items.length === 0) return
    const sessionSender = yield* resolve(session)
    const portfolio = sessionSender?.sender.portfolio?.(sessionSender.config) ?? session.id
    const { accountId, id: sessionId } = session
    const many = new Set<string>()
    // A commit that was begun is finished, whoever hangs up.
    const receive: Receive = (items) =>
      store.receive({ accountId, sessionId, portfolio, items, now }).pipe(
        Effect.tap(({ crowded }) =>
          Effect.sync(() => {
            for (const key of crowded) many.add(key)
          })
        ),
        Effect.uninterruptible,
        Effect.exit
      )
    let failed: Failed | undefined
    for (const batch of InboundSteps.parts(items)) {
      const exit = yield* receive(batch)
      if (Exit.isSuccess(exit)) continue
      if (batch.length === 1) {
        failed ??= exit.cause
        continue
      }
      const left = yield* receiveEach(receive, batch)
      failed ??= left?.cause
      if (left?.stopped === true) break
    }
    yield* noteCrowded(session, many, now)
    const lost = items.filter(({ unattributed }) => unattributed !== null).length
    if (lost > 0)
      yield* Effect.logWarning(
        `A hook of session ${session.id} brought ${lost} item(s) that name nobody; they are listed as unattributed.`
      )
    if (failed !== undefined) return yield* Effect.failCause(failed)
    remember(acquainted, newPeople.keys(), now)
  })

  /** Links the numbers that were asked for with the names by which the platform reported on them. */
  const acquaint = Effect.fnUntraced(function* (met: ReadonlyArray<Met>, known?: Session) {
    for (const [sessionId, some] of groupBy(met, ({ sessionId }) => sessionId)) {
      const session = known?.id === sessionId ? known : yield* sessions.find(sessionId)
      if (session === null) continue
      const named = some.map(({ asked, report }): Acquaintance => {
        const { phone = null, userId = null } = report.named ?? {}
        return { phone, userId, asked, at: report.reportedAt ?? report.at }
      })
      yield* people(session, { messages: [], preferences: [], people: named })
    }
  })

  /** Applies reports; answers those whose message nobody knows, once it is stored who was named otherwise than asked for. */
  const applyReports = Effect.fnUntraced(function* (reports: ReadonlyArray<Report>, session?: Session) {
    const of = session === undefined ? {} : { sessionId: session.id }
    const left: Array<Report> = []
    const found: Array<Met> = []
    for (let from = 0; from < reports.length; from += reportsAtOnce) {
      const now = yield* Clock.currentTimeMillis
      yield* Isolate.storeAll({
        items: reports
          .slice(from, from + reportsAtOnce)
          .map((report) => Sanitize.report({ ...report, ...Occurrence.ofReport(report.at, now) })),
        store: (some) =>
          Effect.map(jobs.receive({ now, reports: some, ...of }), ({ met, unmatched }) => {
            left.push(...unmatched)
            found.push(...met)
          }),
        refused: ({ messageId, providerId }, cause) =>
          Effect.logError(`A report of message ${messageId ?? providerId} cannot be stored: dropped`, cause)
      })
    }
    yield* acquaint(found, session)
    return left
  })

  const content: Inbound["content"] = Effect.fnUntraced(function* (session, brought) {
    const { messages, people: acquaintances = [], preferences, unread } = brought
    // People first; and what fails of one kind does not keep the others from being applied.
    const exits = [
      yield* Effect.exit(people(session, { messages, preferences, people: acquaintances })),
      yield* Effect.exit(Effect.asVoid(applyReports(brought.reports, session))),
      yield* Effect.exit(news.session(session, brought.session)),
      yield* Effect.exit(news.templates(session, brought.templates)),
      yield* Effect.exit(unreadHooks.retain(session, unread))
    ]
    for (const exit of exits) if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
  })

  const applyEarlyReports = Effect.gen(function* () {
    const { applied, forgotten, met } = yield* jobs.applyEarlyReports({ now: yield* Clock.currentTimeMillis })
    yield* acquaint(met)
    for (const [sessionId, count] of forgotten)
      yield* Effect.logWarning(
        `${count} receipt(s) of session ${sessionId} whose message is not known were forgotten: the newest ${maximumEarlyReports} are kept. Does something else send over its number?`
      )
    return applied
  })

  /** Items that senders gave out and that are not stored yet: they are not given again. */
  const owed: { reports: ReadonlyArray<Report>; messages: ReadonlyArray<InboundMessage> } = {
    reports: [],
    messages: []
  }

  const poll: Inbound["poll"] = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    let nextAt: Instant | null = null
    for (const sender of senders.values()) {
      if (sender.poll === undefined) continue
      const news = yield* sender.poll(now)
      owed.reports = [...owed.reports, ...news.reports]
      owed.messages = [...owed.messages, ...news.messages]
      if (news.nextAt !== null && (nextAt === null || news.nextAt < nextAt)) nextAt = news.nextAt
    }
    const due = { ...owed }
    for (const [sessionId, messages] of groupBy(due.messages, (message) => message.sessionId)) {
      const session = yield* sessions.find(sessionId)
      if (session !== null)
        yield* people(session, { messages: messages.map(Sanitize.message), preferences: [], people: [] })
    }
    owed.messages = without(owed.messages, due.messages)
    yield* applyReports(due.reports)
    owed.reports = without(owed.reports, due.reports)
    return { count: due.reports.length + due.messages.length, nextAt }
  })

  return {
    reports: (reports) => applyReports(reports),
    content,
    applyEarlyReports,
    forgetUnread: unreadHooks.forget,
    poll
  }
})
