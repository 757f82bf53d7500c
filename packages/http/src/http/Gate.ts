/** Who asks: operators by their token, keys by their secret; and how many wrong credentials may come before nobody is heard. */
import { timingSafeEqual } from "node:crypto"
import type { Engine } from "@sendwright/core"
import { Acting, Instant, Operator } from "@sendwright/core"
import { type Cursors, Masking, type Problems, Route } from "@sendwright/core/contract"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Answer } from "./Answers.ts"
import { noRoute, type Refused, refuse } from "./Answers.ts"
import * as Cookie from "./Cookie.ts"
import type { Exchange, Headers, PlainRequest } from "./Exchange.ts"
import { headerOf, none } from "./Exchange.ts"
import type * as Guesses from "./Guesses.ts"
import * as Origins from "./Origins.ts"

/**
 * Who of an app is an operator, by its own request; null for nobody. Where it is given it decides alone, and no token or cookie
 * of ours does.
 */
export type Authorize = (source: unknown) => Effect.Effect<Operator.Acting | null>

interface Credentials {
  readonly engine: Context.Tag.Service<Engine.Engine>
  readonly adminToken: Redacted.Redacted<string> | undefined
  readonly authorize?: Authorize | undefined
  readonly baseUrl: string
}

/** A part of the way to an answer. */
export type Step = Effect.Effect<Answer, Refused | Problems.EngineError>

/** A scheme's case says nothing (RFC 9110 §11.1). */
const bearer = /^bearer +(.*)$/i

const tooManyGuesses = (retryAfterMs: number) =>
  refuse(
    "rate_limited",
    "Too many wrong credentials came from this address. Wait as long as Retry-After says.",
    { retryAfterMs }
  )

/** How to prove who one is (RFC 9110 §11.6.1), by who may call. */
export const challenges: Readonly<Record<Route.Route["handler"]["access"], Headers>> = {
  anyone: none,
  browser: none,
  key: { "www-authenticate": 'ApiKey realm="api", headers="x-public-key x-secret-key"' },
  operator: { "www-authenticate": 'Bearer realm="admin"' },
  hook: { "www-authenticate": 'Signature realm="hooks"' }
}

const isWrong = (error: Refused | Problems.EngineError): boolean =>
  error._tag === "Refused"
    ? error.problem.code === "invalid_credentials"
    : error._tag === "InvalidCredentials" || error._tag === "HookForged"

const outcomeOf = (exit: Exit.Exit<unknown, Refused | Problems.EngineError>): Guesses.Outcome => {
  if (Exit.isSuccess(exit)) return "right"
  return Option.exists(Cause.failureOption(exit.cause), isWrong) ? "wrong" : "unclear"
}

/** Checks credentials, unless too many wrong ones came before. Other failures do not count as wrong credentials. */
const guarding =
  (guesses: Guesses.Guesses, clock: Clock.Clock) =>
  <A, E extends Refused | Problems.EngineError>(
    guess: Guesses.Guess,
    look: () => Effect.Effect<A, E>
  ): Effect.Effect<A, E | Refused> =>
    Effect.uninterruptibleMask((restore): Effect.Effect<A, E | Refused> => {
      const end = guesses.begin(guess, Instant.unsafeNow(clock))
      if (typeof end === "number") return tooManyGuesses(end)
      return Effect.onExit(restore(Effect.suspend(look)), (exit) =>
        Effect.sync(() => end(outcomeOf(exit), Instant.unsafeNow(clock)))
      )
    })

/** Logs a refused operator. The audit log does not, since it records acts that were done. */
const logRefused =
  (exchange: Exchange, operator = "unknown") =>
  (error: Refused | Problems.EngineError) =>
    error._tag === "Refused" && error.problem.code !== "rate_limited"
      ? Effect.logWarning("An operator's request was refused").pipe(
          Effect.annotateLogs({
            code: error.problem.code,
            operator,
            address: exchange.request.address ?? "unknown",
            method: exchange.request.method,
            route: exchange.name,
            requestId: exchange.requestId
          })
        )
      : Effect.void

/** Refuses a page of another origin, and with `needed` whatever comes from no page. */
const ofOwnPage = (request: PlainRequest, baseUrl: string, needed: boolean): Effect.Effect<void, Refused> => {
  const [origin, host] = [headerOf(request, "origin"), headerOf(request, "host")]
  const refusal = origin === undefined && !needed ? null : Origins.refusalOfPage({ origin, host }, baseUrl)
  return refusal === null ? Effect.void : refuse("insufficient_permission", refusal)
}

const isToken = (token: string, adminToken: Redacted.Redacted<string> | undefined): boolean => {
  if (adminToken === undefined) return false
  const given = Buffer.from(token)
  const wanted = Buffer.from(Redacted.value(adminToken))
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

const wrongToken = refuse(
  "invalid_credentials",
  "The operator's token is missing or wrong. Send Authorization: Bearer <token>, or sign in.",
  { headers: challenges.operator }
)

const nobody = refuse(
  "invalid_credentials",
  "The app that this is a part of knows no operator here. Sign in there."
)

type Identifying = Effect.Effect<Operator.Acting, Refused | Problems.EngineError>

/** The operator of a token. */
const operatorOf = ({ adminToken, engine }: Credentials, token: string): Identifying => {
  if (isToken(token, adminToken)) return Effect.succeed(Operator.environment)
  if (Operator.nameOf(token) === undefined) return wrongToken
  return Effect.catchTag(engine.admin.operators.identify(token), "InvalidCredentials", () => wrongToken)
}

/** One who must have the role. */
const allowed = (exchange: Exchange, needed: Operator.Role, found: Identifying): Identifying =>
  Effect.filterOrElse(
    Effect.tapError(found, logRefused(exchange)),
    ({ role }) => Operator.allows(role, needed),
    ({ name, role }) =>
      Effect.tapError(
        refuse(
          "insufficient_permission",
          `The operator ${name} has the role ${role}, and this needs ${needed}.`
        ),
        logRefused(exchange, name)
      )
  )

/** Identifies callers, and limits guesses of credentials. */
export const gate = (
  known: Credentials,
  cursors: Cursors.Cursors,
  guesses: Guesses.Guesses,
  clock: Clock.Clock
) => {
  const { adminToken, authorize, baseUrl } = known
  const cookies = Cookie.make(cursors, baseUrl)
  const guarded = guarding(guesses, clock)

  /** Finds the operator of a token, who must have the role. Without the environment's token the admin API does not exist. */
  const identified = (
    exchange: Exchange,
    needed: Operator.Role,
    token: string | undefined,
    cookie?: string
  ): Identifying => {
    if (adminToken === undefined) return noRoute
    const { address } = exchange.request
    const given =
      cookie === undefined ? { subject: undefined, secret: token } : { subject: "cookie", secret: cookie }
    const guess = { kind: "operator", address, ...given } as const
    return allowed(
      exchange,
      needed,
      guarded(guess, () => (token === undefined ? wrongToken : operatorOf(known, token)))
    )
  }

  /** A browser of an operator, on a page of this origin: what it may be given to keep. */
  const asBrowser = (
    exchange: Exchange,
    step: (browser: Route.Browser<Refused | Problems.EngineError>) => Step
  ): Step => {
    const { request } = exchange
    const browser: Route.Browser<Refused | Problems.EngineError> = {
      signIn: (token) =>
        Effect.map(identified(exchange, "read", token), (found) => ({
          found,
          headers: cookies.begin(request, token, Instant.unsafeNow(clock))
        })),
      signOut: Effect.suspend(() =>
        adminToken === undefined
          ? noRoute
          : Effect.succeed({ found: undefined, headers: cookies.end(request) })
      )
    }
    return Effect.zipRight(
      ofOwnPage(request, baseUrl, false),
      Effect.suspend(() => step(browser))
    )
  }

  /**
   * By the app that this is a part of, or by the token of the header, or else by that of the cookie, which is guessed as a token
   * is. What a browser brings by itself counts only for pages of its own origin.
   */
  const caller = (exchange: Exchange, needed: Operator.Role): Identifying => {
    const { request } = exchange
    const changes = !["GET", "HEAD"].includes(request.method)
    if (authorize !== undefined) {
      const found = Effect.flatMap(authorize(request.source), (operator) =>
        operator === null ? nobody : Effect.succeed(operator)
      )
      const identified = allowed(exchange, needed, found)
      return changes ? Effect.zipRight(ofOwnPage(request, baseUrl, true), identified) : identified
    }
    const header = headerOf(request, "authorization")
    const cookie = header === undefined ? Cookie.of(request) : undefined
    if (cookie === undefined) return identified(exchange, needed, bearer.exec(header ?? "")?.[1] ?? "")
    const found = identified(exchange, needed, cookies.tokenOf(cookie, Instant.unsafeNow(clock)), cookie)
    return changes ? Effect.zipRight(ofOwnPage(request, baseUrl, true), found) : found
  }

  const asOperator = (exchange: Exchange, needed: Operator.Role, step: Step): Step => {
    const { request, requestId } = exchange
    const { address } = request
    return Effect.flatMap(caller(exchange, needed), (operator): Step => {
      const acting = Effect.provideService(
        Acting.as({ operator: operator.name, address: address ?? null, requestId })(step),
        Route.ActingOperator,
        operator
      )
      if (!operator.masksPhones) return acting
      const hide = Masking.hiding(request.url)
      exchange.hide = hide
      return Effect.provideService(acting, Masking.MaskedPhones, hide)
    })
  }

  return { guarded, asOperator, asBrowser }
}
