/** Requests made from the description: right by its schemas, and then bent. The seed makes them the same again. */
import fc from "fast-check"
import type { Description, Json, Operation, Parameter } from "../support/OpenApi.ts"
import { isObject } from "../support/OpenApi.ts"

export interface Case {
  readonly operation: Operation
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The text of the body; undefined where none is sent. */
  readonly body: string | undefined
  /** Whether parameters and body are right by the description. */
  readonly isRight: boolean
}

/** Real values of what requests name, so that they come past the question whether it is there. */
export interface Known {
  readonly parameter: (operation: Operation, name: string) => string | undefined
  /** Makes a right body one that names what is there. */
  readonly body: (operation: Operation, body: unknown) => unknown
  /** What proves the caller, where a query does. */
  readonly query: (operation: Operation) => string
  readonly headers: (operation: Operation, body: string | undefined) => Readonly<Record<string, string>>
}

const oddTexts = [
  "",
  " ",
  "\u0000",
  "\ud800",
  "\u202e\u200b",
  "\u{1f600}",
  "İ",
  "x".repeat(5000),
  "__proto__",
  "constructor",
  "null",
  "1e3",
  "' OR 1=1 --",
  "<script>",
  "../../etc/passwd",
  "{{1}}",
  "%00",
  "\r\nx: y",
  "2026-02-30T00:00:00Z",
  "2026-11-02T24:00:00Z"
]
const oddNumbers = [0, -0, -1, 1.5, 1e-7, 1e21, 1e308, -1e308, 2 ** 31, 2 ** 53, Number.MAX_SAFE_INTEGER]
const odd = fc.oneof(
  fc.constantFrom<unknown>(...oddTexts),
  fc.constantFrom<unknown>(...oddNumbers),
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], { a: 1 }, [null])
)

const numberOf = (schema: Json, name: string, otherwise: number): number =>
  typeof schema[name] === "number" ? schema[name] : otherwise

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** Sizes that are tried; the bounds themselves are among the odd values. */
const most = 4

/** Values that are right by a schema. */
const right = (description: Description, given: Json): fc.Arbitrary<unknown> => {
  const schema = description.resolve(given)
  const of = (part: unknown) => right(description, isObject(part) ? part : {})
  if ("const" in schema) return fc.constant(schema["const"])
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...schema["enum"])
  for (const name of ["anyOf", "oneOf"])
    if (Array.isArray(schema[name])) return fc.oneof(...schema[name].map(of))
  switch (schema["type"]) {
    case "string": {
      const { format, pattern } = schema
      if (format === "uuid") return fc.uuid()
      if (format === "date-time") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
      if (format === "uri") return fc.webUrl({ validSchemes: ["https"] })
      if (typeof pattern === "string") return fc.stringMatching(new RegExp(pattern))
      const minLength = numberOf(schema, "minLength", 0)
      const maxLength = Math.min(numberOf(schema, "maxLength", 20), Math.max(minLength, 20))
      return fc.oneof(
        fc.stringMatching(/^[A-Za-z][A-Za-z0-9 ]{0,15}$/),
        fc.string({ minLength, maxLength, unit: "grapheme" })
      )
    }
    case "integer":
      return fc.integer({
        min: Math.max(numberOf(schema, "minimum", 0), -(2 ** 31)),
        max: Math.min(numberOf(schema, "maximum", 2 ** 31 - 1), 2 ** 31 - 1)
      })
    case "number":
      return fc.double({
        min: numberOf(schema, "minimum", numberOf(schema, "exclusiveMinimum", 0) + 0.001),
        max: numberOf(schema, "maximum", 1e6),
        noNaN: true
      })
    case "boolean":
      return fc.boolean()
    case "null":
      return fc.constant(null)
    case "array":
      return fc.array(of(schema["items"]), {
        minLength: numberOf(schema, "minItems", 0),
        maxLength: Math.max(
          numberOf(schema, "minItems", 0),
          Math.min(numberOf(schema, "maxItems", most), most)
        )
      })
    case "object": {
      const properties = isObject(schema["properties"]) ? schema["properties"] : {}
      const required = listOf(schema["required"])
      const members = Object.entries(properties).map(([name, member]) => [name, of(member)] as const)
      const own = fc.record(Object.fromEntries(members), {
        requiredKeys: members.map(([name]) => name).filter((name) => required.includes(name))
      })
      const more = schema["additionalProperties"]
      return isObject(more) && members.length === 0
        ? fc.dictionary(fc.stringMatching(/^[a-z]{1,8}(\.[0-9])?$/), of(more), { maxKeys: most })
        : own
    }
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

type Path = ReadonlyArray<string | number>

const places = (value: unknown, path: Path = []): ReadonlyArray<Path> => [
  path,
  ...(Array.isArray(value)
    ? value.flatMap((each, index) => places(each, [...path, index]))
    : isObject(value)
      ? Object.entries(value).flatMap(([name, each]) => places(each, [...path, name]))
      : [])
]

const replaced = (value: unknown, [name, ...rest]: Path, change: (found: unknown) => unknown): unknown => {
  if (name === undefined) return change(value)
  if (Array.isArray(value))
    return value.map((each, index) => (index === name ? replaced(each, rest, change) : each))
  return Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).flatMap(([each, found]) => {
      if (each !== name) return [[each, found]]
      const changed = replaced(found, rest, change)
      return changed === undefined ? [] : [[each, changed]]
    })
  )
}

/** A value with one place of it wrong, too much, or left out. */
const bent = (value: unknown): fc.Arbitrary<unknown> =>
  fc.constantFrom(...places(value)).chain((path) =>
    fc.oneof(
      odd.map((other) => replaced(value, path, () => other)),
      fc.constant(replaced(value, path, () => undefined)),
      odd.map((other) =>
        replaced(value, path, (found) => (isObject(found) ? { ...found, surplus: other } : [found, found]))
      )
    )
  )

/** Texts that are no JSON, or that say something twice. */
const brokenText = (text: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    text.slice(0, -1),
    `${text},`,
    `[${text}]`,
    "",
    "nul",
    "[".repeat(40),
    text.replace(/[0-9]+/, "1e999"),
    text.replace("{", '{"__proto__": {"ok": true},')
  )

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value that a parameter's text stands for. */
const read = ({ schema }: Parameter, text: string): unknown =>
  schema["type"] === "integer" && /^-?\d{1,15}$/.test(text) ? Number(text) : text

interface Filled {
  readonly parameter: Parameter
  readonly text: string | undefined
}

/** A header holds no control characters, and what is not Latin 1 cannot be sent. */
const asHeader = (text: string): string => text.replaceAll(/[^\x20-\xff]|[\x7f-\x9f]/g, "?").trim()

const fill = (
  description: Description,
  known: Known,
  operation: Operation,
  parameter: Parameter
): fc.Arbitrary<Filled> => {
  // Of many filters some are asked for: all of them together are seldom taken.
  const optional = operation.parameters.filter(({ required }) => !required).length
  const there = known.parameter(operation, parameter.name)
  const made = right(description, parameter.schema).map(String)
  const wrong = fc.constantFrom(...oddTexts, ...oddNumbers.map(String))
  const text: fc.Arbitrary<string | undefined> = fc.oneof(
    { weight: 8, arbitrary: there === undefined ? made : fc.constant(there) },
    { weight: 1, arbitrary: made },
    { weight: 1, arbitrary: wrong },
    { weight: parameter.required ? 0 : Math.max(10, 3 * optional), arbitrary: fc.constant(undefined) }
  )
  return text.map((found) => ({
    parameter,
    text:
      found === undefined || parameter.in === "query"
        ? found
        : parameter.in === "header"
          ? asHeader(found)
          : // An empty segment, or one that is a dot, is another path.
            /^\.{0,2}$/.test(found)
            ? "x"
            : found
  }))
}

/** An isolated surrogate cannot be written in a URL. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())

const bodyOf = (
  description: Description,
  known: Known,
  operation: Operation
): fc.Arbitrary<string | undefined> => {
  // `fetch` sends none with a GET.
  if (operation.method === "GET") return fc.constant(undefined)
  if (operation.body === undefined)
    return fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom("{}", "[]", '{"surplus": 1}', "nul") }
    )
  const ordinary = fc
    .oneof(right(description, operation.body), fc.constant(operation.example))
    .map((body) => known.body(operation, body))
  return fc.oneof(
    { weight: 4, arbitrary: ordinary.map((body) => JSON.stringify(body)) },
    { weight: 4, arbitrary: ordinary.chain(bent).map((body) => JSON.stringify(body) ?? "") },
    { weight: 1, arbitrary: ordinary.chain((body) => brokenText(JSON.stringify(body))) }
  )
}

const isRightBody = (description: Description, { body }: Operation, text: string | undefined): boolean => {
  // No body counts as an empty object.
  const value = text === undefined || text === "" ? {} : parsed(text)
  return body === undefined
    ? isObject(value) && Object.keys(value).length === 0
    : description.validator(body)(value)
}

/** So many requests of an operation. */
export const make = (
  description: Description,
  known: Known,
  operation: Operation,
  options: { readonly count: number; readonly seed: number }
): ReadonlyArray<Case> => {
  const parameters = operation.parameters.map((parameter) => fill(description, known, operation, parameter))
  const request = fc.tuple(fc.tuple(...parameters), bodyOf(description, known, operation))
  return fc.sample(request, { numRuns: options.count, seed: options.seed }).map(([filled, body]) => {
    const given = filled.flatMap(({ parameter, text }) => (text === undefined ? [] : [{ parameter, text }]))
    const query = given
      .filter(({ parameter }) => parameter.in === "query")
      .map(({ parameter, text }) => `${parameter.name}=${encoded(text)}`)
    const path = given
      .filter(({ parameter }) => parameter.in === "path")
      .reduce(
        (text, { parameter, text: value }) => text.replace(`{${parameter.name}}`, () => encoded(value)),
        operation.path
      )
    const ownHeaders = given
      .filter(({ parameter }) => parameter.in === "header")
      .map(({ parameter, text }) => [parameter.name, text])
    return {
      operation,
      path: `${path}?${[known.query(operation), ...query].join("&")}`.replace(/\?&?$/, "").replace("?&", "?"),
      headers: { ...known.headers(operation, body), ...Object.fromEntries(ownHeaders) },
      body,
      isRight:
        isRightBody(description, operation, body) &&
        given.every(({ parameter, text }) => description.validator(parameter.schema)(read(parameter, text)))
    }
  })
}

/** For a shell, so that a case can be tried alone. */
export const curl = (base: string, { body, headers, operation, path }: Case): string => {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  const options = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
  const data = body === undefined ? [] : [`--data-raw ${quoted(body)}`]
  return [`curl -i -X ${operation.method}`, ...options, ...data, quoted(`${base}${path}`)].join(" ")
}
