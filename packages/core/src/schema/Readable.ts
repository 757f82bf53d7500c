/**
 * The readable parts of an input that does not have its schema's shape, so that an operation's further rules are
 * checked together with the shape, and a refusal lists every fault (contract.md §10 "Requests").
 */
import type * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"
import type { Readable } from "../domain/Readable.ts"
import * as Either from "../effect/Either.ts"
import * as SchemaFaults from "./SchemaFaults.ts"

export type { Readable } from "../domain/Readable.ts"

const isRecord = (input: unknown): input is Readonly<Record<string, unknown>> =>
  typeof input === "object" && input !== null && !Array.isArray(input)

const isPlain = (ast: AST.TypeLiteral, input: unknown): input is Readonly<Record<string, unknown>> =>
  isRecord(input) && ast.indexSignatures.length === 0

const struct = (ast: AST.TypeLiteral, input: Readonly<Record<string, unknown>>): unknown => {
  const found: Record<string, unknown> = {}
  for (const { name, type } of ast.propertySignatures) {
    const key = String(name)
    const member = Object.hasOwn(input, key) ? salvaged(type, input[key]) : undefined
    if (member !== undefined) found[key] = member
  }
  return found
}

const array = (item: AST.AST, input: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const decode = SchemaFaults.decoderOf(item)
  return input.map((each) => Either.getOrElse(decode(each), () => salvaged(item, each)))
}

/** Reads an array item by item. Decoding it whole would decode thousands of items before the wrong one. */
const salvaged = (ast: AST.AST, input: unknown): unknown => {
  const structure = SchemaFaults.structureOf(ast)
  if (structure === undefined || !Array.isArray(input)) {
    const decoded = SchemaFaults.decoderOf(ast)(input)
    if (Either.isRight(decoded)) return decoded.right
  }
  if (structure === undefined) return undefined
  if (structure !== ast) return salvaged(structure, input)
  switch (ast._tag) {
    case "Refinement":
      return salvaged(ast.from, SchemaFaults.isTooLong(ast, input) ? undefined : input)
    case "TypeLiteral":
      return isPlain(ast, input) ? struct(ast, input) : undefined
    case "TupleType": {
      const [item] = ast.rest
      return Array.isArray(input) && item !== undefined ? array(item.type, input) : []
    }
    default:
      return undefined
  }
}

/**
 * Reads what can be read; undefined when nothing can. An array that is none, or too long to be looked into, is empty.
 * The assertion says that what is left is of the schema's shape part by part, which no type of its own can say.
 */
export const reader =
  <A, I>({ ast }: Schema.Schema<A, I>): ((input: unknown) => Readable<A> | undefined) =>
  // Called for a body that could not be decoded whole.
  (input) =>
    (ast._tag === "TypeLiteral" && isPlain(ast, input) ? struct(ast, input) : salvaged(ast, input)) as
      | Readable<A>
      | undefined
