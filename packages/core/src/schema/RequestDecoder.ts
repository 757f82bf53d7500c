/** Decodes input by a Schema and reports every fault by field. No member is ignored (decisions.md §10 "Requests"). */

import * as Schema from "effect/Schema"
import type * as Fault from "../domain/Fault.ts"
import * as Either from "../effect/Either.ts"
import * as SchemaCompiler from "./SchemaCompiler.ts"
import * as SchemaFaults from "./SchemaFaults.ts"

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
 * Compiled code decodes valid input. For any other input faults are looked for before the interpreter is asked,
 * which would look at every item of an array before its length.
 */
export const decoder = <A, I>(
  schema: Schema.Schema<A, I>,
  prefix: Path = []
): ((input: unknown) => Either.Either<A, ReadonlyArray<Fault.Fault>>) => {
  const compiled = lazily(() => SchemaCompiler.compile(schema))
  const interpreter = lazily(() =>
    Schema.decodeUnknownEither(schema, { ...SchemaCompiler.strict, errors: "all" })
  )
  return (input) => {
    const decoded = compiled()(input)
    if (decoded !== SchemaCompiler.failed) return Either.right(decoded)
    const faults = SchemaFaults.faults(schema.ast, input, prefix)
    return faults.length > 0
      ? Either.left(faults)
      : Either.mapLeft(interpreter()(input), (error) => SchemaFaults.ofIssue(error.issue, prefix))
  }
}

/** Decodes what must have no member at all: the parameters or the body of an operation that defines none. */
export const nothing = (prefix: Path = []) => decoder(Schema.Struct({}), prefix)
