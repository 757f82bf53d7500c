/** Who got both of two campaigns. */
import { expect, it } from "vitest"
import { overlap, type Reached } from "../../src/domain/job/Overlap.ts"

const reached = (jobId: string, address: string, index = 0): Reached => ({
  jobId,
  index,
  address,
  status: "delivered"
})

const placesOf = (first: ReadonlyArray<Reached>, second: ReadonlyArray<Reached>) =>
  overlap(first, second).map((both) => [both.first.jobId, both.second.jobId])

it("is whoever has a name in both, with the newest message of each", () => {
  const ana = "34600001234"
  expect(
    placesOf(
      [reached("a2", ana), reached("a1", ana), reached("a1", "34600005678", 1)],
      [reached("b2", ana), reached("b1", ana)]
    )
  ).toEqual([["a2", "b2"]])
})

it("is found by a user id of those who are named by both", () => {
  const byBoth = "34600001234@US.1349 portfolio"
  expect(placesOf([reached("a", "@US.1349 portfolio")], [reached("b", byBoth)])).toEqual([["a", "b"]])
  expect(placesOf([reached("a", byBoth)], [reached("b", "@US.1349 portfolio")])).toEqual([["a", "b"]])
  expect(placesOf([reached("a", "@US.1349 portfolio")], [reached("b", "@US.1349 another")])).toEqual([])
})
