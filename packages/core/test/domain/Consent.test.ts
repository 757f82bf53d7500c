/** Which of two words on consent counts, where their clocks differ (decisions.md §10 "Consent"). */
import { describe, expect, it } from "@effect/vitest"
import * as Consent from "../../src/domain/Consent.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"

const { now } = Fixtures
const grant = (some: Parameters<typeof Fixtures.consent>[1]) => Fixtures.consent("34600000001", some)
const stop = (occurredAt: number) => ({ occurredAt, purpose: "all" as const })

describe("a revocation that came in", () => {
  it("counts as after what the account had registered when it came, though its clock is slow", () => {
    const registered = grant({ source: "web-form", occurredAt: now, recordedAt: now })
    expect(Consent.afterGrants([registered], stop(now - 240_000), now - 240_000, now + 1)).toBe(now)
  })

  it("leaves a grant that the account registered after it came", () => {
    const later = grant({ source: "web-form", occurredAt: now + 5000, recordedAt: now + 5000 })
    expect(Consent.afterGrants([later], stop(now), now, now)).toBe(now)
  })

  it("leaves a person's own later word, which the same clock dated", () => {
    const later = grant({ source: "inbound-message", occurredAt: now, recordedAt: now })
    expect(Consent.afterGrants([later], stop(now - 5000), now - 4001, now + 1)).toBe(now - 5000)
  })
})
