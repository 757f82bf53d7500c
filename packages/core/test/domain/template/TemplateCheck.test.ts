import { describe, expect, it } from "@effect/vitest"
import * as Time from "../../../src/domain/Instant.ts"
import * as TemplateCheck from "../../../src/domain/template/TemplateCheck.ts"

describe("a template that is to be fetched", () => {
  it("is asked for at growing intervals, and given up within hours", () => {
    let check = TemplateCheck.asked(TemplateCheck.unchecked, null, Time.at(0))
    const waits: Array<number> = []
    while (check.count < TemplateCheck.maximumCount) {
      const now = check.at ?? Time.at(0)
      check = TemplateCheck.claimed(check, now)
      waits.push((check.at ?? 0) - now)
    }
    expect(waits).toEqual([...waits].sort((a, b) => a - b))
    expect(waits[0]).toBe(15 * Time.second)
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThan(5 * Time.hour)
  })

  it("is asked for once, and not for a refusal soon after the answer", () => {
    const asked = TemplateCheck.asked(TemplateCheck.unchecked, Time.at(5), Time.at(10))
    expect(TemplateCheck.asked(asked, Time.at(5), Time.at(11))).toBe(asked)
    const ended = TemplateCheck.ended(asked, Time.at(20))
    expect(TemplateCheck.asked(ended, Time.at(25), Time.at(30))).toBe(ended)
    expect(TemplateCheck.asked(ended, null, Time.at(30)).at).toBe(30)
    expect(TemplateCheck.asked(ended, Time.at(25), Time.at(20 + 10 * Time.minute)).at).not.toBeNull()
  })
})

describe("a template that the platform paused", () => {
  it("is asked for after 3 and after 9 hours, and then once a day, until it is another", () => {
    let check = TemplateCheck.followed(TemplateCheck.unchecked, "paused", Time.at(0))
    const asked: Array<number> = []
    while (asked.length < 5) {
      const at = check.recheckAt ?? Time.at(0)
      expect(TemplateCheck.isDue(check, Time.before(at, 1))).toBe(false)
      const claimed = TemplateCheck.claimed(check, at)
      expect([claimed.at, TemplateCheck.isDue(claimed, Time.after(at, Time.minute))]).toEqual([null, false])
      expect(TemplateCheck.isInHand(claimed, claimed)).toBe(true)
      asked.push(at / Time.hour)
      check = TemplateCheck.ended(claimed, Time.after(at, Time.second))
    }
    expect(asked).toEqual([3, 9, 33, 57, 81])
    expect(TemplateCheck.followed(check, "paused", Time.at(81 * Time.hour))).toBe(check)
    expect(TemplateCheck.followed(check, "approved", Time.at(81 * Time.hour))).toMatchObject({
      recheckAt: null
    })
  })

  it("is asked for again within minutes where there is no answer", () => {
    const paused = TemplateCheck.followed(TemplateCheck.unchecked, "paused", Time.at(0))
    const claimed = TemplateCheck.claimed(paused, Time.at(3 * Time.hour))
    expect(TemplateCheck.isDue(claimed, Time.at(3 * Time.hour + 10 * Time.minute))).toBe(true)
  })
})
