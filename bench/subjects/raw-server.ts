/** A durable send on node:http alone. Given: how it stores ("direct", "grouped"), and the file. */
import { createServer, type ServerResponse } from "node:http"
import * as Checks from "../baselines/Checks.ts"
import * as Store from "../baselines/Store.ts"
import { expose } from "../Child.ts"
import { portOf, type Server } from "./Server.ts"

const [kind = "", filename = ""] = process.argv.slice(2)
const accept = Store.make(kind, filename, Checks.publicKey)

const answer = (response: ServerResponse, status: number, remaining: number, value: unknown): void => {
  const body = JSON.stringify(value)
  response.writeHead(status, { ...Checks.headers(remaining), "content-length": Buffer.byteLength(body) })
  response.end(body)
}

const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString("utf8"))
  } catch {
    return undefined
  }
}

const server = createServer((request, response) => {
  const refuse = (status: number): void => answer(response, status, 0, { ok: false })
  const key = Checks.authenticate(request.headers)
  if (key === undefined) return refuse(401)
  const remaining = Checks.consume(key)
  if (remaining < 0) return refuse(429)
  if (request.url !== "/api/v1/template-messages/send" || request.method !== "POST") return refuse(404)
  const chunks: Array<Buffer> = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    const [first] = chunks
    const body = Checks.shape(
      parse(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks))
    )
    const idempotencyKey = Checks.idempotencyKey(request.headers)
    if (body === undefined || idempotencyKey === undefined || !Checks.isRight(body)) return refuse(422)
    accept({ key, idempotencyKey, fingerprint: Checks.fingerprint(body), request: body }, (accepted) =>
      typeof accepted === "number"
        ? refuse(accepted)
        : answer(response, 202, remaining, Checks.acknowledgement(accepted.jobId, accepted.recipients))
    )
  })
})

server.listen(0, "127.0.0.1", () =>
  expose<Server>({
    address: async () => ({
      port: portOf(server),
      headers: { "x-public-key": Checks.publicKey, "x-secret-key": Checks.secretKey },
      templateId: Checks.templateId
    })
  })
)
