/** A sender of the app's own is a plain object. */
import type { SendwrightError } from "sendwright"
import { describe, expect, it } from "vitest"
import { ana, furnish, open, platform } from "./Support.ts"

const message = { template: "hello", to: [{ phone: ana }], idempotencyKey: "1" }

describe("a sender of one's own", () => {
  it("gets the texts with their values, and reports bring the message further", async () => {
    const { sender, sent } = platform()
    const sw = await open({ senders: [sender] })
    const { session } = await furnish(sw, "own")
    const { jobId } = await session.send(message)
    await sw.drain()
    expect(sent).toMatchObject([
      { to: ana, attempt: 1, content: { kind: "template", name: "hello", body: "Hello" } }
    ])
    const messageId = sent[0]?.messageId ?? ""
    const unknown = { messageId: "0199aaaa-0000-7000-8000-000000000001", status: "read" } as const
    expect(await sw.receive([{ messageId, status: "delivered" }, unknown])).toEqual([unknown])
    expect((await session.job(jobId)).results).toMatchObject([{ status: "delivered", messageId }])
  })

  it("refuses for good, or until later", async () => {
    const { sender, sent } = platform({
      send: async ({ attempt }) =>
        attempt === 1
          ? { outcome: "later", message: "Busy.", retryAfterMs: 1 }
          : { outcome: "refused", code: "recipient_unreachable", message: "Nobody." }
    })
    const sw = await open({ senders: [sender] })
    const { session } = await furnish(sw, "own")
    const { jobId } = await session.send(message)
    await expect
      .poll(async () => {
        await sw.drain()
        return (await session.job(jobId)).results[0]?.failure
      })
      .toMatchObject({ code: "recipient_unreachable", permanent: true })
    expect(sent.map(({ attempt }) => attempt)).toEqual([1, 2])
  })

  it("whose promise is rejected leaves the message unknown and sends it no second time", async () => {
    const { sender, sent } = platform({ send: () => Promise.reject(new Error("The line broke.")) })
    const sw = await open({ senders: [sender] })
    const { session } = await furnish(sw, "own")
    const { jobId } = await session.send(message)
    await sw.drain()
    expect((await session.job(jobId)).results).toMatchObject([
      { status: "unknown", failure: { message: "The line broke." } }
    ])
    expect(sent).toHaveLength(1)
  })

  it.each([Number.POSITIVE_INFINITY, Number.NaN, -1, "soon"])(
    "that asks for the wait %s is asked again as without one",
    async (wait) => {
      const { sender } = platform({
        send: async () => ({ outcome: "later", message: "Busy.", retryAfterMs: wait as never })
      })
      const sw = await open({ senders: [sender] })
      const { session } = await furnish(sw, "own")
      const { jobId } = await session.send(message)
      await sw.drain()
      expect((await session.job(jobId)).results).toMatchObject([{ status: "sending", attempts: 1 }])
    }
  )

  it("says before a session is connected what is wrong", async () => {
    const { sender } = platform({
      check: async ({ token }) => (token === "right" ? null : "The token is wrong.")
    })
    const sw = await open({ senders: [sender] })
    const account = await sw.admin.accounts.create({ name: "Shop" })
    const { id } = await sw.admin.sessions.create({
      accountId: account.id,
      name: "main",
      provider: "own",
      config: { token: "x" }
    })
    expect(await sw.admin.sessions.connect({ id })).toMatchObject({
      state: "disconnected",
      reason: "The token is wrong."
    })
    await sw.admin.sessions.change({ id, config: { token: "right" } })
    expect(await sw.admin.sessions.connect({ id })).toMatchObject({ state: "connected" })
  })
})

describe("reports", () => {
  const messageId = "0199aaaa-0000-7000-8000-000000000001"
  it.each<[string, unknown]>([
    ["/0/status", { messageId, status: "foo" }],
    ["/0/message", { message: messageId, status: "read" }],
    ["/0/at", { messageId, status: "read", at: new Date(Number.NaN) }],
    ["/0/at", { messageId, status: "read", at: "2026-01-01" }],
    ["/0/failure/code", { messageId, status: "failed", failure: {} }],
    ["/0", null]
  ])("are refused with the place of the fault: %s", async (path, report) => {
    const sw = await open()
    const error: unknown = await sw.receive([report as never]).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: "invalid_request" })
    expect((error as SendwrightError).issues.map((issue) => issue.path)).toContain(path)
  })
})

describe("stop", () => {
  it("waits for what is under way, no longer than it was told", async () => {
    let began = (): void => {}
    const underWay = new Promise<void>((resolve) => {
      began = resolve
    })
    const { sender } = platform({
      send: () => {
        began()
        return new Promise(() => {})
      }
    })
    const sw = await open({ senders: [sender] })
    const { session } = await furnish(sw, "own")
    await sw.start()
    expect(await sw.health()).toMatchObject({ ready: true })
    await session.send(message)
    await underWay
    const before = performance.now()
    await sw.stop({ graceMs: 50 })
    expect(performance.now() - before).toBeLessThan(10_000)
  })
})
