import { describe, expect, it } from "@effect/vitest"
import * as Time from "../../../src/domain/Instant.ts"
import * as End from "../../../src/domain/job/End.ts"
import type * as When from "../../../src/domain/job/When.ts"

const at = (text: string) => Time.parse(`2026-12-01T${text}Z`) ?? Time.at(Number.NaN)
const now = at("12:00:00")

const rulesOf = (some: Partial<When.Rules["timing"]> = {}, address = "4915112345678"): When.Rules => ({
  timing: { sendAt: null, expiresAt: null, hours: null, ...some },
  own: null,
  address,
  quiet: null
})

const waiting = (count: number, dueAt: Time.Instant, rules: When.Rules | null = null): Array<End.Waiting> =>
  Array.from({ length: count }, () => ({ dueAt, rules, isFirst: true }))

const told = (all: ReadonlyArray<End.Waiting>, perSecond: number | null) => {
  const { endsAt, limitedBy } = End.endOf(all, perSecond, now)
  return endsAt === null ? limitedBy : `${Time.format(endsAt)} ${limitedBy}`
}

describe("the end of a send", () => {
  it("is not told where nothing limits it", () => {
    expect(told([], 10)).toBeNull()
    expect(told(waiting(250, now), null)).toBeNull()
  })

  it("follows from the pace where all are due", () => {
    expect(told(waiting(250, now), 10)).toBe("2026-12-01T12:00:25.000Z pace")
  })

  it("follows from the pace behind the time that was asked for, and from that of one who is free to go", () => {
    const nine = at("13:00:00")
    const rules = rulesOf({ sendAt: nine })
    expect(told(waiting(250, nine, rules), 1)).toBe("2026-12-01T13:04:10.000Z pace")
    expect(told(waiting(250, nine, rules), null)).toBe("2026-12-01T13:00:00.000Z schedule")
    expect(told([...waiting(250, now), ...waiting(1, nine, rules)], 1)).toBe(
      "2026-12-01T13:00:01.000Z schedule"
    )
  })

  it("follows from the hours for whom they are later than what was asked for", () => {
    const hours = { from: "15:00", to: "16:00", days: null, outside: "hold" } as const
    const rules = rulesOf({ hours })
    expect(told(waiting(1, at("14:00:00"), rules), null)).toBe("2026-12-01T14:00:00.000Z hours")
  })

  it("of another attempt follows from the hours that put it off, or from its own time", () => {
    const hours = { from: "15:00", to: "16:00", days: null, outside: "hold" } as const
    const retry = (dueAt: Time.Instant): Array<End.Waiting> => [
      { dueAt, rules: rulesOf({ hours }), isFirst: false }
    ]
    expect(told(retry(at("14:00:00")), null)).toBe("2026-12-01T14:00:00.000Z hours")
    expect(told(retry(at("14:05:00")), null)).toBe("2026-12-01T14:05:00.000Z retry")
  })

  it("is put off to the next hours that are allowed where the pace runs out of them", () => {
    const hours = { from: "12:00", to: "14:00", days: null, outside: "hold" } as const
    const all = waiting(120, now, rulesOf({ hours }))
    // It is 13:00 in Germany: 60 go by then, the others from noon on the next day.
    expect(told(all, 1 / 60)).toBe("2026-12-02T12:00:00.000Z pace")
    const others = waiting(61, now, rulesOf({ hours }))
    expect(told(others, 1 / 60)).toBe("2026-12-02T11:01:00.000Z hours")
  })

  it("leaves out who has expired by then", () => {
    const all = waiting(10, now, rulesOf({ expiresAt: at("12:00:03") }))
    expect(told(all, 1)).toBe("2026-12-01T12:00:03.000Z pace")
  })

  it("is the time of another attempt where that is the last", () => {
    const again = { dueAt: at("12:05:00"), rules: null, isFirst: false }
    expect(told([again, ...waiting(3, now)], 1)).toBe("2026-12-01T12:05:01.000Z retry")
  })

  it("keeps hours in all zones of a number", () => {
    const hours = { from: "09:00", to: "20:00", days: null, outside: "hold" } as const
    const all = waiting(250, now, rulesOf({ hours }, "12025550123"))
    expect(told(all, 1 / 60)).toBe("2026-12-01T23:10:00.000Z pace")
  })
})
