/**
 * Marks of what this package made. They are registered, and stand in the place of a class, because a bundler may load the package
 * once for each entry of an app: every copy in the process knows what another one made.
 */
export interface Brand<Hidden> {
  readonly mark: <Made extends object>(made: Made, hidden: Hidden) => Made
  /** Undefined for what no copy has marked. */
  readonly of: (value: unknown) => Hidden | undefined
}

export const make = <Hidden>(name: string): Brand<Hidden> => {
  const key = Symbol.for(`sendwright/${name}`)
  const isMarked = (value: unknown): value is { readonly [key: symbol]: Hidden } =>
    ((typeof value === "object" && value !== null) || typeof value === "function") && key in value
  return {
    mark: (made, hidden) => Object.defineProperty(made, key, { value: hidden }),
    of: (value) => (isMarked(value) ? value[key] : undefined)
  }
}
