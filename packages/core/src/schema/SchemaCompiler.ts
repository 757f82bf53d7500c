/**
 * Compiles a schema into a decoder made of closures, one for each node. It returns what Effect's interpreter returns when
 * members that the schema does not name are errors, in a fraction of the time, or says that the interpreter has to be
 * asked: for the faults, or since the node is of a kind that is not compiled. An empty struct accepts only an object without
 * members, while the interpreter accepts anything.
 */

import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import * as Memo from "../domain/Memo.ts"
import * as Either from "../effect/Either.ts"
import * as ParseResult from "../effect/ParseResult.ts"

/** How a request is decoded: a member that the schema does not define is a fault. */
export const strict: AST.ParseOptions = { onExcessProperty: "error" }

/** The input does not decode, or only the interpreter can tell. */
export const failed: unique symbol = Symbol.for("@sendwright/core/schema/SchemaCompiler/failed")

export type Compiled<A> = (input: unknown) => A | typeof failed
type Decode = Compiled<unknown>

const isRecord = (input: unknown): input is Readonly<Record<string, unknown>> =>
  typeof input === "object" && input !== null && !Array.isArray(input)

const interpreted = (ast: AST.AST): Decode => {
  const decode = ParseResult.decodeUnknownEither(Schema.make(ast), strict)
  return (input) => Either.getOrElse(decode(input), () => failed)
}

/** A declaration may answer with an effect, which the interpreter runs. */
const declaration = (ast: AST.Declaration): Decode => {
  const decode = ast.decodeUnknown(...ast.typeParameters)
  const ask = interpreted(ast)
  return (input) => {
    const result = decode(input, strict, ast)
    return "right" in result ? result.right : ask(input)
  }
}

/** The most items that an array may have; `undefined` when the node says nothing of it. */
const maximumItems = (ast: AST.Refinement): number | undefined => {
  const rule: { readonly maxItems?: unknown } = Option.getOrElse(AST.getJSONSchemaAnnotation(ast), () => ({}))
  return typeof rule.maxItems === "number" ? rule.maxItems : undefined
}

/** The length of an array is looked at before its items. */
const refinement = (ast: AST.Refinement): Decode => {
  const decode = decoderOf(ast.from)
  const most = maximumItems(ast) ?? Number.POSITIVE_INFINITY
  return (input) => {
    if (Array.isArray(input) && input.length > most) return failed
    const decoded = decode(input)
    return decoded === failed || Option.isSome(ast.filter(decoded, strict, ast)) ? failed : decoded
  }
}

/** The kinds that accept an input as it is, or refuse it. */
const scalars: Partial<Record<AST.AST["_tag"], Decode>> = {
  StringKeyword: (input) => (typeof input === "string" ? input : failed),
  NumberKeyword: (input) => (typeof input === "number" ? input : failed),
  BooleanKeyword: (input) => (typeof input === "boolean" ? input : failed),
  UndefinedKeyword: (input) => (input === undefined ? input : failed),
  UnknownKeyword: (input) => input,
  AnyKeyword: (input) => input
}

const isScalar = (ast: AST.AST): boolean =>
  ast._tag === "Refinement" ? isScalar(ast.from) : ast._tag === "Literal" || ast._tag in scalars

const isStructure = (ast: AST.AST): boolean =>
  ast._tag === "TypeLiteral" || ast._tag === "TupleType" || ast._tag === "Declaration"

/** The first member that accepts decides. Of several structures the interpreter asks another one first, by their literals. */
const union = (ast: AST.Union): Decode => {
  const [structure, ...others] = ast.types.filter((type) => !isScalar(type))
  if (others.length > 0 || (structure !== undefined && !isStructure(structure))) return interpreted(ast)
  const members = ast.types.map(decoderOf)
  return (input) => {
    for (const decode of members) {
      const decoded = decode(input)
      if (decoded !== failed) return decoded
    }
    return failed
  }
}

const array = (ast: AST.TupleType): Decode => {
  const [item, ...others] = ast.rest
  if (item === undefined || others.length > 0 || ast.elements.length > 0) return interpreted(ast)
  const decode = decoderOf(item.type)
  return (input) => {
    if (!Array.isArray(input)) return failed
    const items: Array<unknown> = []
    for (const each of input) {
      const decoded = decode(each)
      if (decoded === failed) return failed
      items.push(decoded)
    }
    return items
  }
}

/** A record of string keys, and nothing else. */
const record = (ast: AST.TypeLiteral): Decode => {
  const [signature, ...others] = ast.indexSignatures
  const isPlain = signature?.parameter._tag === "StringKeyword" && others.length === 0
  if (!isPlain || ast.propertySignatures.length > 0) return interpreted(ast)
  const decode = decoderOf(signature.type)
  return (input) => {
    if (!isRecord(input)) return failed
    const members: Record<string, unknown> = {}
    for (const name of Object.keys(input)) {
      const decoded = decode(input[name])
      if (decoded === failed) return failed
      members[name] = decoded
    }
    return members
  }
}

/**
 * A required member is read though it be inherited, and an optional one only when it is the object's own; any other name
 * that is inherited is left to the interpreter.
 */
const struct = (ast: AST.TypeLiteral): Decode => {
  if (ast.propertySignatures.some(({ name }) => typeof name !== "string" || name === "__proto__"))
    return interpreted(ast)
  const fields = ast.propertySignatures.map(({ isOptional, name, type }) => ({
    name: String(name),
    isOptional,
    decode: decoderOf(type)
  }))
  const names: ReadonlySet<string> = new Set(fields.map(({ name }) => name))
  return (input) => {
    if (!isRecord(input)) return failed
    const members: Record<string, unknown> = {}
    for (const { decode, isOptional, name } of fields) {
      if (isOptional && !Object.hasOwn(input, name)) continue
      const decoded = decode(input[name])
      if (decoded === failed) return failed
      members[name] = decoded
    }
    for (const name in input) if (!names.has(name)) return failed
    return members
  }
}

/** An annotation may change how a node and all below it are decoded. */
const isOrdinary = (ast: AST.AST): boolean =>
  Option.isNone(AST.getParseOptionsAnnotation(ast)) && Option.isNone(AST.getDecodingFallbackAnnotation(ast))

const decoderOf = (ast: AST.AST): Decode => {
  if (!isOrdinary(ast)) return interpreted(ast)
  const scalar = scalars[ast._tag]
  if (scalar !== undefined) return scalar
  switch (ast._tag) {
    case "Literal":
      return (input) => (input === ast.literal ? input : failed)
    case "Refinement":
      return refinement(ast)
    case "Declaration":
      return declaration(ast)
    case "Union":
      return union(ast)
    case "TupleType":
      return array(ast)
    case "TypeLiteral":
      return ast.indexSignatures.length > 0 ? record(ast) : struct(ast)
    default:
      return interpreted(ast)
  }
}

/** The decoder of a node, made once. */
export const ofNode = Memo.ofObject(decoderOf)

/**
 * The interpreter decodes a schema that is a transformation as a whole. The assertion says that a decoder returns what its
 * schema decodes to, which the syntax tree's type does not tell.
 */
export const compile = <A, I>({ ast }: Schema.Schema<A, I>): Compiled<A> =>
  ast._tag === "Transformation" ? () => failed : (ofNode(ast) as Compiled<A>)
