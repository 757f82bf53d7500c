/** The numbers of an overview (contract.md §12). */
import { describe, expect, it } from "vitest"
import * as Time from "../../../src/domain/Instant.ts"
import type { Tally } from "../../../src/domain/job/Tally.ts"
import type { Group } from "../../../src/domain/job/Waiting.ts"
import * as Figures from "../../../src/domain/overview/Figures.ts"
import * as Overview from "../../../src/domain/overview/Overview.ts"
import * as Circuit from "../../../src/domain/session/Circuit.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import { account, group, now, session, waits, well } from "./Support.ts"

const minute = Time.before(now, now % Time.minute)

const tally = (ago: number, outcome: Tally["outcome"], count: number, code = ""): Tally => ({
  minute: Time.at(minute - ago * Time.minute),
  sessionId: session.id,
  outcome,
  code,
  count
})

describe("an overview", () => {
  it("has the last sixty minutes, the running one as the last", () => {
    const tallies = [
      tally(0, "queued", 2),
      tally(0, "accepted", 3),
      tally(0, "sent", 9),
      tally(59, "failed", 4, "a"),
      tally(59, "failed", 1, "b"),
      tally(59, "unknown", 5),
      tally(60, "failed", 9)
    ]
    const { minutes } = Overview.overviewOf({ ...well, tallies }, "1")
    expect(minutes).toHaveLength(60)
    expect(minutes[0]).toEqual({ at: minute - 59 * Time.minute, accepted: 0, done: 0, failed: 5, unknown: 5 })
    expect(minutes.at(-1)).toEqual({ at: minute, accepted: 2, done: 3, failed: 0, unknown: 0 })
  })

  it("tells rates as means of the last five minutes and the running one", () => {
    const tallies = [
      tally(0, "queued", 30),
      tally(5, "queued", 30),
      tally(6, "queued", 900),
      tally(1, "failed", 55)
    ]
    const at = Time.at(minute + 30_000)
    const { rates } = Overview.overviewOf({ ...well, now: at, tallies }, "1")
    expect(rates).toEqual({ acceptedPerMinute: 10.9, outcomesPerMinute: 10 })
  })

  it("tells what everything waits for, and when that may end by itself", () => {
    const paced = { ...session, pacing: { messagesPerSecond: 10, pairIntervalMs: null } }
    const slower = { ...Fixtures.session("b"), pacing: { messagesPerSecond: 1, pairIntervalMs: null } }
    const out = { ...Fixtures.session("c"), outage: Circuit.begin(now) }
    const found = Overview.overviewOf(
      {
        ...well,
        ...waits(
          group(100, { session: paced }),
          group(20, { session: slower, retrying: 2, nextAt: Time.after(now, 9), status: "processing" }),
          group(7, { session: out }),
          group(1)
        )
      },
      "1"
    )
    expect(found.waiting).toEqual({
      total: 130,
      byPriority: { high: 0, normal: 130, low: 0 },
      totalIsExact: true,
      oldestAt: now - 5000,
      by: [
        { limiter: "pace", recipients: 120, until: now + 20_000 },
        { limiter: "platform", recipients: 7, until: out.outage?.probeAt ?? null },
        { limiter: "retry", recipients: 2, until: now + 9 },
        { limiter: "worker", recipients: 1, until: null }
      ]
    })
  })

  it("tells when what has a pace is gone: all of a session by its pace, and each job by its own", () => {
    const paced = { ...session, pacing: { messagesPerSecond: 10, pairIntervalMs: null } }
    const untilOf = (...groups: ReadonlyArray<Group>) =>
      Overview.overviewOf({ ...well, ...waits(...groups) }, "1").waiting.by
    const own = group(30, { perMinute: 60, longest: 20 })
    expect(untilOf(own)).toEqual([{ limiter: "pace", recipients: 30, until: now + 20_000 }])
    const both = untilOf({ ...own, session: paced }, group(300, { session: paced, priority: "low" }))
    expect(both).toEqual([{ limiter: "pace", recipients: 330, until: now + 33_000 }])
    expect(Overview.overviewOf({ ...well, ...waits(own) }, "1").sessions[0]?.emptyAt).toBe(now + 20_000)
  })

  it("tells of a session what waits, how fast it sends, what failed, and when it has nothing left", () => {
    const idle = Fixtures.session(account.id)
    const facts = {
      ...well,
      now: minute,
      sessions: [idle, session].map((session) => ({ session, account })),
      ...waits(group(600)),
      tallies: [tally(1, "accepted", 3000), tally(1, "failed", 2), tally(30, "failed", 5)]
    }
    const [first, second] = Overview.overviewOf(facts, "1").sessions
    expect(first).toMatchObject({
      session: { id: session.id },
      waiting: 600,
      oldestAt: now - 5000,
      sentPerSecond: 10,
      failedLastHour: 7,
      emptyAt: minute + 60_000
    })
    expect(second).toMatchObject({ waiting: 0, oldestAt: null, sentPerSecond: 0, emptyAt: null })
    expect(Overview.overviewOf({ ...facts, isDispatched: false }, "1").sessions[0]?.emptyAt).toBeNull()
  })

  it("shows those in need first", () => {
    const lost = Fixtures.session(account.id, { state: "disconnected", reason: "The token is over." })
    const sessions = [session, lost].map((session) => ({ session, account }))
    const found = Overview.overviewOf({ ...well, sessions, ...waits(group(600)) }, "1")
    expect(found.sessions.map(({ session }) => session.id)).toEqual([lost.id, session.id])
  })

  it("tells within what time 95 of 100 receivers answered", () => {
    expect(Figures.p95Of({ durations: [] })).toBeNull()
    expect(Figures.p95Of({ durations: Array.from({ length: 100 }, (_, at) => 100 - at) })).toBe(95)
    expect(Figures.p95Of({ durations: [7] })).toBe(7)
  })
})
