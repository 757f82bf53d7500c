/** Rate cards: dated, added, never changed. */
import * as Effect from "effect/Effect"
import * as Currency from "../../domain/billing/Currency.ts"
import type { Price, RateCard } from "../../domain/billing/RateCard.ts"
import * as Cards from "../../domain/billing/RateCard.ts"
import * as RateCardImport from "../../domain/billing/RateCardImport.ts"
import { InvalidRequest } from "../../domain/Errors.ts"
import type * as Fault from "../../domain/Fault.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Either from "../../effect/Either.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import type { Readable } from "../../schema/Readable.ts"
import { RateCardStore } from "../../storage/RateCardStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { refuseIf } from "./RefuseIf.ts"

export interface RateCards {
  readonly add: (input: {
    readonly currency: string
    readonly effectiveFrom: Instant
    readonly prices: ReadonlyArray<Price>
  }) => Effect.Effect<RateCard, InvalidRequest | StorageError>
  /** Adds the card that a platform publishes as CSV, in one of its currencies: see `domain/billing/RateCardImport`. */
  readonly importList: (input: {
    readonly currency: string
    readonly effectiveFrom: Instant
    /** The text of the file. */
    readonly csv: string
  }) => Effect.Effect<
    { readonly card: RateCard; readonly skipped: ReadonlyArray<RateCardImport.Skipped> },
    InvalidRequest | StorageError
  >
  /** The rules that prices or the text of a file break, as far as they can be read. */
  readonly faults: (input: {
    readonly currency?: string | undefined
    readonly prices?: ReadonlyArray<Readable<Price> | undefined> | undefined
    readonly csv?: string | undefined
  }) => ReadonlyArray<Fault.Fault>
  readonly list: (page: Page) => Effect.Effect<Paged<RateCard>, StorageError>
}

/** The prices of a file, or its faults by line and column. */
const read = (csv: string, currency: string) =>
  Either.mapLeft(RateCardImport.read(csv, { currency }), (faults) =>
    faults.map((fault): Fault.Fault => ({ ...fault, path: ["csv", ...fault.path] }))
  )

const faultsOf: RateCards["faults"] = ({ csv, currency, prices = [] }) => {
  const ofCsv = csv === undefined || currency === undefined ? Either.right(null) : read(csv, currency)
  return [...Currency.faults(currency), ...Cards.faults(prices), ...(Either.isLeft(ofCsv) ? ofCsv.left : [])]
}

export const make = Effect.gen(function* () {
  const store = yield* RateCardStore
  const ids = Ids.make(yield* Ids.RandomBytes)
  const add: RateCards["add"] = Effect.fnUntraced(function* ({ currency, effectiveFrom, prices }) {
    // To look at ten thousand prices and to store them is more than one turn of the event loop should take.
    yield* EventLoopBudget.yieldIfSpent
    yield* refuseIf([...Currency.faults(currency), ...Cards.faults(prices)])
    yield* EventLoopBudget.yieldIfSpent
    const now = yield* Time.now
    const card: RateCard = { id: ids.uuid(now), currency, effectiveFrom, createdAt: now, prices }
    yield* store.add(card)
    return card
  })
  const importList: RateCards["importList"] = Effect.fnUntraced(function* ({ csv, currency, effectiveFrom }) {
    yield* refuseIf(Currency.faults(currency))
    const { prices, skipped } = yield* Effect.mapError(
      read(csv, currency),
      (faults) => new InvalidRequest({ faults })
    )
    return { card: yield* add({ currency, effectiveFrom, prices }), skipped }
  })
  const cards: RateCards = { add, importList, faults: faultsOf, list: store.list }
  return cards
})
