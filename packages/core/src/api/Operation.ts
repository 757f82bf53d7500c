/**
 * An operation of the contract in one place: its endpoint, its answer, its reference, its handler, and who may call it. A
 * file of this folder has the operations of one aggregate, with their schemas.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Readable } from "../adapter.ts"
import * as Either from "../effect/Either.ts"
import type { ApiKey, Engine, Fault, Page } from "../index.ts"
import type { Codec } from "./Codec.ts"
import type * as Endpoints from "./Endpoint.ts"
import type { Method } from "./Endpoint.ts"
import * as Lines from "./Lines.ts"
import * as Masking from "./Masking.ts"
import type { Code, EngineError } from "./Problems.ts"
import * as Route from "./Route.ts"
import { NextCursor, Ok, ok } from "./Wire.ts"

export type EngineService = Context.Tag.Service<Engine.Engine>

type AnySchema = Schema.Schema.Any

/**
 * The type parameters of operations: name and method of the endpoint, its path, query, body and headers, then the schema of
 * the answer and what the engine found.
 */
type Endpoint<N extends string, M extends Method, P, Q, B, H> = Endpoints.Endpoint<N, M, P, Q, B, H>

/** The body of an operation's answer, an example of it, and what the engine's answer becomes. */
export interface Answer<S extends AnySchema, Found> {
  readonly schema: S
  readonly example: Schema.Schema.Type<S>
  readonly of: (found: Found, place: Place) => Schema.Schema.Type<S>
  readonly headers?: (found: Found) => Readonly<Record<string, string>>
  readonly page?: Route.TextForm
  /** `application/json` when absent. */
  readonly mediaType?: string
}

type Given = Route.Given<unknown, unknown, unknown>

/** The prefix of the API's paths, and what gives the cursor of a position in the list that is answered. */
type Place = Pick<Given, "cursor" | "prefix">

/** `{"ok": true}`. */
export const done: Answer<Schema.Struct<{ readonly ok: typeof Ok }>, unknown> = {
  schema: Schema.Struct({ ok: Ok }),
  example: ok,
  of: () => ok
}

/** An answer that has a form of its own. */
export const answer = <S extends AnySchema, Found>(
  { of, schema }: Codec<S, Found>,
  example: NoInfer<Schema.Schema.Type<S>>
): Answer<S, Found> => ({ schema, example, of: (found, { prefix }) => of(found, prefix) })

/** An answer that may be a replay, which its header tells. */
export const replayed = <S extends AnySchema, Found>(
  codec: Codec<S, Found>,
  example: NoInfer<Schema.Schema.Type<S>>
): Answer<S, Found & { readonly replayed: boolean }> => ({
  ...answer(codec, example),
  headers: ({ replayed }) => (replayed ? { "idempotency-replayed": "true" } : {})
})

/**
 * `{"ok": true, "<name>": …}`.
 *
 * @param identifier the name of the whole in the description
 */
export function one<const Name extends string, S extends AnySchema, Found>(
  name: Name,
  codec: Codec<S, Found>,
  example: NoInfer<Schema.Schema.Type<S>>,
  identifier?: string
): Answer<Schema.Struct<{ readonly ok: typeof Ok } & { readonly [K in Name]: S }>, Found>
export function one(
  name: string,
  { of, schema }: Codec<AnySchema, unknown>,
  example: unknown,
  identifier?: string
) {
  return {
    schema: Schema.Struct({ ok: Ok, [name]: schema }).annotations(
      identifier === undefined ? {} : { identifier }
    ),
    example: { ...ok, [name]: example },
    of: (found: unknown, { prefix }: Place) => ({ ...ok, [name]: of(found, prefix) })
  }
}

/** `{"ok": true, "<name>": […], "next_cursor": …}`. */
export function pageOf<const Name extends string, S extends AnySchema, Found>(
  name: Name,
  codec: Codec<S, Found>,
  example: NoInfer<Schema.Schema.Type<S>>
): Answer<
  Schema.Struct<
    { readonly ok: typeof Ok } & { readonly [K in Name]: Schema.Array$<S> } & {
      readonly next_cursor: typeof NextCursor
    }
  >,
  Page.Paged<Found>
>
export function pageOf(
  name: string,
  { of, schema }: Codec<AnySchema, unknown>,
  example: unknown
): Answer<AnySchema, Page.Paged<never>> {
  return {
    schema: Schema.Struct({ ok: Ok, [name]: Schema.Array(schema), next_cursor: NextCursor }),
    example: { ...ok, [name]: [example], next_cursor: null },
    of: ({ items, next }, { cursor, prefix }) => ({
      ...ok,
      [name]: items.map((item) => of(item, prefix)),
      next_cursor: cursor(next)
    })
  }
}

/** The prose of an operation, which the description has beside the operation's schemas. */
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

/** Columns by the paths of their values, some under names of their own. `count` of a list is its length, `last` its last item. */
export type Columns = ReadonlyArray<string | readonly [name: string, path: string]>

/** The command of `sendwright` that does an operation: its words, and its line in the help. */
export interface Command<Name extends string = string> {
  readonly name: Name
  readonly description: string
  /** How the process ends, where its code says more than whether it was done. A tool ends nothing. */
  readonly ends?: string
  /** The first columns of its table, where the rule for all tables would not show what is asked for. */
  readonly columns?: Columns
}

export interface Operation<E> {
  readonly endpoint: E
  /** As the description tells it. */
  readonly answer: {
    readonly schema: AnySchema
    readonly status: number
    readonly mediaType: string | undefined
    /** Of an answer without a body, beside it. */
    readonly emptyStatus: number | undefined
  }
  readonly page: Route.TextForm | undefined
  readonly route: (engine: EngineService) => Route.Route
}

/** The rows of an export, page by page. */
type Rows<Row> = Stream.Stream<ReadonlyArray<Row>, EngineError>

/**
 * The result of an operation: the body of the answer, and the value that the engine found; for an export, the rows and their
 * form.
 */
export interface Done<Body, Found> {
  readonly body: Body
  readonly found: Found
}

/** An operation of the admin API, which the command line and the promises have, too. */
export interface AdminOperation<E, Name extends string = string, Body = unknown, Found = unknown>
  extends Operation<E> {
  readonly command: Command<Name>
  /** Of the body, or of a row. */
  readonly told: AnySchema
  /** Does it in this process, for whoever wants values. */
  readonly does: (engine: EngineService) => Route.Prepare<Done<Body, Found>>
  /** True when its answer is an export, as long as it is. */
  readonly isExport: boolean
}

/** An operation of an API key, which a session of the promises has, too. */
export interface KeyOperation<E, Body = unknown, Found = unknown> extends Operation<E> {
  readonly told: AnySchema
  /** Does it in this process for a caller. */
  readonly does: (engine: EngineService, caller: Engine.Caller) => Route.Prepare<Done<Body, Found>>
}

/** An operation of an endpoint, with a handler for an engine. */
const operation = <N extends string, M extends Method, P, Q, B, H, S extends AnySchema>(
  asked: Endpoint<N, M, P, Q, B, H>,
  { example, mediaType, page, schema }: Pick<Answer<S, never>, "example" | "mediaType" | "page" | "schema">,
  {
    description,
    emptyStatus,
    isIdempotent = false,
    otherAnswers = {},
    refusals = [],
    request,
    status = 200,
    summary
  }: Told & {
    readonly request?: unknown
    readonly otherAnswers?: Readonly<Record<string, string>>
    readonly emptyStatus?: number
  },
  handler: (engine: EngineService) => Route.Route["handler"],
  besides: Partial<Pick<Route.Route, "refusal" | "whileStopping">> = {}
) => {
  const ofPath: ReadonlyArray<Code> = asked.path.includes(":") ? ["not_found"] : []
  const route = {
    reference: {
      summary,
      description,
      request,
      isIdempotent,
      answer: example,
      otherAnswers: page === undefined ? otherAnswers : { ...otherAnswers, [page.type]: page.make(example) },
      refusals: [...ofPath, ...refusals]
    },
    name: asked.name,
    method: asked.method,
    pattern: asked.path,
    status,
    acceptsBody: Option.isSome(asked.payloadSchema),
    maximumValues: asked.maximumValues,
    whileStopping: false,
    page,
    refusal: () => ({}),
    ...besides
  }
  return {
    endpoint: asked,
    answer: { schema, status, mediaType, emptyStatus },
    page,
    route: (engine: EngineService): Route.Route => ({ ...route, handler: handler(engine) })
  }
}

const doneOf = <S extends AnySchema, F>({ of }: Answer<S, F>, found: F, place: Place) => ({
  body: of(found, place),
  found
})

const replyOf =
  <S extends AnySchema, F>({ headers }: Answer<S, F>) =>
  ({ body, found }: Done<Schema.Schema.Type<S>, F>): Route.Reply => ({
    body,
    headers: headers?.(found) ?? {}
  })

/** Runs what the engine does, and answers what it found. */
const replying =
  <G extends Place, S extends AnySchema, F>(
    answer: Answer<S, F>,
    run: (given: G) => Effect.Effect<F, EngineError>
  ) =>
  (given: G): Effect.Effect<Route.Reply, EngineError> =>
    Effect.map(run(given), (found) => replyOf(answer)(doneOf(answer, found, given)))

const masked =
  <G>(mask: Masking.Mask, handler: (given: G) => Effect.Effect<Route.Reply, EngineError>) =>
  (given: G): Effect.Effect<Route.Reply, EngineError> =>
    Masking.reply(mask, handler(given))

type Run<G, F> = (engine: EngineService, given: G) => Effect.Effect<F, EngineError>

type RunOfKey<G, F> = (
  engine: EngineService,
  caller: Engine.Caller,
  given: G
) => Effect.Effect<F, EngineError>

/** @param besides.whileStopping whether it is still served while the service stops */
export const forAnyone = <N extends string, M extends Method, P, Q, B, H, S extends AnySchema, F>(
  asked: Endpoint<N, M, P, Q, B, H>,
  answer: Answer<S, F>,
  reference: NoInfer<Reference<B>>,
  run: Run<NoInfer<Route.Given<P, Q, B>>, NoInfer<F>>,
  besides?: Pick<Route.Route, "whileStopping">
) => {
  const prepared = Route.prepare(asked)
  const handler = (engine: EngineService) => ({
    access: "anyone" as const,
    prepare: prepared(
      replying(answer, (given) => run(engine, given)),
      ""
    )
  })
  return operation(asked, answer, reference, handler, besides)
}

/**
 * An operation that reads needs the role `read`, every other one `admin` unless its reference says `support`.
 *
 * @param rules the rules of the engine that a payload breaks, asked when the request is refused for its shape
 */
export const forOperator = <
  N extends string,
  M extends Method,
  P,
  Q,
  B,
  H,
  S extends AnySchema,
  F,
  const C extends string
>(
  asked: Endpoint<N, M, P, Q, B, H>,
  answer: Answer<S, F>,
  reference: NoInfer<Reference<B> & { readonly role?: "support" }> & { readonly command: Command<C> },
  run: Run<NoInfer<Route.Given<P, Q, B>>, NoInfer<F>>,
  rules?: (
    engine: EngineService,
    given: { readonly path: NoInfer<P> | undefined; readonly payload: NoInfer<Readable.Readable<B>> }
  ) => Effect.Effect<ReadonlyArray<Fault.Fault>, EngineError> | ReadonlyArray<Fault.Fault>
): AdminOperation<Endpoint<N, M, P, Q, B, H>, C, Schema.Schema.Type<S>, F> => {
  const prepared = Route.prepare(asked)
  const mask = Masking.maskOf(answer.schema)
  const does = (engine: EngineService): Route.Prepare<Done<Schema.Schema.Type<S>, F>> =>
    prepared(
      (given) => Effect.map(run(engine, given), (found) => doneOf(answer, found, given)),
      "",
      rules &&
        ((given) => {
          const found = rules(engine, given)
          return Effect.isEffect(found) ? found : Effect.succeed(found)
        })
    )
  const handler = (engine: EngineService) => {
    const done = does(engine)
    const replied = (doing: Effect.Effect<Done<Schema.Schema.Type<S>, F>, EngineError>) =>
      Masking.reply(mask, Effect.map(doing, replyOf(answer)))
    return {
      access: "operator" as const,
      role: reference.role ?? (asked.method === "GET" ? ("read" as const) : ("admin" as const)),
      prepare: (raw: Route.Raw) => Either.map(done(raw), replied)
    }
  }
  return {
    ...operation(asked, answer, reference, handler),
    command: reference.command,
    told: answer.schema,
    does,
    isExport: false
  }
}

/**
 * An export, of rows of one form: an operation that reads, whose answer is as long as it is.
 *
 * @param example a row
 */
export const exportForOperator = <
  N extends string,
  Q extends { readonly format?: Lines.Format | undefined },
  F extends Schema.Struct.Fields,
  Found,
  const C extends string
>(
  asked: Endpoint<N, "GET", never, Q, never, never>,
  { of, schema }: Codec<Schema.Struct<F>, Found>,
  example: NoInfer<Schema.Schema.Type<Schema.Struct<F>>>,
  reference: NoInfer<Told> & { readonly command: Command<C> },
  run: Run<NoInfer<Route.Given<never, Q, never>>, Stream.Stream<ReadonlyArray<Found>, EngineError>>
): AdminOperation<
  Endpoint<N, "GET", never, Q, never, never>,
  C,
  Rows<Schema.Schema.Type<Schema.Struct<F>>>,
  Lines.Format
> => {
  const columns = Object.keys(schema.fields)
  const mask = Masking.ofRow(schema)
  const prepared = Route.prepare(asked)
  const does = (
    engine: EngineService
  ): Route.Prepare<Done<Rows<Schema.Schema.Type<Schema.Struct<F>>>, Lines.Format>> =>
    prepared(
      (given) =>
        Effect.map(run(engine, given), (pages) => ({
          body: Stream.map(pages, (page) => page.map((found) => of(found, given.prefix))),
          found: given.query.format ?? "ndjson"
        })),
      ""
    )
  const handler = (engine: EngineService) => {
    const done = does(engine)
    const written = (
      doing: Effect.Effect<Done<Rows<Schema.Schema.Type<Schema.Struct<F>>>, Lines.Format>, EngineError>
    ) =>
      Effect.zipWith(doing, Masking.MaskedPhones, ({ body, found: format }, hide) => {
        const rows = hide === null ? body : Stream.map(body, (page) => page.map((row) => mask(row, hide)))
        const content = { type: Lines.contentTypes[format], lines: Lines.linesOf(rows, format, columns) }
        return { body: null, headers: {}, content }
      })
    return {
      access: "operator" as const,
      role: "read" as const,
      prepare: (raw: Route.Raw) => Either.map(done(raw), written)
    }
  }
  const { csv, ndjson } = Lines.example(example)
  const answer = { schema: Schema.String, mediaType: "application/x-ndjson", example: ndjson }
  const otherAnswers = { "text/csv": csv }
  return {
    ...operation(asked, answer, { ...reference, otherAnswers }, handler),
    command: reference.command,
    told: schema,
    does,
    isExport: true
  }
}

/** Messages that ask operations which read, for operators; one that wants no answer has 202 and null. */
export const messageForOperator = <N extends string, B, S extends AnySchema, Found>(
  asked: Endpoint<N, "POST", never, never, B, never>,
  answer: Answer<S, Found>,
  reference: NoInfer<Reference<B>>,
  run: (engine: EngineService) => (message: B, raw: Route.Raw) => Effect.Effect<Found | null, EngineError>
) => {
  const prepared = Route.prepare(asked)
  const mask = Masking.maskOf(answer.schema)
  const handler = (engine: EngineService) => {
    const answering = run(engine)
    const prepare: Route.Prepare = (raw) =>
      prepared(
        masked(mask, (given) =>
          Effect.map(answering(given.payload, raw), (found) => ({
            body: found === null ? undefined : answer.of(found, given),
            headers: {}
          }))
        ),
        ""
      )(raw)
    return { access: "operator" as const, role: "read" as const, ownOrigin: true as const, prepare }
  }
  return operation(asked, answer, { ...reference, emptyStatus: 202 }, handler)
}

/** An operation that signs an operator in or out, of no command: only a browser has what it gives. */
export const forBrowser = <N extends string, B, S extends AnySchema, F>(
  asked: Endpoint<N, "POST", never, never, B, never>,
  answer: Answer<S, F>,
  reference: NoInfer<Reference<B>>,
  run: <E extends { readonly _tag: string }>(
    browser: Route.Browser<E>,
    given: Route.Given<never, never, B>
  ) => Effect.Effect<Route.Signed<NoInfer<F>>, E>
) => {
  const prepared = Route.prepare(asked)
  return operation(asked, answer, reference, () => ({
    access: "browser",
    prepare: (browser) =>
      prepared(
        (given) =>
          Effect.map(run(browser, given), ({ found, headers }) => ({
            body: answer.of(found, given),
            headers
          })),
        ""
      )
  }))
}

/** An operator's read over HTTP alone: no command has it. */
export const readForOperator = <N extends string, S extends AnySchema, F>(
  asked: Endpoint<N, "GET", never, never, never, never>,
  answer: Answer<S, F>,
  reference: NoInfer<Reference<never>>,
  run: Run<Route.Given<never, never, never>, NoInfer<F>>
) => {
  const prepared = Route.prepare(asked)
  return operation(asked, answer, reference, (engine) => ({
    access: "operator",
    role: "read",
    prepare: prepared(
      replying(answer, (given) => run(engine, given)),
      ""
    )
  }))
}

/** @param refusal members that a refusal of this operation carries besides */
export const forKey = <N extends string, M extends Method, P, Q, B, H, S extends AnySchema, F>(
  asked: Endpoint<N, M, P, Q, B, H>,
  permission: ApiKey.Permission | null,
  answer: Answer<S, F>,
  reference: NoInfer<Reference<B>>,
  run: RunOfKey<NoInfer<Route.Given<P, Q, B>>, NoInfer<F>>,
  besides?: Pick<Route.Route, "refusal">
): KeyOperation<Endpoint<N, M, P, Q, B, H>, Schema.Schema.Type<S>, F> => {
  const prepared = Route.prepare(asked)
  const does = (engine: EngineService, caller: Engine.Caller) =>
    prepared(
      (given) => Effect.map(run(engine, caller, given), (found) => doneOf(answer, found, given)),
      caller.key.publicKey
    )
  const handler = (engine: EngineService) => ({
    access: "key" as const,
    permission,
    prepare: (caller: Engine.Caller) => {
      const done = does(engine, caller)
      return (raw: Route.Raw) => Either.map(done(raw), Effect.map(replyOf(answer)))
    }
  })
  return { ...operation(asked, answer, reference, handler, besides), told: answer.schema, does }
}

/** For an operation whose body the engine checks itself. */
export const forKeyUnchecked = <N extends string, M extends Method, Q, B, H, S extends AnySchema, F>(
  asked: Endpoint<N, M, never, Q, B, H>,
  permission: ApiKey.Permission,
  answer: Answer<S, F>,
  reference: NoInfer<Reference<B>>,
  run: RunOfKey<Route.GivenUnchecked<NoInfer<Q>>, NoInfer<F>>
) => {
  const prepared = Route.prepareUnchecked(asked)
  return operation(asked, answer, reference, (engine) => ({
    access: "key",
    permission,
    prepare: (caller) => prepared(replying(answer, (given) => run(engine, caller, given)))
  }))
}

/**
 * A hook's answer is `{"ok": true}`, or the text that a handshake asks for.
 *
 * @param reference.proofs what a request proves with, all of them together
 */
export const forPlatform = <N extends string, M extends Method, P, Q, B, H, S extends AnySchema>(
  asked: Endpoint<N, M, P, Q, B, H>,
  answer: Pick<Answer<S, never>, "example" | "mediaType" | "schema">,
  reference: NoInfer<Reference<B> & { readonly proofs: ReadonlyArray<Route.Proof> }>,
  run: (engine: EngineService) => Route.HookHandler
) =>
  operation(asked, answer, reference, (engine) => ({
    access: "hook",
    proofs: reference.proofs,
    run: run(engine)
  }))
