/**
 * The receivers of `webhooks.ts`, in a process of their own: many paths on one port. Those that are told to be dead
 * hang, drip a byte a second, answer 500 or reset; the others answer 204 after 5 ms. When asked, it tells the times
 * from event to arrival at those that are never dead, in milliseconds, and which events came.
 */
import { createServer, type ServerResponse } from "node:http"

import { type Command, measured, type Report } from "./webhook-paths.ts"

const seen = new Set<string>()
let latencies: Array<number> = []
let repeated = 0
let deadEvery = 0

const misbehave = (way: number, response: ServerResponse): void => {
  if (way === 1) response.writeHead(500).end()
  if (way === 2) response.socket?.resetAndDestroy()
  if (way !== 3) return
  response.writeHead(200)
  const drip = setInterval(() => response.write("."), 1000)
  response.once("close", () => clearInterval(drip))
}

const server = createServer((request, response) => {
  const path = Number((request.url ?? "/0").slice(1))
  const chunks: Array<Buffer> = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    if (deadEvery > 0 && path % deadEvery === 0) {
      misbehave((path / deadEvery) % 4, response)
      return
    }
    const event: { readonly id: string; readonly created_at: string } = JSON.parse(
      String(Buffer.concat(chunks))
    )
    if (seen.has(event.id)) repeated += 1
    else if (measured(path)) latencies.push(Date.now() - Date.parse(event.created_at))
    seen.add(event.id)
    setTimeout(() => response.writeHead(204).end(), 5)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 })
})

process.on("message", (command: Command) => {
  const report: Report = { latencies, repeated }
  process.send?.(report)
  deadEvery = command.deadEvery
  latencies = []
  repeated = 0
})
