/** Puts rules that hold for each operation of a service around all of them, so that no operation can forget one. */
import * as Effect from "effect/Effect"
import { ForeignTransaction } from "../domain/Errors.ts"
import { Transactions } from "../storage/Transactions.ts"
import type { StoreClock } from "../worker/StoreClock.ts"

/** Wraps an operation, whatever the operation answers. Its name is a path of members, such as `accounts.create`. */
type Around = (name: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, unknown, R>

/** Wraps a service so that all of its operations, and those of objects inside it, run inside what is put around them. */
const everyOperation = <S extends object>(service: S, around: Around): S => {
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

/** Wraps a service so that all of its operations, and those of objects inside it, use the store's clock. */
export const storeTimed = <S extends object>(service: S, { isOwn, within }: typeof StoreClock.Service): S =>
  isOwn ? service : everyOperation(service, () => within)

type Guarded<Operation> = Operation extends (...args: infer Args) => Effect.Effect<infer A, infer E, infer R>
  ? (...args: Args) => Effect.Effect<A, E | ForeignTransaction, R>
  : Operation extends Effect.Effect<infer A, infer E, infer R>
    ? Effect.Effect<A, E | ForeignTransaction, R>
    : Operation

/** Groups of operations, each of which fails inside a foreign transaction. */
export type OutsideForeign<Groups> = {
  readonly [Group in keyof Groups]: {
    readonly [Operation in keyof Groups[Group]]: Guarded<Groups[Group][Operation]>
  }
}

/**
 * No operation of the engine runs inside a transaction that is not the engine's and was not handed over (contract.md §11):
 * its commit would be another one, and its rollback would leave what the operation did. An operation's name begins with
 * that of its owner.
 */
export const outsideForeign = Effect.map(
  Transactions,
  ({ isForeign }) =>
    <S extends object>(owner: string, service: S): S =>
      everyOperation(
        service,
        (name) => (effect) =>
          Effect.if(isForeign, {
            onTrue: () => new ForeignTransaction({ operation: `${owner}.${name}` }),
            onFalse: () => effect
          })
      )
)
