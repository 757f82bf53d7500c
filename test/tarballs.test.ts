/** The tarballs that are published are ones that other tools read: bundlers, compilers, and `require`. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pack } from "./support/Packed.ts"

const folder = mkdtempSync(join(tmpdir(), "sendwright-tarballs-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** The packages are modules for the Node that they ask for: older ways to resolve read none of them. */
const isOfModules = (problem: Problem): boolean =>
  !("resolutionKind" in problem && ["node10", "node16-cjs"].includes(problem.resolutionKind))

describe.each(["core", "host", "http", "sendwright"])("the tarball of packages/%s", (name) => {
  let tarball: Buffer
  beforeAll(() => {
    tarball = readFileSync(pack(name, folder))
  }, 60_000)

  it("has the files that its manifest names, in the order that each tool asks for (publint)", async () => {
    const { messages, pkg } = await publint({
      pack: { tarball: new Uint8Array(tarball).buffer },
      level: "suggestion",
      strict: true
    })
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
  })

  it("has no map whose sources are elsewhere", () => {
    const files = createPackageFromTarballData(tarball)
    const maps = files.listFiles().filter((file) => file.endsWith(".map"))
    expect(maps.filter((file) => !files.readFile(file).includes('"sourcesContent"'))).toEqual([])
  })

  it("has types for each entry, which are those of what runs (attw)", async () => {
    const result = await checkPackage(createPackageFromTarballData(tarball))
    expect(result.types ? result.problems.filter(isOfModules) : "no types").toEqual([])
  })
})

it.each(["sendwright", "sendwright/postgres", "sendwright/sqlite", "sendwright/http", "sendwright/testing"])(
  "`require(%j)` reads it, as an app of CommonJS does",
  (entry) => {
    const program = `console.log(Object.keys(require(${JSON.stringify(entry)})).length > 0)`
    const cwd = fileURLToPath(new URL("../packages/sendwright", import.meta.url))
    const { status, stdout } = spawnSync(process.execPath, ["--eval", program], { cwd, encoding: "utf8" })
    expect([status, stdout]).toEqual([0, "true\n"])
  }
)
