/** The demos, as `npm run` runs them. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, describe, expect, it } from "vitest"
import { mortal } from "../support/mortal.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

const folders: Array<string> = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Starts one in a folder of its own for what is temporary. */
const begin = (program: string, ...given: ReadonlyArray<string>) => {
  const folder = mkdtempSync(join(tmpdir(), "sendwright-test-demo-"))
  folders.push(folder)
  const child = mortal(
    spawn(process.execPath, ["--import", "tsx", join("examples/demo", program), ...given], {
      cwd: root,
      env: { PATH: process.env["PATH"] ?? "", TMPDIR: folder, TSX_DISABLE_CACHE: "1" },
      stdio: ["ignore", "pipe", "pipe"]
    })
  )
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk
      child.emit("told", output)
    })
  }
  const ended = once(child, "close").then(([code]: ReadonlyArray<unknown>) => ({
    code,
    output,
    left: readdirSync(folder)
  }))
  return { child, ended }
}

/** What it has said once these words are among it, or when it ended without them. */
const until = (child: ReturnType<typeof begin>["child"], words: string): Promise<string> =>
  new Promise((resolve) => {
    child.on("told", (output: string) => {
      if (output.includes(words)) resolve(output)
    })
    child.once("close", () => resolve(`It ended before it said ${words}.`))
  })

describe("a demo tells its story to the end, and leaves nothing behind", () => {
  it("npm run demo -- --once", async () => {
    const { code, left, output } = await begin("main.ts", "--once").ended
    expect(code, output).toBe(0)
    expect(output).toMatch(/Greta +unknown/)
    expect(left).toEqual([])
  }, 60_000)

  it("npm run demo, whose console one can sign in to until Ctrl-C", async () => {
    const { child, ended } = begin("main.ts")
    const output = await until(child, "Ctrl-C")
    const [, base] = /^The console: (.*)\/console$/m.exec(output) ?? []
    const [, token] = /^Sign in with: (.*)$/m.exec(output) ?? []
    const ask = async (path: string): Promise<unknown> => {
      const response = await fetch(`${base}/admin/v1${path}`, {
        headers: { authorization: `Bearer ${token}` }
      })
      return response.json()
    }
    expect(await ask("/operators/me"), output).toMatchObject({ operator: { name: "demo", role: "admin" } })
    expect(await ask("/jobs?reference=reminders")).toMatchObject({
      jobs: [{ counts: { failed: expect.any(Number), unknown: 1 } }]
    })
    child.kill("SIGINT")
    expect(await ended).toMatchObject({ code: 0, left: [] })
    await expect(fetch(`${base}/health`)).rejects.toThrow()
  }, 60_000)

  it("npm run demo, ended amid its story", async () => {
    const { child, ended } = begin("main.ts")
    await until(child, "Estimate")
    child.kill("SIGTERM")
    expect(await ended).toMatchObject({ code: 0, left: [] })
  }, 60_000)

  it("npm run demo:whatsapp", async () => {
    const { code, left, output } = await begin("whatsapp.ts").ended
    expect(code, output).toBe(0)
    for (const told of [
      /disconnected: Invalid OAuth access token/,
      /5 templates over 3 pages/,
      /Diego .* failed +1 +marketing_opted_out +131050/,
      /Fabio .* delivered +2 /,
      /10 recipients: 1 accepted · 4 delivered · 1 read · 4 failed/,
      /403 consent_required, and nothing was sent to anyone\n +\/recipients\/1\/phone/
    ]) {
      expect(output).toMatch(told)
    }
    expect(left).toEqual([])
  }, 60_000)
})
