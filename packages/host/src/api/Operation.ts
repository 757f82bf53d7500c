/**
 * An operation of the contract in one place: its endpoint, its reference, its handler, and who may call it. A file of
 * this folder has the operations of one aggregate, with their schemas and their codec.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import type * as HttpMethod from "@effect/platform/HttpMethod"
import type { Engine } from "@sendwright/core"
import type * as ApiKey from "@sendwright/core/ApiKey"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Code, EngineError } from "../http/Problems.ts"
import * as Route from "../http/Route.ts"
import { MaximumValues } from "./MaximumValues.ts"

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

/** What the description tells of an operation besides its schemas. The examples are of the endpoint's types. */
export type Reference<Payload, Success> = {
  readonly summary: string
  readonly description: string
  /** An example of the answer. */
  readonly answer: Success
  /** The codes that it refuses with, without those of everyone with its access: `Description` knows these. */
  readonly refusals?: ReadonlyArray<Code>
  /** Whether its answer may be a replay. */
  readonly isIdempotent?: boolean
} & (
  | ([Payload] extends [never] ? { readonly request?: undefined } : never)
  /** An example of the body. */
  | { readonly request: Payload }
)

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

const common = <Name extends string, M extends Method, Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Name, M, Path, Query, Payload, Headers, Success>,
  reference: NoInfer<Reference<Payload, Success>>
) => ({
  name: endpoint.name,
  reference: { refusals: [], ...reference },
  method: endpoint.method,
  pattern: endpoint.path,
  status: HttpApiSchema.getStatusSuccess(endpoint.successSchema),
  acceptsBody: Option.isSome(endpoint.payloadSchema),
  maximumValues: Context.get(endpoint.annotations, MaximumValues),
  whileStopping: false,
  refusal: () => ({})
})

/** @param options.whileStopping whether it is still served while the service stops */
export const forAnyone = <Name extends string, M extends Method, Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Name, M, Path, Query, Payload, Headers, Success>,
  reference: NoInfer<Reference<Payload, Success>>,
  handler: (engine: EngineService) => NoInfer<Route.Handler<Path, Query, Payload, Success>>,
  { whileStopping }: { readonly whileStopping: boolean } = { whileStopping: false }
): Operation<typeof endpoint> => ({
  endpoint,
  route: (engine) => ({
    ...common(endpoint, reference),
    whileStopping,
    handler: { access: "anyone", prepare: Route.prepare(endpoint)(handler(engine), "") }
  })
})

/**
 * An operation that reads needs the role `read`, every other one `admin`.
 *
 * @param rules the rules of the engine that a payload breaks, asked when the request is refused for its shape
 */
export const forOperator = <Name extends string, M extends Method, Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Name, M, Path, Query, Payload, Headers, Success>,
  reference: NoInfer<Reference<Payload, Success> & { readonly command: Command }>,
  handler: (engine: EngineService) => NoInfer<Route.Handler<Path, Query, Payload, Success>>,
  rules?: (engine: EngineService) => NoInfer<Route.Rules<Path, Payload>>
): AdminOperation<typeof endpoint> => ({
  endpoint,
  command: reference.command,
  route: (engine) => ({
    ...common(endpoint, reference),
    handler: {
      access: "operator",
      role: endpoint.method === "GET" ? "read" : "admin",
      prepare: Route.prepare(endpoint)(handler(engine), "", rules?.(engine))
    }
  })
})

/** @param refusal members that a refusal of this operation carries besides */
export const forKey = <Name extends string, M extends Method, Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Name, M, Path, Query, Payload, Headers, Success>,
  permission: ApiKey.Permission | null,
  reference: NoInfer<Reference<Payload, Success>>,
  handler: (
    engine: EngineService
  ) => (caller: Engine.Caller) => NoInfer<Route.Handler<Path, Query, Payload, Success>>,
  refusal: (error: EngineError) => Readonly<Record<string, unknown>> = () => ({})
): Operation<typeof endpoint> => ({
  endpoint,
  route: (engine) => {
    const prepared = Route.prepare(endpoint)
    const handlerOf = handler(engine)
    return {
      ...common(endpoint, reference),
      refusal,
      handler: {
        access: "key",
        permission,
        prepare: (caller) => prepared(handlerOf(caller), caller.key.publicKey)
      }
    }
  }
})

/** For an operation whose body the engine checks itself. */
export const forKeyUnchecked = <Name extends string, M extends Method, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Name, M, never, Query, Payload, Headers, Success>,
  permission: ApiKey.Permission,
  reference: NoInfer<Reference<Payload, Success>>,
  handler: (
    engine: EngineService
  ) => (
    caller: Engine.Caller
  ) => (
    given: Route.GivenUnchecked<NoInfer<Query>>
  ) => Effect.Effect<Route.Reply<NoInfer<Success>>, EngineError>
): Operation<typeof endpoint> => ({
  endpoint,
  route: (engine) => {
    const prepared = Route.prepareUnchecked(endpoint)
    const handlerOf = handler(engine)
    return {
      ...common(endpoint, reference),
      handler: { access: "key", permission, prepare: (caller) => prepared(handlerOf(caller)) }
    }
  }
})

/**
 * A hook's answer is `{"ok": true}`, or the text that a handshake asks for.
 *
 * @param reference.proofs what a request proves with, all of them together
 */
export const forPlatform = <Name extends string, M extends Method, Path, Query, Payload, Headers, Success>(
  endpoint: Endpoint<Name, M, Path, Query, Payload, Headers, Success>,
  reference: NoInfer<Reference<Payload, Success> & { readonly proofs: ReadonlyArray<Route.Proof> }>,
  run: (engine: EngineService) => Route.HookHandler
): Operation<typeof endpoint> => ({
  endpoint,
  route: (engine) => ({
    ...common(endpoint, reference),
    handler: { access: "hook", proofs: reference.proofs, run: run(engine) }
  })
})
