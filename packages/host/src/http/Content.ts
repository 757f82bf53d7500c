/** What a role answers: routes of the contract, and pages besides. */
import type { Engine } from "@sendwright/core"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Options, Page } from "./Adapter.ts"
import * as AdminHandlers from "./AdminHandlers.ts"
import * as Handlers from "./Handlers.ts"
import * as HookHandlers from "./HookHandlers.ts"
import * as Metrics from "./Metrics.ts"
import * as ServiceHandlers from "./ServiceHandlers.ts"

type Content = Pick<Options, "routes" | "pages">

const metrics: readonly [string, Page] = [
  "/metrics",
  { access: "operator", contentType: "text/plain; version=0.0.4; charset=utf-8", text: Metrics.text }
]

/** Loaded when it is first asked for. */
const description = Effect.promise(() => import("./Description.ts"))

const pages = (baseUrl: string): ReadonlyMap<string, Page> =>
  new Map<string, Page>([
    [
      "/openapi.json",
      {
        access: "anyone",
        contentType: "application/json; charset=utf-8",
        text: Effect.map(description, ({ openApi }) => JSON.stringify(openApi(baseUrl)))
      }
    ],
    [
      "/docs",
      {
        access: "anyone",
        contentType: "text/html; charset=utf-8",
        text: Effect.map(description, ({ docs }) => docs(baseUrl))
      }
    ],
    metrics
  ])

/** Nothing but how it is. */
export const ofWorker = (engine: Context.Tag.Service<Engine.Engine>): Content => ({
  routes: ServiceHandlers.health(engine),
  pages: new Map([metrics])
})

export const ofApi = (engine: Context.Tag.Service<Engine.Engine>, baseUrl: string): Content => ({
  routes: [
    ...Handlers.make(engine),
    ...AdminHandlers.make(engine),
    ...HookHandlers.make(engine),
    ...ServiceHandlers.make(engine)
  ],
  pages: pages(baseUrl)
})
