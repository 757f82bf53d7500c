/** Does one operation of the admin API at a running host, over HTTP. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type { HttpMethod } from "@effect/platform/HttpMethod"
import type { Route } from "@sendwright/http/contract"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
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
const patience = Duration.minutes(2)

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

/**
 * The success body.
 *
 * @param lines where the items of the body stand in the file that they are from
 */
export const perform = (
  { token, url }: Connection,
  { method, path }: Endpoint,
  given: Pick<Route.Raw, "body" | "query"> & { readonly path: Readonly<Record<string, string>> },
  lines: ReadonlyArray<number> | undefined
): Effect.Effect<unknown, Refused> =>
  Effect.gen(function* () {
    const client = HttpClient.withTracerPropagation(yield* HttpClient.HttpClient, false)
    const asked = HttpClientRequest.get(`${url}${pathOf(path, given.path)}`).pipe(
      HttpClientRequest.setMethod(method),
      HttpClientRequest.bearerToken(token),
      HttpClientRequest.setUrlParams(given.query),
      given.body !== null && Either.isRight(given.body)
        ? HttpClientRequest.bodyUnsafeJson(given.body.right)
        : (request) => request
    )
    const { status, text } = yield* Effect.scoped(
      Effect.flatMap(client.execute(asked), (response) =>
        Effect.map(response.text, (text) => ({ status: response.status, text }))
      )
    ).pipe(
      Effect.mapError((error) =>
        unanswered(method, `The host at ${url} does not answer (${reasonOf(error)}).`)
      ),
      Effect.timeoutFail({
        duration: patience,
        onTimeout: () =>
          unanswered(method, `The host at ${url} did not answer within ${Duration.format(patience)}.`)
      })
    )
    const body = yield* Effect.mapError(
      Effect.try((): unknown => JSON.parse(text)),
      () => told(`What answers at ${url} is no host of Sendwright: HTTP ${status}, and no JSON.`)
    )
    return status < 300 ? body : yield* ofProblem(body, lines)
  }).pipe(
    Effect.provide(FetchHttpClient.layer),
    // A redirect could take the token elsewhere.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" })
  )
