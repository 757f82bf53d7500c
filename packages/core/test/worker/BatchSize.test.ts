import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as BatchSize from "../../src/worker/BatchSize.ts"

const least = 16
const following = (size: number, recipients: number, tookMs: number) =>
  BatchSize.next(size, { recipients, tookMs }, least)

describe("a lane's batch", () => {
  it("grows after a full one to what fits into half of the time, and never above its largest", () => {
    expect(following(16, 16, 0)).toBe(800)
    expect(following(16, 16, 10)).toBe(80)
    expect(following(80, 80, BatchSize.targetMs / 4)).toBe(160)
    expect(following(160, 160, BatchSize.targetMs / 2)).toBe(160)
    expect(following(800, 800, 1)).toBe(BatchSize.largest)
  })

  it("stays where it was after one that was not full or took most of the time", () => {
    expect(following(64, 3, 1)).toBe(64)
    expect(following(64, 64, BatchSize.targetMs * 0.8)).toBe(64)
  })

  it("shrinks to what the time allows, and never below what is attempted side by side", () => {
    expect(following(250, 250, BatchSize.targetMs * 2)).toBe(125)
    expect(following(250, 250, 60_000)).toBe(least)
    const sizes = FastCheck.nat(BatchSize.largest)
    FastCheck.assert(
      FastCheck.property(sizes, sizes, FastCheck.nat(100_000), (a, b, ms) => {
        const size = Math.max(a, least)
        const next = following(size, Math.min(b, size), ms)
        expect(next).toBeGreaterThanOrEqual(least)
        expect(next).toBeLessThanOrEqual(BatchSize.largest)
        if (ms > BatchSize.targetMs) expect(next).toBeLessThanOrEqual(size)
      })
    )
  })
})
