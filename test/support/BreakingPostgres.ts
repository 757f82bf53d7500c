/** A way to a PostgreSQL that breaks where a statement begins with certain words, as a server does that is restarted. */
import { connect, createServer, type Socket } from "node:net"

export interface BreakingPostgres {
  /** That of the database by this way. */
  readonly url: string
  /** From here on a connection ends when the first of these words comes by, which the server does not get. */
  readonly breakAt: (...words: ReadonlyArray<string>) => void
  /** How many connections were ended. */
  readonly broken: () => number
  readonly close: () => Promise<void>
}

export const open = (database: string): Promise<BreakingPostgres> =>
  new Promise((resolve) => {
    const target = new URL(database)
    const sockets = new Set<Socket>()
    let breaking: ReadonlyArray<string> = []
    let broken = 0
    const server = createServer((near) => {
      const far = connect(Number(target.port === "" ? 5432 : target.port), target.hostname)
      const end = (): void => {
        near.destroy()
        far.destroy()
        sockets.delete(near)
      }
      sockets.add(near)
      for (const socket of [near, far]) socket.on("error", end).on("close", end)
      near.on("data", (chunk) => {
        if (!breaking.some((word) => chunk.includes(word))) return far.write(chunk)
        broken += 1
        return end()
      })
      far.pipe(near)
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const url = new URL(database)
      url.hostname = "127.0.0.1"
      url.port = String(typeof address === "object" && address !== null ? address.port : 0)
      resolve({
        url: url.href,
        breakAt: (...words) => {
          breaking = words
        },
        broken: () => broken,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            for (const socket of sockets) socket.destroy()
          })
      })
    })
  })
