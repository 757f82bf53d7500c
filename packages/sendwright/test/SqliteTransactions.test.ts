/** A send in a transaction of the app's on SQLite, most of which are synchronous. */

import { mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Database from "better-sqlite3"
import { sql as drizzleSql } from "drizzle-orm"
import { drizzle } from "drizzle-orm/better-sqlite3"
import type { Sent, Transaction } from "sendwright"
import { createSendwright, SendwrightError } from "sendwright"
import { fromBetterSqlite3, fromDrizzle, fromNodeSqlite, type SqliteHandle, sqlite } from "sendwright/sqlite"
import { describe, expect, it, onTestFinished } from "vitest"
import { ana, furnish, list, platform, secretKey } from "./Support.ts"

/** A library over a handle: its transaction, which commits what the body did or rolls it back where it throws. */
interface Library {
  readonly database: SqliteHandle
  readonly transaction: <A>(body: (tx: Transaction, insert: () => void) => A) => A
  readonly rows: () => number
}

const create = "CREATE TABLE IF NOT EXISTS app (n INTEGER)"
const insert = "INSERT INTO app VALUES (1)"
const count = "SELECT n FROM app"

const betterSqlite3 = (): Library => {
  const database = new Database(":memory:")
  database.exec(create)
  return {
    database,
    transaction: (body) =>
      database.transaction(() => body(fromBetterSqlite3(database), () => database.exec(insert)))(),
    rows: () => database.prepare(count).all().length
  }
}

const drizzleOnIt = (): Library => {
  const database = new Database(":memory:")
  database.exec(create)
  const db = drizzle(database)
  return {
    database,
    transaction: (body) =>
      db.transaction((tx) => body(fromDrizzle(tx), () => void tx.run(drizzleSql.raw(insert)))),
    rows: () => database.prepare(count).all().length
  }
}

const DatabaseSync: (new (file: string) => SqliteHandle) | undefined = (() => {
  try {
    const module = createRequire(import.meta.url)("node:sqlite")
    return new module.DatabaseSync(":memory:").isTransaction === undefined ? undefined : module.DatabaseSync
  } catch {
    return undefined
  }
})()

const nodeSqlite = (Handle: new (file: string) => SqliteHandle) => (): Library => {
  const database = new Handle(":memory:")
  database.exec(create)
  return {
    database,
    transaction: (body) => {
      database.exec("BEGIN")
      try {
        const found = body(fromNodeSqlite(database), () => void database.exec(insert))
        database.exec("COMMIT")
        return found
      } catch (error) {
        database.exec("ROLLBACK")
        throw error
      }
    },
    rows: () => database.prepare(count).all().length
  }
}

const libraries: ReadonlyArray<readonly [string, () => Library]> = [
  ["better-sqlite3", betterSqlite3],
  ["Drizzle over better-sqlite3", drizzleOnIt],
  ...(DatabaseSync === undefined ? [] : [["node:sqlite", nodeSqlite(DatabaseSync)] as const])
]

const message = (idempotencyKey: string, phone = ana) => ({
  template: "hello",
  language: "en",
  to: [{ phone }],
  idempotencyKey
})

const given = async (open: () => Library) => {
  const library = open()
  const { sender, sent } = platform()
  const store = sqlite({ database: library.database, migrate: true })
  const sw = await createSendwright({ store, senders: [sender], secretKey, logLevel: "none" })
  onTestFinished(() => sw.stop({ graceMs: 0 }))
  const { session } = await furnish(sw, "own")
  return { library, sent, session, sw }
}

const refusal = (step: () => unknown): string => {
  try {
    step()
    return "nothing"
  } catch (error) {
    return error instanceof SendwrightError ? error.code : String(error)
  }
}

describe.each(libraries)("a synchronous transaction of %s", (_, open) => {
  it("that commits has the app's row and the send, which goes out after it", async () => {
    const { library, sent, session, sw } = await given(open)
    await sw.start()
    const { jobId } = library.transaction((tx, insertRow) => {
      insertRow()
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
      library.transaction((tx, insertRow) => {
        insertRow()
        lost = session.sendSync(message("1"), { tx })
        throw new Error("Undone.")
      })
    expect(undone).toThrow("Undone.")
    await sw.drain()
    expect([library.rows(), sent.length]).toEqual([0, 0])
    await expect(session.job(lost?.jobId ?? "")).rejects.toMatchObject({ code: "not_found" })
    expect((await session.send(message("1"))).replayed).toBe(false)
  })

  it("answers one key twice with one job, in it and after it", async () => {
    const { library, session } = await given(open)
    const [first, second] = library.transaction((tx) => [
      session.sendSync(message("1"), { tx }),
      session.sendSync(message("1"), { tx })
    ])
    expect(second).toEqual({ ...first, replayed: true })
    expect(await session.send(message("1"))).toMatchObject({ jobId: first?.jobId, replayed: true })
  })

  it("takes the largest send, and many in a row, without a turn of the event loop", async () => {
    const { library, session, sw } = await given(open)
    const phones = Array.from({ length: 250 }, (_, n) => `346${String(n).padStart(8, "0")}`)
    const consents = phones.map((phone) => ({ phone, source: "test" }))
    const [account] = await list(sw.admin.accounts.list())
    const accountId = account?.id ?? ""
    await sw.admin.consents.record({ accountId, consents })
    const sends = library.transaction((tx) =>
      Array.from({ length: 4 }, (_, n) =>
        session.sendSync({ ...message(String(n)), to: phones.map((phone) => ({ phone })) }, { tx })
      )
    )
    expect(new Set(sends.map(({ jobId }) => jobId)).size).toBe(4)
  })

  it("goes on after a refusal, which leaves nothing", async () => {
    const { library, session } = await given(open)
    const { jobId } = library.transaction((tx, insertRow) => {
      insertRow()
      expect(refusal(() => session.sendSync(message("1", "34699999999"), { tx }))).toBe("consent_required")
      return session.sendSync(message("1"), { tx })
    })
    expect((await session.job(jobId)).recipients).toBe(1)
    expect(library.rows()).toBe(1)
  })

  it("is refused once it is over, and so is that of another handle", async () => {
    const { library, session } = await given(open)
    const over = library.transaction((tx) => tx)
    expect(refusal(() => session.sendSync(message("1"), { tx: over }))).toBe("transaction_unsupported")
    const other = open()
    const elsewhere = other.transaction((tx) => refusal(() => session.sendSync(message("1"), { tx })))
    expect(elsewhere).toBe("transaction_unsupported")
  })
})

/** What who writes JavaScript may give. */
const untyped = (value: unknown): never => value as never

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
    const { library, sent, session, sw } = await given(betterSqlite3)
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
    const { library, sent, session } = await given(betterSqlite3)
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
    const { library, sent, session, sw } = await given(betterSqlite3)
    const wrong = { ...message("1"), idempotencyKey: untyped(key) }
    const invalid = { code: "invalid_request", issues: [{ path: "/idempotencyKey" }] }
    await expect(session.send(wrong)).rejects.toMatchObject(invalid)
    await expect(
      session.sendDirect({ to: ana, text: "Hi", idempotencyKey: untyped(key) })
    ).rejects.toMatchObject(invalid)
    expect(library.transaction((tx) => refusal(() => session.sendSync(wrong, { tx })))).toBe(
      "invalid_request"
    )
    await sw.drain()
    expect(sent).toEqual([])
  })
})

describe("sqlite({ file })", () => {
  it("keeps everything from one process to the next, events for handlers, too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sendwright-file-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const { sender } = platform()
    const options = { senders: [sender], secretKey, logLevel: "none" } as const
    const heard: Array<string> = []
    const file = join(folder, "app.db")

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
    await expect(without).rejects.toMatchObject({ code: "unavailable" })
    const sw = await createSendwright({ ...options, store: sqlite({ database, migrate: true }) })
    await sw.stop()
    expect(database.open).toBe(true)
  })
})
