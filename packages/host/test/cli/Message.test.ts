/** `sendwright message`: the story of a message at a terminal and for programs, beside a host and straight on the database. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { at, consent, eventually, sendBody, start, tenant } from "../../../../test/support/TestHost.ts"
import * as Screen from "../../src/cli/Screen.ts"
import * as InProcess from "./InProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-message-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const terminal: Screen.Screen = Screen.make({ isTTY: true, columns: 80 }, { isTTY: true }, undefined)

it("tells the story of a message in lines at a terminal, and as JSON elsewhere, of a host and of a database", async () => {
  const DATABASE_URL = `sqlite:${join(folder, "s.db")}`
  const host = await start({ DATABASE_URL })
  const phone = "34600007100"
  const owner = await tenant(host)
  await consent(host, owner.accountId, phone)
  const body = sendBody(owner.templateId, phone)
  const recipients = [{ phone, variables: { "body.1": "Ana _red_ \u202e" } }]
  const sent = await owner.send({ ...body, recipients }, "order-1")
  expect(sent.status, sent.text).toBe(202)
  const id = `${String(at(sent.json, "job_id")).slice(0, -3)}001`
  const status = (json: unknown) => at(json, "message", "status")
  await eventually(
    () => host.admin(`/messages/${id}/timeline`),
    ({ json }) => status(json) === "delivered"
  )
  const beside = { SENDWRIGHT_URL: host.base, SENDWRIGHT_TOKEN: host.adminToken }
  const told = await InProcess.run(beside, ["messages", "story", id])
  expect([told.code, status(told.json)], told.err).toEqual([0, "delivered"])
  const shown = await InProcess.run(beside, ["messages", "story", id], terminal)
  expect(shown.out).toContain(`# Message ${id}`)
  expect(shown.out).toMatch(/^- \S+Z \*\*Delivered\*\*/m)
  // As it was written, but for what a terminal would obey.
  expect(shown.out).toContain("Hello Ana _red_ \\u202e")
  const unknown = await InProcess.run(beside, ["messages", "story", id.replace(/...$/, "fff")])
  expect([unknown.code, unknown.out]).toEqual([1, ""])
  await host.stop()
  const direct = await InProcess.run({ DATABASE_URL }, ["messages", "story", id])
  expect(direct.json).toEqual(told.json)
}, 60_000)
