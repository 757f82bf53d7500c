import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Money from "../../../src/domain/billing/Money.ts"
import type { Price, RateCard } from "../../../src/domain/billing/RateCard.ts"
import * as Rates from "../../../src/domain/billing/RateCard.ts"
import * as Time from "../../../src/domain/Instant.ts"
import * as Phone from "../../../src/domain/Phone.ts"

const runs = { numRuns: 1000 }

/** Ten-thousandths, and their text with four decimals. */
const unit = FastCheck.nat(99_999_999)
const text = (units: number | bigint): string => {
  const digits = BigInt(units).toString().padStart(5, "0")
  return `${digits.slice(0, -4)}.${digits.slice(-4)}`
}

describe("money", () => {
  it("sums exactly, in any order", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(unit, { minLength: 1, maxLength: 50 }), (units) => {
        const expected = text(units.reduce((sum, each) => sum + BigInt(each), 0n))
        expect(Money.total(units.map(text))).toBe(expected)
        expect(Money.total([...units].reverse().map(text))).toBe(expected)
      }),
      runs
    )
    expect(Money.total(["0.1", "0.2"])).toBe("0.3")
    expect(Money.total(["0.10", "1", "0.005"])).toBe("1.105")
    expect(Money.total([])).toBe("0")
  })

  it("multiplies exactly", () => {
    FastCheck.assert(
      FastCheck.property(unit, FastCheck.nat(250), (price, count) => {
        expect(Money.times(text(price), count)).toBe(text(BigInt(price) * BigInt(count)))
      }),
      runs
    )
  })

  it("is a plain, non-negative decimal", () => {
    for (const good of ["0", "0.0250", "12", "999999999999.99999999"]) expect(Money.isAmount(good)).toBe(true)
    for (const bad of [
      "",
      "-1",
      "+1",
      "1e3",
      ".5",
      "1.",
      "01",
      "1,5",
      " 1",
      "NaN",
      "0.000000001",
      "1".repeat(13)
    ]) {
      expect([bad, Money.isAmount(bad)]).toEqual([bad, false])
    }
  })
})

describe("phones", () => {
  it("are 7 to 15 digits with a calling code that exists", () => {
    for (const good of ["34600000001", "12025550100", "18095550100", "4915112345678", "2348012345678"]) {
      expect([good, Phone.check(good)]).toEqual([good, undefined])
    }
    for (const bad of [
      "",
      "0",
      "034600000001",
      "99912345678",
      "123456",
      "1234567890123456",
      "٣٤٦٠٠٠٠٠٠",
      "3460000000a"
    ]) {
      expect([bad, Phone.check(bad) === undefined]).toEqual([bad, false])
    }
  })

  it("are told their corrected form, whatever the separators", () => {
    const separator = FastCheck.constantFrom("", " ", "-", ".", "(", ")", "\u00a0")
    const number = FastCheck.stringMatching(/^34[67]\d{8}$/)
    FastCheck.assert(
      FastCheck.property(
        number,
        FastCheck.array(separator, { minLength: 11, maxLength: 11 }),
        (digits, separators) => {
          const written = `+${[...digits].map((digit, at) => digit + (separators[at] ?? "")).join("")}`
          expect(Phone.check(digits)).toBeUndefined()
          expect(Phone.check(written)).toContain(` ${digits}.`)
          expect(Phone.check(`00${digits}`)).toContain(` ${digits}.`)
        }
      ),
      runs
    )
  })

  it("never throw and accept nothing but digits", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary" }), (any) => {
        if (Phone.check(any) === undefined) expect(any).toMatch(/^[1-9][0-9]{6,14}$/)
      }),
      runs
    )
  })
})

const card = (prices: ReadonlyArray<Price>): RateCard => ({
  id: "c",
  currency: "EUR",
  effectiveFrom: Time.at(0),
  createdAt: Time.at(0),
  prices
})
const price = (market: string, prefixes: ReadonlyArray<string> | null, amount: string): Price => ({
  market,
  prefixes,
  category: "utility",
  price: amount
})

describe("a rate card", () => {
  const world = card([
    price("North America", ["1"], "0.0100"),
    price("Rest of Latin America", ["1809", "1829", "1849"], "0.0250"),
    price("34", null, "0.1"),
    price("*", null, "0.5")
  ])

  it("prices by the longest prefix: 1-809 is not the United States", () => {
    expect(Rates.rate(world, "utility", "12025550100")?.unitPrice).toBe("0.0100")
    expect(Rates.rate(world, "utility", "18095550100")?.unitPrice).toBe("0.0250")
    expect(Rates.rate(world, "utility", "34600000001")).toEqual({ market: "34", unitPrice: "0.1" })
    expect(Rates.rate(world, "utility", "4915112345678")?.market).toBe("*")
    expect(Rates.rate(world, "marketing", "34600000001")).toBeNull()
  })

  it("finds what a search of all prefixes finds", () => {
    const prefix = FastCheck.stringMatching(/^[1-9]\d{0,3}$/)
    FastCheck.assert(
      FastCheck.property(
        FastCheck.uniqueArray(prefix, { maxLength: 20 }),
        FastCheck.stringMatching(/^[1-9]\d{6,10}$/),
        (prefixes, phone) => {
          const found = Rates.rate(card(prefixes.map((each) => price(each, null, "1"))), "utility", phone)
          const [longest] = prefixes
            .filter((each) => phone.startsWith(each))
            .sort((a, b) => b.length - a.length)
          expect(found?.market).toBe(longest)
        }
      ),
      runs
    )
  })

  it("estimates exactly and says what has no price", () => {
    const partial = card(world.prices.filter(({ market }) => market !== "*"))
    const estimate = Rates.estimate(partial, "utility", [
      "12025550100",
      "18095550100",
      "12025550101",
      "4915112345678"
    ])
    expect(estimate).toMatchObject({ total: "0.0450", complete: false, billableRecipients: 3 })
    expect(Rates.total(estimate.prices)).toBe("0.0450")
    expect(Rates.total([null])).toBeNull()
    expect(
      estimate.breakdown.map(({ market, recipients, subtotal }) => [market, recipients, subtotal])
    ).toEqual([
      ["North America", 2, "0.0200"],
      ["Rest of Latin America", 1, "0.0250"]
    ])
    expect(estimate.unpriced.map(({ phone }) => phone)).toEqual(["4915112345678"])
    expect(Rates.estimate(null, "utility", ["34600000001"])).toMatchObject({
      total: null,
      complete: false,
      billableRecipients: 0
    })
    const free = card([{ market: "*", prefixes: null, category: "utility", price: "0" }])
    expect(Rates.estimate(free, "utility", ["34600000001"])).toMatchObject({ total: "0", complete: true })
  })

  it("has plain prices, and one for each prefix and category", () => {
    const faults = (prices: ReadonlyArray<Price>) => Rates.faults(prices).map(({ path }) => path)
    expect(faults(world.prices)).toEqual([])
    expect(faults([price("34", null, "free")])).toEqual([["prices", 0, "price"]])
    expect(faults([price("Spain", null, "1")])).toEqual([["prices", 0, "market"]])
    expect(faults([price("34", null, "1"), price("Spain", ["34"], "2")])).toEqual([
      ["prices", 1, "prefixes", 0]
    ])
  })
})
