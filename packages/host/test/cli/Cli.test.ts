/** contract.md §8: the operations of the admin API as a command line, straight on the configured database. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { stripVTControlCharacters } from "node:util"
import { AdminApi } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, describe, expect, it } from "vitest"
import { mortal } from "../../../../test/support/mortal.ts"
import { freshDatabase } from "../../../../test/support/Postgres.ts"
import { at, consent, items, sendBody, start, template, tenant } from "../../../../test/support/TestHost.ts"
import * as Screen from "../../src/cli/Screen.ts"
import * as InProcess from "./InProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-cli-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let databases = 0
const fresh = (): string => {
  databases += 1
  return `sqlite:${join(folder, `${databases}.db`)}`
}

const file = (name: string, content: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content))
  return path
}

const terminal: Screen.Screen = Screen.make({ isTTY: true, columns: 80 }, { isTTY: true }, undefined)

/** `sendwright` with a database, in this process. */
const on =
  (DATABASE_URL: string, environment: Readonly<Record<string, string>> = {}, screen = Screen.none) =>
  (...args: ReadonlyArray<string>): Promise<InProcess.Outcome> =>
    InProcess.run({ DATABASE_URL, ...environment }, args, screen)

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

/** The same as a process of its own. */
const spawned = async (
  DATABASE_URL: string,
  args: ReadonlyArray<string>,
  input: string
): Promise<InProcess.Outcome> => {
  const child = mortal(
    spawn(process.execPath, [main, ...args], { env: { PATH: process.env["PATH"] ?? "", DATABASE_URL } })
  )
  child.stdin.end(input)
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return InProcess.outcome(child.exitCode ?? -1, out, err)
}

const list = "Market,Currency,Marketing,Utility,Authentication\nSpain,USD,0.0615,0.0200,0.0200\n"

/** From nothing to what a send needs. */
const story = async (sendwright: ReturnType<typeof on>) => {
  const created = await sendwright("accounts", "create", "--name", "Shop", "--currency", "USD")
  const account = String(at(created.json, "account", "id"))
  const opened = await sendwright("sessions", "create", account, "--name", "Sandbox", "--provider", "sandbox")
  const session = String(at(opened.json, "session", "id"))
  const issued = await sendwright(
    "keys",
    "issue",
    session,
    "--permissions",
    "templates:read, messages:estimate"
  )
  const imported = await sendwright(
    "templates",
    "import",
    session,
    file("templates.json", { templates: [template] })
  )
  return { account, session, issued, imported }
}

describe("the command line", () => {
  it("has one command for each operation of the admin API", () => {
    const commands = AdminApi.operations.map(({ command }) => command.name)
    expect(new Set(commands).size).toBe(AdminApi.operations.length)
    expect(commands.filter((name) => !/^[a-z-]+( [a-z]+)?$/.test(name))).toEqual([])
  })

  it("sets up from nothing what a host on the same file then serves, and says what the API says", async () => {
    const DATABASE_URL = fresh()
    const sendwright = on(DATABASE_URL)
    const { account, imported, issued, session } = await story(sendwright)
    expect(at(issued.json, "key", "permissions")).toEqual(["templates:read", "messages:estimate"])
    expect(imported.json).toMatchObject({ ok: true, imported: 1 })
    const table = file(
      "consents.csv",
      'phone;status;source;proof\n34600001234;granted;"form; web";\n12;;form;\n'
    )
    const recorded = await sendwright("consents", "record", account, table)
    expect(recorded).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^line 3, phone: The number must be 7 to 15 digits[^\n]*\n1 refused: \S+ has each line with its reasons\.\n$/
      ),
      json: { ok: true, lines: 2, recorded: 1, refused: 1, rejects: `${table}.rejected.csv` }
    })
    const prices = ["--currency", "USD", "--effective-from", "2025-10-01"]
    const card = await sendwright("rate-cards", "import", file("list.csv", list), ...prices)
    expect(card.json).toMatchObject({ rate_card: { effective_from: "2025-10-01T00:00:00.000Z" } })
    await sendwright(
      "webhooks",
      "create",
      account,
      "--url",
      "https://shop.example/hook",
      "--events",
      "job.completed"
    )

    const views = [
      [["accounts", "list"], "/accounts"],
      [["accounts", "show", account], `/accounts/${account}`],
      [["sessions", "list", account, "--limit", "1"], `/accounts/${account}/sessions?limit=1`],
      [["sessions", "show", session], `/sessions/${session}`],
      [["keys", "list", session], `/sessions/${session}/keys`],
      [
        ["consents", "show", account, "--phone", "34600001234"],
        `/accounts/${account}/consents?phone=34600001234`
      ],
      [["webhooks", "list", account], `/accounts/${account}/webhooks`],
      [["rate-cards", "list"], "/rate-cards"],
      [["messages", "list", "--account-id", account], `/messages?account_id=${account}`],
      [["jobs", "list", "--account-id", account], `/jobs?account_id=${account}`],
      [["search", "+34 600 00 12 34"], "/search?q=0034600001234"],
      [["search", session, "--limit", "2"], `/search?limit=2&q=${session}`]
    ] as const
    const said: Array<string> = []
    for (const [args] of views) said.push((await sendwright(...args)).out)
    const kinds = said
      .slice(-2)
      .map((out) => items(JSON.parse(out), "results").map((found) => at(found, "kind")))
    expect(kinds).toEqual([["person"], ["session"]])

    const host = await start({ DATABASE_URL })
    try {
      const beside = on(DATABASE_URL, { SENDWRIGHT_URL: `${host.base}/`, SENDWRIGHT_TOKEN: host.adminToken })
      for (const [index, [args]] of views.entries()) expect((await beside(...args)).out).toBe(said[index])
      for (const [index, [, path]] of views.entries()) {
        expect(`${(await host.admin(path)).text}\n`).toBe(said[index])
      }
      const headers = {
        "x-public-key": String(at(issued.json, "key", "public_key")),
        "x-secret-key": String(at(issued.json, "secret_key"))
      }
      const templates = await host.request("/api/v1/templates", { headers })
      expect(items(templates.json, "templates")).toHaveLength(1)
      const estimate = await host.request("/api/v1/template-messages/estimate", {
        headers,
        body: {
          template_id: at(templates.json, "templates", 0, "template_id"),
          variables: { "header.1": "A", "body.1": "Ana", "body.2": "today", "button.0.1": "A" },
          recipients: [{ phone: "34600001234" }]
        }
      })
      expect(estimate.json).toMatchObject({
        estimate: { currency: "USD", total: "0.0200", without_consent: 0 }
      })

      const locked = await sendwright("accounts", "list")
      expect([locked.code, locked.out]).toEqual([1, ""])
      expect(locked.err).toMatch(/^DATABASE_URL: \S+\.db is open in another process.*--url and --token/)

      rmSync(`${table}.rejected.csv`)
      const again = await beside("consents", "record", account, table)
      expect([again.code, again.err, again.json]).toEqual([1, recorded.err, recorded.json])
      expect(await beside("accounts", "show", "none")).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringMatching(/\S/)
      })
    } finally {
      await host.stop()
    }
  }, 60_000)

  it("works on PostgreSQL beside a running host", async () => {
    const scope = Effect.runSync(Scope.make())
    try {
      const DATABASE_URL = await Effect.runPromise(Scope.extend(freshDatabase, scope))
      const SECRET_KEY = Buffer.alloc(32, 3).toString("base64")
      const host = await start({ DATABASE_URL, SECRET_KEY })
      try {
        const sendwright = on(DATABASE_URL, { SECRET_KEY })
        const { issued } = await story(sendwright)
        const headers = {
          "x-public-key": String(at(issued.json, "key", "public_key")),
          "x-secret-key": String(at(issued.json, "secret_key"))
        }
        expect((await host.request("/api/v1/templates", { headers })).status).toBe(200)
      } finally {
        await host.stop()
      }
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }, 60_000)

  it("has a flag for a field of a field, none for null, and leaves alone what was not given", async () => {
    const sendwright = on(fresh())
    const created = await sendwright("accounts", "create", "--name", "Shop", "--daily-direct-messages", "5")
    const id = String(at(created.json, "account", "id"))
    const plan = { ...Object(at(created.json, "account", "plan")) }
    expect(plan).toMatchObject({ daily_direct_messages: 5 })
    const changed = await sendwright(
      ...["accounts", "change", id, "--daily-direct-messages", "none", "--features", ""]
    )
    expect(at(changed.json, "account", "plan")).toEqual({
      ...plan,
      daily_direct_messages: null,
      features: []
    })
  })

  it("changes when a job is sent, with a time, a local time, none, and hours that have days or are taken away", async () => {
    const DATABASE_URL = fresh()
    const sendwright = on(DATABASE_URL)
    const host = await start({ DATABASE_URL })
    const shop = await tenant(host)
    await consent(host, shop.accountId, "34600001234")
    const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString()
    const body = { ...sendBody(shop.templateId, "34600001234"), send_at: tomorrow }
    const sent = await shop.send(body, "tomorrow")
    await host.stop()
    const job = String(at(sent.json, "job_id"))
    const change = async (...flags: ReadonlyArray<string>) => {
      const changed = await sendwright("jobs", "change", job, ...flags)
      const { code, err, json } = changed
      return { code, err, job: at(json, "job") }
    }
    expect(await change("--send-at", "2100-12-24T08:00:00Z")).toMatchObject({
      code: 1,
      err: expect.stringContaining("366 days")
    })
    const soon = new Date(Date.now() + 48 * 3_600_000).toISOString().slice(0, 16)
    const late = new Date(Date.now() + 240 * 3_600_000).toISOString().slice(0, 10)
    const local = { local: soon, time_zone: "Europe/Madrid" }
    expect(await change("--send-at", `${soon} Europe/Madrid`, "--expires-at", late)).toMatchObject({
      code: 0,
      job: { send_at: local, expires_at: `${late}T00:00:00.000Z` }
    })
    expect(await change("--send-at", `${soon}:00Z`, "--expires-at", "none")).toMatchObject({
      code: 0,
      job: { send_at: `${soon}:00.000Z`, expires_at: null }
    })
    const hours = { from: "08:00", to: "20:00", days: [1, 2, 3, 4, 5], outside: "hold" }
    expect(await change("--from", "08:00", "--to", "20:00", "--days", "1,2,3,4,5")).toMatchObject({
      code: 0,
      job: { hours }
    })
    expect(await change("--hours", "none")).toMatchObject({ code: 0, job: { hours: null } })
    const half = await change("--from", "08:00")
    expect([half.code, half.err]).toEqual([1, expect.stringContaining("/hours/to")])
    const wrong = await change("--from", "08:00", "--to", "20:00", "--days", "1,tue")
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("--days must be numbers")])
  }, 60_000)

  it("ends a block by hand, and begins none", async () => {
    const sendwright = on(fresh())
    const created = await sendwright("accounts", "create", "--name", "Shop")
    const account = String(at(created.json, "account", "id"))
    const made = await sendwright("sessions", "create", account, "--name", "Main", "--provider", "sandbox")
    const id = String(at(made.json, "session", "id"))
    const ended = await sendwright("sessions", "change", id, "--blocked-until", "none")
    expect([ended.code, at(ended.json, "session", "blocked_until")]).toEqual([0, null])
    const begun = await sendwright("sessions", "change", id, "--blocked-until", "2030-01-01T00:00:00Z")
    expect(begun.code).not.toBe(0)
  })
})

describe("secrets", () => {
  it("come from the standard input or a file, and are not told again", async () => {
    const DATABASE_URL = fresh()
    const created = await on(DATABASE_URL)("accounts", "create", "--name", "Shop")
    const id = String(at(created.json, "account", "id"))
    const config = { url: "https://gateway.example/send", secret: "whsec-very-secret-0123456789" }
    const opened = await spawned(
      DATABASE_URL,
      ["sessions", "create", id, "--name", "Gateway", "--provider", "http", "--config-file", "-"],
      JSON.stringify(config)
    )
    expect([opened.code, opened.err, at(opened.json, "session", "provider")]).toEqual([0, "", "http"])
    expect(opened.out).not.toContain(config.secret)
  }, 60_000)

  it("have no flag, but for the token of a host", async () => {
    const sendwright = on(fresh())
    const helps: Array<string> = []
    for (const { command } of AdminApi.operations)
      helps.push((await sendwright(...command.name.split(" "), "--help")).out)
    const flags = helps.flatMap((out) => [...out.matchAll(/--([a-z-]+)/g)].map(([, name]) => name))
    expect(flags.includes("config-file")).toBe(true)
    expect(flags.filter((name) => /secret|token|password|config(?!-file)/.test(name ?? ""))).toEqual([])
  })
})

describe("a host", () => {
  const asked = async (url: string, ...args: ReadonlyArray<string>) =>
    on("sqlite:never-opened.db", { SENDWRIGHT_TOKEN: "secret-token" })("--url", url, ...args)

  it("is told from what is none, without the token", async () => {
    const told: Array<string> = []
    const server = createServer((request, response) => {
      told.push(`${request.method} ${request.url} ${request.headers.authorization}`)
      if (request.url?.startsWith("/moved") === true)
        response.writeHead(308, { location: "http://127.0.0.1:9/" }).end()
      else response.end("<html>")
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const base = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
    try {
      expect(await asked(`${base}/mounted/`, "accounts", "list", "--limit", "2")).toMatchObject({
        code: 1,
        out: "",
        err: `What answers at ${base}/mounted is no host of Sendwright: HTTP 200, and no JSON.\n`
      })
      expect(told).toEqual(["GET /mounted/admin/v1/accounts?limit=2 Bearer secret-token"])
      const moved = await asked(`${base}/moved`, "accounts", "create", "--name", "Shop")
      expect(moved).toMatchObject({
        code: 1,
        err: expect.stringMatching(/does not answer.*Whether it was done is not known/)
      })
      expect(moved.err).not.toContain("secret-token")
    } finally {
      server.close()
    }
    expect((await asked(base, "accounts", "list")).err).toMatch(
      /^The host at \S+ does not answer \(\w+\)\.\n$/
    )
  })

  it("needs an address without a secret, and a token", async () => {
    const token = { SENDWRIGHT_TOKEN: "secret-token" }
    const errors: Array<string> = []
    for (const [url, environment] of [
      ["messages.example", token],
      ["ftp://messages.example", token],
      ["https://ana:secret@messages.example", token],
      ["https://messages.example", {}],
      ["https://messages.example", { SENDWRIGHT_TOKEN: "op_one\nop_two" }]
    ] as const)
      errors.push(
        (await on("sqlite:never-opened.db", { SENDWRIGHT_URL: url, ...environment })("accounts", "list")).err
      )
    expect(errors).toEqual([
      '"messages.example" is no address of a host. Give one such as https://messages.example.\n',
      '"ftp://messages.example" is no address of a host. Give one such as https://messages.example.\n',
      "The address of the host must have no user and password. Give the token by SENDWRIGHT_TOKEN.\n",
      "A host asks for a token: give SENDWRIGHT_TOKEN, or --token.\n",
      "The token has a line break, a space or another character that no token has. Give one token alone.\n"
    ])
    expect((await on("sqlite:never-opened.db", token)("accounts", "list")).err).toBe(
      "A token needs the address of a host: give --url or SENDWRIGHT_URL.\n"
    )
  })
})

describe("a backup", () => {
  it("is made beside a running host, looked through, and opens elsewhere with its key, held", async () => {
    const DATABASE_URL = fresh()
    const path = DATABASE_URL.slice("sqlite:".length)
    const to = join(folder, "backup.db")
    const first = await start({ DATABASE_URL })
    try {
      await first.admin("/accounts", { name: "Shop", currency: "EUR" })
      const made = await on(DATABASE_URL)("backup", to)
      expect(made).toMatchObject({
        code: 0,
        err: "",
        json: {
          ok: true,
          backup: {
            file: to,
            bytes: statSync(to).size,
            jobs: 0,
            secret_keys: [expect.any(String)],
            key_file: `${path}.key`
          }
        }
      })
      expect(statSync(to).mode & 0o777).toBe(0o600)
      expect(await on(DATABASE_URL)("backup", to)).toMatchObject({
        code: 1,
        err: expect.stringContaining("is there already")
      })
    } finally {
      await first.stop()
    }
    expect(readdirSync(folder).filter((name) => name.startsWith("backup.db"))).toEqual(["backup.db"])
    copyFileSync(`${path}.key`, `${to}.key`)
    const second = await start({ DATABASE_URL: `sqlite:${to}` })
    try {
      expect(items((await second.admin("/accounts")).json, "accounts")).toMatchObject([{ name: "Shop" }])
    } finally {
      await second.stop()
    }
  }, 60_000)

  it("is none of a damaged database, and leaves nothing", async () => {
    const DATABASE_URL = fresh()
    const path = DATABASE_URL.slice("sqlite:".length)
    const to = join(folder, "damaged.db")
    const sendwright = on(DATABASE_URL)
    for (let n = 0; n < 30; n++) await sendwright("accounts", "create", "--name", `Shop ${n}`)
    const content = readFileSync(path)
    content.fill(0xff, 4096 * 3, 4096 * 6)
    writeFileSync(path, content)
    expect(await sendwright("backup", to)).toMatchObject({
      code: 1,
      err: expect.stringContaining("The backup was not made. ")
    })
    expect(readdirSync(folder).filter((name) => name.startsWith("damaged.db"))).toEqual([])
  })

  it("is none of what is not there, of PostgreSQL or of a host, which it says", async () => {
    const errors: Array<string> = []
    for (const environment of [
      { DATABASE_URL: `sqlite:${join(folder, "none.db")}` },
      { DATABASE_URL: "postgres://ana@127.0.0.1/none" },
      { SENDWRIGHT_URL: "https://messages.example", SENDWRIGHT_TOKEN: "x" }
    ])
      errors.push((await on(fresh(), environment)("backup", join(folder, "no.db"))).err)
    expect(errors).toEqual([
      expect.stringContaining("There is no database"),
      expect.stringContaining("pg_dump"),
      expect.stringContaining("without --url")
    ])
  })
})

describe("what is read", () => {
  const lines = (text: string) => text.split("\n")

  it("has help for each word in lines of at most 100 characters, without colours in a pipe", async () => {
    const sendwright = on(fresh())
    const groups = new Set(AdminApi.operations.map(({ command }) => command.name.split(" ")[0] ?? ""))
    const asked = [[], ...[...groups].map((word) => [word, "--help"])]
    for (const { command } of AdminApi.operations) asked.push([...command.name.split(" "), "-h"])
    for (const args of asked) {
      const { code, err, out } = await sendwright(...args)
      expect([code, err]).toEqual([0, ""])
      expect(lines(out).filter((line) => line.length > 100)).toEqual([])
      expect(out).toBe(stripVTControlCharacters(out))
    }
    const wrong = await sendwright("accounts", "create", "--nam", "Shop")
    expect(wrong.err).toBe(stripVTControlCharacters(wrong.err))
  })

  it("is a table at a terminal, as wide as that, and JSON elsewhere", async () => {
    const DATABASE_URL = fresh()
    for (const name of ["Bob's \u202e shop", "Ana's shop"])
      await on(DATABASE_URL)("accounts", "create", "--name", name)
    const { out } = await on(DATABASE_URL, {}, terminal)("accounts", "list")
    const [head = "", first = "", second = ""] = lines(out)
    expect([head === stripVTControlCharacters(head), stripVTControlCharacters(head)]).toEqual([
      false,
      expect.stringMatching(/^id +name/)
    ])
    expect(first).toContain("Ana's shop")
    expect(second).toContain("Bob's \\u202e shop")
    expect(
      lines(stripVTControlCharacters(out))
        .slice(0, 3)
        .filter((line) => line.length > 80)
    ).toEqual([])
    const plain = Screen.make({ isTTY: true }, {}, "1")
    const uncolored = (await on(DATABASE_URL, {}, plain)("accounts", "list")).out
    expect(uncolored).toBe(stripVTControlCharacters(uncolored))
  })
})

describe("an answer that cannot be written", () => {
  const unwritten = async (stdout: "pipe" | number) => {
    const child = mortal(
      spawn(process.execPath, [main, "accounts", "create", "--name", "Shop"], {
        env: { PATH: process.env["PATH"] ?? "", DATABASE_URL: fresh() },
        stdio: ["ignore", stdout, "pipe"]
      })
    )
    child.stdout?.destroy()
    const [err] = await Promise.all([child.stderr === null ? "" : text(child.stderr), once(child, "close")])
    return [child.exitCode, err]
  }

  it("ends with 1 and says so when its reader is gone", async () => {
    expect(await unwritten("pipe")).toEqual([
      1,
      expect.stringMatching(/^The answer could not be written to standard output \(EPIPE\)\. .*\n$/)
    ])
  }, 60_000)

  it.runIf(existsSync("/dev/full"))(
    "ends with 1 and says so when the disk is full",
    async () => {
      const full = openSync("/dev/full", "w")
      try {
        expect(await unwritten(full)).toEqual([
          1,
          expect.stringMatching(/^The answer could not be written to standard output \(ENOSPC\)\. .*\n$/)
        ])
      } finally {
        closeSync(full)
      }
    },
    60_000
  )
})

describe("operators", () => {
  it("are made, listed, rotated and revoked, and each act names the user of the command line", async () => {
    const sendwright = on(fresh())
    const created = await sendwright("operators", "create", "--name", "ana", "--role", "read")
    expect(at(created.json, "token")).toMatch(/^op_ana_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
    expect(await sendwright("operators", "create", "--name", "ana", "--role", "read")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^\/name: .*unique for good/)
    })
    const rotated = await sendwright("operators", "rotate", "ana", "--overlap-seconds", "0")
    expect(at(rotated.json, "operator", "secrets")).toHaveLength(1)
    expect((await sendwright("operators", "revoke", "ana")).json).toMatchObject({
      operator: { status: "revoked" }
    })
    expect(items((await sendwright("operators", "list")).json, "operators")).toHaveLength(1)
    const audit = await sendwright("audit", "--target", "ana", "--from", "2020-01-01", "--limit", "2")
    expect(items(audit.json, "entries")).toMatchObject([
      {
        operation: "operators.revoke",
        operator: expect.stringMatching(/^cli/),
        address: null,
        request_id: null
      },
      { operation: "operators.rotate", before: { status: "active" }, after: { role: "read" } }
    ])
    expect(at(audit.json, "next_cursor")).not.toBeNull()
    expect(audit.out).not.toContain(String(at(rotated.json, "token")))
  })
})

describe("what is kept no longer", () => {
  it("is said for each account, counted and deleted, and the store tells its size", async () => {
    const sendwright = on(fresh())
    const made = await sendwright("accounts", "create", "--name", "Shop", "--contents-days", "30")
    const id = String(at(made.json, "account", "id"))
    expect(at(made.json, "account", "retention")).toEqual({
      deliveries_days: 30,
      contents_days: 30,
      results_days: 400,
      unread_hooks_days: 30,
      consents_days: null
    })
    const changed = await sendwright(
      "accounts",
      "change",
      id,
      "--results-days",
      "none",
      "--consents-days",
      "700"
    )
    expect(at(changed.json, "account", "retention")).toMatchObject({
      contents_days: 30,
      results_days: null,
      consents_days: 700
    })
    expect((await sendwright("accounts", "change", id, "--results-days", "6")).code).toBe(1)
    const purge = { is_complete: true, accounts: [] }
    expect((await sendwright("purge", "--dry-run", "true")).json).toMatchObject({
      purge: { ...purge, dry_run: true }
    })
    expect((await sendwright("purge")).json).toMatchObject({ purge: { ...purge, dry_run: false } })
    const entries = items((await sendwright("audit", "--operation", "storage.purge")).json, "entries")
    expect(entries).toMatchObject([{ after: { rows: 0, is_complete: true } }])
    expect((await sendwright("storage")).json).toMatchObject({
      storage: {
        kind: "sqlite",
        bytes: expect.any(Number),
        bytes_per_day: null,
        free_bytes: expect.any(Number),
        full_at: null,
        oldest: { events: null, results: null }
      }
    })
  })
})

describe("a store that was restored", () => {
  it("is held by hand, counted and opened by one command, whose flags are the API's fields", async () => {
    const sendwright = on(fresh())
    expect((await sendwright("restore", "--open", "send")).json).toMatchObject({
      restore: { held: false, reason: null }
    })
    const held = { restore: { held: true, reason: "operator" } }
    expect((await sendwright("restore", "--hold")).json).toMatchObject(held)
    expect((await sendwright("restore", "--open", "cancel", "--dry-run", "true")).json).toMatchObject(held)
    expect((await sendwright("restore")).json).toMatchObject(held)
    expect((await sendwright("restore", "--open", "unknown")).json).toMatchObject({
      restore: { held: false, counts: { jobs: 0, unknown: 0, canceled: 0, sent: 0 } }
    })
    for (const flags of [
      ["--open", "unknown", "--hold"],
      ["--hold", "--dry-run", "true"]
    ])
      expect((await sendwright("restore", ...flags)).code).toBe(1)
    expect((await sendwright("restore", "--open", "perhaps")).code).toBe(2)
  }, 60_000)
})

describe("the master key", () => {
  const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString("base64")

  it("is changed by reseal, which names the API keys that still need the old one, until none does", async () => {
    const DATABASE_URL = fresh()
    const { issued } = await story(on(DATABASE_URL, { SECRET_KEY: keyOf(1) }))
    const publicKey = String(at(issued.json, "key", "public_key"))
    const changing = on(DATABASE_URL, { SECRET_KEY: `${keyOf(2)},${keyOf(1)}` })
    const first = await changing("secrets", "reseal", "--list")
    expect(first.json).toMatchObject({
      ok: true,
      secrets: {
        resealed: { sessions: 1, webhooks: 0 },
        unreadable: { sessions: 0, webhooks: 0 },
        retired: [],
        api_keys_left: 1,
        detail: expect.stringMatching(/^1 API key\(s\) still need an older master key/)
      },
      api_keys: [{ public_key: publicKey, status: "active", last_used_at: null }]
    })
    expect(at(first.json, "api_keys", 0, "older_keys")).toEqual(at(first.json, "secrets", "older_keys"))
    await changing("keys", "revoke", publicKey)
    const second = await changing("secrets", "reseal")
    expect(at(second.json, "api_keys")).toBeUndefined()
    expect(second.json).toMatchObject({
      secrets: {
        resealed: { sessions: 0, webhooks: 0 },
        api_keys_left: 0,
        older_keys: [],
        retired: at(first.json, "secrets", "older_keys"),
        detail: "Nothing needs an older master key: leave it out of SECRET_KEY."
      }
    })
    expect((await on(DATABASE_URL, { SECRET_KEY: keyOf(2) })("accounts", "list")).code).toBe(0)
    const old = await on(DATABASE_URL, { SECRET_KEY: keyOf(1) })("accounts", "list")
    expect([old.code, old.out]).toEqual([1, ""])
    expect(old.err).toMatch(/^SECRET_KEY: This database was begun with another master key/)
  })
})

describe("what is refused", () => {
  it("is told by every fault, on standard error, with 1", async () => {
    const sendwright = on(fresh())
    const id = "01930000-0000-7000-8000-000000000000"
    expect(await sendwright("rate-cards", "list", "--limit", "101", "--cursor", "x")).toMatchObject({
      code: 1,
      out: "",
      err: "/query/limit: `limit` must be a number from 1 to 100.\n/query/cursor: `cursor` must be a `next_cursor` of this very list, with the same filter.\n"
    })
    const card = { currency: "EUR", effective_from: "2026-10-01", prices: [{ market: "55" }] }
    const added = await sendwright("rate-cards", "add", file("card.json", card))
    expect([added.code, added.err.split("\n").map((line) => line.split(":")[0])]).toEqual([
      1,
      ["/effective_from", "/prices/0/category", "/prices/0/price", ""]
    ])
    expect(await sendwright("accounts", "show", id)).toMatchObject({
      code: 1,
      err: "There is no such account.\n"
    })
    expect(await sendwright("accounts", "show", "12")).toMatchObject({
      code: 1,
      err: "/path/id: `id` must be a UUID.\n"
    })
    const retry = ["jobs", "retry", id, "--statuses", "unknown,delivered", "--dry-run", "true"]
    const misnamed = await sendwright(...retry)
    expect([misnamed.code, misnamed.err]).toEqual([
      1,
      '/statuses/1: Item 1 must be one of "failed", "unknown".\n'
    ])
    const flags = ["--codes", "busy", "--phones", "+34600000100,34600000101", "--dry-run", "false"]
    expect((await sendwright("jobs", "retry", id, ...flags)).err).toBe(
      "/phones/0: Write the number as digits only: 34600000100.\n"
    )
    const unfound = await sendwright("jobs", "retry", id, "--statuses", "failed,unknown")
    expect([unfound.code, unfound.err]).toEqual([1, "There is no such job.\n"])
    expect(await on("mysql://nowhere/database")("accounts", "list")).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/^DATABASE_URL: must be a path such as .*, sqlite:/)
    })
  })

  it("is printed without what moves a cursor, begins a line or turns the order of writing", async () => {
    const hostile = "a\u001b]0;b\u0007\u009b2J\nc\u2028\u202e"
    const sendwright = on(fresh())
    const id = "01930000-0000-7000-8000-000000000000"
    const { err } = await sendwright(
      "templates",
      "import",
      id,
      file("hostile.json", { templates: [], [hostile]: 1 })
    )
    expect(err.split("\n").map((line) => line.slice(0, 8))).toEqual(["/templat", "/a\\u001b", ""])
    const unread = await sendwright("templates", "import", id, `${folder}/${hostile}`)
    const made = await sendwright("accounts", "create", "--name", "Shop \u202e\u2028")
    expect(at(made.json, "account", "name")).toBe("Shop \u202e\u2028")
    // The parser colours its own lines.
    const printed = [err, stripVTControlCharacters(unread.err), made.out].flatMap((text) => text.split("\n"))
    expect(printed.filter((line) => /[\p{Cc}\p{Zl}\p{Bidi_Control}]/u.test(line))).toEqual([])
  })

  it("is an unknown flag of any command, with 2", async () => {
    const sendwright = on(fresh())
    const opened = join(folder, `${databases}.db`)
    const given = file("given.json", {})
    for (const { command: asking } of AdminApi.operations) {
      const command = asking.name.split(" ")
      const [, usage = ""] = /^Usage {2}(.*)$/m.exec((await sendwright(...command, "--help")).out) ?? []
      // Everything that the command asks for, so that nothing else is wrong with it.
      const asked = [...usage.matchAll(/--[a-z-]+|<[^>]+>/g)].flatMap(([each]) =>
        each.startsWith("--")
          ? [each, each === "--role" ? "read" : "sandbox"]
          : [each.startsWith("<file") ? given : "x"]
      )
      const { code, err, out } = await sendwright(...command, ...asked, "--no-such-flag", "x")
      expect([command, code, out, err]).toEqual([command, 2, "", expect.stringContaining("'--no-such-flag'")])
    }
    expect(existsSync(opened)).toBe(false)
  })

  it("is a member of a file that is unknown or given twice, a cursor of another list, and a flag given twice", async () => {
    const sendwright = on(fresh())
    const created = await sendwright("accounts", "create", "--name", "Shop")
    const id = String(at(created.json, "account", "id"))
    const consents = { consents: [{ phone: "34600001234", source: "form", staus: "revoked" }], dry: true }
    expect(await sendwright("consents", "record", id, file("staus.json", consents))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^\/consents\/0\/staus: .*Did you mean `status`\?\n\/dry: /)
    })
    const revoked = '{"phone":"34600001234","source":"form","status":"revoked","status":"granted"}'
    expect(
      await sendwright("consents", "record", id, file("two.json", `{"consents":[${revoked}]}`))
    ).toMatchObject({
      code: 2,
      err: expect.stringContaining("At /consents/0/status: `status` must be given once")
    })
    const latin = file("latin.csv", "")
    writeFileSync(latin, Buffer.from("phone,source\n34600001234,formulario de se\u00f1al\n", "latin1"))
    expect(await sendwright("consents", "record", id, latin)).toMatchObject({
      code: 2,
      err: expect.stringContaining("latin.csv must be UTF-8.")
    })
    const config = ["--config-file", file("config.json", { speed: 1 })]
    const opened = ["sessions", "create", id, "--name", "S", "--provider", "sandbox", ...config]
    expect(await sendwright(...opened)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^\/config\/speed: /)
    })
    expect(await sendwright("sessions", "create", id, "--name", "S", "--provider", "crow")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^\/provider: .*"crow"\. Available: sandbox, http, whatsapp_cloud\./)
    })
    await sendwright("accounts", "create", "--name", "Other")
    const first = await sendwright("accounts", "list", "--limit", "1")
    const cursor = String(at(first.json, "next_cursor"))
    const second = await sendwright("accounts", "list", "--cursor", cursor)
    expect(items(second.json, "accounts")).toHaveLength(1)
    expect(await sendwright("rate-cards", "list", "--cursor", cursor)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^\/query\/cursor: /)
    })
    expect((await sendwright("accounts", "list", "--limit", "1", "--limit", "2")).code).toBe(2)
  })

  it("is an error that says which command or flag was meant", async () => {
    const sendwright = on(fresh())
    for (const [given, meant] of [
      [["acounts", "list"], 'Did you mean "accounts"?'],
      [["accounts", "creat"], 'Did you mean "accounts create"?'],
      [["accounts", "list", "--limt", "3"], "There is no flag --limt here. Did you mean --limit?"],
      [["--tokn=x", "health"], "There is no flag --tokn here. Did you mean --token?"]
    ] as const)
      expect(await sendwright(...given)).toMatchObject({ code: 2, err: expect.stringContaining(meant) })
    expect((await sendwright("zzzzz")).err).not.toContain("Did you mean")
  })

  it("is an error of usage with 2 when the command cannot be read, and opens no database", async () => {
    const sendwright = on(fresh())
    const opened = join(folder, `${databases}.db`)
    const consents = (name: string, content: string) => ["consents", "record", "a", file(name, content)]
    const misuses = [
      ["invoices"],
      ["accounts", "create"],
      ["accounts", "create", "--name", "Shop", "--plan", "{}"],
      ["accounts", "create", "--name", "Shop", "--subscription", "perhaps"],
      ["accounts", "create", "--name", "Shop", "--daily-direct-messages", "many"],
      ["accounts", "show"],
      ["rate-cards", "add", join(folder, "absent.json")],
      ["accounts", "change", "a"],
      ["sessions", "change", "a"],
      ["keys", "change", "a"],
      ["webhooks", "change", "a"],
      ["sessions", "change", "a", "--config-file", join(folder, "absent.json")],
      ["sessions", "change", "a", "--config-file", file("broken.json", '{"access_token": "s3cret"')],
      consents("unknown.csv", "phone,source,ocurred_at\n34600001234,form,\n"),
      consents("headless.csv", "34600001234,form\n"),
      consents("absent.csv", "").with(3, join(folder, "nowhere.csv"))
    ]
    for (const args of misuses) {
      const { code, err, out } = await sendwright(...args)
      expect([args, code, out]).toEqual([args, 2, ""])
      expect(err.trim()).not.toBe("")
      expect(err).not.toContain("s3cret")
    }
    expect(existsSync(opened)).toBe(false)
  })
})
