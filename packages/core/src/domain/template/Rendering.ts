/** The text that a recipient will read: a template's with the values in place. */
import * as Fault from "../Fault.ts"
import * as Memo from "../Memo.ts"
import * as Text from "../Text.ts"
import type { Button, TemplateContent } from "./Template.ts"
import * as Template from "./Template.ts"

export interface Rendered {
  readonly header?: string
  readonly body: string
  readonly footer?: string
  readonly buttons?: ReadonlyArray<Button>
}

/** The values of one component by placeholder. */
const valuesOf = (
  template: TemplateContent,
  values: ReadonlyArray<string>,
  belongs: (key: string, buttonIndex: number | null) => boolean
): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  template.variables.forEach(({ key }, place) => {
    const binding = template.bindings[place]
    const value = values[place]
    if (binding !== undefined && value !== undefined && belongs(key, binding.buttonIndex)) {
      found.set(binding.placeholder, value)
    }
  })
  return found
}

/** `values` are in the order of the template's variables. */
export const render = (template: TemplateContent, values: ReadonlyArray<string>): Rendered => {
  let header: string | undefined
  let body = ""
  let footer: string | undefined
  let buttons: ReadonlyArray<Button> | undefined
  for (const component of template.components) {
    switch (component.type) {
      case "header":
        header =
          component.format === "text"
            ? Template.fill(
                component.text ?? "",
                valuesOf(template, values, (key) => key === "header.1")
              )
            : values[template.variables.findIndex(({ key }) => key === "header.media")]
        break
      case "body":
        body = Template.fill(
          component.text,
          valuesOf(template, values, (key) => key.startsWith("body."))
        )
        break
      case "footer":
        footer = component.text
        break
      case "buttons":
        buttons = component.buttons.map((button, index) =>
          button.url === undefined
            ? button
            : {
                ...button,
                url: Template.fill(
                  button.url,
                  valuesOf(template, values, (_, at) => at === index)
                )
              }
        )
    }
  }
  return {
    ...(header === undefined ? {} : { header }),
    body,
    ...(footer === undefined ? {} : { footer }),
    ...(buttons === undefined ? {} : { buttons })
  }
}

/** A text of a template: how long it is without its placeholders, at most, and whose values stand in it. */
interface Measure {
  readonly maximum: number
  readonly fixed: number
  /** Places of variables, one for each placeholder. */
  readonly places: ReadonlyArray<number>
}

const measuresOf = Memo.ofObject((template: TemplateContent): ReadonlyArray<Measure> => {
  const measure = (text: string, prefix: string, maximum: number): Measure => {
    const places: Array<number> = []
    for (const name of Template.placeholdersOf(text)) {
      const place = template.variables.findIndex(
        ({ key }, at) => key.startsWith(prefix) && template.bindings[at]?.placeholder === name
      )
      if (place >= 0) places.push(place)
    }
    return { maximum, fixed: text.length, places }
  }
  return template.components.flatMap((component): ReadonlyArray<Measure> => {
    if (component.type === "body") return [measure(component.text, "body.", Template.bodyLength)]
    return component.type === "header" && component.format === "text"
      ? [measure(component.text ?? "", "header.", Template.headerLength)]
      : []
  })
})

/** True when it is short enough however its characters are counted: most are, and need not be rendered to know. */
export const surelyFits = (template: TemplateContent, values: ReadonlyArray<string>): boolean => {
  for (const { fixed, maximum, places } of measuresOf(template)) {
    let bound = fixed
    for (const place of places) bound += values[place]?.length ?? 0
    if (bound > maximum) return false
  }
  return true
}

/** True when header and body keep the platform's lengths once the values are in; faults point at their variables. */
export const check = (
  template: TemplateContent,
  values: ReadonlyArray<string>,
  path: ReadonlyArray<string | number>
): ReadonlyArray<Fault.Fault> => {
  if (surelyFits(template, values)) return []
  const rendered = render(template, values)
  const faults: Array<Fault.Fault> = []
  const blame = (prefix: string, message: string) => {
    for (const { key, type } of template.variables) {
      if (type === "text" && key.startsWith(prefix))
        faults.push(Fault.make([...path, key], "variable_invalid", message))
    }
  }
  const textHeader = template.variables.some(({ key }) => key === "header.1")
  if (textHeader && rendered.header !== undefined && Text.isLonger(rendered.header, Template.headerLength)) {
    blame("header.1", `The header would be longer than ${Template.headerLength} characters.`)
  }
  if (Text.isLonger(rendered.body, Template.bodyLength)) {
    blame("body.", `The body would be longer than ${Template.bodyLength} characters.`)
  }
  return faults
}
