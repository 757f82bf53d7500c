/** contract.md §10, "Keys and secrets": what `GET /health/ready` says of a running host, and when it refuses to start. */
import { copyFileSync, mkdtempSync, renameSync, rmSync, unlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, describe, expect, it } from "vitest"
import { connection, freshDatabase } from "../../../test/support/Postgres.ts"
import type { Answer, TestHost } from "../../../test/support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../../../test/support/TestHost.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-ready-"))
const scope = Effect.runSync(Scope.make())
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(folder, { recursive: true, force: true })
}, 30_000)

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString("base64")

const running = async (
  environment: Readonly<Record<string, string>>,
  use: (host: TestHost) => Promise<void>
): Promise<void> => {
  const host = await start(environment)
  try {
    await use(host)
  } finally {
    await host.stop()
  }
}

const ready = (host: TestHost): Promise<Answer> => host.request("/health/ready")

const becomes = (host: TestHost, status: number, withinMs?: number): Promise<Answer> =>
  eventually(
    () => ready(host),
    (answer) => answer.status === status,
    withinMs
  )

/** What is answered may come before its line in the log. */
const tells = async (host: TestHost, what: RegExp): Promise<void> => {
  const told = await eventually(
    async () => host.output(),
    (output) => what.test(output)
  )
  expect(told).toMatch(what)
}

/** The checks that fail, by name. */
const faults = ({ json }: Answer): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    items(json, "checks").flatMap((check) =>
      at(check, "ok") === true ? [] : [[String(at(check, "name")), at(check, "detail")]]
    )
  )

// Half of each is waiting.
describe.concurrent("a host on SQLite", () => {
  it("is ready with every check, and without the store names it and tells nothing of it", async () => {
    const file = join(folder, "locked.db")
    await running({ DATABASE_URL: `sqlite:${file}` }, async (host) => {
      const checks = ["storage", "clock", "keys", "dispatch", "restore"].map((name) => ({
        name,
        ok: true,
        detail: null
      }))
      expect((await ready(host)).json).toEqual({ ok: true, status: "ready", checks })
      const intruder = new Sqlite(file)
      intruder.exec("BEGIN IMMEDIATE")
      const refused = await becomes(host, 503)
      expect([refused.status, at(refused.json, "code")]).toEqual([503, "unavailable"])
      expect(Object.keys(faults(refused))).toEqual(["storage"])
      expect(refused.headers.get("retry-after")).toBe("3")
      expect(refused.text).not.toMatch(/locked|\.db|\/tmp|SQLITE/i)
      expect((await host.request("/health/live")).status).toBe(200)
      intruder.exec("ROLLBACK")
      intruder.close()
      expect((await becomes(host, 200)).status).toBe(200)
      await tells(host, /Not ready[^\n]*storage/)
      await tells(host, /Ready again/)
    })
  }, 120_000)

  it("whose database is an older copy is ready and says so, accepts, and sends nothing until it is opened", async () => {
    const file = join(folder, "older-copy.db")
    const backup = `${file}.backup`
    const environment = { DATABASE_URL: `sqlite:${file}`, SECRET_KEY: keyOf(7) }
    const phone = "34600000100"
    await running(environment, async (host) => {
      const other = new Sqlite(file, { readonly: true })
      other.exec(`VACUUM INTO '${backup}'`)
      other.close()
      await tenant(host)
    })
    for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true })
    copyFileSync(backup, file)
    await running(environment, async (host) => {
      const known = await tenant(host)
      const found = await ready(host)
      expect(found.status).toBe(200)
      const [check] = items(found.json, "checks").filter((each) => at(each, "name") === "restore")
      expect(check).toMatchObject({ ok: true, detail: expect.stringContaining("sendwright restore --open") })
      await tells(host, /The store is older than it was/)
      await consent(host, known.accountId, phone)
      const sent = await known.send(sendBody(known.templateId, phone), "held")
      expect(sent.status).toBe(202)
      const path = `/api/v1/template-messages/${String(at(sent.json, "job_id"))}`
      expect(at((await known.get(path)).json, "job", "waiting_for")).toEqual({
        limiter: "restore",
        until: null
      })
      const direct = await known.post("/api/public/messages/send", { to: phone, message: "Hi" })
      expect([direct.status, at(direct.json, "code")]).toEqual([503, "unavailable"])
      expect(direct.headers.get("retry-after")).toBe("60")
      const counted = await host.admin("/restore", { open: "cancel", dry_run: true })
      expect(at(counted.json, "restore")).toMatchObject({ held: true, reason: "older", dry_run: true })
      expect(at((await known.get(path)).json, "job", "status")).toBe("queued")
      const opened = await host.admin("/restore", { open: "unknown" })
      expect(at(opened.json, "restore")).toMatchObject({
        held: false,
        counts: { jobs: 0, unknown: 0, canceled: 0, sent: 0 }
      })
      const done = await eventually(
        () => known.get(path),
        (answer) => at(answer.json, "job", "status") === "completed",
        10_000
      )
      expect(at(done.json, "job")).toMatchObject({ status: "completed", waiting_for: null })
      expect((await known.post("/api/public/messages/send", { to: phone, message: "Hi" })).status).toBe(200)
      await tells(host, /The store is held no more/)
      expect(at((await host.admin("/restore", { hold: true })).json, "restore")).toMatchObject({
        held: true,
        reason: "operator"
      })
      expect((await known.post("/api/public/messages/send", { to: phone, message: "Hi" })).status).toBe(503)
      const looked = await host.admin("/restore", {})
      expect(at(looked.json, "restore")).toMatchObject({ held: true, dry_run: true })
      for (const body of [{ open: "unknown", hold: true }, { open: "perhaps" }, { hold: false }])
        expect((await host.admin("/restore", body)).status).toBe(422)
    })
  }, 60_000)

  it.each([
    ["removed", (file: string) => unlinkSync(file)],
    [
      "replaced",
      (file: string) => {
        copyFileSync(file, `${file}.new`)
        renameSync(`${file}.new`, file)
      }
    ]
  ])(
    "whose file is %s refuses every send within five seconds, is not ready and says so",
    async (what, lose) => {
      const file = join(folder, `${what}.db`)
      await running({ DATABASE_URL: `sqlite:${file}` }, async (host) => {
        const owner = await tenant(host)
        await consent(host, owner.accountId, "34600000100")
        const body = sendBody(owner.templateId, "34600000100")
        expect((await owner.send(body, "before")).status).toBe(202)
        lose(file)
        const refused = await becomes(host, 503, 5000)
        expect(faults(refused)).toEqual({
          storage: expect.stringContaining("a database file that was removed or replaced")
        })
        for (const key of ["one", "two"]) {
          const answer = await owner.send(body, key)
          expect([answer.status, at(answer.json, "code")]).toEqual([503, "unavailable"])
        }
        await tells(host, /was removed or replaced while it was open/)
      })
    },
    30_000
  )

  it("does not start without its key file, nor with another key, and says what to do", async () => {
    const file = join(folder, "restored.db")
    const DATABASE_URL = `sqlite:${file}`
    await running({ DATABASE_URL }, async (host) => {
      await tenant(host)
    })
    renameSync(`${file}.key`, `${file}.key.away`)
    await expect(start({ DATABASE_URL })).rejects.toThrow(
      /did not start\. SECRET_KEY: .*restored\.db\.key is missing.*Restore it, or give/
    )
    await expect(start({ DATABASE_URL, SECRET_KEY: keyOf(9) })).rejects.toThrow(
      /did not start\. SECRET_KEY: This database was begun with another master key .*Give that key/
    )
    renameSync(`${file}.key.away`, `${file}.key`)
    await running({ DATABASE_URL }, async (host) => {
      expect((await ready(host)).status).toBe(200)
    })
  }, 120_000)
})

describe.concurrent("hosts on PostgreSQL", () => {
  /** The settings of hosts on a database of their own, and a connection to it from outside. */
  const fresh = () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const DATABASE_URL = yield* freshDatabase
        return { common: { DATABASE_URL, SECRET_KEY: keyOf(7) }, outside: yield* connection(DATABASE_URL) }
      }).pipe(Scope.extend(scope))
    )

  it("do not start with another key: a worker that has the wrong one sends nothing", async () => {
    const { common } = await fresh()
    await running(common, async (host) => {
      await expect(start({ ...common, ROLE: "worker", SECRET_KEY: keyOf(8) })).rejects.toThrow(
        /SECRET_KEY: This database was begun with another master key/
      )
      expect((await ready(host)).status).toBe(200)
    })
  }, 120_000)

  it("are not ready while the database is read-only or hangs, and answer within three seconds", async () => {
    const { common, outside } = await fresh()
    await running(common, async (host) => {
      const name = new URL(common.DATABASE_URL).pathname.slice(1)
      const others =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
      await outside.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
      await outside.query(others)
      expect(Object.keys(faults(await becomes(host, 503)))).toContain("storage")
      await outside.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
      await outside.query(others)
      expect((await becomes(host, 200)).status).toBe(200)

      await outside.query("BEGIN; LOCK TABLE sendwright_probe IN ACCESS EXCLUSIVE MODE")
      const slowest = { ms: 0 }
      const refused = await eventually(
        async () => {
          const began = performance.now()
          const answer = await ready(host)
          slowest.ms = Math.max(slowest.ms, performance.now() - began)
          return answer
        },
        ({ status }) => status === 503
      )
      await outside.query("ROLLBACK")
      expect(faults(refused)).toEqual({ storage: "A small write did not end within 2 seconds." })
      expect(slowest.ms).toBeLessThan(3500)
      expect((await becomes(host, 200)).status).toBe(200)
    })
  }, 120_000)

  it("that dispatch are not ready once their loops fail for ten seconds; one that only accepts is", async () => {
    const { common, outside } = await fresh()
    await running({ ...common, ROLE: "api" }, async (api) => {
      await running({ ...common, ROLE: "worker" }, async (worker) => {
        await outside.query("ALTER TABLE sendwright_progress RENAME TO away")
        try {
          // Another of its loops may have failed for ten seconds before the first.
          const told = /Dispatch: the last \d+ steps failed \(JobStore\.\w+\)/
          const refused = await eventually(
            () => ready(worker),
            (answer) => answer.status === 503 && told.test(String(faults(answer)["dispatch"])),
            25_000
          )
          expect(faults(refused)).toEqual({ dispatch: expect.stringMatching(told) })
          expect((await ready(api)).status).toBe(200)
        } finally {
          await outside.query("ALTER TABLE away RENAME TO sendwright_progress")
        }
        expect((await becomes(worker, 200)).status).toBe(200)
      })
    })
  }, 120_000)
})
