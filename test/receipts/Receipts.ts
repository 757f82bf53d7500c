/**
 * The same receipts twice, through the hook of a session: in order, once, after every message was accepted; and in
 * random order, some twice, some before our own commit of the acceptance. Both must end the same.
 */
import {
  AddressPolicy,
  Engine,
  HttpGateway,
  SecretBox,
  Sender,
  Signature,
  type Stores
} from "@sendwright/core"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Random, random } from "../support/Random.ts"

interface Receipt {
  readonly phone: string
  readonly status: string
  readonly at: string
  /** By our id of the message, or by the platform's. */
  readonly by: "message_id" | "id"
}

export interface Plan {
  readonly phones: ReadonlyArray<string>
  /** Each once and in order. */
  readonly ordered: ReadonlyArray<Receipt>
  /** All of them, in random order, some twice. */
  readonly shuffled: ReadonlyArray<Receipt>
  /** How many of the shuffled come while their message is being sent. */
  readonly early: number
}

const fates = [
  ["sent", "delivered", "read"],
  ["sent", "delivered"],
  ["sent", "read"],
  ["sent", "failed"],
  ["sent", "failed", "delivered"],
  ["sent"]
]

const recipientsPerJob = 250
const receiptsPerPost = 50
const secret = "a secret of the gateway"

const shuffle = <A>(values: ReadonlyArray<A>, next: Random): ReadonlyArray<A> =>
  values
    .map((value) => ({ value, place: next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ value }) => value)

/** So many receipts in all, a fifth of them repetitions and a tenth early. */
export const plan = (seed: number, receipts: number): Plan => {
  const next = random(seed)
  // Of now: other times are not believed.
  const began = Date.now() - 60_000
  const ordered: Array<Receipt> = []
  const phones: Array<string> = []
  while (ordered.length < receipts * 0.8) {
    const phone = `346${String(phones.length).padStart(8, "0")}`
    const fate = fates[Math.floor(next() * fates.length)] ?? []
    for (const [step, status] of fate.entries()) {
      const at = new Date(began + (phones.length % 200) * 100 + step * 1000).toISOString()
      ordered.push({ phone, status, at, by: next() < 0.5 ? "message_id" : "id" })
    }
    phones.push(phone)
  }
  const repeated = shuffle(ordered, next).slice(0, receipts - ordered.length)
  return { phones, ordered, shuffled: shuffle([...ordered, ...repeated], next), early: receipts / 10 }
}

const chunks = <A>(values: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, n) => values.slice(n * size, (n + 1) * size))

/** What is left of each message in the end, by its phone. */
const run = (
  stores: Layer.Layer<Stores.Stores, unknown>,
  phones: Plan["phones"],
  early: ReadonlyArray<Receipt>,
  late: ReadonlyArray<Receipt>
) =>
  Effect.gen(function* () {
    const gateway = yield* HttpGateway.make()
    const messageIds = new Map<string, string>()
    let post: (receipts: ReadonlyArray<Receipt>) => Effect.Effect<void> = () => Effect.void
    const sender: Sender.Sender = {
      ...gateway,
      send: ({ messageId, to }) =>
        Effect.gen(function* () {
          messageIds.set(to, messageId)
          for (const receipt of early.filter(({ phone }) => phone === to)) yield* post([receipt])
          return Sender.SendResult.Accepted({ providerId: `p-${to}`, status: "accepted" })
        })
    }
    const program = Effect.gen(function* () {
      const { admin, drain, hook, identify, send } = yield* Engine.Engine
      const plan = { minimumWaitMs: 0, requestsPerMinute: 100_000 }
      const account = yield* admin.accounts.create({ name: "Shop", plan })
      const config = { url: "http://127.0.0.1:1", secret }
      const session = yield* admin.sessions.create(account.id, { name: "Own", provider: "http", config })
      yield* admin.sessions.connect(session.id)
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      const components = [{ type: "BODY", text: "Hello {{1}}" }]
      const content = { name: "greeting", language: "en", category: "UTILITY", components }
      const {
        templates: [template]
      } = yield* admin.templates.importAll(session.id, [content])
      const caller = yield* identify({ publicKey: key.publicKey, secretKey })
      const consents = phones.map((phone) => ({ phone, source: "test" }))
      yield* admin.consents.record(account.id, consents)
      post = (receipts) =>
        Effect.suspend(() => {
          const told = receipts.map(({ at, by, phone, status }) => ({
            status,
            at,
            [by]: by === "id" ? `p-${phone}` : messageIds.get(phone),
            ...(status === "failed" ? { error: { code: "E-7", message: "It did not arrive." } } : {})
          }))
          const body = Buffer.from(JSON.stringify({ receipts: told }))
          const timestamp = Math.floor(Date.now() / 1000)
          const headers = {
            "x-service-timestamp": String(timestamp),
            "x-service-signature": Signature.sign(secret, timestamp, body)
          }
          return Effect.orDie(hook("http", session.id, { method: "POST", headers, query: {}, body }))
        })
      const jobs = yield* Effect.forEach(chunks(phones, recipientsPerJob), (part, place) =>
        send(caller, {
          idempotencyKey: `job-${place}`,
          request: {
            templateId: template?.templateId ?? 0,
            recipients: part.map((phone) => ({ phone, variables: { "body.1": "Ana" } }))
          }
        })
      )
      yield* drain
      for (const part of chunks(late, receiptsPerPost)) yield* post(part)
      yield* drain
      const found = yield* Effect.forEach(jobs, ({ jobId }) =>
        admin.jobs.find(jobId, { page: { limit: recipientsPerJob, after: null } })
      )
      return new Map(
        found.flatMap(({ results }) =>
          results.items.map(({ deliveredAt, failure, address: phone, readAt, sentAt, status }) => [
            phone,
            { status, failure, sentAt, deliveredAt, readAt }
          ])
        )
      )
    })
    const engine = Engine.layer().pipe(
      Layer.provide(stores),
      Layer.provide(RecordingTransport.layer),
      Layer.provide(Sender.layer(sender)),
      Layer.provide(SecretBox.layerRandom),
      Layer.provide(AddressPolicy.layer([]))
    )
    return yield* Effect.provide(program, engine)
  }).pipe(Effect.scoped)

/** Both runs on stores that are empty each time; answers how the messages ended, and those that ended otherwise. */
export const compare = (
  stores: Layer.Layer<Stores.Stores, unknown>,
  { early, ordered, phones, shuffled }: Plan
) =>
  Effect.gen(function* () {
    const inOrder = yield* run(stores, phones, [], ordered)
    const inDisorder = yield* run(stores, phones, shuffled.slice(0, early), shuffled.slice(early))
    const counts = new Map<string, number>()
    for (const { status } of inOrder.values()) counts.set(status, (counts.get(status) ?? 0) + 1)
    const differing = phones.flatMap((phone) => {
      const [one, other] = [inOrder.get(phone), inDisorder.get(phone)]
      return JSON.stringify(one) === JSON.stringify(other) ? [] : [{ phone, inOrder: one, inDisorder: other }]
    })
    return { counts: Object.fromEntries(counts), differing }
  })
