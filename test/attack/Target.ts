/** The host that is attacked, a process of its own, and what is measured of it meanwhile. */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { Agent, request } from "node:http"
import type { Tenant, TestHost } from "../support/TestHost.ts"
import { at, start, tenant } from "../support/TestHost.ts"
import { percentile, sleep } from "./Figures.ts"

export interface Target {
  readonly host: TestHost
  readonly owner: Tenant
  /** A session whose hooks anybody may call. */
  readonly gatewaySession: string
}

export const startTarget = async (environment: Readonly<Record<string, string>> = {}): Promise<Target> => {
  const host = await start({ LOG_LEVEL: "warning", ...environment })
  const owner = await tenant(host, { plan: { requests_per_minute: 1_000_000 } })
  const session = await host.admin(`/accounts/${owner.accountId}/sessions`, {
    name: "Gateway",
    provider: "http",
    config: { url: "http://127.0.0.1:9/", secret: "a secret of the gateway, long enough" }
  })
  return { host, owner, gatewaySession: String(at(session.json, "session", "id")) }
}

/** The resident memory of a process, in MB. */
export const memoryOf = (pid: number): number => {
  const status = `/proc/${pid}/status`
  const kilobytes = existsSync(status)
    ? /^VmRSS:\s+(\d+)/m.exec(readFileSync(status, "utf8"))?.[1]
    : execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }).trim()
  return Number(kilobytes ?? 0) / 1024
}

/** The connections that are open at a port of this machine, as the kernel tells on Linux; none elsewhere. */
export const connectionsAt = (port: number): number => {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`
  const established = "01"
  const lines = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) =>
    existsSync(file) ? readFileSync(file, "utf8").split("\n") : []
  )
  return lines.filter((line) => {
    const [, at = "", , state] = line.trim().split(/\s+/)
    return at.endsWith(local) && state === established
  }).length
}

/** A gauge or counter of `/metrics`, all its labels together. */
export const metricOf = async ({ adminToken, request }: TestHost, name: string): Promise<number> => {
  const { text } = await request("/metrics", { headers: { authorization: `Bearer ${adminToken}` } })
  const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0)
}

export interface Watched {
  /** Of the host's memory, in MB. */
  readonly peakMemory: number
  readonly p50: number
  readonly p99: number
  readonly answered: number
  /** By what they were answered, or why they were not. */
  readonly refused: Readonly<Record<string, number>>
}

/**
 * Asks as a good client does, every 20 ms on four connections that it keeps, until it is told to end. A request's time
 * begins when it was due: one that waits for its connection is not left out.
 */
export const watch = ({ host, owner }: Target) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const taken: Array<number> = []
  const refused: Record<string, number> = {}
  let peakMemory = 0
  let isOver = false
  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      const asked = request(`${host.base}/api/v1/connection`, { agent, headers: { ...owner.credentials } })
      asked.on("response", (response) => {
        response.resume()
        response.on("end", () => resolve(String(response.statusCode)))
      })
      asked.on("error", (error) => resolve(error.message))
      asked.end()
    })
  const one = async (due: number): Promise<void> => {
    const answer = await ask()
    if (answer === "200") taken.push(performance.now() - due)
    else refused[answer] = (refused[answer] ?? 0) + 1
    peakMemory = Math.max(peakMemory, memoryOf(host.pid))
  }
  const run = async (): Promise<void> => {
    const asked: Array<Promise<void>> = []
    for (let due = performance.now(); !isOver; due += 20) {
      await sleep(Math.max(0, due - performance.now()))
      asked.push(one(due))
    }
    await Promise.all(asked)
  }
  const running = run()
  return {
    end: async (): Promise<Watched> => {
      isOver = true
      await running
      agent.destroy()
      return {
        peakMemory,
        p50: percentile(taken, 0.5),
        p99: percentile(taken, 0.99),
        answered: taken.length,
        refused
      }
    }
  }
}

/** What a good client sees for a while. */
export const watchFor = async (target: Target, ms: number): Promise<Watched> => {
  const { end } = watch(target)
  await sleep(ms)
  return end()
}
