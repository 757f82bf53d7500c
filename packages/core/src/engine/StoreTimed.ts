import * as Effect from "effect/Effect"
import type { StoreClock } from "../worker/StoreClock.ts"

/** Wraps a service so that all of its operations, and those of objects inside it, use the store's clock. */
export const storeTimed = <S extends object>(service: S, { isOwn, within }: typeof StoreClock.Service): S => {
  if (isOwn) return service
  const wrapped = (value: unknown): unknown => {
    if (Effect.isEffect(value)) return within(value)
    if (typeof value === "function") {
      return (...parameters: ReadonlyArray<unknown>): unknown => {
        const answer: unknown = Reflect.apply(value, undefined, parameters)
        return Effect.isEffect(answer) ? within(answer) : answer
      }
    }
    // A list is data without operations, and its methods do not work through a proxy.
    if (Array.isArray(value)) return value
    return typeof value === "object" && value !== null ? inside(value) : value
  }
  const inside = <T extends object>(target: T): T => {
    const members = new Map<string | symbol, unknown>()
    return new Proxy(target, {
      get: (_, name) => {
        if (!members.has(name)) members.set(name, wrapped(Reflect.get(target, name)))
        return members.get(name)
      }
    })
  }
  return inside(service)
}
