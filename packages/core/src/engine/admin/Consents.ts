/** Registration of consents, item by item, and what is known of a phone. */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Address from "../../domain/Address.ts"
import type { View } from "../../domain/Audit.ts"
import * as Audit from "../../domain/Audit.ts"
import type { ConsentRecord, Purpose, Scope, Status, Verdict } from "../../domain/consent/Consent.ts"
import * as Consent from "../../domain/consent/Consent.ts"
import type { PerhapsRefusal } from "../../domain/consent/PerhapsRefusal.ts"
import * as Erasure from "../../domain/Erasure.ts"
import { InvalidRequest, NotFound } from "../../domain/Errors.ts"
import * as ExternalText from "../../domain/ExternalText.ts"
import * as Fault from "../../domain/Fault.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import type { Key } from "../../domain/Person.ts"
import * as Person from "../../domain/Person.ts"
import * as Phone from "../../domain/Phone.ts"
import * as Window from "../../domain/session/Window.ts"
import type { Unattributed } from "../../domain/Unattributed.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import { Signals } from "../../runtime/Signals.ts"
import type { Readable } from "../../schema/Readable.ts"
import * as PersonHash from "../../secret/PersonHash.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import type { Undated, UserKeys } from "../../storage/ConsentStore.ts"
import { ConsentStore } from "../../storage/ConsentStore.ts"
import { ErasureStore } from "../../storage/ErasureStore.ts"
import type { InboundItem, InPortfolio } from "../../storage/InboundStore.ts"
import { InboundStore } from "../../storage/InboundStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import * as Recorder from "./Recorder.ts"
import * as ValidateName from "./ValidateName.ts"

export interface NewConsent extends Whose {
  readonly status?: Status | undefined
  readonly purpose?: Scope | undefined
  readonly source: string
  readonly proof?: string | undefined
  /** RFC 3339; now when absent. */
  readonly occurredAt?: string | undefined
}

/** The outcome of one item: recorded, or its faults. */
export type ConsentResult =
  | { readonly _tag: "Recorded"; readonly record: ConsentRecord }
  | { readonly _tag: "Refused"; readonly person: Person.Person; readonly faults: ReadonlyArray<Fault.Fault> }
  /** The grant tells no time, and consent stays refused: by the person's own words, an erasure, or a refusal in the same list. */
  | {
      readonly _tag: "KeptRefused"
      readonly person: Person.Person
      readonly faults: ReadonlyArray<Fault.Fault>
    }

/** A person: by a phone, by a platform's user id, or by both. */
export interface Whose {
  readonly phone?: string | undefined
  readonly userId?: string | undefined
}

export interface ConsentState {
  /** Null when it was asked for by user id. */
  readonly phone: string | null
  readonly userId: string | null
  readonly current: ReadonlyArray<{ readonly purpose: Purpose; readonly verdict: Verdict<ConsentRecord> }>
  /** Newest first. */
  readonly history: ReadonlyArray<ConsentRecord>
}

/** What one account knows of a person. */
export interface KnownIn extends Pick<ConsentState, "current" | "history"> {
  readonly accountId: string
  readonly windows: ReadonlyArray<Window.Told & { readonly sessionId: string }>
  /** The person's newest texts that may be opt-outs and are recorded as none. */
  readonly perhapsRefusals: ReadonlyArray<PerhapsRefusal>
}

/** What is known of a person in all accounts. */
export interface KnownPerson extends Person.Person {
  readonly accounts: ReadonlyArray<KnownIn>
}

/** The number that somebody left, and the one that they have now. */
export interface Move {
  readonly from: string
  readonly to: string
  readonly reason: string
}

/** The consents that were granted for one number, as they are on record for the other. */
export interface Moved extends Pick<Move, "from" | "to"> {
  readonly records: ReadonlyArray<ConsentRecord>
}

export interface Consents {
  /**
   * Records the items without a fault and returns the faults of the others, in the given order. Every hundred items
   * are a commit with an entry in the audit log. If one fails, the earlier ones are recorded. An item that tells its
   * time and is on record already is not recorded twice, so that a request may be repeated.
   *
   * @param importedAt RFC 3339: items without a time are recorded of that one, so that an import may be repeated, too
   */
  readonly record: (
    accountId: string,
    consents: ReadonlyArray<NewConsent>,
    importedAt?: string
  ) => Effect.Effect<ReadonlyArray<ConsentResult>, NotFound | StorageError>
  /** The rules that items break, as far as they can be read. */
  readonly faults: (
    consents: ReadonlyArray<Readable<NewConsent> | undefined>
  ) => Effect.Effect<ReadonlyArray<Fault.Fault>>
  readonly find: (
    accountId: string,
    whose: Whose
  ) => Effect.Effect<ConsentState, InvalidRequest | NotFound | StorageError>
  /** In all accounts that have a consent or a link of the person, some twenty at most. */
  readonly everywhere: (whose: Whose) => Effect.Effect<KnownPerson, InvalidRequest | StorageError>
  /**
   * Grants for a number what was granted for another one that its owner left (contract.md §13), and ends it there. Refusals are
   * the person's: a purpose that either number refuses is not moved. A repetition changes nothing. Once the next owner has
   * consented, too, nobody can tell whose consent is meant: it is refused.
   */
  readonly move: (
    accountId: string,
    move: Move
  ) => Effect.Effect<Moved, InvalidRequest | NotFound | StorageError>
  /** The rules that a move breaks, as far as it can be read. */
  readonly moveFaults: (move: Readable<Move>) => ReadonlyArray<Fault.Fault>
  /** Inbound items that name nobody, newest first (contract.md §10). */
  readonly unattributed: (
    accountId: string,
    page: Page
  ) => Effect.Effect<Paged<Unattributed>, NotFound | StorageError>
  /** Texts that may be opt-outs and are recorded as none, newest first (contract.md §11). */
  readonly perhapsRefusals: (
    accountId: string,
    page: Page
  ) => Effect.Effect<Paged<PerhapsRefusal>, NotFound | StorageError>
  /** Records such a text as the opt-out of who wrote it, for everything that is known of them. It is listed no longer. */
  readonly recordRefusal: (refusalId: string) => Effect.Effect<PerhapsRefusal, NotFound | StorageError>
  /** Lists a text no longer that was no refusal. It changes nobody's consent. */
  readonly dismissRefusal: (refusalId: string) => Effect.Effect<PerhapsRefusal, NotFound | StorageError>
}

const maximumProof = 2000

/** Items that are checked and committed in one turn of the event loop, with one entry in the audit log. */
const atOnce = 100

const userIdForm = "`user_id` must be 1 to 256 visible ASCII characters, as the platform writes it."

/** How far the clock of a registering client may be ahead of ours. */
const skewMs = 5 * Time.minute

const check = (item: Readable<NewConsent>, index: number, now: Instant): ReadonlyArray<Fault.Fault> => {
  const { occurredAt: occurred, proof, source } = item
  const at = (name: string) => ["consents", index, name]
  const ofNames = new Fault.Faults()
  Address.addFaults(ofNames, { phone: item.phone, userId: item.userId }, at)
  const faults = [...ofNames.list]
  if (source !== undefined) faults.push(...ValidateName.validateName(source, "source", 255, at("source")))
  if (proof !== undefined)
    faults.push(...ValidateName.validateName(proof, "proof", maximumProof, at("proof")))
  const occurredAt = occurred === undefined ? now : Time.parse(occurred)
  if (occurredAt === undefined) {
    const message = "`occurred_at` must be an RFC 3339 date-time."
    faults.push(Fault.make(at("occurred_at"), "invalid_value", message))
  } else if (occurredAt > now + skewMs) {
    const message = "`occurred_at` must not be in the future."
    faults.push(Fault.make(at("occurred_at"), "out_of_range", message))
  }
  return faults
}

const refused = (name: string, code: Fault.Code, message: string) =>
  Effect.fail(new InvalidRequest({ faults: [Fault.make(["query", name], code, message)] }))

const askedFor = ({
  phone,
  userId
}: Whose): Effect.Effect<
  ReadonlyArray<{ readonly phone: string } | { readonly userId: string }>,
  InvalidRequest
> => {
  if (userId !== undefined && Person.read(null, userId) === null)
    return refused("user_id", "invalid_value", userIdForm)
  const message = phone === undefined ? undefined : Phone.check(phone)
  if (message !== undefined) return refused("phone", "recipient_invalid", message)
  if (phone === undefined && userId === undefined)
    return refused("phone", "required", "Give `phone` or `user_id`.")
  return Effect.succeed([
    ...(phone === undefined ? [] : [{ phone }]),
    ...(userId === undefined ? [] : [{ userId }])
  ])
}

const missing: Verdict<ConsentRecord> = { _tag: "Missing" }

/** A part of an import, as the audit log has it. */
const shown = (results: ReadonlyArray<ConsentResult>): View => {
  const records = results.flatMap((result) => (result._tag === "Recorded" ? [result.record] : []))
  const counts = {
    granted: records.filter(({ status }) => status === "granted").length,
    revoked: records.filter(({ status }) => status === "revoked").length,
    kept_refused: results.filter(({ _tag }) => _tag === "KeptRefused").length,
    refused: results.filter(({ _tag }) => _tag === "Refused").length
  }
  if (results.length > Audit.listedItems) return counts
  const listed = records.map(({ id, phone, purpose, source, status, userId }) => ({
    consent_id: id,
    phone: phone === null ? null : Audit.phone(phone),
    ...(userId === null ? {} : { user_id: Audit.phone(userId) }),
    purpose,
    status,
    source: Audit.free(source)
  }))
  return { ...counts, consents: listed }
}

const personOf = ({ phone, userId }: Whose): Person.Person => ({
  phone: phone ?? null,
  userId: userId ?? null
})

const recordOf = (
  ids: Ids.Ids,
  item: NewConsent,
  now: Instant,
  undatedAt: Instant | undefined
): ConsentRecord => {
  const reportedAt = (item.occurredAt === undefined ? undatedAt : Time.parse(item.occurredAt)) ?? null
  return {
    id: ids.uuid(now),
    ...personOf(item),
    purpose: item.purpose ?? "all",
    status: item.status ?? "granted",
    source: item.source,
    proof: item.proof ?? null,
    // A time ahead of ours must not outrank a later record.
    occurredAt: Time.min(reportedAt ?? now, now),
    reportedAt,
    datedBy: null,
    recordedAt: now
  }
}

const erasedFault = (place: number, at: Instant): Fault.Fault =>
  Fault.make(
    ["consents", place, "occurred_at"],
    "out_of_range",
    `This person was erased on ${Time.format(at)}. What was said before counts no more; record what is said since.`
  )

const keptRefused = (place: number, { phone, userId }: Person.Person, message: string): ConsentResult => ({
  _tag: "KeptRefused",
  person: { phone, userId },
  faults: [Fault.make(["consents", place], "kept_refused", message)]
})

const keptMessages = {
  closed:
    "Consent stays refused: the person said so, left the number, or was erased, and an item without `occurred_at` does not outrank that. Tell when they consented since.",
  inList:
    "Consent stays refused: the same list has a refusal of this person. Tell in `occurred_at` when each was said.",
  erased: "This is what is left of a person who was erased. Nothing is recorded of it."
} as const

/** What is said of people who were erased before is refused: it would bring the number back, and opens nothing. */
const withoutErased = (hash: PersonHash.PersonHash) =>
  Effect.fnUntraced(function* (
    accountId: string,
    from: number,
    results: ReadonlyArray<ConsentResult>,
    undated: Map<string, { readonly isErased: boolean }>
  ) {
    // Of a user id no portfolio matters here.
    const keysOf = (record: ConsentRecord) => Person.written(Person.keysOf(record, ""))
    const records = results.flatMap((result) => (result._tag === "Recorded" ? [result.record] : []))
    const erased = yield* hash.erased(accountId, new Set(records.flatMap(keysOf)))
    if (erased.size === 0) return results
    return results.map((result, place): ConsentResult => {
      if (result._tag !== "Recorded") return result
      const { id, occurredAt, phone, userId } = result.record
      const at = Time.at(
        Math.max(...keysOf(result.record).map((key) => erased.get(key)?.at ?? Number.NEGATIVE_INFINITY))
      )
      if (undated.has(id)) {
        undated.set(id, { isErased: Number.isFinite(at) })
        return result
      }
      return Erasure.isBefore(occurredAt, at)
        ? { _tag: "Refused", person: { phone, userId }, faults: [erasedFault(from + place, at)] }
        : result
    })
  })

/** Records items in one commit, and finishes it even if the client hangs up. */
const recordingPart = (store: Context.Tag.Service<ConsentStore>, signals: Context.Tag.Service<Signals>) =>
  Effect.fnUntraced(function* (
    accountId: string,
    from: number,
    results: ReadonlyArray<ConsentResult>,
    undated: Undated,
    userKeys: UserKeys
  ) {
    const records = results.flatMap((result) => (result._tag === "Recorded" ? [result.record] : []))
    if (records.length === 0) return results
    const recorded = (yield* store.record({ accountId, records, undated, userKeys })).values()
    yield* signals.deliveries.notify
    return results.map((result, place): ConsentResult => {
      if (result._tag !== "Recorded") return result
      const record = recorded.next().value ?? null
      return record === null
        ? keptRefused(from + place, result.record, keptMessages.closed)
        : { ...result, record }
    })
  }, Effect.uninterruptible)

const moveFaults = ({ from, reason, to }: Readable<Move>): ReadonlyArray<Fault.Fault> => {
  const faults = Object.entries({ from, to }).flatMap(([name, phone]) => {
    const message = phone === undefined ? undefined : Phone.check(phone)
    return message === undefined ? [] : [Fault.make([name], "recipient_invalid", message)]
  })
  if (faults.length === 0 && from !== undefined && to !== undefined && Phone.forms(from).includes(to))
    faults.push(Fault.make(["to"], "invalid_value", "`to` must be another number than `from`."))
  if (reason !== undefined) faults.push(...ValidateName.validateName(reason, "reason", 255, ["reason"]))
  return faults
}

const refuseMove = (name: keyof Move, code: Fault.Code, message: string) =>
  Effect.fail(new InvalidRequest({ faults: [Fault.make([name], code, message)] }))

const ofMove = { userId: null, datedBy: null } as const

/** The grants as the new number has them. The time that they tell is the same each time, so that a move may be repeated. */
const grantsOf = (
  ids: Ids.Ids,
  { from, reason, to }: Move,
  given: ReadonlyArray<Consent.Given>,
  ofNew: ReadonlyArray<ConsentRecord>,
  now: Instant
): ReadonlyArray<ConsentRecord> => {
  // Somebody may have left the new number before, too.
  const freeSince = Time.max(
    ...ofNew.filter(({ source }) => source === Consent.numberChanged).map(({ occurredAt }) => occurredAt)
  )
  return Consent.moved(given, ofNew).map((grant) => ({
    ...grant,
    ...ofMove,
    id: ids.uuid(now),
    phone: to,
    proof: ExternalText.lines(
      `Moved from ${Audit.phone(from)} (${reason}): ${grant.proof ?? "no proof was given"}`,
      ExternalText.longest.words
    ),
    occurredAt: Time.max(grant.occurredAt, freeSince),
    reportedAt: grant.occurredAt,
    recordedAt: now
  }))
}

/** The end of what stands for a number in one of its forms. */
const endsOf = (
  ids: Ids.Ids,
  phone: string,
  history: ReadonlyArray<ConsentRecord>,
  { reason, to }: Move,
  now: Instant
): ReadonlyArray<ConsentRecord> =>
  Consent.grantedPurposes(history).map((purpose) => ({
    ...ofMove,
    id: ids.uuid(now),
    phone,
    purpose,
    status: "revoked",
    source: Consent.numberChanged,
    // Of the new number no more than tells an operator which it is: the old one is somebody else's.
    proof: ExternalText.lines(`Moved to ${Audit.phone(to)}: ${reason}`, ExternalText.longest.words),
    occurredAt: now,
    reportedAt: null,
    recordedAt: now
  }))

/** Moves grants in one commit, with its entry in the audit log. */
const moving = (
  parts: Readonly<{
    hash: PersonHash.PersonHash
    record: Recorder.Recorder
    signals: Context.Tag.Service<Signals>
    store: Context.Tag.Service<ConsentStore>
  }>,
  ids: Ids.Ids
) =>
  Effect.fnUntraced(function* (accountId: string, move: Move) {
    const { hash, record, signals, store } = parts
    const { from, reason, to } = move
    const faults = moveFaults(move)
    if (faults.length > 0) return yield* new InvalidRequest({ faults })
    const now = yield* Time.now
    const historyOf = (phone: string) => store.history({ accountId, phone })
    const forms = yield* Effect.forEach(Phone.forms(from), (phone) =>
      Effect.map(historyOf(phone), (history) => ({ phone, history, ...Consent.movable(history) }))
    )
    const found = forms.find(({ ended, standing }) => ended.length + standing.length > 0)
    if (found === undefined)
      return yield* refuseMove("from", "invalid_value", "Nothing is granted for this number.")
    const { ended, standing } = found
    const ofNew = yield* historyOf(to)
    const grants = grantsOf(ids, move, ended.length > 0 ? ended : standing, ofNew, now)
    if (grants.length === 0)
      return yield* refuseMove("to", "kept_refused", "Consent stays refused: the person said so.")
    const isRepeated = grants.every((grant) => Consent.recordedAlready(grant, ofNew) !== undefined)
    if (!isRepeated && ended.length > 0 && standing.length > 0)
      return yield* refuseMove(
        "from",
        "invalid_value",
        "The number's next owner consented since, and whose consent is meant is not known. Record for the new number what its owner gave."
      )
    const erasedAt = Time.max(
      ...[...(yield* hash.erased(accountId, Phone.forms(to))).values()].map(({ at }) => at)
    )
    if (grants.some(({ reportedAt }) => Erasure.isBefore(reportedAt ?? now, erasedAt)))
      return yield* refuseMove("to", "out_of_range", "This person was erased since the consent was given.")
    const ends = isRepeated
      ? []
      : forms.flatMap(({ history, phone }) => endsOf(ids, phone, history, move, now))
    const entry = ({ records }: Moved) => ({
      target: accountId,
      after: {
        from: Audit.phone(from),
        to: Audit.phone(to),
        reason: Audit.free(reason),
        consents: records.map(({ id }) => id)
      }
    })
    const committed = Effect.map(store.record({ accountId, records: [...grants, ...ends] }), (recorded) => ({
      from,
      to,
      records: recorded.slice(0, grants.length).flatMap((each) => each ?? [])
    }))
    return yield* record(
      { operation: "consents.move", entry },
      Effect.uninterruptible(Effect.zipLeft(committed, signals.deliveries.notify))
    )
  })

/** As the hook would have recorded it, so that it counts by the session's time. Done twice it changes nothing more. */
const recordingText = (inbound: Context.Tag.Service<InboundStore>, signals: Context.Tag.Service<Signals>) =>
  Effect.fnUntraced(function* (found: InPortfolio<PerhapsRefusal>) {
    const { accountId, id, messageId, phone, portfolio, sessionId, text, reportedAt, userId } = found
    const item: InboundItem = {
      id: `${sessionId} perhaps ${id}`,
      identity: { person: { phone, userId }, formerly: null },
      message: null,
      word: {
        purpose: "all",
        status: "revoked",
        source: Consent.inboundSources.message,
        proof: ExternalText.lines(
          `Message ${messageId ?? ""}, taken for a refusal by an operator: ${text}`,
          ExternalText.longest.words
        ),
        reportedAt
      },
      unattributed: null
    }
    const now = yield* Time.now
    yield* inbound.receive({ accountId, sessionId, portfolio, items: [item], now })
    yield* inbound.forgetPerhapsRefusal(id)
    yield* signals.deliveries.notify
  }, Effect.uninterruptible)

/** An operator's decisions on texts that may be refusals. */
const decisions = (inbound: Context.Tag.Service<InboundStore>, record: Recorder.Recorder) => ({
  doubtful: (refusalId: string) =>
    Effect.filterOrFail(
      inbound.perhapsRefusal(refusalId),
      (found) => found !== null,
      () => new NotFound({ what: "text" })
    ),
  /** Names the person by four digits, and nothing of the text. */
  ofText:
    (operation: string, { accountId, id, phone }: PerhapsRefusal) =>
    <A, E>(act: Effect.Effect<A, E>) =>
      record(
        {
          operation,
          entry: () => ({
            target: accountId,
            after: { refusal_id: id, phone: phone === null ? null : Audit.phone(phone) }
          })
        },
        act
      )
})

/** The keys of the user ids in a part of a list: those that platforms told, and the one that holds for those still to be told. */
const userKeys = (inbound: Context.Tag.Service<InboundStore>) =>
  Effect.fnUntraced(function* (accountId: string, part: ReadonlyArray<ConsentResult>) {
    const found = new Map<string, ReadonlyArray<Key>>()
    for (const result of part) {
      const userId = result._tag === "Recorded" ? result.record.userId : null
      if (userId === null || found.has(userId)) continue
      const told = yield* inbound.toldOfUser({ accountId, userId })
      found.set(userId, [...told, Person.unplaced(userId)])
    }
    return found
  })

/** Reads all that is on record of a person: in one account, and in all of them. */
const looking = Effect.gen(function* () {
  const store = yield* ConsentStore
  const erasures = yield* ErasureStore
  const inbound = yield* InboundStore

  /** The consents that hold, and all that were recorded, by the names that are asked for. */
  const stateOf = Effect.fnUntraced(function* (
    accountId: string,
    asked: Effect.Effect.Success<ReturnType<typeof askedFor>>
  ) {
    const histories = yield* Effect.forEach(asked, (name) => store.history({ accountId, ...name }))
    const current = Consent.purposes.map((purpose) => {
      const verdicts = histories.map((history) => Consent.decide(history, purpose))
      const [verdict = missing] = Consent.byPerson([asked], verdicts)
      return { purpose, verdict }
    })
    // A record may be filed under both names.
    const records = new Map(histories.flat().map((record) => [record.id, record]))
    const newestFirst = [...records.values()].reverse().toSorted((a, b) => b.recordedAt - a.recordedAt)
    return { current, history: newestFirst }
  })

  const everywhere: Consents["everywhere"] = Effect.fnUntraced(function* (whose) {
    const asked = yield* askedFor(whose)
    const now = yield* Time.now
    const named = {
      phones: whose.phone === undefined ? [] : Phone.forms(whose.phone),
      userIds: whose.userId === undefined ? [] : [whose.userId]
    }
    const known = yield* store.known(named)
    const found = yield* Effect.forEach(
      new Set(known.map(({ accountId }) => accountId)),
      Effect.fnUntraced(function* (accountId) {
        const keys = yield* erasures.keys({ accountId, ...named })
        const { windows, words } = yield* inbound.heardOf({ accountId, keys })
        return {
          accountId,
          ...(yield* stateOf(accountId, asked)),
          windows: windows.map((heard) => ({
            sessionId: heard.sessionId,
            ...Window.told(heard, true, now)
          })),
          perhapsRefusals: words
        }
      })
    )
    return { ...personOf(whose), accounts: found }
  })

  return { everywhere, stateOf }
})

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const inbound = yield* InboundStore
  const store = yield* ConsentStore
  const signals = yield* Signals
  const { everywhere, stateOf } = yield* looking
  const record = yield* Recorder.make
  const ids = Ids.make(yield* Ids.RandomBytes)

  const account = Effect.fnUntraced(function* (id: string) {
    if ((yield* accounts.find(id)) === null) return yield* new NotFound({ what: "account" })
  })

  const userKeysOf = userKeys(inbound)
  const recordPart = recordingPart(store, signals)
  const hash = yield* PersonHash.make
  const counting = withoutErased(hash)
  const moveGrants = moving({ hash, record, signals, store }, ids)
  const recordText = recordingText(inbound, signals)

  const { doubtful, ofText } = decisions(inbound, record)

  const consents: Consents = {
    record: Effect.fnUntraced(function* (accountId, items, importedAt) {
      yield* account(accountId)
      const entry = (part: ReadonlyArray<ConsentResult>) => ({ target: accountId, after: shown(part) })
      const undatedAt = importedAt === undefined ? undefined : Time.parse(importedAt)
      const results: Array<ConsentResult> = []
      const refusals = new Consent.ListRefusals()
      for (const [place, item] of items.entries()) refusals.add(item, place)
      // In parts, so that an import of thousands does not block other requests.
      for (let from = 0; from < items.length; from += atOnce) {
        if (from > 0) yield* EventLoopBudget.yieldIfSpent
        const now = yield* Time.now
        const undated = new Map<string, { readonly isErased: boolean }>()
        const checked = items.slice(from, from + atOnce).map((item, place): ConsentResult => {
          const person = personOf(item)
          // An account's own export has such rows after an erasure.
          if (Erasure.isErased(person.phone ?? ""))
            return keptRefused(from + place, person, keptMessages.erased)
          const faults = check(item, from + place, now)
          if (faults.length > 0) return { _tag: "Refused", person, faults }
          const made = recordOf(ids, item, now, undatedAt)
          if (item.occurredAt !== undefined) return { _tag: "Recorded", record: made }
          if (refusals.has(item, from + place)) return keptRefused(from + place, person, keptMessages.inList)
          undated.set(made.id, { isErased: false })
          return { _tag: "Recorded", record: made }
        })
        const part = yield* counting(accountId, from, checked, undated)
        const recording = recordPart(accountId, from, part, undated, yield* userKeysOf(accountId, part))
        results.push(...(yield* record({ operation: "consents.record", entry }, recording)))
      }
      return results
    }),
    move: (accountId, move) => Effect.zipRight(account(accountId), moveGrants(accountId, move)),
    moveFaults,
    faults: (items) =>
      Effect.map(Time.now, (now) => {
        const faults = new Fault.Faults()
        for (const [index, item] of items.entries()) {
          if (faults.isFull) break
          if (item !== undefined) faults.addAll(check(item, index, now))
        }
        return faults.list
      }),
    find: Effect.fnUntraced(function* (accountId, whose) {
      yield* account(accountId)
      return { ...personOf(whose), ...(yield* stateOf(accountId, yield* askedFor(whose))) }
    }),
    everywhere,
    perhapsRefusals: Effect.fnUntraced(function* (accountId, page) {
      yield* account(accountId)
      return yield* inbound.perhapsRefusals({ accountId, page })
    }),
    recordRefusal: Effect.fnUntraced(function* (refusalId) {
      const found = yield* doubtful(refusalId)
      yield* ofText("consents.recordRefusal", found)(recordText(found))
      return found
    }),
    dismissRefusal: Effect.fnUntraced(function* (refusalId) {
      const found = yield* doubtful(refusalId)
      yield* ofText("consents.dismissRefusal", found)(inbound.forgetPerhapsRefusal(refusalId))
      return found
    }),
    unattributed: Effect.fnUntraced(function* (accountId, page) {
      yield* account(accountId)
      return yield* inbound.unattributed({ accountId, page })
    })
  }
  return consents
})
