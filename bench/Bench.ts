/** What the parts are given: how long to measure, a folder, databases, the load generator. All of it ends with the run. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Pg from "pg"
import { mortal } from "../test/support/mortal.ts"
import {
  freePort,
  given,
  type PostgresServer,
  start as startPostgres
} from "../test/support/PostgresServer.ts"
import { type Child, cpuUs, start } from "./Child.ts"
import type { Figure } from "./Harness.ts"
import type { Loader } from "./load.ts"

/** A database of PostgreSQL. */
export interface Database {
  readonly url: string
  /** Removes dead rows and tells the planner of those that there are, as the server does by itself within a minute. */
  readonly vacuum: () => Promise<void>
  /**
   * CPU time that the server's processes for this database's connections have used, in microseconds; undefined where the
   * server is not on this machine. What ends with a connection is lost.
   */
  readonly serverCpuUs: () => Promise<number | undefined>
}

export interface Bench {
  readonly quick: boolean
  readonly rounds: number
  /** Of one turn, in seconds, where a turn lasts for a time. */
  readonly seconds: number
  /** The one that fits the run. */
  readonly either: <A>(quick: A, whole: A) => A
  /** A new empty folder. */
  readonly folder: (name: string) => string
  readonly loader: () => Promise<Child<Loader>>
  /** A new database with `fsync` on. */
  readonly database: () => Promise<Database>
  /** A Redis that appends every command to its file; undefined where there is none to start. */
  readonly redis: (appendfsync: "everysec" | "always") => Promise<number | undefined>
  readonly say: (line: string) => void
}

export interface Part {
  readonly name: string
  readonly run: (bench: Bench) => Promise<ReadonlyArray<Figure>>
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" })
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })

/** Waits for a server to listen; false when its process has ended instead. */
const listening = async (port: number, hasEnded: () => boolean): Promise<boolean> => {
  while (!hasEnded()) {
    if (await listens(port)) return true
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return false
}

const startRedis = async (folder: string, appendfsync: string): Promise<number | undefined> => {
  const port = await freePort()
  const options = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "yes", appendfsync }
  const child = mortal(
    spawn(
      "redis-server",
      Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
      { stdio: "ignore" }
    )
  )
  let ended = false
  child.once("error", () => {
    ended = true
  })
  child.once("exit", () => {
    ended = true
  })
  return (await listening(port, () => ended)) ? port : undefined
}

const postgresUrl = (server: string, database: string): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

const query = async (url: string, text: string): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new Pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

const backends = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`

/** @param isHere whether the server runs on this machine */
const databaseAt = (url: string, isHere: boolean): Database => ({
  url,
  vacuum: async () => {
    await query(url, "VACUUM ANALYZE")
  },
  serverCpuUs: async () => {
    if (!isHere) return undefined
    let sum = 0
    for (const { pid } of await query(url, backends)) {
      const used = cpuUs(Number(pid))
      if (used === undefined) return undefined
      sum += used
    }
    return sum
  }
})

/** Runs `use` with all that it may ask for, and ends whatever it asked for. */
export const withBench = async <A>(
  options: { readonly quick: boolean },
  use: (bench: Bench) => Promise<A>
): Promise<A> => {
  const root = mkdtempSync(join(tmpdir(), "sendwright-bench-"))
  process.once("exit", () => rmSync(root, { recursive: true, force: true }))
  // Through `exit`, so that what was started ends with this process.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1))
  const children: Array<Child<Loader>> = []
  let postgres: Promise<PostgresServer | string> | undefined
  let count = 0
  const either = <B>(quick: B, whole: B): B => (options.quick ? quick : whole)
  const folder = (name: string): string => {
    count += 1
    const path = join(root, `${count}-${name}`)
    mkdirSync(path)
    return path
  }
  const bench: Bench = {
    quick: options.quick,
    rounds: either(3, 7),
    seconds: either(0.3, 1),
    either,
    folder,
    loader: async () => {
      const child = await start<Loader>(new URL("./load.js", import.meta.url))
      children.push(child)
      return child
    },
    database: async () => {
      postgres ??= (async () => given() ?? (await startPostgres({ port: await freePort(), durable: true })))()
      const server = await postgres
      const url = typeof server === "string" ? server : server.url
      count += 1
      const name = `sendwright_bench_${process.pid}_${count}`
      await query(url, `CREATE DATABASE ${name}`)
      return databaseAt(postgresUrl(url, name), typeof server !== "string")
    },
    redis: (appendfsync) => startRedis(folder("redis"), appendfsync),
    say: (line) => console.log(line)
  }
  try {
    return await use(bench)
  } finally {
    for (const child of children) await child.end()
    const server = await postgres
    if (server !== undefined && typeof server !== "string") await server.stop()
  }
}

/** Starts a program that prints a line when it is ready, and answers how long that took. */
export const spawned = async (
  command: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>>,
  ready: RegExp
) => {
  const began = performance.now()
  const child = mortal(
    spawn(process.execPath, command, {
      env: { PATH: process.env["PATH"] ?? "", NODE_ENV: "production", ...environment },
      stdio: ["ignore", "pipe", "pipe"]
    })
  )
  let output = ""
  const readyAt = new Promise<number>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      output += chunk
      if (ready.test(output)) resolve(performance.now())
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    child.once("exit", (code) => reject(new Error(`${command.join(" ")} ended with ${code}:\n${output}`)))
  })
  const startMs = (await readyAt) - began
  return {
    pid: child.pid ?? 0,
    startMs,
    found: ready.exec(output),
    end: async (): Promise<void> => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      await ended
    }
  }
}
