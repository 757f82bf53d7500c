/**
 * A service by hand for one tenant: Fastify takes sends and receipts, a queue in tables, undici posts messages and webhooks,
 * signed. Given: a SQLite file or a URL of PostgreSQL, the gateway's address, and its secret.
 */
import { Signature } from "@sendwright/core"
import Fastify from "fastify"
import { Pool } from "undici"
import * as Checks from "../baselines/Checks.ts"
import * as Stack from "../baselines/Stack.ts"
import { expose } from "../Child.ts"
import { consented } from "../Sends.ts"
import { messagesPath, webhooksPath } from "./Gateway.ts"
import { portOf, type Server } from "./Server.ts"

const [where = "", gateway = "", secret = ""] = process.argv.slice(2)
const stack = await Stack.make(where)
await stack.consent(consented)

/** Attempts side by side, as many as Sendwright makes. */
const slots = 64
const pool = new Pool(gateway, { connections: slots })

const post = async (path: string, id: string, body: string): Promise<string> => {
  const timestamp = Math.floor(Date.now() / 1000)
  const answer = await pool.request({
    method: "POST",
    path,
    headers: {
      "content-type": "application/json",
      "idempotency-key": id,
      "x-service-timestamp": String(timestamp),
      "x-service-signature": Signature.sign(secret, timestamp, body)
    },
    body
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`The gateway answered ${answer.statusCode}: ${text}`)
  return text
}

const send = async (claimed: Stack.Claimed): Promise<Stack.Sent> => {
  const { job, phone, place, variables } = claimed
  const messageId = Stack.idOf(claimed)
  const body = JSON.stringify({
    message_id: messageId,
    to: phone,
    template: { name: "greeting", variables: JSON.parse(variables) }
  })
  const { id }: { readonly id: string } = JSON.parse(await post(messagesPath, messageId, body))
  return { job, place, providerId: id }
}

const tell = async (jobs: ReadonlyArray<string>): Promise<void> => {
  if (jobs.length === 0) return
  const at = new Date().toISOString()
  await Promise.all(
    jobs.map((job_id) =>
      post(webhooksPath, job_id, JSON.stringify({ type: "job.completed", at, data: { job_id } }))
    )
  )
  await stack.told(jobs)
}

let wake: () => void = () => {}
let isWoken = false
const work = async (): Promise<never> => {
  for (;;) {
    isWoken = false
    const claimed = await stack.claim(slots)
    if (claimed.length > 0) {
      // Webhooks leave while the next messages do.
      void tell(await stack.settle(await Promise.all(claimed.map(send))))
    } else if (!isWoken)
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, 250)
      })
  }
}

// A gateway keeps its connections for longer than between two rounds.
const app = Fastify({ logger: false, bodyLimit: 4 * 1024 * 1024, keepAliveTimeout: 600_000 })
app.addContentTypeParser("application/json", { parseAs: "string" }, (_, body, done) => done(null, body))
const read = (body: unknown): unknown => JSON.parse(String(body))

app.post("/api/v1/template-messages/send", async (request, reply) => {
  const key = Checks.authenticate(request.headers)
  if (key === undefined) return reply.code(401).send({ ok: false })
  const remaining = Checks.consume(key)
  if (remaining < 0) return reply.code(429).send({ ok: false })
  reply.headers(Checks.headers(remaining))
  const idempotencyKey = Checks.idempotencyKey(request.headers)
  const body = Checks.shape(read(request.body))
  if (idempotencyKey === undefined || body === undefined || !Checks.isRight(body))
    return reply.code(422).send({ ok: false })
  const accepted = await stack.accept({
    key,
    idempotencyKey,
    fingerprint: Checks.fingerprint(body),
    request: body
  })
  if (typeof accepted === "number") return reply.code(accepted).send({ ok: false })
  isWoken = true
  wake()
  return reply.code(202).send(Checks.acknowledgement(accepted.jobId, accepted.recipients))
})

app.post("/hooks", async (request, reply) => {
  const text = String(request.body)
  const timestamp = Signature.readTimestamp(String(request.headers["x-service-timestamp"] ?? ""))
  const signature = String(request.headers["x-service-signature"] ?? "")
  const isSigned =
    timestamp !== undefined &&
    Signature.matches([signature], [secret], (key) => Signature.sign(key, timestamp, text))
  if (!isSigned) return reply.code(401).send({ ok: false })
  const { receipts }: { readonly receipts: ReadonlyArray<{ readonly message_id: string }> } = JSON.parse(text)
  await stack.deliver(receipts.map(({ message_id }) => message_id))
  return reply.send({ ok: true })
})

await app.listen({ port: 0, host: "127.0.0.1" })
void work()
expose<Server>({
  address: async () => ({
    port: portOf(app.server),
    headers: { "x-public-key": Checks.publicKey, "x-secret-key": Checks.secretKey },
    templateId: Checks.templateId
  })
})
