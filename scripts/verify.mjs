// Checks the types beside the tests, which wait often enough: a processor is free then. What the types have to say is told
// behind the tests, so that neither is read between lines of the other.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Starts a program of the workspace; answers its exit code and, where it is not shown at once, what it told. */
const run = (program, args, stdio) =>
  new Promise((resolve) => {
    let output = ""
    const child = spawn(process.execPath, [fileURLToPath(import.meta.resolve(program)), ...args], {
      cwd: root,
      stdio: ["ignore", stdio, stdio]
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk))
    child.on("close", (code) => resolve({ code: code ?? 1, output }))
  })

const projects = ["test", "examples", "examples/next/tsconfig.check.json", "bench", "packages/console"]
const types = run("typescript/bin/tsc", ["-b", ...projects, "--pretty"], "pipe")
const tests = await run("vitest/vitest.mjs", ["run", "--config", "test/vitest.config.ts"], "inherit")
const { code, output } = await types
process.stdout.write(output)
process.exitCode = tests.code || code
