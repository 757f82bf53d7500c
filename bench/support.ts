/** What the measurements share: an engine on a fresh SQLite file, with a sender that does as it is told. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AddressPolicy, Engine, SecretBox, Sender, UndiciTransport, Worker } from "@sendwright/core"
import { Sqlite } from "@sendwright/core/sqlite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** A file that is gone after the scope. */
export const file = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-bench-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  ),
  (folder) => join(folder, "bench.db")
)

/** Answers at once, or after so many milliseconds. */
export const sender = (latencyMs: number): Sender.Sender => {
  const accepted = Sender.SendResult.Accepted({ providerId: null, status: "accepted" })
  const answer = Effect.succeed(accepted)
  return {
    provider: "sandbox",
    deduplicates: true,
    send: () => (latencyMs === 0 ? answer : Effect.delay(answer, latencyMs))
  }
}

/** The engine on SQLite with `synchronous = FULL`; its loops start with `Worker.start`. */
export const engineOver = (
  through: Effect.Effect<Sender.Sender, never, Scope.Scope>,
  networks: ReadonlyArray<AddressPolicy.Network> = [],
  options: Parameters<typeof Engine.layer>[0] = {}
) =>
  Layer.unwrapScoped(
    Effect.map(Effect.all([file, through]), ([filename, each]) => engineAt(filename, each, networks, options))
  )

export const engineAt = (
  filename: string,
  each: Sender.Sender,
  networks: ReadonlyArray<AddressPolicy.Network> = [],
  options: Parameters<typeof Engine.layer>[0] = {}
) =>
  Engine.layer(options).pipe(
    Layer.provideMerge(Sqlite.layer({ filename })),
    Layer.provide(Sender.layer(each)),
    Layer.provide(UndiciTransport.layer()),
    Layer.provide(AddressPolicy.layer(networks)),
    Layer.provide(SecretBox.layerRandom)
  )

/**
 * The same with a sender that takes so long.
 *
 * @param networks that webhooks may reach though they are inside
 */
export const engine = (latencyMs: number, networks: ReadonlyArray<AddressPolicy.Network> = []) =>
  engineOver(Effect.succeed(sender(latencyMs)), networks)

export interface Tenant {
  /** The recipients of each job. */
  readonly recipients?: number
  readonly provider?: string
  readonly config?: Readonly<Record<string, unknown>>
}

/** A tenant of its own session and key, and a way to queue recipients for it. */
export const tenant = Effect.fnUntraced(function* (
  name: string,
  { config, provider = "sandbox", recipients: perJob = 250 }: Tenant = {}
) {
  const { admin, identify, send } = yield* Engine.Engine
  const plan = { minimumWaitMs: 0, dailyTemplateRecipients: null, requestsPerMinute: 1_000_000 }
  const account = yield* admin.accounts.create({ name, plan })
  const session = yield* admin.sessions.create(account.id, {
    name,
    provider,
    ...(config && { config, pacing: { messagesPerSecond: null } })
  })
  if (config !== undefined) yield* admin.sessions.connect(session.id)
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const {
    templates: [template]
  } = yield* admin.templates.importAll(session.id, [
    {
      name: "greeting",
      language: "en",
      category: "UTILITY",
      components: [{ type: "BODY", text: "Hello {{1}}" }]
    }
  ])
  const phones = Array.from({ length: perJob }, (_, n) => `346${String(n).padStart(8, "0")}`)
  yield* admin.consents.record(
    account.id,
    phones.map((phone) => ({ phone, source: "bench" }))
  )
  const caller = yield* identify({ publicKey: key.publicKey, secretKey })
  const recipients = phones.map((phone) => ({ phone, variables: { "body.1": "Ana" } }))
  const queue = (idempotencyKey: string) =>
    send(caller, { idempotencyKey, request: { templateId: template?.templateId ?? 0, recipients } })
  const isDone = (jobId: string) =>
    Effect.map(
      admin.jobs.find(jobId, { page: { limit: 1, after: null } }),
      ({ job }) => job.completedAt !== null
    )
  return { queue, isDone }
})

export const start = Effect.flatMap(Worker.Worker, (worker) => worker.start)

export const median = (values: ReadonlyArray<number>): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** The least value that so great a share of them does not exceed. */
export const percentile = (values: ReadonlyArray<number>, share: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN
