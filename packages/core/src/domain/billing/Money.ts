/** Exact decimal money: text on the wire and in stores, BigDecimal in between, never a float. */
import * as BigDecimal from "effect/BigDecimal"
import * as Option from "effect/Option"

/** Currencies that the platform bills in (contract.md §W1.9). */
export const currencies: ReadonlyArray<string> = [
  "USD",
  "AED",
  "ARS",
  "AUD",
  "BRL",
  "CLP",
  "COP",
  "EUR",
  "GBP",
  "IDR",
  "INR",
  "MXN",
  "MYR",
  "PEN",
  "SAR",
  "SGD"
]

/** A plain, non-negative decimal: at most 12 digits before and 8 after the point. */
export const plain = /^(0|[1-9]\d{0,11})(\.\d{1,8})?$/

export const isAmount = (text: string): boolean => plain.test(text)

const scaleOf = (text: string): number => text.split(".")[1]?.length ?? 0

const read = (text: string): BigDecimal.BigDecimal =>
  Option.getOrElse(BigDecimal.fromString(text), () => BigDecimal.fromBigInt(0n))

const write = (value: BigDecimal.BigDecimal, scale: number): string => {
  const digits = BigDecimal.scale(value, scale)
    .value.toString()
    .padStart(scale + 1, "0")
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** The exact sum, with as many decimals as the finest of its terms; "0" of none. */
export const total = (amounts: ReadonlyArray<string>): string =>
  write(
    amounts.reduce((sum, amount) => BigDecimal.sum(sum, read(amount)), BigDecimal.fromBigInt(0n)),
    Math.max(0, ...amounts.map(scaleOf))
  )

/** The exact product, with the decimals of the amount. */
export const times = (amount: string, count: number): string =>
  write(BigDecimal.multiply(read(amount), BigDecimal.fromBigInt(BigInt(count))), scaleOf(amount))
