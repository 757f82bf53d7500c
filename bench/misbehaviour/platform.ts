/**
 * The platform of `../misbehaviour.ts`, in a process of its own so that its memory is not measured. The same answers mean
 * something to a gateway and to the Graph API.
 */
import { createServer, type ServerResponse } from "node:http"
import { createServer as createPlain, type Server } from "node:net"
import { byTurns, monthWords, type Told, type Way, ways } from "./Ways.ts"

interface Answer {
  /** Whether the answer says surely that the platform has not taken the message. */
  readonly refuses: boolean
  /** @param count how many requests were answered in this way before */
  readonly give: (response: ServerResponse, count: number) => unknown
}

const refusing = (give: Answer["give"]): Answer => ({ refuses: true, give })
const perhapsTaking = (give: Answer["give"]): Answer => ({ refuses: false, give })

const accepted = '{"id":"g-1","messages":[{"id":"wamid.1","message_status":"accepted"}]}'

const nth = <A>(values: readonly [A, ...ReadonlyArray<A>], place: number): A =>
  values[place % values.length] ?? values[0]

const throttling = (retryAfter: (count: number) => string, message = "Slow down."): Answer =>
  refusing((response, count) => {
    response.writeHead(429, { "retry-after": retryAfter(count), "content-type": "application/json" })
    response.end(JSON.stringify({ error: { code: 130_429, message } }))
  })

/** A date in whole seconds. */
const inAMinute = (): string => new Date(Math.ceil(Date.now() / 1000 + 60) * 1000).toUTCString()

const resetSoon = ({ socket }: ServerResponse, afterMs: number): void => {
  setTimeout(() => socket?.resetAndDestroy(), afterMs)
}

const chunk = Buffer.alloc(65_536, "x")
const gigabyte = 2 ** 30

const answers: Readonly<Record<Way, Answer>> = {
  accept: perhapsTaking((response) => response.end(accepted)),
  fault: refusing((response, count) => response.writeHead(nth([500, 502, 503, 504], count)).end("<html>")),
  "hang-sometimes": perhapsTaking((response, count) => (count % 10 < 3 ? null : response.end(accepted))),
  hang: perhapsTaking(() => {}),
  "retry-seconds": throttling(() => "7"),
  "retry-date": throttling(inAMinute),
  "retry-garbage": throttling((count) =>
    nth(["soon", "soon 9999", "-5", "1.5", "7, 8", "2099-01-01", ""], count)
  ),
  "retry-month": throttling(() => String(30 * 24 * 3600), monthWords),
  drip: perhapsTaking((response) => {
    response.writeHead(200, { "content-type": "application/json" })
    const dripping = setInterval(() => response.write("{"), 50)
    response.once("close", () => clearInterval(dripping))
  }),
  flood: perhapsTaking((response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": gigabyte })
    let left = gigabyte
    const pour = (): void => {
      while (left > 0) {
        left -= chunk.length
        if (!response.write(chunk)) return
      }
    }
    response.on("drain", pour)
    pour()
  }),
  "wrong-json": perhapsTaking((response, count) =>
    response.end(
      nth(["<html>", '{"id":', "[]", "null", '"yes"', '{"id":7,"messages":[{"id":7}]}', ""], count)
    )
  ),
  "refuse-in-html": refusing((response) => response.writeHead(404).end("<html>")),
  "long-headers": perhapsTaking((response) =>
    response.writeHead(200, { "x-long": "x".repeat(1_000_000) }).end(accepted)
  ),
  "reset-before-answer": perhapsTaking((response) => resetSoon(response, 0)),
  "reset-before-body": perhapsTaking((response) => {
    response.writeHead(200, { "content-length": accepted.length }).flushHeaders()
    resetSoon(response, 5)
  }),
  "reset-in-body": perhapsTaking((response) => {
    response.writeHead(200, { "content-length": accepted.length }).write(accepted.slice(0, 9))
    resetSoon(response, 5)
  }),
  "reset-after-body": perhapsTaking((response) => {
    resetSoon(response, 50)
    // Not to be used again: no other message is on the connection when it breaks.
    response.writeHead(200, { "content-length": accepted.length, connection: "close" }).end(accepted)
  })
}

const known = new Map<string, Answer>(Object.entries(answers))
const turns = ways.filter((way) => way !== "hang-sometimes")
const counts = new Map<string, number>()
const mayHave = new Set<string>()
let repeated = 0

const server = createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (data: Buffer) => chunks.push(data))
  request.on("end", () => {
    // Who is asked whether it knows the session answers as it should.
    if (request.method === "GET") return response.end(accepted)
    const name = request.url?.split("/")[1] ?? ""
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    const answer = known.get(name === byTurns ? (turns[count % turns.length] ?? "") : name)
    const key = /"biz_opaque_callback_data":"([^"]+)"/.exec(Buffer.concat(chunks).toString())?.[1]
    if (name === byTurns && key !== undefined) {
      if (mayHave.has(key)) repeated += 1
      if (answer?.refuses !== true) mayHave.add(key)
    }
    return answer?.give(response, count)
  })
})
server.keepAliveTimeout = 60_000

const cutting = createPlain((socket) => socket.resetAndDestroy())

const listen = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })

const ports = { port: await listen(server), cutting: await listen(cutting) }
const tell = () => process.send?.({ ...ports, repeated } satisfies Told)
process.on("message", tell)
tell()
