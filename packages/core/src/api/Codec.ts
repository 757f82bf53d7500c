/**
 * Parts of answers: each is its schema, and how a value of the engine becomes it. The engine's names in camelCase become
 * those of the contract in snake_case here. What links to something is told the prefix of the API's paths.
 */
import * as Schema from "effect/Schema"

export interface Codec<S extends Schema.Schema.Any, Found> {
  readonly schema: S
  readonly of: (found: Found, prefix: string) => Schema.Schema.Type<S>
}

/** A member that is made of the whole value, not of the one that has its name. */
export interface Computed<S extends Schema.Schema.Any, Found> {
  readonly schema: S
  readonly from: (found: Found, prefix: string) => Schema.Schema.Type<S>
}

type AnyComputed = Computed<Schema.Schema.Any, never>

/** A member. One whose value stays as it is needs its schema alone. */
type Member = Schema.Schema.Any | Codec<Schema.Schema.Any, never> | AnyComputed

type Members = Readonly<Record<string, Member>>

type SchemaOf<M> = M extends { readonly schema: infer S extends Schema.Schema.Any }
  ? S
  : M extends Schema.Schema.Any
    ? M
    : never

type Camel<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Name

type Value<M> = M extends { readonly of: (found: infer Found, prefix: string) => unknown }
  ? Found
  : Schema.Schema.Type<SchemaOf<M>>

type Whole<M> = M extends { readonly from: (found: infer Found, prefix: string) => unknown }
  ? (found: Found) => void
  : (found: unknown) => void

/** The value that has, by their names in camelCase, all that the members are made of. */
type Source<F extends Members> = {
  readonly [K in keyof F as F[K] extends AnyComputed ? never : Camel<K> & string]: Value<F[K]>
} & ({ [K in keyof F]: Whole<F[K]> }[keyof F] extends (found: infer Found) => void ? Found : never)

type Fields<F extends Members> = { readonly [K in keyof F]: SchemaOf<F[K]> }

const camel = (name: string): string => name.replaceAll(/_(.)/g, (_, first: string) => first.toUpperCase())

/** The members of a body by their names in process. What they hold stays as it is. */
export const inProcess = <Body extends object>(
  body: Body
): { readonly [K in keyof Body as Camel<K & string>]: Body[K] } =>
  // The assertion says of each name what the type says: no type follows a text through its letters.
  Object.fromEntries(Object.entries(body).map(([name, value]) => [camel(name), value])) as {
    readonly [K in keyof Body as Camel<K & string>]: Body[K]
  }

/** As it is looked at while it runs; the signature of `struct` says which value each is given. */
type AnyMember =
  | Schema.Schema.Any
  | {
      readonly schema: Schema.Schema.Any
      readonly of?: (found: unknown, prefix: string) => unknown
      readonly from?: (found: unknown, prefix: string) => unknown
    }

/** @param identifier the name of the schema in the description */
export function struct<const F extends Members>(
  members: F,
  identifier?: string
): Codec<Schema.Struct<Fields<F>>, Source<F>>
export function struct(members: Readonly<Record<string, AnyMember>>, identifier?: string) {
  const entries = Object.entries(members)
  const schema = Schema.Struct(
    Object.fromEntries(entries.map(([name, member]) => [name, "schema" in member ? member.schema : member]))
  )
  const makers = entries.map(([name, member]) => {
    const { from, of } = "schema" in member ? member : {}
    const source = camel(name)
    const make = (found: object, prefix: string): unknown => {
      if (from !== undefined) return from(found, prefix)
      const value: unknown = Reflect.get(found, source)
      return of === undefined ? value : of(value, prefix)
    }
    return [name, make] as const
  })
  return {
    schema: identifier === undefined ? schema : schema.annotations({ identifier }),
    of: (found: object, prefix: string) => {
      const body: Record<string, unknown> = {}
      for (const [name, make] of makers) body[name] = make(found, prefix)
      return body
    }
  }
}

export const codec = <S extends Schema.Schema.Any, Found>(
  schema: S,
  of: (found: Found, prefix: string) => Schema.Schema.Type<S>
): Codec<S, Found> => ({ schema, of })

/** The codec of a value that is answered as the engine has it. */
export const itself = <S extends Schema.Schema.Any>(schema: S): Codec<S, Schema.Schema.Type<S>> =>
  codec(schema, (found) => found)

/** A member of a struct that is made of the whole value. */
export const computed = <S extends Schema.Schema.Any, Found>(
  schema: S,
  from: (found: Found, prefix: string) => Schema.Schema.Type<S>
): Computed<S, Found> => ({ schema, from })

/** A member of a struct that is made of a part of the whole value. */
export const part = <S extends Schema.Schema.Any, Part, Found>(
  { of, schema }: Codec<S, Part>,
  from: (found: Found) => Part
): Computed<S, Found> => computed(schema, (found, prefix) => of(from(found), prefix))

export const list = <S extends Schema.Schema.Any, Found>({
  of,
  schema
}: Codec<S, Found>): Codec<Schema.Array$<S>, ReadonlyArray<Found>> => ({
  schema: Schema.Array(schema),
  of: (found, prefix) => found.map((each) => of(each, prefix))
})

export const nullOr = <S extends Schema.Schema.Any, Found>({
  of,
  schema
}: Codec<S, Found>): Codec<Schema.NullOr<S>, Found | null> => ({
  schema: Schema.NullOr(schema),
  of: (found, prefix) => (found === null ? null : of(found, prefix))
})
