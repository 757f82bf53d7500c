/** The same on Fastify, its schema made from the contract's. Given: as to `raw-server`. */
import { Requests } from "@sendwright/core"
import * as JSONSchema from "effect/JSONSchema"
import Fastify from "fastify"
import * as Checks from "../baselines/Checks.ts"
import * as Store from "../baselines/Store.ts"
import { expose } from "../Child.ts"
import { portOf, type Server } from "./Server.ts"

const [kind = "", filename = ""] = process.argv.slice(2)
const accept = Store.make(kind, filename, Checks.publicKey)

const text = { type: "string" }
const object = (properties: Readonly<Record<string, unknown>>) => ({ type: "object", properties })

// Ajv does not know the draft by that address, and needs none.
const { $schema: _, ...body } = JSONSchema.make(Requests.TemplateMessageRequest)

const app = Fastify({ logger: false, bodyLimit: 1024 * 1024 })
app.decorateRequest("key", "")
app.decorateRequest("remaining", 0)
app.addHook("onRequest", (request, reply, done) => {
  const key = Checks.authenticate(request.headers)
  if (key === undefined) {
    reply.code(401).send({ ok: false })
    return
  }
  const remaining = Checks.consume(key)
  if (remaining < 0) {
    reply.code(429).send({ ok: false })
    return
  }
  request.setDecorator("key", key)
  reply.headers(Checks.headers(remaining))
  done()
})

const acknowledgement = object({
  ok: { type: "boolean" },
  job_id: text,
  status: text,
  recipients: { type: "integer" },
  links: object({ status: text })
})
app.post<{ Body: Checks.SendRequest }>(
  "/api/v1/template-messages/send",
  { schema: { body, response: { 202: acknowledgement } } },
  (request, reply) => {
    const idempotencyKey = Checks.idempotencyKey(request.headers)
    if (idempotencyKey === undefined || !Checks.isRight(request.body)) {
      reply.code(422).send({ ok: false })
      return
    }
    const fingerprint = Checks.fingerprint(request.body)
    const key = request.getDecorator<string>("key")
    accept({ key, idempotencyKey, fingerprint, request: request.body }, (accepted) => {
      if (typeof accepted === "number") reply.code(accepted).send({ ok: false })
      else reply.code(202).send(Checks.acknowledgement(accepted.jobId, accepted.recipients))
    })
  }
)

await app.listen({ port: 0, host: "127.0.0.1" })
expose<Server>({
  address: async () => ({
    port: portOf(app.server),
    headers: { "x-public-key": Checks.publicKey, "x-secret-key": Checks.secretKey },
    templateId: Checks.templateId
  })
})
