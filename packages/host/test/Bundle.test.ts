/** The bundle that `npm start` runs: what is loaded late is there, too. */
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const file = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "sendwright-bundle-"))

beforeAll(() => {
  const made = spawnSync(process.execPath, [file("scripts/bundle.mjs")], { encoding: "utf8" })
  expect([made.status, made.stderr]).toEqual([0, ""])
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const entry = file("dist/bundle/main.mjs")

const launch = (environment: Readonly<Record<string, string>>, given: ReadonlyArray<string> = [entry]) => {
  const child = spawn(process.execPath, given, {
    env: { PATH: process.env["PATH"] ?? "", PORT: "0", HOST: "127.0.0.1", ...environment }
  })
  let output = ""
  const heard = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk
      for (const tell of heard) tell()
    })
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  const says = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(output)?.[1]
        if (found !== undefined) resolve(found)
      }
      heard.add(look)
      look()
      void ended.then(() => reject(new Error(output)))
    })
  return { child, ended, output: () => output, says }
}

describe("the bundle", () => {
  it("serves the API and its description, and stops", async () => {
    const { child, ended, says } = launch({ DATABASE_URL: `sqlite:${join(folder, "host.db")}` })
    const base = await says(/Sendwright is on (\S*:\d+)/)
    for (const path of ["/health/ready", "/openapi.json", "/docs"]) {
      expect((await fetch(`${base}${path}`)).status).toBe(200)
    }
    child.kill("SIGTERM")
    expect(await ended).toBe(0)
  })

  it("tells all bad settings at once, and names that are nearly those of settings", async () => {
    const bad = launch({ PORT: "eighty", ROLE: "both", ADMIN_TOKN: "secret" })
    expect(await bad.ended).toBe(1)
    expect(bad.output()).toMatch(
      /^Sendwright did not start\.\n {4}PORT: must be .*\n {4}ROLE: must be one of all, api, worker\n {4}ADMIN_TOKN: is no setting, and is ignored\. Is ADMIN_TOKEN meant\?\n$/
    )
    const { child, ended, output, says } = launch({
      DATABASE_URL: `sqlite:${join(folder, "near.db")}`,
      DATABASE_URI: "postgres://elsewhere",
      ADMIN_TOKEN: ""
    })
    await says(/(Sendwright is on)/)
    expect(output()).toContain("DATABASE_URI is no setting, and is ignored. Is DATABASE_URL meant?")
    expect(output()).toContain("ADMIN_TOKEN is empty, so that there is no admin API.")
    child.kill("SIGTERM")
    expect(await ended).toBe(0)
  })

  it.each([
    [["--help"], 0, /^Usage: sendwright-host\n/],
    [["--version"], 0, /^\d+\.\d+\.\d+\n$/],
    [["--port", "8080"], 2, /^Sendwright did not start\. It takes no argument --port; see --help\.\n$/]
  ] as const)("does not start with %j", async (given, code, said) => {
    const { ended, output } = launch({ DATABASE_URL: `sqlite:${join(folder, "asked.db")}` }, [
      entry,
      ...given
    ])
    expect(await ended).toBe(code)
    expect(output()).toMatch(said)
    expect(existsSync(join(folder, "asked.db"))).toBe(false)
  })

  it("starts by the code that was compiled when it was made", async () => {
    const script = `import(${JSON.stringify(pathToFileURL(entry).href)})
      .then(({ script }) => console.log("rejected:", script.cachedDataRejected))`
    const { child, ended, says } = launch({ DATABASE_URL: "sqlite::memory:" }, ["-e", script])
    expect(await says(/rejected: (\w+)/)).toBe("false")
    child.kill("SIGTERM")
    await ended
  })

  it("starts where its source map is read, too", async () => {
    const { child, ended, says } = launch({ DATABASE_URL: "sqlite::memory:" }, [
      "--enable-source-maps",
      entry
    ])
    await says(/Sendwright is on (\S*:\d+)/)
    child.kill("SIGTERM")
    expect(await ended).toBe(0)
  })

  it("has PostgreSQL, where that is asked for", async () => {
    const { ended, output } = launch({
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing",
      SECRET_KEY: Buffer.alloc(32, 1).toString("base64"),
      DATABASE_WAIT: "0"
    })
    expect(await ended).toBe(1)
    expect(output()).toMatch(/did not start\. DATABASE_URL: .*ECONNREFUSED/)
  })
})
