import { describe, expect, it } from "@effect/vitest"
import { cost, faults, type Price, type RateCard } from "../../../src/domain/billing/RateCard.ts"
import * as Fault from "../../../src/domain/Fault.ts"
import * as Time from "../../../src/domain/Instant.ts"

const card: RateCard = {
  id: "card",
  currency: "USD",
  effectiveFrom: Time.at(0),
  createdAt: Time.at(0),
  prices: [
    { market: "Spain", prefixes: ["34"], category: "marketing", price: "0.0615" },
    { market: "Spain", prefixes: ["34"], category: "utility", price: "0.0170" }
  ]
}

describe("what a delivered message cost", () => {
  const accepted = { address: "34600000001", price: "0.0170" }
  const billed = (category: string, free = false) =>
    cost({ ...accepted, pricing: { category, free } }, "utility", card)

  it("is the price of its acceptance while no receipt says otherwise", () => {
    expect(cost({ ...accepted, pricing: null }, "utility", null)).toBe("0.0170")
    expect(billed("utility")).toBe("0.0170")
  })

  it("follows the category that the platform counted it in", () => {
    expect(billed("marketing")).toBe("0.0615")
    expect(billed("marketing_lite")).toBe("0.0615")
  })

  it("is nothing in a window of free messages", () => {
    expect(billed("utility", true)).toBe("0")
    expect(billed("service", true)).toBe("0")
  })

  it("is not made up where the card has no price", () => {
    expect(billed("authentication")).toBeNull()
    expect(billed("authentication-international")).toBeNull()
    expect(cost({ ...accepted, pricing: { category: "marketing", free: false } }, "utility", null)).toBeNull()
  })
})

describe("the check of a card", () => {
  it("stops at the maximum of reported faults, even in the middle of a price", () => {
    let reads = 0
    const price: Price = {
      market: "Nowhere",
      prefixes: Array<string>(200).fill("x"),
      category: "utility",
      get price() {
        reads += 1
        return "0,1"
      }
    }
    expect(faults(Array.from({ length: 20 }, () => price))).toHaveLength(Fault.maximum)
    expect(reads).toBe(1)
  })

  it("does not look at prefixes that are too many in all", () => {
    const prefixes = Array<string>(1000).fill("x")
    const price: Price = { market: "Nowhere", prefixes, category: "utility", price: "0,1" }
    expect(faults(Array.from({ length: 11 }, () => price)).map(Fault.pointer)).toEqual(["/prices"])
  })

  it("takes the rest of the world as `*`, not as an empty prefix or an empty name", () => {
    const price = { category: "utility", price: "0.1" } as const
    expect(faults([{ ...price, market: "*", prefixes: null }])).toEqual([])
    const found = faults([
      { ...price, market: "Nowhere", prefixes: [""] },
      { ...price, category: "marketing", market: "", prefixes: null }
    ])
    expect(found.map(Fault.pointer)).toEqual(["/prices/0/prefixes/0", "/prices/1/market"])
  })

  it("reports every fault of the readable prices, and none of the unreadable ones", () => {
    const found = faults([
      undefined,
      { prefixes: null },
      { market: "Nowhere", prefixes: [undefined, "x"], price: "0,1" },
      { market: "\ud800", prefixes: ["34"], category: "utility", price: "0.1" }
    ])
    expect(found.map(Fault.pointer)).toEqual(["/prices/2/price", "/prices/2/prefixes/1", "/prices/3/market"])
  })
})
