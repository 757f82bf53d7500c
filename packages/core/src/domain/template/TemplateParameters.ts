/** A template as the platform wants it at a send (contract.md §W1.3): its components with the values in place. */
import { fileName, type TemplateContent } from "./Template.ts"

export type Parameter = Readonly<Record<string, unknown>>

export interface PlatformComponent {
  readonly type: "header" | "body" | "button"
  readonly sub_type?: "url" | "copy_code"
  /** Among all buttons of the template, from 0, as text. */
  readonly index?: string
  readonly parameters: ReadonlyArray<Parameter>
}

const isPosition = (placeholder: string): boolean => /^[0-9]+$/.test(placeholder)

/** Named placeholders are told by their names, positions by their order. */
const text = (value: string, placeholder: string): Parameter =>
  isPosition(placeholder)
    ? { type: "text", text: value }
    : { type: "text", parameter_name: placeholder, text: value }

const typesOf = ({ components }: TemplateContent): ReadonlyArray<string> =>
  components.flatMap((component) =>
    component.type === "buttons" ? component.buttons.map(({ type }) => type) : []
  )

/** A one-time code goes as the suffix of the address that its button opens. */
const button = (type: string | undefined, index: number, value: string): PlatformComponent =>
  type === "copy_code"
    ? {
        type: "button",
        sub_type: "copy_code",
        index: String(index),
        parameters: [{ type: "coupon_code", coupon_code: value }]
      }
    : { type: "button", sub_type: "url", index: String(index), parameters: [{ type: "text", text: value }] }

/** `values` are in the order of the template's variables; a component without variables is left out. */
export const components = (
  template: TemplateContent,
  values: ReadonlyArray<string>
): ReadonlyArray<PlatformComponent> => {
  const header: Array<Parameter> = []
  const body: Array<Parameter> = []
  const buttons: Array<PlatformComponent> = []
  const nameAt = template.variables.findIndex(({ key }) => key === fileName.key)
  template.variables.forEach(({ key, media_type }, place) => {
    const value = values[place] ?? ""
    const { buttonIndex, placeholder } = template.bindings[place] ?? { buttonIndex: null, placeholder: "1" }
    if (media_type !== undefined) {
      const filename = media_type === "document" ? values[nameAt] : undefined
      const media = filename === undefined ? { link: value } : { link: value, filename }
      header.push({ type: media_type, [media_type]: media })
    } else if (key === fileName.key) return
    else if (key.startsWith("header.")) header.push(text(value, placeholder))
    else if (key.startsWith("body.")) body.push(text(value, placeholder))
    else if (buttonIndex !== null) buttons.push(button(typesOf(template)[buttonIndex], buttonIndex, value))
  })
  return [
    ...(header.length === 0 ? [] : [{ type: "header" as const, parameters: header }]),
    ...(body.length === 0 ? [] : [{ type: "body" as const, parameters: body }]),
    ...buttons
  ]
}
