import { describe, expect, it } from "@effect/vitest"
import * as Time from "../../../src/domain/Instant.ts"
import * as When from "../../../src/domain/job/When.ts"

const at = (text: string) => Time.parse(text) ?? Time.at(Number.NaN)
const told = (instant: Time.Instant | null) => Time.formatOrNull(instant)
const instantOf = (local: string, timeZone: string) => told(When.instantOf({ local, timeZone }, ["UTC"]))

const day: When.Hours = { from: "09:00", to: "20:00", days: null, outside: "hold" }

/** Its zones are those of its country, as they were built into the runtime. */
const zones = Intl.supportedValuesOf("timeZone")

describe("a local time", () => {
  it("is the instant of its zone", () => {
    expect(instantOf("2026-12-24T09:00", "Europe/Madrid")).toBe("2026-12-24T08:00:00.000Z")
    expect(instantOf("2026-07-24T09:00", "Europe/Madrid")).toBe("2026-07-24T07:00:00.000Z")
    expect(instantOf("2026-12-24T09:00", "Asia/Kathmandu")).toBe("2026-12-24T03:15:00.000Z")
  })

  it("that does not exist is the next that does", () => {
    expect(instantOf("2026-03-29T02:30", "Europe/Madrid")).toBe("2026-03-29T01:00:00.000Z")
    expect(instantOf("2026-03-08T02:00", "America/New_York")).toBe("2026-03-08T07:00:00.000Z")
    expect(instantOf("2026-10-04T02:10", "Australia/Lord_Howe")).toBe("2026-10-03T15:30:00.000Z")
  })

  it("that exists twice is the first", () => {
    expect(instantOf("2026-10-25T02:30", "Europe/Madrid")).toBe("2026-10-25T00:30:00.000Z")
    expect(instantOf("2026-11-01T01:30", "America/New_York")).toBe("2026-11-01T05:30:00.000Z")
  })

  it("at the recipient's place is that in all zones that this may be", () => {
    const spain = When.zonesOf("34600111222", null)
    const moment = { local: "2026-12-24T09:00", timeZone: "recipient" }
    expect(told(When.instantOf(moment, spain))).toBe("2026-12-24T09:00:00.000Z")
    expect(told(When.instantOf(moment, ["Europe/Madrid"]))).toBe("2026-12-24T08:00:00.000Z")
  })

  it("is no day that no calendar has", () => {
    expect(When.isLocal("2026-02-30T09:00")).toBe(false)
    expect(When.isLocal("2026-02-28T24:00")).toBe(false)
    expect(When.isLocal("2028-02-29T09:00")).toBe(true)
  })
})

describe("the zones of a number", () => {
  it.each([
    ["34600111222", ["ES"]],
    ["12025550123", ["US"]],
    ["14165550123", ["US", "CA"]],
    ["18095550123", ["DO"]],
    ["77011234567", ["KZ"]],
    ["79161234567", ["RU"]],
    ["447911123456", ["GB", "GG", "JE"]]
  ])("follow from its country: %s", (phone, countries) => {
    expect(When.countriesOf(phone)).toEqual(countries)
  })

  it("are one zone where it is given", () => {
    expect(When.zonesOf("34600111222", "Atlantic/Canary")).toEqual(["Atlantic/Canary"])
  })

  it("follow from the country of a user id", () => {
    expect(When.zonesOf("@US.1349 1000", null)).toContain("Pacific/Honolulu")
  })

  it("are known of every country", () => {
    for (const zone of ["34600111222", "24712345", "38344123456"].flatMap((phone) =>
      When.zonesOf(phone, null)
    ))
      expect(When.isZone(zone)).toBe(true)
    expect(When.isZone("Europe/Atlantis")).toBe(false)
    expect(When.isZone("+02:00")).toBe(false)
  })
})

describe("hours", () => {
  const next = (hours: When.Hours, zones: ReadonlyArray<string>, after: string) =>
    told(When.next([hours], zones, at(after)))

  it("begin at their time, and end before it", () => {
    expect(next(day, ["Europe/Madrid"], "2026-12-24T07:59:59Z")).toBe("2026-12-24T08:00:00.000Z")
    expect(next(day, ["Europe/Madrid"], "2026-12-24T18:59:59Z")).toBe("2026-12-24T18:59:59.000Z")
    expect(next(day, ["Europe/Madrid"], "2026-12-24T19:00:00Z")).toBe("2026-12-25T08:00:00.000Z")
  })

  it("count in all zones that the person may be in", () => {
    expect(next(day, When.zonesOf("34600111222", null), "2026-12-24T08:30:00Z")).toBe(
      "2026-12-24T09:00:00.000Z"
    )
    expect(next(day, When.zonesOf("34600111222", null), "2026-12-24T19:00:00Z")).toBe(
      "2026-12-25T09:00:00.000Z"
    )
    const morning = { ...day, to: "10:00" }
    expect(next(morning, When.zonesOf("12025550123", null), "2026-12-24T08:30:00Z")).toBe(null)
  })

  it("may be of some days, and go over midnight", () => {
    const weekend: When.Hours = { ...day, days: [6, 7] }
    expect(next(weekend, ["Europe/Madrid"], "2026-12-24T10:00:00Z")).toBe("2026-12-26T08:00:00.000Z")
    const night: When.Hours = { ...day, from: "20:00", to: "02:00", days: [4] }
    expect(next(night, ["UTC"], "2026-12-25T01:59:00Z")).toBe("2026-12-25T01:59:00.000Z")
    expect(next(night, ["UTC"], "2026-12-25T02:00:00Z")).toBe("2026-12-31T20:00:00.000Z")
  })

  it("begin later on a day whose clocks skip their beginning", () => {
    const early: When.Hours = { ...day, from: "02:15", to: "04:00" }
    expect(next(early, ["Europe/Madrid"], "2026-03-28T23:00:00Z")).toBe("2026-03-29T01:00:00.000Z")
    const within: When.Hours = { ...day, from: "02:15", to: "02:45" }
    expect(next(within, ["Europe/Madrid"], "2026-03-28T23:00:00Z")).toBe("2026-03-30T00:15:00.000Z")
  })

  it("come only once the clocks of all zones are near enough, and are waited for until then", () => {
    const chile = When.zonesOf("56912345678", null)
    const morning: When.Hours = { ...day, from: "10:00", to: "12:30" }
    // Easter Island is three hours behind Punta Arenas in winter, and two in summer.
    expect(next(morning, chile, "2027-04-10T00:00:00Z")).toBe("2027-09-05T15:00:00.000Z")
    const short: When.Hours = { ...day, from: "10:00", to: "11:00" }
    expect(When.next([short], chile, at("2027-04-10T00:00:00Z"))).toBeNull()
  })

  it("are not open in the hour that clocks repeat before their beginning", () => {
    const long: When.Hours = { ...day, from: "01:45", to: "20:30" }
    expect(next(long, ["America/New_York"], "2026-11-01T05:50:00Z")).toBe("2026-11-01T05:50:00.000Z")
    expect(next(long, ["America/New_York"], "2026-11-01T06:32:00Z")).toBe("2026-11-01T06:45:00.000Z")
  })

  it("let nobody be sent outside of them on any of 10,000 days of all zones", () => {
    // Local hours are read here by another way than the code takes.
    const clocks = new Map(
      zones.map((zone) => [
        zone,
        new Intl.DateTimeFormat("en-GB", {
          timeZone: zone,
          hour: "2-digit",
          minute: "2-digit",
          hourCycle: "h23"
        })
      ])
    )
    let seed = 1
    const random = (most: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % most
    }
    const two = (value: number) => String(value).padStart(2, "0")
    for (let each = 0; each < 10_000; each++) {
      const zone = zones[each % zones.length] ?? "UTC"
      const from = random(24 * 4) * 15
      const to = (from + 15 * (1 + random(95))) % (24 * 60)
      const hours = {
        ...day,
        from: `${two(Math.floor(from / 60))}:${two(from % 60)}`,
        to: `${two(Math.floor(to / 60))}:${two(to % 60)}`
      }
      const after = at("2026-11-28T00:00:00Z") + random(366 * 24 * 60) * Time.minute
      const found = When.next([hours], [zone], Time.at(after))
      const [hour = 0, minute = 0] = (clocks.get(zone)?.format(found ?? undefined) ?? "")
        .split(":")
        .map(Number)
      const clock = hour * 60 + minute
      const isWithin = from < to ? clock >= from && clock < to : clock >= from || clock < to
      expect({ zone, hours, found: told(found), isWithin }).toMatchObject({ isWithin: true })
      // At a skipped hour a day's hours may not come: the next day's do.
      expect((found ?? 0) - after).toBeLessThanOrEqual(2 * Time.day)
    }
  })
})

describe("a recipient's turn", () => {
  const now = at("2026-12-24T20:00:00Z")
  const rules: When.Rules = {
    timing: { sendAt: null, expiresAt: null, hours: day },
    own: { sendAt: null, expiresAt: null, timeZone: "Europe/Madrid" },
    address: "34600111222",
    quiet: null
  }

  it("comes in the next allowed hours", () => {
    expect(When.turn(rules, now)).toEqual({ _tag: "Later", at: at("2026-12-25T08:00:00Z") })
    expect(When.turn(rules, at("2026-12-25T08:00:00Z"))).toEqual({ _tag: "Now" })
  })

  it("does not come where those are skipped", () => {
    const skips = {
      ...rules,
      timing: { sendAt: null, expiresAt: null, hours: { ...day, outside: "skip" } }
    } as const
    expect(When.turn(skips, now)).toEqual({ _tag: "Outside" })
  })

  it("has passed once it expired, or would before those hours", () => {
    const expiring = { ...rules, timing: { sendAt: null, expiresAt: at("2026-12-25T07:00:00Z"), hours: day } }
    expect(When.turn(expiring, now)).toEqual({ _tag: "Expired" })
    expect(When.dueAt(expiring, now)).toBe(now)
  })

  it("is narrowed by the session's hours, and never widened", () => {
    const quiet: When.Hours = { ...day, from: "10:00", to: "22:00" }
    expect(When.turn({ ...rules, quiet }, now)).toEqual({ _tag: "Later", at: at("2026-12-25T09:00:00Z") })
  })

  it("is its own where it has one", () => {
    const own: When.Own = { sendAt: at("2026-12-26T12:00:00Z"), expiresAt: null, timeZone: "Asia/Tokyo" }
    expect(told(When.dueAt({ ...rules, own }, now))).toBe("2026-12-27T00:00:00.000Z")
  })
})
