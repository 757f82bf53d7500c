/** In which order words on a person's consent count (contract.md §11 "When words were said"). */
import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Consent from "../../../src/domain/consent/Consent.ts"
import * as Order from "../../../src/domain/consent/Order.ts"
import * as Time from "../../../src/domain/Instant.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"

const now = Time.at(Date.UTC(2026, 10, 22, 12))

/** What somebody said: by a platform, when it came and when it was said; or by the account, with or without a time. */
interface Said {
  readonly by: string | null
  readonly status: Consent.Status
  readonly purpose: Consent.Scope
  readonly told: Time.Instant | null
  readonly came: Time.Instant
}

const said = (some: Partial<Said>): Said => ({
  by: "session",
  status: "revoked",
  purpose: "all",
  told: now,
  came: now,
  ...some
})

type Record = Consent.ConsentRecord

const record = ({ by, came, purpose, status, told }: Said): Record =>
  Fixtures.consent("34600000001", {
    purpose,
    status,
    occurredAt: by === null ? Time.min(told ?? came, came) : Order.saidAt(status, told, came),
    reportedAt: told,
    datedBy: by,
    recordedAt: came
  })

/** The history after all these were recorded, in this order. */
const recorded = (all: ReadonlyArray<Said>): ReadonlyArray<Record> => {
  const before: Array<Record> = []
  for (const each of all) {
    const made = record(each)
    before.push(...Order.placed(made, { before }).map((placed) => ({ ...made, ...placed })))
  }
  return before
}

const verdict = (all: ReadonlyArray<Said>, purpose: Consent.Purpose = "marketing") =>
  Consent.decide(recorded(all), purpose)._tag

const stop = said({ status: "revoked" })
const start = said({ status: "granted" })

describe("an opt-in", () => {
  it("was said when the platform says so, however old, and never later than it came", () => {
    expect(Order.saidAt("granted", Time.before(now, 7 * Time.day), now)).toBe(now - 7 * Time.day)
    expect(Order.saidAt("granted", Time.after(now, Time.hour), now)).toBe(now)
    expect(Order.saidAt("granted", null, now)).toBe(now)
  })

  it("that comes an hour late does not outrank the opt-out since", () => {
    const late = { ...start, told: Time.before(now, Time.hour), came: Time.after(now, 1000) }
    expect(verdict([stop, late])).toBe("Revoked")
    expect(verdict([{ ...stop, by: "another" }, late])).toBe("Revoked")
    expect(verdict([{ ...stop, by: null, told: null }, late])).toBe("Revoked")
    expect(verdict([{ ...stop, by: null, told: Time.before(now, 1000) }, late])).toBe("Revoked")
  })
})

describe("an opt-out", () => {
  it("with a time more than five minutes off counts as said when it came", () => {
    const [early, off] = [5 * Time.minute, 5 * Time.minute + 1]
    expect(Order.saidAt("revoked", Time.before(now, early), now)).toBe(now - early)
    expect(Order.saidAt("revoked", Time.before(now, off), now)).toBe(now)
    expect(Order.saidAt("revoked", Time.after(now, off), now)).toBe(now)
  })

  it("that comes late outranks what the account and other sessions granted since", () => {
    const late = { ...stop, told: Time.before(now, Time.hour), came: Time.after(now, 1000) }
    expect(verdict([{ ...start, by: null, told: null }, late])).toBe("Revoked")
    expect(verdict([{ ...start, by: null, told: Time.before(now, 60_000) }, late])).toBe("Revoked")
    expect(verdict([{ ...start, by: "another" }, late])).toBe("Revoked")
  })

  it("that comes late leaves what the same session dated behind it, for its purposes", () => {
    const late = { ...stop, told: Time.before(now, Time.hour), came: Time.after(now, 1000) }
    expect(verdict([start, late])).toBe("Granted")
    expect(verdict([late, { ...start, came: Time.after(now, 2000) }])).toBe("Granted")
    const marketing: Said = { ...start, purpose: "marketing" }
    for (const both of [
      [marketing, late],
      [late, { ...marketing, came: Time.after(now, 2000) }]
    ]) {
      expect(verdict(both)).toBe("Granted")
      expect(verdict(both, "utility")).toBe("Revoked")
    }
  })
})

describe("two words of one hook", () => {
  it("count by the session's times, in either order, also where its clock is off", () => {
    for (const off of [0, -Time.day, Time.day]) {
      const [first, second] = [Time.after(now, off - 2000), Time.after(now, off - 1000)]
      const [out, back] = [
        { ...stop, told: first },
        { ...start, told: second }
      ]
      expect([verdict([out, back]), verdict([back, out])]).toEqual(["Granted", "Granted"])
      const [yes, no] = [
        { ...start, told: first },
        { ...stop, told: second }
      ]
      expect([verdict([yes, no]), verdict([no, yes])]).toEqual(["Revoked", "Revoked"])
    }
  })

  it("of one second revoke; of two hooks the last one counts", () => {
    expect([verdict([stop, start]), verdict([start, stop])]).toEqual(["Revoked", "Revoked"])
    expect(verdict([stop, { ...start, came: Time.after(now, 10) }])).toBe("Granted")
    expect(verdict([start, { ...stop, came: Time.after(now, 10) }])).toBe("Revoked")
  })
})

describe("the account's own records", () => {
  it("count by the times that it gives, and without one behind what was recorded", () => {
    const own = (status: Consent.Status, told: Time.Instant | null): Said => said({ by: null, status, told })
    expect(verdict([own("granted", Time.before(now, 1000)), own("revoked", Time.before(now, 2000))])).toBe(
      "Granted"
    )
    expect(verdict([own("granted", Time.after(now, 5)), own("revoked", null)])).toBe("Revoked")
    expect(verdict([own("revoked", now), own("granted", now)])).toBe("Granted")
  })
})

describe("a history that is longer than is looked at", () => {
  it("revokes where it cannot tell, and goes on", () => {
    const words = Array.from({ length: 300 }, (_, n) => {
      const at = Time.after(now, n * Time.minute)
      return said({ status: n % 2 === 0 ? "granted" : "revoked", told: at, came: at })
    })
    const whole = recorded(words)
    const cut = whole.slice(-Order.looksBack)
    const late = (status: Consent.Status, at: Time.Instant) =>
      Order.placed(record(said({ status, told: at, came: Time.after(now, Time.day) })), { before: cut })
    const verdictWith = (placed: ReadonlyArray<Order.Placed>, status: Consent.Status) =>
      Consent.decide([...whole, ...placed.map((each) => ({ ...each, status }))], "marketing")._tag
    expect(verdictWith(late("granted", Time.after(now, Time.minute)), "granted")).toBe("Revoked")
    expect(verdictWith(late("granted", Time.after(now, 400 * Time.minute)), "granted")).toBe("Granted")
  })
})

/**
 * The plain rule: consent is granted by a grant that was said after every revocation. Words of one session compare by its
 * own times, others by when they count as said; the account's own count behind nothing that came after them. An opt-in of
 * which nobody can tell when counts as after what came before it.
 */
const model = (all: ReadonlyArray<Said>, purpose: Consent.Purpose): string => {
  const concerned = all.filter((each) => each.purpose === purpose || each.purpose === "all")
  const when = ({ by, came, status, told }: Said) => {
    const at = Math.min(told ?? came, came)
    return status === "granted" || by === null || Math.abs((told ?? came) - came) <= 5 * Time.minute
      ? at
      : came
  }
  const isAfter = (yes: Said, no: Said): boolean => {
    const first = concerned.indexOf(yes) < concerned.indexOf(no)
    if (yes.by !== null && no.told !== null) {
      const isNear = Math.abs(no.told - no.came) <= 5 * Time.minute
      const isDoubtful =
        yes.told === null ? yes.came === no.came : yes.told - yes.came > 5 * Time.minute && isNear
      if (isDoubtful) return !first && yes.came > no.came
    }
    if (yes.by !== null && yes.by === no.by && yes.told !== null && no.told !== null) {
      const isLate = Math.abs(yes.told - yes.came) > 5 * Time.minute
      return yes.told === no.told ? !first && yes.came > no.came && !isLate : yes.told > no.told
    }
    if (first && yes.by === null && (no.by !== null || no.told === null)) return false
    return first ? when(yes) > when(no) : when(yes) >= when(no)
  }
  if (concerned.length === 0) return "Missing"
  const isGranted = concerned.some(
    (yes) => yes.status === "granted" && concerned.every((no) => no.status === "granted" || isAfter(yes, no))
  )
  return isGranted ? "Granted" : "Revoked"
}

const off = [0, 0, 0, 1, 240, 360, 3600, 86_400, 7 * 86_400, -60, -600, -86_400].map(
  (seconds) => seconds * 1000
)
const apart = [0, 1, 60, 600, 3600, 86_400].map((seconds) => seconds * 1000)

const word = FastCheck.record({
  by: FastCheck.constantFrom("a", "a", "b", null),
  status: FastCheck.constantFrom(...Consent.statuses),
  purpose: FastCheck.constantFrom<Consent.Scope>("all", "all", "marketing", "utility"),
  lateBy: FastCheck.option(FastCheck.constantFrom(...off), { freq: 8 }),
  after: FastCheck.constantFrom(...apart)
})

const history = FastCheck.array(word, { maxLength: 14 }).map((words) => {
  let came = now
  return words.map(({ after, lateBy, ...rest }): Said => {
    came = Time.after(came, after)
    return { ...rest, told: lateBy === null ? null : Time.before(came, lateBy), came }
  })
})

describe("any history", () => {
  it("decides as the plain rule does, for each purpose and after each word", () => {
    FastCheck.assert(
      FastCheck.property(history, (words) => {
        for (const purpose of Consent.purposes) expect(verdict(words, purpose)).toBe(model(words, purpose))
      }),
      { numRuns: Number(process.env["HISTORIES"] ?? 300) }
    )
  })
})
