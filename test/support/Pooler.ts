/**
 * A pooler before a PostgreSQL, as PgBouncer 1.18 is one. In a session a client has a connection of the server until it leaves;
 * shared, for as long as a transaction lasts, and what a session keeps is another's then. The names of prepared statements pass
 * through, and settings at a client's start are refused.
 */
import { createServer, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import Pg from "pg"

export interface Pooler {
  /** The address of a database by this way. */
  readonly urlOf: (database: string) => string
  /** From here on connections are shared. */
  readonly share: () => void
  readonly close: () => Promise<void>
}

export interface Options {
  /** Connections of the server, for each database. */
  readonly size: number
  /** Whether clients share them from the beginning on, as they do unless told. */
  readonly isShared?: boolean
  /** Whose turn is the next: who had none for the longest, or, unless told, who was the last to have one. */
  readonly inTurn?: boolean
}

interface Server {
  readonly stream: Duplex
  client: Client | undefined
  /** How many answers its client awaits. */
  awaited: number
}

interface Client {
  readonly socket: Socket
  server: Server | undefined
  waiting: Array<Buffer>
}

/** Cuts a stream into messages. Each has its length, behind a byte that says what it is but for a client's first. */
const framed = (hasType: () => boolean, handle: (message: Buffer) => void): ((chunk: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const at = hasType() ? 1 : 0
      if (rest.length < at + 4 || rest.length < at + rest.readInt32BE(at)) return
      const message = rest.subarray(0, at + rest.readInt32BE(at))
      rest = rest.subarray(message.length)
      handle(message)
    }
  }
}

const typeOf = (message: Buffer): string => message.toString("latin1", 0, 1)

const message = (type: string, body: string): Buffer => {
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, Buffer.from(body, "latin1")])
}

const zero = "\0\0\0\0"
const welcome = Buffer.concat([
  message("R", zero),
  message("S", "server_version\x0017.0\0"),
  message("S", "client_encoding\0UTF8\0"),
  message("K", zero + zero),
  message("Z", "I")
])

const sslRequest = 80_877_103
const known = ["user", "database", "application_name", "client_encoding"]

/** After these the server says that it is ready: a query, a Sync, a function call. */
const asking = ["Q", "S", "F"]

/** The connections of one database. */
const poolOf = (url: string, { inTurn = false, size }: Options, isShared: () => boolean) => {
  const servers = new Set<Server>()
  const idle: Array<Server> = []
  const queue: Array<Client> = []
  let opening = 0

  const tell = (server: Server, each: Buffer): void => {
    if (asking.includes(typeOf(each))) server.awaited += 1
    server.stream.write(each)
  }
  const next = (): void => {
    const [client] = queue
    if (client === undefined) return
    const server = inTurn ? idle.shift() : idle.pop()
    if (server !== undefined) {
      queue.shift()
      server.client = client
      client.server = server
      for (const each of client.waiting.splice(0)) tell(server, each)
      next()
    } else if (servers.size + opening < size) open()
  }
  const hear = (server: Server, each: Buffer): void => {
    const { client } = server
    client?.socket.write(each)
    if (typeOf(each) !== "Z") return
    server.awaited -= 1
    const isOver = server.awaited === 0 && each.toString("latin1", 5, 6) === "I"
    if (client === undefined || !isOver || !isShared()) return
    server.client = undefined
    client.server = undefined
    idle.push(server)
    next()
  }
  const add = (stream: Duplex): void => {
    const server: Server = { stream, client: undefined, awaited: 0 }
    servers.add(server)
    stream.on(
      "data",
      framed(
        () => true,
        (each) => hear(server, each)
      )
    )
    stream.on("close", () => {
      servers.delete(server)
      if (idle.includes(server)) idle.splice(idle.indexOf(server), 1)
      server.client?.socket.destroy()
      next()
    })
    idle.push(server)
  }
  const open = (): void => {
    opening += 1
    const driver = new Pg.Client(url)
    driver.on("error", () => {})
    driver
      .connect()
      .then(() => {
        // What the driver was for, signing in, is done.
        const { stream } = driver.connection
        stream.removeAllListeners("data")
        add(stream)
      })
      .catch(() => {
        for (const client of queue.splice(0)) client.socket.destroy()
      })
      .finally(() => {
        opening -= 1
        next()
      })
  }
  return {
    ask: (client: Client, each: Buffer): void => {
      if (client.server === undefined) {
        client.waiting.push(each)
        if (!queue.includes(client)) queue.push(client)
        next()
      } else tell(client.server, each)
    },
    /** A transaction whose client is gone is rolled back with its connection. */
    leave: (client: Client): void => {
      if (queue.includes(client)) queue.splice(queue.indexOf(client), 1)
      client.server?.stream.destroy()
    },
    close: (): void => {
      for (const { stream } of servers) stream.destroy()
    }
  }
}

const at = (server: string, database: string): URL => {
  const url = new URL(server)
  url.pathname = database
  return url
}

/** @param server the address of any database of it */
export const open = (server: string, options: Options): Promise<Pooler> =>
  new Promise((resolve) => {
    let { isShared = true } = options
    const pools = new Map<string, ReturnType<typeof poolOf>>()
    const clients = new Set<Socket>()
    const poolFor = (database: string): ReturnType<typeof poolOf> => {
      const pool = pools.get(database) ?? poolOf(at(server, `/${database}`).href, options, () => isShared)
      pools.set(database, pool)
      return pool
    }
    const listener = createServer({ noDelay: true }, (socket) => {
      const client: Client = { socket, server: undefined, waiting: [] }
      let pool: ReturnType<typeof poolOf> | undefined
      const start = (first: Buffer): void => {
        const words = first.toString("utf8", 8).split("\0")
        const names = words.filter((name, place) => place % 2 === 0 && name !== "")
        const unknown = names.find((name) => !known.includes(name))
        if (first.readInt32BE(4) === sslRequest) socket.write("N")
        else if (unknown !== undefined)
          socket.end(message("E", `SFATAL\0C08P01\0Munsupported startup parameter: ${unknown}\0\0`))
        else {
          pool = poolFor(words[words.indexOf("database") + 1] ?? "")
          socket.write(welcome)
        }
      }
      const hear = (each: Buffer): void => {
        if (pool === undefined) start(each)
        else if (typeOf(each) === "X") socket.end()
        else pool.ask(client, each)
      }
      clients.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        clients.delete(socket)
        pool?.leave(client)
      })
      socket.on(
        "data",
        framed(() => pool !== undefined, hear)
      )
    })
    listener.listen(0, "127.0.0.1", () => {
      const address = listener.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve({
        urlOf: (database) => {
          const url = at(server, new URL(database).pathname)
          url.host = `127.0.0.1:${port}`
          return url.href
        },
        share: () => {
          isShared = true
        },
        close: () =>
          new Promise((closed) => {
            listener.close(() => closed())
            for (const socket of clients) socket.destroy()
            for (const pool of pools.values()) pool.close()
          })
      })
    })
  })
