/** The platform of `outbound.ts`, in a process of its own: every request is taken, with as little work as can be. */
import { createServer } from "node:net"

const body = JSON.stringify({ id: "gateway-1", status: "accepted" })
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
)

/** The length of the first request in the text; undefined while it is not whole. */
const lengthOf = (text: string): number | undefined => {
  const head = text.indexOf("\r\n\r\n")
  if (head < 0) return undefined
  const length = head + 4 + Number(/content-length: (\d+)/.exec(text.slice(0, head))?.[1] ?? 0)
  return text.length < length ? undefined : length
}

const server = createServer({ noDelay: true }, (socket) => {
  let text = ""
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1")
    for (let length = lengthOf(text); length !== undefined; length = lengthOf(text)) {
      text = text.slice(length)
      socket.write(answer)
    }
  })
  socket.on("error", () => {})
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" ? address?.port : 0 })
})
