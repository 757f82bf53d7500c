/** An outage of one session's platform (contract.md §10); `npm run simulate -- --outage 6` prints the figures of six hours. */
import { describe, expect, it } from "vitest"
import * as Outage from "./Outage.ts"

const outageMs = 60 * 60_000

describe("one of three sessions whose platform is away for an hour", () => {
  it("loses no message, holds up nobody else, and has sent its backlog two minutes after its pace allows", {
    timeout: 600_000
  }, async () => {
    const rows = await Outage.table(outageMs)
    const [calm, ...outages] = rows.map(([, figures]) => figures)
    for (const figures of outages) {
      expect(figures).toMatchObject({ sent: calm?.sent, failed: 0, unknown: 0 })
      expect(figures.backlog).toBeGreaterThan(0)
      expect(figures.p99OfOthersMs).toBeLessThanOrEqual(1.2 * (calm?.p99OfOthersMs ?? 0))
      expect(figures.drainedAfterMs).toBeLessThanOrEqual(figures.atItsPaceMs + 2 * 60_000)
      expect(figures.mostAttempts).toBeLessThanOrEqual(8)
    }
  })
})
