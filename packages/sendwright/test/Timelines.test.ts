import { createTestSendwright } from "sendwright/testing"
import { describe, expect, it, onTestFinished } from "vitest"

const ana = "34600001234"

describe("the story of a message", () => {
  it("is told to its session and to the operator, with times as dates", async () => {
    const t = await createTestSendwright()
    onTestFinished(() => t.stop())
    t.platform.next(ana).isBusy("2 min")
    const { jobId } = await t.send({ to: ana })
    await t.advance("1 hour")
    const [{ messageId = "" } = {}] = (await t.session.job(jobId)).results
    const { message, next, timeline } = await t.session.timeline(messageId)
    expect(message).toMatchObject({ jobId, phone: ana, status: "delivered", contentExpiredAt: null })
    expect(timeline.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["accepted", "consent", "attempt", "waited", "receipt"])
    )
    const wait = timeline.find(({ kind }) => kind === "waited")
    expect(wait).toMatchObject({ limiter: "retry", at: expect.any(Date), until: expect.any(Date) })
    const attempts = timeline.flatMap((each) =>
      each.kind === "attempt" ? [[each.number, each.outcome]] : []
    )
    expect(attempts).toEqual([
      [1, "retried"],
      [2, "sent"]
    ])
    expect(next.map(({ action, allowed }) => [action, allowed])).toEqual([
      ["wait", true],
      ["retry", false],
      ["cancel", false]
    ])
    const ofAny = await t.sw.admin.messages.story({ messageId })
    expect(ofAny.message).toEqual(message)
    await expect(t.session.timeline(messageId.replace(/...$/, "fff"))).rejects.toMatchObject({
      code: "not_found"
    })
  })
})
