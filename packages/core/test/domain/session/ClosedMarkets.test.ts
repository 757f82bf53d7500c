import { describe, expect, it } from "@effect/vitest"
import metadata from "libphonenumber-js/max/metadata"
import * as ClosedMarkets from "../../../src/domain/session/ClosedMarkets.ts"

const isClosed = (phone: string, category = "marketing", markets = ClosedMarkets.whatsApp) =>
  ClosedMarkets.closedFor(markets, category)(phone)

describe("a market that is closed for a category (contract.md §11)", () => {
  it("is marketing to the United States by default, and neither Canada nor the Caribbean", () => {
    for (const phone of ["12125550100", "13105550100", "19075550100", "18085550100"])
      expect(isClosed(phone), phone).toBe(true)
    const open = ["14165550100", "16045550100", "17875550100", "18095550100", "16715550100", "13405550100"]
    for (const phone of [...open, "34600001234", "18005550100", "1"])
      expect(isClosed(phone), phone).toBe(false)
    expect(isClosed("12125550100", "utility")).toBe(false)
  })

  it("has every area code that the metadata has of the United States, and no other", () => {
    const pattern = metadata.countries["US"]?.[11]?.[0]?.[0]
    const assigned = new RegExp(`^(?:${pattern})$`)
    const numbers = ["2345678", "5550123", "9876543"]
    const areas = Array.from({ length: 800 }, (_, place) => String(200 + place)).filter((area) =>
      numbers.some((rest) => assigned.test(area + rest))
    )
    expect(ClosedMarkets.whatsApp[0]?.prefixes).toEqual(areas.map((area) => `1${area}`))
    expect(ClosedMarkets.asOf).toBe("2026-11-25")
  })

  it("is what a session says instead", () => {
    const own = [
      { category: "utility", prefixes: ["346", "44"] },
      { category: "utility", prefixes: ["49"] }
    ] as const
    expect([isClosed("34600001234", "utility", own), isClosed("34700001234", "utility", own)]).toEqual([
      true,
      false
    ])
    expect(isClosed("4915112345678", "utility", own)).toBe(true)
    expect(isClosed("12125550100", "marketing", own)).toBe(false)
    expect(isClosed("12125550100", "marketing", [])).toBe(false)
  })

  it("is told by its faults where it is none", () => {
    const faults = ClosedMarkets.faults([
      { category: "marketing", prefixes: ["34", "+34", "0"] },
      { category: "marketing", prefixes: [] }
    ])
    expect(faults.map(({ path }) => path.join("/"))).toEqual([
      "closed_markets/0/prefixes/1",
      "closed_markets/0/prefixes/2",
      "closed_markets/1/prefixes"
    ])
    expect(ClosedMarkets.faults(Array(51).fill({ category: "marketing", prefixes: ["1"] }))).toHaveLength(1)
  })
})
