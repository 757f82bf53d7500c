/**
 * Templates (decisions.md §3): mirrored from the platform and read once, at import, into components and the
 * variables a client must send.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Fault from "./Fault.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import * as Json from "./Json.ts"
import { at, textAt } from "./Json.ts"

export const Category = Schema.Literal("marketing", "utility", "authentication")
export type Category = typeof Category.Type

export const Button = Schema.Struct({
  /** `quick_reply`, `url`, `phone_number`, or whatever else the platform has. */
  type: Schema.String,
  text: Schema.String,
  url: Schema.optional(Schema.String),
  phone_number: Schema.optional(Schema.String)
})
export type Button = typeof Button.Type

export const HeaderFormat = Schema.Literal("text", "image", "video", "document", "location")
export type HeaderFormat = typeof HeaderFormat.Type

export const Component = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("header"),
    format: HeaderFormat,
    text: Schema.optional(Schema.String)
  }),
  Schema.Struct({ type: Schema.Literal("body"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("footer"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("buttons"), buttons: Schema.Array(Button) })
)
export type Component = typeof Component.Type

export const Variable = Schema.Struct({
  key: Schema.String,
  type: Schema.Literal("text", "media_url", "url_suffix"),
  media_type: Schema.optional(Schema.Literal("image", "video", "document")),
  required: Schema.Literal(true),
  max_length: Schema.optional(Schema.Number),
  example: Schema.optional(Schema.String)
})
export type Variable = typeof Variable.Type

/** How a variable is known to the platform; kept inside. */
export interface Binding {
  /** `1`, `2`, …, or a name; empty for media. */
  readonly placeholder: string
  /** The platform's index among all buttons; null elsewhere. */
  readonly buttonIndex: number | null
}

export interface TemplateContent {
  readonly name: string
  readonly language: string
  readonly category: Category
  /** `approved`, `pending`, `rejected`, `paused`, `disabled`, …: the platform's, in lower case. */
  readonly status: string
  readonly components: ReadonlyArray<Component>
  /** In the order header, body, buttons. */
  readonly variables: ReadonlyArray<Variable>
  /** One for each variable. */
  readonly bindings: ReadonlyArray<Binding>
  readonly sendable: boolean
  readonly unsendableReason: string | null
  /** What the platform thinks of how people take it: `green`, `yellow`, `red`, …; null when it said nothing. */
  readonly quality: string | null
}

export interface Template extends TemplateContent {
  /** Ours, stable for (session, name, language). */
  readonly templateId: number
  readonly sessionId: string
  readonly updatedAt: Instant
}

/** A template as the API shows it. */
export const Wire = Schema.Struct({
  template_id: Schema.Int,
  name: Schema.String,
  language: Schema.String,
  category: Category,
  status: Schema.String,
  components: Schema.Array(Component),
  variables: Schema.Array(Variable),
  sendable: Schema.Boolean,
  unsendable_reason: Schema.NullOr(Schema.String),
  quality: Schema.NullOr(Schema.String),
  updated_at: Schema.String
}).annotations({ identifier: "Template" })
export type Wire = typeof Wire.Type

export const toWire = (template: Template): Wire => ({
  template_id: template.templateId,
  name: template.name,
  language: template.language,
  category: template.category,
  status: template.status,
  components: template.components,
  variables: template.variables,
  sendable: template.sendable,
  unsendable_reason: template.unsendableReason,
  quality: template.quality,
  updated_at: Time.format(template.updatedAt)
})

export const headerLength = 60
export const bodyLength = 1024
export const mediaUrlLength = 2048
export const suffixLength = 2000

const placeholder = /\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g

/** Distinct placeholders in order of first appearance. */
export const placeholders = (text: string): ReadonlyArray<string> => [
  ...new Set([...text.matchAll(placeholder)].map((match) => match[1] ?? ""))
]

/** The names of its placeholders, in their order, each as often as it stands there. */
export const placeholdersOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(placeholder)].map(([, name]) => name ?? "")

/** Fills placeholders in one pass: a value that looks like a placeholder stays as it is. */
export const fill = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(placeholder, (whole, name: string) => values.get(name) ?? whole)

type Path = ReadonlyArray<string | number>

/** Reads members of platform JSON, collecting faults instead of stopping at the first. */
class Reader {
  readonly faults: Array<Fault.Fault> = []

  member(value: unknown, name: string): unknown {
    return typeof value === "object" && value !== null && Object.hasOwn(value, name)
      ? Reflect.get(value, name)
      : undefined
  }

  text(value: unknown, name: string, path: Path, maximum: number): string {
    const found = this.member(value, name)
    const at = [...path, name]
    if (found === undefined || found === null) {
      this.faults.push(Fault.make(at, "required", `\`${name}\` is required.`))
      return ""
    }
    if (typeof found !== "string") {
      this.faults.push(Fault.make(at, "invalid_type", `\`${name}\` must be a string.`))
      return ""
    }
    if (found.trim() === "" || found.length > maximum) {
      this.faults.push(
        Fault.make(at, "out_of_range", `\`${name}\` must be 1 to ${maximum} characters, not blank.`)
      )
    } else if (!found.isWellFormed() || found.includes("\u0000")) {
      this.faults.push(Fault.make(at, "invalid_value", `\`${name}\` must be well-formed text without NUL.`))
    }
    return found
  }

  optionalText(value: unknown, name: string, path: Path): string | undefined {
    const found = this.member(value, name)
    if (found === undefined || found === null || typeof found === "string") return found ?? undefined
    this.faults.push(Fault.make([...path, name], "invalid_type", `\`${name}\` must be a string.`))
    return undefined
  }

  list(value: unknown, name: string, path: Path): ReadonlyArray<unknown> {
    const found = this.member(value, name)
    if (Array.isArray(found)) return found
    const code = found === undefined ? "required" : "invalid_type"
    this.faults.push(Fault.make([...path, name], code, `\`${name}\` must be an array.`))
    return []
  }

  fail(path: Path, message: string): void {
    this.faults.push(Fault.make(path, "invalid_value", message))
  }
}

/** What one component contributes. */
interface Part {
  readonly component: Component
  readonly variables: ReadonlyArray<readonly [Variable, Binding]>
  /** Why a template with it cannot be sent; null when it can. */
  readonly unsendable: string | null
}

/** Examples of positional placeholders by place, of named ones by name. */
const exampleOf = (
  component: unknown,
  kind: "header_text" | "body_text",
  name: string,
  place: number
): string | undefined => {
  const named = at(component, "example", `${kind}_named_params`)
  if (Array.isArray(named))
    return textAt(
      named.find((each) => at(each, "param_name") === name),
      "example"
    )
  return textAt(component, "example", kind, place) ?? textAt(component, "example", kind, 0, place)
}

const variable = (
  key: string,
  type: Variable["type"],
  maximum: number,
  example: string | undefined,
  mediaType?: "image" | "video" | "document"
): Variable => ({
  key,
  type,
  ...(mediaType === undefined ? {} : { media_type: mediaType }),
  required: true,
  max_length: maximum,
  ...(example === undefined ? {} : { example })
})

/** Positional placeholders are 1, 2, 3, … without a gap. */
const checkPositions = (reader: Reader, names: ReadonlyArray<string>, named: boolean, path: Path): void => {
  if (named) {
    if (names.some((name) => !/^[a-z_][a-z0-9_]*$/.test(name))) {
      reader.fail(path, "Named placeholders are lower-case letters, digits and underscores.")
    }
    return
  }
  const positions = names.map(Number).sort((a, b) => a - b)
  if (positions.some((position, place) => position !== place + 1)) {
    reader.fail(path, "Placeholders must be {{1}}, {{2}}, … without a gap.")
  }
}

const byPosition = (names: ReadonlyArray<string>, named: boolean): ReadonlyArray<string> =>
  named ? names : [...names].sort((a, b) => Number(a) - Number(b))

const header = (reader: Reader, json: unknown, path: Path, named: boolean): Part | undefined => {
  const format = reader.text(json, "format", path, 32).toLowerCase()
  switch (format) {
    case "text": {
      const text = reader.text(json, "text", path, headerLength * 4)
      const names = placeholders(text)
      checkPositions(reader, names, named, [...path, "text"])
      return {
        component: { type: "header", format, text },
        variables: names
          .slice(0, 1)
          .map((name) => [
            variable("header.1", "text", headerLength, exampleOf(json, "header_text", name, 0)),
            { placeholder: name, buttonIndex: null }
          ]),
        unsendable: names.length > 1 ? "Its header has more than one variable." : null
      }
    }
    case "image":
    case "video":
    case "document":
      return {
        component: { type: "header", format },
        variables: [
          [
            variable("header.media", "media_url", mediaUrlLength, undefined, format),
            { placeholder: "", buttonIndex: null }
          ]
        ],
        unsendable: null
      }
    case "location":
      return { component: { type: "header", format }, variables: [], unsendable: "Its header is a location." }
    case "":
      return undefined
    default:
      reader.fail([...path, "format"], "`format` must be TEXT, IMAGE, VIDEO, DOCUMENT or LOCATION.")
      return undefined
  }
}

const body = (reader: Reader, json: unknown, path: Path, named: boolean): Part => {
  const text = reader.text(json, "text", path, bodyLength * 4)
  const names = placeholders(text)
  checkPositions(reader, names, named, [...path, "text"])
  return {
    component: { type: "body", text },
    variables: byPosition(names, named).map((name, place) => [
      variable(`body.${place + 1}`, "text", bodyLength, exampleOf(json, "body_text", name, place)),
      { placeholder: name, buttonIndex: null }
    ]),
    unsendable: null
  }
}

/** Buttons whose sending needs no parameter. */
const plainButtons: ReadonlySet<string> = new Set(["quick_reply", "url", "phone_number", "voice_call"])

const buttons = (reader: Reader, json: unknown, path: Path): Part => {
  const found: Array<Button> = []
  const variables: Array<readonly [Variable, Binding]> = []
  let unsendable: string | null = null
  let urls = 0
  reader.list(json, "buttons", path).forEach((button, index) => {
    const where = [...path, "buttons", index]
    const type = reader.text(button, "type", where, 64).toLowerCase()
    const text = reader.optionalText(button, "text", where) ?? ""
    const url = reader.optionalText(button, "url", where)
    const phone = reader.optionalText(button, "phone_number", where)
    found.push({
      type,
      text,
      ...(url === undefined ? {} : { url }),
      ...(phone === undefined ? {} : { phone_number: phone })
    })
    if (!plainButtons.has(type)) unsendable = `Its ${type} button needs parameters.`
    if (type !== "url") return
    if (url === undefined) reader.fail([...where, "url"], "A URL button needs `url`.")
    const names = placeholders(url ?? "")
    if (names.length > 1 || (names.length === 1 && !/\}\}$/.test(url ?? ""))) {
      reader.fail([...where, "url"], "A URL has at most one placeholder, at its end.")
    }
    const [name] = names
    if (name !== undefined) {
      const example = textAt(button, "example", 0) ?? textAt(button, "example")
      variables.push([
        variable(`button.${urls}.1`, "url_suffix", suffixLength, example),
        { placeholder: name, buttonIndex: index }
      ])
    }
    urls += 1
  })
  return { component: { type: "buttons", buttons: found }, variables, unsendable }
}

const order = ["header", "body", "footer", "buttons"]

/** Reads a template in the platform's form (whatsapp-cloud.md §1.1); all that is wrong is told, paths within it. */
export const parsePlatform = (json: unknown): Either.Either<TemplateContent, ReadonlyArray<Fault.Fault>> => {
  const reader = new Reader()
  const name = reader.text(json, "name", [], 512)
  if (name !== "" && !/^[a-z0-9_]+$/.test(name)) {
    reader.fail(["name"], "`name` must be lower-case letters, digits and underscores.")
  }
  const language = reader.text(json, "language", [], 32)
  const category = reader.text(json, "category", [], 32).toLowerCase()
  const known =
    category === "marketing" || category === "utility" || category === "authentication" ? category : undefined
  if (category !== "" && known === undefined) {
    reader.fail(["category"], "`category` must be MARKETING, UTILITY or AUTHENTICATION.")
  }
  const status = (reader.optionalText(json, "status", []) ?? "APPROVED").toLowerCase()
  const named = (reader.optionalText(json, "parameter_format", []) ?? "POSITIONAL").toUpperCase() === "NAMED"

  const parts: Array<Part> = []
  reader.list(json, "components", []).forEach((component, index) => {
    const path = ["components", index]
    const type = reader.text(component, "type", path, 32).toLowerCase()
    if (parts.some((part) => part.component.type === type)) {
      reader.fail([...path, "type"], `A template has at most one ${type} component.`)
      return
    }
    switch (type) {
      case "header": {
        const part = header(reader, component, path, named)
        if (part !== undefined) parts.push(part)
        return
      }
      case "body":
        parts.push(body(reader, component, path, named))
        return
      case "footer": {
        const text = reader.text(component, "text", path, 60)
        parts.push({ component: { type: "footer", text }, variables: [], unsendable: null })
        return
      }
      case "buttons":
        parts.push(buttons(reader, component, path))
        return
      case "":
        return
      default:
        reader.fail([...path, "type"], "`type` must be HEADER, BODY, FOOTER or BUTTONS.")
    }
  })
  if (!parts.some((part) => part.component.type === "body") && reader.faults.length === 0) {
    reader.fail(["components"], "A template needs a BODY component.")
  }
  if (reader.faults.length > 0 || known === undefined) return Either.left(reader.faults)
  parts.sort((a, b) => order.indexOf(a.component.type) - order.indexOf(b.component.type))
  const slots = parts.flatMap((part) => part.variables)
  const unsendableReason = parts.reduce<string | null>((reason, part) => reason ?? part.unsendable, null)
  return Either.right({
    name,
    language,
    category: known,
    status,
    components: parts.map((part) => part.component),
    variables: slots.map(([each]) => each),
    bindings: slots.map(([, binding]) => binding),
    sendable: unsendableReason === null,
    unsendableReason,
    quality: Json.textAt(json, "quality_score", "score")?.toLowerCase() ?? null
  })
}

/** Whether an import brings nothing new. */
export const sameContent = (a: TemplateContent, b: TemplateContent): boolean => {
  const text = ({
    bindings,
    category,
    components,
    language,
    name,
    quality,
    sendable,
    status,
    unsendableReason,
    variables
  }: TemplateContent) =>
    JSON.stringify([
      name,
      language,
      category,
      status,
      components,
      variables,
      bindings,
      sendable,
      unsendableReason,
      quality
    ])
  return text(a) === text(b)
}
