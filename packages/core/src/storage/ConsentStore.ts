/** Where consent records live: append-only, the current state derived from them by `Consent.decide`. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ConsentRecord, Purpose, Refusal, Verdict } from "../domain/consent/Consent.ts"
import type { Between, Looked } from "../domain/DerivedEvent.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Key } from "../domain/Person.ts"
import type { StorageError } from "./StorageError.ts"

/** By user id the keys under which an account's records of it are filed: one for each portfolio that gives it out. */
export type UserKeys = ReadonlyMap<string, ReadonlyArray<Key>>

/** Ids of records of which nobody knows when they were said, and whether each person was erased. */
export type Undated = ReadonlyMap<string, { readonly isErased: boolean }>

/** Where a record lies among those of an account. */
export interface Filing {
  readonly person: Key
  readonly occurredAt: Instant
  /** The record's number among those of this key. */
  readonly seq: number
}

/** A record as it is filed under one key of its person. */
export interface FiledConsent {
  readonly filing: Filing
  readonly record: ConsentRecord
}

/** An account that knows somebody by a key, and when it was told last. */
export interface KnownPerson {
  readonly accountId: string
  readonly person: Key
  readonly at: Instant
}

/** The accounts that are told of one name, at most, by consent records and by links. */
export const mostKnown = 20

/** Each account and key once, with the last time. */
export const latestOf = (known: ReadonlyArray<KnownPerson>): ReadonlyArray<KnownPerson> => {
  const found = new Map<string, KnownPerson>()
  for (const each of known) {
    const name = `${each.accountId} ${each.person}`
    const before = found.get(name)
    if (before === undefined || before.at < each.at) found.set(name, each)
  }
  return [...found.values()]
}

/** A revocation, and whose it is. */
export interface RevokedConsent {
  readonly accountId: string
  readonly record: ConsentRecord
}

/** Phones of an account, and the purpose that they are asked for. */
export interface Asked {
  readonly accountId: string
  readonly phones: ReadonlyArray<string>
  readonly purpose: Purpose
}

export class ConsentStore extends Context.Tag("@sendwright/core/storage/ConsentStore")<
  ConsentStore,
  {
    /**
     * Appends all records, or none, each with its `consent.granted` or `consent.revoked` event. What is known of the
     * same person by another key (`InboundStore`) has them too: a revocation everything, a grant what was told together.
     * One that says when and says what is among the person's last records already (`Consent.recordedAlready`, `Order.looksBack`)
     * is not recorded again, and has no event: an import may be repeated.
     *
     * Answers them as they are on record, in the order given: a revocation that is dated by its recording occurred no earlier than
     * the grants that were recorded before it, whichever clock is ahead. Null stands for one that is not recorded, since consent
     * stays refused (`Consent.isKeptRefused`).
     *
     * @param command.userKeys of the user ids in the records
     * @param command.undated the ids of records of which nobody knows when they were said
     */
    readonly record: (command: {
      readonly accountId: string
      readonly records: ReadonlyArray<ConsentRecord>
      readonly undated?: Undated
      readonly userKeys?: UserKeys
    }) => Effect.Effect<ReadonlyArray<ConsentRecord | null>, StorageError>
    /** Which of the phones lack consent, by their places; mostly none. Two queries at the most (`ConsentSource`). */
    readonly refusals: (asked: Asked) => Effect.Effect<ReadonlyMap<number, Refusal>, StorageError>
    /** The verdict for each phone, in the order given, with the record that decided: much to read. */
    readonly evidence: (asked: Asked) => Effect.Effect<ReadonlyArray<Verdict<ConsentRecord>>, StorageError>
    /** All records of an account, by key, and of each in the order in which they count; at most so many behind a place. */
    readonly page: (query: {
      readonly accountId: string
      readonly after: Filing | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<FiledConsent>, StorageError>
    /**
     * The accounts that know of these phones, or of these user ids in any portfolio, by their consent records and by what
     * platforms told: of each name {@link mostKnown} of either at most.
     */
    readonly known: (query: {
      readonly phones: ReadonlyArray<string>
      readonly userIds: ReadonlyArray<string>
    }) => Effect.Effect<ReadonlyArray<KnownPerson>, StorageError>
    /** Each revocation once, newest first by its recording. It looks at some thousands at most where the account is named. */
    readonly revoked: (
      query: Omit<Between, "sessionId">
    ) => Effect.Effect<Looked<RevokedConsent>, StorageError>
    /** In the order of recording; of a user id in all portfolios. */
    readonly history: (
      query: { readonly accountId: string } & ({ readonly phone: string } | { readonly userId: string })
    ) => Effect.Effect<ReadonlyArray<ConsentRecord>, StorageError>
  }
>() {}
