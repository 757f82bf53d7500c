/**
 * Whether people may have a message. It is one question, asked when a send is accepted and again before its attempts, so that
 * whoever answers it from a source of their own has answered it everywhere.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Purpose, Refusal } from "../domain/consent/Consent.ts"
import { ConsentStore } from "./ConsentStore.ts"
import type { StorageError } from "./StorageError.ts"

export class ConsentSource extends Context.Tag("@sendwright/core/storage/ConsentSource")<
  ConsentSource,
  {
    /**
     * Which of the people, by their phones, may not have a message for this purpose: by their places, mostly none. It is
     * asked for each part of a job that is claimed, so it should be quick, and answer as of now. While it fails no
     * message of these goes out.
     */
    readonly refusals: (
      accountId: string,
      people: ReadonlyArray<string>,
      purpose: Purpose
    ) => Effect.Effect<ReadonlyMap<number, Refusal>, StorageError>
  }
>() {}

/** The source that an embedder provides, and else the records of the store. A layer of its own for each engine. */
export const layer = (): Layer.Layer<ConsentSource, never, ConsentStore> =>
  Layer.effect(
    ConsentSource,
    Effect.flatMap(ConsentStore, (store) =>
      Effect.map(
        Effect.serviceOption(ConsentSource),
        Option.getOrElse(() =>
          ConsentSource.of({
            refusals: (accountId, phones, purpose) => store.refusals({ accountId, phones, purpose })
          })
        )
      )
    )
  )
