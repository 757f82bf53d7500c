/** All that is known of a person, and its erasure (docs/adr/0040). */

import * as Effect from "effect/Effect"
import * as Records from "effect/Record"
import * as Audit from "../../domain/Audit.ts"
import type { Counts, Names, Part, Sought } from "../../domain/Erasure.ts"
import * as Erasure from "../../domain/Erasure.ts"
import { InvalidRequest, NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import * as Ids from "../../domain/Ids.ts"
import * as Time from "../../domain/Instant.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import type { Key } from "../../domain/Person.ts"
import * as Person from "../../domain/Person.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import { Signals } from "../../runtime/Signals.ts"
import * as PersonHash from "../../secret/PersonHash.ts"
import { SecretBox } from "../../secret/SecretBox.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import type { Finding } from "../../storage/ErasureStore.ts"
import { ErasureStore } from "../../storage/ErasureStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import * as Erasing from "../../worker/Erasing.ts"
import * as Recorder from "./Recorder.ts"
import * as ValidateName from "./ValidateName.ts"

/** The person whom a request is about: by a phone in any spelling, by a platform's user id, or by both. */
export interface Whose {
  readonly phone?: string | undefined
  readonly userId?: string | undefined
  /** All accounts when it is left out. */
  readonly accountId?: string | undefined
}

export interface EraseCommand extends Whose {
  readonly reason: string
  /** Counts only. */
  readonly dryRun?: boolean | undefined
}

export interface Erased {
  /** Null of a dry run. */
  readonly erasure: Erasure.Erasure | null
  readonly dryRun: boolean
  /** The names that surely are the person's. */
  readonly names: Names
  /** The counts of what went, or would. */
  readonly counts: Counts
  /** The rest that is to be done by hand; null when it is nothing. */
  readonly remains: string | null
}

/** The parts that tell something of a person, by what they are to them; in the others they are only mentioned. */
const shownParts = {
  consents: "consents",
  messages: "recipients",
  events: "events",
  deliveryAnswers: "attempts",
  links: "links",
  windows: "windows",
  doubtfulTexts: "refusals",
  unreadHooks: "unread",
  earlyReports: "reports"
} as const satisfies Readonly<Record<string, Part>>

export type Sections = Readonly<Record<keyof typeof shownParts, ReadonlyArray<Finding>>>

export interface Export {
  readonly names: Names
  readonly sections: Sections
  /** The sections that have more than {@link maximumShown}. */
  readonly cut: ReadonlyArray<keyof Sections>
}

/** Things of each part that an export shows, at most. */
export const maximumShown = 10_000

export interface People {
  /**
   * Erases a person: what waits for them is canceled, and all that is known of them goes. It goes on by itself until nothing
   * is in flight; a repetition does no harm.
   */
  readonly erase: (command: EraseCommand) => Effect.Effect<Erased, InvalidRequest | NotFound | StorageError>
  /** All that is known of a person; not found where it is nothing. */
  readonly export: (whose: Whose) => Effect.Effect<Export, InvalidRequest | NotFound | StorageError>
  readonly erasures: (page: Page) => Effect.Effect<Paged<Erasure.Erasure>, StorageError>
}

const malformed = (name: string) =>
  Fault.make(
    [name],
    "invalid_value",
    name === "phone"
      ? "`phone` must be a number with its country calling code."
      : "`user_id` must be 1 to 256 visible ASCII characters, as the platform writes it."
  )

/** The phones and user ids that are given, read as platforms' are. */
const given = ({ phone, userId }: Whose) => {
  const faults: Array<Fault.Fault> = []
  const phones = phone === undefined ? [] : [Person.read(phone, null)?.phone ?? null]
  const userIds = userId === undefined ? [] : [Person.read(null, userId)?.userId ?? null]
  if (phones.includes(null)) faults.push(malformed("phone"))
  if (userIds.includes(null)) faults.push(malformed("user_id"))
  if (phone === undefined && userId === undefined)
    faults.push(Fault.make(["phone"], "required", "Give `phone` or `user_id`."))
  const named = (some: ReadonlyArray<string | null>) => some.filter((each) => each !== null)
  return faults.length > 0
    ? Effect.fail(new InvalidRequest({ faults }))
    : Effect.succeed({ phones: named(phones), userIds: named(userIds) })
}

const isShown = (finding: Finding): boolean => Object.keys(finding).length > 0

/** Looks through all accounts for what is known of somebody. */
const finding = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const store = yield* ErasureStore
  const { hashing } = yield* PersonHash.make

  const accountsOf = Effect.fnUntraced(function* (accountId: string | undefined) {
    if (accountId !== undefined) {
      if ((yield* accounts.find(accountId)) === null) return yield* new NotFound({ what: "account" })
      return [accountId]
    }
    const ids: Array<string> = []
    let after: number | null = null
    do {
      const { items, next }: Paged<{ readonly id: string }> = yield* accounts.list({ limit: 100, after })
      for (const { id } of items) ids.push(id)
      after = next
    } while (after !== null)
    return ids
  })

  /** The given names, and what each account ties to them: no account's links tell anything of another's people. */
  const namesOf = Effect.fnUntraced(function* (
    whose: { readonly phones: ReadonlyArray<string>; readonly userIds: ReadonlyArray<string> },
    ids: ReadonlyArray<string>
  ) {
    const hash = yield* hashing
    const named = (keys: ReadonlyArray<Key>) =>
      Erasure.namesOf(keys, (hashed) => Erasure.tokenOf(hash(hashed)))
    // Of a user id no portfolio matters here.
    const asked = [
      ...Person.written(whose.phones),
      ...whose.userIds.map((userId) => Person.keyOfUser(userId, ""))
    ]
    const given = named(asked)
    const ofAccounts: Record<string, Names["given"]> = {}
    for (const accountId of ids) {
      yield* EventLoopBudget.yieldIfSpent
      const names = named([...asked, ...(yield* store.keys({ accountId, ...whose }))])
      if (names.length > given.length) ofAccounts[accountId] = names
    }
    return { given, ofAccounts } satisfies Names
  })

  const ask = Effect.fnUntraced(function* (whose: Whose) {
    const asked = yield* given(whose)
    const ids = yield* accountsOf(whose.accountId)
    const names = yield* namesOf(asked, ids)
    return { ids, names, sought: Erasing.soughtOf(whose.accountId ?? null, names) }
  })

  const find = Effect.fnUntraced(function* (part: Part, sought: Sought) {
    const found: Array<Finding> = []
    let after: string | null = null
    do {
      yield* EventLoopBudget.yieldIfSpent
      const slice: { readonly found: ReadonlyArray<Finding>; readonly next: string | null } =
        yield* store.find({ part, after, sought })
      found.push(...slice.found)
      after = slice.next
    } while (after !== null && found.length <= maximumShown)
    return found
  })
  return { ask, find }
})

export const make = Effect.gen(function* () {
  const store = yield* ErasureStore
  const box = yield* SecretBox
  const signals = yield* Signals
  const record = yield* Recorder.make
  const ids = Ids.make(yield* Ids.RandomBytes)
  const { sweep } = yield* Erasing.make
  const { ask, find } = yield* finding

  const count = Effect.fnUntraced(function* (sought: Sought) {
    let counts: Counts = Erasure.noCounts
    for (const part of Erasure.parts) {
      const found = yield* find(part, sought)
      counts = { ...counts, [part]: found.length }
      if (part !== "recipients") continue
      const waits = ({ status }: Finding) => status === "queued" || status === "sending"
      counts = { ...counts, canceled: found.filter(waits).length }
    }
    return counts
  })

  /** The number is nowhere in it: its hashes stand for it. */
  const entry = (erasure: Erasure.Erasure, names: Names) => () => ({
    target: erasure.id,
    after: {
      account_id: erasure.accountId,
      reason: Audit.free(erasure.reason),
      erased: Erasure.allNames(names).map(({ token }) => token)
    }
  })

  const people: People = {
    erase: Effect.fnUntraced(function* (command) {
      const { accountId = null, dryRun = false, reason } = command
      const faults = ValidateName.validateName(reason, "reason", 255, ["reason"])
      if (faults.length > 0) return yield* new InvalidRequest({ faults })
      const { ids: accounts, names, sought } = yield* ask(command)
      if (dryRun) return { erasure: null, dryRun, names, counts: yield* count(sought), remains: null }
      const now = yield* Time.now
      const begun: Erasure.Erasure = {
        id: ids.uuid(now),
        accountId,
        reason: Erasure.redaction(Erasure.allNames(names)).text(reason),
        begunAt: now,
        sweptAt: now,
        nextAt: Time.after(now, Erasure.settlesMs),
        waitsFor: null,
        counts: Erasure.noCounts
      }
      const sealed = box.seal(PersonHash.place(begun.id), JSON.stringify(names))
      const marks = Erasure.marksOf(names, accountId)
      const first = yield* record(
        { operation: "people.erase", entry: entry(begun, names) },
        store.begin({ erasure: begun, marks, sealed, sought, accounts })
      )
      const { erasure, remains } = yield* sweep({ ...begun, counts: first }, names)
      yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
      return { erasure, dryRun, names, counts: erasure.counts, remains }
    }),
    export: Effect.fnUntraced(function* (whose) {
      const { names, sought } = yield* ask(whose)
      const cut: Array<keyof Sections> = []
      const shown = Effect.fnUntraced(function* (section: keyof Sections) {
        const found = (yield* find(shownParts[section], sought)).filter(isShown)
        if (found.length > maximumShown) cut.push(section)
        return found.slice(0, maximumShown)
      })
      const sections: Sections = yield* Effect.all(Records.map(shownParts, (_, section) => shown(section)))
      if (Object.values(sections).every((section) => section.length === 0))
        return yield* new NotFound({ what: "person" })
      const told = () => ({
        target: null,
        after: {
          account_id: whose.accountId ?? null,
          person: Erasure.allNames(names).map(({ token }) => token)
        }
      })
      yield* record({ operation: "people.export", entry: told }, Effect.void)
      return { names, sections, cut }
    }),
    erasures: store.list
  }
  return people
})
