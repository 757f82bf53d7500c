/**
 * Reads templates in the platform's form (contract.md §W1.1). A template that variables cannot express, or whose
 * components cannot be read, is listed as not sendable with its reason. Only a template without a readable name,
 * language, category or status is refused (contract.md §10).
 */
import * as Either from "../../effect/Either.ts"
import * as ExternalText from "../ExternalText.ts"
import * as Fault from "../Fault.ts"
import { textAt, valueAt, wordAt } from "../Json.ts"
import * as Text from "../Text.ts"
import type { Binding, Button, Component, TemplateContent, Variable } from "./Template.ts"
import * as Template from "./Template.ts"

type Path = ReadonlyArray<string | number>

/** Reads members of platform JSON, collecting what is wrong instead of stopping at the first. */
class Reader {
  readonly faults: Fault.Faults
  /** Why the template cannot be sent though it can be read. */
  readonly obstacles: Array<string> = []

  /** @param most that are told */
  constructor(most: number) {
    this.faults = new Fault.Faults([], most)
  }

  /** Empty when it is none; one that is too long is not looked into. */
  text(value: unknown, name: string, path: Path, maximum: number): string {
    const found = valueAt(value, name)
    const where = [...path, name]
    const refuse = (code: Fault.Code, message: string): string => {
      this.faults.add(where, code, `\`${name}\` ${message}.`)
      return ""
    }
    if (found === undefined || found === null) return refuse("required", "is required")
    if (typeof found !== "string") return refuse("invalid_type", "must be a string")
    if (Text.isLonger(found, maximum) || Text.isBlank(found))
      return refuse("out_of_range", `must be 1 to ${maximum} characters, not blank`)
    return Text.isStorable(found) ? found : refuse("invalid_value", "must be well-formed text without NUL")
  }

  optionalText(value: unknown, name: string, path: Path, maximum: number): string | undefined {
    const found = valueAt(value, name)
    // An empty label is one that the platform writes.
    return found === undefined || found === null || found === ""
      ? undefined
      : this.text(value, name, path, maximum)
  }

  /** One of the platform's own words, in lower case; empty when it is none. */
  word(value: unknown, name: string, path: Path): string {
    const found = this.text(value, name, path, 64)
    if (found === "" || /^[A-Za-z0-9_]+$/.test(found)) return found.toLowerCase()
    this.fail([...path, name], `\`${name}\` must be letters, digits and underscores.`)
    return ""
  }

  optionalWord(value: unknown, name: string, path: Path): string | undefined {
    const found = valueAt(value, name)
    return found === undefined || found === null ? undefined : this.word(value, name, path)
  }

  list(value: unknown, name: string, path: Path, maximum: number): ReadonlyArray<unknown> {
    const found = valueAt(value, name)
    const where = [...path, name]
    if (!Array.isArray(found)) {
      const code = found === undefined || found === null ? "required" : "invalid_type"
      this.faults.add(where, code, `\`${name}\` must be an array.`)
      return []
    }
    if (found.length <= maximum) return found
    this.faults.add(where, "out_of_range", `\`${name}\` must be at most ${maximum} items.`)
    return []
  }

  fail(path: Path, message: string): void {
    this.faults.add(path, "invalid_value", message)
  }
}

/** One component's part of a template. */
interface Part {
  readonly component: Component
  readonly variables: ReadonlyArray<readonly [Variable, Binding]>
}

/** Examples are only shown to people, so that an unusable one is dropped. */
const fitExample = (found: string | undefined): string | undefined =>
  found === undefined || Text.isLonger(found, Template.mediaUrlLength) || !Text.isStorable(found)
    ? undefined
    : found

/** Examples of positional placeholders by place, of named ones by name. */
const examplesOf = (
  component: unknown,
  kind: "header_text" | "body_text"
): ((name: string, place: number) => string | undefined) => {
  const named = valueAt(component, "example", `${kind}_named_params`)
  if (Array.isArray(named)) {
    const byName = new Map<unknown, unknown>()
    for (const each of named.slice(0, Template.maximumVariables)) {
      const name = valueAt(each, "param_name")
      if (!byName.has(name)) byName.set(name, each)
    }
    return (name) => fitExample(textAt(byName.get(name), "example"))
  }
  return (_, place) =>
    fitExample(textAt(component, "example", kind, place) ?? textAt(component, "example", kind, 0, place))
}

const variable = (
  key: string,
  type: Variable["type"],
  maximum: number,
  more: Pick<Variable, "example" | "media_type" | "name">
): Variable => ({
  key,
  ...(more.name === undefined ? {} : { name: more.name }),
  type,
  ...(more.media_type === undefined ? {} : { media_type: more.media_type }),
  required: true,
  max_length: maximum,
  ...(more.example === undefined ? {} : { example: more.example })
})

const isName = (placeholder: string): boolean => !/^[0-9]+$/.test(placeholder)

/** The placeholders of a text. Positional ones are 1, 2, 3, … without a gap. */
const placeholdersIn = (reader: Reader, text: string, named: boolean, path: Path): ReadonlyArray<string> => {
  const names = Template.placeholders(text)
  if (Template.hasUnread(text))
    reader.fail(
      path,
      "Placeholders must be {{1}}, or names of letters, digits and underscores in double braces."
    )
  checkPositions(reader, names, named, path)
  return names
}

const checkPositions = (reader: Reader, names: ReadonlyArray<string>, named: boolean, path: Path): void => {
  if (named) {
    if (names.some((name) => !/^[a-z_][a-z0-9_]*$/.test(name))) {
      reader.fail(path, "Named placeholders must be lower-case letters, digits and underscores.")
    }
    return
  }
  const positions = names.map(Number).sort((a, b) => a - b)
  if (positions.some((position, place) => position !== place + 1)) {
    const message = names.some(isName)
      ? "Placeholders with names need the `parameter_format` NAMED; without names they are {{1}}, {{2}}, … without a gap."
      : "Placeholders must be {{1}}, {{2}}, … without a gap."
    reader.fail(path, message)
  }
}

/** A text that nothing is put into. */
const checkFixed = (reader: Reader, text: string, path: Path): void => {
  if (Template.placeholders(text).length > 0 || Template.hasUnread(text))
    reader.fail(path, "This text must have no placeholder.")
}

const byPosition = (names: ReadonlyArray<string>, named: boolean): ReadonlyArray<string> =>
  named ? names : [...names].sort((a, b) => Number(a) - Number(b))

const header = (reader: Reader, json: unknown, path: Path, named: boolean): Part | undefined => {
  const format = reader.word(json, "format", path)
  switch (format) {
    case "text": {
      const text = reader.text(json, "text", path, Template.headerLength * 4)
      const names = placeholdersIn(reader, text, named, [...path, "text"])
      if (names.length > 1) reader.obstacles.push("Its header has more than one variable.")
      return {
        component: { type: "header", format, text },
        variables: names.slice(0, 1).map((name) => {
          const example = examplesOf(json, "header_text")(name, 0)
          const more = named ? { name, example } : { example }
          return [
            variable("header.1", "text", Template.headerLength, more),
            { placeholder: name, buttonIndex: null }
          ]
        })
      }
    }
    case "image":
    case "video":
    case "document":
      return {
        component: { type: "header", format },
        variables: [
          [
            variable("header.media", "media_url", Template.mediaUrlLength, { media_type: format }),
            { placeholder: "", buttonIndex: null }
          ],
          ...(format === "document"
            ? [[Template.fileName, { placeholder: "", buttonIndex: null }] as const]
            : [])
        ]
      }
    case "location":
      reader.obstacles.push("Its header is a location.")
      return { component: { type: "header", format }, variables: [] }
    case "":
      return undefined
    default:
      reader.obstacles.push(`Its header has the format ${format}.`)
      return undefined
  }
}

const body = (reader: Reader, json: unknown, path: Path, named: boolean): Part => {
  const text = reader.text(json, "text", path, Template.bodyLength * 4)
  const names = placeholdersIn(reader, text, named, [...path, "text"])
  if (names.length > Template.maximumVariables) {
    reader.obstacles.push(`Its body has more than ${Template.maximumVariables} variables.`)
    return { component: { type: "body", text }, variables: [] }
  }
  const exampleOf = examplesOf(json, "body_text")
  return {
    component: { type: "body", text },
    variables: byPosition(names, named).map((name, place) => {
      const example = exampleOf(name, place)
      const more = named ? { name, example } : { example }
      return [
        variable(`body.${place + 1}`, "text", Template.bodyLength, more),
        { placeholder: name, buttonIndex: null }
      ]
    })
  }
}

/** Buttons whose sending needs no parameter (contract.md §W1.13); a URL takes a text where it has a placeholder. */
const plainButtons: ReadonlySet<string> = new Set([
  "quick_reply",
  "url",
  "phone_number",
  "voice_call",
  "call_permission_request",
  "request_contact_info",
  "catalog",
  "mpm",
  "spm"
])

/** Components that are such a button by themselves. */
const plainComponents: ReadonlySet<string> = new Set(["call_permission_request", "request_contact_info"])

/** Buttons that take one text, whatever stands in them, and its longest. */
const textButtons: ReadonlyMap<string, number> = new Map([
  ["copy_code", Template.couponLength],
  ["otp", Template.suffixLength]
])

/** The platform's own limit (contract.md §W1.1). */
const maximumButtons = 10

/** The placeholder of a URL button's address, and the example of what stands there. */
const urlPlaceholder = (
  reader: Reader,
  button: unknown,
  url: string | undefined,
  path: Path
): { readonly name: string; readonly example: string | undefined } | undefined => {
  if (url === undefined) reader.fail(path, "A URL button needs `url`.")
  const names = Template.placeholders(url ?? "")
  if (names.length > 1 || (names.length === 1 && !/\}\}$/.test(url ?? ""))) {
    reader.fail(path, "A URL must have at most one placeholder, at its end.")
  }
  const [name] = names
  if (name === undefined) return undefined
  const given = fitExample(textAt(button, "example", 0) ?? textAt(button, "example"))
  // The platform's own example is the whole address.
  return { name, example: given === undefined ? undefined : Template.suffixOf(given, url ?? "") }
}

/** A button that takes a text. */
interface Slot {
  readonly index: number
  /** Among the URL buttons; null of another kind. */
  readonly ordinal: number | null
  readonly placeholder: string
  readonly type: "text" | "url_suffix"
  readonly maximum: number
  readonly example: string | undefined
}

const keyOf = (place: number): string => `button.${place}.1`

/**
 * The keys of the slots: a URL goes by its place among the URLs (contract.md 2.2), as long as that names no other button,
 * every other kind by its place among all (contract.md §13), by which each is accepted (`Variables`).
 */
const keysOf = (slots: ReadonlyArray<Slot>): ReadonlyArray<string> => {
  const keys = slots.map(({ index, ordinal }) => keyOf(ordinal ?? index))
  const places = slots.map(({ index }) => keyOf(index))
  const isAmbiguous = places.some((place, at) => keys.some((key, other) => other !== at && key === place))
  return isAmbiguous ? places : keys
}

/** The variable that a button takes at a send; undefined where the button takes none. */
const slotOf = (
  reader: Reader,
  json: unknown,
  { type, url }: Button,
  index: number,
  ordinal: number,
  path: Path
): Slot | undefined => {
  const maximum = textButtons.get(type)
  if (maximum !== undefined) {
    const example = fitExample(textAt(json, "example", 0) ?? textAt(json, "example"))
    return { index, ordinal: null, placeholder: "1", type: "text", maximum, example }
  }
  if (type !== "url") return undefined
  const found = urlPlaceholder(reader, json, url, [...path, "url"])
  return (
    found && {
      index,
      ordinal,
      placeholder: found.name,
      type: "url_suffix",
      maximum: Template.suffixLength,
      example: found.example
    }
  )
}

const buttons = (reader: Reader, json: unknown, path: Path): Part => {
  const found: Array<Button> = []
  const slots: Array<Slot> = []
  reader.list(json, "buttons", path, maximumButtons).forEach((button, index) => {
    const where = [...path, "buttons", index]
    const type = reader.word(button, "type", where)
    const text = reader.optionalText(button, "text", where, 255) ?? ""
    checkFixed(reader, text, [...where, "text"])
    const url = reader.optionalText(button, "url", where, 4096)
    const phone = reader.optionalText(button, "phone_number", where, 64)
    const read: Button = {
      type,
      text,
      ...(url === undefined ? {} : { url }),
      ...(phone === undefined ? {} : { phone_number: phone })
    }
    if (type !== "" && !plainButtons.has(type) && !textButtons.has(type))
      reader.obstacles.push(`Its ${type} button needs parameters.`)
    const urls = found.filter((each) => each.type === "url").length
    found.push(read)
    const slot = slotOf(reader, button, read, index, urls, where)
    if (slot !== undefined) slots.push(slot)
  })
  const keys = keysOf(slots)
  return {
    component: { type: "buttons", buttons: found },
    variables: slots.map(({ example, index, maximum, placeholder, type }, at) => [
      variable(keys[at] ?? keyOf(index), type, maximum, { example }),
      { placeholder, buttonIndex: index }
    ])
  }
}

const footer = (reader: Reader, json: unknown, path: Path): Part => {
  const text = reader.text(json, "text", path, 60)
  checkFixed(reader, text, [...path, "text"])
  return { component: { type: "footer", text }, variables: [] }
}

const component = (reader: Reader, json: unknown, path: Path, named: boolean): Part | undefined => {
  const type = reader.word(json, "type", path)
  switch (type) {
    case "header":
      return header(reader, json, path, named)
    case "body":
      return body(reader, json, path, named)
    case "footer":
      return footer(reader, json, path)
    case "buttons":
      return buttons(reader, json, path)
    case "":
      return undefined
    default:
      if (!plainComponents.has(type)) reader.obstacles.push(`It has a ${type} component.`)
      return undefined
  }
}

const order: ReadonlyArray<Component["type"]> = ["header", "body", "footer", "buttons"]

const maximumComponents = 20

/** True when a text has a placeholder with a name. Vendors leave the format of parameters out. */
const hasNames = (components: ReadonlyArray<unknown>): boolean =>
  components.some((component) => Template.placeholders(textAt(component, "text") ?? "").some(isName))

/** The components that can be read whole, in the order header, body, footer, buttons. */
const components = (reader: Reader, json: unknown): ReadonlyArray<Part> => {
  const format = reader.optionalWord(json, "parameter_format", [])
  const given = reader.list(json, "components", [], maximumComponents)
  const named = format === "named" || (format === undefined && hasNames(given))
  if (format !== undefined && format !== "" && format !== "named" && format !== "positional")
    reader.obstacles.push(`Its parameters have the format ${format}.`)
  const parts: Array<Part> = []
  given.forEach((each, index) => {
    if (reader.faults.isFull) return
    const path = ["components", index]
    const before = reader.faults.list.length
    const part = component(reader, each, path, named)
    if (part === undefined || reader.faults.list.length > before) return
    if (parts.some(({ component: { type } }) => type === part.component.type)) {
      reader.fail([...path, "type"], `A template has at most one ${part.component.type} component.`)
      return
    }
    parts.push(part)
  })
  if (reader.faults.list.length === 0 && !parts.some((part) => part.component.type === "body")) {
    reader.fail(["components"], "A template needs a BODY component.")
  }
  return parts.sort((a, b) => order.indexOf(a.component.type) - order.indexOf(b.component.type))
}

/** So many reasons are told. */
const maximumReasons = 3

const reasonOf = ({ faults, obstacles }: Reader): string | null => {
  const reasons = [
    ...obstacles,
    ...faults.list.map((fault) => `It cannot be read at ${Fault.pointer(fault)}: ${fault.message}`)
  ]
  if (reasons.length === 0) return null
  const more = reasons.length - maximumReasons
  return [...reasons.slice(0, maximumReasons), ...(more > 0 ? [`And ${more} more.`] : [])].join(" ")
}

const maximumName = 512

/** The members without which a template is not listed. */
type Listing = Pick<TemplateContent, "name" | "language" | "category" | "status">

const listing = (reader: Reader, json: unknown): Listing | undefined => {
  const name = reader.text(json, "name", [], maximumName)
  if (name !== "" && !/^[a-z0-9_]+$/.test(name)) {
    reader.fail(["name"], "`name` must be lower-case letters, digits and underscores.")
  }
  if (reader.faults.isFull) return undefined
  const language = reader.text(json, "language", [], 32)
  const category = reader.word(json, "category", [])
  const known = Template.Category.literals.find((each) => each === category)
  if (category !== "" && known === undefined) {
    reader.fail(["category"], "`category` must be MARKETING, UTILITY or AUTHENTICATION.")
  }
  const given = reader.optionalWord(json, "status", []) ?? "approved"
  // A locked template cannot be edited, and is sent as before (contract.md §W1.13).
  const status = given === "locked" ? "approved" : given
  return reader.faults.list.length > 0 || known === undefined
    ? undefined
    : { name, language, category: known, status }
}

/** The platform's own id; another text than such an id is none. */
const fitId = (id: string | undefined): string | null =>
  id !== undefined && /^[\x21-\x7e]{1,64}$/.test(id) ? id : null

const longestPrice = 2 * 1024

/**
 * The platform's cap on the price of a message, under its present name or its former one. Its unit is the platform's, so
 * it is kept as it came and nothing is computed from it. Undefined where the JSON does not mention it.
 */
const maxPriceOf = (json: unknown): object | null | undefined => {
  const present = valueAt(json, "optimization_spec")
  const found = present === undefined ? valueAt(json, "bid_spec") : present
  return found === undefined ? undefined : (ExternalText.jsonObject(found, longestPrice) ?? null)
}

/** Undefined when it cannot even be listed: then its components are not looked at. */
const contentOf = (json: unknown): TemplateContent | undefined => {
  const listed = listing(new Reader(1), json)
  if (listed === undefined) return undefined
  const content = new Reader(Fault.maximum)
  const parts = components(content, json)
  const slots = parts.flatMap((part) => part.variables)
  const unsendableReason = reasonOf(content)
  const maxPrice = maxPriceOf(json)
  const why = Template.whyOf(json, valueAt(json, "rejected_reason"))
  return {
    ...listed,
    components: parts.map((part) => part.component),
    variables: Template.withOneCode(
      listed.category,
      slots.map(([each]) => each)
    ),
    bindings: slots.map(([, binding]) => binding),
    sendable: unsendableReason === null,
    unsendableReason,
    quality: fitWord(textAt(json, "quality_score", "score")),
    platformId: fitId(wordAt(json, "id")),
    ...(maxPrice === undefined ? {} : { maxPrice }),
    ...(why === undefined ? {} : { why })
  }
}

/** So many faults of one item are told. */
const maximumItemFaults = 10

/** The faults of one that cannot be listed, those of its components too. */
const faultsOf = (json: unknown): ReadonlyArray<Fault.Fault> => {
  const reader = new Reader(maximumItemFaults)
  listing(reader, json)
  if (!reader.faults.isFull) components(reader, json)
  return reader.faults.list
}

/** Reads one template; on the left the faults of one that cannot even be listed, paths within it. */
export const read = (json: unknown): Either.Either<TemplateContent, ReadonlyArray<Fault.Fault>> => {
  const content = contentOf(json)
  return content === undefined ? Either.left(faultsOf(json)) : Either.right(content)
}

/** A word that is only shown: one that is none is left out. */
const fitWord = (found: string | undefined): string | null =>
  found !== undefined && /^[A-Za-z0-9_]{1,64}$/.test(found) ? found.toLowerCase() : null

const shown = (found: string | undefined): string | null =>
  found === undefined || Text.isLonger(found, maximumName) || !Text.isStorable(found) ? null : found

/** A refused item. Its faults are computed on demand, since there may be thousands of such items. */
export class Refused {
  readonly _tag = "Refused"
  /** As it was given, where that can be shown. */
  readonly name: string | null
  readonly language: string | null
  private readonly index: number
  private readonly report: () => ReadonlyArray<Fault.Fault>

  constructor(json: unknown, index: number, report: () => ReadonlyArray<Fault.Fault>) {
    this.name = shown(textAt(json, "name"))
    this.language = shown(textAt(json, "language"))
    this.index = index
    this.report = report
  }

  /** Paths below `templates` and the item's index. */
  get faults(): ReadonlyArray<Fault.Fault> {
    return this.report().map((fault) => ({ ...fault, path: ["templates", this.index, ...fault.path] }))
  }
}

/** The result of one of several. */
export type Item = { readonly _tag: "Read"; readonly content: TemplateContent } | Refused

/** Names one template: a name is letters, digits and underscores. */
export const identityOf = ({ language, name }: Pick<TemplateContent, "language" | "name">): string =>
  `${name} ${language}`

/** Reads several templates in order, each by itself. Of two with the same name and language the second is refused. */
export const itemReader = (): ((json: unknown, index: number) => Item) => {
  const seen = new Map<string, number>()
  return (json, index) => {
    const content = contentOf(json)
    if (content === undefined) return new Refused(json, index, () => faultsOf(json))
    const identity = identityOf(content)
    const earlier = seen.get(identity)
    if (earlier !== undefined) {
      const message = `Item ${earlier} has this name and language already.`
      return new Refused(json, index, () => [Fault.make(["name"], "invalid_value", message)])
    }
    seen.set(identity, index)
    return { _tag: "Read", content }
  }
}
