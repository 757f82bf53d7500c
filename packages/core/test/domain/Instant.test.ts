import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Instant from "../../src/domain/Instant.ts"

const runs = { numRuns: 2000 }

const digits = (value: number, length: number): string => String(value).padStart(length, "0")

/** An instant as a text of any offset, with any number of digits after the second. */
const written = FastCheck.record({
  // Every year that the form has, those that `Date.UTC` takes for others among them.
  at: FastCheck.oneof(
    FastCheck.integer({ min: -62_167_132_800_000, max: 253_402_214_400_000 }),
    FastCheck.integer({ min: -62_167_132_800_000, max: -59_011_459_200_000 })
  ),
  offset: FastCheck.integer({ min: -1439, max: 1439 }),
  more: FastCheck.stringMatching(/^[0-9]{0,6}$/),
  lower: FastCheck.boolean()
}).map(({ at, lower, more, offset }) => {
  const local = new Date(at + offset * Instant.minute).toISOString().slice(0, -1)
  const [hours, minutes] = [Math.trunc(Math.abs(offset) / 60), Math.abs(offset) % 60]
  const zone = offset === 0 ? "Z" : `${offset < 0 ? "-" : "+"}${digits(hours, 2)}:${digits(minutes, 2)}`
  const text = `${local}${more}${zone}`
  return { at, text: lower ? text.toLowerCase() : text }
})

/** A calendar's answer to any fields: a `Date` made of them has the same ones only if that time exists. */
const exists = (
  year: number,
  month: number,
  date: number,
  hours: number,
  minutes: number,
  seconds: number
) => {
  const found = new Date(0)
  found.setUTCFullYear(year, month - 1, date)
  found.setUTCHours(hours, minutes, seconds)
  return (
    found.getUTCFullYear() === year &&
    found.getUTCMonth() === month - 1 &&
    found.getUTCDate() === date &&
    found.getUTCHours() === hours &&
    found.getUTCMinutes() === minutes
  )
}

describe("an RFC 3339 date-time", () => {
  it("is read as the instant that it names, in every year, at every offset, cut to milliseconds", () => {
    FastCheck.assert(
      FastCheck.property(written, ({ at, text }) => {
        expect([text, Instant.parse(text)]).toEqual([text, at])
        expect(Instant.parse(Instant.format(Instant.at(at)))).toBe(at)
      }),
      runs
    )
  })

  it("is refused when its day or its time does not exist", () => {
    const field = (most: number) =>
      FastCheck.oneof(FastCheck.integer({ min: 0, max: most }), FastCheck.integer({ min: 0, max: 99 }))
    FastCheck.assert(
      FastCheck.property(
        FastCheck.oneof(
          FastCheck.integer({ min: 0, max: 9999 }),
          FastCheck.constantFrom(1900, 2000, 2023, 2024)
        ),
        field(13),
        field(32),
        field(25),
        field(61),
        field(61),
        (year, month, date, hours, minutes, seconds) => {
          const text = `${digits(year, 4)}-${digits(month, 2)}-${digits(date, 2)}T${digits(hours, 2)}:${digits(minutes, 2)}:${digits(seconds, 2)}Z`
          const expected = seconds <= 60 && exists(year, month, date, hours, minutes, Math.min(seconds, 59))
          expect([text, Instant.parse(text) !== undefined]).toEqual([text, expected])
        }
      ),
      { numRuns: 5000 }
    )
  })

  it.each([
    "2026-02-30T10:00:00Z",
    "2026-02-29T10:00:00Z",
    "1900-02-29T10:00:00Z",
    "2026-04-31T10:00:00Z",
    "2026-11-00T10:00:00Z",
    "2026-00-10T10:00:00Z",
    "2026-13-10T10:00:00Z",
    "2026-11-22T24:00:00Z",
    "2026-11-22T23:60:00Z",
    "2026-11-22T23:59:61Z",
    "2026-11-22T10:00:00+24:00",
    "2026-11-22T10:00:00+10:60",
    "2026-11-22T10:00:00.Z",
    "2026-11-22T10:00:00.1234567890Z",
    "2026-11-22T10:00:00",
    "2026-11-22 10:00:00Z",
    "2026-11-22T10:00Z",
    "2026-11-22",
    "+002026-11-22T10:00:00Z",
    " 2026-11-22T10:00:00Z",
    "2026-11-22T10:00:00Z\n",
    "٢٠٢٦-11-22T10:00:00Z",
    // Outside the years that can be written.
    "0000-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    ""
  ])("is none: %j", (text) => {
    expect(Instant.parse(text)).toBeUndefined()
  })

  it("takes a leap second for the second before it", () => {
    const before = Instant.parse("2016-12-31T23:59:59.5Z")
    expect(before).toBe(Date.UTC(2016, 11, 31, 23, 59, 59, 500))
    expect(Instant.parse("2016-12-31T23:59:60.5Z")).toBe(before)
    expect(Instant.parse("2017-01-01T01:59:60.5+02:00")).toBe(before)
  })

  it("takes an offset of nothing, written either way", () => {
    const at = Date.UTC(2026, 10, 22, 10)
    for (const zone of ["Z", "z", "+00:00", "-00:00"])
      expect(Instant.parse(`2026-11-22t10:00:00${zone}`)).toBe(at)
  })
})
