/** Dated prices per currency, market and category; a number's market is found by its longest prefix. */

import * as Address from "../Address.ts"
import * as Fault from "../Fault.ts"
import type { Instant } from "../Instant.ts"
import type { Pricing } from "../job/Recipient.ts"
import * as Memo from "../Memo.ts"
import type { Person } from "../Person.ts"
import type { Readable } from "../Readable.ts"
import * as ClosedMarkets from "../session/ClosedMarkets.ts"
import * as Text from "../Text.ts"
import * as Money from "./Money.ts"

/** The categories by which the platform bills: those of templates, authentication from abroad, and messages without a template. */
export const categories = [
  "marketing",
  "utility",
  "authentication",
  "authentication_international",
  "service"
] as const
export type Category = (typeof categories)[number]

export interface Price {
  /** A name when `prefixes` lists its calling-code prefixes; else itself the prefix; `*` is the rest of the world. */
  readonly market: string
  readonly prefixes: ReadonlyArray<string> | null
  readonly category: Category
  readonly price: string
}

export interface RateCard {
  readonly id: string
  readonly currency: string
  readonly effectiveFrom: Instant
  readonly createdAt: Instant
  readonly prices: ReadonlyArray<Price>
}

const longestPrefix = 15
/** Of a market: a calling code, and the first digits of its numbers. */
export const prefixForm = /^[1-9]\d{0,14}$/

/** The prefixes that a price speaks of; "" is the rest of the world. */
const prefixesOf = ({ market, prefixes }: Pick<Price, "market" | "prefixes">): ReadonlyArray<string> =>
  prefixes ?? [market === "*" ? "" : market]

/** Of all prices of a card: many times what all markets of the world have. */
export const maximumPrefixes = 5000
const maximumMarket = 255

const marketFault = (market: string): readonly [Fault.Code, string] | undefined => {
  if (Text.isBlank(market)) return ["required", "`market` is required."]
  return Text.isLonger(market, maximumMarket) || !Text.isLine(market)
    ? ["invalid_value", `\`market\` must be one line of at most ${maximumMarket} characters.`]
    : undefined
}

/**
 * Adds the faults of one price's prefixes: a form that is none, and a prefix that has a price in the category already.
 *
 * @param seen categories with prefixes of the prices before
 */
const addPrefixFaults = (
  price: Readable<Price>,
  prefixes: ReadonlyArray<string | undefined>,
  pathOf: (place: number) => Fault.Fault["path"],
  seen: Set<string>,
  faults: Fault.Faults
): void => {
  const isRest = !price.prefixes && price.market === "*"
  for (const [place, prefix] of prefixes.entries()) {
    if (faults.isFull) return
    if (prefix === undefined) continue
    if (!isRest && !prefixForm.test(prefix)) {
      const message = "A market is `*`, a calling-code prefix in digits, or a name with `prefixes`."
      faults.add(pathOf(place), "invalid_value", message)
    }
    if (price.category === undefined) continue
    const identity = `${price.category} ${prefix}`
    if (seen.has(identity))
      faults.add(pathOf(place), "invalid_value", "This prefix has a price in this category already.")
    seen.add(identity)
  }
}

/** The faults of a card's prices as far as they can be read, at most as many as are told; paths below `prices`. */
export const faults = (prices: ReadonlyArray<Readable<Price> | undefined>): ReadonlyArray<Fault.Fault> => {
  const faults = new Fault.Faults()
  const count = prices.reduce((sum, price) => sum + (price?.prefixes?.length ?? 1), 0)
  if (count > maximumPrefixes) {
    const message = `\`prices\` must have at most ${maximumPrefixes.toLocaleString("en")} prefixes in all.`
    return [Fault.make(["prices"], "out_of_range", message)]
  }
  const seen = new Set<string>()
  for (const [at, price] of prices.entries()) {
    if (faults.isFull) break
    if (price === undefined) continue
    const { market, price: amount } = price
    if (amount !== undefined && !Money.isAmount(amount)) {
      const message = '`price` must be a plain decimal such as "0.0250".'
      faults.add(["prices", at, "price"], "invalid_value", message)
    }
    const ofMarket = market === undefined ? undefined : marketFault(market)
    if (ofMarket !== undefined) faults.add(["prices", at, "market"], ...ofMarket)
    if (price.prefixes) {
      addPrefixFaults(price, price.prefixes, (place) => ["prices", at, "prefixes", place], seen, faults)
    } else if (market !== undefined && ofMarket === undefined) {
      const prefixes = prefixesOf({ market, prefixes: null })
      addPrefixFaults(price, prefixes, () => ["prices", at, "market"], seen, faults)
    }
  }
  return faults.list
}

export interface Rate {
  readonly market: string
  readonly unitPrice: string
}

export interface Estimate {
  /** The sum of all that has a price; null when nothing has one. */
  readonly total: string | null
  /** True when everything that can be delivered has a price. */
  readonly complete: boolean
  readonly billableRecipients: number
  readonly breakdown: ReadonlyArray<{
    readonly market: string
    readonly category: Category
    readonly recipients: number
    readonly unitPrice: string
    readonly subtotal: string
  }>
  readonly unpriced: ReadonlyArray<Person & { readonly reason: string }>
  /** People to whom the platform delivers nothing of the category: nothing is sent, and nothing is due. */
  readonly undeliverable: ReadonlyArray<Person & { readonly reason: string }>
  /** For each recipient, in the order given; null when it has no price. */
  readonly prices: ReadonlyArray<Rate | null>
}

type Index = Readonly<Record<Category, Map<string, Rate>>>

const indexOf = Memo.ofObject((card: RateCard): Index => {
  const index: Index = {
    marketing: new Map(),
    utility: new Map(),
    authentication: new Map(),
    authentication_international: new Map(),
    service: new Map()
  }
  for (const price of card.prices) {
    const rate: Rate = { market: price.market, unitPrice: price.price }
    for (const prefix of prefixesOf(price)) index[price.category].set(prefix, rate)
  }
  return index
})

/** The price of one message by the longest prefix of the number, or of one in the country of the user id (1-809 is not the United States). */
export const rate = (card: RateCard, category: Category, address: Address.Address): Rate | null => {
  const phone = Address.numberOf(address)
  const index = indexOf(card)[category]
  for (let length = Math.min(phone.length, longestPrefix); length >= 0; length--) {
    const found = index.get(phone.slice(0, length))
    if (found !== undefined) return found
  }
  return null
}

/**
 * The price of each message, in the order of the recipients; null when it has none. Without a card nothing has a price, nor has
 * a message that is not delivered.
 */
export const rates = (
  card: RateCard | null,
  category: Category,
  addresses: ReadonlyArray<Address.Address>,
  isUndeliverable: ClosedMarkets.IsClosed = () => false
): ReadonlyArray<Rate | null> =>
  addresses.map((address) =>
    card === null || isUndeliverable(address) ? null : rate(card, category, address)
  )

/** How many messages have each price. */
const grouped = (prices: ReadonlyArray<Rate | null>) => {
  const counts = new Map<Rate, number>()
  for (const found of prices) if (found !== null) counts.set(found, (counts.get(found) ?? 0) + 1)
  const groups = new Map<string, { readonly rate: Rate; count: number }>()
  for (const [rate, count] of counts) {
    const key = JSON.stringify([rate.market, rate.unitPrice])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { rate, count })
    else group.count += count
  }
  return [...groups.values()]
}

const subtotal = ({ count, rate }: { readonly count: number; readonly rate: Rate }): string =>
  Money.times(rate.unitPrice, count)

/** The cost of messages of these prices together, exactly; null when none has a price. */
export const total = (prices: ReadonlyArray<Rate | null>): string | null => {
  const groups = grouped(prices)
  return groups.length === 0 ? null : Money.total(groups.map(subtotal))
}

/** The exact cost of the messages, and how it comes about. */
export const estimate = (
  card: RateCard | null,
  category: Category,
  addresses: ReadonlyArray<Address.Address>,
  isUndeliverable: ClosedMarkets.IsClosed = () => false
): Estimate => {
  const reason =
    card === null
      ? "No rate card is in force for this currency."
      : "The rate card has no price for this market."
  const prices = rates(card, category, addresses, isUndeliverable)
  const unpriced = addresses.filter((address, place) => prices[place] === null && !isUndeliverable(address))
  const breakdown = grouped(prices)
    .map((group) => ({
      market: group.rate.market,
      category,
      recipients: group.count,
      unitPrice: group.rate.unitPrice,
      subtotal: subtotal(group)
    }))
    .sort((a, b) => (a.market < b.market ? -1 : a.market > b.market ? 1 : 0))
  return {
    total: total(prices),
    complete: unpriced.length === 0,
    billableRecipients: breakdown.reduce((sum, { recipients }) => sum + recipients, 0),
    breakdown,
    unpriced: unpriced.map((address) => ({ ...Address.personOf(address), reason })),
    undeliverable: addresses
      .filter(isUndeliverable)
      .map((address) => ({ ...Address.personOf(address), reason: ClosedMarkets.failure.message })),
    prices
  }
}

/** The categories by the platform's words for them (contract.md §W1.8). */
const billedAs: ReadonlyMap<string, Category> = new Map<string, Category>([
  ...categories.map((category): [string, Category] => [category, category]),
  ["marketing_lite", "marketing"],
  ["authentication-international", "authentication_international"]
])

/**
 * The cost of a delivered message: the price it was accepted with, unless the platform gave it free or counted it in
 * another category. Null when the card has no price for that.
 *
 * @param accepted the category it was accepted with; null when that cannot be read
 * @param card that priced the send
 */
export const cost = (
  {
    address,
    price,
    pricing
  }: { readonly address: Address.Address; readonly price: string | null; readonly pricing: Pricing | null },
  accepted: Category | null,
  card: RateCard | null
): string | null => {
  if (pricing === null) return price
  if (pricing.free) return "0"
  const category = billedAs.get(pricing.category)
  if (category === accepted) return price
  return card === null || category === undefined ? null : (rate(card, category, address)?.unitPrice ?? null)
}

/** The card that prices a send now: the latest effective one, of those the last added. */
export const inForce = (cards: ReadonlyArray<RateCard>, currency: string, now: Instant): RateCard | null =>
  cards.reduce<RateCard | null>(
    (best, card) =>
      card.currency === currency &&
      card.effectiveFrom <= now &&
      (best === null || card.effectiveFrom >= best.effectiveFrom)
        ? card
        : best,
    null
  )
