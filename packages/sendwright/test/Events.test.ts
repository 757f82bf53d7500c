/** Events in the process: at least once, kept while nobody listens. */
import Database from "better-sqlite3"
import { memory, type SendwrightEvent } from "sendwright"
import { fromBetterSqlite3, sqlite } from "sendwright/sqlite"
import { describe, expect, it } from "vitest"
import { ana, furnish, list, open, start } from "./Support.ts"

const message = (idempotencyKey: string) => ({ template: "hello", to: [{ phone: ana }], idempotencyKey })

describe("the data of every event", () => {
  it("tell whose it is: the account, and the session where it is of one", async () => {
    const { session, sw } = await start()
    const [first] = await list(sw.admin.accounts.list())
    const heard: Array<SendwrightEvent> = []
    sw.on("*", (event) => void heard.push(event))
    await sw.ready()
    const other = await furnish(sw)
    const stopping = "34600000009"
    for (const { id: accountId } of await list(sw.admin.accounts.list()))
      await sw.admin.consents.record({ accountId, consents: [{ phone: stopping, source: "form" }] })
    for (const { send } of [session, other.session])
      await send({ template: "hello", to: [{ phone: stopping }], idempotencyKey: "1" })
    await sw.drain()
    const whose = (type: string) =>
      heard
        .flatMap((each) => (each.type === type ? [[each.data.accountId, each.data.sessionId]] : []))
        .toSorted()
    const both = [
      [first?.id, session.id],
      [other.account.id, other.session.id]
    ].toSorted()
    for (const type of ["job.completed", "recipient.delivered", "message.received", "consent.revoked"])
      expect([type, whose(type)]).toEqual([type, both])
    expect(whose("consent.granted")).toContainEqual([other.account.id, null])
  })
})

describe("a handler", () => {
  it("that was given at the start hears what matches, with times as dates", async () => {
    const heard: Array<SendwrightEvent<"recipient.delivered">> = []
    const { session, sw } = await start({ on: { "recipient.delivered": (event) => void heard.push(event) } })
    const { jobId } = await session.send(message("1"))
    await sw.drain()
    expect(heard.map(({ data, type }) => [type, data.jobId, data.phone])).toEqual([
      ["recipient.delivered", jobId, ana]
    ])
    expect(heard[0]?.data.deliveredAt).toBeInstanceOf(Date)
    expect(heard[0]?.createdAt).toBeInstanceOf(Date)
  })

  it("that comes later hears of accounts that were there before", async () => {
    const { session, sw } = await start()
    const types: Array<string> = []
    sw.on("job.*", ({ type }) => void types.push(type))
    await session.send(message("1"))
    await sw.drain()
    expect(types.toSorted()).toEqual(["job.completed", "job.processing"])
  })

  it("that throws is called again later, and no other handler with it", async () => {
    const { account, session, sw } = await start()
    let tries = 0
    const others: Array<string> = []
    sw.on("job.completed", () => {
      tries += 1
      if (tries === 1) throw new Error("Not today.")
    })
    sw.on("job.*", ({ type }) => void others.push(type))
    await session.send(message("1"))
    await sw.drain()
    expect([tries, others.length]).toEqual([1, 2])
    // The next attempt is due in seconds; an operator makes it due now.
    const webhooks = await list(sw.admin.webhooks.list({ accountId: account.id }))
    const own = webhooks.find(({ events }) => events.includes("job.completed"))
    const [delivery] = await list(sw.admin.webhooks.deliveries({ id: own?.id ?? "" }))
    expect(delivery?.attempts).toMatchObject([{ status: 500, response: "Not today." }])
    await sw.admin.deliveries.replay({ id: delivery?.id ?? "" })
    await sw.drain()
    expect([tries, others.length]).toEqual([2, 2])
  })

  it("that was taken away hears nothing, and the next one what came meanwhile", async () => {
    const { session, sw } = await start()
    const heard: Array<string> = []
    const off = sw.on("job.completed", ({ data }) => void heard.push(data.jobId))
    const first = await session.send(message("1"))
    await sw.drain()
    off()
    const second = await session.send(message("2"))
    await sw.drain()
    expect(heard).toEqual([first.jobId])
    sw.on("job.completed", ({ data }) => void heard.push(data.jobId))
    await sw.drain()
    expect(heard).toEqual([first.jobId, second.jobId])
  })

  it("that comes later has its events kept from `ready()` on, also those of a send in a transaction", async () => {
    const database = new Database(":memory:")
    const { session, sw } = await start({ store: sqlite({ database, migrate: true }) })
    await sw.start()
    const heard: Array<string> = []
    sw.on("job.completed", ({ data }) => void heard.push(data.jobId))
    await sw.ready()
    const { jobId } = database.transaction(() =>
      session.sendSync(message("1"), { tx: fromBetterSqlite3(database) })
    )()
    await expect.poll(() => heard).toEqual([jobId])
  })

  it("that comes later has its events kept soon, whoever asks for nothing", async () => {
    const { account, sw } = await start()
    sw.on("job.completed", () => {})
    const patterns = async () =>
      (await list(sw.admin.webhooks.list({ accountId: account.id }))).flatMap(({ events }) => events)
    await expect.poll(patterns).toEqual(["job.completed"])
  })

  it("hears of accounts that another engine creates while this one is started, or drains", async () => {
    const store = memory()
    const heard: Array<string> = []
    const here = await open({ store, on: { "job.completed": ({ data }) => void heard.push(data.jobId) } })
    const other = await open({ store })
    const first = await furnish(other)
    await here.drain()
    const { jobId } = await first.session.send(message("1"))
    await other.drain()
    await here.drain()
    expect(heard).toEqual([jobId])
    const later = await other.admin.accounts.create({ name: "Later" })
    const webhooks = async () => (await list(other.admin.webhooks.list({ accountId: later.id }))).length
    expect(await webhooks()).toBe(0)
    await here.start()
    await expect.poll(webhooks, { timeout: 5000 }).toBe(1)
  })

  it("hears in the background, too", async () => {
    const { session, sw } = await start()
    const heard = new Promise<string>((resolve) => sw.on("job.completed", ({ data }) => resolve(data.jobId)))
    await sw.start()
    const { jobId } = await session.send(message("1"))
    expect(await heard).toBe(jobId)
  })

  it("may send", async () => {
    const sw = await open()
    const { session } = await furnish(sw)
    sw.on("job.completed", async ({ data }) => {
      if (data.reference !== "thanks")
        await session.send({ ...message(`thanks-${data.jobId}`), reference: "thanks" })
    })
    await session.send(message("1"))
    await sw.drain()
    expect((await list(session.jobs({ reference: "thanks" }))).map(({ status }) => status)).toEqual([
      "completed"
    ])
  })
})

describe("a reader", () => {
  it("is done with an event once it asks for the next one; the last one is told again", async () => {
    const { account, session, sw } = await start()
    await sw.start()
    const read = async (isLast: (ids: ReadonlyArray<string>) => boolean) => {
      const ids: Array<string> = []
      for await (const { id } of sw.events()) {
        ids.push(id)
        if (isLast(ids)) break
      }
      return ids
    }
    const reading = read(({ length }) => length === 2)
    await session.send(message("1"))
    const [done, last] = await reading
    const [webhook] = await list(sw.admin.webhooks.list({ accountId: account.id }))
    const deliveries = () => list(sw.admin.webhooks.deliveries({ id: webhook?.id ?? "" }))
    const statusOf = async (id: string | undefined) =>
      (await deliveries()).find(({ eventId }) => eventId === id)?.status
    await expect.poll(() => statusOf(done)).toBe("delivered")
    expect(await statusOf(last)).toBe("pending")
    const rest = read((ids) => ids.at(-1) === last)
    for (const { id, status } of await deliveries())
      if (status === "pending") await sw.admin.deliveries.replay({ id })
    expect(await rest).toContain(last)
  })

  it("shares the events with another one", async () => {
    const { session, sw } = await start()
    const leave = new AbortController()
    const ids: Array<string> = []
    const read = async () => {
      for await (const { id } of sw.events({ signal: leave.signal })) ids.push(id)
    }
    const reading = [read(), read()]
    await session.send(message("1"))
    await sw.drain()
    leave.abort()
    await Promise.all(reading)
    expect(ids.length).toBeGreaterThan(1)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it("ends when Sendwright is stopped", async () => {
    const { sw } = await start()
    await sw.start()
    const all = list(sw.events())
    await sw.ready()
    await sw.stop()
    expect(await all).toEqual([])
  })

  it("ends when it is told to", async () => {
    const { sw } = await start()
    const leave = new AbortController()
    const all = list(sw.events({ signal: leave.signal }))
    leave.abort()
    expect(await all).toEqual([])
  })
})
