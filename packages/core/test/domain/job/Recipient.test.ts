import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Time from "../../../src/domain/Instant.ts"
import * as ClientTexts from "../../../src/domain/job/ClientTexts.ts"
import * as Job from "../../../src/domain/job/Job.ts"
import * as Recipient from "../../../src/domain/job/Recipient.ts"
import * as Transitions from "../../../src/domain/job/Transitions.ts"

const runs = { numRuns: 1000 }
const status = FastCheck.constantFrom(...Recipient.statuses)
const reported = FastCheck.constantFrom<Recipient.Reported>("accepted", "sent", "delivered", "read", "failed")

const recipient: Job.RecipientResult = {
  index: 0,
  address: "34600000001",
  timing: null,
  ...ClientTexts.recipient.of({}),
  values: [],
  status: "sending",
  failure: null,
  attempts: 1,
  attemptedAt: null,
  retryingSince: null,
  requeuedAt: null,
  crashCount: 0,
  maybeSent: false,
  providerId: null,
  market: null,
  price: null,
  pricing: null,
  sequence: 1,
  nextAt: null,
  updatedAt: Time.at(0),
  sentAt: null,
  deliveredAt: null,
  readAt: null
}

const told = (reports: ReadonlyArray<Recipient.Reported>, from: Job.RecipientResult = recipient) =>
  reports.reduce(
    (current, status, at) =>
      Transitions.report(current, { status, at: Time.at(at), failure: null, providerId: "p" }, Time.at(at)),
    from
  )

const shuffledTwice = FastCheck.array(reported, { maxLength: 8 }).chain((reports) =>
  FastCheck.tuple(
    FastCheck.constant(reports),
    FastCheck.shuffledSubarray([...reports, ...reports], { minLength: reports.length * 2 })
  )
)

describe("a recipient's status", () => {
  it("never goes down, whatever is reported", () => {
    FastCheck.assert(
      FastCheck.property(status, FastCheck.array(reported), (start, reports) => {
        let before: Job.RecipientResult = { ...recipient, status: start }
        for (const report of reports) {
          const after = told([report], before)
          expect(Recipient.rank(after.status)).toBeGreaterThanOrEqual(Recipient.rank(before.status))
          before = after
        }
      }),
      runs
    )
  })

  it("is the same after reports in any order, each any number of times", () => {
    FastCheck.assert(
      FastCheck.property(shuffledTwice, ([reports, shuffled]) => {
        expect(told(shuffled).status).toBe(told(reports).status)
      }),
      runs
    )
  })

  it("is delivered when both a failure and a delivery are reported", () => {
    expect(told(["failed", "delivered"]).status).toBe("delivered")
    expect(told(["delivered", "failed"]).status).toBe("delivered")
    expect(told(["sent", "failed"]).status).toBe("failed")
    expect(told(["failed", "sent"]).status).toBe("failed")
  })

  it("has a sequence that grows by one with each change and with nothing else", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(reported), (reports) => {
        let current = recipient
        for (const report of reports) {
          const next = told([report], current)
          expect(next.sequence - current.sequence).toBe(next.status === current.status ? 0 : 1)
          current = next
        }
      }),
      runs
    )
  })

  it("yields from unknown to a report, and from an outcome that a report overtook it does not fall", () => {
    expect(told(["delivered"], { ...recipient, status: "unknown" }).status).toBe("delivered")
    const overtaken = told(["delivered"])
    const settled = Transitions.settle(
      { status: "processing" },
      overtaken,
      { _tag: "Accepted", providerId: "p", status: "accepted" },
      Time.at(9)
    )
    expect(settled.status).toBe("delivered")
  })

  it("that a report brings counts an attempt, though its worker stopped and gave the attempt back", () => {
    const claimed = Transitions.claim({ ...recipient, status: "queued", attempts: 0 }, Time.at(1))
    const released = Transitions.settle(
      { status: "processing" },
      claimed,
      { _tag: "Released", maybeSent: true },
      Time.at(2)
    )
    expect(released.attempts).toBe(0)
    expect(told(["delivered"], released)).toMatchObject({ status: "delivered", attempts: 1 })
    expect(told(["sent", "delivered"], claimed)).toMatchObject({ status: "delivered", attempts: 1 })
  })
})

const tally = (statuses: ReadonlyArray<Recipient.Status>): Recipient.Counts => {
  const counts = { ...Recipient.noCounts }
  for (const each of statuses) counts[each] += 1
  return counts
}

describe("a job's counts", () => {
  it("are those of its recipients after any step", () => {
    const content = { kind: "direct", text: "Hello", linkPreview: false } as const
    const accepted = {
      jobId: "job",
      accountId: "a",
      sessionId: "s",
      publicKey: "k",
      requestId: null,
      idempotencyKey: null,
      ...ClientTexts.job.of({}),
      priority: "normal" as const,
      perMinute: null,
      stopWhen: null,
      now: Time.at(0)
    }
    const job = Job.newJob({ ...accepted, content, recipients: 1, currency: "EUR", estimatedCost: null })
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.tuple(status, status), { maxLength: 30 }), (steps) => {
        const before = { ...job, recipients: steps.length, counts: tally(steps.map(([from]) => from)) }
        const changes = steps.map(([from, to], index) => ({
          before: { ...recipient, index, status: from },
          after: { ...recipient, index, status: to }
        }))
        expect(Transitions.apply(before, changes, Time.at(1)).job.counts).toEqual(
          tally(steps.map(([, to]) => to))
        )
      }),
      runs
    )
  })
})
