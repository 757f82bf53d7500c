/** Decodes input by a Schema and reports every fault by field. No member is ignored (contract.md §10 "Requests"). */

import * as Schema from "effect/Schema"
import type * as Fault from "../domain/Fault.ts"
import * as Either from "../effect/Either.ts"
import * as ParseResult from "../effect/ParseResult.ts"
import * as SchemaFaults from "./SchemaFaults.ts"

export { unknownField } from "./SchemaFaults.ts"

type Path = ReadonlyArray<string | number>

/** Runs `make` at the first use, since a process needs few of the contract's many decoders. */
const lazily = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/**
 * A decoder that tells every fault at once, at most `Fault.maximum`; a member that the schema does not name is one.
 * Effect's interpreter looks at every item of an array before its length, so it is not asked where a list is too long,
 * nor for a struct without members, for which it takes anything.
 */
export const decoder = <A, I>(
  schema: Schema.Schema<A, I>,
  prefix: Path = []
): ((input: unknown) => Either.Either<A, ReadonlyArray<Fault.Fault>>) => {
  const decode = lazily(() => ParseResult.decodeUnknownEither(schema, SchemaFaults.strict))
  const explain = lazily(() =>
    ParseResult.decodeUnknownEither(schema, { ...SchemaFaults.strict, errors: "all" })
  )
  return (input) => {
    const isWalked = SchemaFaults.isEmptyStruct(schema.ast) || SchemaFaults.isTooLongWithin(schema.ast, input)
    const decoded = isWalked ? undefined : decode()(input)
    if (decoded !== undefined && Either.isRight(decoded)) return Either.right(decoded.right)
    const faults = SchemaFaults.faults(schema.ast, input, prefix)
    return faults.length > 0
      ? Either.left(faults)
      : Either.mapLeft(explain()(input), (issue) => SchemaFaults.ofIssue(issue, prefix))
  }
}

/** Decodes what must have no member at all: the parameters or the body of an operation that defines none. */
export const nothing = (prefix: Path = []) => decoder(Schema.Struct({}), prefix)
