/** A transaction of the app, as an adapter hands it over. */
import * as Effect from "effect/Effect"
import type { Transaction } from "../api/Messages.ts"
import type * as Postgres from "../api/Postgres.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import type * as Sqlite from "../api/Sqlite.ts"
import * as Brand from "./Brand.ts"
import { noTransaction } from "./Stores.ts"

export const postgres = Brand.make<Postgres.Query>("transaction/postgres")
export const sqlite = Brand.make<Sqlite.SqliteHandle>("transaction/sqlite")

export const isTransaction = (value: unknown): value is Transaction =>
  postgres.of(value) !== undefined || sqlite.of(value) !== undefined

export const isFunction = (value: unknown): value is (...args: ReadonlyArray<unknown>) => unknown =>
  typeof value === "function"

/** The member of something, or of nothing. */
export const memberOf = (value: unknown, name: string): unknown =>
  (typeof value === "object" && value !== null) || typeof value === "function"
    ? Reflect.get(value, name)
    : undefined

const isPlain = (value: unknown): value is object => {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * The transaction of a call, undefined where none is meant. Whatever else is given, a transaction that is not under its name or a
 * variable that was never set, means one: what is done outside it would stay when it rolls back.
 */
export const transactionOf = (options: unknown): Transaction | undefined => {
  if (options === undefined) return undefined
  const isIt = isPlain(options) && Object.keys(options).every((name) => name === "tx")
  if (!isIt) throw noTransaction("The options are `{ tx }`: give `{ tx: fromPg(client) }`, or none.")
  if (!("tx" in options)) return undefined
  if (isTransaction(options.tx)) return options.tx
  throw noTransaction(
    "`tx` must be a transaction by an adapter, such as `fromPg(client)`, or `fromBetterSqlite3(database)` with `sendSync`: leave it out for none."
  )
}

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

/** Core says why where the transaction itself takes no statement: it is over, has failed before, or is of another database. */
export const explained = <A, E>(joined: Effect.Effect<A, E>): Effect.Effect<A, E | SendwrightError> =>
  Effect.mapError(joined, (error) => {
    const reason = memberOf(error, "_tag") === "StorageError" ? memberOf(error, "reason") : undefined
    if (typeof reason !== "string") return error
    return memberOf(error, "fault") === "collision"
      ? new SendwrightError("transaction_conflict", `The transaction of \`tx\` cannot go on: ${reason}`, {
          cause: error
        })
      : noTransaction(`The transaction of \`tx\` takes no send: ${reason}`)
  })
