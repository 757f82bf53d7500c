/** A message is for a phone, a platform's user id, or both of one person (contract.md §14). */
import { describe, expect, it } from "@effect/vitest"
import * as Address from "../../src/domain/Address.ts"
import * as ClosedMarkets from "../../src/domain/session/ClosedMarkets.ts"

const phone = "34600000101"
const userId = "US.13491208655302741918"

describe("one text", () => {
  it("is a number of digits, or a user id with a period", () => {
    expect(Address.read(phone)).toEqual({ phone, userId: null })
    expect(Address.read(userId)).toEqual({ phone: null, userId })
    for (const text of [
      "",
      "34 600",
      "+34600000101",
      "1.5",
      "US.",
      "us.1",
      "ZZ.1",
      "US. 1",
      `US.${"1".repeat(256)}`
    ])
      expect(Address.read(text), text).toBeUndefined()
  })
})

describe("a user id", () => {
  it("is masked in a text, and whatever it looks like where it is known to be one", () => {
    const mask = (text: string) => Address.maskUserIds(text, ["ES.name"])
    expect(mask(`${userId}, (US.7z7)/ES.name`)).toBe("US.··· 918, (US.···)/ES.···")
    expect(mask("from_user_id=ES.1349 No.1 ZZ.1349 WUS.12 US.A")).toBe(
      "from_user_id=ES.··· No.1 ZZ.1349 WUS.12 US.A"
    )
  })
})

describe("an address", () => {
  it.each([
    ["a phone", { phone, userId: null }, [phone]],
    ["a user id", { phone: null, userId }, [`@${userId} 77`]],
    ["both", { phone, userId }, [phone, `@${userId} 77`]]
  ])("of %s has its person's names and keys", (_, person, keys) => {
    const address = Address.addressOf(person, "77")
    expect(Address.personOf(address)).toEqual(person)
    expect(Address.keysOf(address)).toEqual(keys)
  })

  it("without a number has the market of its user id's country, and not that of others with the calling code", () => {
    const isClosed = ClosedMarkets.closedFor(ClosedMarkets.whatsApp, "marketing")
    const numberOf = (id: string) => Address.numberOf(Address.addressOf({ phone: null, userId: id }, "77"))
    expect(numberOf("ES.1")).toMatch(/^34[0-9]{9}$/)
    expect(isClosed(numberOf("US.1"))).toBe(true)
    expect(isClosed(numberOf("CA.1"))).toBe(false)
    expect(numberOf("DO.1")).toMatch(/^1809/)
    expect(Address.numberOf(Address.addressOf({ phone, userId }, "77"))).toBe(phone)
  })
})
