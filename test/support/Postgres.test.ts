/** What tests and scripts take for granted of their PostgreSQL. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import Pg from "pg"
import { freshDatabase } from "./Postgres.ts"
import { freePort, start } from "./PostgresServer.ts"

const query = async (
  url: string,
  text: string
): Promise<ReadonlyArray<Readonly<Record<string, unknown>>>> => {
  const client = new Pg.Client(url)
  client.on("error", () => {})
  await client.connect()
  try {
    return (await client.query<Readonly<Record<string, unknown>>>(text)).rows
  } finally {
    await client.end()
  }
}

const folderOf = async (url: string): Promise<string> =>
  String((await query(url, "SHOW data_directory"))[0]?.["data_directory"])

describe("a fresh database", () => {
  it.scopedLive("is empty and has nothing of another, and is gone after its scope", () =>
    Effect.gen(function* () {
      const first = yield* Effect.scoped(
        Effect.gen(function* () {
          const urls = [yield* freshDatabase, yield* freshDatabase] as const
          const tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
          yield* Effect.promise(() => query(urls[0], "CREATE TABLE item (id INTEGER)"))
          expect(yield* Effect.promise(() => query(urls[0], tables))).toEqual([{ tablename: "item" }])
          expect(yield* Effect.promise(() => query(urls[1], tables))).toEqual([])
          return urls[0]
        })
      )
      const error = yield* Effect.flip(Effect.tryPromise(() => query(first, "SELECT 1")))
      expect(String(error.cause)).toContain("does not exist")
    })
  )
})

/** A server takes 2 seconds to start, and several times that beside other work. */
const patient = { timeout: 60_000 }

describe("a server of one's own", () => {
  it("leaves a process the exit code that it has: failed tests must fail the run", patient, async () => {
    const script = `
      import { freePort, start } from ${JSON.stringify(new URL("./PostgresServer.ts", import.meta.url).href)}
      const server = await start({ port: await freePort(), durable: false })
      await server.stop()
      process.exitCode = 7`
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      stdio: "inherit"
    })
    expect(await once(child, "exit")).toEqual([7, null])
  })

  it(
    "keeps what was committed when it is killed and started again, and leaves nothing",
    patient,
    async () => {
      const server = await start({ port: await freePort(), durable: true })
      const folder = await folderOf(server.url)
      await query(server.url, "CREATE TABLE item AS SELECT 1 AS id")
      await server.kill()
      await expect(query(server.url, "SELECT 1")).rejects.toThrow()
      await server.start()
      expect(await query(server.url, "SELECT id FROM item")).toEqual([{ id: 1 }])
      await server.kill()
      await server.stop()
      expect(existsSync(folder)).toBe(false)
    }
  )

  it("goes with the process that started it, even when that was killed", patient, async () => {
    const script = `
      import { freePort, start } from ${JSON.stringify(new URL("PostgresServer.ts", import.meta.url).href)}
      console.log((await start({ port: await freePort(), durable: false })).url)`
    const owner = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    const [line] = await once(owner.stdout, "data")
    const url = String(line).trim()
    const folder = await folderOf(url)
    owner.kill("SIGKILL")
    await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false)
    await expect(query(url, "SELECT 1")).rejects.toThrow()
  })
})
