/** contract.md §10 "Requests": cursors belong to their list and its filter, and tell nothing. */
import { describe, expect, it } from "@effect/vitest"
import { Cursors } from "@sendwright/core/contract"
import * as FastCheck from "effect/FastCheck"
import * as Redacted from "effect/Redacted"

const keyOf = (fill: number) => Redacted.make(new Uint8Array(32).fill(fill))
const place = (): FastCheck.Arbitrary<string> => FastCheck.string({ maxLength: 20 })
const position = FastCheck.nat(Number.MAX_SAFE_INTEGER)

describe("a cursor", () => {
  const cursors = Cursors.make(keyOf(1))

  it("is read at its own place, and at no other", () => {
    FastCheck.assert(
      FastCheck.property(place(), place(), position, (own, other, at) => {
        const cursor = cursors.seal(own, at)
        expect(cursors.open(own, cursor)).toBe(at)
        if (other !== own) expect(cursors.open(other, cursor)).toBeUndefined()
      })
    )
  })

  it("is one for one page, and tells neither the position nor that two are near", () => {
    expect(cursors.seal("a", 7)).toBe(cursors.seal("a", 7))
    const [first, second, elsewhere] = [cursors.seal("a", 1), cursors.seal("a", 2), cursors.seal("b", 1)]
    const bytes = [first, second, elsewhere].map((cursor) => Buffer.from(cursor, "base64url"))
    expect(bytes.map(({ length }) => length)).toEqual([36, 36, 36])
    const shared = (a: Buffer | undefined, b: Buffer | undefined) =>
      [...(a ?? [])].filter((byte, at) => byte === b?.[at]).length
    for (const [a, b] of [
      [0, 1],
      [0, 2]
    ] as const)
      expect(shared(bytes[a], bytes[b])).toBeLessThan(8)
  })

  it("that was changed or made up is none", () => {
    const cursor = cursors.seal("a", 123_456)
    FastCheck.assert(
      FastCheck.property(FastCheck.nat(35), FastCheck.integer({ min: 1, max: 255 }), (at, change) => {
        const bytes = Buffer.from(cursor, "base64url")
        bytes[at] = (bytes[at] ?? 0) ^ change
        expect(cursors.open("a", bytes.toString("base64url"))).toBeUndefined()
      })
    )
    const made = [
      "",
      "cDE",
      "p1",
      Buffer.from("p1").toString("base64url"),
      `${cursor}A`,
      cursor.slice(1),
      "+".repeat(48)
    ]
    for (const each of made) expect(cursors.open("a", each), each).toBeUndefined()
  })

  it("of an older key is read while that key is given, and no longer", () => {
    const before = Cursors.make(keyOf(1)).seal("a", 5)
    expect(Cursors.make(keyOf(2), keyOf(1)).open("a", before)).toBe(5)
    expect(Cursors.make(keyOf(2)).open("a", before)).toBeUndefined()
    expect(Cursors.ofProcess().open("a", before)).toBeUndefined()
  })
})
