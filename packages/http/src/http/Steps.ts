/**
 * The steps of a request, in one place and in the order of contract.md §2: from a plain request to a plain response.
 * Every answer, refusals included, passes through `sealed`. No server is known here: `HttpApp` makes of the steps an app
 * of `@effect/platform`. What a step needs is passed to it as a value; nothing is provided or located for it.
 */

import type { Engine } from "@sendwright/core"
import { Acting, Fault, Ids, Instant, type Operator } from "@sendwright/core"
import { Metrics, Moment, Traces } from "@sendwright/core/adapter"
import { Cursors, Masking, Problems, Route } from "@sendwright/core/contract"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as MutableRef from "effect/MutableRef"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import * as Address from "./Address.ts"
import type { Answer } from "./Answers.ts"
import {
  accepted,
  invalid,
  json,
  lastAnswer,
  noRoute,
  problemAnswer,
  Refused,
  rateLimit,
  refuse,
  refused,
  sealed,
  stopping,
  streamed,
  text,
  unexpected
} from "./Answers.ts"
import * as Body from "./Body.ts"
import * as ClientAddress from "./ClientAddress.ts"
import * as Conditional from "./Conditional.ts"
import * as Console from "./Console.ts"
import type { PlainRequest, PlainResponse } from "./Exchange.ts"
import { Exchange, headerOf, none } from "./Exchange.ts"
import * as Files from "./Files.ts"
import type { Authorize, Step } from "./Gate.ts"
import { challenges, gate } from "./Gate.ts"
import * as Guesses from "./Guesses.ts"
import * as HttpLimits from "./HttpLimits.ts"
import * as Origins from "./Origins.ts"
import * as Rates from "./Rates.ts"
import { bodyOf, hookTooLarge, otherCharset, unread } from "./RequestBody.ts"
import type { Matched } from "./Router.ts"
import * as Router from "./Router.ts"

export { type Refuse, refusing } from "./Answers.ts"
export { type PlainRequest, type PlainResponse, type Streaming, Unread } from "./Exchange.ts"

/** A page or text that is not JSON, outside the contract. */
export type Page = (
  | { readonly access: "anyone" }
  /** The role that it needs, at least. */
  | { readonly access: "operator"; readonly role: Operator.Role }
) & {
  readonly contentType: string
  readonly body: Effect.Effect<string | Uint8Array>
  /** The same in another form, for clients whose `Accept` asks for that. */
  readonly otherwise?:
    | ((accept: string | undefined) => Pick<Page, "body" | "contentType"> | undefined)
    | undefined
  /** Where to read on; the page is answered with 302 then. */
  readonly location?: string | undefined
  /** The whole of a page that is long and the same for everybody, in the place of its body. */
  readonly file?: Effect.Effect<Files.File> | undefined
}

/** A request that was answered, for the access log. */
export interface Answered {
  /** When it came, as an instant. */
  readonly at: number
  readonly method: string
  /** The pattern, not the path as it came. */
  readonly route: string
  readonly status: number
  readonly ms: number
  readonly requestId: string
  /** Of a refusal; absent of others. */
  readonly code?: Problems.Code
}

export interface Options {
  readonly engine: Context.Tag.Service<Engine.Engine>
  readonly routes: ReadonlyArray<Route.Route>
  /** By path. */
  readonly pages: ReadonlyMap<string, Page>
  /** The address of the API, with its prefix. */
  readonly baseUrl: string
  /** The text that every path begins with; absent where the API is all that a server has. */
  readonly prefix?: string | undefined
  readonly adminToken: Redacted.Redacted<string> | undefined
  /** Serves the console below `/console`, where there is an admin API. */
  readonly console?: boolean | undefined
  /** In the place of the operators' tokens; the console is then for them alone, too. */
  readonly authorize?: Authorize | undefined
  /** Origins of the web, besides the host's own, whose pages may ask as agents; none unless given. */
  readonly mcpOrigins?: ReadonlyArray<string> | undefined
  /** Absent: the defaults. */
  readonly guesses?: Guesses.Limits | undefined
  /** Absent: of a key of this process. */
  readonly cursors?: Cursors.Cursors | undefined
  /** Set once the service stops: new requests except for health are refused, and requests in progress end. */
  readonly stopping: MutableRef.MutableRef<boolean>
  /** Told of every answer; absent when nobody listens. */
  readonly answered?: ((answered: Answered) => void) | undefined
  /** The limits of hooks and pages; the defaults where they are not given. */
  readonly limits?: HttpLimits.Limits | undefined
  /**
   * One request in so many gets a span, and of those that come in a span of their client's each that is sampled; absent when
   * nobody traces.
   */
  readonly spanEvery?: number | undefined
}

const visible = /^[\x21-\x7e]{1,128}$/

const parameters = (query: string): Readonly<Record<string, string>> =>
  query === "" ? none : Object.fromEntries(new URLSearchParams(query))

/** Faults of repeated parameters, of which all but one value would be ignored. */
const repeatedFaults = (query: string): ReadonlyArray<Fault.Fault> => {
  if (query === "") return noFaults
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of new URLSearchParams(query).keys()) (seen.has(name) ? repeated : seen).add(name)
  return Array.from(repeated, (name) =>
    Fault.make(["query", name], "invalid_value", `\`${name}\` must be given once.`)
  )
}

const noFaults: ReadonlyArray<Fault.Fault> = []

/** The origin form of an absolute one (RFC 9112 §3.2.2): which authority it names changes nothing. */
const originForm = (target: string): string => {
  if (target.startsWith("/")) return target
  const rest = /^https?:\/\/[^/?#]+(.*)$/i.exec(target)?.[1]
  if (rest === undefined) return target
  return rest.startsWith("/") ? rest : `/${rest}`
}

/** A request as it came, for a route or a page. */
const rawOf = (
  request: PlainRequest,
  {
    query,
    ...known
  }: Pick<Route.Raw, "cursors" | "path" | "prefix" | "requestId"> & { readonly query: string },
  body: Route.Raw["body"]
): Route.Raw => ({
  ...known,
  query: parameters(query),
  faults: repeatedFaults(query),
  body,
  idempotencyKey: headerOf(request, "idempotency-key")
})

const tooManyHooks = (from: string, retryAfterMs: number) =>
  refuse("rate_limited", `Too many hooks come ${from}.`, { retryAfterMs })

/** How many hooks may come from each address, in all and for each session: nobody uses up what others have of it. */
const hookRates = ({ hooksPerAddress, hooksPerSession }: HttpLimits.Limits) => ({
  session: Rates.make({ limit: hooksPerSession, periodMs: 1000 }),
  address: Rates.make({ limit: hooksPerAddress, periodMs: 1000 })
})

/**
 * A platform's hook. Its posts are larger than clients' bodies, and their sender is unverified. Nothing is read
 * before the address passed its rate limit, the engine found the session, and the session passed its rate limit.
 */
const hook = (
  request: PlainRequest,
  { path }: Matched,
  query: string,
  run: Route.HookHandler,
  rates: ReturnType<typeof hookRates>,
  now: Instant.Instant
): Step => {
  if (Body.isOtherCharset(headerOf(request, "content-type"))) return otherCharset
  const client = request.address === undefined ? undefined : ClientAddress.clientOf(request.address)
  const wait = client === undefined ? 0 : rates.address(client, now)
  if (wait > 0) {
    return tooManyHooks("from your address", wait)
  }
  const repeated = repeatedFaults(query)
  if (repeated.length > 0) return invalid(repeated)
  if (Number(headerOf(request, "content-length") ?? 0) > Body.maximumHookBytes) return hookTooLarge
  const body = Effect.suspend((): Effect.Effect<Uint8Array, Refused> => {
    const wait = rates.session(`${path["sessionId"]} ${client}`, now)
    if (wait > 0) {
      return tooManyHooks("from your address for this session", wait)
    }
    if (request.method !== "POST") return Effect.succeed(new Uint8Array())
    const whole = Effect.mapError(request.body(Body.maximumHookBytes), unread)
    return Effect.flatMap(whole, (bytes) => (bytes === undefined ? hookTooLarge : Effect.succeed(bytes)))
  })
  const headers: Record<string, string> = {}
  for (const name of Object.keys(request.headers)) {
    const value = headerOf(request, name)
    if (value !== undefined) headers[name] = value
  }
  return Effect.map(run({ path, query: parameters(query), headers, body }), (challenge) =>
    challenge === null ? json(200, { ok: true }, none) : text("text/plain; charset=utf-8", challenge)
  )
}

/**
 * Limits how often public pages are answered, in all and per address, because they are long. The refusal is the
 * connection's last answer, so that a client that sent many requests ahead gets one refusal and not one for each.
 */
const pageRates = ({ pages, pagesPerAddress }: HttpLimits.Limits) => {
  const all = Rates.make({ limit: pages, periodMs: 1000 })
  const ofAddress = Rates.make({ limit: pagesPerAddress, periodMs: 1000 })
  return ({ address }: PlainRequest, now: Instant.Instant): Refused | undefined => {
    const wait = address === undefined ? 0 : ofAddress(ClientAddress.clientOf(address), now)
    if (wait > 0) {
      const detail = "Too many pages are read from your address."
      return refused("rate_limited", detail, { headers: lastAnswer, retryAfterMs: wait })
    }
    const waitAll = all("", now)
    if (waitAll === 0) return undefined
    return refused("unavailable", "Too many clients read pages.", {
      headers: lastAnswer,
      retryAfterMs: waitAll
    })
  }
}

const described = (error: Problems.EngineError, route: Route.Route | undefined): Refused => {
  const problem = Problems.describe(error)
  return new Refused(
    { ...problem, members: { ...problem.members, ...route?.refusal(error) } },
    problem.code === "invalid_credentials" ? challenges[route?.handler.access ?? "anyone"] : none,
    error._tag === "StorageError" ? error.cause : problem === Problems.broken ? error : undefined
  )
}

/** One in so many of those that their client does not trace; null where nobody gets spans. */
const sampler = (every: number | undefined): (() => boolean) | null => {
  if (every === undefined) return null
  let seen = 0
  return () => {
    seen = (seen + 1) % every
    return seen === 0
  }
}

const asksFor = (request: PlainRequest, type: string): boolean =>
  headerOf(request, "accept")?.includes(type) === true

const foreignPage = (request: PlainRequest, baseUrl: string, allowed: ReadonlyArray<string>): Step | null => {
  const { address } = request
  const asked = { origin: headerOf(request, "origin"), host: headerOf(request, "host"), address }
  const refusal = Origins.refusal(asked, baseUrl, allowed)
  return refusal === null ? null : refuse("insufficient_permission", refusal)
}

/** Makes an answer of a handler's reply. */
const answering =
  (runtime: Runtime.Runtime<never>) =>
  ({ body, content, headers }: Route.Reply, status: number, requestId: string): Answer =>
    content === undefined
      ? body === undefined
        ? accepted
        : json(status, body, headers)
      : streamed(status, content.type, headers, () =>
          Stream.toAsyncIterableRuntime(
            Stream.tapErrorCause(content.lines, (cause) =>
              Effect.annotateLogs(Effect.logError("An export broke off", cause), { requestId })
            ),
            runtime
          )
        )

/** Shape, then the handler, then the form of what it replied. */
const finishing = (known: Pick<Route.Raw, "cursors" | "prefix">, answerOf: ReturnType<typeof answering>) => {
  /** The read of an operator at a path without a query; undefined where no operator reads anything. */
  const readAt = (
    request: PlainRequest,
    path: Matched["path"],
    route: Route.Route | undefined
  ): Step | undefined => {
    if (route?.handler.access !== "operator") return undefined
    const { prepare } = route.handler
    return Effect.suspend((): Step => {
      const reading = prepare(rawOf(request, { ...known, path, query: "", requestId: undefined }, null))
      if (Either.isLeft(reading)) return invalid(reading.left)
      return Effect.map(reading.right, (done) => answerOf(done, route.status, ""))
    })
  }

  return (
    { request, requestId }: Exchange,
    { path, route }: Matched,
    query: string,
    prepare: Route.Prepare<Route.Reply, Refused | Problems.EngineError>,
    reading?: Route.Route
  ): Step => {
    const shaped = (body: Route.Raw["body"]): Step => {
      const running = prepare(rawOf(request, { ...known, path, query, requestId }, body))
      if (Either.isLeft(running)) return invalid(running.left)
      const { page } = route
      const doing = Conditional.isChange(route)
        ? Effect.provideService(
            running.right,
            Acting.Precondition,
            Conditional.precondition(request, readAt(request, path, reading))
          )
        : running.right
      return Effect.map(doing, (done) => {
        const answer =
          page !== undefined && asksFor(request, page.type)
            ? text(`${page.type}; charset=utf-8`, page.make(done.body))
            : answerOf(done, route.status, requestId)
        return Conditional.isReading(route) ? Conditional.answer(request, answer) : answer
      })
    }
    return route.acceptsBody || request.hasBody
      ? Effect.flatMap(bodyOf(request, route.acceptsBody, route), shaped)
      : shaped(null)
  }
}

/** The steps of a request of a known route: credentials, shape, handler. */
const routed = (
  {
    baseUrl,
    engine,
    mcpOrigins = [],
    ...known
  }: Pick<Options, "baseUrl" | "engine" | "mcpOrigins"> & Pick<Route.Raw, "cursors" | "prefix">,
  { asBrowser, asOperator, guarded }: ReturnType<typeof gate>,
  rates: ReturnType<typeof hookRates>,
  clock: Clock.Clock,
  runtime: Runtime.Runtime<never>
) => {
  const finish = finishing(known, answering(runtime))

  /** One request after routing, step by step. */
  const run = (exchange: Exchange, matched: Matched, query: string, reading?: Route.Route): Step => {
    const { request } = exchange
    const { handler } = matched.route
    switch (handler.access) {
      case "anyone":
        return finish(exchange, matched, query, handler.prepare)
      case "browser":
        return asBrowser(exchange, (own) => finish(exchange, matched, query, handler.prepare(own)))
      case "hook": {
        const { address } = request
        const step = Effect.suspend(() =>
          hook(request, matched, query, handler.run, rates, Instant.unsafeNow(clock))
        )
        // A post is signed: forgeries are bounded by the rates of hooks, and none of them makes a right one wait.
        if (request.method === "POST") return step
        // A handshake proves a text that somebody chose, which can be guessed.
        const guess = { kind: "hook", address, subject: matched.path["sessionId"], secret: query } as const
        return guarded(guess, () => step)
      }
      case "operator": {
        const foreign = handler.ownOrigin ? foreignPage(request, baseUrl, mcpOrigins) : null
        if (foreign !== null) return foreign
        return asOperator(
          exchange,
          handler.role,
          Effect.suspend(() => finish(exchange, matched, query, handler.prepare, reading))
        )
      }
      case "key": {
        const publicKey = headerOf(request, "x-public-key")
        const secretKey = headerOf(request, "x-secret-key")
        const guess = {
          kind: "key",
          address: request.address,
          subject: publicKey,
          secret: secretKey
        } as const
        const identified = guarded(guess, () => engine.identify({ publicKey, secretKey }))
        return Effect.flatMap(identified, (caller) => {
          const { account, rate } = caller
          exchange.rate = rateLimit(account.plan.requestsPerMinute, rate.remaining, rate.resetAfterMs)
          return Effect.flatMap(engine.authorize(caller, handler.permission), (known) =>
            finish(exchange, matched, query, handler.prepare(known))
          )
        })
      }
    }
  }

  return run
}

/**
 * A tracer gets only a request's route, because headers and bodies hold secrets, and only the name of a refusal,
 * because tracers record an error's text, which may quote a platform or a message.
 */
const traced = (exchange: Exchange, step: Step): Step =>
  step.pipe(
    Effect.matchEffect({
      onSuccess: (answer) => Effect.succeed(Effect.succeed(answer)),
      onFailure: (error) =>
        error._tag === "StorageError"
          ? Effect.fail(error)
          : Effect.as(
              Effect.annotateCurrentSpan(
                "error.type",
                (error._tag === "Refused" ? error.problem : Problems.describe(error)).code
              ),
              Effect.fail(error)
            )
    }),
    Effect.tap(() => Effect.annotateCurrentSpan("http.route", exchange.name)),
    Effect.withSpan(`${exchange.request.method} request`, { captureStackTrace: false, kind: "server" }),
    Effect.withTracerEnabled(true),
    Effect.flatten
  )

/** Below the span that the client's header names, where it names one. */
const withinTrace = (exchange: Exchange, step: Step, isSampled: (() => boolean) | null): Step => {
  const header = headerOf(exchange.request, "traceparent")
  const parent = header === undefined ? undefined : Traces.parse(header)
  const isTraced = isSampled !== null && (parent === undefined ? isSampled() : parent.sampled)
  const within = isTraced ? traced(exchange, step) : step
  return parent === undefined ? within : Effect.withParentSpan(within, parent)
}

const wordsOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** An unexpected error becomes a 500 without details, and a line in the log with them. */
const refusal = (
  exchange: Exchange,
  server: { readonly baseUrl: string; readonly prefix: string },
  count: (code: Problems.Code) => void,
  cause: Cause.Cause<Refused | Problems.EngineError>
): Effect.Effect<Answer> => {
  // The client is gone or the request's time is over, so that no answer can be sent.
  if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
  const failure = Cause.isDie(cause) ? Option.none() : Cause.failureOption(cause)
  const error = Option.getOrElse(failure, () => unexpected(Cause.squash(cause)))
  if (error._tag === "RateLimited") exchange.rate = rateLimit(error.limit, 0, error.resetAfterMs)
  const refused = error._tag === "Refused" ? error : described(error, exchange.route)
  const { requestId } = exchange
  count(refused.problem.code)
  exchange.refused = refused.problem.code
  const { hide } = exchange
  const told = hide === null ? refused : new Refused(Masking.problem(refused.problem, hide), refused.headers)
  const answer = problemAnswer(told, { ...server, requestId })
  if (refused.cause === undefined) return Effect.succeed(answer)
  // Every request has this while the store is away, so it has no stack.
  const log =
    error._tag === "StorageError" && error.fault === "unavailable"
      ? Effect.logError(`A request failed. ${error.message}`, wordsOf(error.cause))
      : Effect.logError("A request failed unexpectedly", Cause.die(refused.cause))
  return log.pipe(Effect.annotateLogs({ requestId }), Effect.as(answer))
}

/** A screen of the console: it is below a path of its own, and takes any query. */
interface Screen {
  readonly access: "screen"
  readonly show: (request: PlainRequest) => Step
}

/** Pages by their path, and the console at all that is below its own. */
const pagesOf = ({ adminToken, authorize, baseUrl, console, pages }: Options) => {
  const screens = Console.make(baseUrl, authorize === undefined ? "token" : "app")
  const hasConsole = console === true && (adminToken !== undefined || authorize !== undefined)
  return (path: string): Page | Screen | undefined =>
    hasConsole && Console.isBelow(path)
      ? { access: "screen", show: (request) => screens(request, path) }
      : pages.get(path)
}

const shownAs = (page: Page, request: PlainRequest): Effect.Effect<Answer> => {
  if (page.file !== undefined) return Effect.map(page.file, (file) => Files.answer(request, file))
  const { body, contentType } = page.otherwise?.(headerOf(request, "accept")) ?? page
  return Effect.map(body, (found) => text(contentType, found, page.location))
}

/** The route's name for metrics and the log. */
const nameOf = (
  path: string,
  methods: ReadonlyMap<string, Matched>,
  page: Page | Screen | undefined
): string => {
  if (page?.access === "screen") return Console.root
  const [first] = methods.values()
  return first === undefined ? path : first.route.pattern
}

export const make = (options: Options) =>
  Effect.gen(function* () {
    const { answered, baseUrl, cursors = Cursors.ofProcess(), engine, prefix = "" } = options
    const ids = Ids.make(yield* Ids.RandomBytes)
    const clock = yield* Effect.clock
    const routesOf = Router.make(options.routes)
    const pageAt = pagesOf(options)
    const metrics = Metrics.ofRequests(Object.keys(Problems.catalogue))
    const isSampled = sampler(options.spanEvery)
    const limits = options.limits ?? HttpLimits.defaults
    const rates = hookRates(limits)
    const overPages = pageRates(limits)
    const guesses = yield* Guesses.make(options.guesses)

    const credentials = gate(options, cursors, guesses, clock)
    const { asOperator } = credentials
    const server = { baseUrl, prefix }
    const own = { engine, baseUrl, cursors, mcpOrigins: options.mcpOrigins, prefix }
    const run = routed(own, credentials, rates, clock, yield* Effect.runtime<never>())

    const shown = (exchange: Exchange, query: string, page: Page): Step =>
      Effect.flatMap(bodyOf(exchange.request, false), (body): Step => {
        const { request, requestId } = exchange
        const faults = Route.unexpected(
          rawOf(request, { path: none, query, cursors, prefix, requestId }, body)
        )
        return faults.length > 0 ? invalid(faults) : shownAs(page, request)
      })

    const paged = (exchange: Exchange, query: string, page: Page | Screen): Step => {
      if (page.access === "operator")
        return asOperator(
          exchange,
          page.role,
          Effect.suspend(() => shown(exchange, query, page))
        )
      const refused = overPages(exchange.request, Instant.unsafeNow(clock))
      if (refused !== undefined) return Effect.fail(refused)
      if (page.access !== "screen") return shown(exchange, query, page)
      const screen = Effect.suspend(() => page.show(exchange.request))
      return options.authorize === undefined ? screen : asOperator(exchange, "read", screen)
    }

    const step = (exchange: Exchange): Step => {
      const { request } = exchange
      const url = originForm(request.url)
      const mark = url.indexOf("?")
      const path = Address.below(prefix, mark === -1 ? url : url.slice(0, mark))
      const query = mark === -1 ? "" : url.slice(mark + 1)
      if (path === undefined) return noRoute
      const method = request.method === "HEAD" ? "GET" : request.method
      const page = pageAt(path)
      const methods = page === undefined ? routesOf(path) : new Map<string, Matched>()
      const matched = methods.get(method)
      if (MutableRef.get(options.stopping) && matched?.route.whileStopping !== true)
        return Effect.fail(stopping)
      if (matched !== undefined) {
        exchange.route = matched.route
        exchange.name = matched.route.pattern
        return run(exchange, matched, query, methods.get("GET")?.route)
      }
      const known = page === undefined ? [...methods.keys()] : ["GET"]
      if (known.length === 0) return noRoute
      exchange.name = nameOf(path, methods, page)
      if (page !== undefined && method === "GET") return paged(exchange, query, page)
      const headers = { allow: Router.allowHeader(known) }
      return method === "OPTIONS"
        ? Effect.succeed({ status: 204, contentType: undefined, headers, body: "" })
        : refuse("method_not_allowed", `This path has ${headers.allow}.`, { headers })
    }

    const finish = (exchange: Exchange, at: number, began: Moment.Moment, answer: Answer): PlainResponse => {
      const { name: route, refused, request, requestId } = exchange
      const { status } = answer
      metrics.answered(route, status, Moment.unsafeNow(clock) - began)
      if (answered !== undefined) {
        const ms = Instant.unsafeNow(clock) - at
        const code = refused === null ? {} : { code: refused }
        answered({ at, method: request.method, route, status, ms, requestId, ...code })
      }
      return sealed(exchange, answer)
    }

    /** Never fails. */
    return (request: PlainRequest): Effect.Effect<PlainResponse> => {
      const at = Instant.unsafeNow(clock)
      const began = Moment.unsafeNow(clock)
      const given = headerOf(request, "x-request-id")
      const requestId = given !== undefined && visible.test(given) ? given : ids.uuid(at)
      const exchange = new Exchange(request, requestId)
      const steps = Effect.suspend(() => step(exchange))
      return Effect.matchCauseEffect(withinTrace(exchange, steps, isSampled), {
        onFailure: (cause) =>
          Effect.map(refusal(exchange, server, metrics.refused, cause), (answer) =>
            finish(exchange, at, began, answer)
          ),
        onSuccess: (answer) => Effect.succeed(finish(exchange, at, began, answer))
      })
    }
  })

export type Handle = Effect.Effect.Success<ReturnType<typeof make>>
