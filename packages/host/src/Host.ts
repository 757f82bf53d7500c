/** The service as one layer: the engine, its workers and the server, by the configuration. */
import { Engine, Worker } from "@sendwright/core"
import { Metrics, Moment } from "@sendwright/core/adapter"
import { Cursors } from "@sendwright/core/contract"
import { HttpApp, InFlight, Routes } from "@sendwright/http/server"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as EngineLayer from "./EngineLayer.ts"
import { graceShare } from "./EngineLayer.ts"
import type { BadSettings, HostConfig } from "./HostConfig.ts"
import { baseUrlOf } from "./HostConfig.ts"
import * as NodeServer from "./http/NodeServer.ts"
import * as Logs from "./Logs.ts"
import * as SettingsCheck from "./SettingsCheck.ts"
import type { StartFailure } from "./StartFailure.ts"
import * as Version from "./Version.ts"

/** One request in so many gets a span, where there is a tracer; of those in a client's trace each that is sampled. */
const spanEvery = 100

/** Effect's default tracer discards spans. */
const sampling = Effect.map(Effect.tracer, (tracer) =>
  tracer === Context.get(DefaultServices.liveServices, Tracer.Tracer) ? undefined : spanEvery
)

const lookEveryMs = 250

/** Measures how late the event loop is: for so long everything else of the process had to wait, too. */
const watchEventLoop: Effect.Effect<never> = Effect.suspend(() => {
  const late = Metrics.ofEventLoop()
  const once = Effect.gen(function* () {
    const began = yield* Moment.now
    yield* Effect.sleep(lookEveryMs)
    late((yield* Moment.now) - began - lookEveryMs)
  })
  return Effect.forever(once)
})

/** Serves what the role answers over an engine, until what `besides` ends has ended, too. */
const serve = (config: HostConfig, besides: NodeServer.Options<never, never>["besides"]) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    Metrics.ofBuild({ version: Version.read(), node: process.version, role: config.role })
    yield* Effect.forkScoped(watchEventLoop)
    const answered = yield* Logs.accessLog(config)
    const spanEvery = yield* sampling
    const { adminToken, console, guesses, limits, mcpOrigins, olderSecretKeys, secretKey, trustedProxies } =
      config
    const port = yield* NodeServer.start({
      address: { host: config.host, port: config.port },
      graceMs: config.stopGraceMs * graceShare,
      besides,
      limits,
      trustedProxies,
      served: (port) => {
        const baseUrl = baseUrlOf(config, port)
        const content = config.role === "worker" ? Routes.ofWorker(engine) : Routes.ofApi(engine, baseUrl)
        const cursors = Cursors.make(secretKey, ...olderSecretKeys)
        const trusted = {
          adminToken,
          console: console && config.role !== "worker",
          cursors,
          guesses,
          limits,
          mcpOrigins,
          trustedProxies
        }
        return HttpApp.make({ engine, ...content, ...trusted, baseUrl, answered, spanEvery })
      }
    })
    yield* Effect.logInfo(`Sendwright is on ${baseUrlOf(config, port)}`)
  })

/** Starts the worker's loops if the role has them; returns an effect that ends them before their scope does. */
const loops = (role: HostConfig["role"]) =>
  Effect.gen(function* () {
    const { start, stop, watch } = yield* Worker.Worker
    if (role === "api") {
      yield* Effect.forkScoped(watch)
      return Effect.void
    }
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    // A host is never started inside an embedder's transaction.
    yield* Scope.extend(Effect.orDie(start), scope)
    return Effect.zipRight(stop(), Scope.close(scope, Exit.void))
  })

/** The codes that say that nobody answers at an address yet: those of the system, and PostgreSQL's while it starts. */
const absences = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "57P03"
]

const isAbsent = (error: unknown): boolean => {
  if (typeof error !== "object" || error === null) return false
  const [code, cause]: ReadonlyArray<unknown> = ["code", "cause"].map((name) => Reflect.get(error, name))
  return absences.some((each) => each === code) || isAbsent(cause)
}

const lookAgainMs = 1000

/** Asks for a database again that is not there yet, as where both are started together. */
const untilThere = ({ database, databaseWaitMs }: HostConfig) => {
  const isWaitedFor = (error: Exclude<StartFailure, BadSettings>): boolean =>
    database.kind === "postgres" && error._tag === "StorageError" && isAbsent(error)
  return Schedule.spaced(lookAgainMs).pipe(
    Schedule.intersect(Schedule.recurUpTo(databaseWaitMs)),
    Schedule.whileInput(isWaitedFor),
    // Not where it is not waited for.
    Schedule.onDecision(([times], decision) =>
      times === 0 && ScheduleDecision.isContinue(decision)
        ? Effect.logWarning(
            `The database does not answer yet. It is waited for, ${databaseWaitMs / 1000} s at most (DATABASE_WAIT).`
          )
        : Effect.void
    )
  )
}

/** Loaded only where it is asked for. */
const exporting = ({ telemetry }: HostConfig): Layer.Layer<never> =>
  telemetry === undefined
    ? Layer.empty
    : Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("./Otlp.ts")),
          ({ layer }) => layer(telemetry)
        )
      )

/**
 * Released in this order: the server together with the loops, since it answers until they have ended; then the
 * engine.
 */
export const layer = (
  config: HostConfig,
  options: EngineLayer.Options = {}
): Layer.Layer<never, Exclude<StartFailure, BadSettings>> =>
  Layer.suspend(() => {
    const attempts = InFlight.make()
    const webhooks = InFlight.make()
    const process = { role: config.role, version: Version.read() }
    const underWay = () => [`${attempts.count()} attempt(s) to send`, `${webhooks.count()} webhook(s)`]
    const running = Effect.gen(function* () {
      yield* Effect.forEach(SettingsCheck.check(config), ({ mend, says }) =>
        Effect.logWarning(`${says} ${mend}`)
      )
      const end = yield* loops(config.role)
      yield* serve(config, { end, underWay })
    })
    // Every request uses the store's clock from its first fiber on.
    return Layer.scopedDiscard(Effect.flatMap(Engine.Engine, ({ clock }) => clock.within(running))).pipe(
      Layer.provide(
        Layer.retry(
          EngineLayer.layer(config, { attempts, webhooks }, { ...options, process }),
          untilThere(config)
        )
      ),
      Layer.provide(exporting(config))
    )
  })
