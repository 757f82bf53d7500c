/** A thousand generated requests: never 5xx, every answer as described, and what the description refuses is refused. */
import { afterAll, beforeAll, expect, it } from "vitest"
import * as Seeds from "../support/Seeds.ts"
import type { TestHost } from "../support/TestHost.ts"
import * as Conformance from "./Conformance.ts"
import * as World from "./World.ts"

let host: TestHost
beforeAll(async () => {
  host = await World.host({ LOG_LEVEL: "error" })
}, 60_000)
afterAll(() => host.stop())

it("the host answers a thousand generated requests as it describes", { timeout: 300_000 }, async () => {
  const { asked, mismatches, statuses } = await Conformance.run(host, { seed: 20_261_122, count: 16 })
  expect(mismatches.slice(0, 5)).toEqual([])
  expect(asked).toBeGreaterThanOrEqual(1000)
  // Where nothing is ever taken, or nothing refused, the cases say little.
  const isTaken = (seen: ReadonlyMap<number, number>) => [...seen.keys()].some((status) => status < 300)
  const never = [...statuses].filter(([, seen]) => !isTaken(seen)).map(([operation]) => operation)
  expect(never).toEqual([])
})

it(`and some of the seed of the day, ${Seeds.day}`, { timeout: 300_000 }, async () => {
  const { mismatches } = await Conformance.run(host, { seed: Seeds.day, count: 3 })
  expect(mismatches.slice(0, 5)).toEqual([])
})
