/** A send in a transaction of the app's on SQLite, most of which are synchronous. */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setImmediate } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { inspect } from "node:util"
import Database from "better-sqlite3"
import { drizzle } from "drizzle-orm/better-sqlite3"
import type { Sent } from "sendwright"
import { createSendwright, SendwrightError } from "sendwright"
import { fromBetterSqlite3, fromDrizzle, fromNodeSqlite, type SqliteHandle, sqlite } from "sendwright/sqlite"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { libraries, missing, type Open } from "./SqliteLibraries.ts"
import { ana, furnish, list, platform, secretKey } from "./Support.ts"

const present: ReadonlyArray<readonly [string, Open]> = Object.entries(libraries)

for (const [name, why] of Object.entries(missing)) it.skip(`${name}: ${why}`)

const message = (idempotencyKey: string, phone = ana) => ({
  template: "hello",
  language: "en",
  to: [{ phone }],
  idempotencyKey
})

const given = async (open: Open, file = ":memory:") => {
  const library = open(file)
  const { sender, sent } = platform()
  const store = sqlite({ database: library.database, migrate: true })
  const sw = await createSendwright({ store, senders: [sender], secretKey, logLevel: "none" })
  onTestFinished(() => sw.stop({ graceMs: 0 }))
  const { session } = await furnish(sw, "own")
  return { library, sent, session, sw }
}

const folder = (): string => {
  const place = mkdtempSync(join(tmpdir(), "sendwright-file-"))
  onTestFinished(() => rmSync(place, { recursive: true }))
  return place
}

const caught = (step: () => unknown): unknown => {
  try {
    return step()
  } catch (error) {
    return error
  }
}

const refusal = (step: () => unknown): string => {
  try {
    step()
    return "nothing"
  } catch (error) {
    return error instanceof SendwrightError ? error.code : String(error)
  }
}

describe.each(present)("a synchronous transaction of %s", (_, open) => {
  it("that commits has the app's row and the send, which goes out after it", async () => {
    const { library, sent, session, sw } = await given(open)
    await sw.start()
    const { jobId } = library.transaction(({ insert, tx }) => {
      insert()
      return session.sendSync(message("1"), { tx })
    })
    expect(sent).toEqual([])
    await expect.poll(() => sent.length, { timeout: 5000, interval: 5 }).toBe(1)
    expect(library.rows()).toBe(1)
    await expect.poll(async () => (await session.job(jobId)).status, { timeout: 5000 }).toBe("completed")
  })

  it("that rolls back has neither, and the key is free", async () => {
    const { library, sent, session, sw } = await given(open)
    let lost: Sent | undefined
    const undone = () =>
      library.transaction(({ insert, tx }) => {
        insert()
        lost = session.sendSync(message("1"), { tx })
        throw new Error("Undone.")
      })
    expect(undone).toThrow("Undone.")
    await sw.drain()
    expect([library.rows(), sent.length]).toEqual([0, 0])
    await expect(session.job(lost?.jobId ?? "")).rejects.toMatchObject({ code: "not_found" })
    expect((await session.send(message("1"))).replayed).toBe(false)
  })

  it("has savepoints: what one takes back is not sent, and the rest is", async () => {
    const { library, sent, session, sw } = await given(open)
    const lost = library.transaction(({ insert, savepoint, tx }) => {
      session.sendSync(message("1"), { tx })
      let id = ""
      const undone = () =>
        savepoint((inner) => {
          insert()
          id = session.sendSync(message("2"), { tx: inner }).jobId
          throw new Error("Undone.")
        })
      expect(undone).toThrow("Undone.")
      session.sendSync(message("3"), { tx })
      return id
    })
    await sw.drain()
    expect([library.rows(), sent.length]).toEqual([0, 2])
    await expect(session.job(lost)).rejects.toMatchObject({ code: "not_found" })
  })

  it("answers one key twice with one job, in it and after it", async () => {
    const { library, session } = await given(open)
    const [first, second] = library.transaction(({ tx }) => [
      session.sendSync(message("1"), { tx }),
      session.sendSync(message("1"), { tx })
    ])
    expect(second).toEqual({ ...first, replayed: true })
    const third = library.transaction(({ tx }) => session.sendSync(message("1"), { tx }))
    expect(third).toMatchObject({ jobId: first?.jobId, replayed: true })
    expect(await session.send(message("1"))).toMatchObject({ jobId: first?.jobId, replayed: true })
  })

  it("refuses another message under its key, and goes on", async () => {
    const { library, sent, session, sw } = await given(open)
    library.transaction(({ insert, tx }) => {
      session.sendSync(message("1"), { tx })
      const other = { ...message("1"), reference: "other" }
      expect(refusal(() => session.sendSync(other, { tx }))).toBe("idempotency_conflict")
      insert()
      session.sendSync(message("2"), { tx })
    })
    await sw.drain()
    expect([library.rows(), sent.length]).toEqual([1, 2])
  })

  it("goes on after a refusal, which leaves nothing", async () => {
    const { library, session } = await given(open)
    const { jobId } = library.transaction(({ insert, tx }) => {
      insert()
      expect(refusal(() => session.sendSync(message("1", "34699999999"), { tx }))).toBe("consent_required")
      expect(refusal(() => session.sendSync({ ...message("1"), to: [] }, { tx }))).toBe("invalid_request")
      insert()
      return session.sendSync(message("1"), { tx })
    })
    expect((await session.job(jobId)).recipients).toBe(1)
    expect(library.rows()).toBe(2)
  })

  it("takes the largest send, and many in a row, without a turn of the event loop", async () => {
    const { library, session, sw } = await given(open)
    const phones = Array.from({ length: 250 }, (_, n) => `346${String(n).padStart(8, "0")}`)
    const consents = phones.map((phone) => ({ phone, source: "test" }))
    const [account] = await list(sw.admin.accounts.list())
    const accountId = account?.id ?? ""
    await sw.admin.consents.record({ accountId, consents })
    const sends = library.transaction(({ tx }) =>
      Array.from({ length: 4 }, (_, n) =>
        session.sendSync({ ...message(String(n)), to: phones.map((phone) => ({ phone })) }, { tx })
      )
    )
    expect(new Set(sends.map(({ jobId }) => jobId)).size).toBe(4)
  })

  it("whose statement fails goes on, and shows nothing of the message", async () => {
    const { library, sent, session, sw } = await given(open)
    library.database.exec(
      `CREATE TEMP TRIGGER refused BEFORE INSERT ON main.sendwright_job WHEN NEW.reference = 'secret'
        BEGIN SELECT RAISE(ABORT, 'refused'); END`
    )
    const failed = library.transaction(({ insert, tx }) => {
      insert()
      const failure = caught(() => session.sendSync({ ...message("1"), reference: "secret" }, { tx }))
      session.sendSync(message("2"), { tx })
      return failure
    })
    expect(failed).toBeInstanceOf(SendwrightError)
    const told = inspect(failed, { depth: null, showHidden: true })
    expect([told.includes("secret"), told.includes(ana)]).toEqual([false, false])
    await sw.drain()
    expect([library.rows(), sent.length]).toEqual([1, 1])
  })

  it("of a database that takes no writes says so", async () => {
    const { library, session } = await given(open)
    library.database.exec("PRAGMA query_only = ON")
    library.database.exec("BEGIN")
    const refused = caught(() => session.sendSync(message("1"), { tx: library.made() }))
    expect(refused).toMatchObject({
      code: "transaction_unsupported",
      message: expect.stringMatching(/takes no writes/)
    })
    library.database.exec("ROLLBACK")
  })

  it("is refused once it is over, and before it began", async () => {
    const { library, session } = await given(open)
    const notOpen = {
      code: "transaction_unsupported",
      message: expect.stringMatching(/no transaction is open/)
    }
    expect(caught(() => session.sendSync(message("1"), { tx: library.made() }))).toMatchObject(notOpen)
    const over = library.transaction(({ tx }) => tx)
    expect(caught(() => session.sendSync(message("1"), { tx: over }))).toMatchObject(notOpen)
  })

  it("of another handle is refused, also where that has the same file open", async () => {
    const file = join(folder(), "app.db")
    const { session } = await given(open, file)
    const other = open(file)
    const refused = other.transaction(({ tx }) => caught(() => session.sendSync(message("1"), { tx })))
    expect(refused).toMatchObject({
      code: "transaction_unsupported",
      message: expect.stringMatching(/not the one that the engine was given/)
    })
  })

  it("of a handle that was closed is refused with why", async () => {
    const { library, session } = await given(open)
    const tx = library.made()
    library.close()
    expect(caught(() => session.sendSync(message("1"), { tx }))).toMatchObject({
      code: "transaction_unsupported",
      message: expect.stringMatching(/handle was closed/)
    })
  })
})

describe.each(present)("a transaction of %s that waits", (_, open) => {
  it("has its own sends, and the others wait for its end", async () => {
    const { library, sent, session, sw } = await given(open)
    await sw.start()
    library.database.exec("BEGIN")
    const own = await session.send(message("1"), { tx: library.made() })
    const outside = session.send(message("2"))
    for (let turn = 0; turn < 10; turn++) await setImmediate()
    expect(sent).toEqual([])
    library.database.exec("COMMIT")
    const other = await outside
    await expect.poll(() => sent.length, { timeout: 5000, interval: 5 }).toBe(2)
    expect(new Set([own.jobId, other.jobId]).size).toBe(2)
  })

  it("refuses a send that it awaits without handing itself over, and is whole afterwards", async () => {
    const { library, session } = await given(open)
    library.database.exec("BEGIN")
    await expect(session.send(message("1"))).rejects.toMatchObject({
      code: "transaction_unsupported",
      message: expect.stringMatching(/transaction was open that the engine was not given/)
    })
    await expect(list(session.jobs())).rejects.toMatchObject({ code: "transaction_unsupported" })
    library.database.exec("COMMIT")
    expect((await session.send(message("1"))).replayed).toBe(false)
  })

  it("is waited for by what the engine does of itself, for as long as it takes", async () => {
    const { library, sent, session, sw } = await given(open)
    await sw.start()
    library.database.exec("BEGIN")
    await session.send(message("1"), { tx: library.made() })
    // A caller's patience is over before: the dispatcher's is not.
    await expect(session.send(message("2"))).rejects.toMatchObject({ code: "transaction_unsupported" })
    expect(sent).toEqual([])
    library.database.exec("COMMIT")
    await expect.poll(() => sent.length, { timeout: 5000, interval: 5 }).toBe(1)
  })

  it("has its key to itself: a send outside gets its job after a commit, and one of its own after a rollback", async () => {
    const { library, session } = await given(open)
    library.database.exec("BEGIN")
    const first = await session.send(message("1"), { tx: library.made() })
    const second = session.send(message("1"))
    await setImmediate()
    library.database.exec("COMMIT")
    expect(await second).toEqual({ ...first, replayed: true })

    library.database.exec("BEGIN")
    const lost = await session.send(message("2"), { tx: library.made() })
    const next = session.send(message("2"))
    await setImmediate()
    library.database.exec("ROLLBACK")
    const sent = await next
    expect([sent.replayed, sent.jobId === lost.jobId]).toEqual([false, false])
  })
})

describe("a process that is killed before its commit", () => {
  const place = mkdtempSync(join(tmpdir(), "sendwright-killed-"))
  const fileOf = (name: string): string => join(place, `${name.replaceAll(/\W/g, "-")}.db`)
  const killed = new Map<string, Sent>()

  beforeAll(async () => {
    const file = fileURLToPath(new URL("KilledSqliteApp.ts", import.meta.url))
    const given = ["--import", "tsx", "--conditions=@sendwright/source", file, secretKey]
    const files = present.map(([name]) => JSON.stringify([name, fileOf(name)]))
    const child = spawn(process.execPath, [...given, ...files], { stdio: ["ignore", "pipe", "inherit"] })
    const exited = once(child, "exit")
    for await (const line of createInterface(child.stdout)) {
      const [name, sent] = JSON.parse(line)
      killed.set(name, sent)
      if (killed.size === present.length) child.kill("SIGKILL")
    }
    await exited
    expect([...killed.keys()]).toEqual(present.map(([name]) => name))
  }, 60_000)
  afterAll(() => rmSync(place, { recursive: true }))

  it.each(present)(
    "leaves nothing of a transaction of %s, no lock, and its key is free",
    async (name, open) => {
      const library = open(fileOf(name))
      const { sender, sent } = platform()
      const store = sqlite({ database: library.database })
      const sw = await createSendwright({ store, senders: [sender], secretKey, logLevel: "none" })
      onTestFinished(() => sw.stop({ graceMs: 0 }))
      const [account] = await list(sw.admin.accounts.list())
      const [found] = await list(sw.admin.sessions.list({ accountId: account?.id ?? "" }))
      const session = sw.session(found?.id ?? "")
      await expect(session.job(killed.get(name)?.jobId ?? "")).rejects.toMatchObject({ code: "not_found" })
      expect(library.rows()).toBe(0)
      const again = library.transaction(({ tx }) => session.sendSync(message("killed"), { tx }))
      expect(again.replayed).toBe(false)
      await sw.drain()
      expect(sent.length).toBe(1)
    }
  )
})

describe("a handle of the app's", () => {
  it("may read integers as bigints", async () => {
    const open: Open = (file) => {
      const library = libraries["better-sqlite3"](file)
      if (library.database instanceof Database) library.database.defaultSafeIntegers(true)
      return library
    }
    const { library, sent, session, sw } = await given(open)
    const first = library.transaction(({ tx }) => session.sendSync(message("1"), { tx }))
    expect(await session.send(message("1"))).toEqual({ ...first, replayed: true })
    await sw.drain()
    expect(sent.length).toBe(1)
  })

  it.each<[string, RegExp, () => unknown]>([
    ["a path", /^fromBetterSqlite3 takes the `Database`/, () => fromBetterSqlite3(untyped("app.db"))],
    [
      "another library's",
      /^fromBetterSqlite3 takes the `Database`/,
      () => fromBetterSqlite3(untyped({ exec: () => {}, prepare: () => {}, isTransaction: true }))
    ],
    ["nothing", /^fromNodeSqlite takes the `DatabaseSync`/, () => fromNodeSqlite(untyped(undefined))],
    [
      "better-sqlite3's",
      /^fromNodeSqlite takes the `DatabaseSync`.+ What is given here is for fromBetterSqlite3\.$/,
      () => fromNodeSqlite(new Database(":memory:"))
    ],
    [
      "a transaction of Drizzle's",
      /^fromBetterSqlite3 takes .+ What is given here is for fromDrizzle\.$/,
      () => drizzle(new Database(":memory:")).transaction((tx) => fromBetterSqlite3(untyped(tx)))
    ],
    [
      "the database in the place of its transaction",
      /^fromDrizzle takes the `tx`/,
      () => fromDrizzle(untyped(drizzle(new Database(":memory:"))))
    ]
  ])("is refused by an adapter with what to give: %s", (_, words, give) => {
    expect(give).toThrow(expect.objectContaining({ code: "transaction_unsupported" }))
    expect(give).toThrow(words)
  })
})

/** What who writes JavaScript may give. */
const untyped = (value: unknown): never => value as never

describe("a consent that is recorded in a transaction", () => {
  const cleo = "34600009012"
  it.each([
    ["COMMIT", 1, "nothing"],
    ["ROLLBACK", 0, "consent_required"]
  ])("is a part of it, and so is the send that goes by it: %s", async (end, messages, afterwards) => {
    const { library, sent, session, sw } = await given(libraries["better-sqlite3"])
    const { database } = library
    const [account] = await list(sw.admin.accounts.list())
    const agreed = { accountId: account?.id ?? "", consents: [{ phone: cleo, source: "checkout" }] }
    database.exec("BEGIN")
    const tx = fromBetterSqlite3(database)
    expect(await sw.admin.consents.record(agreed, { tx })).toMatchObject({ recorded: 1 })
    await session.send(message("1", cleo), { tx })
    database.exec(end)
    await sw.drain()
    expect(sent).toHaveLength(messages)
    const later = session.send(message("2", cleo)).then(
      () => "nothing",
      (error: unknown) => (SendwrightError.is(error) ? error.code : String(error))
    )
    expect(await later).toBe(afterwards)
    const record: (given: unknown, options: unknown) => Promise<unknown> = untyped(sw.admin.consents.record)
    await expect(record(agreed, { transaction: tx })).rejects.toMatchObject({
      code: "transaction_unsupported"
    })
  })
})

describe("options of a send that leave it unclear where it is", () => {
  const tx = (database: SqliteHandle) => fromBetterSqlite3(database)
  it.each<[string, (database: SqliteHandle) => unknown]>([
    ["the transaction itself", tx],
    ["the handle itself", (database) => database],
    ["another name", (database) => ({ transaction: tx(database) })],
    ["a variable that was never set", () => ({ tx: undefined })],
    ["nothing at all", () => null],
    ["the handle as `tx`", (database) => ({ tx: database })]
  ])("are refused, and nothing is sent: %s", async (_, options) => {
    const { library, sent, session, sw } = await given(libraries["better-sqlite3"])
    const { database } = library
    database.exec("BEGIN")
    const send = session.send(message("1"), untyped(options(database)))
    await expect(send).rejects.toMatchObject({ code: "transaction_unsupported" })
    expect(refusal(() => session.sendSync(message("1"), untyped(options(database))))).toBe(
      "transaction_unsupported"
    )
    database.exec("ROLLBACK")
    await sw.drain()
    expect(sent).toEqual([])
  })

  it("are refused where sendSync has none and sendDirect has any", async () => {
    const { library, sent, session } = await given(libraries["better-sqlite3"])
    const sendSync: (message: never) => unknown = untyped(session.sendSync)
    expect(refusal(() => sendSync(untyped(message("1"))))).toBe("transaction_unsupported")
    const sendDirect: (message: unknown, options: unknown) => Promise<unknown> = untyped(session.sendDirect)
    const direct = { to: ana, text: "Hi", idempotencyKey: "1" }
    await expect(
      sendDirect(direct, { tx: fromBetterSqlite3(untyped(library.database)) })
    ).rejects.toMatchObject({
      code: "transaction_unsupported"
    })
    expect(sent).toEqual([])
  })
})

describe("a key that is no text", () => {
  it.each([null, 1, Number.NaN, true, {}])("is refused, and nothing is sent: %s", async (key) => {
    const { library, sent, session, sw } = await given(libraries["better-sqlite3"])
    const wrong = { ...message("1"), idempotencyKey: untyped(key) }
    const invalid = { code: "invalid_request", issues: [{ path: "/idempotencyKey" }] }
    await expect(session.send(wrong)).rejects.toMatchObject(invalid)
    await expect(
      session.sendDirect({ to: ana, text: "Hi", idempotencyKey: untyped(key) })
    ).rejects.toMatchObject(invalid)
    expect(library.transaction(({ tx }) => refusal(() => session.sendSync(wrong, { tx })))).toBe(
      "invalid_request"
    )
    await sw.drain()
    expect(sent).toEqual([])
  })
})

describe("sqlite({ file })", () => {
  it("keeps everything from one process to the next, events for handlers, too", async () => {
    const { sender } = platform()
    const options = { senders: [sender], secretKey, logLevel: "none" } as const
    const heard: Array<string> = []
    const file = join(folder(), "app.db")

    const first = await createSendwright({
      ...options,
      store: sqlite({ file }),
      on: { "job.completed": () => {} }
    })
    const { session } = await furnish(first, "own")
    const { jobId } = await session.send(message("1"))
    await first.stop({ graceMs: 0 })

    // A process that hears nothing of it leaves the event to one that does.
    const second = await createSendwright({ ...options, store: sqlite({ file }) })
    await second.drain()
    expect((await second.session(session.id).job(jobId)).status).toBe("completed")
    await second.stop({ graceMs: 0 })

    const third = await createSendwright({
      ...options,
      store: sqlite({ file }),
      on: { "job.completed": ({ data }) => void heard.push(data.jobId) }
    })
    await third.drain()
    expect(heard).toEqual([jobId])
    await third.stop({ graceMs: 0 })
  })

  it("takes no transaction", async () => {
    const store = sqlite({ file: ":memory:" })
    const sw = await createSendwright({ store, senders: [platform().sender], secretKey, logLevel: "none" })
    onTestFinished(() => sw.stop({ graceMs: 0 }))
    const { session } = await furnish(sw, "own")
    const database = new Database(":memory:")
    database.exec("BEGIN")
    expect(refusal(() => session.sendSync(message("1"), { tx: fromBetterSqlite3(database) }))).toBe(
      "transaction_unsupported"
    )
  })
})

describe("sqlite({ database })", () => {
  it("is migrated only when told, and stays open", async () => {
    const database = new Database(":memory:")
    const options = { senders: [platform().sender], secretKey, logLevel: "none" } as const
    const without = createSendwright({ ...options, store: sqlite({ database }) })
    await expect(without).rejects.toMatchObject({ code: "migration_required" })
    const sw = await createSendwright({ ...options, store: sqlite({ database, migrate: true }) })
    await sw.stop()
    expect(database.open).toBe(true)
  })
})
