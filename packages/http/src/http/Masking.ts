/**
 * Answers for operators who are not to see people's numbers (`mask_phones`): `+34 600 ··· 234`. The schema of an answer tells
 * which texts are phones, and which are ids, times, amounts or words of ours; every other text is looked through for numbers. So
 * no answer can forget it, and what has another form, as lines or as a page, is made of what is masked.
 */
import { type Fault, Phone } from "@sendwright/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { isPhone, isPlain } from "../api/Texts.ts"
import type { Row } from "./Lines.ts"
import type { Problem } from "./Problems.ts"
import type { Reply } from "./Route.ts"

/** True for what is done for an operator who does not see numbers. */
export class MaskedPhones extends Context.Reference<MaskedPhones>()("@sendwright/http/http/MaskedPhones", {
  defaultValue: () => false
}) {}

type Mask = (value: unknown) => unknown

const unchanged: Mask = (value) => value

const ofText: Mask = (value) => (typeof value === "string" ? Phone.maskIn(value) : value)

const ofPhone: Mask = (value) =>
  typeof value === "string" && Phone.form.test(value) ? Phone.mask(value) : ofText(value)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Of what no schema tells: every text, and every name of a member. */
const ofAnything: Mask = (value) => {
  if (typeof value === "string") return Phone.maskIn(value)
  if (Array.isArray(value)) return value.map(ofAnything)
  return isRecord(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, member]) => [Phone.maskIn(name), ofAnything(member)])
      )
    : value
}

/** The texts whose form says that they are no number. */
const plainFormats: ReadonlySet<unknown> = new Set(["date-time", "uuid"])

const ruleOf = (ast: AST.AST): object => Option.getOrElse(AST.getJSONSchemaAnnotation(ast), () => ({}))

const isPlainText = (ast: AST.AST): boolean =>
  isPlain(ast) || plainFormats.has(Reflect.get(ruleOf(ast), "format"))

const ofMembers = (ast: AST.TypeLiteral): Mask => {
  const members = new Map(ast.propertySignatures.map(({ name, type }) => [String(name), maskOf(type)]))
  const [others] = ast.indexSignatures
  const other = others === undefined ? ofAnything : maskOf(others.type)
  return (value) =>
    isRecord(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, member]) => {
            const known = members.get(name)
            return known === undefined ? [Phone.maskIn(name), other(member)] : [name, known(member)]
          })
        )
      : ofAnything(value)
}

/** By the first of them that the value is. */
const ofUnion = (ast: AST.Union): Mask => {
  const isNull = (type: AST.AST): boolean => type._tag === "Literal" || type._tag === "UndefinedKeyword"
  const types = ast.types.filter((type) => !isNull(type))
  const [first, ...others] = types
  if (first === undefined) return unchanged
  const only = maskOf(first)
  if (others.length === 0) return (value) => (value === null || value === undefined ? value : only(value))
  const known = types.map((type) => ({ is: Schema.is(Schema.make(type)), mask: maskOf(type) }))
  return (value) => (known.find(({ is }) => is(value))?.mask ?? ofAnything)(value)
}

const maskOf = (ast: AST.AST): Mask => {
  if (isPhone(ast)) return ofPhone
  if (isPlainText(ast)) return unchanged
  switch (ast._tag) {
    case "Refinement":
    case "Transformation":
      return maskOf(ast.from)
    case "Literal":
    case "NumberKeyword":
    case "BooleanKeyword":
    case "UndefinedKeyword":
      return unchanged
    case "StringKeyword":
      return ofText
    case "TypeLiteral":
      return ofMembers(ast)
    case "TupleType": {
      const [rest] = ast.rest
      const item = rest === undefined || ast.elements.length > 0 ? ofAnything : maskOf(rest.type)
      return (value) => (Array.isArray(value) ? value.map(item) : ofAnything(value))
    }
    case "Union":
      return ofUnion(ast)
    default:
      return ofAnything
  }
}

/** Masks values of a schema. It is read when one is masked first. */
export const of = (schema: Schema.Schema.Any): Mask => {
  let mask: Mask | undefined
  return (value) => {
    mask ??= maskOf(schema.ast)
    return mask(value)
  }
}

/** The same of the rows of an export. */
export const ofRow = (schema: Schema.Schema.Any): ((row: Row) => Row) => {
  const mask = of(schema)
  return (row) => {
    const masked = mask(row)
    return isRecord(masked) ? masked : {}
  }
}

/** The reply of a handler, as whoever asks may see it. */
export const reply = <E>(mask: Mask, made: Effect.Effect<Reply, E>): Effect.Effect<Reply, E> =>
  Effect.zipWith(made, MaskedPhones, (found, isMasked) =>
    isMasked ? { ...found, body: mask(found.body) } : found
  )

const faultOf = ({ message, path, ...fault }: Fault.Fault): Fault.Fault => ({
  ...fault,
  message: Phone.maskIn(message),
  path: path.map((step) => (typeof step === "string" ? Phone.maskIn(step) : step))
})

/** A refusal quotes what was asked for, and what is stored. */
export const problem = (found: Problem): Problem => ({
  ...found,
  detail: Phone.maskIn(found.detail),
  faults: found.faults?.map(faultOf) ?? null,
  members: Object.fromEntries(
    Object.entries(found.members).map(([name, member]) => [name, ofAnything(member)])
  )
})
