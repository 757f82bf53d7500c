/** Which record decides on a person's consent (decisions.md §4). In which order they count: `Order.test.ts`. */
import { describe, expect, it } from "@effect/vitest"
import * as Consent from "../../../src/domain/consent/Consent.ts"

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
    reportedAt: null,
    datedBy: null,
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
