/** A sender of the app's own is a plain object. */
import { describe, expect, it } from "@effect/vitest"
import { Sender as CoreSender } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { SendwrightError } from "sendwright"
import * as Senders from "../src/inside/Senders.ts"
import { ana, furnish, open, platform, start, template } from "./Support.ts"

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

  it("is reported on by the platform's id alone, where that is one message's", async () => {
    const { sender } = platform({ send: async ({ to }) => ({ outcome: "accepted", providerId: to }) })
    const sw = await open({ senders: [sender] })
    const { session } = await furnish(sw, "own")
    const { session: other } = await furnish(sw, "own")
    const { jobId } = await session.send(message)
    await sw.drain()
    const early = { providerId: "nobody's", status: "delivered" } as const
    expect(await sw.receive([{ providerId: ana, status: "delivered" }, early])).toEqual([early])
    expect((await session.job(jobId)).results).toMatchObject([{ status: "delivered" }])
    await other.send(message)
    await sw.drain()
    const unclear = { providerId: ana, status: "read" } as const
    expect(await sw.receive([unclear])).toEqual([unclear])
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
        return (await session.job(jobId)).results[0]?.error
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
      { status: "unknown", error: { message: "The line broke." } }
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
    ["/0/error/code", { messageId, status: "failed", error: {} }],
    ["/0", null]
  ])("are refused with the place of the fault: %s", async (path, report) => {
    const sw = await open()
    const error: unknown = await sw.receive([report as never]).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: "invalid_request" })
    expect((error as SendwrightError).issues.map((issue) => issue.path)).toContain(path)
  })
})

describe("a trace of the app's", () => {
  it("goes on to its senders, from each kind of send, and a header of no form stops none", async () => {
    let active: string | undefined = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    const { sender, sent } = platform()
    const sw = await open({ senders: [sender], traceparent: () => active })
    const { session } = await furnish(sw, "own")
    await session.send(message)
    await session.sendDirect({ to: ana, text: "Hi" })
    for (const none of ["nonsense", undefined]) {
      active = none
      await session.sendDirect({ to: ana, text: "Hi" })
    }
    await sw.drain()
    const header = expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01$/)
    expect(sent.map(({ traceparent }) => traceparent)).toEqual([header, undefined, undefined, header])
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

  it("rejects a call that is under way beyond its time", async () => {
    const { sender, sent } = platform({ send: () => new Promise(() => {}) })
    const sw = await open({ senders: [sender] })
    const { session } = await furnish(sw, "own")
    await session.send(message)
    const draining = sw.drain()
    const direct = session.sendDirect({ to: ana, text: "Hi" })
    const rejected = Promise.all([
      expect(draining).rejects.toMatchObject({ code: "unavailable" }),
      expect(direct).rejects.toMatchObject({ code: "unavailable" })
    ])
    await expect.poll(() => sent.length).toBe(2)
    await sw.stop({ graceMs: 50 })
    await rejected
  })
})

describe("a sender whose promise is never kept", () => {
  const never = () => new Promise<never>(() => {})
  const asked = Effect.flatMap(CoreSender.Senders, (senders) => {
    const sender = senders.get("own")
    return sender === undefined ? Effect.dieMessage("No sender.") : Effect.succeed(sender)
  }).pipe(Effect.provide(Senders.layer([{ provider: "own", send: never, check: never, templates: never }])))
  const outbound = {
    messageId: "0199aaaa-0000-7000-8000-000000000001",
    sessionId: "0199aaaa-0000-7000-8000-000000000002",
    to: ana,
    attempt: 1,
    content: { kind: "direct", text: "Hi", linkPreview: false },
    config: {}
  } as const

  it.effect("leaves the outcome unknown after 15 seconds, also of what cannot be interrupted", () =>
    Effect.gen(function* () {
      const { send } = yield* asked
      const sending = yield* Effect.fork(Effect.uninterruptible(send(outbound as never)))
      yield* TestClock.adjust("14 seconds")
      expect(yield* Fiber.poll(sending)).toEqual(Option.none())
      yield* TestClock.adjust("1 seconds")
      expect(yield* Fiber.join(sending)).toMatchObject({
        _tag: "Ambiguous",
        failure: { code: "outcome_unknown" }
      })
    })
  )

  it.effect("is unavailable to whoever asks it for something else", () =>
    Effect.gen(function* () {
      const { check, templates } = yield* asked
      const checking = yield* Effect.fork(check?.({}) ?? Effect.void)
      const listing = yield* Effect.fork(Effect.exit(templates?.({}) ?? Effect.void))
      yield* TestClock.adjust("15 seconds")
      expect(yield* Fiber.join(checking)).toMatchObject({ code: "provider_unavailable" })
      expect(Exit.isFailure(yield* Fiber.join(listing))).toBe(true)
    })
  )
})

describe("what a platform says of a session and its templates", () => {
  it("is ended by hand, and listed with its reasons", async () => {
    const { session, sw } = await start()
    const { id } = session
    expect(await sw.admin.sessions.change({ id, blockedUntil: null })).toMatchObject({
      blockedUntil: null,
      blockReason: null,
      repliesBlockedUntil: null
    })
    const rejected = { ...template("refused"), status: "REJECTED", rejected_reason: "INVALID_FORMAT" }
    await sw.admin.templates.import({ sessionId: id, templates: [rejected] })
    const listed = []
    for await (const each of sw.admin.templates.list({ sessionId: id, status: "rejected" })) listed.push(each)
    expect(listed).toMatchObject([{ name: "refused", reason: "INVALID_FORMAT", rejectionInfo: null }])
  })
})
