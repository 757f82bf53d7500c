/** Schemas as tables: a row for each member, with those of the objects that stand in it. */
import { isObject, type Json, member } from "../../../api/Json.ts"
import { anchor, code, escape, prose } from "./Html.ts"

export type Schemas = Json

const nameOf = (schema: Json): string | undefined =>
  typeof schema["$ref"] === "string" ? schema["$ref"].replace(/^.*\//, "") : undefined

const listOf = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.filter(isObject) : [])

/** The schema that a reference names, with what stands beside the reference. */
export const resolved = (schema: Json, schemas: Schemas): Json => {
  const name = nameOf(schema)
  if (name === undefined) return schema
  const { $ref: _, ...rest } = schema
  return { ...resolved(member(schemas, name), schemas), ...rest }
}

/** All that it may be; null is none of them. */
export const formsOf = (schema: Json): ReadonlyArray<Json> => {
  const forms = listOf(schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"])
  return (forms.length === 0 ? [schema] : forms.flatMap(formsOf)).filter(({ type }) => type !== "null")
}

const isNullable = (schema: Json): boolean =>
  listOf(schema["anyOf"]).some((form) => form["type"] === "null" || isNullable(form))

/** Whether it is told in a place of its own, to which others link. */
const isOwn = (schema: Json): boolean => isObject(schema["properties"]) || schema["anyOf"] !== undefined

const formats: Json = { "date-time": "time", uuid: "UUID", uri: "URL" }

const typeOfOne = (schema: Json, schemas: Schemas): string => {
  const name = nameOf(schema)
  const whole = resolved(schema, schemas)
  if (name !== undefined && isOwn(whole)) return `<a href="#schema-${escape(name)}">${escape(name)}</a>`
  const { additionalProperties, const: only, enum: values, format, items, properties, type } = whole
  if (only !== undefined) return code(JSON.stringify(only))
  if (Array.isArray(values) && values.length === 1) return code(JSON.stringify(values[0]))
  if (isObject(items)) return `list of ${typeOf(items, schemas)}`
  if (isObject(additionalProperties) && properties === undefined)
    return `map of ${typeOf(additionalProperties, schemas)}`
  if (typeof format === "string" && typeof formats[format] === "string") return formats[format]
  return Array.isArray(type) ? type.join(" or ") : typeof type === "string" ? type : "anything"
}

export const typeOf = (schema: Json, schemas: Schemas): string => {
  const types = formsOf(schema).map((form) => typeOfOne(form, schemas))
  return [...new Set(types), ...(isNullable(schema) ? ["null"] : [])].join(" or ")
}

/** Of numbers that no range limits a schema still has the least and the most that are exact. */
const rangeOf = (least: unknown, most: unknown, of = ""): ReadonlyArray<string> => {
  const isLimited = typeof most === "number" && most < Number.MAX_SAFE_INTEGER
  if (typeof least === "number" && isLimited) return [`${least} to ${most}${of}.`]
  if (isLimited) return [`At most ${most}${of}.`]
  return typeof least === "number" && least > 1 ? [`At least ${least}${of}.`] : []
}

const rulesOf = (schema: Json): ReadonlyArray<string> => [
  ...rangeOf(schema["minimum"], schema["maximum"]),
  ...(schema["exclusiveMinimum"] === undefined ? [] : [`More than ${schema["exclusiveMinimum"]}.`]),
  ...rangeOf(schema["minLength"], schema["maxLength"], " characters"),
  ...rangeOf(schema["minItems"], schema["maxItems"], " items"),
  ...(typeof schema["pattern"] === "string" ? [`Matches \`${schema["pattern"]}\`.`] : [])
]

const few = 8

const choicesOf = (schema: Json): ReadonlyArray<string> => {
  const { enum: values } = schema
  if (!Array.isArray(values) || values.length < 2) return []
  const listed = values.map((value) => code(String(value)))
  return [
    values.length <= few
      ? `One of ${listed.join(", ")}.`
      : `<details><summary>One of ${values.length}</summary>${listed.join(" ")}</details>`
  ]
}

/** Words that a library made of the schema, which the type and the rules say, too. */
const isSaid = (text: string): boolean =>
  /^(?:an integer|a UUID|a number between .*|at most \d+ characters)$/i.test(text)

const toldOf = (schema: Json, schemas: Schemas): string => {
  const forms = formsOf(schema).map((form) => resolved(form, schemas))
  const all = [resolved(schema, schemas), ...forms, ...forms.map((form) => member(form, "items"))]
  const told = [resolved(schema, schemas), ...forms].flatMap(({ description }) =>
    typeof description === "string" && !isSaid(description) ? [description] : []
  )
  const [first] = told
  const sentence =
    first === undefined
      ? []
      : [`${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.:]$/.test(first) ? "" : "."}`]
  const rules = [...sentence, ...new Set(all.flatMap(rulesOf))].map(prose)
  return [...rules, ...new Set(all.flatMap(choicesOf))].join(" ")
}

/** The objects that stand in a schema without a name of their own, and the path that they have there. */
const insideOf = (schema: Json, path: string): ReadonlyArray<readonly [Json, string]> =>
  formsOf(schema).flatMap((form): ReadonlyArray<readonly [Json, string]> => {
    const { additionalProperties, items } = form
    if (isObject(items)) return insideOf(items, `${path}[]`)
    if (isObject(additionalProperties)) return insideOf(additionalProperties, `${path}.*`)
    return isObject(form["properties"]) ? [[form, `${path}.`]] : []
  })

export interface Field {
  readonly path: string
  readonly schema: Json
  readonly isRequired: boolean
}

/** The members of an object, and of those in it. Of several forms each has its own. */
const fieldsOf = (schema: Json, schemas: Schemas, before = ""): ReadonlyArray<Field> =>
  formsOf(resolved(schema, schemas)).flatMap((form) => {
    const { properties, required } = resolved(form, schemas)
    return Object.entries(isObject(properties) ? properties : {}).flatMap(([name, each]) => {
      if (!isObject(each)) return []
      const path = `${before}${name}`
      const isRequired = Array.isArray(required) && required.includes(name)
      const inside = insideOf(each, path).flatMap(([form, at]) => fieldsOf(form, schemas, at))
      return [{ path, schema: each, isRequired }, ...inside]
    })
  })

/** A name that may break into two lines after an underscore. */
const breaking = (name: string): string => escape(name).replaceAll("_", "_<wbr>")

const pathOf = (path: string): string => {
  const place = path.lastIndexOf(".") + 1
  const before = place === 0 ? "" : `<span>${breaking(path.slice(0, place))}</span><wbr>`
  return `<code>${before}${breaking(path.slice(place))}</code>`
}

/** Of a request, of which members are required, or of an answer, in which they are always there. */
export type Side = "asked" | "answered"

const words = {
  asked: { title: "Required", yes: "<b>required</b>", no: "optional" },
  answered: { title: "There", yes: "always", no: "may be absent" }
}

export const table = (fields: ReadonlyArray<Field>, schemas: Schemas, side: Side): string => {
  const { no, title, yes } = words[side]
  const known = new Set<string>()
  const rows = fields.flatMap(({ isRequired, path, schema }) => {
    // Forms share members.
    const row = `<tr><th scope="row">${pathOf(path)}</th><td class="t">${typeOf(schema, schemas)}</td><td class="r">${
      isRequired ? yes : no
    }</td><td>${toldOf(schema, schemas)}</td></tr>`
    if (known.has(row)) return []
    known.add(row)
    return [row]
  })
  return `<table><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">${title}</th><th scope="col">What it is</th></tr></thead><tbody>${rows.join("")}</tbody></table>`
}

/** A body; one that has no members is told by its type. */
export const body = (schema: Json, schemas: Schemas, side: Side): string => {
  const fields = fieldsOf(schema, schemas)
  return fields.length === 0
    ? `<p>${typeOf(schema, schemas)} ${toldOf(schema, schemas)}</p>`
    : table(fields, schemas, side)
}

export const parameters = (given: unknown): ReadonlyArray<Field & { readonly place: string }> =>
  listOf(given).map(({ description, in: place, name, required, schema }) => ({
    path: String(name),
    place: String(place),
    isRequired: required === true,
    schema: { ...(isObject(schema) ? schema : {}), ...(description === undefined ? {} : { description }) }
  }))

/** A schema that others name. */
export const named = (name: string, schema: Json, schemas: Schemas): string => {
  const { description } = schema
  return `<article class="schema" id="schema-${escape(name)}"><h3>${code(name)}${anchor(`schema-${name}`, name)}</h3>${
    typeof description === "string" && !isSaid(description) ? `<p>${prose(description)}</p>` : ""
  }${body(schema, schemas, "answered")}</article>`
}
