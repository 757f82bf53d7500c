/** The test kit: time, people and a platform in a test's hands. */
import assert from "node:assert"
import { setImmediate as nextTurn } from "node:timers/promises"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import Pg from "pg"
import "sendwright/vitest"
import { SendwrightError } from "sendwright"
import { fromPg, postgres } from "sendwright/postgres"
import { fromBetterSqlite3, sqlite } from "sendwright/sqlite"
import {
  assertions,
  createTestSendwright,
  matchers,
  type TestOptions,
  type TestSendwright
} from "sendwright/testing"
import { describe, expect, it, onTestFinished } from "vitest"
import { emptyDatabase } from "../../../test/support/Postgres.ts"

const ana = "34600001234"
const bea = "34600005678"

const open = async (options?: TestOptions) => {
  const t = await createTestSendwright(options)
  onTestFinished(() => t.stop())
  return t
}

/** A value that the types refuse, as whoever writes JavaScript may give it. */
const wrong = (value: unknown): never => value as never

const statusOf = async (t: Awaited<ReturnType<typeof open>>, jobId: string) =>
  (await t.session.job(jobId)).results.map(({ status }) => status)

describe("a person whom only a user id names", () => {
  it("gets messages, answers, and has nothing any more after a STOP", async () => {
    const t = await open()
    const ana = t.person("ES.1349")
    expect([ana.phone, ana.userId]).toEqual([null, "ES.1349"])
    const { jobId } = await t.send({ to: "ES.1349" })
    await t.advance("1 min")
    expect(ana.inbox).toHaveLength(1)
    expect((await t.session.job(jobId)).results[0]).toMatchObject({ phone: null, userId: "ES.1349" })
    await ana.replies("STOP")
    expect(ana.refused).toBe(true)
    await expect(t.session.sendDirect({ to: { userId: "ES.1349" }, text: "Hello" })).rejects.toMatchObject({
      code: "consent_required"
    })
    await t.consent("ES.1349")
    expect(await t.session.sendDirect({ to: "ES.1349", text: "Hello" })).toMatchObject({
      to: null,
      userId: "ES.1349"
    })
  })
})

describe("a window that closes", () => {
  it("takes the template in the place of a text, and texts again once they wrote", async () => {
    const t = await open()
    const to = t.person(ana)
    let templateId = 0
    for await (const each of t.session.templates()) templateId = each.templateId
    const otherwise = { templateId }
    await t.consent(ana)
    to.windowCloses()
    await expect(t.session.sendDirect({ to: ana, text: "Hi" })).rejects.toMatchObject({ code: "send_failed" })
    const sent = await t.session.sendDirect({ to: ana, text: "Hi", otherwise })
    expect(sent).toMatchObject({ status: "accepted", sentAs: "template" })
    await t.advance("1 min")
    expect(to.inbox.map(({ messageId, text }) => [messageId, text])).toEqual([
      [sent.messageId, expect.any(String)]
    ])
    await to.replies("Hello")
    expect(await t.session.sendDirect({ to: ana, text: "Hi", otherwise })).toMatchObject({ sentAs: "text" })
  })
})

describe("time", () => {
  it("is that of a send, a recipient's own before it, over days and zones", async () => {
    const t = await open({ now: new Date("2030-01-05T08:00:00Z") })
    const sendAt = { local: "2030-01-07T10:30", timeZone: "recipient" }
    const [madrid, tokyo, newYork] = ["34600001234", "819012345678", "12025550123"] as const
    await t.send({
      to: [
        { phone: madrid, timeZone: "Europe/Madrid" },
        tokyo,
        { phone: newYork, timeZone: "America/New_York", sendAt: new Date("2030-01-07T03:00:00Z") }
      ],
      sendAt,
      hours: { from: "09:00", to: "20:00" }
    })
    await t.advance("40 hours")
    expect(t).toHaveSent(0)
    await t.advance("3 days")
    const times = [madrid, tokyo, newYork].map((name) =>
      t.person(name).inbox.map(({ at }) => at.toISOString())
    )
    expect(times).toEqual([
      ["2030-01-07T09:30:00.000Z"],
      ["2030-01-07T01:30:00.000Z"],
      ["2030-01-07T14:00:00.000Z"]
    ])
  })

  it("goes from due time to due time, and tells what happened", async () => {
    const t = await open({ now: new Date("2026-03-01T08:00:00Z") })
    t.platform.next(ana).isBusy("30 s").next(ana).isBusy("2 min")
    const { jobId } = await t.send({ to: ana })
    const happened = await t.advance("1 hour")
    expect(t.platform.attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    const [first, second, third] = t.platform.attempts.map(({ at }) => at.getTime())
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(30_000)
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(120_000)
    expect(await statusOf(t, jobId)).toEqual(["delivered"])
    expect(t.now()).toEqual(new Date("2026-03-01T09:00:00Z"))
    expect(happened.map(({ type }) => type)).toContain("recipient.delivered")
    expect(happened.at(-1)?.at.getTime()).toBeLessThan(t.now().getTime())
  })

  it("stands still by itself", async () => {
    const t = await open()
    const before = t.now()
    await t.send({ to: ana })
    await t.sw.drain()
    expect(t.now()).toEqual(before)
  })

  it.each(["2 moons", "99999999999 days", "401 days", ""])(
    "is refused where it is none: `%s`",
    async (span) => {
      const t = await open()
      await expect(t.advance(wrong(span))).rejects.toMatchObject({ code: "invalid_options" })
    }
  )

  it("passes for more than a year at once", async () => {
    const t = await open()
    await t.send({ to: ana })
    await t.advance("400 days")
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
  })

  it("is turned by one at a time: both are refused, and it never runs back", async () => {
    const t = await open()
    const ended = await Promise.allSettled([t.advance("2 hours"), t.advance("1 hour")])
    expect(ended).toMatchObject([
      { status: "rejected", reason: { code: "invalid_request" } },
      { status: "rejected", reason: { message: expect.stringMatching(/Time passes already/) } }
    ])
    const before = t.now()
    await t.advance("1 hour")
    expect(t.now().getTime() - before.getTime()).toBe(3_600_000)
  })

  it("is not turned by a handler: who waits for it hears so", async () => {
    const t = await open()
    t.sw.on("job.completed", async () => void (await t.advance("3 days")))
    await t.send({ to: ana })
    const before = t.now().getTime()
    await expect(t.advance("1 hour")).rejects.toThrow(/call none in a handler/)
    expect(t.now().getTime() - before).toBeLessThanOrEqual(3_600_000)
  })

  it("fails for a handler that never ends, by the name of what it listens to", async () => {
    const t = await open({ patienceMs: 20 })
    t.sw.on("recipient.*", () => new Promise(() => {}))
    await t.send({ to: ana })
    await expect(t.advance("1 hour")).rejects.toThrow(/A handler of "recipient\.\*"/)
  })

  it("fails for a reader that asks for no next event", async () => {
    const t = await open({ patienceMs: 20 })
    await t.send({ to: ana })
    const reader = t.sw.events()[Symbol.asyncIterator]()
    const first = reader.next()
    const advanced = t.advance("1 hour")
    await first
    await expect(advanced).rejects.toThrow(/reader of events\(\)/)
    await reader.return?.()
  })

  it("passes on once a slow handler is done", async () => {
    const t = await open({ patienceMs: 10_000 })
    const heard: Array<string> = []
    t.sw.on("job.completed", async ({ type }) => {
      await new Promise((resolve) => setImmediate(resolve))
      heard.push(type)
    })
    await t.send({ to: ana })
    await t.advance("1 min")
    expect(heard).toEqual(["job.completed"])
  })
})

describe("the platform", () => {
  it("that fails says why in the error of the message", async () => {
    const t = await open()
    t.platform.next(ana).fails("131049")
    const { jobId } = await t.send({ to: ana })
    await t.advance("10 days")
    expect((await t.session.job(jobId)).results[0]?.error).toMatchObject({ providerCode: "131049" })
    expect(t.person(ana).inbox).toEqual([])
  })

  it("that hangs leaves the message unknown, and nobody sends it again", async () => {
    const t = await open()
    t.platform.next(ana).hangs()
    const { jobId } = await t.send({ to: ana })
    await t.advance("3 days")
    expect(await statusOf(t, jobId)).toEqual(["unknown"])
    expect(t.platform.attempts).toHaveLength(1)
  })

  it("that answers late has it unknown until its receipts come", async () => {
    const t = await open()
    t.platform.next(ana).answersLate("5 min")
    const { jobId } = await t.send({ to: ana })
    await t.advance("4 min")
    expect(await statusOf(t, jobId)).toEqual(["unknown"])
    await t.advance("2 min")
    expect(await statusOf(t, jobId)).toEqual(["delivered"])
    expect(t.person(ana).inbox).toHaveLength(1)
  })

  it("leaves nothing behind that keeps the tests' process alive, not even by a process that died", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
    const before = timers()
    const t = await createTestSendwright()
    t.platform.next(ana).crashesAfterSending()
    await t.send({ to: ana })
    await t.advance("1 hour")
    await t.stop()
    expect(timers()).toBeLessThanOrEqual(before)
  })

  it("that has taken it when the process dies delivers it once", async () => {
    const t = await open()
    t.platform.next(ana).crashesAfterSending()
    const { jobId } = await t.send({ to: ana })
    await t.advance("1 hour")
    expect(t.person(ana).inbox).toHaveLength(1)
    expect(t.platform.attempts).toHaveLength(1)
    expect(await statusOf(t, jobId)).toEqual(["delivered"])
    const next = await t.send({ to: ana })
    await t.advance("1 min")
    expect(await statusOf(t, next.jobId)).toEqual(["delivered"])
  })
})

describe("the kit", () => {
  it("has the app's handlers hear of what comes after a crash, too", async () => {
    const t = await open()
    const heard: Array<string> = []
    t.sw.on("message.received", ({ data }) => void heard.push(data.text))
    t.platform.next(ana).crashesAfterSending()
    await t.send({ to: ana })
    await t.advance("1 hour")
    await t.person(ana).replies("hello")
    expect(heard).toEqual(["hello"])
  })

  it("stops what took over after a crash, too", async () => {
    const t = await open()
    t.platform.next(ana).crashesAfterSending()
    await t.send({ to: ana })
    await t.advance("1 hour")
    await t.stop()
    await expect(t.sw.drain()).rejects.toMatchObject({ code: "unavailable" })
  })

  it.each<[string, unknown, string]>([
    ["a member that it has not", { nwo: 1 }, "/nwo"],
    ["a time that is none", { now: new Date("never") }, "/now"],
    ["a number in the place of a time", { now: 1 }, "/now"],
    ["no patience", { patienceMs: 0 }, "/patienceMs"],
    ["nothing", null, ""]
  ])("refuses %s in its options", async (_, options, path) => {
    await expect(createTestSendwright(wrong(options))).rejects.toMatchObject({
      code: "invalid_options",
      issues: [{ path }]
    })
  })

  it.each<[string, (t: TestSendwright) => unknown]>([
    ["a template without a text", (t) => t.template("empty", wrong(undefined))],
    ["a number for a text", (t) => t.person(ana).replies(wrong(5))],
    ["a code that is none", async (t) => t.platform.next(ana).fails("busy")],
    ["a session without an id", async (t) => t.sw.session(wrong(undefined))]
  ])("refuses %s", async (_, step) => {
    const t = await open()
    await expect(step(t)).rejects.toMatchObject({ code: "invalid_request" })
  })

  it.each<[unknown, string]>([
    [{}, "/to"],
    [undefined, ""],
    [{ to: ana, templte: "hello" }, "/templte"]
  ])("refuses the message %j", async (message, path) => {
    const t = await open()
    await expect(t.send(wrong(message))).rejects.toMatchObject({
      code: "invalid_request",
      issues: [{ path }]
    })
  })
})

describe("a person", () => {
  it("that said STOP gets messages again once consent was recorded anew", async () => {
    const t = await open()
    await t.send({ to: ana })
    await t.advance("1 min")
    await t.person(ana).replies("STOP")
    await t.consent(ana)
    await t.send({ to: ana })
    await t.advance("1 min")
    expect(t.person(ana)).toHaveBeenDelivered({ times: 2 })
    expect(t.person(ana)).not.toHaveRefused()
  })

  it("reads, replies, and is heard by handlers and webhooks", async () => {
    const t = await open()
    const heard: Array<string> = []
    t.sw.on("message.received", ({ data }) => void heard.push(data.text))
    await t.template("reminder", "Dear {{1}}, tomorrow at {{2}}.")
    const variables = { "body.1": "Ana", "body.2": "ten" }
    const { jobId } = await t.send({ to: ana, template: "reminder", variables })
    await t.advance("1 min")
    expect(t.person(ana).inbox).toMatchObject([{ template: "reminder", text: "Dear Ana, tomorrow at ten." }])
    await t.person(ana).reads()
    expect(await statusOf(t, jobId)).toEqual(["read"])
    await t.person(ana).replies("Thank you")
    expect(heard).toEqual(["Thank you"])
    expect(t.webhooks.map(({ type }) => type)).toContain("message.received")
  })

  it("that says STOP gets nothing more", async () => {
    const t = await open()
    await t.send({ to: ana })
    await t.advance("1 min")
    expect(t.person(ana).refused).toBe(false)
    await t.person(ana).replies("STOP")
    expect(t.person(ana).refused).toBe(true)
    await expect(t.send({ to: ana })).rejects.toMatchObject({ code: "consent_required" })
  })

  it("that has another number is the same one: its STOP counts for the new one", async () => {
    const t = await open()
    await t.send({ to: ana })
    await t.consent(bea)
    await t.advance("1 min")
    await t.person(ana).replies("STOP")
    await t.person(ana).changesNumber(bea)
    await expect(t.send({ to: bea })).rejects.toMatchObject({ code: "consent_required" })
  })

  it("that blocks the number gets nothing, and its message stays `sent`", async () => {
    const t = await open()
    t.person(ana).blocks()
    const { jobId } = await t.send({ to: ana })
    await t.advance("2 days")
    expect(await statusOf(t, jobId)).toEqual(["sent"])
    expect(t.person(ana).inbox).toEqual([])
  })
})

describe("the store", () => {
  const booked = async () => {
    const database = new Database(":memory:")
    database.exec("CREATE TABLE booking (id TEXT)")
    const t = await open({ store: sqlite({ database, migrate: true }) })
    await t.consent(ana)
    const book = (id: string, fault?: Error) =>
      database.transaction(() => {
        database.prepare("INSERT INTO booking VALUES (?)").run(id)
        const message = { template: "hello", to: [{ phone: ana }], idempotencyKey: id }
        t.session.sendSync(message, { tx: fromBetterSqlite3(database) })
        if (fault !== undefined) throw fault
      })()
    return { t, book, database }
  }

  it("may be the app's own, whose transactions take the send with them", async () => {
    const { book, t } = await booked()
    expect(() => book("1", new Error("No."))).toThrow("No.")
    await t.advance("1 day")
    expect(t).toHaveSent(0)
    book("2")
    await t.advance("1 day")
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
  })

  it("of the app survives a process that dies, and stays open at the end", async () => {
    const { book, database, t } = await booked()
    t.platform.next(ana).crashesAfterSending()
    book("1")
    await t.advance("1 hour")
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
    expect(t).toHaveSent(1)
    await t.stop()
    expect(database.open).toBe(true)
  })

  it("of the app is waited for while a transaction is open on it, though the test's time stands still", async () => {
    const { database, t } = await booked()
    database.exec("BEGIN")
    const sending = t.send({ to: ana })
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    database.exec("COMMIT")
    await sending
    await t.advance("1 min")
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
  })

  it("in memory has no transactions, and says which store has", async () => {
    const t = await open()
    const message = { template: "hello", to: [{ phone: ana }], idempotencyKey: "1" }
    const tx = fromBetterSqlite3(new Database(":memory:"))
    await expect(t.session.send(message, { tx })).rejects.toThrow(/sqlite\(\{ database \}\).*test kit/)
  })
})

describe("a store in PostgreSQL", () => {
  const begin = new Date("2026-03-01T08:00:00Z")
  const inPostgres = async () => {
    const scope = await Effect.runPromise(Scope.make())
    onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const pool = new Pg.Pool({
      connectionString: await Effect.runPromise(Scope.extend(emptyDatabase, scope))
    })
    onTestFinished(() => pool.end())
    const t = await open({ store: postgres({ pool }), now: begin })
    await t.consent(ana)
    const book = async (id: string, end: "COMMIT" | "ROLLBACK") => {
      const client = await pool.connect()
      await client.query("BEGIN")
      const message = { template: "hello", to: [{ phone: ana }], idempotencyKey: id }
      await t.session.send(message, { tx: fromPg(client) })
      await client.query(end)
      client.release()
    }
    return { book, pool, t }
  }

  it("has the test's time, and not its server's", async () => {
    const { t } = await inPostgres()
    t.platform.next(ana).isBusy("30 s").next(ana).isBusy("2 min")
    await t.send({ to: ana })
    await t.advance("1 hour")
    const seconds = t.platform.attempts.map(({ at }) => (at.getTime() - begin.getTime()) / 1000)
    const [first = -1, second = -1, third = -1] = seconds
    expect(first).toBe(0)
    expect(Math.abs(second - 32)).toBeLessThan(3)
    expect(Math.abs(third - second - 122)).toBeLessThan(3)
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
  })

  it("takes sends in transactions of the app's", async () => {
    const { book, t } = await inPostgres()
    await book("1", "ROLLBACK")
    await t.advance("1 day")
    expect(t).toHaveSent(0)
    await book("2", "COMMIT")
    await t.advance("1 day")
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
  })

  it("survives a process that dies, and leaves the pool open at the end", async () => {
    const { book, pool, t } = await inPostgres()
    t.platform.next(ana).crashesAfterSending()
    await book("1", "COMMIT")
    await t.advance("1 hour")
    expect(t).toHaveSent(1)
    expect(t.person(ana)).toHaveBeenDelivered({ times: 1 })
    await t.stop()
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }])
  })
})

describe("a story", () => {
  it("tells a consent where it was recorded, before the message that needs it", async () => {
    const t = await open()
    await t.send({ to: ana })
    await t.advance("1 min")
    const told = t
      .person(ana)
      .story()
      .split("\n")
      .map((line) => line.split("  ")[1]?.split(/[ :]/)[0])
    expect(told.slice(0, 3)).toEqual(["consent.granted", "accepted", "attempt"])
    expect(told.filter((words) => words === "consent.granted")).toHaveLength(1)
  })
})

describe("matchers", () => {
  it("pass, and fail with the story of the person", async () => {
    const t = await open()
    t.platform.next(ana).fails("131026")
    await t.send({ to: [ana, bea] })
    await t.advance("1 min")
    expect(t.person(bea)).toHaveBeenDelivered({ text: "Hello" })
    expect(t.person(ana)).not.toHaveBeenDelivered()
    expect(t).toHaveSent(2)
    assertions.toHaveBeenDelivered(t.person(bea), { template: "hello", text: /Hel/, times: 1 })
    assertions.toHaveSent(t, 2)
    assertions.toHaveSent(t, 1, ana)
    const failed = () => assertions.toHaveBeenDelivered(t.person(ana))
    expect(failed).toThrow(assert.AssertionError)
    expect(failed).toThrow(/34600001234 should have got a message, and got 0\./)
    const unlike = () => assertions.toHaveBeenDelivered(t.person(bea), { text: "Hi" })
    expect(unlike).toThrow(/a message saying Hi, and got 0\. The inbox has "Hello" \(hello\)\./)
    expect(failed).toThrow(/accepted: hello \(job.+attempt 1.+recipient\.failed: .+131026/s)
    expect(() => assertions.toHaveRefused(t.person(ana))).toThrow(/should be a refusal/)
    expect(matchers.toHaveBeenDelivered(t.person(bea)).message()).toMatch(/should not have got/)
  })

  it.each<[string, (t: TestSendwright) => unknown]>([
    [
      "a member that nobody knows",
      (t) => matchers.toHaveBeenDelivered(t.person(ana), wrong({ templte: "x" }))
    ],
    [
      "a text in the place of what is expected",
      (t) => matchers.toHaveBeenDelivered(t.person(ana), wrong("x"))
    ],
    ["half a time", (t) => matchers.toHaveBeenDelivered(t.person(ana), { times: 0.5 })],
    ["a person in the place of a phone", (t) => matchers.toHaveSent(t, 0, wrong(t.person(ana)))],
    ["a phone that is written otherwise", (t) => matchers.toHaveSent(t, 0, `+${ana}`)],
    ["fewer than none", (t) => matchers.toHaveSent(t, -1)],
    ["a phone in the place of a person", () => matchers.toHaveRefused(wrong(ana))],
    ["a person in the place of the whole", (t) => matchers.toHaveSent(wrong(t.person(ana)), 0)]
  ])("refuse %s", async (_, step) => {
    const t = await open()
    await t.send({ to: ana })
    await t.advance("1 min")
    expect(() => step(t)).toThrow(SendwrightError)
  })

  it("say how a phone is written", async () => {
    const t = await open()
    expect(() => t.person(`+${ana}`)).toThrow(/digits only: 34600001234/)
    expect(() => t.platform.next("0034 600 001 234")).toThrow(/digits only: 34600001234/)
  })

  it("say the same of a global regular expression, however often it is asked", async () => {
    const t = await open()
    await t.send({ to: ana })
    await t.advance("1 min")
    const text = /Hello/g
    for (let turn = 0; turn < 3; turn++) expect(t.person(ana)).toHaveBeenDelivered({ text })
  })
})
