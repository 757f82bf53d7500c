/**
 * A route: an endpoint of the contract, who may call it, and its handler. Handlers are typed by the endpoint and know
 * neither requests nor responses: they are given values and answer a value.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import type * as HttpMethod from "@effect/platform/HttpMethod"
import type { ApiKey, Engine, Fault } from "@sendwright/core"
import { Requests, Shape } from "@sendwright/core"
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Body from "./Body.ts"
import type { EngineError } from "./Problems.ts"

type Faults = ReadonlyArray<Fault.Fault>

/** What a handler answers: the endpoint's success body, and headers beyond the usual. */
export interface Reply<A> {
  readonly body: A
  readonly headers: Readonly<Record<string, string>>
}

export const reply = <A>(body: A, headers: Readonly<Record<string, string>> = {}): Reply<A> => ({
  body,
  headers
})

/** A request after routing, before its shape is looked at. */
export interface Raw {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** The parsed body; null when there is none. */
  readonly body: Either.Either<unknown, Faults> | null
  readonly idempotencyKey: string | undefined
}

/** What every handler is given; a field that its endpoint does not declare cannot be read. */
export interface Given<Path, Query, Payload> {
  readonly path: Path
  readonly query: Query
  readonly payload: Payload
  readonly idempotencyKey: string | undefined
}

export interface HookRequest {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

type Running = Effect.Effect<Reply<unknown>, EngineError>

/** Looks at the shape, and answers what is left to run. */
export type Prepare = (raw: Raw) => Either.Either<Running, Faults>

export interface Route {
  readonly method: string
  /** With `:name` for parameters. */
  readonly pattern: string
  readonly status: number
  readonly takesBody: boolean
  /** Whether it is still served while the service stops. */
  readonly whileStopping: boolean
  /** For a route that takes a key, the caller is known before the shape is looked at. */
  readonly handler:
    | { readonly access: "anyone"; readonly prepare: Prepare }
    | { readonly access: "operator"; readonly prepare: Prepare }
    | {
        /** A platform's hook: its signature is over the bytes, so they are not looked at here. */
        readonly access: "hook"
        readonly run: (request: HookRequest) => Effect.Effect<string | null, EngineError>
      }
    | {
        readonly access: "key"
        readonly permission: ApiKey.Permission | null
        readonly prepare: (caller: Engine.Caller) => Prepare
      }
  /** Members that a refusal of this route carries besides. */
  readonly refusal: (error: EngineError) => Readonly<Record<string, unknown>>
}

type Endpoint<Path, Query, Payload, Headers, Success> = HttpApiEndpoint.HttpApiEndpoint<
  string,
  HttpMethod.HttpMethod,
  Path,
  Query,
  Payload,
  Headers,
  Success,
  never,
  never,
  never
>

type Handler<Path, Query, Payload, Success> = (
  given: Given<Path, Query, Payload>
) => Effect.Effect<Reply<Success>, EngineError>

/**
 * Decodes by the endpoint's schema. Without a schema the type is `never`, so that nobody can read what stands there:
 * this is all that the assertion says.
 */
const decoderOf = <A>(
  schema: Option.Option<Schema.Schema<A, unknown>>,
  prefix: ReadonlyArray<string>
): ((input: unknown) => Either.Either<A, Faults>) =>
  Option.match(schema, {
    onNone: () => {
      const nothing = Either.right(undefined as A)
      return () => nothing
    },
    onSome: (found) => Shape.decoder(found, prefix)
  })

const leftOf = (either: Either.Either<unknown, Faults>): Faults => (Either.isLeft(either) ? either.left : [])

/** All faults of path, query and body at once, or the handler's effect. */
const prepare =
  <Path, Query, Payload, Headers, Success, Body>(
    endpoint: Endpoint<Path, Query, Payload, Headers, Success>,
    readBody: (body: Raw["body"]) => Either.Either<Body, Faults>
  ) =>
  (handler: Handler<Path, Query, Body, Success>): Prepare => {
    const decodePath = decoderOf(endpoint.pathSchema, ["path"])
    const decodeQuery = decoderOf(endpoint.urlParamsSchema, ["query"])
    return (raw) => {
      const path = decodePath(raw.path)
      const query = decodeQuery(raw.query)
      const payload = readBody(raw.body)
      if (Either.isRight(path) && Either.isRight(query) && Either.isRight(payload)) {
        const { idempotencyKey } = raw
        return Either.right(
          handler({ path: path.right, query: query.right, payload: payload.right, idempotencyKey })
        )
      }
      return Either.left([...leftOf(path), ...leftOf(query), ...leftOf(payload)])
    }
  }

/** The body by the endpoint's schema; an absent one counts as an empty object, so that each required field is told. */
const decoded = <Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Path, Query, Payload, Headers, Success>
): ((body: Raw["body"]) => Either.Either<Payload, Faults>) => {
  const decode = decoderOf(endpoint.payloadSchema, [])
  return (body) => Either.flatMap(body ?? Either.right({}), decode)
}

/** The body as it came: the engine looks at it (`Requests.Unchecked` says why). */
const unchecked = (body: Raw["body"]): Either.Either<Requests.Unchecked, Faults> =>
  Either.map(body ?? Body.parse(new Uint8Array()), (json) => new Requests.Unchecked(json))

const common = <Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Path, Query, Payload, Headers, Success>
) => ({
  method: endpoint.method,
  pattern: endpoint.path,
  status: HttpApiSchema.getStatusSuccess(endpoint.successSchema),
  takesBody: Option.isSome(endpoint.payloadSchema),
  whileStopping: false,
  refusal: () => ({})
})

export const forAnyone = <Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Path, Query, Payload, Headers, Success>,
  handler: Handler<Path, Query, Payload, Success>
): Route => ({
  ...common(endpoint),
  handler: { access: "anyone", prepare: prepare(endpoint, decoded(endpoint))(handler) }
})

export const forOperator = <Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Path, Query, Payload, Headers, Success>,
  handler: Handler<Path, Query, Payload, Success>
): Route => ({
  ...common(endpoint),
  handler: { access: "operator", prepare: prepare(endpoint, decoded(endpoint))(handler) }
})

export const forKey = <Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Path, Query, Payload, Headers, Success>,
  permission: ApiKey.Permission | null,
  handler: (caller: Engine.Caller) => Handler<Path, Query, Payload, Success>,
  refusal: Route["refusal"] = () => ({})
): Route => {
  const prepared = prepare(endpoint, decoded(endpoint))
  return {
    ...common(endpoint),
    refusal,
    handler: { access: "key", permission, prepare: (caller) => prepared(handler(caller)) }
  }
}

/** A hook's answer is `{"ok": true}`, or the text that a handshake asks for. */
export const forPlatform = <Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Path, Query, Payload, Headers, Success>,
  run: (request: HookRequest) => Effect.Effect<string | null, EngineError>
): Route => ({ ...common(endpoint), handler: { access: "hook", run } })

/** For the operations whose body the engine checks itself. */
export const forKeyUnchecked = <Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Path, Query, Payload, Headers, Success>,
  permission: ApiKey.Permission,
  handler: (caller: Engine.Caller) => Handler<Path, Query, Requests.Unchecked, Success>
): Route => {
  const prepared = prepare(endpoint, unchecked)
  return {
    ...common(endpoint),
    handler: { access: "key", permission, prepare: (caller) => prepared(handler(caller)) }
  }
}
