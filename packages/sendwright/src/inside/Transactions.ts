/** A transaction of the app, as an adapter hands it over. */
import type { Transaction } from "../api/Sendwright.ts"
import type { SendwrightError } from "../api/SendwrightError.ts"
import { noTransaction } from "./Stores.ts"

export class MadeTransaction<Handle> implements Transaction {
  readonly database: Transaction["database"]
  readonly handle: Handle

  constructor(database: Transaction["database"], handle: Handle) {
    this.database = database
    this.handle = handle
  }
}

export const isFunction = (value: unknown): value is (...args: ReadonlyArray<unknown>) => unknown =>
  typeof value === "function"

/** The member of something, or of nothing. */
export const memberOf = (value: unknown, name: string): unknown =>
  (typeof value === "object" && value !== null) || typeof value === "function"
    ? Reflect.get(value, name)
    : undefined

/** What is given to an adapter, and how each adapter knows what is meant for it. */
export type Kinds = Readonly<Record<string, (given: unknown) => boolean>>

/** The adapter that knows what is given; undefined when none does. */
export const adapterOf = (kinds: Kinds, given: unknown): string | undefined =>
  Object.keys(kinds).find((adapter) => kinds[adapter]?.(given))

/** The refusal of what is none of the library's transactions, with what to give, or whom to give it. */
export const refusal = (kinds: Kinds, adapter: string, what: string, given: unknown): SendwrightError => {
  const other = adapterOf(kinds, given)
  const hint = other === undefined || other === adapter ? "" : ` What is given here is for ${other}.`
  return noTransaction(`${adapter} takes ${what}.${hint}`)
}
