/**
 * An operation of the contract in one place: its endpoint, its answer, its reference, its handler, and who may call it. A
 * file of this folder has the operations of one aggregate, with their schemas.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import type * as HttpMethod from "@effect/platform/HttpMethod"
import type { Engine } from "@sendwright/core"
import type * as ApiKey from "@sendwright/core/ApiKey"
import type * as Fault from "@sendwright/core/Fault"
import type { Paged } from "@sendwright/core/Page"
import type * as Readable from "@sendwright/core/Readable"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Code, EngineError } from "../http/Problems.ts"
import * as Route from "../http/Route.ts"
import type { Codec } from "./Codec.ts"
import { MaximumValues } from "./MaximumValues.ts"
import { NextCursor, Ok, ok } from "./Wire.ts"

export type EngineService = Context.Tag.Service<Engine.Engine>

type Method = HttpMethod.HttpMethod

type Endpoint<
  Name extends string,
  M extends Method,
  Path,
  Query,
  Payload,
  Headers,
  Success
> = HttpApiEndpoint.HttpApiEndpoint<Name, M, Path, Query, Payload, Headers, Success, never, never, never>

/** The body of an operation's answer, an example of it, and what the engine's answer becomes. */
export interface Answer<S extends Schema.Schema.Any, Found> {
  readonly schema: S
  readonly example: Schema.Schema.Type<S>
  /** @param cursor gives the cursor of a position in the list that is answered */
  readonly of: (found: Found, cursor: Given["cursor"]) => Schema.Schema.Type<S>
  readonly headers?: (found: Found) => Readonly<Record<string, string>>
}

type Given = Route.Given<unknown, unknown, unknown>

/** `{"ok": true}`. */
export const done: Answer<Schema.Struct<{ readonly ok: typeof Ok }>, unknown> = {
  schema: Schema.Struct({ ok: Ok }),
  example: ok,
  of: () => ok
}

/** An answer that has a form of its own. */
export const answer = <S extends Schema.Schema.Any, Found>(
  codec: Codec<S, Found>,
  example: NoInfer<Schema.Schema.Type<S>>
): Answer<S, Found> => ({ ...codec, example })

/** An answer that may be a replay, which its header tells. */
export const replayed = <S extends Schema.Schema.Any, Found>(
  codec: Codec<S, Found>,
  example: NoInfer<Schema.Schema.Type<S>>
): Answer<S, Found & { readonly replayed: boolean }> => ({
  ...codec,
  example,
  headers: ({ replayed }) => (replayed ? { "idempotency-replayed": "true" } : {})
})

/** `{"ok": true, "<name>": …}`. */
export function one<const Name extends string, S extends Schema.Schema.Any, Found>(
  name: Name,
  codec: Codec<S, Found>,
  example: NoInfer<Schema.Schema.Type<S>>
): Answer<Schema.Struct<{ readonly ok: typeof Ok } & { readonly [K in Name]: S }>, Found>
export function one(name: string, { of, schema }: Codec<Schema.Schema.Any, unknown>, example: unknown) {
  return {
    schema: Schema.Struct({ ok: Ok, [name]: schema }),
    example: { ...ok, [name]: example },
    of: (found: unknown) => ({ ...ok, [name]: of(found) })
  }
}

/** `{"ok": true, "<name>": […], "next_cursor": …}`. */
export function pageOf<const Name extends string, S extends Schema.Schema.Any, Found>(
  name: Name,
  codec: Codec<S, Found>,
  example: NoInfer<Schema.Schema.Type<S>>
): Answer<
  Schema.Struct<
    { readonly ok: typeof Ok } & { readonly [K in Name]: Schema.Array$<S> } & {
      readonly next_cursor: typeof NextCursor
    }
  >,
  Paged<Found>
>
export function pageOf(
  name: string,
  { of, schema }: Codec<Schema.Schema.Any, unknown>,
  example: unknown
): Answer<Schema.Schema.Any, Paged<never>> {
  return {
    schema: Schema.Struct({ ok: Ok, [name]: Schema.Array(schema), next_cursor: NextCursor }),
    example: { ...ok, [name]: [example], next_cursor: null },
    of: ({ items, next }, cursor) => ({ ...ok, [name]: items.map(of), next_cursor: cursor(next) })
  }
}

/** What the description tells of an operation besides its schemas. */
interface Told {
  readonly summary: string
  readonly description: string
  /** Of the answer; 200 when absent. */
  readonly status?: number
  /** The codes that it refuses with, without those of everyone with its access (`Description`) and `not_found` of a path. */
  readonly refusals?: ReadonlyArray<Code>
  /** Whether its answer may be a replay. */
  readonly isIdempotent?: boolean
}

/** With an example of the body, where it takes one. */
export type Reference<Payload> = Told &
  (([Payload] extends [never] ? { readonly request?: undefined } : never) | { readonly request: Payload })

/** The command of `sendwright` that does an operation: its words, and its line in the help. */
export interface Command {
  readonly name: string
  readonly description: string
}

export interface Operation<E> {
  readonly endpoint: E
  readonly route: (engine: EngineService) => Route.Route
}

/** An operation of the admin API, which the command line has, too. */
export interface AdminOperation<E> extends Operation<E> {
  readonly command: Command
}

/** The endpoint together with its answer, and what a route has of both. */
const common = <
  Name extends string,
  M extends Method,
  Path,
  Query,
  Payload,
  Headers,
  S extends Schema.Schema.Any
>(
  asked: Endpoint<Name, M, Path, Query, Payload, Headers, void>,
  { example, schema }: Pick<Answer<S, never>, "example" | "schema">,
  {
    description,
    isIdempotent = false,
    refusals = [],
    request,
    status,
    summary
  }: Told & {
    readonly request?: unknown
  }
) => {
  const endpoint = asked.addSuccess(schema, { status }) as Endpoint<
    Name,
    M,
    Path,
    Query,
    Payload,
    Headers,
    Schema.Schema.Type<S>
  >
  const ofPath: ReadonlyArray<Code> = asked.path.includes(":") ? ["not_found"] : []
  return {
    endpoint,
    reference: {
      summary,
      description,
      request,
      isIdempotent,
      answer: example,
      refusals: [...ofPath, ...refusals]
    },
    name: asked.name,
    method: asked.method,
    pattern: asked.path,
    status: HttpApiSchema.getStatusSuccess(endpoint.successSchema),
    acceptsBody: Option.isSome(asked.payloadSchema),
    maximumValues: Context.get(asked.annotations, MaximumValues),
    whileStopping: false,
    refusal: () => ({})
  }
}

/** Runs what the engine does, and answers what it found. */
const replying =
  <G extends Pick<Given, "cursor">, S extends Schema.Schema.Any, Found>(
    { headers, of }: Answer<S, Found>,
    run: (given: G) => Effect.Effect<Found, EngineError>
  ) =>
  (given: G): Effect.Effect<Route.Reply<Schema.Schema.Type<S>>, EngineError> =>
    Effect.map(run(given), (found) => ({
      body: of(found, given.cursor),
      headers: headers?.(found) ?? {}
    }))

type Run<G, Found> = (engine: EngineService, given: G) => Effect.Effect<Found, EngineError>

/** @param options.whileStopping whether it is still served while the service stops */
export const forAnyone = <
  Name extends string,
  M extends Method,
  Path,
  Query,
  Payload,
  Headers,
  S extends Schema.Schema.Any,
  Found
>(
  asked: Endpoint<Name, M, Path, Query, Payload, Headers, void>,
  answer: Answer<S, Found>,
  reference: NoInfer<Reference<Payload>>,
  run: Run<NoInfer<Route.Given<Path, Query, Payload>>, NoInfer<Found>>,
  { whileStopping }: { readonly whileStopping: boolean } = { whileStopping: false }
) => {
  const { endpoint, ...route } = common(asked, answer, reference)
  const prepared = Route.prepare(endpoint)
  return {
    endpoint,
    route: (engine: EngineService): Route.Route => ({
      ...route,
      whileStopping,
      handler: {
        access: "anyone",
        prepare: prepared(
          replying(answer, (given) => run(engine, given)),
          ""
        )
      }
    })
  }
}

/**
 * An operation that reads needs the role `read`, every other one `admin`.
 *
 * @param rules the rules of the engine that a payload breaks, asked when the request is refused for its shape
 */
export const forOperator = <
  Name extends string,
  M extends Method,
  Path,
  Query,
  Payload,
  Headers,
  S extends Schema.Schema.Any,
  Found
>(
  asked: Endpoint<Name, M, Path, Query, Payload, Headers, void>,
  answer: Answer<S, Found>,
  reference: NoInfer<Reference<Payload> & { readonly command: Command }>,
  run: Run<NoInfer<Route.Given<Path, Query, Payload>>, NoInfer<Found>>,
  rules?: (
    engine: EngineService,
    given: { readonly path: NoInfer<Path> | undefined; readonly payload: NoInfer<Readable.Readable<Payload>> }
  ) => Effect.Effect<ReadonlyArray<Fault.Fault>, EngineError> | ReadonlyArray<Fault.Fault>
) => {
  const { endpoint, ...route } = common(asked, answer, reference)
  const prepared = Route.prepare(endpoint)
  return {
    endpoint,
    command: reference.command,
    route: (engine: EngineService): Route.Route => ({
      ...route,
      handler: {
        access: "operator",
        role: endpoint.method === "GET" ? "read" : "admin",
        prepare: prepared(
          replying(answer, (given) => run(engine, given)),
          "",
          (given) => {
            const found = rules?.(engine, given) ?? []
            return Effect.isEffect(found) ? found : Effect.succeed(found)
          }
        )
      }
    })
  }
}

/** @param refusal members that a refusal of this operation carries besides */
export const forKey = <
  Name extends string,
  M extends Method,
  Path,
  Query,
  Payload,
  Headers,
  S extends Schema.Schema.Any,
  Found
>(
  asked: Endpoint<Name, M, Path, Query, Payload, Headers, void>,
  permission: ApiKey.Permission | null,
  answer: Answer<S, Found>,
  reference: NoInfer<Reference<Payload>>,
  run: (
    engine: EngineService,
    caller: Engine.Caller,
    given: NoInfer<Route.Given<Path, Query, Payload>>
  ) => Effect.Effect<NoInfer<Found>, EngineError>,
  refusal: (error: EngineError) => Readonly<Record<string, unknown>> = () => ({})
) => {
  const { endpoint, ...route } = common(asked, answer, reference)
  const prepared = Route.prepare(endpoint)
  return {
    endpoint,
    route: (engine: EngineService): Route.Route => ({
      ...route,
      refusal,
      handler: {
        access: "key",
        permission,
        prepare: (caller) =>
          prepared(
            replying(answer, (given) => run(engine, caller, given)),
            caller.key.publicKey
          )
      }
    })
  }
}

/** For an operation whose body the engine checks itself. */
export const forKeyUnchecked = <
  Name extends string,
  M extends Method,
  Query,
  Payload,
  Headers,
  S extends Schema.Schema.Any,
  Found
>(
  asked: Endpoint<Name, M, never, Query, Payload, Headers, void>,
  permission: ApiKey.Permission,
  answer: Answer<S, Found>,
  reference: NoInfer<Reference<Payload>>,
  run: (
    engine: EngineService,
    caller: Engine.Caller,
    given: Route.GivenUnchecked<NoInfer<Query>>
  ) => Effect.Effect<NoInfer<Found>, EngineError>
) => {
  const { endpoint, ...route } = common(asked, answer, reference)
  const prepared = Route.prepareUnchecked(endpoint)
  return {
    endpoint,
    route: (engine: EngineService): Route.Route => ({
      ...route,
      handler: {
        access: "key",
        permission,
        prepare: (caller) => prepared(replying(answer, (given) => run(engine, caller, given)))
      }
    })
  }
}

/**
 * A hook's answer is `{"ok": true}`, or the text that a handshake asks for.
 *
 * @param reference.proofs what a request proves with, all of them together
 */
export const forPlatform = <
  Name extends string,
  M extends Method,
  Path,
  Query,
  Payload,
  Headers,
  S extends Schema.Schema.Any
>(
  asked: Endpoint<Name, M, Path, Query, Payload, Headers, void>,
  answer: Pick<Answer<S, never>, "example" | "schema">,
  reference: NoInfer<Reference<Payload> & { readonly proofs: ReadonlyArray<Route.Proof> }>,
  run: (engine: EngineService) => Route.HookHandler
) => {
  const { endpoint, ...route } = common(asked, answer, reference)
  return {
    endpoint,
    route: (engine: EngineService): Route.Route => ({
      ...route,
      handler: { access: "hook", proofs: reference.proofs, run: run(engine) }
    })
  }
}
