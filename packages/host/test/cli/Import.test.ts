/** A table of consents of any length: `sendwright consents record`. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as wait } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Csv } from "@sendwright/core/adapter"
import { afterAll, describe, expect, it } from "vitest"
import { mortal } from "../../../../test/support/mortal.ts"
import { at, items, start } from "../../../../test/support/TestHost.ts"
import * as ConsentTable from "../../src/cli/ConsentTable.ts"
import * as Progress from "../../src/cli/Progress.ts"
import * as InProcess from "./InProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-import-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const file = (content: string | Uint8Array): string => {
  files += 1
  const path = join(folder, `${files}.csv`)
  writeFileSync(path, content)
  return path
}

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

/** `sendwright` as a process. */
const started = (environment: Readonly<Record<string, string>>, args: ReadonlyArray<string>, input = "") => {
  const child = mortal(
    spawn(process.execPath, [main, ...args], {
      cwd: folder,
      env: { PATH: process.env["PATH"] ?? "", ...environment }
    })
  )
  child.stdin.end(input)
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]).then(
    ([out, err]) => {
      const json: unknown = out.startsWith("{") ? JSON.parse(out) : undefined
      return { code: child.exitCode, out, err, json }
    }
  )
  return { child, ended }
}

const fresh = async () => {
  files += 1
  const environment = { DATABASE_URL: `sqlite:${join(folder, `${files}.db`)}` }
  const sendwright = (...args: ReadonlyArray<string>) => InProcess.run(environment, args)
  const created = await sendwright("accounts", "create", "--name", "Shop", "--currency", "USD")
  return { environment, sendwright, account: String(at(created.json, "account", "id")) }
}

const phoneOf = (place: number): string => `346${String(place).padStart(8, "0")}`

/** Rows without a time, each with a proof of its own. */
const table = (rows: number): string =>
  `phone,source,proof\n${Array.from({ length: rows }, (_, place) => `${phoneOf(place)},form,row ${place}\n`).join("")}`

const historyOf = async (
  sendwright: (...args: ReadonlyArray<string>) => Promise<{ json: unknown }>,
  account: string,
  phone: string
) => items((await sendwright("consents", "show", account, "--phone", phone)).json, "history")

describe("a table of consents", () => {
  it("has each bad line by number and with its reasons in a file, and the others recorded", async () => {
    const { account, sendwright } = await fresh()
    const path = file(
      Buffer.concat([
        Buffer.from("sep=;\n\nphone;source;occurred_at;purpose\n34600001234;form;\n12;web;2026-13-01;\n"),
        Buffer.from('34600001235;"form" web\n34600001236;form;;;more\n34600001237;form;;news\n'),
        Buffer.from("34600001238;se\u00f1al\n", "latin1"),
        Buffer.from(`34600001239;${"x".repeat(Csv.longestLine)}\n34600001240;form;2026-01-31`)
      ])
    )
    // What comes first has to be UTF-8; the table that is not is longer.
    const long = file(
      Buffer.concat([
        Buffer.from(`phone;source\n${"34600001200;form\n".repeat(10_000)}`),
        readFileSync(path).subarray(readFileSync(path).indexOf("34600001234"))
      ])
    )
    const bad = join(folder, "bad.csv")
    const early = await sendwright("consents", "record", account, path)
    expect([early.code, early.err]).toEqual([2, expect.stringContaining("must be UTF-8.")])
    const { code, err, json } = await sendwright("consents", "record", account, long, "--rejects", bad)
    expect([code, json]).toEqual([
      1,
      { ok: true, lines: 10_008, recorded: 10_001, kept_refused: 0, refused: 7, rejects: bad }
    ])
    const [head, ...rows] = [...Csv.read(readFileSync(bad, "utf8"), ",")]
    expect(head?.cells).toEqual(["line", "reason", "text"])
    expect(rows.map(({ cells: [line, reason] }) => [line, reason])).toEqual([
      ["10003", expect.stringContaining("cells without a column")],
      ["10004", expect.stringContaining("Put quotes around the whole cell")],
      ["10005", expect.stringContaining("cells without a column")],
      ["10006", expect.stringContaining("cells without a column")],
      ["10007", "The line must be UTF-8."],
      ["10008", expect.stringContaining("at most 65,536 characters")],
      ["10009", expect.stringContaining("cells without a column")]
    ])
    expect(err).toContain("line 10007: The line must be UTF-8.\n")
    expect(err).toMatch(/\n7 refused: \S+bad\.csv has each line with its reasons\.\n$/)
    expect(existsSync(`${bad}.unfinished`)).toBe(false)
  }, 60_000)

  it("opens nobody whom it refuses itself, nor who was erased, and tells how many", async () => {
    const { account, sendwright } = await fresh()
    const both = file(
      `phone,status,source\n34699999601,revoked,list\n${Array.from({ length: 1200 }, (_, n) => `${phoneOf(n)},granted,list\n`).join("")}34699999601,granted,list\n`
    )
    const done = await sendwright("consents", "record", account, both)
    expect(done).toMatchObject({
      code: 0,
      json: { lines: 1202, recorded: 1201, kept_refused: 1, refused: 0 }
    })
    expect(done.err).toContain("line 1203: Consent stays refused")
    expect(done.err.trimEnd().split("\n").at(-1)).toMatch(/^1 kept refused: /)
    expect(await historyOf(sendwright, account, "34699999601")).toMatchObject([{ status: "revoked" }])

    // As an account's own export has somebody who was erased.
    const own = file(
      "phone,status,source\nerased:0123456789abcdef01234567,granted,list\n34699999602,granted,list\n"
    )
    const again = await sendwright("consents", "record", account, own)
    expect(again).toMatchObject({ code: 0, json: { lines: 2, recorded: 1, kept_refused: 1 } })
    expect(readFileSync(`${own}.rejected.csv`, "utf8")).toContain("erased:")
  }, 60_000)

  for (const separator of [";", "\t"])
    it(`may have its header in quotes, with ${JSON.stringify(separator)} between`, async () => {
      const { account, sendwright } = await fresh()
      const rows = [
        ["phone", "source"],
        ["34600000643", "form"]
      ]
      const path = file(rows.map((row) => row.map((cell) => `"${cell}"`).join(separator)).join("\n"))
      const { code, json } = await sendwright("consents", "record", account, path)
      expect([code, json]).toMatchObject([0, { recorded: 1, refused: 0 }])
    })

  it("is told by the API's rules, several of a row, and by the row's own shape", async () => {
    const { account, sendwright } = await fresh()
    const path = file(
      "phone,source,occurred_at,purpose\n12,web,2026-13-01,\n34600001234,,,\n34600001235,form,,news\n34600001236,form,2026-01-31,\n"
    )
    const { err, json } = await sendwright("consents", "record", account, path)
    expect(json).toMatchObject({ lines: 4, recorded: 1, refused: 3 })
    expect(err.split("\n").map((line) => line.split(":")[0])).toEqual([
      "line 2, phone",
      "line 2, occurred_at",
      "line 3, source",
      "line 4, purpose",
      "3 refused",
      ""
    ])
    const again = await sendwright("consents", "record", account, path)
    expect([again.code, again.out, again.err]).toEqual([
      1,
      "",
      expect.stringContaining("is there already, of another import")
    ])
  }, 60_000)

  it("has a header row that can be read, or nothing is tried", async () => {
    const { account, sendwright } = await fresh()
    const refused = async (content: string) => {
      const { code, err } = await sendwright("consents", "record", account, file(content))
      expect(code).toBe(2)
      return err
    }
    expect(await refused("Phone,Ocurred At\n34600001234,\n")).toContain('It has: "ocurred_at".')
    expect(await refused("sep=|\nphone|source\n34600001234|form\n")).toContain('separated by "|"')
  }, 60_000)

  it("goes on where it was killed: each row is recorded once, at the time when the import began", async () => {
    const { account, environment, sendwright } = await fresh()
    const rows = 5000
    // One that is refused in each thousand.
    const path = file(table(rows).replaceAll(/^346\d{5}500,/gm, "12,"))
    const checkpoint = `${path}.rejected.csv.unfinished`
    const reached = () =>
      existsSync(checkpoint) ? Number(at(JSON.parse(readFileSync(checkpoint, "utf8")), "rows")) : 0
    for (const times of [0, 1, 2]) {
      const before = reached()
      const { child, ended } = started(environment, ["consents", "record", account, path])
      while (child.exitCode === null && reached() <= before) await wait(2)
      // Somewhere in the next request.
      await wait(15 * times)
      child.kill("SIGKILL")
      expect((await ended).code).toBeNull()
      expect(reached()).toBeGreaterThan(before)
    }
    const last = await sendwright("consents", "record", account, path)
    expect([last.code, last.json]).toMatchObject([1, { lines: rows, recorded: rows - 5, refused: 5 }])
    expect(last.err).toMatch(/^Goes on behind line \d+ with the import that began at /)
    const rejected = [...Csv.read(readFileSync(`${path}.rejected.csv`, "utf8"), ",")].slice(1)
    expect(rejected.map(({ cells: [line] }) => Number(line))).toEqual(
      Array.from({ length: 5 }, (_, place) => place * 1000 + 502)
    )
    const { default: Sqlite } = await import("better-sqlite3")
    const db = new Sqlite(environment.DATABASE_URL.slice("sqlite:".length), { readonly: true })
    try {
      const one = db.prepare(
        "SELECT count(*) AS rows, count(DISTINCT proof) AS proofs, count(DISTINCT reported_at) AS times FROM sendwright_consent"
      )
      expect(one.get()).toEqual({ rows: rows - 5, proofs: rows - 5, times: 1 })
    } finally {
      db.close()
    }
    expect(await historyOf(sendwright, account, phoneOf(1))).toHaveLength(1)
  }, 120_000)

  it("is refused when it is another than when its import began", async () => {
    const { account, environment, sendwright } = await fresh()
    const content = table(3000)
    const path = file(content)
    const checkpoint = `${path}.rejected.csv.unfinished`
    const { child, ended } = started(environment, ["consents", "record", account, path])
    while (!existsSync(checkpoint) || Number(at(JSON.parse(readFileSync(checkpoint, "utf8")), "rows")) === 0)
      await wait(2)
    child.kill("SIGKILL")
    expect((await ended).code).toBeNull()
    const resumed = async (changed: string) => {
      writeFileSync(path, changed)
      const { code, err } = await sendwright("consents", "record", account, path)
      return [code, err.split("\n").at(-2)]
    }
    const anew = `Remove ${checkpoint} to begin anew.`
    expect(await resumed(`${content}34600001234,form,\n`)).toEqual([1, expect.stringContaining(anew)])
    expect(await resumed(content.replace("row 0\n", "row O\n"))).toEqual([
      1,
      expect.stringContaining("the rows that were imported are not its first ones")
    ])
    expect(await resumed(content)).toEqual([0, expect.stringMatching(/^Goes on behind line \d+/)])
  }, 60_000)

  it("comes at the standard input, too, and is recorded at a host that is not always there", async () => {
    const host = await start({})
    const busy: Array<number> = []
    let asked = 0
    let proxy: Server | undefined
    try {
      const { json } = await host.admin("/accounts", { name: "Shop", currency: "USD" })
      const account = String(at(json, "account", "id"))
      proxy = createServer((request, response) => {
        asked += 1
        const status = [429, 503, 200, 502, 200][asked - 1] ?? 200
        if (status !== 200) {
          busy.push(status)
          request.resume()
          response.writeHead(status, { "retry-after": "1" }).end("busy")
          return
        }
        void (async () => {
          const answer = await fetch(`${host.base}${request.url}`, {
            method: request.method ?? "GET",
            headers: {
              authorization: request.headers.authorization ?? "",
              "content-type": "application/json"
            },
            body: await text(request)
          })
          response.writeHead(answer.status).end(await answer.text())
        })()
      }).listen(0, "127.0.0.1")
      await once(proxy, "listening")
      const address = proxy.address()
      const environment = {
        SENDWRIGHT_URL: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
        SENDWRIGHT_TOKEN: host.adminToken
      }
      const done = await started(environment, ["consents", "record", account, "-"], table(1500)).ended
      expect([done.code, done.err]).toEqual([0, ""])
      expect(done.json).toEqual({
        ok: true,
        lines: 1500,
        recorded: 1500,
        kept_refused: 0,
        refused: 0,
        rejects: null
      })
      expect(busy).toEqual([429, 503, 502])
      const shown = await host.admin(`/accounts/${account}/consents?phone=${phoneOf(1499)}`)
      expect(items(shown.json, "history")).toHaveLength(1)
    } finally {
      proxy?.close()
      await host.stop()
    }
  }, 60_000)

  it("passes over what an export has besides, and the apostrophe before a formula", () => {
    const columns = ["phone", "user_id", "source", "consent_id", "proof"]
    const [line] = Csv.read(`34600001234,,"'=web",id,'plain`, ",")
    expect(line && ConsentTable.rowOf({ columns }, line)).toMatchObject({
      right: { phone: "34600001234", source: "=web", proof: "'plain" }
    })
  })
})

describe("a phone in a table", () => {
  it("is read as people write it, where that can be one number only", () => {
    const written = ["+34 600 001 234", "0034-600-001234", "34600001234"]
    const doubtful = ["+44 (0) 7700 900123", "34600001234/5", "600 001 234", "34600001234.5"]
    const read = (phone: string) =>
      ConsentTable.rowOf(
        { columns: ["phone", "source"] },
        { number: 2, cells: [phone, "form"], text: phone, fault: undefined }
      )
    for (const phone of written)
      expect([phone, read(phone)]).toMatchObject([phone, { right: { phone: "34600001234" } }])
    // These are as they were, for the API to refuse.
    for (const phone of doubtful) expect(read(phone)).toMatchObject({ right: { phone } })
  })
})

describe("progress", () => {
  it("tells lines, their rate and the time left, since it went on", () => {
    const since = { lines: 100_000, part: 0.1, ms: 10_000 }
    expect(Progress.told({ lines: 300_000, part: 0.3 }, since)).toBe(
      "30 %, 300,000 lines, 20,000 a second, 35 s left"
    )
    expect(Progress.told({ lines: 120_000, part: null, refused: 3 }, { ...since, part: null })).toBe(
      "120,000 lines, 3 refused, 2,000 a second"
    )
    expect(Progress.told({ lines: 120_000, part: null }, { ...since, part: null })).toBe(
      "120,000 lines, 2,000 a second"
    )
    expect(Progress.told({ lines: 100_001, part: 0.1001 }, since)).toBe(
      "10 %, 100,001 lines, 0 a second, 24 h 59 min left"
    )
  })

  it("fits in a line of the terminal", () => {
    for (const columns of [20, 60, 80, 200]) {
      const drawn = Progress.drawn("30 %, 300,000 lines, 20,000 a second, 35 s left", 0.3, columns)
      expect(drawn.length).toBeLessThan(columns)
    }
    expect(Progress.drawn("50 %", 0.5, 30)).toBe(`[${"#".repeat(11)}${"-".repeat(11)}] 50 %`)
  })
})
