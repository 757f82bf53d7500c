/** Results, events and consents as lines: `sendwright export`, and the same over HTTP. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { Csv } from "@sendwright/core/adapter"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { mortal } from "../../../../test/support/mortal.ts"
import type { TestHost } from "../../../../test/support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../../../../test/support/TestHost.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-export-"))
const DATABASE_URL = `sqlite:${join(folder, "export.db")}`

let host: TestHost
beforeAll(async () => {
  host = await start({ DATABASE_URL })
}, 60_000)
afterAll(async () => {
  await host.stop()
  rmSync(folder, { recursive: true, force: true })
})

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))

const sendwright = async (...args: ReadonlyArray<string>) => {
  const child = mortal(
    spawn(process.execPath, [main, ...args], {
      cwd: folder,
      env: {
        PATH: process.env["PATH"] ?? "",
        SENDWRIGHT_URL: host.base,
        SENDWRIGHT_TOKEN: host.adminToken
      }
    })
  )
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { code: child.exitCode, out, err }
}

const lines = (ndjson: string): ReadonlyArray<unknown> =>
  ndjson
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

const rowsOf = (found: ReadonlyArray<unknown>) => {
  expect(found.at(-1)).toEqual({ ok: true, rows: found.length - 1 })
  return found.slice(0, -1)
}

const exported = async (path: string) => {
  const answer = await host.admin(`/export/${path}`)
  expect(answer.status, answer.text).toBe(200)
  return answer
}

const results = async (query: string) => rowsOf(lines((await exported(`results?${query}`)).text))

const phones = Array.from({ length: 200 }, (_, n) => `346${String(n).padStart(8, "0")}`)

describe("an export of results", () => {
  it("has a line for each recipient that matches, newest job first, while others are sent", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, ...phones)
    const body = sendBody(owner.templateId, ...phones)
    const first = await owner.send({ ...body, reference: "spring" }, "first")
    const second = await owner.send(
      {
        ...sendBody(owner.templateId, ...phones.slice(0, 2)),
        recipients: [
          { phone: phones[0], external_id: "=cmd|'/c calc'!A0", variables: { "body.1": "Ana" } },
          { phone: phones[1], external_id: "-1", variables: { "body.1": "Ben" } }
        ]
      },
      "second"
    )
    const [one, two] = [first, second].map((sent) => String(at(sent.json, "job_id")))
    expect([first.status, second.status], first.text.slice(0, 500)).toEqual([202, 202])
    let isDone = false
    const sending = (async () => {
      for (let count = 0; !isDone; count++)
        await owner.send(sendBody(owner.templateId, ...phones.slice(0, 20)), `while ${count}`)
    })()
    const ofAccount = `account_id=${owner.accountId}`
    const meanwhile = await results(ofAccount)
    isDone = true
    await sending
    // Nothing of the first jobs is missing, or there twice.
    for (const [job, count] of [
      [one, 200],
      [two, 2]
    ] as const) {
      const found = meanwhile.filter((row) => at(row, "job_id") === job)
      expect(new Set(found.map((row) => at(row, "message_id"))).size).toBe(count)
      expect(found).toHaveLength(count)
    }
    expect(meanwhile.slice(-200).map((row) => at(row, "phone"))).toEqual(phones)
    await eventually(
      () => results(`job_id=${one}&status=delivered`),
      (found) => found.length === 200
    )
    expect(await results(`${ofAccount}&reference=spring`)).toHaveLength(200)
    expect(await results(`job_id=${two}&session_id=${owner.sessionId}`)).toHaveLength(2)
    expect(await results(`job_id=${two}&reference=spring`)).toEqual([])
    expect(await results(`job_id=${one}&code=nothing`)).toEqual([])
    expect(await results(`${ofAccount}&created_before=2020-01-01T00:00:00Z`)).toEqual([])
    expect((await host.admin(`/export/results?job_id=${owner.accountId}`)).status).toBe(404)
    expect((await host.admin("/export/results?status=lost")).status).toBe(422)

    const csv = await exported(`results?job_id=${two}&format=csv`)
    expect(csv.headers.get("content-type")).toMatch(/^text\/csv/)
    const [head, ...rows] = [...Csv.read(csv.text, ",")]
    const column = head?.cells.indexOf("external_id") ?? -1
    expect(rows.map(({ cells }) => cells[column])).toEqual(["'=cmd|'/c calc'!A0", "'-1"])

    const { code, err, out } = await sendwright("export", "results", "--job-id", String(two))
    expect([code, err]).toEqual([0, ""])
    expect(rowsOf(lines(out))).toEqual(await results(`job_id=${two}`))
    const absent = await sendwright("export", "results", "--job-id", owner.accountId, "--format", "csv")
    expect([absent.code, absent.out, absent.err]).toEqual([1, "", expect.stringMatching(/\S/)])
  }, 90_000)
})

describe("an export of events", () => {
  it("has what happened and each step of each recipient, over HTTP and on the command line", async () => {
    const owner = await tenant(host)
    await consent(host, owner.accountId, ...phones.slice(0, 3))
    const sent = await owner.send(sendBody(owner.templateId, ...phones.slice(0, 3)), "events")
    const job = String(at(sent.json, "job_id"))
    await eventually(
      // The second is a number that the sandbox does not reach.
      () => results(`job_id=${job}&status=delivered`),
      (found) => found.length === 2
    )
    const ofAccount = rowsOf(lines((await exported(`events?account_id=${owner.accountId}`)).text))
    const count = (type: string) => ofAccount.filter((row) => at(row, "type") === type).length
    const types = ["job.created", "recipient.attempted", "recipient.delivered", "recipient.failed"]
    expect(types.map(count)).toEqual([1, 3, 2, 1])
    const listed = await host.admin(`/events?job_id=${job}&limit=100`)
    expect(ofAccount.filter((row) => at(row, "job_id") === job)).toHaveLength(
      items(listed.json, "events").length
    )
    const { code, err, out } = await sendwright("export", "events", "--job-id", job, "--format", "csv")
    expect([code, err]).toEqual([0, ""])
    expect(out.split("\n")[0]).toBe("at,type,account_id,session_id,job_id,message_id,sequence,subject,data\r")
    const processes = rowsOf(lines((await exported("events?type=process.*")).text))
    expect(processes.map((row) => at(row, "type"))).toEqual(["process.started"])
    expect((await sendwright("events", "list", "--type", "nothing")).code).toBe(2)
  }, 60_000)
})

describe("an export of consents", () => {
  it("is imported again, and decides the same of everyone", async () => {
    const owner = await tenant(host)
    const other = await tenant(host)
    const said = phones.slice(0, 40).flatMap((phone, place) =>
      [0, 1, 2]
        .filter((more) => more <= place % 3)
        .map((more) => ({
          phone,
          purpose: ["all", "marketing", "utility"][(place + more) % 3],
          status: (place + more) % 2 === 0 ? "granted" : "revoked",
          source: place % 5 === 0 ? "=form" : 'web "form", new',
          ...(place % 4 === 0 ? { proof: `- ${place}` } : {}),
          ...(more === 1 ? { occurred_at: "2026-01-31T12:00:00.000Z" } : {})
        }))
    )
    for (const each of said) {
      const recorded = await host.admin(`/accounts/${owner.accountId}/consents`, { consents: [each] })
      expect(at(recorded.json, "recorded"), recorded.text).toBe(1)
    }
    const told = await sendwright("export", "consents", "--account-id", owner.accountId, "--format", "csv")
    expect([told.code, told.err]).toEqual([0, ""])
    writeFileSync(join(folder, "consents.csv"), told.out)
    const back = await sendwright("consents", "record", other.accountId, "consents.csv")
    expect([back.code, back.err, JSON.parse(back.out)]).toMatchObject([0, "", { refused: 0 }])
    const stateOf = async (account: string, phone: string) => {
      const { json } = await host.admin(`/accounts/${account}/consents?phone=${phone}`)
      const current = items(json, "current").map((each) => [at(each, "purpose"), at(each, "status")])
      return [current, items(json, "history").map((each) => [at(each, "source"), at(each, "proof")])]
    }
    for (const phone of phones.slice(0, 40))
      expect((await stateOf(other.accountId, phone))[0], phone).toEqual(
        (await stateOf(owner.accountId, phone))[0]
      )
    const rows = async (query: string) => rowsOf(lines((await exported(`consents?${query}`)).text))
    const [before, after] = await Promise.all([
      rows(`account_id=${owner.accountId}`),
      rows(`account_id=${other.accountId}`)
    ])
    const words = (row: unknown) =>
      ["phone", "purpose", "status", "source", "proof"].map((name) => at(row, name))
    expect(after.map(words)).toEqual(before.map(words))
    expect(before).toHaveLength(said.length)
    const refused = await rows(`account_id=${owner.accountId}&status=revoked&purpose=marketing`)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused).toEqual(
      before.filter((row) => at(row, "status") === "revoked" && at(row, "purpose") === "marketing")
    )
    expect(await rows("recorded_before=2020-01-01T00:00:00Z")).toEqual([])
  }, 90_000)

  it("is for operators who read", async () => {
    const made = await host.admin("/operators", { name: "reader", role: "read" })
    const headers = { authorization: `Bearer ${String(at(made.json, "token"))}` }
    expect((await host.request("/admin/v1/export/consents", { headers })).status).toBe(200)
    expect((await host.request("/admin/v1/export/consents")).status).toBe(401)
  }, 30_000)
})
