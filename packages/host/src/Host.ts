/** The service as one layer: the engine, its workers and the server, by the configuration. */
import { Engine, Worker } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as MutableRef from "effect/MutableRef"
import * as Scope from "effect/Scope"
import * as EngineLayer from "./EngineLayer.ts"
import { graceShare } from "./EngineLayer.ts"
import type { HostConfig } from "./HostConfig.ts"
import { baseUrlOf } from "./HostConfig.ts"
import * as Adapter from "./http/Adapter.ts"
import * as AdminHandlers from "./http/AdminHandlers.ts"
import * as Description from "./http/Description.ts"
import * as Handlers from "./http/Handlers.ts"
import * as HookHandlers from "./http/HookHandlers.ts"
import * as InFlight from "./http/InFlight.ts"
import * as Metrics from "./http/Metrics.ts"
import * as Serve from "./http/Serve.ts"
import * as ServiceHandlers from "./http/ServiceHandlers.ts"

const metrics: readonly [string, Adapter.Page] = [
  "/metrics",
  { access: "operator", contentType: "text/plain; version=0.0.4; charset=utf-8", text: Metrics.text }
]

const pages = (baseUrl: string): ReadonlyMap<string, Adapter.Page> =>
  new Map<string, Adapter.Page>([
    [
      "/openapi.json",
      {
        access: "anyone",
        contentType: "application/json; charset=utf-8",
        text: Effect.sync(() => JSON.stringify(Description.openApi(baseUrl)))
      }
    ],
    [
      "/docs",
      {
        access: "anyone",
        contentType: "text/html; charset=utf-8",
        text: Effect.sync(() => Description.docs(baseUrl))
      }
    ],
    metrics
  ])

/** What a role answers: a worker nothing but how it is. */
const contentOf = (role: HostConfig["role"], engine: Engine.Engine["Type"], baseUrl: string) => {
  const ready = Effect.asVoid(engine.admin.accounts.list({ limit: 1, after: null }))
  return role === "worker"
    ? { routes: ServiceHandlers.health(ready), pages: new Map([metrics]) }
    : {
        routes: [
          ...Handlers.make(engine),
          ...AdminHandlers.make(engine),
          ...HookHandlers.make(engine),
          ...ServiceHandlers.make(ready)
        ],
        pages: pages(baseUrl)
      }
}

/** Serves what the role answers over an engine, until what `besides` ends has ended, too. */
const serve = (config: HostConfig, besides: Serve.Options<never, never>["besides"]) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const stopping = MutableRef.make(false)
    const port = yield* Serve.start({
      address: config,
      stopping,
      graceMs: config.stopGraceMs * graceShare,
      besides,
      served: (port) => {
        const baseUrl = baseUrlOf(config, port)
        const content = contentOf(config.role, engine, baseUrl)
        return Effect.all({
          handle: Adapter.make({ engine, ...content, baseUrl, adminToken: config.adminToken, stopping }),
          refuse: Adapter.refusing(baseUrl)
        })
      }
    })
    yield* Effect.logInfo(`Sendwright is on ${baseUrlOf(config, port)}`)
  })

/** Starts the worker's loops where the role has them; answers how to end them before their scope does. */
const loops = (role: HostConfig["role"]) =>
  Effect.gen(function* () {
    if (role === "api") return Effect.void
    const { start, stop } = yield* Worker.Worker
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    yield* Scope.extend(start, scope)
    return Effect.zipRight(stop, Scope.close(scope, Exit.void))
  })

/** One process owns a SQLite database, so that nobody does what a part of the roles leaves undone. */
const warnOfHalf = ({ database, role }: HostConfig): Effect.Effect<void> =>
  database.kind === "sqlite" && role !== "all"
    ? Effect.logWarning(
        `ROLE=${role} on SQLite: no second process can be on this database, so ${role === "api" ? "what is accepted waits for a start with ROLE=all" : "nothing is accepted"}. Use PostgreSQL for several processes.`
      )
    : Effect.void

/** Released in this order: the server and the loops together, since it answers until they ended; then the engine. */
export const layer = (config: HostConfig) =>
  Layer.suspend(() => {
    const attempts = InFlight.make()
    const webhooks = InFlight.make()
    const underWay = () => [`${attempts.count()} attempt(s) to send`, `${webhooks.count()} webhook(s)`]
    return Layer.scopedDiscard(
      Effect.gen(function* () {
        yield* warnOfHalf(config)
        const end = yield* loops(config.role)
        yield* serve(config, { end, underWay })
      })
    ).pipe(Layer.provide(EngineLayer.layer(config, { attempts, webhooks })))
  })
