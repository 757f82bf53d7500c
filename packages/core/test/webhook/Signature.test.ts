import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import * as Signature from "../../src/webhook/Signature.ts"

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const old = `whsec_${Buffer.alloc(32, 8).toString("base64")}`
const body = '{"id":"1","type":"webhook.test","created_at":"2026-01-01T00:00:00.000Z","data":{"é":"\\u0000"}}'
const names = Signature.defaultHeaderNames

describe("a signature", () => {
  it("is lowercase hex HMAC-SHA256 over timestamp, a dot and the body, under the whole secret string", () => {
    const expected = createHmac("sha256", secret).update(`1767225600.${body}`, "utf8").digest("hex")
    expect(Signature.sign(secret, 1_767_225_600, body)).toBe(expected)
    expect(expected).toMatch(/^[0-9a-f]{64}$/)
  })

  it("is Node's own HMAC of every key and body, as text and as bytes", () => {
    const bodies = ["", body, "Zoë 🎉".repeat(5000)]
    for (const length of [1, 16, 32, 63, 64, 65, 200]) {
      const own = "é".repeat(length)
      const key = Buffer.alloc(length, 0xe9)
      const standard = `whsec_${key.toString("base64")}`
      for (const each of bodies) {
        for (const given of [each, new TextEncoder().encode(each)]) {
          expect(Signature.sign(own, 5, given)).toBe(
            createHmac("sha256", own).update(`5.${each}`).digest("hex")
          )
          expect(Signature.signStandard(standard, "évt", 5, given)).toBe(
            `v1,${createHmac("sha256", key).update(`évt.5.${each}`).digest("base64")}`
          )
        }
      }
    }
  })

  it("comes with Standard Webhooks headers, and with the previous secret's during an overlap", () => {
    const headers = Signature.headers({ id: "evt", timestamp: 5, body, secrets: [secret, old], names })
    const standard = (key: number) =>
      `v1,${createHmac("sha256", Buffer.alloc(32, key)).update(`evt.5.${body}`).digest("base64")}`
    expect(headers).toEqual({
      "X-Service-Timestamp": "5",
      "X-Service-Signature": Signature.sign(secret, 5, body),
      "X-Service-Signature-Previous": Signature.sign(old, 5, body),
      "webhook-id": "evt",
      "webhook-timestamp": "5",
      "webhook-signature": `${standard(7)} ${standard(8)}`
    })
    expect(Signature.headers({ id: "evt", timestamp: 5, body, secrets: [secret], names })).not.toHaveProperty(
      "X-Service-Signature-Previous"
    )
  })
})
