/**
 * Templates (contract.md §3): mirrored from the platform and read once, at import (`PlatformTemplate`), into
 * components and the variables a client must send.
 */
import * as Arr from "effect/Array"
import * as Order from "effect/Order"
import * as Schema from "effect/Schema"
import * as ExternalText from "../ExternalText.ts"
import * as FieldVersions from "../FieldVersions.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Json from "../Json.ts"

/** In the platform's own form. */
const PlatformObject = Schema.Object.annotations({
  jsonSchema: { type: "object", additionalProperties: true }
})

export const Category = Schema.Literal("marketing", "utility", "authentication")
export type Category = typeof Category.Type

export const ofEach = <A>(of: (category: Category) => A): { readonly [Each in Category]: A } => ({
  authentication: of("authentication"),
  utility: of("utility"),
  marketing: of("marketing")
})

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
  /** Of a named placeholder: `body.first_name` is accepted on a send as `body.1` is. */
  name: Schema.optional(Schema.String),
  type: Schema.Literal("text", "media_url", "url_suffix"),
  media_type: Schema.optional(Schema.Literal("image", "video", "document")),
  /** False of `header.filename` and of an authentication template's buttons, which have a value without being given one. */
  required: Schema.Boolean,
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
  /** The platform's rating of how people receive the template: `green`, `yellow`, `red`, …; null when it gave none. */
  readonly quality: string | null
  /** The platform's own id; absent where it told none. */
  readonly platformId?: string | null
  /** The platform's cap on the price of a message, in its own form; null where it has none, absent where nothing is told. */
  readonly maxPrice?: object | null
  /** Why it has its status; null where the platform gave no reason, absent where nothing is told. */
  readonly why?: Why | null
}

/** Why a template has its status, and what to do about it, as the platform wrote it. */
export interface Why {
  readonly reason: string | null
  readonly rejectionInfo: object | null
  readonly otherInfo: object | null
  readonly disableInfo: object | null
}

const longestWhy = 2 * 1024

/** Undefined where the platform's JSON does not say why; `NONE` is no reason. */
export const whyOf = (json: unknown, reason: unknown): Why | null | undefined => {
  const info = (name: string): object | null =>
    ExternalText.jsonObject(Json.valueAt(json, name), longestWhy) ?? null
  const found: Why = {
    reason:
      typeof reason === "string" && reason !== "" && reason !== "NONE" ? ExternalText.code(reason) : null,
    rejectionInfo: info("rejection_info"),
    otherInfo: info("other_info"),
    disableInfo: info("disable_info")
  }
  if (Object.values(found).some((part) => part !== null)) return found
  return reason === undefined ? undefined : null
}

/** {@link Why} as it is shown. */
export const whyFields = {
  reason: Schema.NullOr(Schema.String).annotations({
    description: "Why the platform gave it its status, in the platform's words; null where it gave no reason."
  }),
  rejection_info: Schema.NullOr(PlatformObject),
  other_info: Schema.NullOr(PlatformObject),
  disable_info: Schema.NullOr(PlatformObject)
}

export const whyToWire = ({ why }: Pick<TemplateContent, "why">) => ({
  reason: why?.reason ?? null,
  rejection_info: why?.rejectionInfo ?? null,
  other_info: why?.otherInfo ?? null,
  disable_info: why?.disableInfo ?? null
})

export interface Template extends NumberedTemplate {
  /** Ours, stable for (session, name, language). */
  readonly templateId: number
  readonly sessionId: string
  readonly updatedAt: Instant
}

const MaxPrice = Schema.NullOr(Schema.Object).annotations({
  jsonSchema: {
    type: ["object", "null"],
    additionalProperties: true,
    description:
      "The platform's cap on the price of a message, as the platform wrote it; null where none is known."
  }
})

const UpdatedAt = Schema.String.annotations({ jsonSchema: { format: "date-time" } }).pipe(
  Schema.brand("InstantText")
)

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
  ...whyFields,
  max_price: MaxPrice,
  updated_at: UpdatedAt
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
  ...whyToWire(template),
  max_price: template.maxPrice ?? null,
  updated_at: Time.format(template.updatedAt)
})

export const headerLength = 60
export const bodyLength = 1024
export const mediaUrlLength = 2048
export const fileNameLength = 240
export const suffixLength = 2000
/** Of a copy-code button. */
export const couponLength = 15

/** The name of a document for its reader. Without a value it is the last part of the document's URL (contract.md §11). */
export const fileName: Variable = {
  key: "header.filename",
  type: "text",
  required: false,
  max_length: fileNameLength
}

/** The places of an authentication template's code: the body's, and those of its buttons, which have the same one. */
export const codeOf = (
  category: Category,
  variables: ReadonlyArray<Variable>
): { readonly body: number; readonly buttons: ReadonlyArray<number> } | undefined => {
  const body = variables.findIndex(({ key }) => key === "body.1")
  if (category !== "authentication" || body < 0) return undefined
  return { body, buttons: variables.flatMap(({ key }, at) => (key.startsWith("button.") ? [at] : [])) }
}

/** True of a template that the platform sends to numbers alone (131062): its button copies or fills in a code. */
export const needsNumber = ({ category, components }: Pick<Template, "category" | "components">): boolean =>
  category === "authentication" &&
  components.some((component) => component.type === "buttons" && component.buttons.length > 0)

/** An authentication template's buttons need no code of their own (contract.md §13). */
export const withOneCode = (
  category: Category,
  variables: ReadonlyArray<Variable>
): ReadonlyArray<Variable> => {
  const code = codeOf(category, variables)
  return code === undefined
    ? variables
    : variables.map((variable, at) =>
        code.buttons.includes(at) ? { ...variable, required: false } : variable
      )
}

/** More cannot be sent: an object of values has no more members. */
export const maximumVariables = 100

const placeholder = /\{\{\s*([A-Za-z0-9_]+)\s*\}\}/g

/** Distinct placeholders in order of first appearance. */
export const placeholders = (text: string): ReadonlyArray<string> => [
  ...new Set([...text.matchAll(placeholder)].map((match) => match[1] ?? ""))
]

/** True where braces hold something that is no placeholder, so that it would be sent as it stands. */
export const hasUnread = (text: string): boolean => {
  const rest = text.replaceAll(placeholder, "")
  const open = rest.indexOf("{{")
  return open >= 0 && rest.includes("}}", open)
}

/** The names of its placeholders, in their order, each as often as it stands there. */
export const placeholdersOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(placeholder)].map(([, name]) => name ?? "")

/** The fixed beginning of a URL with a placeholder at its end. */
export const baseOf = (url: string): string => url.split("{{")[0] ?? ""

/** The part of an address that completes a template's URL; a text that is not the whole address stays as it is. */
export const suffixOf = (text: string, url: string): string => {
  const base = baseOf(url)
  return base !== "" && text.startsWith(base) ? text.slice(base.length) : text
}

/** Fills placeholders in one pass: a value that looks like a placeholder stays as it is. */
export const fill = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(placeholder, (whole, name: string) => values.get(name) ?? whole)

/** The part of a template that a store keeps: its content, and the names that have a number. */
export interface NumberedTemplate extends TemplateContent {
  /**
   * The names that its body's variables have or ever had. A name's number is its place in this list, from 1, for the
   * lifetime of the template (contract.md §10), so that `body.2` never changes its meaning. Empty for positional
   * variables.
   */
  readonly names: ReadonlyArray<string>
  /** The category that the platform is going to give it; null when none is announced. */
  readonly correctCategory?: string | null
}

const isOfBody = (variable: Variable): boolean => variable.key.startsWith("body.")

/** The body's variables under their lasting numbers, and in the order of these. */
const numbered = (content: TemplateContent, known: ReadonlyArray<string>): NumberedTemplate => {
  const found = content.variables.filter(isOfBody).flatMap(({ name }) => name ?? [])
  const names = [...new Set([...known, ...found])]
  const lasting = (variable: Variable): Variable =>
    isOfBody(variable) && variable.name !== undefined
      ? { ...variable, key: `body.${names.indexOf(variable.name) + 1}` }
      : variable
  const slots = Arr.zip(content.variables.map(lasting), content.bindings)
  const [header, others] = Arr.span(slots, ([variable]) => !isOfBody(variable))
  const [body, buttons] = Arr.span(others, ([variable]) => isOfBody(variable))
  const ordered = Arr.sortWith(body, ([{ key }]) => Number(key.slice("body.".length)), Order.number)
  const all = [...header, ...ordered, ...buttons]
  return {
    ...content,
    variables: all.map(([variable]) => variable),
    bindings: all.map(([, binding]) => binding),
    names
  }
}

/** An announced category holds until the template has another one, or the announcement is over. */
const announced = (
  known: NumberedTemplate | null,
  content: TemplateContent & Pick<NumberedTemplate, "correctCategory">
): string | null => {
  if (content.correctCategory !== undefined) return content.correctCategory
  return known?.category === content.category ? (known.correctCategory ?? null) : null
}

/** A reason holds as long as its status does; one that is told again in short is the one that is known. */
const whyAfter = (known: NumberedTemplate | null, { status, why }: TemplateContent): Why | null => {
  const before = known?.status === status ? (known.why ?? null) : null
  if (why === undefined) return before
  return why?.rejectionInfo === null && why.reason === before?.reason ? before : why
}

/**
 * The template to store after an import; the known object when nothing changed. A header has at most one variable,
 * which is `header.1` whatever its name is.
 */
export const merge = (known: NumberedTemplate | null, content: TemplateContent): NumberedTemplate => {
  const numberedContent = numbered(content, known?.names ?? [])
  const { correctCategory: _, maxPrice: ___, platformId: __, why: ____, ...rest } = numberedContent
  const why = whyAfter(known, content)
  const platformId = content.platformId ?? known?.platformId ?? null
  const correctCategory = announced(known, content)
  const maxPrice = content.maxPrice === undefined ? (known?.maxPrice ?? null) : content.maxPrice
  const merged = {
    ...rest,
    ...(platformId === null ? {} : { platformId }),
    ...(maxPrice === null ? {} : { maxPrice }),
    ...(why === null ? {} : { why }),
    ...(correctCategory === null ? {} : { correctCategory })
  }
  return known !== null && sameContent(known, merged) ? known : merged
}

/** A template's status, rating and category, as far as its platform reported them. */
export interface StatusReport {
  readonly status?: string
  readonly quality?: string
  readonly category?: Category
  readonly correctCategory?: string | null
  readonly why?: Why | null
  /** True when its content is another than it was. */
  readonly isChanged?: boolean
  /** When the platform said it; null or absent = now. */
  readonly at?: Instant | null
  /** When the message was sent that the platform refused with this status; null when the platform reported by itself. */
  readonly refusedSince: Instant | null
}

/**
 * True when the template changed after the refused message was sent: the refusal may be older than the change, and the
 * next message learns what holds now. A change in the future comes from a clock that runs ahead; it overtakes nothing,
 * or every refusal would be ignored until then.
 */
const isOvertaken = ({ updatedAt }: Template, refusedSince: Instant, now: Instant): boolean =>
  refusedSince < updatedAt && updatedAt <= now

/** A template's content after something was told of it, and the order of what was. */
export interface Heard {
  readonly content: TemplateContent & Pick<NumberedTemplate, "correctCategory">
  readonly told: FieldVersions.FieldVersions
  /** True when the platform's content may be another than this. */
  readonly isChanged: boolean
  /** True when a part of it was older than what was told before, and so changed nothing. */
  readonly isOlder: boolean
}

const categoryOf = (template: Template, { category, correctCategory }: StatusReport) => ({
  category: category ?? template.category,
  correctCategory: correctCategory === undefined ? (template.correctCategory ?? null) : correctCategory
})

const wordOfCategory = ({ category, correctCategory }: StatusReport): string | undefined =>
  category === undefined && correctCategory === undefined ? undefined : `${category} ${correctCategory}`

/**
 * The template's content after a report, of which each part counts that is newer than what was told (`FieldVersions.merge`). A refusal
 * changes only a template that is approved.
 */
export const reported = (
  template: Template,
  told: FieldVersions.FieldVersions,
  report: StatusReport,
  now: Instant
): Heard => {
  const { quality = template.quality, refusedSince, status = template.status, why = null } = report
  const isLate =
    refusedSince !== null && (template.status !== "approved" || isOvertaken(template, refusedSince, now))
  if (isLate) return { content: template, told, isChanged: false, isOlder: false }
  const hearing = FieldVersions.merge(told, refusedSince ?? report.at ?? null, now, refusedSince !== null)
  const content = {
    ...template,
    ...(hearing.isNews("status", report.status) ? { status, why } : {}),
    ...(hearing.isNews("quality", report.quality) ? { quality } : {}),
    ...(hearing.isNews("category", wordOfCategory(report)) ? categoryOf(template, report) : {})
  }
  const isChanged = hearing.isNews("components", report.isChanged === true ? "changed" : undefined)
  return { content, told: hearing.told(), isChanged, isOlder: hearing.isOlder() }
}

/**
 * The content that an import brings, but for the parts of which something newer was told.
 *
 * @param askedAt when the platform was asked; null of an import by hand, which counts as it is and dates nothing
 */
export const imported = (
  known: Template | null,
  told: FieldVersions.FieldVersions,
  given: TemplateContent,
  askedAt: Instant | null,
  now: Instant
): Pick<Heard, "content" | "told"> => {
  if (askedAt === null) return { content: given, told }
  const { isNews, told: after } = FieldVersions.merge(told, askedAt, now, true)
  const before = known ?? given
  const { bindings, category, components, quality, sendable, status, unsendableReason, variables } = before
  const content = {
    ...given,
    ...(isNews("status", given.status) ? {} : { status, why: before.why ?? null }),
    ...(isNews("quality", given.quality ?? "") ? {} : { quality }),
    ...(isNews("category", given.category) ? {} : { category }),
    ...(isNews("components", "asked") ? {} : { components, variables, bindings, sendable, unsendableReason })
  }
  return { content, told: after() }
}

/** Languages are written with a hyphen or an underscore, in one place of a platform and the other. */
const spelling = (language: string): string => language.toLowerCase().replaceAll("-", "_")

interface Named {
  readonly name: string
  readonly language: string
}

/** True when both are one name and language, as platforms spell them. */
export const isNamed = (template: Named, meant: Named): boolean =>
  template.name.toLowerCase() === meant.name.toLowerCase() &&
  spelling(template.language) === spelling(meant.language)

/**
 * The one of some templates that is meant: by the platform's id, else by name and language, whose case and hyphens make no
 * difference. One that is spelt alike goes before the others.
 */
export const find = (
  templates: ReadonlyArray<Template>,
  { language, name, platformId }: { language: string; name: string; platformId?: string | null }
): Template | undefined => {
  const named = templates.filter((each) => isNamed(each, { language, name }))
  const byId = (each: Template) => (platformId ?? null) !== null && each.platformId === platformId
  return (
    templates.find(byId) ?? named.find((each) => each.name === name && each.language === language) ?? named[0]
  )
}

/** A template as stored, perhaps by a version without quality, numbers of names and names of documents. */
export type Stored = Omit<NumberedTemplate, "quality" | "names"> &
  Partial<Pick<NumberedTemplate, "quality" | "names">>

/** Names were numbered by their order in the text; where a position has none. */
const nameOf = (binding: Binding | undefined): string | undefined =>
  binding === undefined || /^\d*$/.test(binding.placeholder) ? undefined : binding.placeholder

const named = ({ key, ...rest }: Variable, name: string | undefined): Variable =>
  name === undefined ? { key, ...rest } : { key, name, ...rest }

/** The variables with one for the name of a document, which earlier versions did not ask for. */
const withFileName = <A extends Pick<TemplateContent, "bindings" | "variables">>(stored: A): A => {
  const place = stored.variables.findIndex(({ media_type }) => media_type === "document")
  if (place < 0 || stored.variables.some(({ key }) => key === fileName.key)) return stored
  const after = <B>(list: ReadonlyArray<B>, added: B) => [
    ...list.slice(0, place + 1),
    added,
    ...list.slice(place + 1)
  ]
  return {
    ...stored,
    variables: after(stored.variables, fileName),
    bindings: after(stored.bindings, { placeholder: "", buttonIndex: null })
  }
}

/** The template as this version keeps it. */
export const ofStored = ({ names, quality = null, ...earlier }: Stored): NumberedTemplate => {
  const stored = withFileName(earlier)
  if (names !== undefined) return { ...stored, quality, names }
  const variables = stored.variables.map((variable, place) =>
    variable.type === "text" ? named(variable, nameOf(stored.bindings[place])) : variable
  )
  const inBody = variables.filter(isOfBody)
  return {
    ...stored,
    quality,
    variables,
    names: inBody.flatMap(({ name }) => (name === undefined ? [] : [name]))
  }
}

/** True when an import brings nothing new. */
const sameContent = (a: NumberedTemplate, b: NumberedTemplate): boolean => {
  const text = ({
    bindings,
    category,
    components,
    correctCategory = null,
    language,
    maxPrice = null,
    name,
    platformId = null,
    quality,
    sendable,
    status,
    unsendableReason,
    variables,
    why = null
  }: TemplateContent & Pick<NumberedTemplate, "correctCategory">) =>
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
      quality,
      platformId,
      maxPrice,
      correctCategory,
      why
    ])
  return text(a) === text(b)
}
