import { describe, expect, it } from "@effect/vitest"
import * as Time from "../../../src/domain/Instant.ts"
import * as TemplateCheck from "../../../src/domain/template/TemplateCheck.ts"

describe("a template that is to be fetched", () => {
  it("is asked for at growing intervals, and given up within hours", () => {
    let check = TemplateCheck.asked(TemplateCheck.unchecked, null, 0)
    const waits: Array<number> = []
    while (check.count < TemplateCheck.maximumCount) {
      const now = check.at ?? 0
      check = TemplateCheck.claimed(check, now)
      waits.push((check.at ?? 0) - now)
    }
    expect(waits).toEqual([...waits].sort((a, b) => a - b))
    expect(waits[0]).toBe(15 * Time.second)
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThan(5 * Time.hour)
  })

  it("is asked for once, and not for a refusal soon after the answer", () => {
    const asked = TemplateCheck.asked(TemplateCheck.unchecked, 5, 10)
    expect(TemplateCheck.asked(asked, 5, 11)).toBe(asked)
    const ended = TemplateCheck.ended(20)
    expect(TemplateCheck.asked(ended, 25, 30)).toBe(ended)
    expect(TemplateCheck.asked(ended, null, 30).at).toBe(30)
    expect(TemplateCheck.asked(ended, 25, 20 + 10 * Time.minute).at).not.toBeNull()
  })
})
