/**
 * Erases people (`domain/Erasure`), and finds all that is known of one. Either is done in slices, each of some milliseconds,
 * since most tables have no index by name.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Counts, Erasure, Mark, Part, Sought } from "../domain/Erasure.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { Key } from "../domain/Person.ts"
import type { StorageError } from "./StorageError.ts"

/** A slice of a part: from behind a place on. The first begins behind null. */
export interface Slice {
  readonly part: Part
  readonly after: string | null
  readonly sought: Sought
}

/** Names that are hashed, by their hashes. */
export type Hashed<A> = ReadonlyMap<string, A>

/** Since when a name is erased, and whether consent was recorded of it since. */
export interface Erased {
  readonly at: Instant
  readonly isKnownAgain: boolean
}

/** One thing that is known of a person, as it is shown to them. */
export type Finding = Readonly<Record<string, unknown>>

/** An erasure that goes on, with its sealed names. */
export interface Unfinished extends Erasure {
  readonly sealed: string
}

export class ErasureStore extends Context.Tag("@sendwright/core/storage/ErasureStore")<
  ErasureStore,
  {
    /** The sealed key by which names are hashed: the one that is there, or the given one, which is there from now on. */
    readonly hashKey: (sealed: string) => Effect.Effect<string, StorageError>
    /** Which of the names are erased in the account, or in all. */
    readonly erased: (query: {
      readonly accountId: string
      readonly names: Hashed<Key>
    }) => Effect.Effect<Hashed<Erased>, StorageError>
    /**
     * All keys that surely are the same person's (`Person.Circle`), as the account knows them; those of a user id in all
     * portfolios.
     */
    readonly keys: (query: {
      readonly accountId: string
      readonly phones: ReadonlyArray<string>
      readonly userIds: ReadonlyArray<string>
    }) => Effect.Effect<ReadonlyArray<Key>, StorageError>
    /**
     * Begins an erasure, in one commit: from here on nothing that was said before counts, and all consent that is recorded of
     * the names is under their hashes.
     *
     * @param command.accounts the accounts whose consents are moved
     */
    readonly begin: (command: {
      readonly erasure: Erasure
      readonly marks: ReadonlyArray<Mark>
      readonly sealed: string
      readonly sought: Sought
      readonly accounts: ReadonlyArray<string>
    }) => Effect.Effect<Counts, StorageError>
    /** Erases a slice in one commit, and counts what went with its erasure; `next` is null behind the last. */
    readonly erase: (
      slice: Slice & { readonly erasureId: string; readonly now: Instant }
    ) => Effect.Effect<{ readonly counts: Counts; readonly next: string | null }, StorageError>
    /** The same without a change: what {@link erase} would find. */
    readonly find: (
      slice: Slice
    ) => Effect.Effect<{ readonly found: ReadonlyArray<Finding>; readonly next: string | null }, StorageError>
    /** Writes how far it is; of one that is done the sealed names go. */
    readonly save: (command: {
      readonly erasure: Erasure
      readonly marks: ReadonlyArray<Mark>
    }) => Effect.Effect<void, StorageError>
    /** The transactions that are open in the database, of anybody, by names of their own; empty where one writes at a time. */
    readonly openTransactions: Effect.Effect<ReadonlyArray<string>, StorageError>
    /** The erasures to be swept by now. */
    readonly due: (now: Instant) => Effect.Effect<ReadonlyArray<Unfinished>, StorageError>
    /** Newest first. */
    readonly list: (page: Page) => Effect.Effect<Paged<Erasure>, StorageError>
    /**
     * Removes what is left of deleted rows in the database's files, as far as it can be done. Answers what is left to be
     * done by hand; null when it is nothing.
     */
    readonly wipe: Effect.Effect<string | null, StorageError>
  }
>() {}
