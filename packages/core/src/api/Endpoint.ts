/**
 * How an operation is asked: its method and path, and the schemas of what it takes. A part without a schema is empty, and of
 * the type `never`, so that no handler reads it.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"

export type Method = "DELETE" | "GET" | "PATCH" | "POST" | "PUT"

/** The path of the API, with `:name` for parameters. */
type Path = `/${string}`

/** A part of a request. The schema alone knows its form on the wire. */
type Part<A> = Option.Option<Schema.Schema<A, unknown>>

interface Asked<N extends string, M extends Method, P, Q, B, H> {
  readonly name: N
  readonly method: M
  readonly path: Path
  readonly pathSchema: Part<P>
  readonly urlParamsSchema: Part<Q>
  readonly payloadSchema: Part<B>
  readonly headersSchema: Part<H>
  /** Members and items in all of a body that is long. */
  readonly maximumValues: number
}

export interface Endpoint<N extends string, M extends Method, P, Q, B, H> extends Asked<N, M, P, Q, B, H> {
  readonly setPath: <A, I>(schema: Schema.Schema<A, I>) => Endpoint<N, M, A, Q, B, H>
  readonly setUrlParams: <A, I>(schema: Schema.Schema<A, I>) => Endpoint<N, M, P, A, B, H>
  readonly setPayload: <A, I>(schema: Schema.Schema<A, I>) => Endpoint<N, M, P, Q, A, H>
  readonly setHeaders: <A, I>(schema: Schema.Schema<A, I>) => Endpoint<N, M, P, Q, B, A>
  /** For a request that brings thousands of items: as many as it takes, of the fewest members each. */
  readonly setMaximumValues: (maximumValues: number) => Endpoint<N, M, P, Q, B, H>
}

type AnyPart = Option.Option<{ readonly ast: AST.AST }>

/** An endpoint, whatever it takes. */
export interface Any
  extends Pick<Asked<string, Method, never, never, never, never>, "method" | "name" | "path"> {
  readonly pathSchema: AnyPart
  readonly urlParamsSchema: AnyPart
  readonly payloadSchema: AnyPart
  readonly headersSchema: AnyPart
}

/** 1,000 templates of header, body, footer and button, or 250 recipients of a hundred variables. */
export const usualValues = 37_000

const part = <A>({ ast }: { readonly ast: AST.AST }): Part<A> => Option.some(Schema.make<A, unknown>(ast))

const of = <N extends string, M extends Method, P, Q, B, H>(
  asked: Asked<N, M, P, Q, B, H>
): Endpoint<N, M, P, Q, B, H> => ({
  ...asked,
  setPath: <A, I>(schema: Schema.Schema<A, I>) => of({ ...asked, pathSchema: part<A>(schema) }),
  setUrlParams: <A, I>(schema: Schema.Schema<A, I>) => of({ ...asked, urlParamsSchema: part<A>(schema) }),
  setPayload: <A, I>(schema: Schema.Schema<A, I>) => of({ ...asked, payloadSchema: part<A>(schema) }),
  setHeaders: <A, I>(schema: Schema.Schema<A, I>) => of({ ...asked, headersSchema: part<A>(schema) }),
  setMaximumValues: (maximumValues) => of({ ...asked, maximumValues })
})

const begin =
  <M extends Method>(method: M) =>
  <const N extends string>(name: N, path: Path): Endpoint<N, M, never, never, never, never> =>
    of({
      name,
      method,
      path,
      pathSchema: Option.none(),
      urlParamsSchema: Option.none(),
      payloadSchema: Option.none(),
      headersSchema: Option.none(),
      maximumValues: usualValues
    })

export const get = begin("GET")
export const post = begin("POST")
export const put = begin("PUT")
export const patch = begin("PATCH")
export const del = begin("DELETE")
