import { describe, expect, it } from "@effect/vitest"
import * as Memo from "../../src/domain/Memo.ts"

describe("a memo", () => {
  it("finds each key once, and again when others took its place", () => {
    const found: Array<string> = []
    const memo = Memo.make<string | null>(2)
    const find = (key: string) =>
      memo(key, () => {
        found.push(key)
        return key === "none" ? null : `found ${key}`
      })
    expect(["a", "none", "a", "none"].map(find)).toEqual(["found a", null, "found a", null])
    expect(found).toEqual(["a", "none"])
    find("b")
    expect(find("a")).toBe("found a")
    expect(found).toEqual(["a", "none", "b", "a"])
  })
})

describe("a memo of objects", () => {
  it("finds each object once, also where it is equal to another", () => {
    const found: Array<string> = []
    const memo = Memo.ofObject(({ name }: { readonly name: string }) => {
      found.push(name)
      return `found ${name}`
    })
    const one = { name: "a" }
    expect([one, { name: "a" }, one].map(memo)).toEqual(["found a", "found a", "found a"])
    expect(found).toEqual(["a", "a"])
  })
})
