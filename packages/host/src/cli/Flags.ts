/**
 * The flags of an operation: one for each query parameter and each field of the body, read off the endpoint's schemas,
 * so that the command line has what the API has. A field of a field stands among the others: no two have one name.
 */
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AST from "effect/SchemaAST"
import * as Files from "./Files.ts"
import * as Times from "./Times.ts"

/** A schema, of which only the description is looked at. */
export interface Described {
  readonly ast: AST.AST
}

export type Fields = Readonly<Record<string, unknown>>

/** The word that is written for null. */
const none = "none"

/** Without its rules, which are the API's to check; and whether it may be null. */
const plain = (ast: AST.AST): { readonly type: AST.AST; readonly nullable: boolean } => {
  if (ast._tag === "Refinement" || ast._tag === "Transformation") return plain(ast.from)
  if (ast._tag !== "Union") return { type: ast, nullable: false }
  const isNull = (each: AST.AST): boolean => each._tag === "Literal" && each.literal === null
  const [only, ...more] = ast.types.filter((each) => each._tag !== "UndefinedKeyword" && !isNull(each))
  const nullable = ast.types.some(isNull)
  return only === undefined || more.length > 0
    ? { type: ast, nullable }
    : { type: plain(only).type, nullable: nullable || plain(only).nullable }
}

/** The texts that are allowed, when they are few. */
const choices = (ast: AST.AST): ReadonlyArray<string> =>
  ast._tag === "Literal"
    ? ast.literal === null
      ? []
      : [String(ast.literal)]
    : ast._tag === "Union"
      ? ast.types.flatMap(choices)
      : ast._tag === "TupleType"
        ? ast.rest.flatMap(({ type }) => choices(type))
        : []

const isOfChoices = (ast: AST.AST): boolean =>
  ast._tag === "Union"
    ? ast.types.every(isOfChoices)
    : ast._tag === "Literal" || ast._tag === "UndefinedKeyword"

/** The help of a flag: its purpose, and its rule; the kind of the flag tells the type itself. */
const ruleOf = (ast: AST.AST): string | undefined => {
  if (ast._tag === "Refinement") {
    const rule = Option.getOrUndefined(AST.getDescriptionAnnotation(ast)) ?? ruleOf(ast.from)
    const told: unknown = Reflect.get(
      Option.getOrElse(AST.getJSONSchemaAnnotation(ast), () => ({})),
      "description"
    )
    return [...new Set([told, rule])].filter((each) => typeof each === "string").join(" ") || undefined
  }
  if (ast._tag === "Transformation") return ruleOf(ast.from)
  return ast._tag === "Union" ? ast.types.map(ruleOf).find((rule) => rule !== undefined) : undefined
}

const isTime = (ast: AST.AST): boolean =>
  ast._tag === "Refinement"
    ? Option.exists(AST.getJSONSchemaAnnotation(ast), (rule) => Reflect.get(rule, "format") === "date-time")
    : ast._tag === "Union" && ast.types.some(isTime)

/** Texts with commas between; nothing is the empty list. */
const list = (text: string): ReadonlyArray<string> =>
  text.trim() === "" ? [] : text.split(",").map((each) => each.trim())

const number = (text: string): Option.Option<number> =>
  text.trim() === "" ? Option.none() : Option.filter(Option.some(Number(text)), Number.isFinite)

const truth = [
  ["true", true],
  ["false", false]
] satisfies Array<[string, boolean]>

/** `kind` is what stands for the value in the help. */
const shown = <A>(option: Options.Options<A>, kind: string, rule: string | undefined): Options.Options<A> => {
  const named = Options.withPseudoName(option, kind)
  return rule === undefined ? named : Options.withDescription(named, rule)
}

const isGroup = (ast: AST.AST): ast is AST.TypeLiteral =>
  ast._tag === "TypeLiteral" && ast.indexSignatures.length === 0

/** A group whose fields are single values; those of groups within a group may have names that others have. */
const isFlat = (group: AST.TypeLiteral): boolean =>
  !group.propertySignatures.some(({ type }) => isGroup(plain(type).type))

const hasItems = (ast: AST.TupleType, isOne: (item: AST.AST) => boolean): boolean =>
  ast.rest.some(({ type }) => isOne(plain(type).type))

/** One of few texts, or null. */
const choiceFlag = (name: string, ast: AST.AST): Options.Options<unknown> => {
  const { nullable, type } = plain(ast)
  const texts = choices(type).map((text): [string, string | null] => [text, text])
  const option = Options.choiceWithValue(name, nullable ? [...texts, [none, null]] : texts)
  const rule = ruleOf(ast)
  return rule === undefined ? option : Options.withDescription(option, rule)
}

/** A list with commas between, of texts or of numbers. */
const listFlag = (name: string, type: AST.TupleType, nullable: boolean): Options.Options<unknown> => {
  const allowed = choices(type)
  const text = Options.text(name)
  const read = (each: string): ReadonlyArray<string> | null => (nullable && each === none ? null : list(each))
  const option: Options.Options<unknown> = hasItems(type, AST.isNumberKeyword)
    ? Options.filterMap(
        text,
        (each) => {
          const items = read(each)
          return items === null ? Option.some(null) : Option.all(items.map(number))
        },
        `--${name} must be numbers with commas between`
      )
    : Options.map(text, read)
  return shown(
    option,
    nullable ? `list|${none}` : "list",
    `with commas between${allowed.length === 0 ? "" : `, of: ${allowed.join(", ")}`}`
  )
}

/** A time that may be null, or a local one with its zone behind it. */
const timeFlag = (name: string, ast: AST.AST): Options.Options<unknown> => {
  const { nullable, type } = plain(ast)
  const read = type._tag === "Union" ? Times.readMoment : Times.read
  return shown(
    Options.map(Options.text(name), (text) => (nullable && text === none ? null : read(text))),
    nullable ? `time|${none}` : "time",
    `${ruleOf(ast)}, or a day: its midnight in UTC`
  )
}

/** A flag whose value comes from a file, in JSON. */
const fromFile = (name: string): Options.Options<unknown> =>
  shown(
    Options.mapEffect(Options.text(`${name}-file`), (file) =>
      Effect.mapError(Files.json(file), ValidationError.invalidValue)
    ),
    "file.json",
    "- is the standard input"
  )

/** The flag of one field. What is neither text nor number is JSON, and comes from a file. */
const flag = (name: string, ast: AST.AST): Options.Options<unknown> => {
  const { nullable, type } = plain(ast)
  const rule = ruleOf(ast)
  if (isTime(ast)) return timeFlag(name, ast)
  switch (type._tag) {
    case "StringKeyword":
      return shown(Options.text(name), "text", rule)
    case "NumberKeyword":
      return nullable
        ? Options.text(name).pipe(
            Options.filterMap(
              (text): Option.Option<unknown> => (text === none ? Option.some(null) : number(text)),
              `--${name} must be a number or ${none}`
            ),
            (option) => shown(option, `number|${none}`, rule)
          )
        : shown(Options.float(name), "number", rule)
    case "BooleanKeyword":
      return Options.choiceWithValue(name, truth)
    case "Literal":
    case "Union":
      return isOfChoices(type) ? choiceFlag(name, ast) : fromFile(name)
    case "TupleType":
      return hasItems(type, isGroup) ? fromFile(name) : listFlag(name, type, nullable)
    default:
      return fromFile(name)
  }
}

/** The literal of a flag that stands without a value, because its value can only be `true`, or only the text of it. */
const switched = (ast: AST.AST): AST.LiteralValue | undefined => {
  const { type } = plain(ast)
  return type._tag === "Literal" && String(type.literal) === "true" ? type.literal : undefined
}

const kebab = (field: string): string => field.replaceAll("_", "-")

/** The same fields, of which each may be left out. */
const partial = (fields: ReadonlyArray<AST.PropertySignature>): AST.TypeLiteral =>
  new AST.TypeLiteral(
    fields.map(
      ({ annotations, isReadonly, name, type }) =>
        new AST.PropertySignature(name, type, true, isReadonly, annotations)
    ),
    []
  )

/** A group of fields is there when one of its fields is: which others it needs then is the API's to say. */
const group = (ast: AST.TypeLiteral): Options.Options<Option.Option<unknown>> =>
  Options.map(fieldsOf(partial(ast.propertySignatures), []), (fields) =>
    Object.keys(fields).length === 0 ? Option.none() : Option.some(fields)
  )

/** A group that may be null: a flag of its own name is that. */
const groupOrNull = (name: string, ast: AST.TypeLiteral): Options.Options<Option.Option<unknown>> => {
  const isNone = shown(Options.choiceWithValue(name, [[none, null]]), none, undefined)
  return Options.map(Options.all([Options.optional(isNone), group(ast)]), ([taken, fields]) =>
    Option.orElse(fields, () => taken)
  )
}

const nothing: Options.Options<Fields> = Options.map(Options.none, () => ({}))

const member = (property: AST.PropertySignature): Options.Options<Option.Option<unknown>> => {
  const { nullable, type } = plain(property.type)
  const name = kebab(String(property.name))
  if (isGroup(type) && isFlat(type)) return nullable ? groupOrNull(name, type) : group(type)
  const on = switched(type)
  if (on !== undefined)
    return Options.map(Options.boolean(name), (isOn) => (isOn ? Option.some(on) : Option.none()))
  const option = flag(name, property.type)
  return property.isOptional ? Options.optional(option) : Options.map(option, Option.some)
}

const fieldsOf = (ast: AST.TypeLiteral, except: ReadonlyArray<string>): Options.Options<Fields> => {
  const members = ast.propertySignatures
    .filter(({ name }) => !except.includes(String(name)))
    .map((property): [string, Options.Options<Option.Option<unknown>>] => [
      String(property.name),
      member(property)
    ])
  // The library has no empty record of options.
  if (members.length === 0) return nothing
  return Options.map(Options.all(Object.fromEntries(members)), (found) =>
    Object.fromEntries(
      Object.entries(found).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : []))
    )
  )
}

/** The fields of a body, or of the several that it may be: then each may be left out. */
const bodyOf = (ast: AST.AST): AST.TypeLiteral | undefined => {
  const { type } = plain(ast)
  if (isGroup(type)) return type
  const groups = type._tag === "Union" ? type.types.filter(isGroup) : []
  if (type._tag !== "Union" || groups.length < type.types.length) return undefined
  return partial(groups.flatMap(({ propertySignatures }) => propertySignatures))
}

/** Flags for the fields of a schema, but for those that come from elsewhere; the fields that were given. */
export const make = (
  schema: Option.Option<Described>,
  except: ReadonlyArray<string> = []
): Options.Options<Fields> => {
  const body = Option.isSome(schema) ? bodyOf(schema.value.ast) : undefined
  return body === undefined ? nothing : fieldsOf(body, except)
}
