/**
 * Decodes input against a Schema and tells every fault by field. The messages say what is expected and never
 * repeat the value, which may be a secret.
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import * as Compile from "./Compile.ts"
import * as Fault from "./Fault.ts"

type Path = ReadonlyArray<string | number>

const isIssueList = (
  issues: ParseResult.ParseIssue | ReadonlyArray<ParseResult.ParseIssue>
): issues is ReadonlyArray<ParseResult.ParseIssue> => Array.isArray(issues)

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
  TypeLiteral: "an object",
  Declaration: "an object with string values"
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
    default:
      return nouns[ast._tag] ?? "another value"
  }
}

/** What a refinement asks, from its JSON Schema annotation; `undefined` when that tells no bound. */
const bound = (ast: AST.Refinement): string | undefined => {
  const rule = ruleOf(ast)
  if (rule["minItems"] !== undefined) return `at least ${rule["minItems"]} item(s)`
  if (rule["maxItems"] !== undefined) return `at most ${rule["maxItems"]} items`
  if (rule["minLength"] !== undefined && rule["maxLength"] !== undefined) {
    return `${rule["minLength"]} to ${rule["maxLength"]} characters`
  }
  if (rule["minLength"] !== undefined) return `at least ${rule["minLength"]} character(s)`
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

const refused = (ast: AST.Refinement, path: Path): Fault.Fault => {
  if (isWhole(ast)) return Fault.make(path, "invalid_type", `${named(path)} must be a whole number.`)
  const asked = bound(ast)
  if (asked !== undefined) return Fault.make(path, "out_of_range", `${named(path)} must be ${asked}.`)
  const described = Option.getOrElse(AST.getDescriptionAnnotation(ast), () => "another value")
  return Fault.make(path, "invalid_value", `${named(path)} must be ${described}.`)
}

const walk = (issue: ParseResult.ParseIssue, path: Path, faults: Array<Fault.Fault>): void => {
  switch (issue._tag) {
    case "Pointer": {
      const parts = Array.isArray(issue.path) ? issue.path : [issue.path]
      const steps = parts.map((part) => (typeof part === "number" ? part : String(part)))
      walk(issue.issue, [...path, ...steps], faults)
      return
    }
    case "Composite": {
      const issues = isIssueList(issue.issues) ? issue.issues : [issue.issues]
      if (issue.ast._tag !== "Union") {
        for (const each of issues) walk(each, path, faults)
        return
      }
      const allowed = literals(issue.ast)
      if (allowed.length > 0) {
        faults.push(Fault.make(path, "invalid_value", `${named(path)} must be one of ${allowed.join(", ")}.`))
        return
      }
      const real = issues.find((each) => each._tag !== "Type" || each.ast._tag !== "UndefinedKeyword")
      if (real !== undefined) walk(real, path, faults)
      return
    }
    case "Refinement":
      if (issue.kind === "From") {
        walk(issue.issue, path, faults)
        return
      }
      faults.push(refused(issue.ast, path))
      return
    case "Transformation":
      walk(issue.issue, path, faults)
      return
    case "Missing":
      faults.push(Fault.make(path, "required", `${named(path)} is required.`))
      return
    case "Type": {
      const allowed = literals(issue.ast)
      faults.push(
        allowed.length > 0
          ? Fault.make(path, "invalid_value", `${named(path)} must be one of ${allowed.join(", ")}.`)
          : Fault.make(path, "invalid_type", `${named(path)} must be ${noun(issue.ast)}.`)
      )
      return
    }
    default:
      faults.push(Fault.make(path, "invalid_value", `${named(path)} is not allowed here.`))
  }
}

/** Every fault of an input that did not decode, the paths below `prefix`. */
export const faults = (issue: ParseResult.ParseIssue, prefix: Path = []): ReadonlyArray<Fault.Fault> => {
  const found: Array<Fault.Fault> = []
  walk(issue, prefix, found)
  return found
}

/** Made when it is first asked for: a process needs few of the many decoders of the contract. */
const lazily = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/**
 * A decoder that tells every fault at once; members that the schema does not name are left out. What is right is
 * decoded by compiled code, and the interpreter tells what is wrong.
 */
export const decoder = <A, I>(
  schema: Schema.Schema<A, I>,
  prefix: Path = []
): ((input: unknown) => Either.Either<A, ReadonlyArray<Fault.Fault>>) => {
  const compiled = lazily(() => Compile.compile(schema))
  const interpreter = lazily(() => Schema.decodeUnknownEither(schema, { errors: "all" }))
  return (input) => {
    const decoded = compiled()(input)
    return decoded === Compile.failed
      ? Either.mapLeft(interpreter()(input), (error) => faults(error.issue, prefix))
      : Either.right(decoded)
  }
}
