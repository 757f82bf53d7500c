/** The service as one layer: engine, storage, senders, workers and the server, by the configuration. */
import { AddressPolicy, Engine, Sandbox, SecretBox, Sender, UndiciTransport, Worker } from "@sendwright/core"
import { Sqlite } from "@sendwright/core/sqlite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MutableRef from "effect/MutableRef"
import type { Database, HostConfig } from "./HostConfig.ts"
import * as Adapter from "./http/Adapter.ts"
import * as AdminHandlers from "./http/AdminHandlers.ts"
import * as Description from "./http/Description.ts"
import * as Handlers from "./http/Handlers.ts"
import * as Metrics from "./http/Metrics.ts"
import * as Serve from "./http/Serve.ts"
import * as ServiceHandlers from "./http/ServiceHandlers.ts"

const pages = (config: HostConfig): ReadonlyMap<string, Adapter.Page> =>
  new Map<string, Adapter.Page>([
    [
      "/openapi.json",
      {
        access: "anyone",
        contentType: "application/json; charset=utf-8",
        text: Effect.sync(() => JSON.stringify(Description.openApi(config.baseUrl)))
      }
    ],
    [
      "/docs",
      {
        access: "anyone",
        contentType: "text/html; charset=utf-8",
        text: Effect.sync(() => Description.docs(config.baseUrl))
      }
    ],
    [
      "/metrics",
      { access: "operator", contentType: "text/plain; version=0.0.4; charset=utf-8", text: Metrics.text }
    ]
  ])

/** Serves the contract over an engine. */
export const serve = (config: HostConfig) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const stopping = MutableRef.make(false)
      const readable = engine.admin.accounts.list({ limit: 1, after: null })
      const handle = yield* Adapter.make({
        engine,
        routes: [
          ...Handlers.make(engine),
          ...AdminHandlers.make(engine),
          ...ServiceHandlers.make(Effect.asVoid(readable))
        ],
        pages: pages(config),
        baseUrl: config.baseUrl,
        adminToken: config.adminToken,
        stopping
      })
      return Layer.effectDiscard(Effect.logInfo(`Sendwright is on ${config.baseUrl}`)).pipe(
        Layer.provideMerge(Serve.layer({ handle, stopping, address: config }))
      )
    })
  )

const stores = (database: Database) =>
  database.kind === "sqlite"
    ? Sqlite.layer({ filename: database.filename })
    : // Loaded only where it is used.
      Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("@sendwright/core/postgres")),
          ({ Postgres }) => Postgres.layer({ url: database.url })
        )
      )

const engine = (config: HostConfig) =>
  Engine.layer({ concurrency: config.workerConcurrency }).pipe(
    Layer.provideMerge(stores(config.database)),
    Layer.provide(Sender.layer(Sandbox.make())),
    Layer.provide(UndiciTransport.layer),
    Layer.provide(AddressPolicy.layer(config.allowedNetworks)),
    Layer.provide(SecretBox.layer(config.secretKey))
  )

/** A worker serves too: health, and for operators who keep it behind the same balancer, all of the API. */
export const layer = (config: HostConfig) => {
  const loops = config.role === "api" ? Layer.empty : Worker.layerLoops
  return Layer.merge(serve(config), loops).pipe(Layer.provide(engine(config)))
}
