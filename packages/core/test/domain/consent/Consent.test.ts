/** Which word on a person's consent counts, also where the clocks of two differ (decisions.md §10 "Consent"). */
import { describe, expect, it } from "@effect/vitest"
import * as Consent from "../../../src/domain/consent/Consent.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"

const { now } = Fixtures
const grant = (some: Parameters<typeof Fixtures.consent>[1]) => Fixtures.consent("34600000001", some)
const stop = (occurredAt: number) => ({ occurredAt, purpose: "all" as const })

describe("a revocation that came in", () => {
  it("counts as after what the account had registered, whichever clock is ahead", () => {
    const registered = grant({ source: "web-form", occurredAt: now, recordedAt: now })
    expect(Consent.afterGrants([registered], stop(now - 240_000), now - 240_000)).toBe(now)
  })

  it("counts as after a grant of the platform's within its own second", () => {
    const earlier = grant({ source: "inbound-message", occurredAt: now, recordedAt: now })
    expect(Consent.afterGrants([earlier], stop(now - 500), now + 499)).toBe(now)
  })

  it("leaves a person's own later word, which the same clock dated", () => {
    const later = grant({ source: "inbound-message", occurredAt: now, recordedAt: now })
    expect(Consent.afterGrants([later], stop(now - 5000), now - 4001)).toBe(now - 5000)
  })

  it("leaves a grant of another purpose", () => {
    const other = grant({ source: "web-form", purpose: "marketing", occurredAt: now + 5 })
    expect(Consent.afterGrants([other], { occurredAt: now, purpose: "utility" }, now)).toBe(now)
  })
})

describe("consent", () => {
  const record = (
    purpose: Consent.Scope,
    status: Consent.Status,
    occurredAt: number
  ): Consent.ConsentRecord => ({
    id: "id",
    phone: "34600000001",
    userId: null,
    purpose,
    status,
    source: "test",
    proof: null,
    occurredAt,
    recordedAt: occurredAt
  })

  it("is decided by the record that occurred last, of the purpose's and of all's", () => {
    const granted = record("marketing", "granted", 1)
    const revoked = record("all", "revoked", 2)
    expect(Consent.decide([granted, revoked], "marketing")._tag).toBe("Revoked")
    expect(Consent.decide([revoked, granted], "marketing")._tag).toBe("Revoked")
    expect(Consent.decide([record("utility", "granted", 3)], "marketing")._tag).toBe("Missing")
    expect(Consent.decide([revoked, record("marketing", "granted", 2)], "marketing")._tag).toBe("Granted")
  })
})
