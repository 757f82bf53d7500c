/** The routes that a role of the host answers: those of the contract, and pages besides. */
import type { Engine } from "@sendwright/core"
import { Exposition } from "@sendwright/core/adapter"
import { AdminApi, Service, SignIn } from "@sendwright/core/contract"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Api from "../api/Api.ts"
import * as Console from "./Console.ts"
import type { Described } from "./Description.ts"
import { assets } from "./description/reference/Assets.ts"
import * as Files from "./Files.ts"
import type { Options, Page } from "./Steps.ts"

type Routes = Pick<Options, "routes" | "pages">

const openMetrics = "application/openmetrics-text"

const contentTypes: Readonly<Record<Exposition.Format, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openMetrics: `${openMetrics}; version=1.0.0; charset=utf-8`
}

/** How much a client wants a media type, by its `Accept`: 0 where it names it not, or as one that it does not take. */
const weightOf = (accept: string, mediaType: string): number => {
  let weight = 0
  for (const range of accept.toLowerCase().split(",")) {
    const [named = "", ...parameters] = range.split(";").map((part) => part.trim())
    if (named !== mediaType) continue
    const q = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2)
    const given = q === undefined ? 1 : Number(q)
    weight = Math.max(weight, Number.isFinite(given) ? given : 0)
  }
  return weight
}

/** The format of `/metrics` that a client asks for: Prometheus' own, unless it wants OpenMetrics 1.0 at least as much. */
export const formatOf = (accept: string | undefined): Exposition.Format => {
  const weight = weightOf(accept ?? "", openMetrics)
  return weight > 0 && weight >= weightOf(accept ?? "", "text/plain") ? "openMetrics" : "prometheus"
}

const metrics: readonly [string, Page] = [
  "/metrics",
  {
    access: "operator",
    role: "metrics",
    contentType: contentTypes.prometheus,
    body: Exposition.text("prometheus"),
    otherwise: (accept) =>
      formatOf(accept) === "prometheus"
        ? undefined
        : { contentType: contentTypes.openMetrics, body: Exposition.text("openMetrics") }
  }
]

type Description = typeof import("./Description.ts")

/** Loaded when it is first asked for. */
const description: Effect.Effect<Description> = Effect.promise(() => import("./Description.ts"))

/** A page that is built at its first request. All answers share its bytes, so that unread answers need no memory of their own. */
const once = (contentType: string, cacheControl: string, make: Effect.Effect<string>): Page => {
  let made: Files.File | undefined
  const file = Effect.map(
    Effect.suspend(() => (made === undefined ? make : Effect.succeed(""))),
    (text) => {
      made ??= Files.file(contentType, cacheControl, text)
      return made
    }
  )
  return { access: "anyone", contentType, file, body: Effect.map(file, ({ plain }) => plain.body) }
}

const asset = ({ contentType, path, text }: (typeof assets)["script"]): readonly [string, Page] => [
  `/${path}`,
  once(contentType, Files.forEver, Effect.succeed(text))
]

/** A person who types a host's address is no client of its API. The link is relative: a proxy may have the host below a path. */
const front: Page = {
  access: "anyone",
  contentType: "text/plain; charset=utf-8",
  body: Effect.succeed("The API is described in docs.\n"),
  location: "docs"
}

const pages = (described: Described): ReadonlyMap<string, Page> =>
  new Map([
    ["/", front],
    // The prefix alone: what is relative to it is so to its last segment.
    ["", { ...front, location: `${described.prefix.slice(described.prefix.lastIndexOf("/") + 1)}/docs` }],
    [
      "/openapi.json",
      once(
        "application/json",
        Files.fresh,
        Effect.map(description, ({ openApi }) => JSON.stringify(openApi(described)))
      )
    ],
    [
      "/docs",
      once(
        "text/html",
        Files.fresh,
        Effect.map(description, ({ docs, openApi }) => docs(openApi(described)))
      )
    ],
    asset(assets.style),
    asset(assets.script),
    metrics
  ])

/** A worker serves only health. */
export const ofWorker = (engine: Context.Tag.Service<Engine.Engine>): Routes => ({
  routes: Service.health.map(({ route }) => route(engine)),
  pages: new Map([metrics])
})

/** @param baseUrl the address of the API, with its prefix */
export const ofApi = (engine: Context.Tag.Service<Engine.Engine>, baseUrl: string, prefix = ""): Routes => {
  const routes = Api.operations.map(({ route }) => route(engine))
  return { routes, pages: pages({ baseUrl, prefix, routes, senders: engine.senders }) }
}

/** The admin API for the console that is a part of an app: nobody signs in here, and there are no keys, hooks and descriptions. */
export const ofConsole = (engine: Context.Tag.Service<Engine.Engine>, prefix: string): Routes => {
  const front: Page = {
    access: "anyone",
    contentType: "text/plain; charset=utf-8",
    body: Effect.succeed("The console is at /console.\n"),
    location: `${prefix}${Console.root}`
  }
  return {
    routes: [...AdminApi.operations, ...SignIn.browser.filter(({ endpoint }) => endpoint.name === "me")].map(
      ({ route }) => route(engine)
    ),
    pages: new Map([
      ["", front],
      ["/", front]
    ])
  }
}
