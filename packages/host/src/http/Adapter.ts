/**
 * Serves the contract: from a plain request to a plain response. The steps of a request stand in one place, in the
 * order of decisions.md §2; every answer, refusals included, leaves through `answer`. It knows no server: `Serve`
 * binds it to one.
 */

import { timingSafeEqual } from "node:crypto"
import type { Engine, Fault } from "@sendwright/core"
import { Errors, Ids } from "@sendwright/core"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Metric from "effect/Metric"
import * as MutableRef from "effect/MutableRef"
import * as Redacted from "effect/Redacted"
import * as Body from "./Body.ts"
import type { EngineError, Problem } from "./Problems.ts"
import * as Problems from "./Problems.ts"
import type { HookRequest, Raw, Reply, Route } from "./Route.ts"

export interface PlainRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Reads the body, at most so many bytes; `undefined` when there are more. */
  readonly body: (maximum: number) => Effect.Effect<Uint8Array | undefined>
}

export interface PlainResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A page or text that is not JSON, outside the contract. */
export interface Page {
  readonly access: "anyone" | "operator"
  readonly contentType: string
  readonly text: Effect.Effect<string>
}

export interface Options {
  readonly engine: Context.Tag.Service<Engine.Engine>
  readonly routes: ReadonlyArray<Route>
  /** By path. */
  readonly pages: ReadonlyMap<string, Page>
  readonly baseUrl: string
  readonly adminToken: Redacted.Redacted<string> | undefined
  /** Set once the service stops: what comes then is refused, but for health; what is under way ends. */
  readonly stopping: MutableRef.MutableRef<boolean>
}

const requests = Metric.counter("sendwright_http_requests_total", {
  description: "Requests answered, by route and status.",
  incremental: true
})

const securityHeaders = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer"
}

/** A refusal on its way out. */
class Refused {
  readonly _tag = "Refused"
  readonly problem: Problem
  readonly headers: Readonly<Record<string, string>>
  /** What only the log may tell. */
  readonly cause: unknown
  constructor(problem: Problem, headers: Readonly<Record<string, string>> = {}, cause?: unknown) {
    this.problem = problem
    this.headers = headers
    this.cause = cause
  }
}

const refuse = (code: Problems.HostCode, detail: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.fail(new Refused(Problems.problem(code, detail), headers))

/** A bug: told to nobody but the log. */
const unexpected =
  (headers: Readonly<Record<string, string>> = {}) =>
  (defect: unknown) =>
    Effect.fail(
      new Refused(
        Problems.problem("internal", "Something went wrong on our side; it is logged under the request id."),
        headers,
        defect ?? "no cause"
      )
    )

const stopped = new Refused(
  Problems.problem("unavailable", "The service is stopping.", { retryAfterMs: 1000 })
)

const invalid = (faults: ReadonlyArray<Fault.Fault>) =>
  new Refused(Problems.describe(new Errors.InvalidRequest({ faults })))

// Routing ----------------------------------------------------------------------------------------------------------

interface Matched {
  readonly route: Route
  readonly path: Readonly<Record<string, string>>
}

const decodeSegment = (segment: string): string =>
  Either.getOrElse(
    Either.try(() => decodeURIComponent(segment)),
    () => segment
  )

/** Paths without parameters are looked up; of the others each is compared. A known path wins over a pattern. */
const makeRouter = (routes: ReadonlyArray<Route>) => {
  const fixed = new Map<string, Map<string, Route>>()
  const patterns: Array<{ readonly segments: ReadonlyArray<string>; readonly route: Route }> = []
  for (const route of routes) {
    if (route.pattern.includes(":")) {
      patterns.push({ segments: route.pattern.split("/"), route })
    } else {
      const methods = fixed.get(route.pattern) ?? new Map<string, Route>()
      fixed.set(route.pattern, methods.set(route.method, route))
    }
  }
  const match = (segments: ReadonlyArray<string>, path: ReadonlyArray<string>) => {
    if (segments.length !== path.length) return undefined
    const parameters: Record<string, string> = {}
    for (const [place, segment] of segments.entries()) {
      const given = path[place] ?? ""
      if (segment.startsWith(":")) {
        if (given === "") return undefined
        parameters[segment.slice(1)] = decodeSegment(given)
      } else if (segment !== given) return undefined
    }
    return parameters
  }
  /** The routes of a path by method. */
  return (path: string): ReadonlyMap<string, Matched> => {
    const found = new Map<string, Matched>()
    const known = fixed.get(path)
    if (known !== undefined) {
      for (const [method, route] of known) found.set(method, { route, path: {} })
      return found
    }
    const given = path.split("/")
    for (const { route, segments } of patterns) {
      const parameters = match(segments, given)
      if (parameters !== undefined) found.set(route.method, { route, path: parameters })
    }
    return found
  }
}

const allowHeader = (methods: Iterable<string>): string =>
  [
    ...new Set(
      [...methods].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).concat("OPTIONS")
    )
  ].join(", ")

// The steps --------------------------------------------------------------------------------------------------------

const rateHeaders = ({ account, rate }: Engine.Caller): Readonly<Record<string, string>> =>
  rateLimitHeaders(account.plan.requests_per_minute, rate.remaining, rate.resetAfterMs)

/** IETF draft-ietf-httpapi-ratelimit-headers. */
const rateLimitHeaders = (limit: number, remaining: number, resetAfterMs: number) => ({
  "ratelimit-policy": `"per-minute";q=${limit};w=60`,
  ratelimit: `"per-minute";r=${remaining};t=${Math.ceil(resetAfterMs / 1000)}`
})

const problemResponse = (
  { headers, problem }: Refused,
  context: { readonly baseUrl: string; readonly requestId: string }
): PlainResponse => ({
  status: Problems.statusOf(problem),
  headers: {
    ...headers,
    ...(problem.retryAfterMs === null
      ? {}
      : { "retry-after": String(Math.max(1, Math.ceil(problem.retryAfterMs / 1000))) }),
    "content-type": "application/problem+json"
  },
  body: JSON.stringify(Problems.body(problem, context))
})

const counted = (route: string, status: number): Effect.Effect<void> =>
  Effect.tagMetrics(Metric.increment(requests), { route, status: String(status) })

const sealed = (response: PlainResponse, requestId: string): PlainResponse => ({
  ...response,
  headers: { ...securityHeaders, ...response.headers, "x-request-id": requestId }
})

/** The refusal of what came and is no request, or none yet: no route saw it, and it has the form of all others. */
export const refusing = (baseUrl: string) =>
  Effect.map(Ids.RandomBytes, (random) => {
    const ids = Ids.make(random)
    return (code: Problems.HostCode, detail: string): Effect.Effect<PlainResponse> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const requestId = ids.uuid(now)
        const refused = new Refused(Problems.problem(code, detail))
        const response = problemResponse(refused, { baseUrl, requestId })
        return Effect.as(counted("none", response.status), sealed(response, requestId))
      })
  })

const visible = /^[\x21-\x7e]{1,128}$/

export const make = (options: Options) =>
  Effect.gen(function* () {
    const { adminToken, baseUrl, engine, pages, stopping } = options
    const ids = Ids.make(yield* Ids.RandomBytes)
    const routesOf = makeRouter(options.routes)

    const isOperator = (authorization: string | undefined): boolean => {
      if (adminToken === undefined) return false
      const given = Buffer.from(authorization ?? "")
      const wanted = Buffer.from(`Bearer ${Redacted.value(adminToken)}`)
      return given.length === wanted.length && timingSafeEqual(given, wanted)
    }

    const wrongToken = new Refused(
      Problems.problem(
        "invalid_credentials",
        "The admin token is missing or wrong. Send Authorization: Bearer <ADMIN_TOKEN>."
      )
    )

    /** Without a token there is no admin API at all. */
    const operator = (request: PlainRequest) => {
      if (adminToken === undefined) return refuse("not_found", "There is no such route.")
      return isOperator(request.headers["authorization"]) ? Effect.void : Effect.fail(wrongToken)
    }

    /** Reads and parses the body; null when the route takes none, or none came. */
    const bodyOf = (request: PlainRequest, route: Route): Effect.Effect<Raw["body"], Refused> =>
      Effect.gen(function* () {
        if (!route.takesBody) return null
        const { headers } = request
        const length = Number(headers["content-length"] ?? 0)
        const type = headers["content-type"]
        if ((type !== undefined || length > 0) && !Body.isJson(type)) {
          return yield* refuse(
            "unsupported_media_type",
            "The body must be JSON: Content-Type: application/json."
          )
        }
        const encoding = headers["content-encoding"] ?? "identity"
        if (encoding.toLowerCase() !== "identity") {
          return yield* refuse("unsupported_media_type", "The body must come without a content encoding.")
        }
        const tooLarge = "The body must be at most 1 MiB."
        if (length > Body.maximumBytes) return yield* refuse("payload_too_large", tooLarge)
        const bytes = yield* request.body(Body.maximumBytes)
        if (bytes === undefined) return yield* refuse("payload_too_large", tooLarge)
        if (bytes.length === 0) return null
        if (type === undefined) {
          return yield* refuse(
            "unsupported_media_type",
            "The body must be JSON: Content-Type: application/json."
          )
        }
        return Body.parse(bytes)
      })

    const described = (route: Route, headers: Readonly<Record<string, string>>) => (error: EngineError) => {
      const problem = Problems.describe(error)
      const limited = error._tag === "RateLimited" ? rateLimitHeaders(error.limit, 0, error.resetAfterMs) : {}
      return new Refused(
        { ...problem, members: { ...problem.members, ...route.refusal(error) } },
        { ...headers, ...limited },
        error._tag === "StorageError" ? error.cause : undefined
      )
    }

    const withHeaders = (headers: Readonly<Record<string, string>>) => (refused: Refused) =>
      new Refused(refused.problem, { ...headers, ...refused.headers }, refused.cause)

    /** Shape, then the handler. */
    const finish = (
      request: PlainRequest,
      { path, route }: Matched,
      query: string,
      prepare: (
        raw: Raw
      ) => Either.Either<Effect.Effect<Reply<unknown>, EngineError>, ReadonlyArray<Fault.Fault>>,
      headers: Readonly<Record<string, string>>
    ): Effect.Effect<PlainResponse, Refused> =>
      Effect.gen(function* () {
        const body = yield* bodyOf(request, route)
        const idempotencyKey = request.headers["idempotency-key"]
        const raw = { path, query: Object.fromEntries(new URLSearchParams(query)), body, idempotencyKey }
        const running = yield* Either.mapLeft(prepare(raw), invalid)
        const done = yield* Effect.mapError(running, described(route, {}))
        return json(route.status, done.body, { ...headers, ...done.headers })
      }).pipe(Effect.mapError(withHeaders(headers)))

    /** A platform's hook. Batches are larger than what clients send. */
    const hook = (
      request: PlainRequest,
      { path, route }: Matched,
      query: string,
      run: (request: HookRequest) => Effect.Effect<string | null, EngineError>
    ): Effect.Effect<PlainResponse, Refused> =>
      Effect.gen(function* () {
        const bytes =
          request.method === "POST" ? yield* request.body(Body.maximumHookBytes) : new Uint8Array()
        if (bytes === undefined)
          return yield* refuse("payload_too_large", "A hook's body must be at most 4 MiB.")
        const headers = Object.fromEntries(
          Object.entries(request.headers).flatMap(([name, value]) =>
            value === undefined ? [] : [[name, value]]
          )
        )
        const given = { path, query: Object.fromEntries(new URLSearchParams(query)), headers, body: bytes }
        const text = yield* Effect.mapError(run(given), described(route, {}))
        return text === null
          ? json(200, { ok: true }, {})
          : { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: text }
      })

    /** One request after routing, step by step. */
    const run = (
      request: PlainRequest,
      matched: Matched,
      query: string
    ): Effect.Effect<PlainResponse, Refused> => {
      const { route } = matched
      const { handler } = route
      switch (handler.access) {
        case "anyone":
          return finish(request, matched, query, handler.prepare, {})
        case "hook":
          return hook(request, matched, query, handler.run)
        case "operator":
          return Effect.zipRight(operator(request), finish(request, matched, query, handler.prepare, {}))
        case "key":
          return Effect.gen(function* () {
            const { headers } = request
            const credentials = { publicKey: headers["x-public-key"], secretKey: headers["x-secret-key"] }
            const caller = yield* Effect.mapError(engine.identify(credentials), described(route, {}))
            const rate = rateHeaders(caller)
            return yield* Effect.mapError(
              engine.authorize(caller, handler.permission),
              described(route, rate)
            ).pipe(
              Effect.zipRight(
                Effect.suspend(() => finish(request, matched, query, handler.prepare(caller), rate))
              ),
              Effect.catchAllDefect(unexpected(rate))
            )
          })
      }
    }

    const json = (
      status: number,
      body: unknown,
      headers: Readonly<Record<string, string>>
    ): PlainResponse => ({
      status,
      headers: { "content-type": "application/json; charset=utf-8", ...headers },
      body: JSON.stringify(body)
    })

    const pageResponse = (request: PlainRequest, page: Page): Effect.Effect<PlainResponse, Refused> =>
      Effect.zipRight(
        page.access === "operator" ? operator(request) : Effect.void,
        Effect.map(page.text, (body) => ({
          status: 200,
          headers: { "content-type": page.contentType },
          body
        }))
      )

    const routed = (
      request: PlainRequest
    ): { readonly name: string; readonly answer: Effect.Effect<PlainResponse, Refused> } => {
      const [path = "", query = ""] = request.url.split(/\?(.*)/s)
      const method = request.method === "HEAD" ? "GET" : request.method
      const page = pages.get(path)
      const methods = page === undefined ? routesOf(path) : new Map<string, Matched>()
      const matched = methods.get(method)
      if (MutableRef.get(stopping) && matched?.route.whileStopping !== true) {
        return { name: "none", answer: Effect.fail(stopped) }
      }
      if (matched !== undefined) return { name: matched.route.pattern, answer: run(request, matched, query) }
      if (page !== undefined && method === "GET") return { name: path, answer: pageResponse(request, page) }
      const known = page === undefined ? [...methods.keys()] : ["GET"]
      if (known.length === 0) return { name: "none", answer: refuse("not_found", "There is no such route.") }
      const allow = { allow: allowHeader(known) }
      const [first] = methods.values()
      return {
        // Never the path as it came: each would be a series of its own in the metrics.
        name: first === undefined ? path : first.route.pattern,
        answer:
          method === "OPTIONS"
            ? Effect.succeed({ status: 204, headers: allow, body: "" })
            : refuse("method_not_allowed", `This path has ${allow.allow}.`, allow)
      }
    }

    /** Never fails: what goes wrong within becomes a 500 that tells nothing, and a line in the log that does. */
    return (request: PlainRequest): Effect.Effect<PlainResponse> =>
      Effect.gen(function* () {
        const started = yield* Clock.currentTimeMillis
        const given = request.headers["x-request-id"]
        const requestId = given !== undefined && visible.test(given) ? given : ids.uuid(started)
        const { answer, name } = routed(request)
        const response = yield* answer.pipe(
          Effect.catchAllDefect(unexpected()),
          Effect.catchAll((refused) =>
            Effect.as(
              refused.cause === undefined
                ? Effect.void
                : Effect.logError("A request failed unexpectedly", refused.cause).pipe(
                    Effect.annotateLogs({ requestId })
                  ),
              problemResponse(refused, { baseUrl, requestId })
            )
          )
        )
        const ended = yield* Clock.currentTimeMillis
        yield* counted(name, response.status)
        yield* Effect.logDebug("Answered").pipe(
          Effect.annotateLogs({
            method: request.method,
            route: name,
            status: response.status,
            ms: ended - started,
            requestId
          })
        )
        return sealed(response, requestId)
      })
  })

export type Adapter = Effect.Effect.Success<ReturnType<typeof make>>
export type Refuse = Effect.Effect.Success<ReturnType<typeof refusing>>
