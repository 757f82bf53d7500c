import { describe, expect, it } from "@effect/vitest"
import * as Time from "../../../src/domain/Instant.ts"
import * as Job from "../../../src/domain/job/Job.ts"
import * as Recipient from "../../../src/domain/job/Recipient.ts"

const counts = (some: Partial<Recipient.Counts>): Recipient.Counts => ({ ...Recipient.noCounts, ...some })

describe("a job's status", () => {
  it("is processing once a recipient is no longer queued, and completed once every one has left dispatch", () => {
    expect(Job.rollup("queued", counts({ queued: 3 }))).toBe("queued")
    expect(Job.rollup("queued", counts({ queued: 2, sending: 1 }))).toBe("processing")
    expect(Job.rollup("processing", counts({ sending: 1, accepted: 2 }))).toBe("processing")
    expect(Job.rollup("processing", counts({ accepted: 1, failed: 1, unknown: 1 }))).toBe("completed")
  })

  it("is canceled when all were canceled, or when a canceling job has nothing in flight", () => {
    expect(Job.rollup("queued", counts({ canceled: 3 }))).toBe("canceled")
    expect(Job.rollup("canceling", counts({ sending: 1, canceled: 2 }))).toBe("canceling")
    expect(Job.rollup("canceling", counts({ accepted: 1, canceled: 2 }))).toBe("canceled")
  })

  it("is completed by recipients that ended in any one way, unless all were canceled", () => {
    for (const status of Recipient.statuses.filter(Recipient.leftDispatch)) {
      const ended = status === "canceled" ? "canceled" : "completed"
      expect([status, Job.rollup("processing", counts({ [status]: 2 }))]).toEqual([status, ended])
      expect([status, Job.rollup("queued", counts({ queued: 1, [status]: 1 }))]).toEqual([
        status,
        "processing"
      ])
    }
  })

  it("stays paused while paused, and ended once ended", () => {
    expect(Job.rollup("paused", counts({ queued: 1, accepted: 1 }))).toBe("paused")
    for (const ended of ["completed", "canceled", "failed"] as const) {
      expect(Job.rollup(ended, counts({ delivered: 1, queued: 1 }))).toBe(ended)
    }
  })

  it("keeps the first times that sent, delivered and read were seen", () => {
    const none = { sentAt: null, deliveredAt: null, readAt: null }
    const sent = Job.stamp(none, "sent", Time.at(5))
    expect(Job.stamp(sent, "sent", Time.at(9))).toEqual({ sentAt: 5, deliveredAt: null, readAt: null })
  })
})
