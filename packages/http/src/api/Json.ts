/** Parts of the description as plain JSON, which is what is looked into. */
export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const member = (value: unknown, name: string): Json => {
  const found = isObject(value) ? value[name] : undefined
  return isObject(found) ? found : {}
}

export const mapEntries = (value: unknown, f: (each: unknown, name: string) => unknown): Json =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).map(([name, each]) => [name, f(each, name)])
  )

/** A reference to a component of the description. */
export const ref = (kind: "headers" | "responses" | "schemas", name: string): Json => ({
  $ref: `#/components/${kind}/${name}`
})
