/** How a host ends: real processes, real signals, slow sends. */
import { mkdtempSync, rmSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { createServer } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "vitest"
import { describe, expect, it } from "vitest"
import type { Answer, Tenant, TestHost } from "../../../test/support/TestHost.ts"
import { at, consent, eventually, items, sendBody, start, tenant } from "../../../test/support/TestHost.ts"

/** Hosts on a database of the test's own. They are gone when it ends, and others go on beside it. */
const launching = (onTestFinished: TestContext["onTestFinished"]) => {
  const folder = mkdtempSync(join(tmpdir(), "sendwright-stop-"))
  const hosts: Array<TestHost> = []
  onTestFinished(async () => {
    for (const host of hosts) {
      host.signal("SIGKILL")
      await host.stop()
    }
    rmSync(folder, { recursive: true, force: true })
  })
  return async (environment: Readonly<Record<string, string>> = {}): Promise<TestHost> => {
    const DATABASE_URL = `sqlite:${join(folder, "host.db")}`
    const host = await start({ LOG_LEVEL: "debug", DATABASE_URL, ...environment })
    hosts.push(host)
    return host
  }
}

/** The attempts that left a host, by message id, as its log tells them. */
const attemptsOf = (...ran: ReadonlyArray<TestHost>): ReadonlyArray<string> =>
  ran.flatMap((host) =>
    [...host.output().matchAll(/"An attempt leaves",\{"messageId":"([^"]+)"/g)].map((match) => match[1] ?? "")
  )

const phones = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `3460000${1000 + index}`)

const direct = (owner: Tenant, to: string): Promise<Answer> =>
  owner.post("/api/public/messages/send", { to, message: "Hello" })

const status = async (host: TestHost, path: string): Promise<number> => (await host.request(path)).status

const refuses = (host: TestHost) =>
  eventually(
    () => status(host, "/health/ready"),
    (found) => found === 503,
    5000
  )

const until = (isSo: () => boolean) => eventually(async () => isSo(), Boolean)

describe("SIGTERM under load", () => {
  it("loses no accepted job, sends nothing twice, wastes no attempt, and ends with 0 within the grace", async ({
    onTestFinished
  }) => {
    const launch = launching(onTestFinished)
    const first = await launch({ SANDBOX_LATENCY_MS: "300" })
    const owner = await tenant(first)
    const to = phones(250)
    await consent(first, owner.accountId, ...to)
    const accepted: Array<string> = []
    const accept = async (): Promise<void> => {
      const answer = await owner.send(sendBody(owner.templateId, ...to), `load-${accepted.length}`)
      if (answer.status !== 202) return
      accepted.push(String(at(answer.json, "job_id")))
      await accept()
    }
    // The last is refused, or finds nobody.
    const load = accept().catch(() => undefined)
    await until(() => accepted.length >= 3 && attemptsOf(first).length > 100)
    first.signal("SIGTERM")
    await load
    expect(await first.ended).toMatchObject({ code: 0, signal: null })
    expect((await first.ended).afterMs).toBeLessThan(5000)
    expect(first.output()).toMatch(/Stopping\. Waiting at most .* [1-9]\d* attempt\(s\) to send/)
    const before = attemptsOf(first).length
    expect(before).toBeLessThan(accepted.length * to.length)

    const second = await launch()
    const results = await eventually(
      async () => {
        const jobs = await Promise.all(
          accepted.map((id) =>
            second.request(`/api/v1/template-messages/${id}`, { headers: owner.credentials })
          )
        )
        return jobs.flatMap(({ json }) => items(json, "job", "results"))
      },
      (found) =>
        found.length === accepted.length * to.length &&
        found.every((each) => at(each, "status") !== "queued" && at(each, "status") !== "sending"),
      40_000
    )
    expect(results).toHaveLength(accepted.length * to.length)
    const ids = results.map((each) => String(at(each, "message_id")))
    // What is recorded is answered before its line in the log has come through the pipe.
    await until(() => attemptsOf(first, second).length >= ids.length)
    expect(attemptsOf(first, second).toSorted()).toEqual(ids.toSorted())
    expect(new Set(results.map((each) => at(each, "attempts")))).toEqual(new Set([1]))
    for (const each of results) expect(["accepted", "sent", "delivered"]).toContain(at(each, "status"))
  }, 60_000)
})

// Most of each is waiting.
describe.concurrent("a host that stops", () => {
  it("is alive and not ready at once, refuses what comes, and answers what is under way", async ({
    onTestFinished
  }) => {
    const launch = launching(onTestFinished)
    const host = await launch({ SANDBOX_LATENCY_MS: "1500" })
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600001000")
    const message = direct(owner, "34600001000")
    await until(() => attemptsOf(host).length === 1)
    host.signal("SIGTERM")
    expect(await refuses(host)).toBe(503)
    expect(await status(host, "/health/live")).toBe(200)
    const refused = await owner.get("/api/v1/connection")
    expect([refused.status, at(refused.json, "code")]).toEqual([503, "unavailable"])
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
    expect(refused.headers.get("connection")).toBe("close")
    const answer = await message
    expect([answer.status, at(answer.json, "ok")], answer.text).toEqual([200, true])
    expect(await host.ended).toMatchObject({ code: 0, signal: null })
  }, 30_000)

  it("answers while nothing but sends is under way", async ({ onTestFinished }) => {
    const launch = launching(onTestFinished)
    const host = await launch({ SANDBOX_LATENCY_MS: "1500" })
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600001000")
    await owner.send(sendBody(owner.templateId, "34600001000"), "one")
    await until(() => attemptsOf(host).length === 1)
    host.signal("SIGINT")
    expect(await refuses(host)).toBe(503)
    expect(await status(host, "/health/live")).toBe(200)
    expect(await host.ended).toMatchObject({ code: 0, signal: null })
  }, 30_000)

  it("waits for the webhooks that are under way, and they are not delivered again", async ({
    onTestFinished
  }) => {
    const launch = launching(onTestFinished)
    const waiting: Array<ServerResponse> = []
    const receiver = createServer((_, response) => waiting.push(response))
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
    const address = receiver.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const first = await launch()
    const owner = await tenant(first)
    await consent(first, owner.accountId, "34600001000")
    const created = await first.admin(`/accounts/${owner.accountId}/webhooks`, {
      url: `http://127.0.0.1:${port}/`,
      events: ["message.accepted"]
    })
    await direct(owner, "34600001000")
    await until(() => waiting.length === 1)
    first.signal("SIGTERM")
    await until(() => first.output().includes("1 webhook(s)"))
    expect(await refuses(first)).toBe(503)
    waiting[0]?.end()
    expect(await first.ended).toMatchObject({ code: 0, signal: null })

    const second = await launch()
    const { json } = await second.admin(`/webhooks/${at(created.json, "webhook", "id")}/deliveries`)
    expect(items(json, "deliveries")).toHaveLength(1)
    expect(at(json, "deliveries", 0, "status")).toBe("delivered")
    expect(waiting).toHaveLength(1)
    receiver.close()
  }, 30_000)

  it("waits for no receiver that hangs, and posts the same event to it again", async ({ onTestFinished }) => {
    const launch = launching(onTestFinished)
    const posted: Array<string> = []
    const receiver = createServer((request) => posted.push(String(request.headers["webhook-id"])))
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve))
    const address = receiver.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const first = await launch()
    const owner = await tenant(first)
    await consent(first, owner.accountId, "34600001000")
    await first.admin(`/accounts/${owner.accountId}/webhooks`, {
      url: `http://127.0.0.1:${port}/`,
      events: ["message.accepted"]
    })
    await direct(owner, "34600001000")
    await until(() => posted.length === 1)
    first.signal("SIGTERM")
    const ended = await first.ended
    expect(ended).toMatchObject({ code: 0, signal: null })
    expect(ended.afterMs).toBeLessThan(6000)

    await launch()
    await until(() => posted.length === 2)
    expect(posted[1]).toBe(posted[0])
    receiver.closeAllConnections()
    receiver.close()
  }, 60_000)

  it("does not wait beyond its grace, and what it leaves is never sent again", async ({ onTestFinished }) => {
    const launch = launching(onTestFinished)
    const first = await launch({
      SANDBOX_LATENCY_MS: "600000",
      // A tenth of it is left for what comes behind the wait, however busy the machine is.
      STOP_GRACE: "10",
      WORKER_CONCURRENCY: "8"
    })
    const owner = await tenant(first)
    const to = phones(20)
    await consent(first, owner.accountId, ...to)
    const answer = await owner.send(sendBody(owner.templateId, ...to.slice(1)), "hanging")
    const message = direct(owner, String(to[0])).catch(() => undefined)
    const slow = connect(Number(new URL(first.base).port), "127.0.0.1")
    slow.on("error", () => undefined)
    slow.write("POST /api/public/test HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
    // Of the job and of the direct message, whose request waits for it.
    await until(() => new Set(attemptsOf(first).map((id) => id.slice(0, 18))).size === 2)
    first.signal("SIGTERM")
    // By its own clock: before the grace is over it leaves nobody, and where a stop takes longer it ends with 1.
    expect(await first.ended).toMatchObject({ code: 0, signal: null })
    expect(first.output()).toMatch(/The grace is over: \d+ request\(s\) are left without an answer/)
    await message
    slow.destroy()

    const begun = new Set(attemptsOf(first))
    const second = await launch()
    const jobId = String(at(answer.json, "job_id"))
    const results = await eventually(
      async () => {
        const { json } = await second.request(`/api/v1/template-messages/${jobId}`, {
          headers: owner.credentials
        })
        return items(json, "job", "results")
      },
      (found) => found.every((each) => at(each, "status") !== "queued" && at(each, "status") !== "sending")
    )
    expect(results).toHaveLength(to.length - 1)
    for (const each of results) {
      const wasBegun = begun.has(String(at(each, "message_id")))
      expect([wasBegun, at(each, "status") === "unknown"]).toEqual([wasBegun, wasBegun])
      expect(at(each, "attempts")).toBe(1)
    }
    const all = attemptsOf(first, second)
    expect(all).toHaveLength(new Set(all).size)
  }, 60_000)

  it.for([
    ["SIGTERM", 143],
    ["SIGINT", 130]
  ] as const)(
    "ends at once at a second signal, %s",
    { timeout: 30_000 },
    async ([name, code], { onTestFinished }) => {
      const launch = launching(onTestFinished)
      const host = await launch({ SANDBOX_LATENCY_MS: "600000" })
      const owner = await tenant(host)
      await consent(host, owner.accountId, "34600001000")
      const message = direct(owner, "34600001000").catch(() => undefined)
      await until(() => attemptsOf(host).length === 1)
      host.signal("SIGTERM")
      expect(await refuses(host)).toBe(503)
      host.signal(name)
      const ended = await host.ended
      expect(ended).toMatchObject({ code, signal: null })
      expect(ended.afterMs).toBeLessThan(5000)
      await message
    }
  )

  it("takes the echo of an interrupt from a terminal for no second signal", async ({ onTestFinished }) => {
    const launch = launching(onTestFinished)
    const host = await launch({ SANDBOX_LATENCY_MS: "1000" })
    const owner = await tenant(host)
    await consent(host, owner.accountId, "34600001000")
    const message = direct(owner, "34600001000")
    await until(() => attemptsOf(host).length === 1)
    host.signal("SIGINT")
    // Both at once would be one.
    await until(() => host.output().includes("Stopping."))
    host.signal("SIGINT")
    expect((await message).status).toBe(200)
    expect(await host.ended).toMatchObject({ code: 0, signal: null })
  }, 30_000)
})
