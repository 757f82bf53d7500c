/**
 * The load generator, a process of its own: HTTP/1.1 over keep-alive connections, written on sockets so that it costs
 * little beside the server. One request at a time per connection; every answer must have the wanted status.
 */
import { connect, type Socket } from "node:net"
import { expose } from "./Child.ts"
import { percentile } from "./Statistics.ts"

export interface Load {
  readonly port: number
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent in turn; each request has an Idempotency-Key of its own. Empty for GET. */
  readonly bodies: ReadonlyArray<string>
  readonly status: number
  readonly connections: number
  /** For so long; what is under way then is still waited for. */
  readonly seconds?: number
  /** Or so many. */
  readonly requests?: number
  /** At this rate, and a latency is counted from when the request was due; else as fast as answers come. */
  readonly perSecond?: number
}

export interface Loaded {
  readonly requests: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Every one, in milliseconds; at a given rate they are few enough to be told. */
  readonly latencies: ReadonlyArray<number>
}

export interface Loader {
  readonly run: (load: Load) => Promise<Loaded>
}

const keyDigits = 12
const run = `${process.pid}-${Date.now()}`
let keys = 0

interface Template {
  readonly bytes: Buffer
  /** Where the digits of the key are; -1 without a key. */
  readonly keyAt: number
}

const templatesOf = ({ bodies, headers, method, path }: Load): ReadonlyArray<Template> =>
  (bodies.length === 0 ? [""] : bodies).map((body) => {
    const prefix = `Idempotency-Key: bench-${run}-`
    const head = [
      `${method} ${path} HTTP/1.1`,
      "Host: 127.0.0.1",
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(method === "POST"
        ? [
            "Content-Type: application/json",
            `Content-Length: ${Buffer.byteLength(body)}`,
            prefix + "0".repeat(keyDigits)
          ]
        : [])
    ].join("\r\n")
    const bytes = Buffer.from(`${head}\r\n\r\n${body}`)
    return { bytes, keyAt: method === "POST" ? bytes.indexOf(prefix) + prefix.length : -1 }
  })

const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true })
    socket.once("connect", () => resolve(socket))
    socket.once("error", reject)
  })

/** How long an answer is that begins here; 0 when its head is not whole yet. */
const lengthOf = (chunk: Buffer, wanted: number): number => {
  const end = chunk.indexOf("\r\n\r\n")
  if (end < 0) return 0
  const head = chunk.toString("latin1", 0, end)
  if (Number(head.slice(9, 12)) !== wanted) {
    throw new Error(`Answered ${head.slice(9, 12)}: ${chunk.toString("utf8", end, end + 500)}`)
  }
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error("An answer has no Content-Length.")
  return end + 4 + Number(length)
}

const drive = async (load: Load): Promise<Loaded> => {
  const templates = templatesOf(load)
  const sockets = await Promise.all(Array.from({ length: load.connections }, () => open(load.port)))
  const latencies: Array<number> = []
  let sent = 0
  const began = performance.now()
  const ends = began + (load.seconds ?? Number.POSITIVE_INFINITY) * 1000
  const limit = load.requests ?? Number.POSITIVE_INFINITY
  const interval = load.perSecond === undefined ? 0 : 1000 / load.perSecond
  const isOver = (): boolean => sent >= limit || performance.now() >= ends
  try {
    await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<void>((resolve, reject) => {
            // Each connection has its own bytes: they are written again only once they were answered.
            const own = templates.map(({ bytes, keyAt }) => ({ bytes: Buffer.from(bytes), keyAt }))
            let due = 0
            let pending: Buffer | undefined
            const write = (): void => {
              const template = own[keys % own.length]
              if (template === undefined) return
              keys += 1
              if (template.keyAt >= 0) {
                template.bytes.write(String(keys).padStart(keyDigits, "0"), template.keyAt, "latin1")
              }
              socket.write(template.bytes)
            }
            const next = (): void => {
              if (isOver()) {
                resolve()
                return
              }
              due = interval === 0 ? performance.now() : began + sent * interval
              sent += 1
              const wait = due - performance.now()
              if (wait > 1) setTimeout(write, wait)
              else write()
            }
            socket.on("data", (chunk: Buffer) => {
              try {
                const whole = pending === undefined ? chunk : Buffer.concat([pending, chunk])
                const length = lengthOf(whole, load.status)
                if (length === 0 || whole.length < length) {
                  pending = whole
                  return
                }
                pending = undefined
                latencies.push(performance.now() - due)
                next()
              } catch (error) {
                reject(error)
              }
            })
            socket.once("error", reject)
            socket.once("close", () => reject(new Error("The server closed a connection.")))
            next()
          })
      )
    )
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  const seconds = (performance.now() - began) / 1000
  return {
    requests: latencies.length,
    seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    latencies: load.perSecond === undefined ? [] : latencies
  }
}

expose<Loader>({ run: drive })
