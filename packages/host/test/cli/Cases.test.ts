/** Files of operators that failed once, by the command line that takes them. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { at, items } from "../../../../test/support/TestHost.ts"
import * as InProcess from "./InProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-cases-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const settings = { DATABASE_URL: `sqlite:${join(folder, "cases.db")}` }
const inputOf = (name: string): string =>
  fileURLToPath(new URL(`../../../../test/cases/${name}`, import.meta.url))

const sendwright = (...args: ReadonlyArray<string>) => InProcess.run(settings, args)

describe("a price list", () => {
  it("22: tells the market that is not known, and takes the others", async () => {
    const { code, json } = await sendwright(
      "rate-cards",
      "import",
      inputOf("22-new-market.csv"),
      "--currency",
      "USD",
      "--effective-from",
      "2026-10-01"
    )
    expect(code).toBe(0)
    expect(items(json, "skipped")).toMatchObject([{ line: 2, market: "Vietnam" }])
    expect(items(json, "rate_card", "prices").map((each) => [at(each, "market"), at(each, "price")])).toEqual(
      [
        ["*", "0.0604"],
        ["*", "0.0077"],
        ["*", "0.0077"]
      ]
    )
  })
})

describe("a table of consents", () => {
  let account = ""
  beforeAll(async () => {
    const created = await sendwright("accounts", "create", "--name", "Shop", "--currency", "USD")
    account = String(at(created.json, "account", "id"))
  })
  const record = (name: string) =>
    sendwright("consents", "record", account, inputOf(name), "--rejects", join(folder, `${name}.rejected`))

  it("12: with a spreadsheet's float is told how to write that number", async () => {
    const { code, err, json } = await record("12-float.csv")
    expect([code, err.split("\n")[0]]).toEqual([
      1,
      "line 2, phone: Write the number as digits only: 34600000317."
    ])
    expect(at(json, "recorded")).toBe(0)
  })

  it.each([
    ["14", "14-header.csv", "34600000321"],
    ["14b", "14b-trailing-column.csv", "34600000337"],
    ["14c", "14c-sep.csv", "34600000322"]
  ])("%s: is read as spreadsheets write it", async (_, name, phone) => {
    expect(await record(name)).toMatchObject({ code: 0, err: "", json: { recorded: 1, refused: 0 } })
    const { json } = await sendwright("consents", "show", account, "--phone", phone)
    expect(items(json, "history")).toHaveLength(1)
  })

  it("15: has a day for its midnight in UTC", async () => {
    expect((await record("15-day.csv")).code).toBe(0)
    const { json } = await sendwright("consents", "show", account, "--phone", "34600000326")
    expect(items(json, "history")).toMatchObject([{ occurred_at: "2026-01-31T00:00:00.000Z" }])
  })
})
