/**
 * Operations of the REST API as functions: each takes one object, with its members in camelCase and times as `Date`s, and
 * answers so, a list item by item. Types and values both follow from the operation's schemas.
 */
import type { Instant } from "@sendwright/core"
import { Errors, Fault, RequestDecoder } from "@sendwright/core"
import type {
  AdminApi,
  Cursors,
  Endpoint,
  Jobs,
  Messages,
  Operation,
  Route,
  Search,
  Templates,
  Timelines
} from "@sendwright/core/contract"
import { Wire } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Issue } from "../api/SendwrightError.ts"
import * as Failures from "./Failures.ts"
import type { Running } from "./Running.ts"
import type { Within } from "./Stores.ts"

// Types -------------------------------------------------------------------------------------------------------------

type Camel<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name

type Primitive = bigint | boolean | null | number | string | undefined

type Links = typeof Wire.Links.Type

/** Members by which only callers over HTTP go on are left out. */
type OfHttp<K, A> = K extends "next_cursor"
  ? true
  : K extends "links"
    ? A extends Links
      ? true
      : false
    : false
const isOfHttp = ({ name, type }: AST.PropertySignature): boolean =>
  name === "next_cursor" || type === Wire.Links.ast

/** A value of the wire with its members in camelCase, and its times as `Date`s. */
export type Shown<A> = A extends Instant.Text
  ? Date
  : A extends typeof Wire.Fault.schema.Type
    ? Issue
    : A extends Primitive
      ? A
      : A extends ReadonlyArray<infer Item>
        ? ReadonlyArray<Shown<Item>>
        : A extends object
          ? [keyof A] extends [never]
            ? A
            : { readonly [K in keyof A as OfHttp<K, A[K]> extends true ? never : Camel<K>]: Member<K, A[K]> }
          : A

/** The end of a member's name tells that the member is a time, also where the engine reads it. */
type Member<K, A> = K extends `${string}_at` ? (A extends string ? Date : Shown<A>) : Shown<A>

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

type OfOperators = (typeof AdminApi.operations)[number]
type OfKeys =
  | (typeof Jobs.versioned)[number]
  | (typeof Messages.direct)[number]
  | (typeof Search.versioned)[number]
  | (typeof Templates.versioned)[number]
  | (typeof Timelines.versioned)[number]

export type AdminName = OfOperators["endpoint"]["name"]
type Name = (OfKeys | OfOperators)["endpoint"]["name"]
export type Named<N extends Name> = Extract<OfKeys | OfOperators, { readonly endpoint: { readonly name: N } }>

/** The input of an operation. */
type Asked<N extends Name> =
  Named<N>["endpoint"] extends Endpoint.Endpoint<infer _N, infer _M, infer P, infer Q, infer B, infer H>
    ? Flat<Shown<Part<P>> & Shown<Omit<Part<Flags<Q>>, Paging>> & Shown<Part<B>> & Keyed<H>>
    : never

/** The operations that name an account or a session by `id` in their path, and are of something else. */
const owners = {
  accountId: [
    "consents",
    "createSession",
    "createWebhook",
    "moveConsents",
    "overlap",
    "perhapsRefusals",
    "recordConsents",
    "sessions",
    "unattributed",
    "webhooks"
  ],
  sessionId: ["allTemplates", "importTemplates", "issueKey", "keys", "syncTemplates"]
} as const satisfies Readonly<Record<string, ReadonlyArray<AdminName>>>

type Owner = keyof typeof owners

type IdOf<N extends Name> = {
  [Own in Owner]: N extends (typeof owners)[Own][number] ? Own : never
}[Owner] extends infer Own
  ? [Own] extends [never]
    ? "id"
    : Own & string
  : never

export type Input<N extends Name> = {
  readonly [K in keyof Asked<N> as K extends "id" ? IdOf<N> : K]: Asked<N>[K]
}

type Given<N extends Name> = [keyof Input<N>] extends [never]
  ? []
  : object extends Input<N>
    ? [input?: Input<N>]
    : [input: Input<N>]

type BodyOf<N extends Name> =
  Named<N> extends {
    readonly does: (...given: never) => Route.Prepare<Operation.Done<infer Body, infer _F>>
  }
    ? Body
    : never

type Items<Body> = Body extends object
  ? { [K in keyof Body]: Body[K] extends ReadonlyArray<infer Item> ? Item : never }[keyof Body]
  : never

type Only<Body> = keyof Body extends infer K
  ? IsOne<K> extends true
    ? Body[K & keyof Body]
    : WithSecret<Body>
  : never
type IsOne<K, Keys = K> = K extends unknown ? ([Keys] extends [K] ? true : false) : never

/** A thing with its secret, which is a text beside it, is one object. */
type WithSecret<Body> =
  NotText<Body> extends infer K extends keyof Body
    ? IsOne<K> extends true
      ? Body[K] extends ReadonlyArray<unknown> | null
        ? Body
        : Flat<Body[K] & Omit<Body, K>>
      : Body
    : Body
type NotText<Body> = { [K in keyof Body]: Body[K] extends string ? never : K }[keyof Body]

/** The answer of an operation: one item of a list, or all of it. */
type Value<N extends Name> =
  BodyOf<N> extends Stream.Stream<ReadonlyArray<infer Row>, infer _E>
    ? Shown<Row>
    : BodyOf<N> extends { readonly next_cursor: unknown }
      ? Shown<Items<BodyOf<N>>>
      : [Exclude<keyof BodyOf<N>, "ok">] extends [never]
        ? undefined
        : Shown<Only<Omit<BodyOf<N>, "ok">>>

export type Answer<N extends Name> =
  BodyOf<N> extends Stream.Stream<unknown, infer _E>
    ? AsyncIterable<Value<N>>
    : BodyOf<N> extends { readonly next_cursor: unknown }
      ? AsyncIterable<Value<N>>
      : Promise<[Value<N>] extends [undefined] ? void : Value<N>>

export type Call<N extends Name> = (...given: Given<N>) => Answer<N>

/** A type by its members and no more: what is written out and what follows are the same where these are. */
type Plain<T> = T extends Date
  ? T
  : T extends (...given: infer P) => infer R
    ? { readonly given: Plain<P>; readonly answers: Plain<R> }
    : T extends Promise<infer A>
      ? { readonly promise: Plain<A> }
      : T extends AsyncIterable<infer A>
        ? { readonly items: Plain<A> }
        : T extends object
          ? { readonly [K in keyof T]: Plain<T[K]> }
          : T

export type Same<A, B> =
  (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false

/** The members of a group that are not written as they follow, or the other way around. */
export type Differing<Written, Follows> = {
  [K in keyof Written | keyof Follows]: K extends keyof Written
    ? K extends keyof Follows
      ? Same<Written[K], Follows[K]> extends true
        ? never
        : K
      : K
    : K
}[keyof Written | keyof Follows]

// Values ------------------------------------------------------------------------------------------------------------

type Step = (value: unknown) => unknown

const same: Step = (value) => value

const camel = (name: string): string => name.replaceAll(/_(.)/g, (_, first: string) => first.toUpperCase())

const isTime = (ast: AST.AST): boolean =>
  ast === Wire.TimeOfItem.ast ||
  Option.exists(AST.getJSONSchemaAnnotation(ast), (said) => Reflect.get(said, "format") === "date-time")

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isFault = Schema.is(Wire.Fault.schema)

const shownFault: Step = (value) =>
  isFault(value) ? Failures.issueOf({ ...value, path: value.pointer.slice(1).split("/") }) : value

/** How a value of the schema is shown: made once for each schema. */
const shower = (ast: AST.AST): Step => {
  if (isTime(ast)) return (value) => new Date(String(value))
  if (ast === Wire.Fault.schema.ast) return shownFault
  switch (ast._tag) {
    case "TypeLiteral": {
      if (ast.propertySignatures.length === 0) return same
      const members = ast.propertySignatures
        .filter((member) => !isOfHttp(member))
        .map(({ name, type }) => [String(name), camel(String(name)), shower(type)] as const)
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

/** Shows a value that may be one of several types. Objects are told apart by their members. */
const showerOfOne = (types: ReadonlyArray<AST.AST>): Step => {
  const steps = types.map((type) => [type, shower(type)] as const).filter(([, step]) => step !== same)
  const [first, ...others] = steps
  if (first === undefined) return same
  const [, step] = first
  if (others.length === 0) return (value) => (value === null || value === undefined ? value : step(value))
  return (value) => {
    const meant = steps.find(([type]) =>
      typeof value === "string"
        ? isTime(type)
        : isObject(value) &&
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

/** Reads a value that may be one of several types: a time as a date, or as text where a call wrote it already, or an object. */
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

/** True of an object of which all is in its members, as it is not of a date, a map or a set. */
export const hasMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && !(value instanceof Date) && !(Symbol.iterator in value)

/** @param id what is called `id` */
const readerOfMembers = (signatures: ReadonlyArray<AST.PropertySignature>, id = "id"): Read => {
  const members = new Map(
    signatures.map(({ name, type }) => [
      name === "id" ? id : camel(String(name)),
      [String(name), reader(type)] as const
    ])
  )
  return (value, path, faults) => {
    if (!hasMembers(value)) return mistyped("an object", path, faults)
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

/** An input with members that a call says itself: no caller says them. */
export const including = <G extends object, Own extends object>(given: G | undefined, own: Own): G & Own => {
  const faults = new Fault.Faults()
  if (given !== undefined && !hasMembers(given)) mistyped("an object", [], faults)
  for (const name of Object.keys(own))
    if (Object.hasOwn(Object(given), name))
      faults.add([name], "unknown_field", `\`${name}\` is not known here.`)
  if (faults.list.length > 0) throw Failures.invalid(faults.list)
  return { ...given, ...own } as G & Own
}

// Functions ---------------------------------------------------------------------------------------------------------

interface AnyOperation {
  readonly endpoint: Endpoint.Any
  readonly told: { readonly ast: AST.AST }
  readonly isExport?: boolean
}

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

type Parts = Pick<Route.Raw, "body" | "idempotencyKey" | "path" | "query">

/** Makes a request of the given input. Throws, and names all members that the operation does not have. */
const requester = ({ endpoint }: AnyOperation, id: string) => {
  const [paths, queries, headers, bodies] = [
    signaturesOf(endpoint.pathSchema),
    signaturesOf(endpoint.urlParamsSchema).filter(({ name }) => !ofPaging.has(name)),
    signaturesOf(endpoint.headersSchema).map(
      ({ isOptional, isReadonly, type }) =>
        new AST.PropertySignature("idempotency_key", type, isOptional, isReadonly)
    ),
    signaturesOf(endpoint.payloadSchema)
  ]
  const read = readerOfMembers([...paths, ...queries, ...headers, ...bodies], id)
  const [ofPath, ofQuery] = [paths, queries].map((some) => new Set(some.map(({ name }) => String(name))))
  const takesBody = Option.isSome(endpoint.payloadSchema)
  return (given: unknown): Parts => {
    const faults = new Fault.Faults()
    const members = read(given, [], faults)
    const key = isObject(members) ? members["idempotency_key"] : undefined
    if (key !== undefined && typeof key !== "string") mistyped("a string", ["idempotencyKey"], faults)
    if (faults.list.length > 0 || !isObject(members)) throw Failures.invalid(faults.list)
    const { idempotency_key: idempotencyKey, ...others } = members
    const within = (names: ReadonlySet<string> | undefined): Record<string, string> =>
      // A value that is no text is refused where the operation reads it.
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

/** The body of an answer, what is alone in it, or one object of a thing and its secret. */
const valuer = (ast: AST.AST): Step => {
  const members = ast._tag === "TypeLiteral" ? ast.propertySignatures.filter(({ name }) => name !== "ok") : []
  const [thing, ...others] = members.filter(({ type }) => members.length === 1 || !AST.isStringKeyword(type))
  const isOne = others.length === 0 && (members.length === 1 || thing?.type._tag === "TypeLiteral")
  const name = isOne && thing !== undefined ? camel(String(thing.name)) : undefined
  return (body) => {
    if (!isObject(body)) return body
    const { ok: _, ...rest } = body
    if (name === undefined) return members.length === 0 ? undefined : rest
    const { [name]: whole, ...secrets } = rest
    return members.length === 1 ? whole : { ...Object(whole), ...secrets }
  }
}

type Did = Operation.Done<unknown, unknown>

const itemsOf = (page: unknown): ReadonlyArray<unknown> =>
  (isObject(page) ? Object.values(page).find(Array.isArray) : undefined) ?? []

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
  does: Route.Prepare<Did>,
  { run }: Pick<Running, "run">,
  cursors: Cursors.Cursors
): ((given?: unknown, within?: Within) => unknown) => {
  const { name } = operation.endpoint
  const id = Object.entries(owners).find(([, some]) => some.some((each) => each === name))?.[0]
  const request = requester(operation, id ?? "id")
  const show = shower(operation.told.ast)
  const value = valuer(operation.told.ast)
  const isList = signaturesOf(operation.endpoint.urlParamsSchema).some(({ name }) => name === "cursor")
  const failed = Failures.inNames(new Map(id === undefined ? [] : [["id", id]]))
  const asking = (given: unknown) => {
    const { query, ...parts } = request(given)
    return (paging: Readonly<Record<string, string>>): Effect.Effect<Did, unknown> => {
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
  }
  if (operation.isExport) return (given: unknown = {}) => rowsOf(run, asking(given)({}), show)
  if (operation.endpoint.method === "GET" && isList && "next_cursor" in membersOf(operation.told.ast))
    return (given: unknown = {}) => {
      const ask = asking(given)
      const first = ask({ limit: itemsOfPage })
      const items = async function* () {
        for (let page = first; ; ) {
          const did = await run(page)
          yield* itemsOf(show(did.body))
          const cursor: unknown = isObject(did.body) ? did.body["next_cursor"] : null
          if (typeof cursor !== "string") return
          page = ask({ limit: itemsOfPage, cursor })
        }
      }
      return items()
    }
  return async (given: unknown = {}, within: Within = (effect) => effect) => {
    const { body } = await run(within(asking(given)({})))
    return value(show(body))
  }
}
