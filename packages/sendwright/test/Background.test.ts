/** What an app hears of the work in the background: by its own logger, by `error`, and by numbers; and how much of it there is. */
import { once } from "node:events"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import Database from "better-sqlite3"
import { type Logger, SendwrightError, sandbox } from "sendwright"
import { sqlite } from "sendwright/sqlite"
import { describe, expect, it, onTestFinished } from "vitest"
import { ana, bea, furnish, open, platform, start } from "./Support.ts"

type Line = readonly [level: keyof Logger, message: string, details: Readonly<Record<string, unknown>>]

/** A logger of the app's, and what it was told. */
const listening = () => {
  const lines: Array<Line> = []
  const at =
    (level: keyof Logger): Logger["info"] =>
    (message, details) =>
      void lines.push([level, message, details])
  const logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }
  return { lines, logger }
}

const message = (idempotencyKey: string) => ({ template: "hello", to: [{ phone: ana }], idempotencyKey })

const fails = () => {
  throw new Error("Not today.")
}

describe("a logger of the app's", () => {
  it("is told in the place of the console, at its level, with what it is about and why", async () => {
    const { lines, logger } = listening()
    const { session, sw } = await start({ logger, logLevel: "warning", on: { "job.completed": fails } })
    await session.send(message("1"))
    await sw.drain()
    expect(lines.map(([level, message]) => [level, message])).toEqual([["error", "A handler failed"]])
    expect(String(lines[0]?.[2]["cause"])).toContain("Not today.")
  })

  it("is told what `logLevel` asks for, and no more", async () => {
    const all = listening()
    const none = listening()
    await open({ logger: none.logger, logLevel: "none", on: { error: () => {} } })
    const sender = platform({ send: fails }).sender
    const { sw } = await start({ logger: all.logger, logLevel: "debug", senders: [sender, sandbox()] })
    const { session } = await furnish(sw, "own")
    await session.send(message("1"))
    await sw.drain()
    expect(all.lines.length).toBeGreaterThan(0)
    expect(none.lines).toEqual([])
  })

  it("that throws stops nothing", async () => {
    const logger = { debug: fails, info: fails, warn: fails, error: fails }
    const { session, sw } = await start({ logger, logLevel: "debug", on: { "job.completed": fails } })
    const { jobId } = await session.send(message("1"))
    await sw.drain()
    expect((await session.job(jobId)).status).toBe("completed")
  })
})

describe("a handler of `error`", () => {
  it("hears of a handler that failed, with what it threw, and of which event", async () => {
    const heard: Array<SendwrightError> = []
    const { session, sw } = await start({ on: { "job.completed": fails } })
    const off = sw.on("error", (error) => void heard.push(error))
    await session.send(message("1"))
    await sw.drain()
    const [error] = heard
    expect(heard.length).toBe(1)
    expect(SendwrightError.is(error) && error.code).toBe("handler_failed")
    expect(error?.message).toContain('A handler of "job.completed" failed')
    expect(error?.message).toContain("Not today.")
    expect(error?.cause).toMatchObject({ message: "Not today." })
    expect(error?.details).toMatchObject({ pattern: "job.completed", eventType: "job.completed" })
    off()
    await session.send(message("2"))
    await sw.drain()
    expect(heard.length).toBe(1)
  })

  it("hears what failed in the background, whatever is logged", async () => {
    const database = new Database(":memory:")
    const store = sqlite({ database, migrate: true })
    let hear = (_: SendwrightError): void => {}
    const heard = new Promise<SendwrightError>((resolve) => {
      hear = resolve
    })
    const { sw } = await start({ store, logLevel: "none", on: { error: (error) => hear(error) } })
    await sw.start()
    database.close()
    expect(await heard).toMatchObject({ name: "SendwrightError", code: "unavailable" })
  })

  it("that throws is told to the log alone", async () => {
    const { lines, logger } = listening()
    const { session, sw } = await start({
      logger,
      logLevel: "warning",
      on: { "job.completed": fails, error: fails }
    })
    await session.send(message("1"))
    await sw.drain()
    await expect
      .poll(() => lines.map(([level, message]) => [level, message]))
      .toEqual([
        ["error", "A handler failed"],
        ["warn", 'A handler of "error" failed']
      ])
  })

  it("keeps no events", async () => {
    const { account, sw } = await start({ on: { error: () => {} } })
    await sw.ready()
    for await (const webhook of sw.admin.webhooks.list({ accountId: account.id }))
      throw new Error(`${webhook.url} is kept.`)
  })
})

describe("a handler that fails again and again, in the background", () => {
  it("is told by its pattern each time, and is no webhook that nobody made", async () => {
    const { lines, logger } = listening()
    const errors: Array<SendwrightError> = []
    const on = { "job.completed": fails, error: (error: SendwrightError) => void errors.push(error) }
    const { session, sw } = await start({ logger, logLevel: "info", on })
    await sw.start()
    for (const key of ["1", "2", "3", "4"]) await session.send(message(key))
    await expect.poll(() => errors.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(4)
    await sw.stop()
    expect(new Set(lines.map(([, text]) => text))).toEqual(new Set(["A handler failed"]))
    expect(new Set(errors.map(({ details }) => details["pattern"]))).toEqual(new Set(["job.completed"]))
  })

  it("nor is a reader that leaves, which is no failure at all", async () => {
    const { lines, logger } = listening()
    const { session, sw } = await start({ logger, logLevel: "info" })
    await sw.start()
    for (const key of ["1", "2", "3", "4"]) {
      const reading = (async () => {
        for await (const _ of sw.events()) break
      })()
      await session.send(message(key))
      await reading
    }
    await sw.stop()
    expect(lines).toEqual([])
  })
})

describe("webhooks", () => {
  const receiver = async () => {
    const types: Array<unknown> = []
    const server = createServer(async (request, response) => {
      types.push(JSON.parse(await text(request)).type)
      response.end()
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === "object" ? address?.port : undefined
    return { types, url: `http://127.0.0.1:${port}/hooks` }
  }

  it("go to this machine where its network is allowed, while developing", async () => {
    const { types, url } = await receiver()
    const { account, session, sw } = await start({ webhooks: { allowedNetworks: ["127.0.0.0/8"] } })
    await sw.admin.webhooks.create({ accountId: account.id, url, events: ["job.completed"] })
    await session.send(message("1"))
    await sw.drain()
    expect(types).toEqual(["job.completed"])
  })

  it("are refused there otherwise, by the name of what allows it", async () => {
    const { url } = await receiver()
    const { account, sw } = await start()
    await expect(sw.admin.webhooks.create({ accountId: account.id, url })).rejects.toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("`webhooks.allowedNetworks`")
    })
  })
})

describe("`concurrency`", () => {
  it("is how many sends are under way at once", async () => {
    let underWay = 0
    let most = 0
    const { sender } = platform({
      send: async () => {
        underWay += 1
        most = Math.max(most, underWay)
        await new Promise((resolve) => setTimeout(resolve, 5))
        underWay -= 1
        return { outcome: "accepted" }
      }
    })
    const sw = await open({ senders: [sender], concurrency: 2 })
    const { account, session } = await furnish(sw, "own")
    const phones = [ana, bea, ...Array.from({ length: 6 }, (_, place) => `3460000000${place}`)]
    const consents = phones.map((phone) => ({ phone, source: "test" }))
    await sw.admin.consents.record({ accountId: account.id, consents })
    const to = phones.map((phone) => ({ phone }))
    const { jobId } = await session.send({ template: "hello", to, idempotencyKey: "1" })
    await sw.drain()
    expect([most, (await session.job(jobId)).counts.accepted]).toEqual([2, 8])
  })
})

describe("`metrics`", () => {
  it("is the text of /metrics, with what this process has done and which build it is", async () => {
    const { session, sw } = await start()
    const accepted = async () =>
      Number(/^sendwright_accepted_recipients_total (\d+)$/m.exec(await sw.metrics())?.[1])
    const before = await accepted()
    await session.send(message("1"))
    expect(await accepted()).toBe(before + 1)
    expect(await sw.metrics()).toMatch(/^sendwright_build_info\{.*role="embedded".*\} 1$/m)
  })
})
