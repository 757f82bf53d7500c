/** How a Sendwright ends: by `stop`, after which every call says so, or by itself where nobody says it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { createSendwright, memory, SendwrightError, type Session, sandbox } from "sendwright"
import { createHandler } from "sendwright/http"
import { sqlite } from "sendwright/sqlite"
import { createTestSendwright } from "sendwright/testing"
import { describe, expect, it, onTestFinished } from "vitest"
import { mortal } from "../../../test/support/mortal.ts"
import { migratedDatabase } from "../../../test/support/Postgres.ts"
import { ana, list, open, secretKey, start } from "./Support.ts"

const message = { template: "hello", to: [{ phone: ana }], idempotencyKey: "1" }

const codeOf = async (call: () => unknown): Promise<string> => {
  try {
    await call()
    return "nothing"
  } catch (error) {
    return SendwrightError.is(error) ? `${error.code}: ${error.message}` : String(error)
  }
}

const first = async (items: AsyncIterable<unknown>): Promise<unknown> => {
  for await (const item of items) return item
  return undefined
}

describe("after stop, a call says that it was stopped:", () => {
  const stopped = "unavailable: This Sendwright was stopped."
  const given = async () => {
    const { account, session, sw } = await start()
    await sw.start()
    await sw.stop()
    return { account, session, sw }
  }
  type Given = Awaited<ReturnType<typeof given>>

  it.each<[string, (given: Given) => unknown]>([
    ["start", ({ sw }) => sw.start()],
    ["drain", ({ sw }) => sw.drain()],
    ["ready", ({ sw }) => sw.ready()],
    ["health", ({ sw }) => sw.health()],
    ["metrics", ({ sw }) => sw.metrics()],
    ["on", ({ sw }) => sw.on("recipient.delivered", () => {})],
    ["events", ({ sw }) => first(sw.events())],
    ["receive", ({ sw }) => sw.receive([{ messageId: "m", status: "delivered" }])],
    ["hook", ({ sw }) => sw.hook({ provider: "sandbox", sessionId: "s", method: "GET", headers: {} })],
    ["createHandler", ({ sw }) => createHandler(sw)],
    ["send", ({ session }) => session.send(message)],
    ["templates", ({ session }) => list(session.templates())],
    ["an operator's", ({ sw }) => sw.admin.accounts.create({ name: "x", currency: "EUR" })],
    ["an operator's list", ({ sw }) => list(sw.admin.accounts.list())]
  ])("%s", async (_, call) => {
    const all = await given()
    expect(await codeOf(() => call(all))).toBe(stopped)
  })

  it("and stop again is no fault", async () => {
    const { sw } = await given()
    expect(await codeOf(() => sw.stop())).toBe("nothing")
  })
})

describe("`await using`", () => {
  it("stops a Sendwright at the end of its block", async () => {
    let session: Session | undefined
    {
      await using sw = await createSendwright({ store: memory(), senders: [sandbox()], secretKey })
      await sw.start()
      session = sw.session("session")
    }
    expect(await codeOf(async () => session?.send(message))).toMatch("This Sendwright was stopped.")
  })

  it("stops a kit", async () => {
    let session: Session | undefined
    {
      await using t = await createTestSendwright()
      session = t.session
      await t.send({ to: ana })
    }
    expect(await codeOf(async () => session?.send(message))).toMatch("This Sendwright was stopped.")
  })
})

/** What the app says, and how it ended: killed a while after it said that it is still there. */
const run = async (store: string, url: string, task: string) => {
  const file = fileURLToPath(new URL("ForgetfulApp.ts", import.meta.url))
  const given = ["--import", "tsx", "--conditions=@sendwright/source", file, store, url, task]
  const child = mortal(spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] }))
  const exited = once(child, "exit")
  const said: Array<string> = []
  for await (const line of createInterface(child.stdout)) {
    said.push(line)
    if (line === "still here") child.kill("SIGKILL")
  }
  const [code] = await exited
  return { said, code }
}

describe("a script that forgets stop", () => {
  const inFile = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "sendwright-ending-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return join(folder, "sendwright.db")
  }

  it("ends at once where nothing was started, and its message waits for who starts", async () => {
    const file = inFile()
    const ends = { said: ["left"], code: 0 }
    expect(await Promise.all([run("memory", "", "idle"), run("file", file, "idle")])).toEqual([ends, ends])
    const sw = await open({ store: sqlite({ file }) })
    expect(await sw.health()).toMatchObject({ ready: true })
    const [job] = await list(sw.admin.jobs.list())
    expect(job?.status).toBe("queued")
  })

  it("ends once all is done: receipts, handlers, an attempt that takes long, and one that is due later", async () => {
    const all = await Promise.all([
      run("memory", "", "sends"),
      run("file", inFile(), "sends"),
      run("memory", "", "late"),
      run("memory", "", "busy")
    ])
    expect(all).toEqual(all.map(() => ({ said: ["left", "done"], code: 0 })))
  })

  it("stays for who reads events, and on PostgreSQL for what others send", async () => {
    const scope = await Effect.runPromise(Scope.make())
    onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const url = await Effect.runPromise(Scope.extend(migratedDatabase, scope))
    const [reads, waits] = await Promise.all([run("memory", "", "reads"), run("postgres", url, "waits")])
    expect([reads.said.at(-1), waits.said.at(-1)]).toEqual(["still here", "still here"])
    expect(await run("postgres", url, "idle")).toEqual({ said: ["left"], code: 0 })
  })
})
