/**
 * A process that is there to be killed: the engine over a real store, with a sender that posts to the gateway. What
 * it does is said by `CHAOS`, a JSON of {@link Order}.
 */
import { Agent, request } from "node:http"
import {
  AddressPolicy,
  Engine,
  type Restore,
  SecretBox,
  Sender,
  UndiciTransport,
  Worker
} from "@sendwright/core"
import { Postgres } from "@sendwright/core/postgres"
import { Sqlite } from "@sendwright/core/sqlite"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { greeting } from "../support/Template.ts"
import type { Kind } from "./Gateway.ts"
import { type Death, dying, layerDie } from "./Points.ts"
import { runMain } from "./runMain.ts"

/** Who sends. */
export interface Tenant {
  readonly publicKey: string
  readonly secretKey: string
  readonly templateId: number
}

export interface Order {
  /**
   * `prepare` makes the tenant and tells it, `fill` sends its jobs and tells each that was accepted; without a tenant it makes
   * one. `resume` lets held jobs go on. `stop` records that some people said STOP, `open` lets a restored store send again and tells the counts.
   */
  readonly task: "prepare" | "fill" | "work" | "stop" | "open" | "resume"
  /** How many people `stop` records, the first of each job. */
  readonly stops?: number
  /** The way on of `open`. */
  readonly way?: Restore.Way
  /** Whose jobs `fill` sends. */
  readonly tenant?: Tenant
  /** `sqlite:<file>` or `postgres://…` */
  readonly store: string
  readonly gateway: string
  readonly kind: Kind
  readonly leaseMs: number
  readonly concurrency: number
  /** Where it kills itself, at which time that it comes there; null = it waits for the driver to do it. */
  readonly dies: Death | null
  /** By how much its clock is wrong, and how wrong it becomes after so many milliseconds. */
  readonly skew: { readonly ms: number; readonly laterMs: number; readonly afterMs: number } | null
  /** Of three jobs one is sent at that time and one is held; the session's hours begin at a time. Null: all go at once. */
  readonly times: {
    readonly sendAt: number
    readonly hoursAt: number
    readonly resumes: ReadonlyArray<string>
  } | null
  readonly jobs: number
  readonly recipients: number
  readonly messagesPerSecond: number | null
  /** Who is told of every recipient; null = nobody. */
  readonly receiver: string | null
  /** The platform answers with ids that no database takes as they are. */
  readonly oddIds: boolean
  /** Every byte of its master key. */
  readonly keyByte: number
  /** How long it is young, and how long suspects wait: shorter than they are, so that a run is over in time. */
  readonly youthMs: number
  readonly suspectWaits: ReadonlyArray<number>
  /** The messages that end it 50 ms after their attempts began. */
  readonly killers: ReadonlyArray<string>
}

const order: Order = JSON.parse(process.env["CHAOS"] ?? "{}")

const agent = new Agent({ keepAlive: true })

const lost = {
  code: "no_answer",
  provider_code: null,
  message: "The gateway did not answer.",
  permanent: false
}

/** Ids with NUL, with halves of characters, and longer than an index takes. */
const oddIds: ReadonlyArray<string> = [
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udc00\ud800",
  "x".repeat(100_000),
  "",
  "\u001b[31m\n"
]

const providerIdOf = (messageId: string): string =>
  order.oddIds ? `${oddIds[Number.parseInt(messageId.slice(-4), 16) % oddIds.length]}` : messageId

const sender: Sender.Sender = {
  provider: "sandbox",
  deduplicates: order.kind === "deduplicating",
  send: ({ messageId }) =>
    Effect.async((resume) => {
      if (order.killers.includes(messageId)) {
        setTimeout(() => process.kill(process.pid, "SIGKILL"), 50)
        return
      }
      const post = request(order.gateway, { method: "POST", agent, headers: { "x-message-id": messageId } })
      post.on("response", (response) => {
        response.resume()
        response.on("end", () =>
          resume(
            Effect.succeed(
              Sender.SendResult.Accepted({ providerId: providerIdOf(messageId), status: "accepted" })
            )
          )
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

const network = AddressPolicy.parseNetwork("127.0.0.0/8")

const { concurrency, leaseMs, suspectWaits, youthMs } = order

const engine = Engine.layer({ concurrency, leaseMs, suspectWaits, youthMs, graceMs: 10_000 }).pipe(
  Layer.provideMerge(layerDie(order.dies)),
  Layer.provideMerge(stores),
  Layer.provide(Sender.layer(dying(sender, order.dies))),
  Layer.provide(UndiciTransport.layer()),
  Layer.provide(AddressPolicy.layer(network === undefined ? [] : [network])),
  Layer.provide(SecretBox.layer(Redacted.make(new Uint8Array(32).fill(order.keyByte))))
)

const tell = (what: string, value: string): Effect.Effect<void> =>
  Effect.sync(() => process.stdout.write(`${what} ${value}\n`))

const phones = Array.from({ length: order.recipients }, (_, n) => `346${String(n).padStart(8, "0")}`)

const prepare = Effect.gen(function* () {
  const { admin } = yield* Engine.Engine
  const plan = { minimumWaitMs: 0, dailyTemplateRecipients: null, requestsPerMinute: 1_000_000 }
  const account = yield* admin.accounts.create({ name: "chaos", plan })
  const pacing = { messagesPerSecond: order.messagesPerSecond }
  const session = yield* admin.sessions.create(account.id, { name: "chaos", provider: "sandbox", pacing })
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const {
    templates: [template]
  } = yield* admin.templates.importAll(session.id, [greeting])
  const consents = phones.map((phone) => ({ phone, source: "chaos" }))
  yield* admin.consents.record(account.id, consents)
  if (order.receiver !== null) {
    yield* admin.webhooks.create(account.id, { url: order.receiver, events: ["recipient.*"] })
  }
  const { publicKey } = key
  const tenant: Tenant = { publicKey, secretKey, templateId: template?.templateId ?? 0 }
  yield* tell("prepared", JSON.stringify(tenant))
  return tenant
})

/** One that died is run again: what it had accepted, its keys answer. */
const fill = Effect.gen(function* () {
  const { admin, identify, pause, send } = yield* Engine.Engine
  const { publicKey, secretKey, templateId } = order.tenant ?? (yield* prepare)
  const caller = yield* identify({ publicKey, secretKey })
  const { times } = order
  const recipients = phones.map((phone) => ({
    phone,
    variables: { "body.1": "Ana" },
    ...(times === null ? {} : { timeZone: "UTC" })
  }))
  for (let job = 0; job < order.jobs; job++) {
    const sendAt = times !== null && job % 3 === 0 ? { sendAt: new Date(times.sendAt) } : {}
    const request = { templateId, recipients, ...sendAt }
    const { jobId } = yield* send(caller, { idempotencyKey: `job-${job}`, request })
    if (times !== null && job % 3 === 1) yield* pause(caller, jobId)
    yield* tell("accepted", jobId)
  }
  // They hold for what was accepted before them.
  if (times !== null) {
    const hour = (at: number) => new Date(at).toISOString().slice(11, 16)
    const hours = { from: hour(times.hoursAt), to: hour(times.hoursAt + 12 * 3_600_000) }
    yield* admin.sessions.change(caller.session.id, { quietHours: { utility: hours, marketing: hours } })
  }
})

const stop = Effect.gen(function* () {
  const { admin } = yield* Engine.Engine
  const { items } = yield* admin.accounts.list({ limit: 1, after: null })
  const revoked = phones.slice(0, order.stops ?? 0).map((phone) => {
    return { phone, status: "revoked" as const, source: "a copy of the event consent.revoked" }
  })
  for (const { id } of items) yield* admin.consents.record(id, revoked)
})

const resume = Effect.gen(function* () {
  const { admin } = yield* Engine.Engine
  for (const jobId of order.times?.resumes ?? []) yield* admin.jobs.resume(jobId)
})

const open = Effect.gen(function* () {
  const { admin } = yield* Engine.Engine
  const { counts, quarantine } = yield* admin.restore.decide({ open: order.way ?? "unknown" })
  if (quarantine === null) return yield* Effect.dieMessage("The store was not held.")
  yield* tell("opened", JSON.stringify(counts))
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

const tasks: Readonly<Record<Order["task"], Effect.Effect<unknown, unknown>>> = {
  prepare: Effect.provide(prepare, engine),
  fill: Effect.provide(fill, engine),
  stop: Effect.provide(stop, engine),
  open: Effect.provide(open, engine),
  resume: Effect.provide(resume, engine),
  work
}

runMain(Effect.provide(tasks[order.task], clock))
