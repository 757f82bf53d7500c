/**
 * 2,000 recipients over a platform that misbehaves in every way by turns: each must be taken, have failed or be unknown
 * with a reason, or wait with the reason that the platform gave for it.
 */
import {
  AddressPolicy,
  Engine,
  Instant,
  Memory,
  SecretBox,
  Sender,
  UndiciTransport,
  Worker
} from "@sendwright/core"
import { JobStore } from "@sendwright/core/storage"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { configuration, type Provider, senders, table } from "./Sessions.ts"
import { byTurns, monthWords, type Told } from "./Ways.ts"

/** A window waits for the slowest of its messages: more of them side by side, for there are many slow ones here. */
const concurrency = 256
const recipientsPerJob = 250
const attemptsInAll = 8
const patienceMs = 15 * 60_000
const hourMs = 3_600_000

const layer = Layer.unwrapScoped(
  Effect.map(Effect.all([senders.http, senders.whatsapp_cloud]), (both) =>
    Engine.layer({ concurrency }).pipe(
      Layer.provideMerge(Memory.layer),
      Layer.provide(Sender.layer(...both)),
      Layer.provide(UndiciTransport.layer()),
      Layer.provide(AddressPolicy.layer([])),
      Layer.provide(SecretBox.layerRandom)
    )
  )
)

/** A session of its own account, and jobs of so many recipients that are due at once. */
const queue = Effect.fnUntraced(function* (provider: Provider, origin: string, jobs: number) {
  const { admin, identify, send } = yield* Engine.Engine
  const plan = { minimumWaitMs: 0, requestsPerMinute: 100_000 }
  const account = yield* admin.accounts.create({ name: provider, plan })
  const given = configuration[provider](origin)
  const config = provider === "http" ? { ...given, timeout_ms: 1000 } : given
  const session = yield* admin.sessions.create(account.id, {
    name: provider,
    provider,
    config,
    pacing: { messagesPerSecond: null }
  })
  yield* admin.sessions.connect(session.id)
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const template = { name: "greeting", language: "en", category: "UTILITY" }
  const components = [{ type: "BODY", text: "Hello {{1}}" }]
  const {
    templates: [imported]
  } = yield* admin.templates.importAll(session.id, [{ ...template, components }])
  const caller = yield* identify({ publicKey: key.publicKey, secretKey })
  const phones = Array.from({ length: recipientsPerJob }, (_, n) => `346${String(n).padStart(8, "0")}`)
  const consents = phones.map((phone) => ({ phone, source: "bench" }))
  yield* admin.consents.record(account.id, consents)
  const recipients = phones.map((phone) => ({ phone, variables: { "body.1": "Ana" } }))
  return yield* Effect.forEach(Array.from({ length: jobs }), (_, n) =>
    Effect.map(
      send(caller, {
        idempotencyKey: `job-${n}`,
        request: { templateId: imported?.templateId ?? 0, recipients }
      }),
      ({ jobId }) => ({ jobId, provider })
    )
  )
})

/** What is wrong with where a recipient has come to; undefined when nothing is. */
const fault = (
  provider: Provider,
  {
    attempts,
    failure,
    status
  }: {
    readonly attempts: number
    readonly failure: { readonly message: string; readonly permanent: boolean } | null
    readonly status: string
  }
): string | undefined => {
  if (status === "accepted") return undefined
  if (failure === null) return "without a reason"
  if (status === "sending") return failure.message === monthWords ? undefined : "under way"
  if (status === "failed")
    return failure.permanent || attempts === attemptsInAll ? undefined : "given up early"
  // The gateway deduplicates: what it may have is sent again as long as anything is.
  if (status === "unknown")
    return provider !== "http" || attempts === attemptsInAll ? undefined : "given up early"
  return "stuck"
}

/** @param repeated asks the platform how many messages it got again though it might have had them */
export const run = (told: Told, repeated: Effect.Effect<number>) =>
  Effect.gen(function* () {
    const { admin } = yield* Engine.Engine
    const store = yield* JobStore.JobStore
    const origin = `http://127.0.0.1:${told.port}/${byTurns}`
    const jobs = [
      ...(yield* queue("http", origin, 6)),
      ...(yield* queue("whatsapp_cloud", origin, 1)),
      ...(yield* queue("http", `http://${"x".repeat(64)}.invalid`, 1))
    ]
    const began = performance.now()
    yield* Effect.flatMap(Worker.Worker, ({ start }) => start)

    const look = Effect.map(
      Effect.forEach(jobs, ({ jobId, provider }) =>
        Effect.map(
          admin.jobs.find(jobId, { page: { limit: recipientsPerJob, after: null } }),
          ({ results }) =>
            results.items.map((result) => ({ ...result, provider, fault: fault(provider, result) }))
        )
      ),
      (results) => results.flat()
    )
    const isOver = (all: Effect.Effect.Success<typeof look>) =>
      all.every((each) => each.fault === undefined) || performance.now() - began > patienceMs
    const all = yield* Effect.repeat(Effect.delay(look, "1 second"), { until: isOver })
    const seconds = (performance.now() - began) / 1000

    const counts = new Map<string, number>()
    for (const { failure, fault, provider, status } of all) {
      const what = [
        provider,
        status,
        failure?.code ?? "–",
        failure?.message.slice(0, 60) ?? "–",
        fault ?? "yes"
      ].join("\t")
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
    yield* Console.log(
      `\n${all.length} recipients by turns, ${concurrency} at once, ${seconds.toFixed(0)} s:\n`
    )
    yield* table(
      ["provider", "status", "code", "reason", "right", "recipients"],
      [...counts]
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([what, count]) => [...what.split("\t"), String(count)])
    )
    const next = yield* store.nextDue(Instant.at(Date.now()))
    const idle = next === null || next - Date.now() > 23 * hourMs
    const again = yield* repeated
    yield* Console.log(
      `\nthe next attempt is due in ${next === null ? "no" : ((next - Date.now()) / hourMs).toFixed(1)} h; ` +
        `${again} messages went to the platform again though it might have had them`
    )
    return idle && again === 0 && all.every((each) => each.fault === undefined)
  }).pipe(Effect.scoped, Effect.provide(layer))
