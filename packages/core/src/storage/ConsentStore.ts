/** Where consent records live: append-only, the current state derived from them by `Consent.decide`. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ConsentRecord, Purpose, Verdict } from "../domain/Consent.ts"
import type { StorageError } from "./StorageError.ts"

export class ConsentStore extends Context.Tag("@sendwright/core/storage/ConsentStore")<
  ConsentStore,
  {
    /** Appends all records, or none, each with its `consent.granted` or `consent.revoked` event. */
    readonly record: (command: {
      readonly accountId: string
      readonly records: ReadonlyArray<ConsentRecord>
    }) => Effect.Effect<void, StorageError>
    /** The verdict for each phone, in the order given. One query, whatever the number of phones. */
    readonly verdicts: (query: {
      readonly accountId: string
      readonly phones: ReadonlyArray<string>
      readonly purpose: Purpose
    }) => Effect.Effect<ReadonlyArray<Verdict>, StorageError>
    /** The same with the whole records that decided, for whoever explains it: they are much to read. */
    readonly evidence: (query: {
      readonly accountId: string
      readonly phones: ReadonlyArray<string>
      readonly purpose: Purpose
    }) => Effect.Effect<ReadonlyArray<Verdict<ConsentRecord>>, StorageError>
    /** In the order of recording. */
    readonly history: (query: {
      readonly accountId: string
      readonly phone: string
    }) => Effect.Effect<ReadonlyArray<ConsentRecord>, StorageError>
  }
>() {}
