/**
 * The gateways of `../oscillation.ts`, in a process of their own: the first part of the path is `well`, or by how many
 * milliseconds the gateway's phases are shifted.
 */
import { createServer } from "node:http"
import { hangsMs, latencyMs, wellMs } from "./Phases.ts"

const accepted = '{"id":"g-1"}'
const began = performance.now()

/** The time that a gateway keeps a request: one that comes while it hangs is answered when it does no more. */
const keeps = (name: string): number => {
  if (name === "well") return latencyMs
  const at = (performance.now() - began + Number(name)) % (wellMs + hangsMs)
  return latencyMs + (at < wellMs ? 0 : wellMs + hangsMs - at)
}

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    if (request.method === "GET") return response.end(accepted)
    return setTimeout(() => response.end(accepted), keeps(request.url?.split("/")[1] ?? ""))
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 })
})
