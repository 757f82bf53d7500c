/**
 * A process that is there to be killed: the engine over a real store, with a sender that posts to the gateway. What
 * it does is said by `CHAOS`, a JSON of {@link Order}.
 */
import { Agent, request } from "node:http"
import { AddressPolicy, Engine, JobStore, SecretBox, Sender, UndiciTransport, Worker } from "@sendwright/core"
import { Postgres } from "@sendwright/core/postgres"
import { Sqlite } from "@sendwright/core/sqlite"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Kind } from "./Gateway.ts"
import { layerDie, type Point } from "./Points.ts"
import { runMain } from "./runMain.ts"

export interface Order {
  readonly task: "work" | "fill"
  /** `sqlite:<file>` or `postgres://…` */
  readonly store: string
  readonly gateway: string
  readonly kind: Kind
  readonly leaseMs: number
  readonly concurrency: number
  /** Where it kills itself, at which time that it comes there; null = it waits for the driver to do it. */
  readonly dies: { readonly at: Point; readonly after: number } | null
  /** By how much its clock is wrong, and how wrong it becomes after so many milliseconds. */
  readonly skew: { readonly ms: number; readonly laterMs: number; readonly afterMs: number } | null
  readonly jobs: number
  readonly recipients: number
  readonly messagesPerSecond: number | null
}

const order: Order = JSON.parse(process.env["CHAOS"] ?? "{}")

const agent = new Agent({ keepAlive: true })

const lost = {
  code: "no_answer",
  provider_code: null,
  message: "The gateway did not answer.",
  permanent: false
}

const sender: Sender.Sender = {
  provider: "sandbox",
  deduplicates: order.kind === "deduplicating",
  send: ({ messageId }) =>
    Effect.async((resume) => {
      const post = request(order.gateway, { method: "POST", agent, headers: { "x-message-id": messageId } })
      post.on("response", (response) => {
        response.resume()
        response.on("end", () =>
          resume(Effect.succeed(Sender.SendResult.Accepted({ providerId: messageId, status: "accepted" })))
        )
      })
      // The gateway is always there: whatever breaks, breaks after the request may have arrived.
      post.on("error", () => resume(Effect.succeed(Sender.SendResult.Ambiguous({ failure: lost }))))
      post.end()
    })
}

const stores = order.store.startsWith("postgres")
  ? Postgres.layer({ url: Redacted.make(order.store) })
  : Sqlite.layer({ filename: order.store.replace("sqlite:", "") })

const engine = Engine.layer({ leaseMs: order.leaseMs, concurrency: order.concurrency, graceMs: 10_000 }).pipe(
  Layer.provideMerge(layerDie(order.dies)),
  Layer.provideMerge(stores),
  Layer.provide(Sender.layer(sender)),
  Layer.provide(UndiciTransport.layer),
  Layer.provide(AddressPolicy.layer([])),
  Layer.provide(SecretBox.layer(Redacted.make(new Uint8Array(32))))
)

/** A tenant by a name that is always the same: a filler that died is run again and finds what it did. */
const fill = Effect.gen(function* () {
  const { admin, identify, send } = yield* Engine.Engine
  const jobs = yield* JobStore.JobStore
  const plan = { minimum_wait_ms: 0, daily_template_recipients: null, requests_per_minute: 1_000_000 }
  const account = yield* admin.accounts.create({ name: "chaos", plan })
  const pacing = { messages_per_second: order.messagesPerSecond }
  const session = yield* admin.sessions.create(account.id, { name: "chaos", provider: "sandbox", pacing })
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const [template] = yield* admin.templates.importAll(session.id, [
    {
      name: "greeting",
      language: "en",
      category: "UTILITY",
      components: [{ type: "BODY", text: "Hello {{1}}" }]
    }
  ])
  const phones = Array.from({ length: order.recipients }, (_, n) => `346${String(n).padStart(8, "0")}`)
  yield* admin.consents.record(
    account.id,
    phones.map((phone) => ({ phone, source: "chaos" }))
  )
  const caller = yield* identify({ publicKey: key.publicKey, secretKey })
  const recipients = phones.map((phone) => ({ phone, variables: { "body.1": "Ana" } }))
  for (let job = 0; job < order.jobs; job++) {
    const request = { template_id: template?.templateId ?? 0, recipients }
    // Sent again after a failure whose outcome is not known: the key makes them one.
    yield* Effect.retry(send(caller, { idempotencyKey: `job-${job}`, request }), { times: 20 })
  }
  yield* jobs.nextDue(0)
})

const skewed = (skew: NonNullable<Order["skew"]>): Clock.Clock => {
  const real = Clock.make()
  const began = performance.now()
  const now = () =>
    real.unsafeCurrentTimeMillis() + (performance.now() - began < skew.afterMs ? skew.ms : skew.laterMs)
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    currentTimeMillis: Effect.sync(now),
    unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos(),
    currentTimeNanos: real.currentTimeNanos,
    sleep: (duration) => real.sleep(duration)
  }
}

const clock = order.skew === null ? Layer.empty : Layer.setClock(skewed(order.skew))

const up = Layer.effectDiscard(Effect.sync(() => process.stdout.write("up\n")))

const work = Layer.launch(Layer.provide(up, Layer.provide(Worker.layerLoops, engine)))

runMain((order.task === "fill" ? Effect.provide(fill, engine) : work).pipe(Effect.provide(clock)))
