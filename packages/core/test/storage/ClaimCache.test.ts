/** The batches that a process claimed count for as long as nobody has written their jobs. */
import { describe, expect, it } from "@effect/vitest"
import * as Job from "../../src/domain/job/Job.ts"
import * as JobSteps from "../../src/storage/JobSteps.ts"
import * as ClaimCache from "../../src/storage/sql/ClaimCache.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"

const { now } = Fixtures

const owner = { accountId: "account", sessionId: "session", publicKey: "pk" }

/** A claim of the whole of a new job, whose fence is 1 more than the job's. */
const claimOf = (fence = 0, jobId = Fixtures.makeIds().jobId(now)) => {
  const command = Fixtures.send(owner, { jobId, phones: 2 })
  const job = Job.newJob({ ...command, recipients: 2 })
  const held = {
    seq: 1,
    job,
    inFlight: 0,
    worker: null,
    fence,
    claimedRange: null,
    hasRow: true,
    batch: null,
    behind: undefined,
    version: ""
  }
  const recipients = command.recipients.map((each, index) => Job.newRecipient(each, index, now))
  return JobSteps.claim(held, command.content, recipients, "worker", now, null)
}

describe("a cached claim", () => {
  it("has the recipients of its job, by their places, in the version that was written", () => {
    const cache = ClaimCache.make()
    const claim = claimOf()
    cache.put([claim], "7")
    const job = cache.jobOf(claim.state.job.id)
    expect(job).toEqual({ ...claim.state, version: "7" })
    const recipients = job && cache.recipientsOf(job)
    expect([0, 1, 2].map((place) => recipients?.(place)?.fence)).toEqual([1, 1, undefined])
  })

  it("finds recipients that do not lie side by side", () => {
    const cache = ClaimCache.make()
    const { changes, state, ...claim } = claimOf()
    const apart = changes.map((change) => ({
      ...change,
      after: { ...change.after, index: 3 + 4 * change.after.index }
    }))
    cache.put([{ ...claim, state, changes: apart }], "7")
    const recipients = cache.recipientsOf({ ...state, version: "7" })
    const found = [0, 3, 4, 7, 8].map((place) => recipients?.(place)?.recipient.index)
    expect(found).toEqual([undefined, 3, undefined, 7, undefined])
  })

  it("counts no more once the job's row was written or the job was claimed again", () => {
    const cache = ClaimCache.make()
    const claim = claimOf()
    cache.put([claim], "7")
    expect(cache.recipientsOf({ ...claim.state, version: "8" })).toBeUndefined()
    expect(cache.recipientsOf({ ...claim.state, version: "7", fence: 2 })).toBeUndefined()
    cache.put([claimOf(1, claim.state.job.id)], "9")
    expect(cache.recipientsOf({ ...claim.state, version: "7" })).toBeUndefined()
    cache.remove(claim.state.job.id)
    expect(cache.jobOf(claim.state.job.id)).toBeUndefined()
  })

  it("in a batch counts on when this process has written other jobs of it, and no more when another has", () => {
    const cache = ClaimCache.make()
    const ids = Fixtures.makeIds()
    const [one, other] = [claimOf(0, ids.jobId(now)), claimOf(0, ids.jobId(now))].map((claim) => ({
      ...claim,
      state: { ...claim.state, hasRow: false, batch: 1, version: "7" }
    }))
    if (one === undefined || other === undefined) throw new Error("There are two.")
    cache.put([one, other], "7")
    cache.remove(one.state.job.id)
    cache.renew(1, "7", "8")
    const known = cache.jobOf(other.state.job.id)
    expect(known).toEqual({ ...other.state, version: "8" })
    const recipients = known && cache.recipientsOf(known)
    expect([0, 1, 2].map((place) => recipients?.(place)?.recipient.index)).toEqual([0, 1, undefined])
    expect(cache.recipientsOf({ ...other.state, version: "9" })).toBeUndefined()
    // Another process made it 9, and this one then wrote a third job of the batch.
    cache.renew(1, "9", "10")
    expect(cache.jobOf(other.state.job.id)).toEqual({ ...other.state, version: "8" })
  })

  it("makes room for newer ones, and counts as new when its job is claimed again", () => {
    const cache = ClaimCache.make()
    const ids = Fixtures.makeIds()
    const claims = Array.from({ length: ClaimCache.most + 2 }, () => claimOf(0, ids.jobId(now)))
    const [first, second, third] = claims.map(({ state }) => state.job.id)
    for (const claim of claims.slice(0, ClaimCache.most)) cache.put([claim], "1")
    cache.put([claimOf(1, second)], "2")
    for (const claim of claims.slice(ClaimCache.most)) cache.put([claim], "1")
    const isKept = (id = "") => cache.jobOf(id) !== undefined
    expect([first, second, third].map(isKept)).toEqual([false, true, false])
  })
})
