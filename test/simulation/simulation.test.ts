/** A short form of the simulation; `npm run simulate -- --seeds 10000` is for a night. */
import { describe, expect, it } from "vitest"
import { run } from "./Simulation.ts"

const seeds = 200
const groups = 8

describe("an installation of several machines that crash, freeze and lose answers", () => {
  for (let group = 0; group < groups; group++) {
    const from = 1 + (group * seeds) / groups
    const until = ((group + 1) * seeds) / groups
    it(`keeps every promise, by the seeds ${from} to ${until}`, { timeout: 120_000 }, async () => {
      for (let seed = from; seed <= until; seed++) {
        const { messages, simulatedMs } = await run(seed)
        expect(messages).toBeGreaterThan(0)
        expect(simulatedMs).toBeGreaterThan(0)
      }
    })
  }

  it("lives the same life again by the same seed, and another by another", async () => {
    const [first, again, other] = [await run(7), await run(7), await run(8)]
    expect(again.digest).toBe(first.digest)
    expect(other.digest).not.toBe(first.digest)
  })
})
