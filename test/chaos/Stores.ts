/** Empty stores for the chaos, gone at the end. */
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Pg from "pg"
import * as Pooler from "../support/Pooler.ts"
import type { PostgresServer } from "../support/PostgresServer.ts"
import { freePort, start } from "../support/PostgresServer.ts"

export interface Stores {
  readonly fresh: () => Promise<string>
  readonly close: () => Promise<void>
}

export interface PostgresStores extends Stores {
  /** The server, which can be killed. */
  readonly server: PostgresServer
}

export const sqlite = (): Stores => {
  const folder = mkdtempSync(join(tmpdir(), "sendwright-chaos-"))
  let count = 0
  return {
    fresh: async () => {
      count += 1
      return `sqlite:${join(folder, `${count}.db`)}`
    },
    close: async () => rmSync(folder, { recursive: true, force: true })
  }
}

/** Always a server of its own, with every sync to the disk: it is going to be killed. */
export const postgres = async (): Promise<PostgresStores> => {
  const server = await start({ port: await freePort(), durable: true })
  return {
    fresh: async () => {
      const name = `chaos_${randomBytes(6).toString("hex")}`
      const client = new Pg.Client(server.url)
      await client.connect()
      await client.query(`CREATE DATABASE ${name}`)
      await client.end()
      const url = new URL(server.url)
      url.pathname = `/${name}`
      return url.href
    },
    server,
    close: server.stop
  }
}

/** The same by way of a pooler that shares ten connections between the clients of a database. */
export const pooler = async (): Promise<PostgresStores> => {
  const { close, fresh, server } = await postgres()
  const way = await Pooler.open(server.url, { size: 10 })
  return {
    fresh: async () => way.urlOf(await fresh()),
    server,
    close: async () => {
      await way.close()
      await close()
    }
  }
}
