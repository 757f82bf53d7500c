/**
 * Compiles a schema into a decoder of straight JavaScript. The decoder either returns what Effect's interpreter
 * returns when members that the schema does not name are errors, or says that the interpreter must be asked: for the
 * faults, or because the node was not compiled. An empty struct accepts only an object without members, while the
 * interpreter accepts anything.
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

/**
 * The annotation that gives a declaration's test, for one that only accepts or refuses an input. The test replaces
 * the declaration's own parser, which returns an object each time.
 */
export const TestAnnotationId: unique symbol = Symbol.for("@sendwright/core/schema/SchemaCompiler/Test")
export type Test = (input: unknown) => boolean

export type Compiled<A> = (input: unknown) => A | typeof failed

/** Statements that return `failed` from the function around them, and the expression of what was decoded. */
interface Emitted {
  readonly code: string
  readonly value: string
}

/** A comparison that accepts what a node does and leaves as it is; `undefined` for every other node. */
const comparison = (ast: AST.AST, x: string, constant: (value: unknown) => string): string | undefined => {
  switch (ast._tag) {
    case "StringKeyword":
      return `typeof ${x} === "string"`
    case "NumberKeyword":
      return `typeof ${x} === "number"`
    case "BooleanKeyword":
      return `typeof ${x} === "boolean"`
    case "UndefinedKeyword":
      return `${x} === undefined`
    case "Literal":
      return `${x} === ${constant(ast.literal)}`
    case "UnknownKeyword":
    case "AnyKeyword":
      return "true"
    default:
      return undefined
  }
}

/** An annotation may change how a node and all below it are decoded. */
const isOrdinary = (ast: AST.AST): boolean =>
  Option.isNone(AST.getParseOptionsAnnotation(ast)) && Option.isNone(AST.getDecodingFallbackAnnotation(ast))

/** True when the interpreter may look at the member of a union in another place than its own: by literals in its fields. */
const mayBeTagged = (ast: AST.AST): boolean => {
  switch (ast._tag) {
    case "Refinement":
      return mayBeTagged(ast.from)
    case "TypeLiteral":
      return ast.propertySignatures.some(({ type }) => AST.isLiteral(AST.encodedAST(type)))
    case "TupleType":
      return ast.elements.length > 0
    case "Declaration":
      return Option.isSome(AST.getSurrogateAnnotation(ast))
    case "Suspend":
    case "Transformation":
      return true
    default:
      return false
  }
}

const isPlain = (ast: AST.TypeLiteral): boolean =>
  ast.indexSignatures.length === 0 &&
  ast.propertySignatures.every(({ name }) => typeof name === "string" && name !== "__proto__")

/** A record of string keys, and nothing else. */
const valueOfRecord = (ast: AST.TypeLiteral): AST.AST | undefined => {
  const [signature, ...others] = ast.indexSignatures
  return signature?.parameter._tag === "StringKeyword" &&
    others.length === 0 &&
    ast.propertySignatures.length === 0
    ? signature.type
    : undefined
}

const isArray = (ast: AST.TupleType): boolean => ast.elements.length === 0 && ast.rest.length === 1

/** The most items that an array may have; `undefined` when the node says nothing of it. */
const maximumItems = (ast: AST.Refinement): number | undefined => {
  const rule: { readonly maxItems?: unknown } = Option.getOrElse(AST.getJSONSchemaAnnotation(ast), () => ({}))
  return typeof rule.maxItems === "number" ? rule.maxItems : undefined
}

class Program {
  readonly constants: Array<unknown> = []
  private names = 0

  fresh(): string {
    this.names += 1
    return `v${this.names}`
  }

  readonly constant = (value: unknown): string => `c[${this.constants.push(value) - 1}]`

  /** Left to the interpreter, node by node. */
  private interpreted(ast: AST.AST, x: string): Emitted {
    const decode = this.constant(ParseResult.decodeUnknownEither(Schema.make(ast), strict))
    const result = this.fresh()
    return {
      code: `const ${result} = ${decode}(${x}); if (${result}._tag === "Left") return F;`,
      value: `${result}.right`
    }
  }

  emit(ast: AST.AST, x: string): Emitted {
    if (!isOrdinary(ast)) return this.interpreted(ast, x)
    const compared = comparison(ast, x, this.constant)
    if (compared !== undefined) return { code: `if (!(${compared})) return F;`, value: x }
    switch (ast._tag) {
      case "Refinement":
        return this.refinement(ast, x)
      case "Declaration":
        return this.declaration(ast, x)
      case "Union":
        return ast.types.some(mayBeTagged) ? this.interpreted(ast, x) : this.union(ast, x)
      case "TupleType":
        return isArray(ast) ? this.array(ast, x) : this.interpreted(ast, x)
      case "TypeLiteral": {
        const value = valueOfRecord(ast)
        if (value !== undefined) return this.record(value, x)
        return isPlain(ast) ? this.struct(ast, x) : this.interpreted(ast, x)
      }
      default:
        return this.interpreted(ast, x)
    }
  }

  /** The length of an array is looked at before its items. */
  private refinement(ast: AST.Refinement, x: string): Emitted {
    const { code, value } = this.emit(ast.from, x)
    const self = this.constant(ast)
    const most = maximumItems(ast)
    const first = most === undefined ? "" : `if (Array.isArray(${x}) && ${x}.length > ${most}) return F; `
    return {
      code: `${first}${code} if (${self}.filter(${value}, O, ${self})._tag === "Some") return F;`,
      value
    }
  }

  /** It may answer with an effect, which the interpreter would run. */
  private declaration(ast: AST.Declaration, x: string): Emitted {
    const test = AST.getAnnotation<Test>(ast, TestAnnotationId)
    if (Option.isSome(test)) return { code: `if (!${this.constant(test.value)}(${x})) return F;`, value: x }
    const decode = this.constant(ast.decodeUnknown(...ast.typeParameters))
    const result = this.fresh()
    const { code, value } = this.interpreted(ast, x)
    const decoded = this.fresh()
    return {
      code:
        `const ${result} = ${decode}(${x}, O, ${this.constant(ast)}); let ${decoded}; ` +
        `if (${result}._tag === "Right") ${decoded} = ${result}.right; else { ${code} ${decoded} = ${value}; }`,
      value: decoded
    }
  }

  /** The first member that accepts decides. */
  private union(ast: AST.Union, x: string): Emitted {
    const decoded = this.fresh()
    const attempts = ast.types.map((type) => {
      const compared = isOrdinary(type) ? comparison(type, x, this.constant) : undefined
      if (compared !== undefined) return `if (${compared}) ${decoded} = ${x}; else `
      const { code, value } = this.emit(type, "x")
      return `if ((${decoded} = (function (x) { ${code} return ${value}; })(${x})) === F) `
    })
    return { code: `let ${decoded} = F; ${attempts.join("")}return F;`, value: decoded }
  }

  private array(ast: AST.TupleType, x: string): Emitted {
    const [item, index, decoded, length] = [this.fresh(), this.fresh(), this.fresh(), this.fresh()]
    const [rest] = ast.rest
    const { code, value } = this.emit(rest?.type ?? AST.neverKeyword, item)
    return {
      code:
        `if (!Array.isArray(${x})) return F; const ${decoded} = [], ${length} = ${x}.length; ` +
        `for (let ${index} = 0; ${index} < ${length}; ${index}++) ` +
        `{ const ${item} = ${x}[${index}]; ${code} ${decoded}.push(${value}); }`,
      value: decoded
    }
  }

  private record(type: AST.AST, x: string): Emitted {
    const [name, member, decoded] = [this.fresh(), this.fresh(), this.fresh()]
    const { code, value } = this.emit(type, member)
    return {
      code:
        `${isObject(x)} const ${decoded} = {}; for (const ${name} of Object.keys(${x})) ` +
        `{ const ${member} = ${x}[${name}]; ${code} ${decoded}[${name}] = ${value}; }`,
      value: decoded
    }
  }

  /**
   * A required member is read though it be inherited, and an optional one only when it is the object's own. A loop
   * over the names costs less than a list of them; one that is inherited is left to the interpreter.
   */
  private struct(ast: AST.TypeLiteral, x: string): Emitted {
    const decoded = this.fresh()
    const fields = ast.propertySignatures.map(({ isOptional, name, type }) => {
      const key = JSON.stringify(name)
      const member = this.fresh()
      const { code, value } = this.emit(type, member)
      const field = `const ${member} = ${x}[${key}]; ${code} ${decoded}[${key}] = ${value};`
      return isOptional ? `if (Object.hasOwn(${x}, ${key})) { ${field} }` : field
    })
    const known = ast.propertySignatures.map(({ name }) => `case ${JSON.stringify(name)}: `).join("")
    const name = this.fresh()
    const closed = `for (const ${name} in ${x}) switch (${name}) { ${known}${known === "" ? "" : "continue; "}default: return F; }`
    return { code: `${isObject(x)} const ${decoded} = {}; ${fields.join(" ")} ${closed}`, value: decoded }
  }
}

const isObject = (x: string): string =>
  `if (typeof ${x} !== "object" || ${x} === null || Array.isArray(${x})) return F;`

const nothingCompiled = (): typeof failed => failed

/**
 * Never fails: where code may not be made of text, or nothing of the schema is compiled, the interpreter has to be
 * asked for everything.
 */
export const compile = <A, I>(schema: Schema.Schema<A, I>): Compiled<A> => {
  if (schema.ast._tag === "Transformation") return nothingCompiled
  const program = new Program()
  const { code, value } = program.emit(schema.ast, "x")
  // Text of ours and of the schema, which is ours, too: nothing of a request becomes code.
  const made = Either.try(
    (): Compiled<A> =>
      new Function("c", "O", "F", `"use strict"; return function (x) { ${code} return ${value}; }`)(
        program.constants,
        strict,
        failed
      )
  )
  return Either.getOrElse(made, () => nothingCompiled)
}

/**
 * The compiled decoder of a node, made once: both the fault walk and the decoder of readable parts use it for each
 * item.
 */
export const ofNode = Memo.ofObject((ast: AST.AST): Compiled<unknown> => compile(Schema.make(ast)))
