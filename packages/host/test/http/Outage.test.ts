/** What a caller sees when the storage does not answer, and when we have a bug. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as BreakingPostgres from "../../../../test/support/BreakingPostgres.ts"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
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

describe("while PostgreSQL restarts", () => {
  const scope = Effect.runSync(Scope.make())
  let way: BreakingPostgres.BreakingPostgres
  let restarting: TestHost
  let tenantOfIt: Tenant

  beforeAll(async () => {
    way = await BreakingPostgres.open(await Effect.runPromise(Scope.extend(migratedDatabase, scope)))
    restarting = await start({ DATABASE_URL: way.url, SECRET_KEY: Buffer.alloc(32, 7).toString("base64") })
    tenantOfIt = await tenant(restarting)
  }, 30_000)
  afterAll(async () => {
    way.breakAt()
    await restarting.stop()
    await way.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  it.each([
    ["BEGIN", ["BEGIN"]],
    ["COMMIT", ["COMMIT"]],
    ["ROLLBACK", ["SAVEPOINT", "ROLLBACK"]]
  ])(
    "every write is 503 unavailable with Retry-After when its %s fails, and succeeds afterwards",
    async (_, words) => {
      const { accountId, publicKey, send, sessionId, templateId } = tenantOfIt
      const writes = {
        account: () => restarting.admin("/accounts", { name: "Another", currency: "EUR" }),
        plan: () => restarting.admin(`/accounts/${accountId}`, { name: "Changed" }, "PATCH"),
        session: () => restarting.admin(`/sessions/${sessionId}`, { name: "Changed" }, "PATCH"),
        key: () => restarting.admin(`/keys/${publicKey}`, { name: "Changed" }, "PATCH"),
        consent: () => consent(restarting, accountId, "34600000100"),
        webhook: () =>
          restarting.admin(`/accounts/${accountId}/webhooks`, {
            url: "http://127.0.0.1:9/hook",
            events: ["*"]
          }),
        send: () => send(sendBody(templateId, "34600000100"), words[0])
      }
      for (const [name, write] of Object.entries(writes)) {
        // A send has no savepoint, and nothing that it would roll back.
        if (name === "send" && words.includes("ROLLBACK")) continue
        way.breakAt(...words)
        const refused = await write()
        way.breakAt()
        expect([name, refused.status, at(refused.json, "code")], refused.text).toEqual([
          name,
          503,
          "unavailable"
        ])
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
        const written = await write()
        expect([name, written.status < 300], written.text).toEqual([name, true])
      }
    }
  )
})
