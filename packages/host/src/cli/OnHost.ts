/** Does one operation of the admin API at a running host, over HTTP. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpMethod } from "@effect/platform/HttpMethod"
import type { Route } from "@sendwright/core/contract"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { ofProblem, type Refused, told } from "./Refused.ts"

/** The address and the token are checked before anything is asked. */
export interface Connection {
  /** Without a slash at the end. It has a path where the API is mounted below one. */
  readonly url: string
  readonly token: Redacted.Redacted
}

/** The method and the path of an endpoint, with `:name` for its parameters. */
export interface Endpoint {
  readonly method: HttpMethod
  readonly path: string
}

/** A platform that is asked may take its time. */
const longestPatience = Duration.minutes(2)

/** The connection that flags or variables name; null where they name no address. */
export const connection = (
  url: string | undefined,
  token: Redacted.Redacted | undefined
): Either.Either<Connection | null, Refused> => {
  if (url === undefined || url === "")
    return token === undefined || Redacted.value(token) === ""
      ? Either.right(null)
      : Either.left(told("A token needs the address of a host: give --url or SENDWRIGHT_URL."))
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (
    address === undefined ||
    !/^https?:$/.test(address.protocol) ||
    address.search !== "" ||
    address.hash !== ""
  )
    return Either.left(told(`"${url}" is no address of a host. Give one such as https://messages.example.`))
  if (address.username !== "" || address.password !== "")
    return Either.left(
      told("The address of the host must have no user and password. Give the token by SENDWRIGHT_TOKEN.")
    )
  if (token === undefined || Redacted.value(token) === "")
    return Either.left(told("A host asks for a token: give SENDWRIGHT_TOKEN, or --token."))
  // A token that no header takes would be quoted by whoever refuses it.
  if (!/^[\x21-\x7e]+$/.test(Redacted.value(token)))
    return Either.left(
      told(
        "The token has a line break, a space or another character that no token has. Give one token alone."
      )
    )
  return Either.right({ url: address.href.replace(/\/+$/, ""), token })
}

const pathOf = (pattern: string, parameters: Readonly<Record<string, string>>): string =>
  pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ""))

/** A cause of Node's names the reason best, however deep it lies. */
export const reasonOf = (error: unknown, depth = 0): string => {
  const { cause, code, message } = Object(error)
  if (typeof code === "string") return code
  return cause === undefined || depth === 4 ? String(message) : reasonOf(cause, depth + 1)
}

/** A refusal of a request that may have been done all the same. */
const unanswered = (method: HttpMethod, why: string): Refused =>
  told(method === "GET" ? why : `${why} Whether it was done is not known: look before you repeat it.`)

/** A request, with the parameters of its path. */
export type Asked = Pick<Route.Raw, "body" | "query"> & { readonly path: Readonly<Record<string, string>> }

/** No answer, or one that asks to come again: later it may be another. */
class NotNow extends Data.TaggedError("NotNow")<{
  readonly refused: Refused
  readonly retryAfterMs: number | null
}> {}

/** Too many requests; a host that stops, starts or has no room, itself or behind a proxy. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** In seconds, as hosts tell it. */
const retryAfter = (header: string | undefined): number | null =>
  header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) * 1000 : null

const clientOf = ({ token, url }: Connection, { method, path }: Endpoint, given: Asked) =>
  Effect.flatMap(HttpClient.HttpClient, (client) =>
    HttpClient.withTracerPropagation(client, false).execute(
      HttpClientRequest.get(`${url}${pathOf(path, given.path)}`).pipe(
        HttpClientRequest.setMethod(method),
        HttpClientRequest.bearerToken(token),
        HttpClientRequest.setUrlParams(given.query),
        given.body !== null && Either.isRight(given.body)
          ? HttpClientRequest.bodyUnsafeJson(given.body.right)
          : (request) => request
      )
    )
  )

/** A redirect could take the token elsewhere. */
const unmoved = { redirect: "error" } as const

const bodyOf = (text: string) => Either.try((): unknown => JSON.parse(text))

/** Why something was not done, by an answer that says so. */
const refusalOf = ({ url }: Connection, status: number, text: string): Refused => {
  const body = bodyOf(text)
  return Either.isLeft(body)
    ? told(`What answers at ${url} is no host of Sendwright: HTTP ${status}, and no JSON.`)
    : ofProblem(body.right)
}

/** One request. */
const once = (
  connection: Connection,
  endpoint: Endpoint,
  given: Asked,
  patience: Duration.Duration
): Effect.Effect<unknown, NotNow | Refused> =>
  Effect.gen(function* () {
    const { url } = connection
    const notNow = (why: string) =>
      new NotNow({ refused: unanswered(endpoint.method, why), retryAfterMs: null })
    const { retryAfterMs, status, text } = yield* Effect.scoped(
      Effect.flatMap(clientOf(connection, endpoint, given), ({ headers, status, text }) =>
        Effect.map(text, (text) => ({ status, text, retryAfterMs: retryAfter(headers["retry-after"]) }))
      )
    ).pipe(
      Effect.mapError((error) => notNow(`The host at ${url} does not answer (${reasonOf(error)}).`)),
      Effect.timeoutFail({
        duration: patience,
        onTimeout: () => notNow(`The host at ${url} did not answer within ${Duration.format(patience)}.`)
      })
    )
    if (passing.has(status))
      return yield* new NotNow({ refused: refusalOf(connection, status, text), retryAfterMs })
    const body = bodyOf(text)
    return Either.isRight(body) && status < 300 ? body.right : yield* refusalOf(connection, status, text)
  }).pipe(Effect.provide(FetchHttpClient.layer), Effect.provideService(FetchHttpClient.RequestInit, unmoved))

/** The success body. */
export const perform = (
  connection: Connection,
  endpoint: Endpoint,
  given: Asked,
  patience = longestPatience
): Effect.Effect<unknown, Refused> =>
  Effect.catchTag(once(connection, endpoint, given, patience), "NotNow", ({ refused }) =>
    Effect.fail(refused)
  )

/** An export, as it comes. One that breaks off fails. */
export const download = (
  connection: Connection,
  endpoint: Endpoint,
  given: Asked
): Stream.Stream<Uint8Array, Refused> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { url } = connection
      const response = yield* clientOf(connection, endpoint, given).pipe(
        Effect.mapError((error) => told(`The host at ${url} does not answer (${reasonOf(error)}).`)),
        Effect.timeoutFail({
          duration: longestPatience,
          onTimeout: () =>
            told(`The host at ${url} did not answer within ${Duration.format(longestPatience)}.`)
        })
      )
      const cut = (error: unknown) => told(`The export is not whole: it broke off (${reasonOf(error)}).`)
      if (response.status < 300) return Stream.mapError(response.stream, cut)
      const text = yield* Effect.mapError(response.text, cut)
      return yield* refusalOf(connection, response.status, text)
    })
  ).pipe(
    Stream.provideLayer(FetchHttpClient.layer),
    Stream.provideService(FetchHttpClient.RequestInit, unmoved)
  )

/** How long is waited between requests, in milliseconds; a host may ask for more. */
const waits = [500, 1000, 2000, 4000, 8000, 15_000, 30_000, 30_000, 30_000]
const longestWait = 120_000

/** The success body of what does no harm when it is done twice: it is asked for again while the host does not answer. */
export const performPatiently = (
  connection: Connection,
  endpoint: Endpoint,
  given: Asked
): Effect.Effect<unknown, Refused> => {
  const from = (tries: number): Effect.Effect<unknown, Refused> =>
    Effect.catchTag(
      once(connection, endpoint, given, longestPatience),
      "NotNow",
      ({ refused, retryAfterMs }) => {
        const wait = waits[tries]
        return wait === undefined
          ? Effect.fail(refused)
          : Effect.delay(from(tries + 1), Math.min(Math.max(wait, retryAfterMs ?? 0), longestWait))
      }
    )
  return from(0)
}
