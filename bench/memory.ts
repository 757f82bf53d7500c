/**
 * What a drain in memory costs, with an endpoint that is told of every recipient, as a test of one's own program has it.
 * Beside it the same steps with a clock whose nanoseconds stand still: there no turn of the event loop is ever long, so
 * that this is what the steps cost alone. CPU time, since a drain without a network has nothing to wait for.
 *
 *   npx tsx --conditions=@sendwright/source bench/memory.ts
 */
import { Engine } from "@sendwright/core"
import { RecordingTransport, TestEngine } from "@sendwright/core/testing"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { spread } from "./Statistics.ts"

const rounds = Number(process.argv[2] ?? 10) + 1
const recipients = 250

const live = Clock.make()
const still: Clock.Clock = {
  ...live,
  unsafeCurrentTimeNanos: () => 0n,
  currentTimeNanos: Effect.succeed(0n),
  unsafeCurrentTimeMillis: () => live.unsafeCurrentTimeMillis(),
  sleep: (duration) => live.sleep(duration)
}

const program = Effect.gen(function* () {
  const { admin, drain, identify, send } = yield* Engine.Engine
  const plan = { minimumWaitMs: 0, dailyTemplateRecipients: null, requestsPerMinute: 1_000_000 }
  const account = yield* admin.accounts.create({ name: "bench", plan })
  const session = yield* admin.sessions.create(account.id, { name: "bench", provider: "sandbox" })
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const components = [{ type: "BODY", text: "Hello {{1}}" }]
  const {
    templates: [template]
  } = yield* admin.templates.importAll(session.id, [
    { name: "greeting", language: "en", category: "UTILITY", components }
  ])
  yield* admin.webhooks.create(account.id, {
    url: "https://receiver.example/",
    events: ["recipient.accepted", "recipient.sent", "recipient.delivered", "job.completed"]
  })
  const phones = Array.from({ length: recipients }, (_, n) => `346${String(n + 1000).padStart(8, "0")}`)
  yield* admin.consents.record(
    account.id,
    phones.map((phone) => ({ phone, source: "bench" }))
  )
  const caller = yield* identify({ publicKey: key.publicKey, secretKey })
  yield* send(caller, {
    idempotencyKey: "one",
    request: {
      templateId: template?.templateId ?? 0,
      recipients: phones.map((phone) => ({ phone, variables: { "body.1": "Ana" } }))
    }
  })
  const before = process.cpuUsage()
  const began = performance.now()
  yield* drain
  const { system, user } = process.cpuUsage(before)
  const { requests } = yield* RecordingTransport.Recorder
  return {
    cpuMs: (system + user) / 1000,
    ms: performance.now() - began,
    posted: (yield* requests).length
  }
})

const measured = (clock: Clock.Clock) =>
  Effect.map(
    Effect.replicateEffect(
      // An engine of its own for each: a store in memory looks through all that it has.
      Effect.suspend(() => Effect.withClock(Effect.provide(program, TestEngine.layerWith({})), clock)),
      rounds
    ),
    // The first one compiles.
    (runs) => runs.slice(1)
  )

const told = (name: string, runs: Effect.Effect.Success<ReturnType<typeof measured>>) => {
  const cpu = spread(runs.map(({ cpuMs }) => cpuMs))
  const wall = spread(runs.map(({ ms }) => ms))
  return Console.log(
    `${name.padEnd(12)} CPU ${cpu.median.toFixed(0)} ms (${cpu.min.toFixed(0)} to ${cpu.max.toFixed(0)}), ` +
      `${wall.median.toFixed(0)} ms of time, ${runs[0]?.posted} webhooks`
  )
}

await Effect.runPromise(
  Effect.gen(function* () {
    yield* told("steps alone", yield* measured(still))
    yield* told("drain", yield* measured(live))
    yield* told("steps alone", yield* measured(still))
    yield* told("drain", yield* measured(live))
  })
)
