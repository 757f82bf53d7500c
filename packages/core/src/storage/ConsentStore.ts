/** Where consent records live: append-only, the current state derived from them by `Consent.decide`. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ConsentRecord, Purpose, Refusal, Verdict } from "../domain/Consent.ts"
import type { StorageError } from "./StorageError.ts"

export class ConsentStore extends Context.Tag("@sendwright/core/storage/ConsentStore")<
  ConsentStore,
  {
    /** Appends all records, or none, each with its `consent.granted` or `consent.revoked` event. */
    readonly record: (command: {
      readonly accountId: string
      readonly records: ReadonlyArray<ConsentRecord>
    }) => Effect.Effect<void, StorageError>
    /** Which of the phones lack consent, by their places; mostly none. Two queries at the most. */
    readonly refusals: (query: {
      readonly accountId: string
      readonly phones: ReadonlyArray<string>
      readonly purpose: Purpose
    }) => Effect.Effect<ReadonlyMap<number, Refusal>, StorageError>
    /** The verdict for each phone, in the order given, with the record that decided: much to read. */
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
