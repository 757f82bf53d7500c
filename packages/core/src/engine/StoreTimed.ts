import * as Effect from "effect/Effect"
import type { StoreClock } from "../worker/StoreClock.ts"

/** The service with every operation of it, also of those inside it, run by the store's time. */
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
    // A list is data: it has no operations, and its own methods need it as it is.
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
