import { describe, expect, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { Webhook } from "standardwebhooks"
import * as Signature from "../../src/webhook/Signature.ts"
import { verifyWebhook, WebhookRefused, type WebhookRequest } from "../../src/webhook/Verify.ts"

const secretOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`
const [current, old, other] = [secretOf(7), secretOf(8), secretOf(9)]
const now = 1_767_225_600_000
const timestamp = now / 1000
const body =
  '{"id":"evt","type":"webhook.test","created_at":"2026-01-01T00:00:00.000Z","data":{"é":"\\u0000"}}'
const names = Signature.defaultHeaderNames

const signed = (secrets: readonly [string, ...Array<string>] = [current], content = body) =>
  Signature.headers({ id: "evt", timestamp, body: content, secrets, names })

const lower = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const outcome = (request: Partial<WebhookRequest>): string => {
  try {
    return verifyWebhook({ body, headers: signed(), secrets: current, now, ...request }).type
  } catch (error) {
    if (error instanceof WebhookRefused) return error.reason
    throw error
  }
}

describe("verifyWebhook", () => {
  it("answers the event of a delivery, whatever carries its headers and its bytes", () => {
    const headers = signed()
    for (const each of [headers, lower(headers), new Headers(headers)]) {
      expect(outcome({ headers: each })).toBe("webhook.test")
    }
    expect(outcome({ body: new TextEncoder().encode(body) })).toBe("webhook.test")
    expect(verifyWebhook({ body, headers, secrets: current, now })).toEqual(JSON.parse(body))
  })

  it("is content with either scheme, by itself", () => {
    const { "X-Service-Signature": own, "X-Service-Timestamp": at, ...standard } = signed()
    expect(outcome({ headers: standard })).toBe("webhook.test")
    expect(outcome({ headers: { "x-service-signature": own, "x-service-timestamp": at } })).toBe(
      "webhook.test"
    )
    const renamed = { "acme-signature": own, "acme-timestamp": at }
    expect(outcome({ headers: renamed })).toBe("headers_missing")
    const acme = { signature: "Acme-Signature", timestamp: "Acme-Timestamp" }
    expect(outcome({ headers: renamed, names: acme })).toBe("webhook.test")
  })

  it("accepts the old and the new secret while both sign, on either side of the change", () => {
    const rotated = signed([current, old])
    for (const secrets of [current, old, [old, current], [other, old]]) {
      expect(outcome({ headers: rotated, secrets })).toBe("webhook.test")
    }
    const own = { "x-service-signature-previous": rotated["X-Service-Signature-Previous"] }
    const at = { "x-service-timestamp": String(timestamp) }
    expect(outcome({ headers: { ...own, ...at }, secrets: old })).toBe("webhook.test")
    expect(outcome({ headers: rotated, secrets: other })).toBe("signature_mismatch")
  })

  it("refuses what is more than five minutes old or ahead", () => {
    for (const ms of [-300_000, 300_000]) expect(outcome({ now: now + ms })).toBe("webhook.test")
    for (const ms of [-301_000, 301_000]) expect(outcome({ now: now + ms })).toBe("timestamp_stale")
    // Neither scheme's age vouches for the other's.
    const stale = { "webhook-timestamp": "1", "x-service-timestamp": String(timestamp) }
    expect(
      outcome({ headers: { ...lower(signed()), ...stale, "x-service-signature": "0".repeat(64) } })
    ).toBe("signature_mismatch")
  })

  it("refuses a request without a signature or a time", () => {
    expect(outcome({ headers: {} })).toBe("headers_missing")
    expect(outcome({ headers: new Headers() })).toBe("headers_missing")
    const bad = { "webhook-timestamp": "1e9", "x-service-timestamp": "-1" }
    expect(outcome({ headers: { ...lower(signed()), ...bad } })).toBe("headers_missing")
    expect(outcome({ headers: { "x-service-signature": ["a", "b"], "x-service-timestamp": "1" } })).toBe(
      "headers_missing"
    )
  })

  it("refuses another body, another id, another time and another signature, whatever they are", () => {
    const given = lower(signed())
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), fc.nat(300), (bytes, text, seconds) => {
        expect(outcome({ body: bytes })).toBe("signature_mismatch")
        const standard = Object.fromEntries(
          Object.entries(given).filter(([name]) => name.startsWith("webhook-"))
        )
        if (text !== "evt") {
          expect(outcome({ headers: { ...standard, "webhook-id": text } })).toBe("signature_mismatch")
        }
        const later = String(timestamp + 1 + seconds)
        const headers = { ...given, "webhook-timestamp": later, "x-service-timestamp": later }
        expect(outcome({ headers, now: now + seconds * 1000 })).toBe("signature_mismatch")
        const forged = { ...given, "webhook-signature": text, "x-service-signature": text }
        expect(outcome({ headers: forged })).toBe("signature_mismatch")
      })
    )
  })

  it("refuses a signed body that is no event, and looks at it only when it is signed", () => {
    for (const content of ["", "{", "[]", "null", '{"id":1}', '{"id":"a","type":"b","created_at":"c"}']) {
      expect(outcome({ body: content, headers: signed([current], content) })).toBe("body_invalid")
      expect(outcome({ body: content })).toBe("signature_mismatch")
    }
  })

  it("does nothing at all without a secret: anybody could sign with none", () => {
    for (const secrets of ["", "whsec_", "whsec_AAAA", "password", [], [current, ""]]) {
      const empty = signed(["", ""])
      expect(() => outcome({ headers: empty, secrets })).toThrow(TypeError)
    }
  })

  it("tells what was wrong, and nothing of the secret", () => {
    const refused = new WebhookRefused({ reason: "signature_mismatch" })
    expect(refused.message).toBe("The webhook was refused: signature_mismatch.")
  })
})

describe("the library of Standard Webhooks", () => {
  it("verifies our deliveries, with the current and with the old secret", () => {
    const library = (secret: string) => new Webhook(secret)
    const seconds = Math.floor(Date.now() / 1000)
    const sign = (secrets: readonly [string, ...Array<string>]) =>
      Signature.headers({ id: "evt", timestamp: seconds, body, secrets, names })
    for (const secret of [current, old]) {
      expect(library(secret).verify(body, sign([current, old]))).toEqual(JSON.parse(body))
    }
    expect(() => library(other).verify(body, sign([current, old]))).toThrow()
  })

  it("signs what we verify", () => {
    const seconds = new Date(now)
    const headers = {
      "webhook-id": "evt",
      "webhook-timestamp": String(timestamp),
      "webhook-signature": new Webhook(current).sign("evt", seconds, body)
    }
    expect(outcome({ headers })).toBe("webhook.test")
  })
})
