import * as Effect from "effect/Effect"

/** What is put around an operation, whatever it answers. Its name is a path of members, such as `accounts.create`. */
export type Around = (
  name: string
) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, unknown, R>

/** Wraps a service so that all of its operations, and those of objects inside it, run inside what is put around them. */
export const everyOperation = <S extends object>(service: S, around: Around): S => {
  const wrapped = (value: unknown, name: string): unknown => {
    if (Effect.isEffect(value)) return around(name)(value)
    if (typeof value === "function") {
      return (...parameters: ReadonlyArray<unknown>): unknown => {
        const answer: unknown = Reflect.apply(value, undefined, parameters)
        return Effect.isEffect(answer) ? around(name)(answer) : answer
      }
    }
    // A list is data without operations, and its methods do not work through a proxy.
    if (Array.isArray(value)) return value
    return typeof value === "object" && value !== null ? inside(value, `${name}.`) : value
  }
  const inside = <T extends object>(target: T, path: string): T => {
    const members = new Map<string | symbol, unknown>()
    return new Proxy(target, {
      get: (_, name) => {
        if (!members.has(name))
          members.set(name, wrapped(Reflect.get(target, name), `${path}${String(name)}`))
        return members.get(name)
      }
    })
  }
  return inside(service, "")
}
