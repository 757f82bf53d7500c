/** The image, made without an engine for containers: each COPY and RUN of the Dockerfile in an empty folder. */
import { execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { cp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const place = mkdtempSync(join(tmpdir(), "sendwright-image-"))
const within = (path: string): string => join(place, path)

// A folder of ten thousand files goes slowly on a busy disk.
afterAll(() => rmSync(place, { recursive: true, force: true }), 60_000)

/** Instructions of the Dockerfile, continued lines joined. */
const instructions = readFileSync(join(root, "Dockerfile"), "utf8")
  .replace(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .trim()
  .split("\n")
  .map((line) => {
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    return { name, rest }
  })

/** Absolute paths of the image, as paths of the folder. */
const placed = (text: string): string =>
  text.replaceAll(
    /(^|[\s:=])(\/(?:src|app|data|usr\/local\/bin))/g,
    (_, before: string, path: string) => `${before}${within(path)}`
  )

const { HOME = place, PATH = "" } = process.env
const environment: Record<string, string> = {
  HOME,
  PATH: `${within("usr/local/bin")}:${PATH}`,
  BASE_URL: "https://messages.example"
}
let command: ReadonlyArray<string> = []
let folder = within("")

/** What `.dockerignore` keeps out, but for what was built: building it once more would tell nothing. */
const isCopied = (path: string): boolean =>
  ![".git", "node_modules", "data"].includes(basename(path)) && !/\.db(-\w+)?$/.test(path)

// The runner gives a file up that does not answer for a minute, which these take together on a slow machine.
const steps: Readonly<Record<string, (rest: string) => unknown>> = {
  FROM: () => {},
  WORKDIR: (rest) => {
    folder = within(rest)
    mkdirSync(folder, { recursive: true })
  },
  ENV: (rest) => {
    for (const [, name = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g))
      environment[name] = value.replace("sqlite:/data", `sqlite:${within("data")}`)
  },
  COPY: (rest) => {
    const [from = "", to = ""] = rest.replace("--from=build ", "").split(" ")
    const source = from === "." ? root : within(from)
    return cp(source, resolve(folder, to), {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
      filter: (path) => from !== "." || isCopied(path)
    })
  },
  RUN: (rest) =>
    promisify(execFile)("sh", ["-ec", placed(rest)], {
      cwd: folder,
      env: environment,
      maxBuffer: 64 * 2 ** 20
    }),
  CMD: (rest) => {
    command = JSON.parse(rest)
  }
}

const run = (...words: ReadonlyArray<string>): string => {
  const { status, stdout, stderr } = spawnSync("sendwright", words, {
    cwd: place,
    env: environment,
    encoding: "utf8"
  })
  expect([status, stderr], stdout).toEqual([0, ""])
  return stdout
}

describe("the image", () => {
  beforeAll(async () => {
    mkdirSync(within("usr/local/bin"), { recursive: true })
    // The image's user is not this machine's.
    writeFileSync(within("usr/local/bin/chown"), "#!/bin/sh\n", { mode: 0o755 })
    for (const { name, rest } of instructions) await steps[name]?.(rest)
  }, 300_000)

  it("has the command line on its path", () => {
    const { version } = JSON.parse(readFileSync(join(root, "packages/host/package.json"), "utf8"))
    expect(run("--version").trim()).toBe(version)
  })

  it("starts the host by its command, and doctor and backup work beside it", async () => {
    const [program = "", ...words] = command
    const host = spawn(program, words, {
      cwd: folder,
      env: { ...environment, HOST: "127.0.0.1", PORT: "0" },
      stdio: ["ignore", "pipe", "inherit"]
    })
    const ended = once(host, "exit")
    try {
      await new Promise<void>((begun, failed) => {
        let output = ""
        host.stdout.setEncoding("utf8").on("data", (chunk: string) => {
          output += chunk
          if (output.includes("Sendwright is on")) begun()
        })
        void ended.then(() => failed(new Error(output)))
      })
      expect(JSON.parse(run("doctor"))).toMatchObject({ ok: true })
      run("backup", within("copy.db"))
      expect(existsSync(within("copy.db"))).toBe(true)
    } finally {
      host.kill("SIGTERM")
    }
    expect(await ended).toEqual([0, null])
  }, 60_000)
})
