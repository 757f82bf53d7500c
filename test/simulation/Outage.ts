/**
 * Hours of steady work of three sessions, of which the first loses its platform for a time. What becomes of its messages,
 * and how long those of the others take, beside the same hours without an outage.
 *
 *   npm run simulate -- --outage 6
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { RandomBytes } from "../../packages/core/src/domain/Ids.ts"
import type { Provider } from "../../packages/core/src/domain/session/Session.ts"
import * as Engine from "../../packages/core/src/engine/Engine.ts"
import * as SecretBox from "../../packages/core/src/secret/SecretBox.ts"
import type { OutboundMessage, Sender } from "../../packages/core/src/sender/Sender.ts"
import * as Senders from "../../packages/core/src/sender/Sender.ts"
import * as Memory from "../../packages/core/src/storage/sqlite/Memory.ts"
import * as RecordingTransport from "../../packages/core/src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../packages/core/src/webhook/AddressPolicy.ts"
import * as Worker from "../../packages/core/src/worker/Worker.ts"
import { random } from "../support/Random.ts"
import * as Time from "./Time.ts"
import * as Views from "./View.ts"
import * as Worlds from "./World.ts"

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Recipients of a job, and the time from one job of a session to the next. */
const recipients = 60
const everyMs = 4 * minute
const perSecond = 40

export type Kind = "none" | "refuses" | "hangs"

/** Times in milliseconds. */
export interface Figures {
  readonly sent: number
  readonly failed: number
  readonly unknown: number
  /** Messages of the first session that waited when its platform was back. */
  readonly backlog: number
  /** From the end of the outage to the last of them. */
  readonly drainedAfterMs: number
  /** What they take at the session's pace alone. */
  readonly atItsPaceMs: number
  /** Of the first session while its platform was away. */
  readonly attempts: number
  readonly mostAttempts: number
  /** From acceptance to the platform's answer, of the other sessions. */
  readonly p99OfOthersMs: number
}

const p99 = (times: ReadonlyArray<number>): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0

/** @param outageMs from the end of the first half hour on */
export const run = async (kind: Kind, outageMs: number, seed = 1): Promise<Figures> => {
  const draws = random(seed)
  const bytesOf = random(seed ^ 0x5eed)
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => Math.floor(bytesOf() * 256))
  const time = Time.make(1_700_000_000_000)
  const began = time.now()
  const [goesAt, comesAt] = [began + 30 * minute, began + 30 * minute + outageMs]
  const answeredAt = new Map<string, number>()
  let attempts = 0

  const failure = (code: string) => ({ code, provider_code: null, message: "It is away.", permanent: false })
  const senderOf = (provider: Provider): Sender => ({
    provider,
    deduplicates: true,
    send: ({ messageId }: OutboundMessage) =>
      Effect.gen(function* () {
        const isAway = kind !== "none" && provider === "first" && time.now() >= goesAt && time.now() < comesAt
        if (isAway) {
          attempts += 1
          if (kind === "hangs") {
            yield* Effect.sleep(10 * second)
            return Senders.SendResult.Ambiguous({ failure: failure("no_answer") })
          }
          return Senders.refused(failure("provider_unavailable"), null, false)
        }
        yield* Effect.sleep(50 + Math.floor(draws() * 350))
        answeredAt.set(messageId, time.now())
        return Senders.accepted(null, "accepted")
      })
  })

  const scope = Effect.runSync(Scope.make())
  const providers = ["first", "second", "third"]
  const layer = Worker.layerLoops.pipe(
    Layer.provideMerge(Engine.layer()),
    Layer.provide([
      RecordingTransport.layer,
      Senders.layer(...providers.map(senderOf)),
      SecretBox.layer(Redacted.make(new Uint8Array(32))),
      AddressPolicy.layer([])
    ]),
    Layer.provideMerge(Memory.layer),
    Layer.provide(Layer.succeed(RandomBytes, bytes))
  )
  const setting = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) =>
    effect.pipe(
      Effect.provideService(Scope.Scope, scope),
      Logger.withMinimumLogLevel(LogLevel.None),
      Effect.withClock(time.clock),
      Effect.withRandom(Random.make(seed))
    )
  const context = await Effect.runPromise(setting(Layer.build(layer)))
  const engine = Context.get(context, Engine.Engine)
  /** Starts work, and lets the time pass that it needs. */
  const perform = async <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
    const done = Effect.runPromiseExit(setting(effect))
    await time.pass(0)
    const exit = await done
    return Exit.isSuccess(exit) ? exit.value : Promise.reject(new Error(String(exit.cause)))
  }

  const phones = Array.from({ length: recipients }, (_, place) => `3460000${String(place).padStart(4, "0")}`)
  const tenantOf = (provider: string) =>
    Effect.gen(function* () {
      const { admin, identify } = engine
      const account = yield* admin.accounts.create({
        name: provider,
        plan: { minimumWaitMs: 0, dailyTemplateRecipients: null, requestsPerMinute: 100_000 }
      })
      const pacing = { messagesPerSecond: provider === "first" ? perSecond : null }
      const session = yield* admin.sessions.create(account.id, { name: provider, provider, pacing })
      yield* admin.sessions.connect(session.id)
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      const { templates } = yield* admin.templates.importAll(session.id, [Worlds.template("APPROVED")])
      yield* admin.consents.record(
        account.id,
        phones.map((phone) => ({ phone, source: "simulation" }))
      )
      const caller = yield* identify({ publicKey: key.publicKey, secretKey })
      return {
        accountId: account.id,
        sessionId: session.id,
        caller,
        templateId: templates[0]?.templateId ?? 0
      }
    })
  const tenants: Array<Effect.Effect.Success<ReturnType<typeof tenantOf>>> = []
  for (const provider of providers) tenants.push(await perform(tenantOf(provider)))
  const [first] = tenants

  const until = comesAt + 30 * minute
  let number = 0
  while (time.now() < until) {
    for (const { caller, templateId } of tenants) {
      number += 1
      const request = {
        templateId,
        recipients: phones.map((phone) => ({ phone, variables: { "body.1": "Ana" } }))
      }
      await perform(engine.send(caller, { idempotencyKey: `key-${number}`, request }))
      await time.pass(everyMs / tenants.length)
    }
  }
  await time.pass(10 * minute)

  const ofOthers: Array<number> = []
  const waited: Array<number> = []
  const counts = { sent: 0, failed: 0, unknown: 0, mostAttempts: 0 }
  const { jobs } = await perform(
    Views.ofStores(
      context,
      tenants.map(({ accountId }) => accountId)
    )
  )
  for (const { job, recipients } of jobs.values()) {
    counts.failed += job.counts.failed
    counts.unknown += job.counts.unknown
    for (const recipient of recipients) {
      counts.mostAttempts = Math.max(counts.mostAttempts, recipient.attempts)
      const at = answeredAt.get(Worlds.messageId(job.id, recipient.index))
      if (at === undefined || recipient.status !== "accepted") continue
      counts.sent += 1
      if (job.sessionId !== first?.sessionId) ofOthers.push(at - job.createdAt)
      else if (job.createdAt < comesAt && at >= comesAt) waited.push(at)
    }
  }
  const stopping = Effect.runPromise(setting(Scope.close(scope, Exit.void)))
  await time.pass(minute)
  await stopping
  const backlog = kind === "none" ? 0 : waited.length
  return {
    ...counts,
    backlog,
    drainedAfterMs: backlog === 0 ? 0 : Math.max(...waited) - comesAt,
    atItsPaceMs: (backlog * second) / perSecond,
    attempts,
    p99OfOthersMs: p99(ofOthers)
  }
}

/** One row for each kind. */
export const table = async (outageMs: number): Promise<ReadonlyArray<readonly [Kind, Figures]>> => {
  const rows: Array<readonly [Kind, Figures]> = []
  for (const kind of ["none", "refuses", "hangs"] as const) rows.push([kind, await run(kind, outageMs)])
  return rows
}

const seconds = (ms: number): string => (ms / second).toFixed(1)

export const print = (rows: ReadonlyArray<readonly [Kind, Figures]>, outageMs: number): string => {
  const calm = rows.find(([kind]) => kind === "none")?.[1].p99OfOthersMs ?? Number.NaN
  const lines = rows.map(([kind, figures]) => {
    const {
      atItsPaceMs,
      backlog,
      drainedAfterMs,
      failed,
      mostAttempts,
      p99OfOthersMs,
      attempts,
      sent,
      unknown
    } = figures
    const ratio = (p99OfOthersMs / calm).toFixed(2)
    return `| ${kind} | ${sent} | ${failed} | ${unknown} | ${attempts} | ${mostAttempts} | ${backlog} | ${seconds(drainedAfterMs)} | ${seconds(atItsPaceMs)} | ${p99OfOthersMs} | ${ratio} |`
  })
  return [
    `One of three sessions without its platform for ${outageMs / hour} simulated hours`,
    "",
    "| its platform | sent | failed | unknown | attempts | most attempts | backlog | sent after (s) | at its pace (s) | p99 of the others (ms) | of before |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...lines
  ].join("\n")
}
