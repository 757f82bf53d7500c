/**
 * The operations of the admin API as functions: each takes one object, with its members in camelCase and times as `Date`s, and
 * answers so, a list item by item. Types and values both follow from the operation's schemas.
 */
import type { Engine, Instant } from "@sendwright/core"
import { Errors, Fault, RequestDecoder } from "@sendwright/core"
import type { AdminApi, Cursors, Endpoint, Operation, Route } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as AST from "effect/SchemaAST"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Failures from "./Failures.ts"
import type { Running } from "./Running.ts"

// Types -------------------------------------------------------------------------------------------------------------

type Camel<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name

type Primitive = bigint | boolean | null | number | string | undefined

/** A value of the wire with its members in camelCase, and its times as `Date`s. */
export type Shown<A> = A extends Instant.Text
  ? Date
  : A extends Primitive
    ? A
    : A extends ReadonlyArray<infer Item>
      ? ReadonlyArray<Shown<Item>>
      : A extends object
        ? [keyof A] extends [never]
          ? A
          : { readonly [K in keyof A as Camel<K>]: Shown<A[K]> }
        : A

/** A parameter that is there or not is true or false here. */
type Flags<Query> = {
  readonly [K in keyof Query]: [Exclude<Query[K], undefined>] extends ["true"]
    ? boolean | undefined
    : Query[K]
}

type Part<A> = [A] extends [never] ? object : A

type Keyed<H> = [H] extends [never] ? object : { readonly idempotencyKey?: string | undefined }

type Flat<A> = { readonly [K in keyof A]: A[K] }

type Paging = "cursor" | "format" | "limit"

export type All = (typeof AdminApi.operations)[number]
export type Name = All["endpoint"]["name"]
export type Named<N extends Name> = Extract<All, { readonly endpoint: { readonly name: N } }>

/** What an operation takes. */
export type Asked<N extends Name> =
  Named<N>["endpoint"] extends Endpoint.Endpoint<infer _N, infer _M, infer P, infer Q, infer B, infer H>
    ? Flat<Shown<Part<P>> & Shown<Omit<Part<Flags<Q>>, Paging>> & Shown<Part<B>> & Keyed<H>>
    : never

type BodyOf<N extends Name> =
  Named<N> extends Operation.AdminOperation<infer _E, infer _C, infer Body, infer _F> ? Body : never

type Found<N extends Name> =
  Named<N> extends Operation.AdminOperation<infer _E, infer _C, infer _B, infer F> ? F : never

type Items<Body> = Body extends object
  ? { [K in keyof Body]: Body[K] extends ReadonlyArray<infer Item> ? Item : never }[keyof Body]
  : never

type Only<Body> = keyof Body extends infer K ? (IsOne<K> extends true ? Body[K & keyof Body] : Body) : never
type IsOne<K, Keys = K> = K extends unknown ? ([Keys] extends [K] ? true : false) : never

/** What an operation answers: one item of a list, or all of it. */
export type Value<N extends Name> =
  BodyOf<N> extends Stream.Stream<ReadonlyArray<infer Row>, infer _E>
    ? Shown<Row>
    : BodyOf<N> extends { readonly next_cursor: unknown }
      ? Shown<Items<BodyOf<N>>>
      : [Exclude<keyof BodyOf<N>, "ok">] extends [never]
        ? undefined
        : Shown<Only<Omit<BodyOf<N>, "ok">>>

type Paged<Item> = { readonly items: ReadonlyArray<Item>; readonly next: unknown }

/** What the engine found: one item of a list, or all of it. */
export type FoundValue<N extends Name> = ItemFound<Found<N>>
type ItemFound<F> =
  F extends Paged<infer Item> ? Item : F extends { readonly [K in keyof F]: Paged<infer Item> } ? Item : F

export type Answer<N extends Name, V> =
  BodyOf<N> extends Stream.Stream<unknown, infer _E>
    ? AsyncIterable<V>
    : BodyOf<N> extends { readonly next_cursor: unknown }
      ? AsyncIterable<V>
      : Promise<[V] extends [undefined] ? void : V>

// Values ------------------------------------------------------------------------------------------------------------

type Step = (value: unknown) => unknown

const same: Step = (value) => value

const camel = (name: string): string => name.replaceAll(/_(.)/g, (_, first: string) => first.toUpperCase())

const isTime = (ast: AST.AST): boolean =>
  Option.exists(AST.getJSONSchemaAnnotation(ast), (said) => Reflect.get(said, "format") === "date-time")

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** How a value of the schema is shown: made once for each schema. */
const shower = (ast: AST.AST): Step => {
  if (isTime(ast)) return (value) => new Date(String(value))
  switch (ast._tag) {
    case "TypeLiteral": {
      if (ast.propertySignatures.length === 0) return same
      const members = ast.propertySignatures.map(
        ({ name, type }) => [String(name), camel(String(name)), shower(type)] as const
      )
      return (value) => {
        if (!isObject(value)) return value
        const shown: Record<string, unknown> = {}
        for (const [name, as, step] of members) if (Object.hasOwn(value, name)) shown[as] = step(value[name])
        return shown
      }
    }
    case "TupleType": {
      const [item] = ast.rest
      const step = item === undefined ? same : shower(item.type)
      return step === same ? same : (value) => (Array.isArray(value) ? value.map(step) : value)
    }
    case "Union":
      return showerOfOne(ast.types)
    case "Refinement":
      return shower(ast.from)
    default:
      return same
  }
}

/** Of what may be one of several. Objects are told apart by their members. */
const showerOfOne = (types: ReadonlyArray<AST.AST>): Step => {
  const steps = types.map((type) => [type, shower(type)] as const).filter(([, step]) => step !== same)
  const [first, ...others] = steps
  if (first === undefined) return same
  const [, step] = first
  if (others.length === 0) return (value) => (value === null || value === undefined ? value : step(value))
  return (value) => {
    const meant = steps.find(
      ([type]) =>
        isObject(value) &&
        type._tag === "TypeLiteral" &&
        type.propertySignatures.every(({ isOptional, name }) => isOptional || Object.hasOwn(value, name))
    )
    return meant === undefined ? value : meant[1](value)
  }
}

/** A part of an answer with its value of the engine as it is shown here. */
export const shown = <S extends { readonly ast: AST.AST; readonly Type: unknown }, F>({
  of,
  schema
}: {
  readonly schema: S
  readonly of: (found: F, prefix: string) => S["Type"]
}): ((found: F) => Shown<S["Type"]>) => {
  const show = shower(schema.ast)
  return (found) => show(of(found, "")) as Shown<S["Type"]>
}

type Path = ReadonlyArray<string | number>
type Read = (value: unknown, path: Path, faults: Fault.Faults) => unknown

const asIs: Read = (value) => value

const mistyped = (what: string, path: Path, faults: Fault.Faults): undefined => {
  faults.add(
    path,
    "invalid_type",
    `${path.length === 0 ? "What is given" : `\`${path.at(-1)}\``} must be ${what}.`
  )
  return undefined
}

/** How what is given becomes the wire's: what it is beyond its names and times is left to the operation. */
const reader = (ast: AST.AST): Read => {
  if (isTime(ast))
    return (value, path, faults) =>
      value instanceof Date && !Number.isNaN(value.getTime())
        ? value.toISOString()
        : mistyped("a `Date`", path, faults)
  switch (ast._tag) {
    case "TypeLiteral":
      return ast.propertySignatures.length === 0 ? asIs : readerOfMembers(ast.propertySignatures)
    case "TupleType": {
      const [item] = ast.rest
      const read = item === undefined ? asIs : reader(item.type)
      return read === asIs
        ? asIs
        : (value, path, faults) =>
            Array.isArray(value)
              ? Array.from(value, (each, place) => read(each, [...path, place], faults))
              : value
    }
    case "Union":
      return readerOfOne(ast.types)
    case "Refinement":
      return reader(ast.from)
    case "Transformation":
      return AST.isNumberKeyword(AST.typeAST(ast.to)) ? readNumber : reader(ast.from)
    case "Literal":
      return ast.literal === "true" ? readFlag : asIs
    default:
      return asIs
  }
}

/** Of what may be one of several: a time as a date, or as text where a call wrote it already, or an object. */
const readerOfOne = (types: ReadonlyArray<AST.AST>): Read => {
  const reads = types
    .map((type) => ({ isOfTime: isTime(type), read: reader(type) }))
    .filter(({ read }) => read !== asIs)
  const [first, ...others] = reads
  if (first === undefined) return asIs
  return (value, path, faults) => {
    if (value === null || value === undefined || (others.length > 0 && typeof value === "string"))
      return value
    const meant = reads.find(({ isOfTime }) => isOfTime === value instanceof Date) ?? first
    return meant.read(value, path, faults)
  }
}

const readNumber: Read = (value, path, faults) =>
  typeof value === "number" ? String(value) : mistyped("a number", path, faults)

const readFlag: Read = (value, path, faults) => {
  if (typeof value !== "boolean") return mistyped("true or false", path, faults)
  return value ? "true" : undefined
}

/** @param here other names, by those in camelCase */
const readerOfMembers = (
  signatures: ReadonlyArray<AST.PropertySignature>,
  here: ReadonlyMap<string, string> = new Map()
): Read => {
  const members = new Map(
    signatures.map(({ name, type }) => {
      const own = camel(String(name))
      return [here.get(own) ?? own, [String(name), reader(type)] as const]
    })
  )
  return (value, path, faults) => {
    if (!isObject(value)) return mistyped("an object", path, faults)
    const read: Record<string, unknown> = {}
    for (const [name, each] of Object.entries(value)) {
      const member = members.get(name)
      if (member === undefined) {
        const fault = RequestDecoder.unknownField(path, name, [...members.keys()])
        faults.add(fault.path, fault.code, fault.message)
      } else {
        const known = member[1](each, [...path, name], faults)
        if (known !== undefined) read[member[0]] = known
      }
    }
    return read
  }
}

// Functions ---------------------------------------------------------------------------------------------------------

type AnyOperation = Pick<Operation.AdminOperation<Endpoint.Any>, "does" | "endpoint" | "isExport" | "told">

const signaturesOf = (
  schema: Option.Option<{ readonly ast: AST.AST }>
): ReadonlyArray<AST.PropertySignature> =>
  Option.match(schema, {
    onNone: () => [],
    onSome: ({ ast }) => (ast._tag === "TypeLiteral" ? ast.propertySignatures : [])
  })

const ofPaging: ReadonlySet<unknown> = new Set(["cursor", "format", "limit"] satisfies ReadonlyArray<Paging>)

/** So many items are asked for at once. */
const itemsOfPage = "100"

/** What is otherwise than by rule. Whoever writes it is told by types what a view is given. */
export interface Exception {
  /** Names of parameters here, with those of the operation. */
  readonly named?: Readonly<Record<string, string>>
  readonly view?: (shown: never, found: never) => unknown
}

type Parts = Pick<Route.Raw, "body" | "idempotencyKey" | "path" | "query">

/** What is given as a request. It throws with all that the operation does not have. */
const requester = ({ endpoint }: AnyOperation, here: ReadonlyMap<string, string>) => {
  const [paths, queries, headers, bodies] = [
    signaturesOf(endpoint.pathSchema),
    signaturesOf(endpoint.urlParamsSchema).filter(({ name }) => !ofPaging.has(name)),
    signaturesOf(endpoint.headersSchema).map(
      ({ isOptional, isReadonly, type }) =>
        new AST.PropertySignature("idempotency_key", type, isOptional, isReadonly)
    ),
    signaturesOf(endpoint.payloadSchema)
  ]
  const read = readerOfMembers([...paths, ...queries, ...headers, ...bodies], here)
  const [ofPath, ofQuery] = [paths, queries].map((some) => new Set(some.map(({ name }) => String(name))))
  const takesBody = Option.isSome(endpoint.payloadSchema)
  return (given: unknown): Parts => {
    const faults = new Fault.Faults()
    const members = read(given, [], faults)
    if (faults.list.length > 0 || !isObject(members)) throw Failures.invalid(faults.list)
    const { idempotency_key: idempotencyKey, ...others } = members
    const within = (names: ReadonlySet<string> | undefined): Record<string, string> =>
      // What is no text is refused where the operation reads it.
      Object.fromEntries(Object.entries(others).filter(([name]) => names?.has(name))) as Record<
        string,
        string
      >
    const body = Object.entries(others).filter(([name]) => !ofPath?.has(name) && !ofQuery?.has(name))
    return {
      path: within(ofPath),
      query: within(ofQuery),
      body: takesBody ? Either.right(Object.fromEntries(body)) : null,
      idempotencyKey: typeof idempotencyKey === "string" ? idempotencyKey : undefined
    }
  }
}

/** The body of an answer, or what is alone in it. */
const valueOf = (body: unknown): unknown => {
  if (!isObject(body)) return body
  const { ok: _, ...rest } = body
  const [value, ...others] = Object.values(rest)
  return others.length > 0 ? rest : value
}

export type Call = (given?: unknown) => unknown

type Show = (shown: unknown, found: unknown) => unknown

type Did = Operation.Done<unknown, unknown>

/** The items of a page, each with its value of the engine. */
const itemsOf = (show: Step, view: Show, { body, found }: Did): ReadonlyArray<unknown> => {
  const shown = show(body)
  const items = isObject(shown) ? Object.values(shown).find(Array.isArray) : undefined
  const pages = isObject(found) ? [found, ...Object.values(found)] : []
  const sources = pages.flatMap((page) =>
    isObject(page) && Array.isArray(page["items"]) ? [page["items"]] : []
  )[0]
  return (items ?? []).map((item: unknown, place: number) => view(item, sources?.[place]))
}

/** The members of the answer, of one form or of several. */
const membersOf = (ast: AST.AST): object =>
  ast._tag === "Union"
    ? Object.assign({}, ...ast.types.map(membersOf))
    : ast._tag === "TypeLiteral"
      ? Object.fromEntries(ast.propertySignatures.map(({ name }) => [name, true]))
      : {}

type Rows = Stream.Stream<ReadonlyArray<unknown>, unknown>

/** The rows of an export, page by page, until nobody asks for more. */
async function* rowsOf(
  run: Running["run"],
  asked: Effect.Effect<Did, unknown>,
  show: Step
): AsyncGenerator<unknown, void> {
  const scope = await run(Scope.make())
  try {
    const { body } = await run(asked)
    const next = await run(Scope.extend(Stream.toPull(body as Rows), scope))
    // The list fails with nothing at its end.
    const pages = Effect.catchAll(next, (error) =>
      Option.isNone(error) ? Effect.succeed(null) : Effect.fail(error.value)
    )
    for (let some = await run(pages); some !== null; some = await run(pages))
      for (const page of some) yield* page.map(show)
  } finally {
    await run(Scope.close(scope, Exit.void))
  }
}

/** An operation as a function of what callers give. */
export const functionOf = (
  operation: AnyOperation,
  engine: Engine.Engine["Type"],
  { run }: Running,
  cursors: Cursors.Cursors,
  { named = {}, view: viewed = (shown) => shown }: Exception
): Call => {
  const here = new Map(Object.entries(named).map(([name, there]) => [there, name]))
  // The types of an operation and of its view are told by its name: there they are compared.
  const view = viewed as Show
  const request = requester(operation, here)
  const does = operation.does(engine)
  const show = shower(operation.told.ast)
  const isList = signaturesOf(operation.endpoint.urlParamsSchema).some(({ name }) => name === "cursor")
  const failed = Failures.inNames(here)
  const ask = (
    given: unknown,
    paging: Readonly<Record<string, string>> = {}
  ): Effect.Effect<Did, unknown> => {
    const { query, ...parts } = request(given)
    const raw = {
      ...parts,
      query: { ...query, ...paging },
      cursors,
      prefix: "",
      requestId: undefined,
      faults: []
    }
    const doing = does(raw)
    if (Either.isLeft(doing)) throw failed(new Errors.InvalidRequest({ faults: doing.left }))
    return Effect.mapError(doing.right, failed)
  }
  if (operation.isExport) return (given: unknown = {}) => rowsOf(run, ask(given), show)
  if (operation.endpoint.method === "GET" && isList && "next_cursor" in membersOf(operation.told.ast))
    return (given: unknown = {}) => {
      const first = ask(given, { limit: itemsOfPage })
      const items = async function* () {
        for (let page = first; ; ) {
          const did = await run(page)
          yield* itemsOf(show, view, did)
          const cursor: unknown = isObject(did.body) ? did.body["next_cursor"] : null
          if (typeof cursor !== "string") return
          page = ask(given, { limit: itemsOfPage, cursor })
        }
      }
      return items()
    }
  return async (given: unknown = {}) => {
    const { body, found } = await run(ask(given))
    return view(valueOf(show(body)), found)
  }
}
