/** Equal failures stop (contract.md §13 "What the platform says"). */

import { describe, expect, it } from "vitest"
import * as Time from "../../../src/domain/Instant.ts"
import { hour, minute } from "../../../src/domain/Instant.ts"
import * as FailureCatalogue from "../../../src/domain/session/FailureCatalogue.ts"
import * as SameFailure from "../../../src/domain/session/SameFailure.ts"

const failure = (code: string) => FailureCatalogue.failure(code, { providerCode: null })
const unlisted = { code: "gateway_refused", provider_code: "no_credit", message: "", permanent: true }

const streakOf = (ends: ReadonlyArray<SameFailure.Ended>) =>
  ends.reduce<SameFailure.Streak | null>(SameFailure.next, null)
const ends = (
  count: number,
  of: SameFailure.Ended["failure"],
  people = 3,
  since = Time.at(minute)
): ReadonlyArray<SameFailure.Ended> =>
  Array.from({ length: count }, (_, n) => ({
    address: `3460000000${n % people}`,
    failure: of,
    attempted: { since }
  }))

describe("a session", () => {
  it.each([
    ["ten of one failure to three people", ends(10, unlisted), true],
    ["nine of them", ends(9, unlisted), false],
    ["ten to two people", ends(10, unlisted, 2), false],
    ["ten of the account", ends(10, failure("permission_missing")), true],
    ["ten of the recipients' own", ends(10, failure("recipient_unreachable")), false],
    ["ten that pass", ends(10, failure("provider_unavailable")), false],
    ["a success among them", [...ends(5, unlisted), ...ends(1, null), ...ends(9, unlisted)], false],
    [
      "a success that is told among them, of an attempt before them",
      [...ends(5, unlisted), ...ends(1, null, 1, Time.at(0)), ...ends(5, unlisted)],
      true
    ],
    ["a success before them", [...ends(1, null), ...ends(10, unlisted)], true],
    [
      "two of the gateway's codes",
      [...ends(9, unlisted), ...ends(9, { ...unlisted, provider_code: "other" })],
      false
    ]
  ])("stops after %s: %3$s", (_, all, stops) => {
    const streak = streakOf(all)
    expect(streak !== null && SameFailure.stops(streak)).toBe(stops)
  })

  it("stops after ten of one failure, whichever way each of them came", () => {
    const [five, four] = [5, 4].map((count) => streakOf(ends(count, unlisted)))
    const other = streakOf(ends(5, { ...unlisted, provider_code: "other" }))
    if (five == null || four == null || other === null) return expect.unreachable()
    expect([
      SameFailure.stops(five, five),
      SameFailure.stops(five, four),
      SameFailure.stops(five, other)
    ]).toEqual([true, false, false])
  })

  it("is blocked for a minute, and for twice as long each time, up to an hour", () => {
    let streak = streakOf(ends(10, unlisted))
    const times: Array<number> = []
    for (let n = 0; n < 8 && streak !== null; n++) {
      const block = SameFailure.block(streak, Time.at(0))
      times.push(block.until)
      streak = SameFailure.next(block.streak, {
        address: "34600000001",
        failure: unlisted,
        attempted: { since: block.until }
      })
    }
    expect(times).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((minutes) => minutes * minute))
    expect(times.at(-1)).toBe(hour)
  })
})
