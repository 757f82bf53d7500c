/** contract.md §13: a store moves from SQLite to PostgreSQL whole, and goes on there where it was. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import { Postgres } from "@sendwright/core/postgres"
import { everyTable } from "@sendwright/core/sql"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { connection, freshDatabase } from "../../../../test/support/Postgres.ts"
import {
  at,
  consent,
  eventually,
  items,
  sendBody,
  start,
  type Tenant,
  tenant
} from "../../../../test/support/TestHost.ts"
import * as InProcess from "./InProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-copy-"))
const scope = Effect.runSync(Scope.make())
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(folder, { recursive: true, force: true })
})

const scoped = <A>(effect: Effect.Effect<A, never, Scope.Scope>) =>
  Effect.runPromise(Scope.extend(effect, scope))

const on =
  (file: string) =>
  (...args: ReadonlyArray<string>) =>
    InProcess.run({ DATABASE_URL: `sqlite:${join(folder, file)}` }, args)

/** Rows of a table that say nothing, but hold each type's unusual values. */
const unusual = (table: (typeof everyTable)[number], row: number) =>
  Object.fromEntries(
    table.ordered.flatMap(({ name, sql }) => {
      const number = 2 ** 52 + row
      if (/^(?:long|key|publicKey)\b/.test(sql)) return [[name, number]]
      if (sql.startsWith("INTEGER")) return [[name, row]]
      return [[name, sql.startsWith("real") ? 0.1 + row : `é😀 '"\\ \n\t${row}`]]
    })
  )

describe("a copy of SQLite on PostgreSQL", () => {
  it("has each row of each table as it was, and gives no number again", async () => {
    await on("all.db")("accounts", "list")
    const db = new Sqlite(join(folder, "all.db"))
    // The hold has one row, which says something.
    const tables = everyTable.filter(({ name }) => name !== "sendwright_quarantine")
    for (const table of tables)
      for (const row of [0, 1, 2]) {
        const values = unusual(table, row)
        const columns = Object.keys(values)
        db.prepare(
          `INSERT INTO ${table.name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`
        ).run(...Object.values(values))
      }
    const last = db.prepare("SELECT max(id) FROM sendwright_template").pluck().get()
    db.prepare("DELETE FROM sendwright_template WHERE id = ?").run(last)
    const rowsOf = (name: string) => db.prepare<[], object>(`SELECT * FROM ${name}`).all()
    const before = new Map(tables.map(({ name }) => [name, rowsOf(name)]))
    db.close()

    const url = await scoped(freshDatabase)
    const { code, err, json } = await on("all.db")("copy", url)
    expect([code, err]).toEqual([0, ""])
    expect(at(json, "copy", "rows")).toBe([...before.values()].flat().length)

    const to = await scoped(connection(url))
    for (const [name, rows] of before) {
      const found = await to.query(`SELECT to_json(t)::text AS row FROM ${name} AS t`)
      const sorted = (some: ReadonlyArray<object>) => some.map((row) => JSON.stringify(row)).sort()
      const inOrder = (row: object) =>
        Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))
      expect([name, sorted(found.rows.map(({ row }) => inOrder(JSON.parse(row))))]).toEqual([
        name,
        sorted(rows.map(inOrder))
      ])
    }
    const next = await to.query("SELECT nextval(pg_get_serial_sequence('sendwright_template', 'id')) AS id")
    expect(Number(next.rows[0].id)).toBe(Number(last) + 1)
  }, 60_000)

  it("has U+FFFD where a platform wrote NUL, which PostgreSQL's text cannot have", async () => {
    await on("nul.db")("accounts", "create", "--name", "Shop", "--currency", "EUR")
    const db = new Sqlite(join(folder, "nul.db"))
    db.prepare("UPDATE sendwright_account SET name = ?").run("a\0b \\u0000")
    db.close()
    const url = await scoped(freshDatabase)
    expect(await on("nul.db")("copy", url)).toMatchObject({ code: 0, err: "" })
    const to = await scoped(connection(url))
    expect((await to.query("SELECT name FROM sendwright_account")).rows).toEqual([
      { name: "a\ufffdb \\u0000" }
    ])
  }, 60_000)

  it("is none of what is open or not there, and goes to no database that has something", async () => {
    const url = await scoped(freshDatabase)
    const host = await start({ DATABASE_URL: `sqlite:${join(folder, "open.db")}` })
    try {
      expect(await on("open.db")("copy", url)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/is open in another process.* stop the host/)
      })
    } finally {
      await host.stop()
    }
    expect((await on("none.db")("copy", url)).err).toContain("There is no database")
    expect((await on("open.db")("copy", "postgres://ana@127.0.0.1:1/none")).err).toMatch(
      /^Nothing was copied\. PostgreSQL at 127\.0\.0\.1:1 .*ECONNREFUSED/
    )
    await on("open.db")("accounts", "create", "--name", "Shop", "--currency", "EUR")
    expect((await on("open.db")("copy", url)).code).toBe(0)
    expect(await on("open.db")("copy", url)).toMatchObject({
      code: 1,
      err: expect.stringContaining("has rows of Sendwright already")
    })
  }, 60_000)

  it("goes to PostgreSQL alone, and never to what an address of another kind may mean", async () => {
    await on("kinds.db")("accounts", "list")
    for (const url of [
      `sqlite:${join(folder, "kinds.db")}`,
      "mysql://ana:secret@127.0.0.1:1/none",
      "none",
      ""
    ])
      expect((await on("kinds.db")("copy", url)).err).toMatch(/^A copy goes to PostgreSQL/)
  }, 60_000)

  it("leaves one that sends where its end fails, and is made whole by the next", async () => {
    const url = await scoped(freshDatabase)
    await on("cut.db")("accounts", "create", "--name", "Shop", "--currency", "EUR")
    await Effect.runPromise(Postgres.migrate({ url: Redacted.make(url) }))
    const to = await scoped(connection(url))
    await to.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'cut'; END $$;
      CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON sendwright_account DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse()`)
    const held = () => {
      const db = new Sqlite(join(folder, "cut.db"), { readonly: true })
      try {
        return db.prepare("SELECT count(*) FROM sendwright_quarantine").pluck().get() === 1
      } finally {
        db.close()
      }
    }
    expect(held()).toBe(false)
    expect(await on("cut.db")("copy", url)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/may be stored or not, and the SQLite database is held. cut/)
    })
    expect(held()).toBe(true)
    await to.query("DROP TRIGGER cut ON sendwright_account")
    const { code, json } = await on("cut.db")("copy", url)
    expect([code, at(json, "copy", "next_step")]).toEqual([
      0,
      expect.stringContaining("The store was held before, and so is the copy")
    ])
  }, 60_000)
})

describe("after a copy", () => {
  const file = join(folder, "moved.db")
  const onSqlite = { DATABASE_URL: `sqlite:${file}` }
  const phones = ["34600001111", "34600002222", "34600003333"] as const
  const unclear = "34600000006"
  const heard: Array<string> = []
  const receiver = createServer(async (request, response) => {
    const event = await json(request)
    heard.push(`${at(event, "type")} ${at(event, "data", "job_id")}`)
    response.end()
  })
  let shop: Tenant
  let first: string
  let waiting: string
  let waitingBody: unknown
  let postgres: Readonly<Record<string, string>>

  beforeAll(async () => {
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
    const { port } = receiver.address() as AddressInfo
    const host = await start(onSqlite)
    shop = await tenant(host)
    await consent(host, shop.accountId, ...phones, unclear)
    await host.admin(`/accounts/${shop.accountId}/webhooks`, {
      url: `http://127.0.0.1:${port}/`,
      events: ["job.completed"]
    })
    first = String(at((await shop.send(sendBody(shop.templateId, unclear), "first")).json, "job_id"))
    await eventually(
      () => shop.get(`/api/v1/template-messages/${first}`),
      ({ json }) => at(json, "job", "status") === "completed"
    )
    await host.admin(`/accounts/${shop.accountId}/consents`, {
      consents: [{ phone: phones[2], source: "test", status: "revoked" }]
    })
    await host.stop()
    // Accepts, and sends nothing.
    const accepting = await start({ ...onSqlite, ROLE: "api", PORT: new URL(host.base).port })
    waitingBody = sendBody(shop.templateId, phones[0], phones[1])
    waiting = String(at((await shop.send(waitingBody, "waiting")).json, "job_id"))
    await accepting.stop()
    const url = await scoped(freshDatabase)
    const { err, json: answer } = await on("moved.db")("copy", url)
    expect(err).toBe("")
    const key = readFileSync(String(at(answer, "copy", "key_file")), "utf8").trim()
    postgres = { DATABASE_URL: url, SECRET_KEY: key, PORT: new URL(host.base).port }
  }, 120_000)
  afterAll(() => {
    receiver.close()
  })

  it("what was accepted goes out once, what is unknown stays, and keys, refusals and webhooks hold", async () => {
    const host = await start(postgres)
    try {
      // Receipts may follow the job's end.
      const done = await eventually(
        () => shop.get(`/api/v1/template-messages/${waiting}`),
        ({ json }) => at(json, "job", "counts", "delivered") === 2
      )
      expect(at(done.json, "job")).toMatchObject({ status: "completed", counts: { delivered: 2 } })
      const results = await shop.get(`/api/v1/template-messages/${waiting}`)
      expect(items(results.json, "job", "results").map((one) => at(one, "attempts"))).toEqual([1, 1])
      expect(at((await shop.get(`/api/v1/template-messages/${first}`)).json, "job", "counts")).toMatchObject({
        unknown: 1
      })
      expect(at((await shop.send(waitingBody, "waiting")).json, "job_id")).toBe(waiting)
      const refused = await shop.send(sendBody(shop.templateId, phones[2]), "refused")
      expect([refused.status, at(refused.json, "code")]).toEqual([403, "consent_required"])
      await eventually(
        async () => heard,
        (all) => all.length >= 2
      )
      expect(heard).toEqual([`job.completed ${first}`, `job.completed ${waiting}`])
    } finally {
      await host.stop()
    }
  }, 60_000)

  it("the SQLite database is held, and sends nothing of it a second time", async () => {
    const host = await start({ ...onSqlite, PORT: postgres["PORT"] ?? "" })
    try {
      expect((await host.admin("/restore", { open: "send", dry_run: true })).json).toMatchObject({
        restore: { held: true, reason: "operator" }
      })
      expect(at((await shop.get(`/api/v1/template-messages/${waiting}`)).json, "job", "status")).toBe(
        "queued"
      )
    } finally {
      await host.stop()
    }
  }, 60_000)
})
