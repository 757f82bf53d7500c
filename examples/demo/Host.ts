/** A host of its own process on a free port of 127.0.0.1 and a fresh SQLite file, which is gone when it has stopped. */
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { call, expectOk } from "./Api.ts"

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

type Admin = (path: string, body?: unknown, method?: string) => ReturnType<typeof expectOk>

export interface Host {
  readonly base: string
  readonly folder: string
  /** Fails when it does not start. */
  readonly ready: () => Promise<void>
  /** A call of the admin API; a refusal is an error. */
  readonly admin: Admin
  /** The same as another operator. */
  readonly as: (token: string) => Admin
  readonly stop: () => Promise<void>
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const main = fileURLToPath(new URL("../../packages/host/dist/main.js", import.meta.url))

export const start = async (): Promise<Host> => {
  const folder = await mkdtemp(join(tmpdir(), "sendwright-demo-"))
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const adminToken = randomUUID()
  const host = spawn(process.execPath, [main], {
    env: {
      ...process.env,
      PORT: String(port),
      HOST: "127.0.0.1",
      BASE_URL: base,
      DATABASE_URL: `sqlite:${join(folder, "demo.db")}`,
      ADMIN_TOKEN: adminToken,
      WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
      LOG_LEVEL: "error"
    },
    stdio: ["ignore", "inherit", "inherit"]
  })

  const as =
    (token: string): Admin =>
    (path, body, method) =>
      expectOk(
        call(`${base}/admin/v1${path}`, {
          ...(method === undefined ? {} : { method }),
          headers: { authorization: `Bearer ${token}` },
          ...(body === undefined ? {} : { body })
        })
      )

  return {
    base,
    folder,
    as,
    admin: as(adminToken),
    ready: async () => {
      for (let tries = 0; tries < 150; tries++) {
        if (host.exitCode !== null) throw new Error("The host did not start.")
        const answer = await fetch(`${base}/health/ready`).catch(() => undefined)
        if (answer?.ok === true) return
        await sleep(100)
      }
      throw new Error("The host was not ready within 15 seconds.")
    },
    stop: async () => {
      const ended = new Promise((resolve) => host.once("exit", resolve))
      if (host.exitCode === null && host.signalCode === null) {
        host.kill("SIGTERM")
        await ended
      }
      await rm(folder, { recursive: true, force: true })
    }
  }
}
