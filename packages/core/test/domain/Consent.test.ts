/** Two words on consent whose clocks differ: one of them counts (decisions.md §10 "Consent"). */
import { describe, expect, it } from "@effect/vitest"
import * as Consent from "../../src/domain/consent/Consent.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"

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
