import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Idempotency from "../../../src/domain/account/Idempotency.ts"

const runs = { numRuns: 1000 }

/** The same value with the keys of every object in another order. */
const reordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reordered(member)])
  )
}

// A plain assignment of `__proto__` would set a prototype, so reordering by Object.fromEntries keeps it an own key.
const json = FastCheck.jsonValue()

describe("the fingerprint", () => {
  it("does not depend on key order and white space", () => {
    FastCheck.assert(
      FastCheck.property(json, (value) => {
        const again: unknown = JSON.parse(JSON.stringify(reordered(value), null, 3))
        expect(Idempotency.fingerprint("template", again)).toBe(Idempotency.fingerprint("template", value))
      }),
      runs
    )
  })

  it("depends on any value", () => {
    FastCheck.assert(
      FastCheck.property(json, json, (one, other) => {
        const same = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
        expect(Idempotency.fingerprint("template", one) === Idempotency.fingerprint("template", other)).toBe(
          same
        )
      }),
      runs
    )
    const body = { template_id: 1, recipients: [{ phone: "34600000001" }] }
    const changed = { template_id: 1, recipients: [{ phone: "34600000002" }] }
    expect(Idempotency.fingerprint("template", body)).not.toBe(Idempotency.fingerprint("template", changed))
    expect(Idempotency.fingerprint("template", ["a", "b"])).not.toBe(
      Idempotency.fingerprint("template", ["b", "a"])
    )
  })

  it("keeps a template send and a direct message apart", () => {
    expect(Idempotency.fingerprint("template", {})).not.toBe(Idempotency.fingerprint("direct", {}))
  })
})

/** An independent notion of equality: entries sorted into arrays. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? 0 : value
  return {
    entries: Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)])
  }
}

describe("the key", () => {
  it("is 1 to 128 visible ASCII characters, bare or quoted, and both are one key", () => {
    expect(Idempotency.parseKey("abc")).toBe("abc")
    expect(Idempotency.parseKey('"abc"')).toBe("abc")
    expect(Idempotency.parseKey('"a\\"b"')).toBe('a"b')
    expect(Idempotency.parseKey("x".repeat(128))).toBe("x".repeat(128))
    for (const bad of [
      "",
      '""',
      "x".repeat(129),
      "a b",
      '"a b"',
      "k1, k2",
      "é",
      "a\tb",
      `"${"x".repeat(129)}"`
    ]) {
      expect(Idempotency.parseKey(bad)).toBeUndefined()
    }
  })

  it("is text and no value that reads like one", () => {
    for (const bad of [null, 1, Number.NaN, true, {}, ["abc"]])
      expect(Idempotency.parseKey(bad)).toBeUndefined()
  })
})
