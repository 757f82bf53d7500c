/** One process, one signal: what `npm start` began ends with it, whichever shell stands between. */
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import type { TestHost } from "../../../test/support/TestHost.ts"
import { start } from "../../../test/support/TestHost.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "sendwright-npm-"))
const groups: Array<number> = []
const hosts: Array<TestHost> = []

afterEach(async () => {
  for (const group of groups.splice(0)) spawnSync("kill", ["-KILL", "--", `-${group}`])
  for (const host of hosts.splice(0)) await host.stop()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A shell that waits for its command as a child, which some do for a single one, too. */
const waitingShell = join(folder, "shell")
writeFileSync(waitingShell, '#!/bin/sh\n/bin/sh "$@"\nexit $?\n', { mode: 0o700 })

const { HOME = folder, PATH = "" } = process.env

const npmStart = async (database: string, environment: Readonly<Record<string, string>> = {}) => {
  // In a group of its own, so that a test can end what it left behind.
  const npm = spawn("npm", ["start"], {
    cwd: root,
    detached: true,
    env: { PATH, HOME, HOST: "127.0.0.1", PORT: "0", DATABASE_URL: database, ...environment },
    stdio: ["ignore", "pipe", "pipe"]
  })
  if (npm.pid !== undefined) groups.push(npm.pid)
  let output = ""
  /** All of its processes have: each has these streams open. */
  const ended = new Promise<number | null>((resolve) => npm.once("close", resolve))
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: string): void => {
      output += chunk
      if (output.includes("Sendwright is on")) resolve()
    }
    for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding("utf8").on("data", read)
    void ended.then(() => reject(new Error(output)))
  })
  return { npm, ended, output: () => output }
}

/** A second host on the same file is refused while the first one lives. */
const isFree = async (database: string): Promise<boolean> => {
  hosts.push(await start({ DATABASE_URL: database }))
  return true
}

describe("npm start", () => {
  it.each(["SIGTERM", "SIGINT"] as const)(
    "hands %s on: the host ends as it should, npm with it, and the database is free",
    async (signal) => {
      const database = `sqlite:${join(folder, `${signal}.db`)}`
      const { ended, npm } = await npmStart(database)
      npm.kill(signal)
      expect(await ended).toBe(0)
      expect(await isFree(database)).toBe(true)
    },
    60_000
  )

  it("leaves no host behind where the shell between dies of the signal", async () => {
    const database = `sqlite:${join(folder, "shell.db")}`
    const { ended, npm, output } = await npmStart(database, { npm_config_script_shell: waitingShell })
    npm.kill("SIGTERM")
    await ended
    expect(output()).toContain("The npm that started this host is gone.")
    expect(output()).toContain("The server is closed")
    expect(await isFree(database)).toBe(true)
  }, 60_000)

  it("leaves no host behind when it is killed", async () => {
    const database = `sqlite:${join(folder, "killed.db")}`
    const { ended, npm } = await npmStart(database)
    npm.kill("SIGKILL")
    await ended
    expect(await isFree(database)).toBe(true)
  }, 60_000)
})
