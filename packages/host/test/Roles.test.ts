/** What a process of each role does, and which processes can share a database. */
import { mkdtempSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freshDatabase } from "../../../test/support/Postgres.ts"
import { freePort } from "../../../test/support/PostgresServer.ts"
import type { TestHost } from "../../../test/support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../../../test/support/TestHost.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-roles-"))
const scope = Effect.runSync(Scope.make())
let postgres: string
beforeAll(async () => {
  postgres = await Effect.runPromise(Scope.extend(freshDatabase, scope))
}, 60_000)
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(folder, { recursive: true, force: true })
}, 30_000)

const running = async (
  environment: Readonly<Record<string, string>>,
  use: (host: TestHost) => Promise<void>
): Promise<void> => {
  const host = await start({ LOG_LEVEL: "debug", ...environment })
  try {
    await use(host)
  } finally {
    await host.stop()
  }
}

const attempts = (host: TestHost): ReadonlyArray<string> =>
  [...host.output().matchAll(/"An attempt leaves",\{"messageId":"([^"]+)"/g)].map((match) => match[1] ?? "")

describe("the role", () => {
  it("must be one that there is", async () => {
    await expect(start({ ROLE: "sender" })).rejects.toThrow(/ROLE: must be one of all, api, worker/)
  }, 30_000)

  it("api accepts and sends direct messages, and leaves jobs to a worker", async () => {
    const DATABASE_URL = `sqlite:${join(folder, "api.db")}`
    let jobId = ""
    let credentials: Readonly<Record<string, string>> = {}
    await running({ DATABASE_URL, ROLE: "api", SANDBOX_LATENCY_MS: "200" }, async (host) => {
      const owner = await tenant(host)
      credentials = owner.credentials
      await consent(host, owner.accountId, "34600001000")
      const sent = await owner.send(sendBody(owner.templateId, "34600001000"), "one")
      jobId = String(at(sent.json, "job_id"))
      const direct = await owner.post("/api/public/messages/send", { to: "34600001000", message: "Hello" })
      expect(direct.status, direct.text).toBe(200)
      const { json } = await owner.get(`/api/v1/template-messages/${jobId}`)
      expect(at(json, "job", "results", 0)).toMatchObject({ status: "queued", attempts: 0 })
      expect(attempts(host)).toHaveLength(1)
      expect(host.output()).toMatch(/ROLE=api on SQLite/)
    })
    await running({ DATABASE_URL, ROLE: "worker" }, async (host) => {
      await eventually(
        async () => attempts(host).length,
        (count) => count > 0
      )
      expect(attempts(host)).toHaveLength(1)
    })
    await running({ DATABASE_URL }, async (host) => {
      const { json } = await host.request(`/api/v1/template-messages/${jobId}`, { headers: credentials })
      expect(at(json, "job", "results", 0)).toMatchObject({ attempts: 1 })
      expect(["accepted", "sent", "delivered"]).toContain(at(json, "job", "results", 0, "status"))
    })
  }, 60_000)

  it("worker answers how it is, and nothing else", async () => {
    await running({ DATABASE_URL: `sqlite:${join(folder, "worker.db")}`, ROLE: "worker" }, async (host) => {
      const authorization = `Bearer ${host.adminToken}`
      for (const path of ["/health/live", "/health/ready", "/metrics"]) {
        expect([path, (await host.request(path, { headers: { authorization } })).status]).toEqual([path, 200])
      }
      expect((await host.request("/metrics")).status).toBe(401)
      const { text } = await host.request("/metrics", { headers: { authorization } })
      expect(text).toMatch(/^sendwright_build_info\{version="[\d.]+",node="v[\d.]+",role="worker"\} 1$/m)
      expect(text).toMatch(/^sendwright_attempts_total\{outcome="accepted"\} 0$/m)
      expect(text).toMatch(/^sendwright_event_loop_delay_seconds_count \d+$/m)
      for (const path of [
        "/docs",
        "/openapi.json",
        "/problems/internal",
        "/admin/v1/accounts",
        "/api/v1/connection"
      ]) {
        const { headers, json, status } = await host.request(path, { headers: { authorization } })
        expect([path, status, at(json, "code")]).toEqual([path, 404, "not_found"])
        expect(headers.get("content-type")).toBe("application/problem+json")
      }
    })
  }, 30_000)
})

describe("processes on one database", () => {
  it("of SQLite are refused from the second on, with what to do", async () => {
    const DATABASE_URL = `sqlite:${join(folder, "shared.db")}`
    await running({ DATABASE_URL }, async (host) => {
      await expect(start({ DATABASE_URL })).rejects.toThrow(
        /did not start\. DATABASE_URL: .*shared\.db is open in another process.*PostgreSQL/
      )
      expect((await host.request("/health/ready")).status).toBe(200)
    })
  }, 30_000)

  it("of PostgreSQL share the work: what one accepts another sends, and one that stops hands over", async () => {
    const common = { DATABASE_URL: postgres, SECRET_KEY: Buffer.alloc(32, 7).toString("base64") }
    const worker = { ...common, ROLE: "worker" }
    // It would take 20 seconds for all, so it is stopped in the midst of them.
    const slow = { SANDBOX_LATENCY_MS: "200", WORKER_CONCURRENCY: "4" }
    await running({ ...common, ROLE: "api" }, async (api) => {
      const owner = await tenant(api)
      const phones = Array.from({ length: 100 }, (_, index) => `3460000${1000 + index}`)
      await consent(api, owner.accountId, ...phones)
      const first = await start({ LOG_LEVEL: "debug", ...worker, ...slow })
      const sent = await owner.send(sendBody(owner.templateId, ...phones), "shared")
      expect(sent.status, sent.text).toBe(202)
      await eventually(
        async () => attempts(first).length,
        (count) => count >= 10
      )
      await running(worker, async (second) => {
        first.signal("SIGTERM")
        expect(await first.ended).toMatchObject({ code: 0, signal: null })
        const results = await eventually(
          async () => {
            const found = await owner.get(`/api/v1/template-messages/${at(sent.json, "job_id")}`)
            return items(found.json, "job", "results")
          },
          (found) =>
            found.every((each) => at(each, "status") !== "queued" && at(each, "status") !== "sending")
        )
        expect(results).toHaveLength(phones.length)
        expect(new Set(results.map((each) => at(each, "attempts")))).toEqual(new Set([1]))
        const ids = results.map((each) => String(at(each, "message_id")))
        expect([...attempts(first), ...attempts(second)].toSorted()).toEqual(ids.toSorted())
        expect(attempts(second).length).toBeGreaterThan(0)
        expect(attempts(api)).toEqual([])
      })
      await first.stop()
    })
  }, 60_000)
})

describe("a database that is not there yet", () => {
  it("is waited for: the host starts once its server answers, and gives up when that takes too long", async () => {
    const url = new URL(postgres)
    const [host, to] = [url.hostname, Number(url.port)]
    const port = await freePort()
    url.hostname = "127.0.0.1"
    url.port = String(port)
    const common = {
      DATABASE_URL: url.href,
      SECRET_KEY: Buffer.alloc(32, 7).toString("base64")
    }
    await expect(start({ ...common, DATABASE_WAIT: "1" })).rejects.toThrow(
      /does not answer yet\. It is waited for, 1 s at most[\s\S]*did not start\. DATABASE_URL: .*ECONNREFUSED/
    )
    const starting = start(common)
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const relay = createServer((client) => {
      const server = connect(to, host)
      for (const socket of [client, server]) socket.on("error", () => socket.destroy())
      client.pipe(server).pipe(client)
    }).listen(port, "127.0.0.1")
    const started = await starting
    expect(started.output().match(/does not answer yet/g)).toHaveLength(1)
    await started.stop()
    relay.close()
  }, 60_000)
})

describe("a host on any port", () => {
  it("says which it is, and builds its links with it", async () => {
    await running(
      { DATABASE_URL: `sqlite:${join(folder, "port.db")}`, PORT: "0", BASE_URL: "" },
      async (host) => {
        expect(host.base).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/)
        const { json } = await host.request("/openapi.json")
        expect(at(json, "servers", 0, "url")).toBe(host.base)
        const refused = await host.request("/nothing")
        expect(at(refused.json, "type")).toBe(`${host.base}/problems/not_found`)
      }
    )
  }, 30_000)
})
