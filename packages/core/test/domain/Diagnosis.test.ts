/** What an operator is told of clock, keys and disk, by what was seen. */

import { describe, expect, it } from "vitest"
import * as Diagnosis from "../../src/domain/Diagnosis.ts"
import * as Time from "../../src/domain/Instant.ts"

const now = Time.at(Date.UTC(2026, 10, 26))
const minute = 60_000

describe("the clock", () => {
  const verdict = (seen: Partial<Parameters<typeof Diagnosis.ofClock>[1]>) =>
    Diagnosis.ofClock(now, { difference: null, lastJobAt: null, jump: 0, ...seen })

  it("is well within 5 seconds of the database's, doubtful beyond, and wrong beyond 5 minutes, either way", () => {
    for (const sign of [1, -1]) {
      expect(verdict({ difference: sign * 4000 }).verdict).toBe("ok")
      expect(verdict({ difference: sign * 6000 }).verdict).toBe("warning")
      expect(verdict({ difference: sign * 6 * minute }).verdict).toBe("failing")
    }
    expect(verdict({ difference: 7 * minute }).says).toContain("7 minutes behind")
    expect(verdict({ difference: -7 * minute }).says).toContain("7 minutes ahead of")
  })

  it("is wrong when a job is of a later time, by the database's clock where that is another", () => {
    expect(verdict({ lastJobAt: Time.after(now, 60 * minute) })).toMatchObject({
      verdict: "failing",
      says: expect.stringContaining("1 hour ahead")
    })
    expect(verdict({ lastJobAt: Time.after(now, 3000) }).verdict).toBe("ok")
    expect(verdict({ difference: 3 * minute, lastJobAt: Time.after(now, 3 * minute) }).verdict).toBe(
      "warning"
    )
  })

  it("is wrong when it jumps while it is looked at", () => {
    expect(verdict({ jump: -6000 }).verdict).toBe("failing")
    expect(verdict({ jump: 100 }).verdict).toBe("ok")
  })
})

describe("keys", () => {
  const key = (id: string, retiredAt: Time.Instant | null = null) => ({ id, addedAt: now, retiredAt })
  const verdicts = (given: ReadonlyArray<string>, ...keys: ReadonlyArray<ReturnType<typeof key>>) =>
    Diagnosis.ofKeys(keys, given)

  it("are well when the database needs just those, and before it has any", () => {
    expect(verdicts(["a"], key("a")).verdict).toBe("ok")
    expect(verdicts(["a"]).verdict).toBe("ok")
  })

  it("fail when one is missing, or when the first was retired", () => {
    expect(verdicts(["b"], key("a"))).toMatchObject({
      verdict: "failing",
      says: expect.stringContaining("lacks a")
    })
    expect(verdicts(["a", "b"], key("a", now), key("b"))).toMatchObject({
      verdict: "failing",
      says: expect.stringContaining("retired")
    })
  })

  it("are doubtful in the midst of a change, and when one is given that nothing needs", () => {
    expect(verdicts(["b", "a"], key("a"), key("b")).mend).toContain("reseal")
    expect(verdicts(["b", "a"], key("a")).mend).toContain("reseal")
    expect(verdicts(["b", "a"], key("a", now), key("b"))).toMatchObject({
      verdict: "warning",
      says: expect.stringContaining("No secret needs a ")
    })
  })
})

describe("a disk", () => {
  const gib = 1024 ** 3
  const verdict = (free: number, bytes: number, perDay: number) =>
    Diagnosis.ofDisk({ free, bytes, perDay }).verdict

  it("is well with room for a month and for a copy, doubtful with less, and fails with that of three days", () => {
    expect(verdict(100 * gib, gib, gib)).toBe("ok")
    expect(verdict(20 * gib, gib, gib)).toBe("warning")
    expect(verdict(2 * gib, gib, gib)).toBe("failing")
    expect(verdict(2 * gib, 3 * gib, 0)).toBe("warning")
    expect(verdict(gib / 16, gib / 1024, 0)).toBe("failing")
  })

  it("is measured by the share of the jobs that came in the last days", () => {
    expect(Diagnosis.dailyGrowth(1000, { jobs: 100, recent: 70, days: 7 })).toBe(100)
    expect(Diagnosis.dailyGrowth(1000, { jobs: 0, recent: 0, days: 1 })).toBe(0)
    expect(Diagnosis.ofDisk({ free: 50 * gib, bytes: gib, perDay: gib }).says).toContain("lasts for 50 days")
    expect(Diagnosis.ofDisk({ free: 4096, bytes: gib, perDay: gib }).says).toContain(
      "lasts for less than a day"
    )
  })
})

it("all is as well as the worst of it", () => {
  const [ok, warning, failing] = [
    Diagnosis.ok("a", ""),
    Diagnosis.warning("b", "", ""),
    Diagnosis.failing("c", "", "")
  ]
  expect(Diagnosis.worst([])).toBe("ok")
  expect(Diagnosis.worst([warning, ok])).toBe("warning")
  expect(Diagnosis.worst([warning, failing, ok])).toBe("failing")
})

it("lengths of time and sizes are said in the unit that they fill", () => {
  expect([500, 1000, 90 * minute, 3 * 24 * 60 * minute].map(Diagnosis.inWords)).toEqual([
    "500 milliseconds",
    "1 second",
    "1 hour",
    "3 days"
  ])
  expect([0, 512, 1536, 300 * 1024 ** 3].map(Diagnosis.inBytes)).toEqual([
    "0 bytes",
    "512 bytes",
    "1.5 KiB",
    "300 GiB"
  ])
})
