/** Reads JSON of unknown shape: a member that is absent or of another type is undefined. */

/** The member of JSON of which nothing is known; undefined when there is none. */
export const valueAt = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (found, step) =>
      typeof found === "object" && found !== null && Object.hasOwn(found, step)
        ? Reflect.get(found, step)
        : undefined,
    value
  )

export const textAt = (value: unknown, ...path: ReadonlyArray<string | number>): string | undefined => {
  const found = valueAt(value, ...path)
  return typeof found === "string" ? found : undefined
}

/** A text, or a whole number in digits: platforms write phones and ids both ways. */
export const wordAt = (value: unknown, ...path: ReadonlyArray<string | number>): string | undefined => {
  const found = valueAt(value, ...path)
  if (typeof found === "string") return found
  return typeof found === "number" && Number.isSafeInteger(found) ? String(found) : undefined
}

export const listAt = (value: unknown, ...path: ReadonlyArray<string | number>): ReadonlyArray<unknown> => {
  const found = valueAt(value, ...path)
  return Array.isArray(found) ? found : []
}

/** Undefined for a text that is not JSON. */
export const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
