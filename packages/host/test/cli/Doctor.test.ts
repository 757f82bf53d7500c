/** `sendwright doctor`: each line of it with what it is there to find. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import type { AddressInfo, Server } from "node:net"
import { createServer as createTcp } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { stripVTControlCharacters } from "node:util"
import { it as effect } from "@effect/vitest"
import type { Diagnosis } from "@sendwright/core/adapter"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import Pg from "pg"
import { afterAll, describe, expect, it } from "vitest"
import { mortal } from "../../../../test/support/mortal.ts"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import { at, start } from "../../../../test/support/TestHost.ts"
import * as Bounded from "../../src/cli/doctor/Bounded.ts"
import * as Files from "../../src/cli/doctor/Files.ts"
import * as Screen from "../../src/cli/Screen.ts"
import * as InProcess from "./InProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-doctor-"))
const servers: Array<Server> = []
afterAll(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})

let databases = 0
const fresh = (): string => {
  databases += 1
  return join(folder, `${databases}.db`)
}

const key = Buffer.alloc(32, 1).toString("base64")

/** The command line in this process, with a key that is given; all that it writes together. */
const on =
  (DATABASE_URL: string, environment: Readonly<Record<string, string>> = {}, screen = Screen.none) =>
  async (...args: ReadonlyArray<string>) => {
    const answered = await InProcess.run({ DATABASE_URL, SECRET_KEY: key, ...environment }, args, screen)
    return { ...answered, out: answered.out + answered.err }
  }

interface Told {
  readonly code: number
  /** `verdict check: says → mend` of what is not ok, or is asked for by its name. */
  readonly lines: ReadonlyArray<string>
}

const told = (
  { code, json, out }: { readonly code: number; readonly out: string; readonly json: unknown },
  ...names: ReadonlyArray<string>
): Told => {
  const checks = at(json, "checks")
  if (!Array.isArray(checks)) throw new Error(`It told nothing: ${out}`)
  const findings: ReadonlyArray<Diagnosis.Finding> = checks
  return {
    code,
    lines: findings
      .filter(({ check, verdict }) => verdict !== "ok" || names.includes(check))
      .map(
        ({ check, mend, says, verdict }) => `${verdict} ${check}: ${says}${mend === null ? "" : ` → ${mend}`}`
      )
  }
}

const doctor = async (
  DATABASE_URL: string,
  environment: Readonly<Record<string, string>> = {},
  ...names: ReadonlyArray<string>
): Promise<Told> => told(await on(DATABASE_URL, environment)("doctor"), ...names)

/** An account and a session in a database. */
const tenant = async (url: string, provider = "sandbox", config?: object) => {
  const sendwright = on(url, {
    SENDER_ALLOWED_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
  })
  const created = await sendwright("accounts", "create", "--name", "Shop", "--currency", "EUR")
  const account = String(at(created.json, "account", "id"))
  const given = join(folder, "config.json")
  writeFileSync(given, JSON.stringify(config ?? {}))
  const made = await sendwright(
    "sessions",
    "create",
    account,
    "--name",
    "One",
    "--provider",
    provider,
    ...(config === undefined ? [] : ["--config-file", given])
  )
  const session = String(at(made.json, "session", "id"))
  if (provider !== "sandbox") await sendwright("sessions", "connect", session)
  return { account, session, sendwright }
}

/** Listens, and says nothing; counts what it is sent. */
const listener = async () => {
  let bytes = 0
  let connections = 0
  const server = createTcp((socket) => {
    connections += 1
    socket.on("error", () => {})
    socket.on("data", (chunk) => {
      bytes += chunk.length
    })
  }).listen(0, "127.0.0.1")
  servers.push(server)
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return { port, seen: () => ({ bytes, connections }) }
}

const closedPort = async (): Promise<number> => {
  const server = createTcp().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

const altered = (file: string, sql: string): void => {
  const db = new Sqlite(file)
  db.exec(sql)
  db.close()
}

/** The number of a table's first page. */
const pageOf = (file: string, table: string): number => {
  const db = new Sqlite(file, { readonly: true })
  const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(table)
  db.close()
  return Number(page)
}

const local = { SENDER_ALLOWED_NETWORKS: "127.0.0.0/8", WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" }

describe("a doctor on SQLite", () => {
  it("finds nothing wrong before the first start, and makes nothing", async () => {
    const file = join(folder, "not-yet", "a.db")
    const found = await doctor(`sqlite:${file}`, {}, "database")
    expect(found).toEqual({
      code: 0,
      lines: [`ok database: ${file} is not there yet: the first start makes it.`]
    })
    expect(existsSync(join(folder, "not-yet"))).toBe(false)
  })

  it("finds nothing wrong beside a running host, and says that one runs", async () => {
    const file = fresh()
    const host = await start({ DATABASE_URL: `sqlite:${file}` })
    try {
      const account = at(
        (await host.admin("/accounts", { name: "Shop", currency: "EUR" })).json,
        "account",
        "id"
      )
      await host.admin(`/accounts/${String(account)}/sessions`, { name: "One", provider: "sandbox" })
      const { code, json } = await on(`sqlite:${file}`, { SECRET_KEY: "" })("doctor")
      expect(told({ code, json, out: "" }, "database", "pages", "keys")).toEqual({
        code: 0,
        lines: [
          expect.stringMatching(/^ok database: .*A host runs on it\.$/),
          expect.stringMatching(/^ok keys: SECRET_KEY has the key/),
          "ok pages: All were looked through, and are whole."
        ]
      })
    } finally {
      await host.stop()
    }
  }, 60_000)

  it("names settings that are wrong, and looks at the rest all the same", async () => {
    const found = await doctor(`sqlite:${fresh()}`, { PORT: "many", ROLE: "boss" }, "database")
    expect(found).toMatchObject({ code: 2 })
    expect(found.lines).toEqual([
      expect.stringContaining("failing settings: PORT: must be a whole number"),
      expect.stringContaining("failing settings: ROLE: must be one of"),
      expect.stringContaining("ok database")
    ])
  })

  it("names settings that contradict each other", async () => {
    const found = await doctor(`sqlite:${fresh()}`, {
      BASE_URL: "https://messages.example",
      LIMIT_CONNECTIONS: "10",
      LIMIT_CONNECTIONS_PER_ADDRESS: "20",
      ROLE: "api"
    })
    expect(found).toEqual({
      code: 1,
      lines: [
        expect.stringContaining("ROLE=api on SQLite"),
        expect.stringContaining("TRUST_PROXY names no proxy"),
        expect.stringContaining(
          "LIMIT_CONNECTIONS_PER_ADDRESS is more than LIMIT_CONNECTIONS, and bounds nothing"
        )
      ]
    })
  })

  it("names a setting that is none, as a process of its own, and ends with 1", async () => {
    const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))
    const child = mortal(
      spawn(process.execPath, [main, "doctor"], {
        env: { PATH: process.env["PATH"] ?? "", DATABASE_URL: `sqlite:${fresh()}`, WORKER_CONCURENCY: "8" }
      })
    )
    const [out] = await Promise.all([text(child.stdout), once(child, "close")])
    expect(told({ code: child.exitCode ?? -1, json: JSON.parse(out), out })).toEqual({
      code: 1,
      lines: [expect.stringMatching(/WORKER_CONCURENCY is no setting.*Is WORKER_CONCURRENCY meant/)]
    })
  })

  it("finds files that others can read, and a database that passes with the machine", async () => {
    const file = fresh()
    await on(`sqlite:${file}`)("migrate")
    chmodSync(file, 0o644)
    expect((await doctor(`sqlite:${file}`)).lines).toEqual([expect.stringContaining("chmod 600")])
    expect((await doctor("sqlite::memory:")).lines).toEqual([expect.stringContaining("It is in memory")])
    expect((await doctor("sqlite:/dev/shm/sendwright-doctor-none.db")).lines).toEqual([
      expect.stringContaining("on tmpfs")
    ])
  })

  it("finds a file that is no database, and damaged pages, by a process that it could end", async () => {
    const no = fresh()
    writeFileSync(no, "no database, and long enough to be looked at as one".repeat(100), { mode: 0o600 })
    expect(await doctor(`sqlite:${no}`)).toMatchObject({
      code: 2,
      lines: [expect.stringMatching(/^failing database: /), expect.stringMatching(/^failing pages: /)]
    })
    const file = fresh()
    await tenant(`sqlite:${file}`)
    altered(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    const content = readFileSync(file)
    // A page of a table that is not looked into otherwise.
    const page = pageOf(file, "sendwright_rate_card")
    content.fill(0xff, 4096 * (page - 1), 4096 * page)
    writeFileSync(file, content)
    expect((await doctor(`sqlite:${file}`)).lines).toEqual([
      expect.stringMatching(/^failing pages: The database is damaged: .*restore a backup/)
    ])
  })

  it("finds a database of a later version, and one of another build", async () => {
    const file = fresh()
    await on(`sqlite:${file}`)("migrate")
    const later = (compatible: number) =>
      `INSERT OR REPLACE INTO sendwright_migration (id, name, checksum, compatible_from, applied_at) VALUES (2, 'later', 'x', ${compatible}, 0)`
    altered(file, later(1))
    expect(await doctor(`sqlite:${file}`)).toEqual({ code: 0, lines: [] })
    altered(file, later(2))
    expect(await doctor(`sqlite:${file}`)).toMatchObject({
      code: 2,
      lines: [expect.stringContaining('failing migrations: Migration "2 later": the database has it')]
    })
    altered(
      file,
      "DELETE FROM sendwright_migration WHERE id = 2; UPDATE sendwright_migration SET checksum = 'y'"
    )
    expect((await doctor(`sqlite:${file}`)).lines).toEqual([expect.stringContaining("failing migrations")])
  })

  it("finds a clock that was set back, by the last job", async () => {
    const file = fresh()
    await on(`sqlite:${file}`)("migrate")
    altered(
      file,
      `INSERT INTO sendwright_job (id, account, session, public_key, kind, snapshot, currency, recipients, priority, created_at)
        VALUES ('job', 'a', 's', 'k', 'template', 1, 'EUR', 1, 'normal', (unixepoch() + 7200) * 1000)`
    )
    expect((await doctor(`sqlite:${file}`)).lines).toEqual([
      expect.stringMatching(/^failing clock: The last job is of a time that is 1 hour ahead/)
    ])
  })

  it("finds a key that is missing, and what cannot be read without it", async () => {
    const file = fresh()
    const port = await closedPort()
    const { session } = await tenant(`sqlite:${file}`, "http", {
      url: `http://127.0.0.1:${port}/send`,
      secret: "a-secret-of-a-gateway"
    })
    const other = Buffer.alloc(32, 2).toString("base64")
    const found = await doctor(`sqlite:${file}`, { ...local, SECRET_KEY: other })
    expect(found).toEqual({
      code: 2,
      lines: [
        expect.stringMatching(/^failing keys: SECRET_KEY lacks /),
        expect.stringContaining(`failing session ${session}: The secret of session|${session} cannot be read`)
      ]
    })
    expect((await doctor(`sqlite:${file}`, { ...local, SECRET_KEY: `${other},${key}` })).lines[0]).toMatch(
      /^warning keys: .*a change of the key is under way/
    )
    rmSync(`${file}.key`, { force: true })
    expect((await doctor(`sqlite:${file}`, { SECRET_KEY: "" })).lines[0]).toContain(".key is missing beside")
  })

  it("finds a store that is held", async () => {
    const url = `sqlite:${fresh()}`
    await on(url)("restore", "--hold", "true")
    expect(await doctor(url)).toMatchObject({
      code: 1,
      lines: [expect.stringMatching(/^warning sending: An operator holds the store/)]
    })
  })

  it("connects to a gateway and to receivers and sends them nothing", async () => {
    const url = `sqlite:${fresh()}`
    const gateway = await listener()
    const receiver = await listener()
    const { account, sendwright, session } = await tenant(url, "http", {
      url: `http://127.0.0.1:${gateway.port}/send`,
      secret: "a-secret-of-a-gateway"
    })
    const made = await sendwright(
      "webhooks",
      "create",
      account,
      "--url",
      `http://127.0.0.1:${receiver.port}/in`
    )
    const webhook = String(at(made.json, "webhook", "id"))
    expect(await doctor(url, local, `session ${session}`, `webhook ${webhook}`)).toEqual({
      code: 0,
      lines: [
        `ok session ${session}: http: it can be connected to.`,
        `ok webhook ${webhook}: 127.0.0.1:${receiver.port} can be connected to.`
      ]
    })
    expect([gateway.seen(), receiver.seen()]).toEqual([
      { bytes: 0, connections: 1 },
      { bytes: 0, connections: 1 }
    ])
    // What was allowed once is not any more.
    const strict = await doctor(url, { SENDER_ALLOWED_NETWORKS: "none" })
    expect(strict).toEqual({
      code: 2,
      lines: [
        expect.stringContaining("SENDER_ALLOWED_NETWORKS"),
        expect.stringContaining("WEBHOOK_ALLOWED_NETWORKS")
      ]
    })
  })

  it("finds a gateway and a receiver where nobody listens, and one that has failed for long", async () => {
    const file = fresh()
    const url = `sqlite:${file}`
    const port = await closedPort()
    const receiver = await listener()
    const { account, sendwright, session } = await tenant(url, "http", {
      url: `http://127.0.0.1:${port}/send`,
      secret: "a-secret-of-a-gateway"
    })
    for (const each of [port, receiver.port])
      await sendwright("webhooks", "create", account, "--url", `http://127.0.0.1:${each}/in`)
    altered(
      file,
      `UPDATE sendwright_endpoint SET failing_since = 1000 WHERE url LIKE '%:${receiver.port}/in'`
    )
    const { code, lines } = await doctor(url, local)
    expect({ code, lines: lines.toSorted() }).toEqual({
      code: 2,
      lines: [
        expect.stringMatching(new RegExp(`^failing session ${session}: .*ECONNREFUSED`)),
        expect.stringMatching(/^failing webhook .*ECONNREFUSED.*Nothing listens there/),
        expect.stringMatching(/^warning webhook .*every delivery has failed since 1970/)
      ]
    })
  })

  it("finds a receiver whose TLS is none", async () => {
    const url = `sqlite:${fresh()}`
    const plain = createTcp((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1")
    servers.push(plain)
    await once(plain, "listening")
    const { port } = plain.address() as AddressInfo
    const { account, sendwright } = await tenant(url)
    await sendwright("webhooks", "create", account, "--url", `https://127.0.0.1:${port}/in`)
    expect((await doctor(url, local)).lines).toEqual([
      expect.stringMatching(/^failing webhook .*cannot be reached \(E.*Mend its certificate or its TLS/)
    ])
  })

  it("finds a session of a provider that this program has no sender for", async () => {
    const file = fresh()
    const { session } = await tenant(`sqlite:${file}`)
    altered(file, "UPDATE sendwright_session SET provider = 'pigeon'")
    expect((await doctor(`sqlite:${file}`)).lines).toEqual([
      expect.stringContaining(`failing session ${session}: This program has no sender for pigeon`)
    ])
  })

  it("is read at a terminal line by line, the mend below", async () => {
    const screen = Screen.make({ isTTY: true, columns: 100 }, { isTTY: true }, undefined)
    const { out } = await on(`sqlite:${fresh()}`, { ROLE: "api" }, screen)("doctor")
    const lines = stripVTControlCharacters(out).trimEnd().split("\n")
    expect(lines[0]).toMatch(/^warning {2}settings {7}ROLE=api on SQLite/)
    expect(lines.slice(1, 4).join("\n")).toContain("→ Use PostgreSQL for several processes.")
    expect(lines).toContainEqual(expect.stringMatching(/^ok {7}clock {10}It goes on evenly/))
    expect(lines.filter((line) => line.length > 100)).toEqual([])
    expect(out).toContain("\u001b[1mwarning")
  })
})

describe("a doctor at a host", () => {
  it("tells what the host says of itself, and whether it knows the token", async () => {
    const host = await start()
    try {
      const ask = async (SENDWRIGHT_TOKEN: string) =>
        told(
          await on("", { SENDWRIGHT_URL: host.base, SENDWRIGHT_TOKEN })("doctor"),
          "storage",
          "host",
          "clock",
          "clock here"
        )
      expect(await ask(host.adminToken)).toEqual({
        code: 0,
        lines: [
          `ok host: It answers at ${host.base}.`,
          "ok storage: It is ready.",
          "ok clock: It is ready.",
          expect.stringMatching(/^ok clock here: It is \d.* the host.s\.$/)
        ]
      })
      expect(await ask("wrong-token-0123456789abcdef")).toMatchObject({
        code: 2,
        lines: expect.arrayContaining([expect.stringMatching(/^failing token: The host answers 401/)])
      })
    } finally {
      await host.stop()
    }
  }, 60_000)

  it("says that nobody answers", async () => {
    const SENDWRIGHT_URL = `http://127.0.0.1:${await closedPort()}`
    const found = told(await on("", { SENDWRIGHT_URL, SENDWRIGHT_TOKEN: "x" })("doctor"))
    expect(found).toMatchObject({
      code: 2,
      lines: [expect.stringMatching(/^failing host: .*ECONNREFUSED/), expect.stringMatching(/^failing token/)]
    })
  })
})

describe("a doctor on PostgreSQL", () => {
  const withDatabase = async (
    use: (url: string, query: (sql: string) => Promise<unknown>) => Promise<void>
  ) => {
    const scope = Effect.runSync(Scope.make())
    const url = await Effect.runPromise(Scope.extend(migratedDatabase, scope))
    const client = new Pg.Client(url)
    await client.connect()
    try {
      await use(url, (sql) => client.query(sql))
    } finally {
      await client.end()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }

  it(
    "finds nothing wrong, with the server's version and a clock that agrees",
    () =>
      withDatabase(async (url) => {
        expect(await doctor(url, {}, "database", "clock")).toEqual({
          code: 0,
          lines: [
            expect.stringMatching(/^ok database: PostgreSQL \d+/),
            expect.stringMatching(/^ok clock: It is \d+ milliseconds? (behind|ahead of) the database's/)
          ]
        })
      }),
    60_000
  )

  it(
    "finds what a role may not do, and a database in which is only read",
    () =>
      withDatabase(async (url, query) => {
        await query("CREATE ROLE doctor_guest LOGIN PASSWORD 'guest'")
        try {
          const guest = new URL(url)
          guest.username = "doctor_guest"
          guest.password = "guest"
          await query("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
          await query("GRANT SELECT ON ALL TABLES IN SCHEMA public TO doctor_guest")
          const found = await doctor(guest.href)
          expect(found.code).toBe(2)
          expect(found.lines).toEqual([
            expect.stringMatching(
              /^failing rights: This role may not read and write sendwright_.*GRANT SELECT/
            ),
            expect.stringMatching(/^warning rights: This role may not make tables/)
          ])
          await query("ALTER ROLE doctor_guest SET default_transaction_read_only = on")
          expect((await doctor(guest.href)).lines[0]).toMatch(
            /^failing database: It is a standby, or transactions only read/
          )
        } finally {
          await query("DROP OWNED BY doctor_guest; DROP ROLE doctor_guest")
        }
      }),
    60_000
  )

  it(
    "says why a database cannot be opened",
    () =>
      withDatabase(async (url) => {
        const wrong = new URL(url)
        wrong.pathname = "/none_of_this_name"
        expect(await doctor(wrong.href)).toMatchObject({
          code: 2,
          lines: [expect.stringMatching(/^failing database: PostgreSQL at .*Create the database/)]
        })
        wrong.port = String(await closedPort())
        expect((await doctor(wrong.href)).lines).toEqual([expect.stringContaining("Nothing listens there")])
      }),
    60_000
  )
})

describe("a check", () => {
  it("of pages that takes longer is ended, and says that it was not made", async () => {
    const file = fresh()
    await on(`sqlite:${file}`)("migrate")
    expect(await Effect.runPromise(Files.integrity(file, 1))).toMatchObject({
      verdict: "ok",
      says: expect.stringContaining("More than are looked through")
    })
  })

  effect.effect("that nobody answers ends after 5 seconds, and fails", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Bounded.check("silent", Effect.uninterruptible(Effect.never)))
      yield* TestClock.adjust("5 seconds")
      expect(yield* Fiber.join(fiber)).toMatchObject({ check: "silent", verdict: "failing" })
    })
  )
})
