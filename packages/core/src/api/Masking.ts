/**
 * Answers for operators who are not to see people's numbers (`mask_phones`): `+34 600 ··· 234`, nor their user ids: `US.··· 655`.
 * The schema of an answer tells which texts are either, and which are ids, times, amounts or words of ours; every other text is
 * looked through for both. So no answer can forget it, and what has another form, as lines or as a page, is made of what is masked.
 * A number that the request itself names is masked however it is spelled.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import * as Address from "../domain/Address.ts"
import { type Fault, Person, Phone } from "../index.ts"
import type { Row } from "./Lines.ts"
import type { Problem } from "./Problems.ts"
import type { Reply } from "./Route.ts"
import { isLink, isPhone, isPlain, isUserId } from "./Texts.ts"

/** Masks the numbers and user ids in a text. What is told of it by its place: which of them it is, or the name of a member. */
export type Hide = (text: string, kind?: "name" | "phone" | "userId") => string

/** How the numbers are masked in what is done for an operator who does not see them; null for all others. */
export class MaskedPhones extends Context.Reference<MaskedPhones>()("@sendwright/core/api/MaskedPhones", {
  defaultValue: (): Hide | null => null
}) {}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Of a request: the numbers that its path and its query name are known. */
export const hiding = (url: string): Hide => {
  const [path = "", query = ""] = url.split("?", 2)
  const texts = [...path.split("/").map(decoded), ...new URLSearchParams(query).values()]
  const masker = Phone.masker([...new Set(texts.flatMap((text) => Person.read(text, null)?.phone ?? []))])
  const userIds = texts.filter((text) => Address.countryOf(text) !== undefined)
  return (text, kind) => {
    if (kind === "phone") return Phone.mask(text)
    return kind === "userId" ? Address.maskUserId(text) : masker(Address.maskUserIds(text, userIds))
  }
}

export type Mask = (value: unknown, hide: Hide) => unknown

const unchanged: Mask = (value) => value

const ofText: Mask = (value, hide) => (typeof value === "string" ? hide(value) : value)

/** Whatever its length: the field says that it is one. */
const ofPhone: Mask = (value, hide) =>
  typeof value === "string" && /^[0-9]+$/.test(value) ? hide(value, "phone") : ofText(value, hide)

/** Whatever it looks like. */
const ofUserId: Mask = (value, hide) => (typeof value === "string" ? hide(value, "userId") : value)

/** A path that has a number in it leads to nobody once that is masked: it leads to the account instead. */
const ofLink: Mask = (value, hide) => {
  if (typeof value !== "string") return value
  const link = hide(value)
  return link === value ? value : (/^.*?\/accounts\/[^/?]+/.exec(value)?.[0] ?? link)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const amountName = /(?:cost|price)$/i
const amountForm = /^[0-9]+\.[0-9]{4}$/
const phoneName = /^(?:phone|to|from|wa_id|recipient_id|msisdn)$/i
const userIdName = /(?:^|_)user_ids?$/i

/** The mask of a member that no schema tells: its name says whether it is an amount, a user id, or a phone that is written as a number. */
const ofNamed = (name: string, member: unknown, hide: Hide): unknown => {
  if (typeof member === "string" && amountName.test(name) && amountForm.test(member)) return member
  if (typeof member === "string" && userIdName.test(name) && Address.countryOf(member) !== undefined)
    return ofUserId(member, hide)
  return typeof member === "number" && phoneName.test(name)
    ? ofPhone(String(member), hide)
    : ofAnything(member, hide)
}

/** Masks a value that no schema describes: every text in it, and every name of a member. */
const ofAnything: Mask = (value, hide) => {
  if (typeof value === "string") return hide(value)
  if (Array.isArray(value)) return value.map((each) => ofAnything(each, hide))
  return isRecord(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, member]) => [hide(name, "name"), ofNamed(name, member, hide)])
      )
    : value
}

/** The texts whose form says that they are no number. */
const plainFormats: ReadonlySet<unknown> = new Set(["date-time", "uuid"])

const ruleOf = (ast: AST.AST): object => Option.getOrElse(AST.getJSONSchemaAnnotation(ast), () => ({}))

const isPlainText = (ast: AST.AST): boolean =>
  isPlain(ast) || plainFormats.has(Reflect.get(ruleOf(ast), "format"))

const ofMembers = (ast: AST.TypeLiteral): Mask => {
  const members = new Map(ast.propertySignatures.map(({ name, type }) => [String(name), ofAst(type)]))
  const [others] = ast.indexSignatures
  const other = others === undefined || others.type._tag === "UnknownKeyword" ? null : ofAst(others.type)
  return (value, hide) =>
    isRecord(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, member]) => {
            const known = members.get(name)
            if (known !== undefined) return [name, known(member, hide)]
            return [hide(name, "name"), other === null ? ofNamed(name, member, hide) : other(member, hide)]
          })
        )
      : ofAnything(value, hide)
}

/** By the first of them that the value is. */
const ofUnion = (ast: AST.Union): Mask => {
  const isNull = (type: AST.AST): boolean => type._tag === "Literal" || type._tag === "UndefinedKeyword"
  const types = ast.types.filter((type) => !isNull(type))
  const [first, ...others] = types
  if (first === undefined) return unchanged
  const only = ofAst(first)
  if (others.length === 0)
    return (value, hide) => (value === null || value === undefined ? value : only(value, hide))
  const known = types.map((type) => ({ is: Schema.is(Schema.make(type)), mask: ofAst(type) }))
  return (value, hide) => (known.find(({ is }) => is(value))?.mask ?? ofAnything)(value, hide)
}

/** Of a text that its schema tells more of than its form. */
const ofTold = (ast: AST.AST): Mask | undefined => {
  if (isPhone(ast)) return ofPhone
  if (isUserId(ast)) return ofUserId
  if (isLink(ast)) return ofLink
  return isPlainText(ast) ? unchanged : undefined
}

const ofAst = (ast: AST.AST): Mask => {
  const told = ofTold(ast)
  if (told !== undefined) return told
  switch (ast._tag) {
    case "Refinement":
    case "Transformation":
      return ofAst(ast.from)
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
      const item = rest === undefined || ast.elements.length > 0 ? ofAnything : ofAst(rest.type)
      return (value, hide) =>
        Array.isArray(value) ? value.map((each) => item(each, hide)) : ofAnything(value, hide)
    }
    case "Union":
      return ofUnion(ast)
    default:
      return ofAnything
  }
}

/** Masks values of a schema. It is read when one is masked first. */
export const maskOf = (schema: Schema.Schema.Any): Mask => {
  let mask: Mask | undefined
  return (value, hide) => {
    mask ??= ofAst(schema.ast)
    return mask(value, hide)
  }
}

/** The same of the rows of an export. */
export const ofRow = (schema: Schema.Schema.Any): ((row: Row, hide: Hide) => Row) => {
  const mask = maskOf(schema)
  return (row, hide) => {
    const masked = mask(row, hide)
    return isRecord(masked) ? masked : {}
  }
}

/** The reply of a handler, as whoever asks may see it. */
export const reply = <E>(mask: Mask, made: Effect.Effect<Reply, E>): Effect.Effect<Reply, E> =>
  Effect.zipWith(made, MaskedPhones, (found, hide) =>
    hide === null ? found : { ...found, body: mask(found.body, hide) }
  )

/** A refusal quotes what was asked for, and what is stored. */
export const problem = (found: Problem, hide: Hide): Problem => ({
  ...found,
  detail: hide(found.detail),
  faults:
    found.faults?.map(
      ({ message, path, ...fault }): Fault.Fault => ({
        ...fault,
        message: hide(message),
        path: path.map((step) => (typeof step === "string" ? hide(step) : step))
      })
    ) ?? null,
  members: Object.fromEntries(
    Object.entries(found.members).map(([name, member]) => [name, ofAnything(member, hide)])
  )
})
