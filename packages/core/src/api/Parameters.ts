/** Path and query parameters that several endpoints share. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { Text } from "../adapter.ts"
import * as Either from "../effect/Either.ts"
import { Address, Errors, Fault, Instant, Page } from "../index.ts"

const uuid = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/

const UuidText = Schema.String.pipe(
  Schema.filter((text) => uuid.test(text), { description: "a UUID", jsonSchema: { format: "uuid" } })
)

/** In lower case, as ours are, however it is written (RFC 9562). */
export const Uuid = Schema.transform(UuidText, Schema.String, {
  strict: true,
  decode: (text) => text.toLowerCase(),
  encode: (text) => text
}).annotations({ jsonSchema: { type: "string", format: "uuid", description: "a UUID" } })

/**
 * A schema of which the description tells what it is for. Its own description stays: that is its rule, which a refusal repeats
 * behind "must be".
 */
export const about = <A, I>(schema: Schema.Schema<A, I>, description: string): Schema.Schema<A, I> =>
  schema.annotations({
    jsonSchema: { ...Option.getOrElse(AST.getJSONSchemaAnnotation(schema.ast), () => ({})), description }
  })

/** The path parameter of what has a UUID. */
export const id = Schema.Struct({ id: Uuid })

export const Name = Text.line(255)

/** The engine judges which providers there are, and the description lists them. */
export const Provider = Text.line(64).annotations({ identifier: "Provider" })

/** For how long an old secret lives on; in the engine's words, `overlap`. */
export const Rotation = Schema.Struct({
  overlap_seconds: Schema.optional(Schema.Int.pipe(Schema.between(0, 604_800)))
})
export const overlap = ({ overlap_seconds }: typeof Rotation.Type) => ({ overlapSeconds: overlap_seconds })

export const Person = about(
  Schema.String.pipe(
    Schema.filter((text) => Address.read(text) !== undefined, {
      description: "a phone, digits with the country calling code, or a user id such as US.1349"
    })
  ),
  "The person's phone, digits with the country calling code, or their user id."
)

export const IdempotencyKey = Schema.String.annotations({
  description: "1 to 128 visible ASCII characters, bare or as a quoted string (RFC 8941).",
  jsonSchema: { minLength: 1 }
})

/** Digits only: `Number` alone would take `0x10`, `1e3` and `2.0` for whole numbers too. */
const Digits = Schema.String.pipe(
  Schema.filter((text) => /^-?\d{1,15}$/.test(text), {
    description: "a whole number",
    jsonSchema: { type: "integer" }
  })
)

export const WholeNumber = Schema.transform(Digits, Schema.Number, {
  strict: true,
  decode: Number,
  encode: String
}).annotations({
  jsonSchema: {
    type: "integer",
    minimum: -999_999_999_999_999,
    maximum: 999_999_999_999_999,
    description: "a whole number"
  }
})

/** Refinements of a number that is written in text are told of the number. */
export const limit = (maximum: number) =>
  Schema.optional(
    WholeNumber.pipe(Schema.between(1, maximum)).annotations({
      jsonSchema: { type: "integer", minimum: 1, maximum, description: "The most items of a page." }
    })
  )

/** As `Cursors` makes them; that opens it, since a cursor is of one list only. */
export const cursorForm = /^[A-Za-z0-9_-]{48}$/

const Cursor = Schema.String.pipe(
  Schema.filter((text) => cursorForm.test(text), {
    description: "a `next_cursor` of this very list, with the same filter",
    jsonSchema: { pattern: cursorForm.source }
  })
)

export const TimeText = Schema.String.pipe(
  Schema.filter((text) => Instant.parse(text) !== undefined, {
    description: "an RFC 3339 date-time",
    jsonSchema: { format: "date-time" }
  }),
  Schema.brand("InstantText")
)

/** Each was checked with the shape. */
export const timeOf = (text: string | undefined) => (text === undefined ? undefined : Instant.parse(text))

/** Refuses periods that end before they begin. */
export const checkPeriods = <N extends string>(
  query: { readonly [K in N]?: string | undefined },
  ...periods: ReadonlyArray<readonly [after: N, before: N]>
): Either.Either<void, Errors.InvalidRequest> => {
  const faults = periods.flatMap(([after, before]) => {
    const [from, to] = [timeOf(query[after]), timeOf(query[before])]
    return from !== undefined && to !== undefined && from > to
      ? [Fault.make(["query", after], "invalid_value", `\`${after}\` must not be later than \`${before}\`.`)]
      : []
  })
  return faults.length === 0 ? Either.void : Either.left(new Errors.InvalidRequest({ faults }))
}

export const paging = { limit: limit(Page.maximumLimit), cursor: Schema.optional(Cursor) }

export const Paging = Schema.Struct(paging)

/** A parameter that is only compared with names of ours, so that any text may come. */
export const word = (description: string) =>
  Schema.String.pipe(
    Schema.filter((text) => text !== "" && Text.isStorable(text) && !Text.isLonger(text, 64), {
      description,
      jsonSchema: { minLength: 1, maxLength: 64 }
    })
  )

export const OwnerKey = word(
  "Only jobs of this public key; of the process that owns the engine: the id of the session."
)

export const byAccount = { account_id: Uuid }
