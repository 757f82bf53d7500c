import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SecretBox from "../../src/secret/SecretBox.ts"

const keyOf = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))

const boxOf = (current: number, ...older: ReadonlyArray<number>) =>
  Effect.runSync(
    Effect.scoped(
      Effect.map(
        Layer.build(SecretBox.layer(keyOf(current), ...older.map(keyOf))),
        Context.get(SecretBox.SecretBox)
      )
    )
  )

describe("a secret at rest", () => {
  it("is read again in its place, and nowhere else, and not when it was changed", () => {
    const { open, seal } = boxOf(1)
    const sealed = seal("session|a", "token")
    expect(sealed).not.toContain("token")
    expect(seal("session|a", "token")).not.toBe(sealed)
    expect(open("session|a", sealed)).toEqual(Either.right("token"))
    expect(Either.isLeft(open("session|b", sealed))).toBe(true)
    const changed = sealed.slice(0, -2) + (sealed.endsWith("AA") ? "BB" : "AA")
    expect(Either.isLeft(open("session|a", changed))).toBe(true)
  })

  it("outlives a change of the master key for as long as the old one is given too", () => {
    const [before, during, after] = [boxOf(1), boxOf(2, 1), boxOf(2)]
    const old = before.seal("session|a", "token")
    const hash = before.hash("sk_secret")
    expect(during.open("session|a", old)).toEqual(Either.right("token"))
    expect(during.matches("sk_secret", [hash])).toBe(true)
    expect(during.matches("sk_other", [hash])).toBe(false)
    const fresh = during.seal("session|a", "token")
    expect(after.open("session|a", fresh)).toEqual(Either.right("token"))
    expect(after.matches("sk_secret", [during.hash("sk_secret")])).toBe(true)
    expect(Either.isLeft(after.open("session|a", old))).toBe(true)
    expect(after.matches("sk_secret", [hash])).toBe(false)
  })

  it("matches nothing without a hash", () => {
    expect(boxOf(1).matches("sk_secret", [])).toBe(false)
  })

  it("is hashed under a named key, and one of before that names none is still told", () => {
    const [before, during] = [boxOf(1), boxOf(2, 1)]
    const hash = before.hash("sk_secret")
    expect(hash).toMatch(new RegExp(`^v1\\.${before.inUse()}\\.[0-9a-f]{64}$`))
    const unnamed = hash.split(".").at(-1) ?? ""
    expect(during.matches("sk_secret", [unnamed])).toBe(true)
    expect(during.matches("sk_other", [unnamed])).toBe(false)
    expect(boxOf(2).matches("sk_secret", [unnamed])).toBe(false)
  })

  it("is under the first given key, until another of the given ones is to be used", () => {
    const [old, box] = [boxOf(1), boxOf(2, 1)]
    expect(box.keys).toEqual([boxOf(2).inUse(), old.inUse()])
    expect(box.inUse()).toBe(boxOf(2).inUse())
    expect(box.use("somebody")).toBe(false)
    expect(box.inUse()).toBe(boxOf(2).inUse())
    expect(box.use(old.inUse())).toBe(true)
    expect(old.open("session|a", box.seal("session|a", "token"))).toEqual(Either.right("token"))
    expect(old.matches("sk_secret", [box.hash("sk_secret")])).toBe(true)
  })
})
