/** Answers every POST at once, and reports messages as delivered, 250 in a signed request, as a platform does. */
import { createServer, type Socket } from "node:net"
import { Signature } from "@sendwright/core"
import { Pool } from "undici"
import { expose } from "../Child.ts"
import { type Gateway, type Hook, webhooksPath } from "./Gateway.ts"
import { portOf } from "./Server.ts"

let messages = 0
let webhooks = 0
let hook: Hook | null = null
let waiting: Array<string> = []
let reporting: Promise<void> = Promise.resolve()

const batch = 250
/** How long what came is collected before it is told. */
const collectMs = 20

const responseOf = (answer: unknown): Buffer => {
  const body = JSON.stringify(answer)
  return Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

// Each platform in its own words, as they are documented.
const idDigits = 30
const ofGateway = responseOf({ id: `gateway-1.${"0".repeat(idDigits)}`, status: "accepted" })
const idAt = ofGateway.indexOf("gateway-1.") + "gateway-1.".length

/** Each message has an id of its own, of 40 characters. */
const answerOfGateway = (): Buffer => {
  const answer = Buffer.from(ofGateway)
  answer.write(String(messages).padStart(idDigits, "0"), idAt, "latin1")
  return answer
}
/** Its paths begin with a version. */
const cloudStart = "POST /v"
const ofCloud = responseOf({
  messaging_product: "whatsapp",
  contacts: [{ input: "34612345678", wa_id: "34612345678" }],
  messages: [{ id: "wamid.HBgLMzQ2MTIzNDU2NzgVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA" }]
})

const post = async ({ secret, url }: Hook, pool: Pool, ids: ReadonlyArray<string>): Promise<void> => {
  const at = new Date().toISOString()
  const text = JSON.stringify({
    receipts: ids.map((message_id) => ({ message_id, status: "delivered", at }))
  })
  const timestamp = Math.floor(Date.now() / 1000)
  const answer = await pool.request({
    method: "POST",
    path: new URL(url).pathname,
    headers: {
      "content-type": "application/json",
      "x-service-timestamp": String(timestamp),
      "x-service-signature": Signature.sign(secret, timestamp, text)
    },
    body: text
  })
  const told = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`The hook answered ${answer.statusCode}: ${told}`)
}

let pool: Pool | undefined
const tell = async (): Promise<void> => {
  if (hook === null) return
  pool ??= new Pool(new URL(hook.url).origin, { connections: 2 })
  while (waiting.length > 0) {
    const ids = waiting.slice(0, batch)
    waiting = waiting.slice(batch)
    await post(hook, pool, ids)
  }
}

const report = (): void => {
  reporting = reporting.then(tell)
}

const key = /\r\nidempotency-key: *([^\r]+)/i
const length = /\r\ncontent-length: *(\d+)/i

/** Takes one whole request off the beginning; what is left of the bytes, or undefined when it is not whole yet. */
const take = (bytes: Buffer, socket: Socket): Buffer | undefined => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const head = bytes.toString("latin1", 0, end)
  const total = end + 4 + Number(length.exec(head)?.[1] ?? 0)
  if (bytes.length < total) return undefined
  if (head.startsWith(`POST ${webhooksPath}`)) webhooks += 1
  else {
    messages += 1
    const id = key.exec(head)?.[1]
    if (id !== undefined) {
      if (hook !== null && waiting.length === 0) setTimeout(report, collectMs)
      waiting.push(id)
    }
  }
  socket.write(head.startsWith(cloudStart) ? ofCloud : answerOfGateway())
  return bytes.subarray(total)
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer = Buffer.alloc(0)
  socket.on("error", () => socket.destroy())
  socket.on("data", (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    for (let rest = take(pending, socket); rest !== undefined; rest = take(pending, socket)) pending = rest
  })
})

server.listen(0, "127.0.0.1", () =>
  expose<Gateway>({
    port: async () => portOf(server),
    counts: async () => ({ messages, webhooks }),
    report: async (to) => {
      hook = to
      if (waiting.length > 0) report()
    },
    reported: async () => {
      while (waiting.length > 0) {
        await new Promise((resolve) => setTimeout(resolve, collectMs))
        await reporting
      }
      await reporting
    }
  })
)
