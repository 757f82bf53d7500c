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

/** Runs one in a folder of its own for what is temporary. */
const run = async (program: string) => {
  const folder = mkdtempSync(join(tmpdir(), "sendwright-test-demo-"))
  folders.push(folder)
  const child = mortal(
    spawn(process.execPath, ["--import", "tsx", join("examples/demo", program)], {
      cwd: root,
      env: { PATH: process.env["PATH"] ?? "", TMPDIR: folder, TSX_DISABLE_CACHE: "1" },
      stdio: ["ignore", "pipe", "pipe"]
    })
  )
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk
    })
  }
  const [code]: ReadonlyArray<unknown> = await once(child, "close")
  return { code, output, left: readdirSync(folder) }
}

describe("a demo tells its story to the end, and leaves nothing behind", () => {
  it("npm run demo", async () => {
    const { code, left, output } = await run("main.ts")
    expect(code, output).toBe(0)
    expect(output).toMatch(/Greta +unknown/)
    expect(left).toEqual([])
  }, 60_000)

  it("npm run demo:whatsapp", async () => {
    const { code, left, output } = await run("whatsapp.ts")
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
