/** The platform at the other end: it never dies, and remembers what it was sent. */
import { createServer } from "node:http"
import type { Random } from "../support/Random.ts"

/** Whether a second request under one message id is dropped, or is a second message to a person. */
export type Kind = "deduplicating" | "plain"

export interface Gateway {
  readonly url: string
  /** How often a person got the message, by message id. */
  readonly effects: ReadonlyMap<string, number>
  /** When each got it first. */
  readonly firstAt: ReadonlyMap<string, number>
  readonly requests: () => number
  readonly close: () => Promise<void>
}

export const start = (
  kind: Kind,
  random: Random,
  options: { readonly latencyMs: readonly [number, number]; readonly resets: number }
): Promise<Gateway> => {
  const effects = new Map<string, number>()
  const firstAt = new Map<string, number>()
  let requests = 0
  const between = ([low, high]: readonly [number, number]) => low + random() * (high - low)
  const server = createServer((request, response) => {
    // A host's own sender names the message by the key.
    const id = String(request.headers["x-message-id"] ?? request.headers["idempotency-key"])
    requests += 1
    const before = effects.get(id) ?? 0
    // Some are reset before they have an effect, some after, and the sender cannot tell which.
    if (random() < options.resets) {
      request.socket.destroy()
      return
    }
    if (before === 0) firstAt.set(id, Date.now())
    effects.set(id, kind === "deduplicating" ? 1 : before + 1)
    if (random() < options.resets) {
      request.socket.destroy()
      return
    }
    setTimeout(() => response.end(), between(options.latencyMs))
  })
  // Longer than any silence: a connection closed for its idleness would look like an answer lost.
  server.keepAliveTimeout = 3_600_000
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve({
        url: `http://127.0.0.1:${port}/`,
        effects,
        firstAt,
        requests: () => requests,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          })
      })
    })
  })
}
