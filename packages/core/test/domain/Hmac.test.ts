/** HMAC-SHA256 as node:crypto makes it, and nothing of it is left behind. */
import { createHmac } from "node:crypto"
import { describe, expect, it, vi } from "vitest"

/** What was hashed last, in the memory in which it was. */
const hashed = vi.hoisted((): { last: Uint8Array } => ({ last: new Uint8Array() }))

vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof import("node:crypto")>()
  const hash = new Proxy(crypto.hash, {
    apply: (made, self, given: ReadonlyArray<unknown>) => {
      const [, data, encoding] = given
      if (data instanceof Uint8Array && encoding === "binary") hashed.last = data
      return Reflect.apply(made, self, given)
    }
  })
  return { ...crypto, hash }
})

const Hmac = await import("../../src/domain/Hmac.ts")

describe("an HMAC", () => {
  const secret = Buffer.from("a secret of whoever signs")

  it.each([0, 100, 17 * 1024])("of %d bytes is the one of node:crypto", (length) => {
    const body = Buffer.alloc(length, "b")
    const expected = createHmac("sha256", secret).update("1700000000.").update(body).digest("hex")
    expect(Hmac.digest(Hmac.key(secret), "1700000000.", body, "hex")).toBe(expected)
  })

  it.each([100, 17 * 1024])(
    "of %d bytes leaves nothing of its key in the memory that all share",
    (length) => {
      Hmac.digest(Hmac.key(secret), "", Buffer.alloc(length, "b"), "hex")
      expect(hashed.last.length).toBeGreaterThan(length)
      expect(hashed.last.every((byte) => byte === 0)).toBe(true)
    }
  )
})
