/**
 * Whether people may have a message. It is one question, asked when a send is accepted and again before its attempts, so that
 * whoever answers it from a source of their own has answered it everywhere.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Address from "../domain/Address.ts"
import type { Purpose, Refusal } from "../domain/consent/Consent.ts"
import * as Consent from "../domain/consent/Consent.ts"
import type { Key } from "../domain/Person.ts"
import * as Person from "../domain/Person.ts"
import { ConsentStore } from "./ConsentStore.ts"
import type { StorageError } from "./StorageError.ts"

export class ConsentSource extends Context.Tag("@sendwright/core/storage/ConsentSource")<
  ConsentSource,
  {
    /**
     * Which of the people, each by a phone or a platform's user id, may not have a message for this purpose: by their places, mostly none. It is
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

interface Granted {
  readonly _tag: "Granted"
}
const granted: Granted = { _tag: "Granted" }

/** Asks for each name of people who have several. */
const byPerson =
  (
    ask: typeof ConsentSource.Service.refusals,
    namesOf: (address: Address.Address) => ReadonlyArray<string>
  ) =>
  (accountId: string, addresses: ReadonlyArray<Address.Address>, purpose: Purpose) => {
    const names = addresses.map(namesOf)
    return Effect.map(ask(accountId, names.flat(), purpose), (refusals): ReadonlyMap<number, Refusal> => {
      if (refusals.size === 0) return refusals
      const found = Consent.byPerson(
        names,
        names.flat().map((_, place): Refusal | Granted => refusals.get(place) ?? granted)
      )
      return new Map(
        [...found.entries()].flatMap(([place, each]) =>
          each._tag === "Granted" ? [] : [[place, each] as const]
        )
      )
    })
  }

/** As whoever is asked from outside the store knows them. */
const plain = (key: Key): string => {
  const { phone, userId } = Person.ofKey(key)
  return phone ?? userId ?? key
}

/** The source that an embedder provides, and else the records of the store. A layer of its own for each engine. */
export const layer = (): Layer.Layer<ConsentSource, never, ConsentStore> =>
  Layer.effect(
    ConsentSource,
    Effect.flatMap(ConsentStore, (store) =>
      Effect.map(Effect.serviceOption(ConsentSource), (source) =>
        ConsentSource.of({
          refusals: Option.match(source, {
            onNone: () =>
              byPerson(
                (accountId, phones, purpose) => store.refusals({ accountId, phones, purpose }),
                Address.consentKeysOf
              ),
            onSome: ({ refusals }) => byPerson(refusals, (address) => Address.keysOf(address).map(plain))
          })
        })
      )
    )
  )
