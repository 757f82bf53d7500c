/** Core's engine over a store and senders, as promises. */
import { readFileSync } from "node:fs"
import { types } from "node:util"
import {
  AddressPolicy,
  Engine,
  Instant,
  SecretBox,
  UndiciTransport,
  WebhookTransport,
  Worker
} from "@sendwright/core"
import { Exposition, Metrics, Timers } from "@sendwright/core/adapter"
import { Cursors } from "@sendwright/core/contract"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { Admin } from "../api/Admin.ts"
import type { Hook, Report } from "../api/Sender.ts"
import type { Options, Sendwright, Signal } from "../api/Sendwright.ts"
import * as Operators from "./Admin.ts"
import * as Alive from "./Alive.ts"
import { input, Time } from "./Input.ts"
import * as Known from "./Known.ts"
import * as Logging from "./Logging.ts"
import * as Checked from "./Options.ts"
import * as Running from "./Running.ts"
import * as Senders from "./Senders.ts"
import * as Sessions from "./Sessions.ts"
import * as Stores from "./Stores.ts"
import * as Subscriptions from "./Subscriptions.ts"

/** The parts of the world that a test replaces. */
export interface World {
  readonly transport?: WebhookTransport.WebhookTransport["Type"] | undefined
  readonly clock?: Clock.Clock | undefined
  /** The handlers of the app, which outlive the engine. */
  readonly handlers?: Subscriptions.Local | undefined
}

type Services = Engine.Engine | Worker.Worker

/** The assembly together with its runtime, for the test kit. */
export interface Assembled {
  readonly sw: Sendwright
  /** Runs what needs core's services. */
  readonly runWith: Running.Running<Services>["runWith"]
}

const failure = Schema.Struct({
  code: Schema.String,
  providerCode: Schema.NullOr(Schema.String),
  message: Schema.String,
  permanent: Schema.Boolean
})
const reportsOf = input<ReadonlyArray<Report>>(
  Schema.Array(
    Schema.Struct({
      messageId: Schema.optional(Schema.NullOr(Schema.String)),
      providerId: Schema.optional(Schema.NullOr(Schema.String)),
      status: Schema.Literal("accepted", "sent", "delivered", "read", "failed"),
      at: Schema.optional(Time),
      error: Schema.optional(failure)
    })
  )
)

const isRecord = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const TextsByName = Schema.declare(isRecord, { title: "an object" })
const hookOf = input<Hook>(
  Schema.Struct({
    provider: Schema.String,
    sessionId: Schema.String,
    method: Schema.Literal("GET", "POST"),
    headers: TextsByName,
    query: Schema.optional(TextsByName),
    body: Schema.optional(Schema.declare(types.isUint8Array, { title: "bytes (a `Uint8Array`)" }))
  })
)

const isSignal = (value: unknown): value is Signal =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value
const readingOf = input(
  Schema.Struct({ signal: Schema.optional(Schema.declare(isSignal, { title: "an `AbortSignal`" })) })
)
const stoppingOf = input(Schema.Struct({ graceMs: Schema.optional(Schema.Number) }))

const longestGraceMs = 25_000

/** How often accounts are looked for that other processes have created. */
const lookMs = 1000

const keysOf = ({ secretKey, secretKeys }: Options) => {
  const [current = "", ...older] = secretKeys ?? [secretKey]
  const keyOf = (text: string) => Redacted.make(Buffer.from(text, "base64"))
  return { current: keyOf(current), older: older.map(keyOf) }
}

const transportOf = ({ transport }: World) =>
  transport === undefined
    ? UndiciTransport.layer()
    : Layer.succeed(WebhookTransport.WebhookTransport, transport)

const addressesOf = ({ webhooks }: Options) => {
  const networks = (webhooks?.allowedNetworks ?? []).flatMap((text) => {
    const network = AddressPolicy.parseNetwork(text)
    return network === undefined ? [] : [network]
  })
  return AddressPolicy.layer(networks, "`webhooks.allowedNetworks` of createSendwright")
}

const reportOf = (
  { at, error, messageId = null, providerId = null, status }: Report,
  now: Instant.Instant
) => ({
  messageId,
  providerId,
  status,
  at: at === undefined ? now : Instant.ofDate(at),
  failure:
    error === undefined
      ? null
      : {
          code: error.code,
          provider_code: error.providerCode,
          message: error.message,
          permanent: error.permanent
        }
})

type End = (graceMs: number) => Promise<void>

/** The things that are mounted over the engine, and end before it. */
interface Mounts {
  readonly add: (end: End) => void
  readonly end: End
}

const mounts = (): Mounts => {
  const ends = new Set<End>()
  return {
    add: (end) => ends.add(end),
    end: async (graceMs) => {
      await Promise.all(Array.from(ends, (end) => end(graceMs)))
    }
  }
}

type Process =
  | "drain"
  | "health"
  | "hook"
  | "metrics"
  | "receive"
  | "start"
  | "stop"
  | typeof Symbol.asyncDispose

/** The methods that are no operation of a session or of an operator. */
const processOf = (
  engine: Engine.Engine["Type"],
  worker: Worker.Worker["Type"],
  { end: endCalls, hold, run }: Running.Running,
  { end: endReaders, look, ready }: Subscriptions.Subscriptions,
  {
    dispose,
    endMounted,
    stay
  }: {
    readonly dispose: () => Promise<void>
    readonly endMounted: Mounts["end"]
    /** Keeps the process for what is due. */
    readonly stay: () => Alive.Release
  }
): Pick<Sendwright, Process> => {
  let loops: Promise<Scope.CloseableScope> | undefined
  let leave: Alive.Release | undefined
  let stopped: Promise<void> | undefined

  /** Other processes create accounts, too. */
  const looking = Effect.tryPromise({ try: look, catch: (error) => error }).pipe(
    Effect.catchAll((error) => Effect.logError("New accounts could not be looked for", Cause.fail(error))),
    Effect.delay(lookMs),
    Effect.forever
  )

  const begin = async (): Promise<Scope.CloseableScope> => {
    await ready()
    const scope = await run(Scope.make())
    await run(Scope.extend(Effect.zipRight(worker.start, Effect.forkScoped(looking)), scope))
    leave = stay()
    return scope
  }
  /** In turn: nothing new begins, what was sent is waited for, and whoever still waits for an answer gets one. */
  const end = async (graceMs = longestGraceMs): Promise<void> => {
    const began = performance.now()
    const release = hold()
    endReaders()
    const served = endMounted(Math.min(graceMs, longestGraceMs))
    const scope = await loops?.catch(() => undefined)
    await run(worker.stop(graceMs))
    await served
    leave?.()
    if (scope !== undefined) await run(Scope.close(scope, Exit.void))
    const leftMs = Math.min(graceMs, longestGraceMs) - (performance.now() - began)
    await endCalls(Math.max(0, leftMs))
    await dispose()
    release()
  }

  const stop: Sendwright["stop"] = async (options = {}) => {
    const { graceMs } = stoppingOf(options)
    stopped ??= end(graceMs)
    return stopped
  }

  return {
    start: async () => {
      if (stopped !== undefined) throw Running.stopped()
      loops ??= begin()
      try {
        await loops
      } catch (error) {
        loops = undefined
        throw error
      }
    },
    drain: async () => {
      await look()
      await run(engine.drain)
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
    health: async () => {
      const checks = await run(engine.readiness)
      return { ready: checks.every(({ fault }) => fault === null), checks }
    },
    metrics: () => run(Exposition.text("prometheus")),
    receive: async (given) => {
      const reports = reportsOf(given)
      await ready()
      const now = await run(Instant.now)
      const unmatched = await run(engine.receive(reports.map((report) => reportOf(report, now))))
      const unknown = new Set(unmatched.map(nameOf))
      return reports.filter((report) => unknown.has(nameOf(reportOf(report, now))))
    },
    hook: async (given) => {
      const { body = new Uint8Array(), headers, method, provider, query = {}, sessionId } = hookOf(given)
      await ready()
      const byName = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
      )
      return run(engine.hook(provider, sessionId, { method, headers: byName, query, body }))
    }
  }
}

interface Manifest {
  readonly name?: unknown
  readonly version?: unknown
}

const manifestAt = (place: string): Manifest => {
  try {
    return JSON.parse(readFileSync(new URL(place, import.meta.url), "utf8"))
  } catch {
    return {}
  }
}

/**
 * The version of this package, as its manifest says it; of a copy inside an app's bundle nobody knows. The sources are as deep
 * below the manifest as the build.
 */
const version = (): string => {
  const { name, version } = manifestAt("../../package.json")
  return name === "sendwright" && typeof version === "string" ? version : "unknown"
}

const described = { role: "embedded", version: version() }

const layerOf = (options: Options, world: World, subscriptions: Subscriptions.Local) => {
  const transport = Layer.effect(
    WebhookTransport.WebhookTransport,
    Effect.map(WebhookTransport.WebhookTransport, subscriptions.beside)
  )
  const keys = keysOf(options)
  const { concurrency = Worker.defaults.concurrency } = options
  return Engine.layer({ graceMs: longestGraceMs, process: described, concurrency }).pipe(
    Layer.provide(Stores.partsOf(options.store).layer),
    Layer.provide(Senders.layer(options.senders)),
    Layer.provide(Layer.provide(transport, transportOf(world))),
    Layer.provide(addressesOf(options)),
    Layer.provide(SecretBox.layer(keys.current, ...keys.older)),
    Layer.provideMerge(Logging.layer(options, subscriptions.tell)),
    Layer.provideMerge(Layer.setClock(world.clock ?? Timers.idleClock)),
    Layer.provideMerge(Layer.setScheduler(Timers.scheduler))
  )
}

/** Makes sure that the events of an account are kept as soon as there is one. */
const heard = (admin: Admin, listenTo: (accountId: string) => Promise<void>): Admin => ({
  ...admin,
  accounts: {
    ...admin.accounts,
    create: async (input) => {
      const account = await admin.accounts.create(input)
      await listenTo(account.id)
      return account
    }
  }
})

/** Others may send over a server's database; over any other store what is due is this process's. */
const staying = (
  alive: Alive.Alive,
  options: Options,
  dueIn: () => Promise<number | null>
): (() => Alive.Release) =>
  options.store.name === "postgres" ? () => alive.hold() : () => alive.stayFor(dueIn)

/** The name by which a report is known in messages. */
const nameOf = ({
  messageId,
  providerId,
  status
}: {
  readonly messageId: string | null
  readonly providerId: string | null
  readonly status: string
}): string => JSON.stringify([messageId, providerId, status])

export const assemble = async (options: Options, world: World = {}): Promise<Assembled> => {
  Checked.check(options)
  Metrics.ofBuild({ ...described, node: process.version })
  const local = world.handlers ?? Subscriptions.make(options.on ?? {})
  const runtime = ManagedRuntime.make(layerOf(options, world, local))
  const alive = new Alive.Alive()
  const running = Running.make(runtime, alive)
  const [engine, worker] = await running.runWith(Effect.all([Engine.Engine, Worker.Worker]))
  const subscriptions = local.over(engine.admin, running)
  const store = Stores.partsOf(options.store)
  const ours = options.senders.filter((sender) => Senders.builtIn(sender) !== undefined)
  const place = { store, isOurs: (name: string) => ours.some(({ provider }) => provider === name) }
  const cursors = Cursors.make(Redacted.make(crypto.getRandomValues(new Uint8Array(32))))
  const admin = Operators.make(engine, running, cursors, place)
  const context = {
    engine,
    running,
    cursors,
    retryJob: admin.jobs.retry,
    store,
    listenTo: subscriptions.listenTo,
    beginListening: subscriptions.beginListening,
    traceparent: options.traceparent
  }
  const mounted = mounts()
  const dueIn = Effect.gen(function* () {
    const due = yield* engine.nextDue
    // Asked last: what was claimed meanwhile is not due any more.
    if (yield* worker.isBusy) return 0
    return due === null ? null : due - (yield* Instant.now)
  })
  const stay = staying(alive, options, () => runtime.runPromise(dueIn))
  const own: Sendwright = {
    admin: heard(admin, subscriptions.listenTo),
    session: Sessions.make(context),
    on: (pattern, handler) => subscriptions.on(pattern, handler),
    events: (options = {}) => subscriptions.read(readingOf(options).signal),
    ready: () => subscriptions.ready(),
    ...processOf(engine, worker, running, subscriptions, {
      dispose: () => runtime.dispose(),
      endMounted: mounted.end,
      // By a clock that only a test turns, nothing becomes due by itself.
      stay: world.clock === undefined ? stay : () => () => {}
    })
  }
  const sw = Known.make(own, {
    engine,
    secretKeys: keysOf(options),
    runSync: running.runSync,
    hold: running.hold,
    listenTo: subscriptions.listenTo,
    endWith: mounted.add
  })
  await subscriptions.ready()
  return { sw, runWith: running.runWith }
}
