/** A webhook receiver as a customer would write one: verify the raw body first, then parse, then answer 2xx. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { verifyWebhook, WebhookRefused } from "@sendwright/core"

export interface Receiver {
  readonly url: string
  readonly verified: () => ReadonlyMap<string, number>
  readonly total: () => number
  readonly forged: () => number
  readonly close: () => Promise<void>
}

/** `secret` is asked for at each delivery: it is known only after the endpoint was registered. */
export const start = async (secret: () => string): Promise<Receiver> => {
  const seen = new Map<string, string>()
  let forged = 0
  const server = createServer(async (request, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk)
    try {
      const body = Buffer.concat(chunks)
      const { id, type } = verifyWebhook({ body, headers: request.headers, secrets: secret() })
      seen.set(id, type)
      response.writeHead(204).end()
    } catch (error) {
      if (!(error instanceof WebhookRefused)) throw error
      forged += 1
      response.writeHead(400).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const { port }: Pick<AddressInfo, "port"> =
    typeof address === "object" && address !== null ? address : { port: 0 }
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    verified: () => {
      const counts = new Map<string, number>()
      for (const type of seen.values()) counts.set(type, (counts.get(type) ?? 0) + 1)
      return new Map([...counts].sort(([a], [b]) => a.localeCompare(b)))
    },
    total: () => seen.size,
    forged: () => forged,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
