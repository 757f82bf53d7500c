/** The programs of `examples/programs` print what stands at their end. */
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { mortal } from "../support/mortal.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const folder = `${root}examples/programs`

const run = (file: string): Promise<string> =>
  new Promise((resolve) => {
    const child = mortal(
      spawn(process.execPath, ["--import", "tsx", file], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] })
    )
    let output = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk))
    child.once("close", (code) => resolve(code === 0 ? output : `${output}\nIt ended with ${code}.`))
  })

describe("a program of the examples", () => {
  const list = readFileSync(`${root}examples/README.md`, "utf8")
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts"))

  it.each(files)("%s prints what it says, in at most 40 lines", { timeout: 60_000 }, async (file) => {
    const text = readFileSync(`${folder}/${file}`, "utf8")
    const said = [...text.matchAll(/^\/\/> (.*)$/gm)].map(([, line]) => line)
    expect(said.length).toBeGreaterThan(0)
    expect((await run(file)).trimEnd().split("\n")).toEqual(said)
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(40)
  })

  it.each(files)("%s is listed by its question", (file) => {
    const [, question] = /^\/\*\* (.*\?) \*\/$/m.exec(readFileSync(`${folder}/${file}`, "utf8")) ?? []
    expect(list).toContain(`[${question}](programs/${file})`)
  })
})
