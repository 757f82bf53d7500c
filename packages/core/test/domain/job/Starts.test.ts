/** What starts when, by hour and country. */
import { expect, it } from "vitest"
import * as Time from "../../../src/domain/Instant.ts"
import * as Starts from "../../../src/domain/job/Starts.ts"

it("starts are summed by hour and country, the soonest and the largest first", () => {
  const [first, second] = [Time.at(Time.hour), Time.at(2 * Time.hour)]
  const part = (hour: Time.Instant, leading: string, recipients: number) => ({ hour, leading, recipients })
  const parts = [
    part(second, "3460", 7),
    part(first, "5511", 2),
    part(first, "3467", 1),
    part(first, "5521", 3),
    part(first, "@BR.", 4),
    part(second, "1212", 5),
    part(second, "8835", 1)
  ]
  expect(Starts.hoursOf(parts)).toEqual([
    {
      at: first,
      recipients: 10,
      countries: [
        { country: "BR", callingCode: "55", recipients: 5 },
        { country: "BR", callingCode: null, recipients: 4 },
        { country: "ES", callingCode: "34", recipients: 1 }
      ]
    },
    {
      at: second,
      recipients: 13,
      countries: [
        { country: "ES", callingCode: "34", recipients: 7 },
        { country: "US", callingCode: "1", recipients: 5 },
        { country: null, callingCode: "883", recipients: 1 }
      ]
    }
  ])
  expect(Starts.hoursOf([])).toEqual([])
})
