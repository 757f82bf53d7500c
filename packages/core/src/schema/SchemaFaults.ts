/**
 * Tells what is wrong with an input that its schema refuses: every fault by its field, at most `Fault.maximum`.
 * Objects and arrays are walked here, so that the length of an array is looked at before its items, a member that no
 * schema defines is named, and a body of a million faults costs no more than its first 250 (contract.md §10
 * "Requests"). Everything else is left to Effect's interpreter. Messages say what is expected and never repeat a
 * value, which may be a secret.
 */

import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import * as Fault from "../domain/Fault.ts"
import * as Memo from "../domain/Memo.ts"
import * as Suggestion from "../domain/Suggestion.ts"
import * as Either from "../effect/Either.ts"
import * as ParseResult from "../effect/ParseResult.ts"

type Path = ReadonlyArray<string | number>

/** How a request is decoded: a member that the schema does not define is a fault. */
export const strict: AST.ParseOptions = { onExcessProperty: "error" }

/** Decodes what stands at a node, up to the first fault. */
export const decoderOf = Memo.ofObject((ast: AST.AST) =>
  ParseResult.decodeUnknownEither(Schema.make(ast), strict)
)

// Words ------------------------------------------------------------------------------------------------------------

const literals = (ast: AST.AST): ReadonlyArray<string> =>
  ast._tag === "Literal"
    ? [JSON.stringify(ast.literal)]
    : ast._tag === "Union"
      ? ast.types.flatMap(literals)
      : []

const nouns: Partial<Record<AST.AST["_tag"], string>> = {
  StringKeyword: "a string",
  NumberKeyword: "a number",
  BooleanKeyword: "true or false",
  TupleType: "an array",
  TypeLiteral: "an object"
}

const ruleOf = (ast: AST.Annotated): Readonly<Record<string, unknown>> => ({
  ...Option.getOrElse(AST.getJSONSchemaAnnotation(ast), () => ({}))
})

const isWhole = (ast: AST.Refinement): boolean => ruleOf(ast)["type"] === "integer"

const noun = (ast: AST.AST): string => {
  switch (ast._tag) {
    case "Refinement":
      return isWhole(ast) ? "a whole number" : noun(ast.from)
    case "Transformation":
      return noun(ast.from)
    case "Union": {
      const kinds = ast.types.filter((type) => type._tag !== "UndefinedKeyword")
      return kinds
        .map((type) => (type._tag === "Literal" ? JSON.stringify(type.literal) : noun(type)))
        .join(" or ")
    }
    case "Literal":
      return JSON.stringify(ast.literal)
    case "Declaration":
      return Option.getOrElse(AST.getTitleAnnotation(ast), () => "an object with string values")
    default:
      return nouns[ast._tag] ?? "another value"
  }
}

const atLeast = (least: unknown, noun: string): string => `at least ${least} ${noun}${least === 1 ? "" : "s"}`

/** The rule of a refinement in words, from its JSON Schema annotation; `undefined` when that has no bound. */
const bound = (ast: AST.Refinement): string | undefined => {
  const rule = ruleOf(ast)
  if (rule["minItems"] !== undefined) return atLeast(rule["minItems"], "item")
  if (rule["maxItems"] !== undefined) return `at most ${rule["maxItems"]} items`
  if (rule["minLength"] !== undefined && rule["maxLength"] !== undefined) {
    return `${rule["minLength"]} to ${rule["maxLength"]} characters`
  }
  if (rule["minLength"] !== undefined) return atLeast(rule["minLength"], "character")
  if (rule["maxLength"] !== undefined) return `at most ${rule["maxLength"]} characters`
  if (rule["minimum"] !== undefined && rule["maximum"] !== undefined) {
    return `a number from ${rule["minimum"]} to ${rule["maximum"]}`
  }
  if (rule["minimum"] !== undefined) return `${rule["minimum"]} or more`
  if (rule["maximum"] !== undefined) return `${rule["maximum"]} or less`
  return undefined
}

const named = (path: Path): string => {
  const name = path.at(-1)
  return name === undefined ? "The body" : typeof name === "number" ? `Item ${name}` : `\`${name}\``
}

// Members that no schema defines ------------------------------------------------------------------------------------

/** A longer name is not repeated: its pointer would be as long as the body. */
const longestName = 255

/** The fault of a member `name` of the object at `path`, which has `known` members only. */
export const unknownField = (path: Path, name: string, known: ReadonlyArray<string>): Fault.Fault => {
  if (name.length > longestName) {
    const message = `${named(path)} has a member that is not known here, with a name of ${name.length} characters.`
    return Fault.make(path, "unknown_field", message)
  }
  const near = Suggestion.nearest(name, known)
  const hint =
    near !== undefined
      ? `Did you mean \`${near}\`?`
      : known.length === 0
        ? "Nothing is expected here."
        : `Known here: ${known.join(", ")}.`
  return Fault.make([...path, name], "unknown_field", `\`${name}\` is not known here. ${hint}`)
}

// Findings of the interpreter ---------------------------------------------------------------------------------------

const isIssueList = (
  issues: ParseResult.ParseIssue | ReadonlyArray<ParseResult.ParseIssue>
): issues is ReadonlyArray<ParseResult.ParseIssue> => Array.isArray(issues)

const refused = (ast: AST.Refinement, path: Path): readonly [Fault.Code, string] => {
  const asked = bound(ast)
  if (asked !== undefined) return ["out_of_range", `${named(path)} must be ${asked}.`]
  if (isWhole(ast)) return ["invalid_type", `${named(path)} must be a whole number.`]
  const described = Option.getOrElse(AST.getDescriptionAnnotation(ast), () => "another value")
  return ["invalid_value", `${named(path)} must be ${described}.`]
}

/** Literals, and the absence of an optional field. */
const isLiteral = (ast: AST.AST): boolean =>
  ast._tag === "Literal" ||
  ast._tag === "UndefinedKeyword" ||
  (ast._tag === "Union" && ast.types.every(isLiteral))

const addMistyped = (ast: AST.AST, path: Path, faults: Fault.Faults): void => {
  const allowed = literals(ast)
  if (isLiteral(ast) && allowed.length > 0) {
    const asked = allowed.length === 1 ? allowed.join("") : `one of ${allowed.join(", ")}`
    faults.add(path, "invalid_value", `${named(path)} must be ${asked}.`)
  } else {
    faults.add(path, "invalid_type", `${named(path)} must be ${noun(ast)}.`)
  }
}

/** True of a member of a union that the value is no kind of: a refined string is no object. */
const isOfOtherKind = (issue: ParseResult.ParseIssue): boolean =>
  issue._tag === "Type" ||
  (issue._tag === "Refinement" && issue.kind === "From" && isOfOtherKind(issue.issue))

/** Of a union, the fault of the one member that is meant; of anything else, all faults within. */
const addComposite = (
  issue: Extract<ParseResult.ParseIssue, { readonly _tag: "Composite" }>,
  path: Path,
  faults: Fault.Faults
): void => {
  const issues = isIssueList(issue.issues) ? issue.issues : [issue.issues]
  if (issue.ast._tag !== "Union") {
    for (const each of issues) addIssue(each, path, faults)
    return
  }
  const others = issues.filter((each) => each._tag !== "Type" || !isLiteral(each.ast))
  const real = others.find((each) => !isOfOtherKind(each)) ?? others[0] ?? issue
  if (real._tag === "Type" || real === issue) addMistyped(issue.ast, path, faults)
  else addIssue(real, path, faults)
}

const addIssue = (issue: ParseResult.ParseIssue, path: Path, faults: Fault.Faults): void => {
  if (faults.isFull) return
  switch (issue._tag) {
    case "Pointer": {
      const parts = Array.isArray(issue.path) ? issue.path : [issue.path]
      const steps = parts.map((part) => (typeof part === "number" ? part : String(part)))
      addIssue(issue.issue, [...path, ...steps], faults)
      return
    }
    case "Composite":
      addComposite(issue, path, faults)
      return
    case "Refinement":
      if (issue.kind === "From") {
        addIssue(issue.issue, path, faults)
        return
      }
      faults.add(path, ...refused(issue.ast, path))
      return
    case "Transformation":
      addIssue(issue.issue, path, faults)
      return
    case "Missing":
      faults.add(path, "required", `${named(path)} is required.`)
      return
    case "Unexpected": {
      const { code, message } = unknownField(path.slice(0, -1), String(path.at(-1) ?? ""), [])
      faults.add(path, code, message)
      return
    }
    case "Type":
      addMistyped(issue.ast, path, faults)
      return
    default:
      faults.add(path, "invalid_value", `${named(path)} is not allowed here.`)
  }
}

/** The faults that the interpreter found, the paths below `prefix`. */
export const ofIssue = (issue: ParseResult.ParseIssue, prefix: Path = []): ReadonlyArray<Fault.Fault> => {
  const faults = new Fault.Faults()
  addIssue(issue, prefix, faults)
  return faults.list
}

const interpreterOf = Memo.ofObject((ast: AST.AST) =>
  ParseResult.decodeUnknownEither(Schema.make(ast), { ...strict, errors: "all" })
)

// The walk ----------------------------------------------------------------------------------------------------------

/** The most items or members that an array or object may have; `undefined` when the node says nothing of it. */
const mostOf = (ast: AST.AST): { readonly count: number; readonly noun: string } | undefined => {
  const { maxItems, maxProperties } = ruleOf(ast)
  if (typeof maxItems === "number") return { count: maxItems, noun: "items" }
  return typeof maxProperties === "number" ? { count: maxProperties, noun: "members" } : undefined
}

/** Stops counting one past the most. */
export const hasMoreMembers = (input: object, most: number): boolean => {
  let count = 0
  for (const _ in input) {
    count += 1
    if (count > most) return true
  }
  return false
}

const isLonger = (input: object, most: number): boolean =>
  Array.isArray(input) ? input.length > most : hasMoreMembers(input, most)

/** True when an object or array has more members or items than its schema takes. */
export const isTooLong = (ast: AST.AST, input: unknown): boolean => {
  const most = mostOf(ast)
  return most !== undefined && typeof input === "object" && input !== null && isLonger(input, most.count)
}

/** The object or array that the walk looks into, beneath refinements and the absence of an optional field. */
export const structureOf = (ast: AST.AST): AST.AST | undefined => {
  switch (ast._tag) {
    case "Refinement":
    case "Transformation":
      return structureOf(ast.from) === undefined ? undefined : ast
    case "Union": {
      const [only, ...others] = ast.types.filter(
        (type) => type._tag !== "UndefinedKeyword" && type._tag !== "Literal"
      )
      return only === undefined || others.length > 0 ? undefined : structureOf(only)
    }
    case "TypeLiteral":
      return ast
    case "TupleType":
      return ast.elements.length === 0 && ast.rest.length === 1 ? ast : undefined
    case "Declaration":
      return mostOf(ast) === undefined ? undefined : ast
    default:
      return undefined
  }
}

/** True when it, or a part of it that is no item of a list, has more members or items than its schema takes. */
export const isTooLongWithin = (ast: AST.AST, input: unknown): boolean => {
  if (isTooLong(ast, input)) return true
  const structure = structureOf(ast)
  if (structure === undefined || !isRecord(input)) return false
  if (structure !== ast) return isTooLongWithin(structure, input)
  if (ast._tag === "Refinement" || ast._tag === "Transformation") return isTooLongWithin(ast.from, input)
  return (
    ast._tag === "TypeLiteral" &&
    ast.propertySignatures.some(({ name, type }) => isTooLongWithin(type, input[String(name)]))
  )
}

const isRecord = (input: unknown): input is Readonly<Record<string, unknown>> =>
  typeof input === "object" && input !== null && !Array.isArray(input)

const leaf = (ast: AST.AST, input: unknown, path: Path, faults: Fault.Faults): void => {
  const decoded = interpreterOf(ast)(input)
  if (Either.isLeft(decoded)) addIssue(decoded.left, path, faults)
}

const isOrdinary = (ast: AST.AST): boolean =>
  Option.isNone(AST.getParseOptionsAnnotation(ast)) && Option.isNone(AST.getDecodingFallbackAnnotation(ast))

const struct = (
  ast: AST.TypeLiteral,
  input: Readonly<Record<string, unknown>>,
  path: Path,
  faults: Fault.Faults
): void => {
  const known: Array<string> = []
  for (const { isOptional, name, type } of ast.propertySignatures) {
    const key = String(name)
    known.push(key)
    if (Object.hasOwn(input, key)) {
      walk(type, input[key], [...path, key], faults)
    } else if (!isOptional && Either.isLeft(interpreterOf(type)(input[key]))) {
      faults.add([...path, key], "required", `\`${key}\` is required.`)
    }
  }
  // The names are not listed: there may be a hundred thousand.
  for (const name in input) {
    if (faults.isFull) return
    if (!Object.hasOwn(input, name) || known.includes(name)) continue
    const { code, message, path: where } = unknownField(path, name, known)
    faults.add(where, code, message)
  }
}

/** The interpreter takes anything for it; here it is an object without members. */
export const isEmptyStruct = (ast: AST.AST): boolean =>
  ast._tag === "TypeLiteral" && ast.propertySignatures.length === 0 && ast.indexSignatures.length === 0

const items = (item: AST.AST, input: ReadonlyArray<unknown>, path: Path, faults: Fault.Faults): void => {
  // Skips what is right in a fraction of the time that the walk takes.
  const decode = decoderOf(item)
  for (let index = 0; index < input.length && !faults.isFull; index++) {
    if (Either.isLeft(decode(input[index]))) walk(item, input[index], [...path, index], faults)
  }
}

/** The parts of an object or array first; where none is wrong, its own rule. */
const partsFirst = (
  ast: AST.Refinement | AST.Transformation,
  input: object,
  path: Path,
  faults: Fault.Faults
): void => {
  const before = faults.list.length
  walk(ast.from, input, path, faults)
  if (faults.list.length === before) leaf(ast, input, path, faults)
}

const parts = (ast: AST.AST, input: object, path: Path, faults: Fault.Faults): void => {
  if (ast._tag === "Refinement" || ast._tag === "Transformation") partsFirst(ast, input, path, faults)
  else if (ast._tag === "TypeLiteral" && isRecord(input) && ast.indexSignatures.length === 0)
    struct(ast, input, path, faults)
  else if (ast._tag === "TupleType" && Array.isArray(input) && ast.rest[0] !== undefined)
    items(ast.rest[0].type, input, path, faults)
  else leaf(ast, input, path, faults)
}

/** An object or an array, its length first and then what it holds. */
const nested = (ast: AST.AST, input: object, path: Path, faults: Fault.Faults): void => {
  const most = mostOf(ast)
  const structure = structureOf(ast)
  if (most !== undefined && isLonger(input, most.count))
    faults.add(path, "out_of_range", `${named(path)} must be at most ${most.count} ${most.noun}.`)
  else if (structure === undefined || (structure === ast && ast._tag === "Declaration"))
    leaf(ast, input, path, faults)
  else if (structure === ast) parts(ast, input, path, faults)
  else walk(structure, input, path, faults)
}

/** Adds the faults of what stands there; none when the schema accepts it. */
const walk = (ast: AST.AST, input: unknown, path: Path, faults: Fault.Faults): void => {
  if (faults.isFull) return
  if (isEmptyStruct(ast) && !isRecord(input)) addMistyped(ast, path, faults)
  else if (typeof input === "object" && input !== null && isOrdinary(ast)) nested(ast, input, path, faults)
  else leaf(ast, input, path, faults)
}

/** Every fault of an input, the paths below `prefix`; none when the walk finds nothing wrong. */
export const faults = (ast: AST.AST, input: unknown, prefix: Path = []): ReadonlyArray<Fault.Fault> => {
  const found = new Fault.Faults()
  walk(ast, input, prefix, found)
  return found.list
}
