/** A transaction of the app, as an adapter hands it over. */
import type { Transaction } from "../api/Sendwright.ts"
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

/** Refuses what is none of the library's transactions, with what to give. */
export const expect = (isIt: boolean, adapter: string, what: string): void => {
  if (!isIt) throw noTransaction(`${adapter} takes ${what}.`)
}
