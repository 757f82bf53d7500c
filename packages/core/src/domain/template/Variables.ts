/**
 * Variables (contract.md §3): which values a template asks for, which of two given values wins, and what a value
 * may be. The recipient's value wins over the common one; a blank one is a fault and does not fall through.
 */
import * as Fault from "../Fault.ts"
import * as Memo from "../Memo.ts"
import * as PublicUrl from "../PublicUrl.ts"
import * as Text from "../Text.ts"
import * as Url from "../Url.ts"
import type { Binding, TemplateContent, Variable } from "./Template.ts"
import {
  baseOf,
  codeOf,
  fileName,
  fileNameLength,
  mediaUrlLength,
  suffixLength,
  suffixOf
} from "./Template.ts"

export type Values = Readonly<Record<string, string>>

export interface Resolved {
  /** In the order of the template's variables; of no use when there are faults. */
  readonly values: ReadonlyArray<string>
  readonly faults: ReadonlyArray<Fault.Fault>
}

/** A variable, and the address that it completes; "" when it completes none. */
interface Asked {
  readonly variable: Variable
  /** In the order of the template's variables. */
  readonly place: number
  readonly url: string
}

/** Facts about a template's variables, worked out once. */
interface Plan {
  /** By each accepted name: `body.1`, `body.first_name` for a named placeholder, and a button's by its place among all. */
  readonly asked: ReadonlyMap<string, Asked>
  /** For each variable, its accepted names, the canonical one first. */
  readonly accepted: ReadonlyArray<ReadonlyArray<string>>
  /** For each variable. */
  readonly urls: ReadonlyArray<string>
  /** Of a document: the place of its URL and that of its name. */
  readonly document: { readonly url: number; readonly name: number } | undefined
  /** Of an authentication template: the place of its code, and those of the buttons that have it, too. */
  readonly code: ReturnType<typeof codeOf>
  /** The hint for a name that is not among them. */
  readonly unknown: string
}

const either = (names: ReadonlyArray<string>): string => names.map((name) => `\`${name}\``).join(" or ")

/** The other name of a variable: a named placeholder's, or a button's by its place among all buttons. */
const aliasOf = ({ key, name }: Variable, binding: Binding | undefined): string | undefined => {
  if (name !== undefined) return `${key.split(".")[0]}.${name}`
  const index = binding?.buttonIndex ?? null
  return index === null ? undefined : `button.${index}.1`
}

const planOf = Memo.ofObject((template: TemplateContent): Plan => {
  const asked = new Map<string, Asked>()
  const buttons = template.components.flatMap((component) =>
    component.type === "buttons" ? component.buttons : []
  )
  const accepted = template.variables.map((variable, place) => {
    const binding = template.bindings[place]
    const { key } = variable
    const each: Asked = { variable, place, url: buttons[binding?.buttonIndex ?? -1]?.url ?? "" }
    asked.set(key, each)
    const alias = aliasOf(variable, binding)
    // A name that is another's own stays that one's.
    if (alias === undefined || template.variables.some((other) => other.key === alias)) return [key]
    asked.set(alias, each)
    return [key, alias]
  })
  const unknown =
    accepted.length === 0
      ? "The template asks for no variables."
      : `The template asks for ${accepted.map(either).join(", ")} only.`
  const urls = accepted.map(([key = ""]) => asked.get(key)?.url ?? "")
  const name = template.variables.findIndex(({ key }) => key === fileName.key)
  const url = template.variables.findIndex(({ media_type }) => media_type === "document")
  const code = codeOf(template.category, template.variables)
  return { asked, accepted, urls, document: name < 0 ? undefined : { url, name }, code, unknown }
})

/** The names by which each variable is given, the canonical one first. */
export const namesOf = (template: TemplateContent): ReadonlyArray<ReadonlyArray<string>> =>
  planOf(template).accepted

/** Gives the buttons of an authentication template the code of its body; another one is a fault (contract.md §13). */
const withCode = (
  template: TemplateContent,
  values: Array<string>,
  index: number
): ReadonlyArray<Fault.Fault> => {
  const { code, urls } = planOf(template)
  if (code === undefined) return []
  const given = values[code.body] ?? ""
  return code.buttons.flatMap((place) => {
    const variable = template.variables[place]
    const own = values[place] ?? ""
    values[place] = given
    if (variable === undefined) return []
    const path = pathOf(index)
    if (own !== "" && own !== given)
      return Fault.make(
        [...path, variable.key],
        "variable_invalid",
        `\`${variable.key}\` must be the code of \`body.1\`: an authentication template has one.`
      )
    const fault = valueFault(variable, given, baseOf(urls[place] ?? ""))
    return fault === undefined
      ? []
      : Fault.make([...path, "body.1"], "variable_invalid", `\`body.1\` ${fault}, as its button has it, too.`)
  })
}

/** Control characters: NUL, newline, tab and the rest of C0, and DEL. */
const control = /\p{Cc}/u

/** Every fault of a text's characters in one test, since most texts have none. */
const unfit = /[\p{Cc}\p{Cs}]| {5}/u

const textFault = (value: string): string | undefined => {
  if (!unfit.test(value)) return undefined
  if (!value.isWellFormed()) return "must be well-formed text (it has a lone surrogate)"
  if (control.test(value)) return "must have no newline, tab, NUL or other control character"
  return / {5}/.test(value) ? "must have no run of more than 4 spaces" : undefined
}

/** No private network is allowed here, because the platform fetches the media. */
export const mediaUrlFault = PublicUrl.make({
  protocols: ["https"],
  maximum: mediaUrlLength,
  networks: []
}).fault

/** The fault of a suffix's characters. */
const suffixTextFault = (value: string): string | undefined => {
  if (Text.isLonger(value, suffixLength)) return `must be at most ${suffixLength} characters`
  if (!value.isWellFormed() || control.test(value)) return "must be percent-encodable text"
  if (/[\s\\#]/.test(value)) return "must have no white space, backslash or fragment"
  return /%(?![0-9A-Fa-f]{2})/.test(value) ? "must have no broken percent escape" : undefined
}

/** The fault of the address that a suffix completes: same origin, no way up, no fragment, no way out of its query. */
const suffixPlaceFault = (value: string, base: string): string | undefined => {
  const decoded = value.replaceAll(/%2e/gi, ".").replaceAll(/%2f/gi, "/").replaceAll(/%5c/gi, "\\")
  if (decoded.startsWith("/") || decoded.includes("//") || decoded.includes("\\"))
    return "must not begin a path of its own"
  if (decoded.split(/[/?&=]/).some((segment) => segment === ".." || segment === "."))
    return "must not leave its path"
  if (base.includes("?") && /[&?]/.test(value)) return "must not leave its query"
  const [whole, start] = [Url.parse(base + value), Url.parse(base)]
  if (whole === undefined || start === undefined) return "must complete the template's URL"
  const stays =
    whole.origin === start.origin && whole.username === start.username && whole.href.startsWith(start.href)
  return stays ? undefined : "must not leave the template's URL"
}

/** A suffix stays below the template's address. */
const suffixFault = (value: string, base: string): string | undefined =>
  suffixTextFault(value) ?? suffixPlaceFault(value, base)

const fileNameFault = (value: string): string | undefined =>
  /[/\\]/.test(value) || /^\.{1,2}$/.test(value) ? "must be a name without a path" : textFault(value)

/** The last part of a URL's path, as its reader would write it. */
const fileNameIn = (url: string): string => {
  const last =
    Url.parse(url)
      ?.pathname.split("/")
      .findLast((part) => part !== "") ?? ""
  let name = last
  try {
    name = decodeURIComponent(last)
  } catch {
    // An escape that is no text stays as it is written.
  }
  const fits =
    !Text.isLonger(name, fileNameLength) && !Text.isBlank(name) && fileNameFault(name) === undefined
  return fits ? name : "document"
}

const valueFault = (variable: Variable, value: string, base: string): string | undefined => {
  // The length is looked at before the characters: nothing else has bounded the value yet.
  const { max_length: most = mediaUrlLength } = variable
  if (Text.isLonger(value, most)) return `must be at most ${most} characters`
  if (Text.isBlank(value)) return "must not be empty or blank"
  switch (variable.type) {
    case "text":
      return variable.key === fileName.key ? fileNameFault(value) : textFault(value)
    case "media_url":
      return mediaUrlFault(value)
    case "url_suffix":
      return suffixFault(value, base)
  }
}

/** Where values stand: a recipient's, or those common to all. */
const pathOf = (recipient: number | null): ReadonlyArray<string | number> =>
  recipient === null ? ["variables"] : ["recipients", recipient, "variables"]

/**
 * The faults of the names and values given in one place, the template's rules applied, at most as many as are told; the
 * values go to their places.
 */
const check = (
  template: TemplateContent,
  given: Values,
  recipient: number | null,
  values: Array<string>
): Array<Fault.Fault> => {
  const { accepted, asked, unknown } = planOf(template)
  // Nothing is given twice where nothing has two names.
  const seen = asked.size > template.variables.length ? new Set<Asked>() : undefined
  const faults: Array<Fault.Fault> = []
  // A list of the names would be made for every recipient.
  for (const name in given) {
    if (faults.length >= Fault.maximum) break
    const found = asked.get(name)
    if (found === undefined) {
      faults.push(Fault.make([...pathOf(recipient), name], "variable_unknown", unknown))
      continue
    }
    if (seen?.has(found)) {
      const message = `Give ${either(accepted[found.place] ?? [])}, not both: they name the same variable.`
      faults.push(Fault.make([...pathOf(recipient), name], "variable_invalid", message))
      continue
    }
    seen?.add(found)
    // The platform's own example is the whole address, and so may a value be.
    const value = suffixOf(given[name] ?? "", found.url)
    values[found.place] = value
    const fault = valueFault(found.variable, value, baseOf(found.url))
    if (fault !== undefined)
      faults.push(Fault.make([...pathOf(recipient), name], "variable_invalid", `\`${name}\` ${fault}.`))
  }
  return faults
}

/** The faults of the values common to all recipients, reported once and not per recipient. */
export const checkCommon = (
  template: TemplateContent,
  common: Values | undefined
): ReadonlyArray<Fault.Fault> => (common === undefined ? [] : check(template, common, null, []))

const find = (given: Values | undefined, names: ReadonlyArray<string>): string | undefined => {
  if (given === undefined) return undefined
  for (const name of names) if (Object.hasOwn(given, name)) return given[name]
  return undefined
}

/** Resolves the values of each recipient: their own over the common ones, whose own faults are `checkCommon`'s. */
export const resolve = (template: TemplateContent, common: Values | undefined) => {
  const { accepted, code, document, urls } = planOf(template)
  const known = accepted.map((names) => find(common, names))
  const commonValues = known.map((value, place) => suffixOf(value ?? "", urls[place] ?? ""))
  const missing = accepted.filter(
    (_, place) =>
      known[place] === undefined &&
      template.variables[place]?.required === true &&
      code?.buttons.includes(place) !== true
  )
  return (own: Values | undefined, index: number): Resolved => {
    const values = commonValues.slice()
    const faults = own === undefined ? [] : check(template, own, index, values)
    for (const names of missing) {
      if (find(own, names) !== undefined) continue
      const [key = ""] = names
      faults.push(Fault.make([...pathOf(index), key], "variable_missing", `${either(names)} is missing.`))
    }
    if (document !== undefined && values[document.name] === "" && faults.length === 0)
      values[document.name] = fileNameIn(values[document.url] ?? "")
    if (code !== undefined && faults.length === 0) faults.push(...withCode(template, values, index))
    return { values, faults }
  }
}

/** Whose each value was, in the order of the template's variables. */
export const originsOf = (
  template: TemplateContent,
  own: Values | undefined,
  common: Values | undefined
): ReadonlyArray<"common" | "recipient"> => {
  const { accepted, code, document } = planOf(template)
  return accepted.map((names, place) => {
    const isGiven = find(own, names) !== undefined || find(common, names) !== undefined
    // A document's name that nobody gave is its URL's, and a button's code the body's.
    const source = place === document?.name ? document.url : code?.buttons.includes(place) ? code.body : place
    const whose = isGiven ? names : (accepted[source] ?? names)
    return find(own, whose) === undefined ? "common" : "recipient"
  })
}
