/** Applies what people say, and who is who, as a platform tells it of a session. */

import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Address from "../domain/Address.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Person from "../domain/Person.ts"
import * as Recent from "../domain/Recent.ts"
import type { Session } from "../domain/session/Session.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import type { PersonHash } from "../secret/PersonHash.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import type { Acquaintance, Preference, Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import * as InboundSteps from "../storage/InboundSteps.ts"
import type { InboundItem } from "../storage/InboundStore.ts"
import { InboundStore } from "../storage/InboundStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as ErasedPeople from "./ErasedPeople.ts"
import * as InboundItems from "./InboundItems.ts"

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

type Jobs = Context.Tag.Service<JobStore>

/** Applies what was brought; fails where something could not be stored, once the rest is. */
export type InboundPeople = (
  session: Session,
  brought: InboundItems.Brought
) => Effect.Effect<void, StorageError>

/** A step for each of them, in order, with turns for others. */
const inTurns = <A, B, E>(all: ReadonlyArray<A>, step: (each: A) => Effect.Effect<B, E>) =>
  Effect.forEach(all, (each, place) =>
    place % atOnce === atOnce - 1 ? Effect.zipRight(EventLoopBudget.yieldIfSpent, step(each)) : step(each)
  )

// What we know of it

/** The recipient of a message of ours; null when it is not the session's. */
const recipientOf = Effect.fnUntraced(function* (
  jobs: Jobs,
  session: Session,
  messageId: string | null | undefined
) {
  const place = Ids.parseMessageId(messageId ?? "")
  if (place === undefined) return null
  const job = yield* jobs.find(place.jobId)
  if (job === null || job.sessionId !== session.id) return null
  const page = { limit: 1, after: place.index - 1 }
  const { items } = yield* jobs.results({ jobId: place.jobId, page })
  return items.find(({ index }) => index === place.index)?.address ?? null
})

/** A preference is that of whom the platform names, and of whom the message was sent to. */
const preferencesOf = Effect.fnUntraced(function* (jobs: Jobs, session: Session, preference: Preference) {
  const address = yield* recipientOf(jobs, session, preference.messageId)
  if (address === null) return [preference]
  const { phone, userId } = Address.personOf(address)
  const { id = null, phone: named, userId: namedUser = null } = preference
  if ((phone ?? named) === named && (userId ?? namedUser) === namedUser) return [preference]
  if (named === null && (userId ?? namedUser) === (namedUser ?? userId))
    return [{ ...preference, phone, userId: namedUser ?? userId }]
  const sentTo = { phone, userId, id: id === null ? null : `${id} sent to ${phone ?? userId}` }
  return [preference, { ...preference, ...sentTo }]
})

const withPhone = Effect.fnUntraced(function* (jobs: Jobs, session: Session, each: Acquaintance) {
  if (each.phone !== null) return each
  const address = yield* recipientOf(jobs, session, each.messageId)
  return address === null ? each : { ...each, phone: Address.personOf(address).phone }
})

/** The message of ours that it answers, by the platform's id. What is said in a group is said by many. */
const answeredBy = ({ contextId, groupId }: InboundItems.Message): string | null =>
  contextId != null && groupId == null && contextId.length <= longestId ? contextId : null

/** The messages, each answer to a message of ours with whom this one was sent to. */
const withAsked = Effect.fnUntraced(function* (
  jobs: Jobs,
  session: Session,
  messages: ReadonlyArray<InboundItems.Message>
) {
  const providerIds = [...new Set(messages.flatMap((message) => answeredBy(message) ?? []))]
  if (providerIds.length === 0) return messages
  const sentTo = yield* jobs.sentTo({ sessionId: session.id, providerIds })
  return messages.map((message) => {
    const asked = sentTo.get(answeredBy(message) ?? "")
    return asked === undefined ? message : { ...message, asked }
  })
})

// People who are new

const nameOf = (session: Session, { asked, messageId, phone, userId }: Acquaintance): string =>
  JSON.stringify([session.id, phone ?? messageId, userId, asked])

/** People who are not known to be known, by their names. */
function* strangers(
  acquainted: Recent.Recent,
  session: Session,
  people: ReadonlyArray<Acquaintance>,
  now: Instant
) {
  const found = new Map<string, Acquaintance>()
  for (const each of people) {
    const name = nameOf(session, each)
    if (each.formerly !== undefined || !acquainted.isWithin(name, acquaintedMs, now)) found.set(name, each)
    yield
  }
  return found
}

// Storing

type Failed = Cause.Cause<StorageError>

/** Stores items in one commit. */
type Receive = (items: ReadonlyArray<InboundItem>) => Effect.Effect<unknown, StorageError>

/** Each in a commit of its own, so that one that cannot be stored does not hold up the others. */
const storeEach = Effect.fnUntraced(function* (receive: Receive, items: ReadonlyArray<InboundItem>) {
  let failed: Failed | undefined
  let failures = 0
  for (const item of items) {
    const exit = yield* Effect.exit(receive([item]))
    if (Exit.isSuccess(exit)) continue
    failed ??= exit.cause
    failures += 1
    if (failures === failuresOfStore) break
  }
  return { failed, isStopped: failures === failuresOfStore }
})

/** In parts of one commit each; answers what failed first. */
const storeAll = Effect.fnUntraced(function* (receive: Receive, items: ReadonlyArray<InboundItem>) {
  let failed: Failed | undefined
  for (const part of InboundSteps.parts(items)) {
    const exit = yield* Effect.exit(receive(part))
    if (Exit.isSuccess(exit)) continue
    const left =
      part.length === 1 ? { failed: exit.cause, isStopped: false } : yield* storeEach(receive, part)
    failed ??= left.failed
    if (left.isStopped) break
  }
  return failed
})

/** Tells once of each, for such a platform goes on. */
const noteCrowded = Effect.fnUntraced(function* (
  told: Recent.Recent,
  { accountId, id }: Session,
  keys: Iterable<string>,
  now: Instant
) {
  const added = [...keys].map((key) => `${accountId} ${key}`).filter((name) => !told.has(name))
  if (added.length === 0) return
  for (const name of added) told.note(name, now)
  yield* Effect.logWarning(
    `A hook of session ${id} names ${added.length} phone(s) or user id(s) with more others than the ${Person.maximumLinks} that are remembered of one: the platform mixes people up. Opt-outs hold for whoever is named with them; an opt-in holds for nobody else.`
  )
})

const noteUnattributed = ({ id }: Session, items: ReadonlyArray<InboundItem>): Effect.Effect<void> => {
  const count = items.filter(({ unattributed }) => unattributed !== null).length
  return count === 0
    ? Effect.void
    : Effect.logWarning(
        `A hook of session ${id} brought ${count} item(s) that name nobody; they are listed as unattributed.`
      )
}

export const make = (
  hash: PersonHash
): Effect.Effect<InboundPeople, never, InboundStore | JobStore | SecretBox | Senders> =>
  Effect.gen(function* () {
    const store = yield* InboundStore
    const jobs = yield* JobStore
    const resolve = yield* SessionSender.make
    const ids = Ids.make(yield* Ids.RandomBytes)
    const acquainted = Recent.make(acquaintancesCached)
    const crowded = Recent.make(acquaintancesCached)

    const portfolioOf = (session: Session) =>
      Effect.map(resolve(session), (found) => found?.sender.portfolio?.(found.config) ?? session.id)

    return Effect.fnUntraced(function* (session, brought) {
      const { accountId, id: sessionId } = session
      const now = yield* Time.now
      const preferences = yield* inTurns(brought.preferences, (each) => preferencesOf(jobs, session, each))
      const news = yield* EventLoopBudget.runInPieces(strangers(acquainted, session, brought.people, now))
      const people = yield* inTurns([...news.values()], (each) => withPhone(jobs, session, each))
      const messages = yield* withAsked(jobs, session, brought.messages)
      const found = yield* EventLoopBudget.runInPieces(
        InboundItems.make(
          session,
          { contacts: brought.contacts ?? [], messages, preferences: preferences.flat(), people },
          ids,
          now
        )
      )
      if (found.length === 0) return
      const portfolio = yield* portfolioOf(session)
      const items = yield* ErasedPeople.withoutErased(hash, accountId, portfolio, found, now)
      const many = new Set<string>()
      // A commit that was begun is finished, whoever hangs up.
      const receive: Receive = (some) =>
        store.receive({ accountId, sessionId, portfolio, items: some, now }).pipe(
          Effect.tap((stored) =>
            Effect.sync(() => {
              for (const key of stored.crowded) many.add(key)
            })
          ),
          Effect.uninterruptible
        )
      const failed = yield* storeAll(receive, items)
      yield* noteCrowded(crowded, session, many, now)
      yield* noteUnattributed(session, items)
      if (failed !== undefined) return yield* Effect.failCause(failed)
      for (const name of news.keys()) acquainted.note(name, now)
    })
  })
