import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as ApiKey from "../../src/domain/account/ApiKey.ts"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"

const random = (count: number) => crypto.getRandomValues(new Uint8Array(count))
const ids = Ids.make(random)

describe("ids", () => {
  it("are UUIDv7 that sort by time", () => {
    const [first, second] = [ids.uuid(Time.at(1_700_000_000_000)), ids.uuid(Time.at(1_700_000_000_001))]
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(first < second).toBe(true)
    expect(new Set(Array.from({ length: 10_000 }, () => ids.uuid(Time.at(5)))).size).toBe(10_000)
  })

  it("of messages lead back to their job and place", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.integer({ min: 0, max: 4093 }), FastCheck.nat(2 ** 46), (index, now) => {
        const jobId = ids.jobId(Time.at(now))
        expect(Ids.parseMessageId(Ids.messageId(jobId, index))).toEqual({ jobId, index })
        expect(Ids.parseMessageId(jobId)).toBeUndefined()
      }),
      { numRuns: 1000 }
    )
    for (const foreign of ["", "nonsense", "wamid.abc", "01930000-0000-7000-8000-00000000000G"]) {
      expect(Ids.parseMessageId(foreign)).toBeUndefined()
    }
  })
})

describe("keys", () => {
  it("have the published form, and a secret's checksum tells a typing error", () => {
    expect(ApiKey.makePublicKey(random)).toMatch(/^pk_[0-9A-Za-z]{22}$/)
    const secret = ApiKey.makeSecretKey(random)
    expect(secret).toMatch(/^sk_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
    const [body, sum] = [secret.slice(0, -7), secret.slice(-6)]
    expect(ApiKey.checksum(body)).toBe(sum)
    expect(ApiKey.checksum(`${body.slice(0, -1)}${body.endsWith("a") ? "b" : "a"}`)).not.toBe(sum)
  })

  it("are proven by their live secrets only while active", () => {
    const key: ApiKey.ApiKey = {
      publicKey: "pk",
      sessionId: "s",
      name: null,
      permissions: [],
      status: "active",
      secrets: [
        { hash: "new", createdAt: Time.at(5), expiresAt: null },
        { hash: "old", createdAt: Time.at(0), expiresAt: Time.at(10) }
      ],
      createdAt: Time.at(0),
      lastUsedAt: null
    }
    expect(ApiKey.validHashes(key, Time.at(9))).toEqual(["new", "old"])
    expect(ApiKey.validHashes(key, Time.at(10))).toEqual(["new"])
    expect(ApiKey.validHashes({ ...key, status: "inactive" }, Time.at(9))).toEqual([])
    expect(ApiKey.validHashes({ ...key, status: "revoked" }, Time.at(9))).toEqual([])
  })
})
