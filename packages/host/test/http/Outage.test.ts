/** What a caller sees when the storage does not answer, and when we have a bug. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Sqlite from "better-sqlite3"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Tenant, TestHost } from "../../../../test/support/TestHost.ts"
import { at, consent, sendBody, start, tenant } from "../../../../test/support/TestHost.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-outage-"))
const file = join(folder, "host.db")
let host: TestHost
let owner: Tenant

beforeAll(async () => {
  host = await start({ DATABASE_URL: `sqlite:${file}` })
  owner = await tenant(host)
  await consent(host, owner.accountId, "34600000100")
}, 30_000)
afterAll(async () => {
  await host.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe("while the storage cannot be written", () => {
  it("a send is 503 unavailable with Retry-After, and accepted once the storage is back, under the same key", async () => {
    const body = sendBody(owner.templateId, "34600000100")
    const intruder = new Sqlite(file)
    intruder.exec("BEGIN IMMEDIATE")
    const refused = await owner.send(body, "outage")
    expect([refused.status, at(refused.json, "code")], refused.text).toEqual([503, "unavailable"])
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
    expect(refused.text).not.toMatch(/sqlite|database/i)
    expect((await owner.get("/api/v1/connection")).status).toBe(200)
    intruder.exec("ROLLBACK")
    intruder.close()
    const accepted = await owner.send(body, "outage")
    expect(accepted.status, accepted.text).toBe(202)
    expect(accepted.headers.get("idempotency-replayed")).toBeNull()
  })
})
