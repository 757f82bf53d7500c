/** contract.md §10 "Nothing a platform says stops dispatch": what senders hand on is cut, and nothing of it is lost. */

import { describe, expect, it } from "@effect/vitest"
import * as Time from "../../src/domain/Instant.ts"
import * as Sanitize from "../../src/sender/Sanitize.ts"
import { SendResult } from "../../src/sender/Sender.ts"
import type { Report } from "../../src/storage/JobStore.ts"

const failure = { code: "broken", provider_code: "1", message: "It broke.", permanent: true }

describe("a report", () => {
  const report: Report = {
    messageId: null,
    providerId: "p1",
    status: "failed",
    at: Time.at(1_900_000_000_000),
    reportedAt: Time.at(1_800_000_000_000),
    failure,
    named: { phone: "34600000001", userId: "ES.1" },
    pricing: { category: "utility", free: false }
  }

  it("of a failure keeps when the platform says that it was, and whom it names", () => {
    expect(Sanitize.report(report)).toEqual(report)
  })

  it("names nobody at any length", () => {
    const { named } = Sanitize.report({ ...report, named: { phone: "3".repeat(100_000), userId: "\ud800" } })
    expect(named?.phone?.length).toBeLessThan(1000)
    expect(named?.userId).not.toBe("\ud800")
  })
})

describe("an answer", () => {
  it("keeps whom the platform names when its own id is cut", () => {
    const named = { phone: "34600000001", userId: null }
    const long = "p".repeat(1000)
    for (const result of [
      SendResult.Accepted({ providerId: long, status: "accepted", named }),
      SendResult.Held({ providerId: long, failure, named })
    ]) {
      const kept = Sanitize.sendResult(result, {})
      expect(kept).toMatchObject({ _tag: result._tag, named })
      expect(kept).not.toMatchObject({ providerId: long })
    }
  })
})
