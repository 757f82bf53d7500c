/**
 * A route: an endpoint of the contract, who may call it, and its handler. Handlers are typed by the endpoint and know
 * neither requests nor responses: they are given values and answer a value.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import { EventLoopBudget, Readable } from "../adapter.ts"
import * as Either from "../effect/Either.ts"
import type { ApiKey, Engine } from "../index.ts"
import { Errors, Fault, Operator, Page, RequestDecoder, Requests } from "../index.ts"
import type * as Cursors from "./Cursors.ts"
import type * as Endpoints from "./Endpoint.ts"
import type { Code, EngineError } from "./Problems.ts"

type Faults = ReadonlyArray<Fault.Fault>

/** The answer of a handler: the body, and headers beyond the usual. */
export interface Reply {
  /** Undefined of what wants no answer: 202 without a body. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** The answer in the place of a body: an export, of any length. */
  readonly content?: Content
}

export interface Content {
  readonly type: string
  readonly lines: Stream.Stream<Uint8Array, EngineError>
}

/** A request after routing, before its shape is looked at. */
export interface Raw {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** The faults that are known by now, such as a parameter that is given twice. */
  readonly faults: Faults
  /** The parsed body; null when there is none. */
  readonly body: Either.Either<unknown, Faults> | null
  readonly idempotencyKey: string | undefined
  /** Undefined of one that no request brings. */
  readonly requestId: string | undefined
  readonly cursors: Cursors.Cursors
  /** Of the API's paths, for links. */
  readonly prefix: string
}

/** The input of every handler; a field that its endpoint does not declare cannot be read. */
export interface Given<Path, Query, Payload> {
  readonly path: Path
  readonly query: Query
  readonly payload: Payload
  readonly idempotencyKey: string | undefined
  readonly requestId: string | undefined
  /** The page of a list that the query asks for. */
  readonly page: Page.Page
  /** The cursor of the list's next page; null when there is none. */
  readonly cursor: (next: number | null) => string | null
  /** Of the API's paths, for links. */
  readonly prefix: string
}

/** The operator for whom something is done. */
export class ActingOperator extends Context.Reference<ActingOperator>()(
  "@sendwright/core/api/ActingOperator",
  { defaultValue: (): Operator.Acting => Operator.environment }
) {}

/** A body of no bytes, where one is needed. */
export const noBody: Either.Either<never, Faults> = Either.left([
  Fault.make([], "invalid_json", "The body must be a JSON object; it is empty.")
])

interface Tagged {
  readonly _tag: string
}

export interface HookRequest<E extends Tagged> {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** Reads the body, after the receiver was found. */
  readonly body: Effect.Effect<Uint8Array, E>
}

/** A security scheme of the description by which a platform proves that a request is its own. */
export type Proof =
  | "gatewaySignature"
  | "gatewayTimestamp"
  | "platformProof"
  | "whatsAppSignature"
  | "whatsAppToken"

/** Answers the text that a handshake asks for, else null. */
export type HookHandler = <E extends Tagged>(
  request: HookRequest<E>
) => Effect.Effect<string | null, EngineError | E>

/** The outcome of a sign-in or a sign-out, with the headers by which the browser knows it. */
export interface Signed<A> {
  readonly found: A
  readonly headers: Reply["headers"]
}

/** The browser of an operator, as its server knows it. */
export interface Browser<E extends Tagged> {
  /** From then on the browser acts as the operator whose token this is. */
  readonly signIn: (token: string) => Effect.Effect<Signed<Operator.Acting>, E>
  readonly signOut: Effect.Effect<Signed<void>, E>
}

type Running = Effect.Effect<Reply, EngineError>

/** Checks the shape, and returns the handler's effect. */
export type Prepare<A = Reply, E = EngineError> = (
  raw: Raw
) => Either.Either<Effect.Effect<A, E | EngineError>, Faults>

/**
 * The prose and the examples of a route in the description; the examples have the types of the route's endpoint
 * (`api/Operation`).
 */
interface Reference {
  readonly summary: string
  readonly description: string
  readonly request?: unknown
  readonly answer: unknown
  /** The same answer in other media types. */
  readonly otherAnswers?: Readonly<Record<string, unknown>>
  readonly refusals: ReadonlyArray<Code>
  readonly isIdempotent?: boolean
}

/** An answer as text to read, for whoever asks for its media type. */
export interface TextForm {
  readonly type: "text/html" | "text/markdown"
  /** @param escape of what others wrote, as the reader wants it; as the media type does when absent */
  readonly make: (body: unknown, escape?: (text: string) => string) => string
}

export interface Route {
  /** The endpoint's name. */
  readonly name: string
  readonly reference: Reference
  readonly method: string
  /** With `:name` for parameters. */
  readonly pattern: string
  readonly status: number
  readonly acceptsBody: boolean
  /** Members and items in all of a body that is long. */
  readonly maximumValues: number
  /** Undefined where its answer has no other form. */
  readonly page: TextForm | undefined
  /** True when it is still served while the service stops. */
  readonly whileStopping: boolean
  /** A route with an API key identifies its caller before it checks the shape. */
  readonly handler:
    | { readonly access: "anyone"; readonly prepare: Prepare }
    | {
        readonly access: "operator"
        /** Refuses pages of other origins, whose browser could be an operator's (`Origins`). */
        readonly ownOrigin?: true
        /** The role that it needs, at least. */
        readonly role: Operator.Role
        readonly prepare: Prepare
      }
    | {
        /** Signs an operator in or out. It needs no credentials, and takes requests of this origin's pages alone. */
        readonly access: "browser"
        readonly prepare: <E extends Tagged>(browser: Browser<E>) => Prepare<Reply, E>
      }
    | {
        /** A platform's hook. Its signature covers the bytes, so that the host does not parse them. */
        readonly access: "hook"
        readonly proofs: ReadonlyArray<Proof>
        readonly run: HookHandler
      }
    | {
        readonly access: "key"
        readonly permission: ApiKey.Permission | null
        readonly prepare: (caller: Engine.Caller) => Prepare
      }
  /** Members that a refusal of this route carries besides. */
  readonly refusal: (error: EngineError) => Readonly<Record<string, unknown>>
}

/** Does what a route for operators or for anyone does, without a request of its own. */
export const perform = (
  { handler, name }: Pick<Route, "handler" | "name">,
  asked: Pick<Raw, "body" | "path" | "query">,
  known: Pick<Raw, "cursors" | "prefix" | "requestId">
): Running => {
  if (handler.access !== "operator" && handler.access !== "anyone")
    return Effect.dieMessage(`${name} is not for operators`)
  const running = handler.prepare({ ...asked, ...known, faults: [], idempotencyKey: undefined })
  return Either.getOrElse(running, (faults) => Effect.fail(new Errors.InvalidRequest({ faults })))
}

type Endpoint<Path, Query, Payload, Headers> = Endpoints.Endpoint<
  string,
  Endpoints.Method,
  Path,
  Query,
  Payload,
  Headers
>

/**
 * The rules that a payload breaks beyond its shape, as far as it can be read. They are checked when the shape is
 * refused, so that one refusal lists every fault (contract.md §10); otherwise the handler checks them.
 */
export type Rules<Path, Payload> = (given: {
  /** Undefined when the path has a fault. */
  readonly path: Path | undefined
  readonly payload: Readable.Readable<Payload>
}) => Effect.Effect<Faults, EngineError>

/**
 * Decodes by the endpoint's schema. Without a schema the part must be empty, and its type is `never`, so that no
 * handler reads it: the assertion says no more than this.
 */
const decoderOf = <A>(
  schema: Option.Option<Schema.Schema<A, unknown>>,
  prefix: ReadonlyArray<string>
): ((input: unknown) => Either.Either<A, Faults>) =>
  Option.match(schema, {
    onNone: () => {
      const nothing = RequestDecoder.nothing(prefix)
      return (input) => Either.map(nothing(input), () => undefined as A)
    },
    onSome: (found) => RequestDecoder.decoder(found, prefix)
  })

const leftOf = (either: Either.Either<unknown, Faults>): Faults => (Either.isLeft(either) ? either.left : [])

/** An absent body counts as an empty object, so that each required field is reported. */
const bodyOf = (body: Raw["body"]): Either.Either<unknown, Faults> => body ?? Either.right({})

const nothingAsked = RequestDecoder.nothing(["query"])
const nothingSent = RequestDecoder.nothing()

/** The faults of a request for what takes neither parameters nor a body. */
export const unexpected = ({ body, faults, query }: Raw): Faults => [
  ...faults,
  ...leftOf(nothingAsked(query)),
  ...leftOf(Either.flatMap(bodyOf(body), nothingSent))
]

const notACursor = Fault.make(
  ["query", "cursor"],
  "invalid_value",
  "`cursor` must be a `next_cursor` of this very list, with the same filter."
)

/** The place of a cursor: the list, its owner and its filter. */
const placeOf = (
  { method, path: pattern }: { readonly method: string; readonly path: string },
  owner: string,
  path: unknown,
  query: object
): string => {
  const filter = Object.entries(query).filter(([name]) => name !== "cursor" && name !== "limit")
  return JSON.stringify([method, pattern, owner, path, filter])
}

const at = (query: unknown, name: string): unknown =>
  typeof query === "object" && query !== null ? Reflect.get(query, name) : undefined

const numberAt = (query: unknown, name: string): number | undefined => {
  const found = at(query, name)
  return typeof found === "number" ? found : undefined
}

/**
 * All faults of path, query and body, or the handler's effect. `owner` is the owner of the lists that cursors belong
 * to.
 */
export const prepare = <Path, Query, Payload, Headers>(endpoint: Endpoint<Path, Query, Payload, Headers>) => {
  const decodePath = decoderOf(endpoint.pathSchema, ["path"])
  const decodeQuery = decoderOf(endpoint.urlParamsSchema, ["query"])
  const decodePayload = decoderOf(endpoint.payloadSchema, [])
  const readPayload = Option.getOrUndefined(Option.map(endpoint.payloadSchema, Readable.reader))
  /** The shape's faults and those of the rules. If the storage does not answer, the latter are left out. */
  const refused = (
    reported: Faults,
    rules: Rules<Path, Payload> | undefined,
    body: Raw["body"],
    path: Path | undefined
  ): Either.Either<Effect.Effect<never, EngineError>, Faults> => {
    if (rules === undefined || reported.length >= Fault.maximum || body === null || Either.isLeft(body))
      return Either.left(reported)
    const input = body.right
    const broken = Effect.suspend(() => {
      const payload = readPayload?.(input)
      return payload === undefined ? Effect.succeed([]) : rules({ path, payload })
    })
    // Yields, since finding the faults of thousands of items has used up a turn.
    return Either.right(
      EventLoopBudget.nextTurn.pipe(
        Effect.zipRight(Effect.orElseSucceed(broken, (): Faults => [])),
        Effect.flatMap((found) =>
          Effect.fail(
            new Errors.InvalidRequest({ faults: [...reported, ...Fault.unreported(reported, found)] })
          )
        )
      )
    )
  }
  return <A, E = EngineError>(
    handler: (given: Given<Path, Query, Payload>) => Effect.Effect<A, E | EngineError>,
    owner: string,
    rules?: Rules<Path, Payload>
  ): Prepare<A, E> =>
    (raw): Either.Either<Effect.Effect<A, E | EngineError>, Faults> => {
      const path = decodePath(raw.path)
      const query = decodeQuery(raw.query)
      const payload = Either.flatMap(bodyOf(raw.body), decodePayload)
      if (Either.isLeft(path) || Either.isLeft(query) || Either.isLeft(payload) || raw.faults.length > 0) {
        const reported = [...raw.faults, ...leftOf(path), ...leftOf(query), ...leftOf(payload)]
        return refused(reported, rules, raw.body, Either.isRight(path) ? path.right : undefined)
      }
      const place = () => placeOf(endpoint, owner, path.right, query.right ?? {})
      const given = at(query.right, "cursor")
      const after = typeof given === "string" ? raw.cursors.open(place(), given) : null
      if (after === undefined) return Either.left([notACursor])
      return Either.right(
        handler({
          path: path.right,
          query: query.right,
          payload: payload.right,
          idempotencyKey: raw.idempotencyKey,
          requestId: raw.requestId,
          page: { limit: numberAt(query.right, "limit") ?? Page.defaultLimit, after },
          cursor: (next) => (next === null ? null : raw.cursors.seal(place(), next)),
          prefix: raw.prefix
        })
      )
    }
}

/** The request of a handler whose body the engine checks. */
export interface GivenUnchecked<Query> {
  /** Without what is wrong with it: then the engine refuses the payload. */
  readonly query: Partial<Query>
  readonly payload: Requests.Unchecked
  readonly idempotencyKey: string | undefined
  readonly requestId: string | undefined
  /** An operation that answers no list has no cursor. */
  readonly cursor: (next: number | null) => null
  readonly prefix: string
}

/**
 * For operations whose body the engine checks itself. The faults of the rest of the request are passed on with the
 * payload, so that one refusal lists all.
 */
export const prepareUnchecked = <Query, Payload, Headers>(
  endpoint: Endpoint<never, Query, Payload, Headers>
) => {
  const decodeQuery = decoderOf(endpoint.urlParamsSchema, ["query"])
  return (handler: (given: GivenUnchecked<Query>) => Running): Prepare =>
    (raw) => {
      const query = decodeQuery(raw.query)
      const body = raw.body ?? noBody
      const payload =
        Either.isRight(query) && Either.isRight(body) && raw.faults.length === 0
          ? new Requests.Unchecked(body.right)
          : new Requests.Unchecked(
              Either.getOrElse(body, () => Requests.unreadable),
              [...raw.faults, ...leftOf(query), ...leftOf(body)]
            )
      return Either.right(
        handler({
          query: Either.getOrElse(query, (): Partial<Query> => ({})),
          payload,
          idempotencyKey: raw.idempotencyKey,
          requestId: raw.requestId,
          cursor: () => null,
          prefix: raw.prefix
        })
      )
    }
}
