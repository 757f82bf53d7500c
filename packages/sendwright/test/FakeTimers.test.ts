/** The fakes of a test runner are for the app's time: the kit's own goes on beside them. */
import { mock, type TestContext } from "node:test"
import Database from "better-sqlite3"
import { memory, type Store } from "sendwright"
import { fromBetterSqlite3, sqlite } from "sendwright/sqlite"
import { assertions, createTestSendwright } from "sendwright/testing"
import { afterEach, describe, expect, it, vi } from "vitest"
import { ana } from "./Support.ts"

type Faked = NonNullable<Parameters<TestContext["mock"]["timers"]["enable"]>[0]>["apis"]

const everything: Faked = ["setTimeout", "setInterval", "setImmediate", "Date"]

const runners = {
  "vitest's": () => void vi.useFakeTimers(),
  "vitest's of everything, as of jest and sinon": () =>
    void vi.useFakeTimers({
      toFake: [
        ...(["setTimeout", "clearTimeout", "setInterval", "clearInterval", "setImmediate"] as const),
        ...(["clearImmediate", "Date", "performance", "hrtime", "queueMicrotask"] as const)
      ]
    }),
  "node:test's": () => mock.timers.enable({ apis: everything })
}

afterEach(() => {
  vi.useRealTimers()
  mock.timers.reset()
})

const handle = () => new Database(":memory:")
const stores: Readonly<Record<string, () => Store>> = {
  "memory()": memory,
  "sqlite({ file })": () => sqlite({ file: ":memory:" }),
  "sqlite({ database })": () => sqlite({ database: handle(), migrate: true })
}

describe.each(Object.entries(runners))("under %s", (_, fake) => {
  it.each(Object.entries(stores))("the kit over %s sends, waits, hears and stops", async (_name, make) => {
    fake()
    const t = await createTestSendwright({
      store: make(),
      now: new Date(Date.UTC(2026, 0, 5)),
      patienceMs: 200
    })
    const heard: Array<string> = []
    t.sw.on("message.received", async ({ data }) => void heard.push(data.text))
    await t.sw.ready()
    t.platform.next(ana).isBusy("30 s").next(ana).crashesAfterSending()
    await t.send({ to: Array.from({ length: 50 }, (_each, place) => `3460000${1000 + place}`).concat(ana) })
    await t.advance("1 hour")
    assertions.toHaveBeenDelivered(t.person(ana), { times: 1 })
    await t.person(ana).replies("hello")
    expect(heard).toEqual(["hello"])
    t.sw.on("consent.revoked", () => new Promise(() => {}))
    await expect(t.person(ana).replies("STOP")).rejects.toMatchObject({ code: "handler_late" })
    await t.stop()
  })

  it("a send waits for the app's transaction to end", async () => {
    fake()
    const database = handle()
    const t = await createTestSendwright({ store: sqlite({ database, migrate: true }) })
    await t.consent(ana)
    database.exec("BEGIN")
    const tx = fromBetterSqlite3(database)
    const message = { template: "hello", language: "en", to: [{ phone: ana }] }
    await t.session.send({ ...message, idempotencyKey: "1" }, { tx })
    database.exec("COMMIT")
    await t.advance("1 min")
    assertions.toHaveSent(t, 1)
    await t.stop()
  })
})

it("what was faked before the kit was loaded does not stop it either", async () => {
  vi.useFakeTimers()
  vi.resetModules()
  const testing = await import("sendwright/testing")
  expect(testing.createTestSendwright).not.toBe(createTestSendwright)
  const t = await testing.createTestSendwright({ patienceMs: 50 })
  t.sw.on("recipient.delivered", () => new Promise(() => {}))
  await t.send({ to: ana })
  await expect(t.advance("1 min")).rejects.toMatchObject({ code: "handler_late" })
  await t.stop()
})
