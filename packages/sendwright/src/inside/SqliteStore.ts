/** Everything in SQLite: a file of our own, or the handle of the app. */
import { SqliteHandle } from "@sendwright/core/sql"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Transaction } from "../api/Messages.ts"
import type { Store } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import type * as Api from "../api/Sqlite.ts"
import * as Stores from "./Stores.ts"
import {
  explained,
  isFunction,
  type Kinds,
  memberOf,
  refusal,
  sqlite as transactions
} from "./Transactions.ts"

const isHandle = (value: unknown): value is Api.SqliteHandle =>
  isFunction(memberOf(value, "exec")) && isFunction(memberOf(value, "prepare"))

const kinds = {
  fromDrizzle: (given) => isFunction(memberOf(given, "rollback")) && memberOf(given, "session") !== undefined,
  fromBetterSqlite3: (given) => isHandle(given) && memberOf(given, "inTransaction") !== undefined,
  fromNodeSqlite: (given) => isHandle(given) && memberOf(given, "isTransaction") !== undefined
} satisfies Kinds

const made = (handle: Api.SqliteHandle): Transaction =>
  transactions.mark<Transaction>({ database: "sqlite" }, handle)

export const fromBetterSqlite3 = (database: Api.SqliteHandle): Transaction => {
  if (kinds.fromBetterSqlite3(database)) return made(database)
  const what = "the `Database` of better-sqlite3 that `sqlite({ database })` was given"
  throw refusal(kinds, "fromBetterSqlite3", what, database)
}

export const fromNodeSqlite = (database: Api.SqliteHandle): Transaction => {
  if (kinds.fromNodeSqlite(database)) return made(database)
  const what = "the `DatabaseSync` that `sqlite({ database })` was given"
  throw refusal(kinds, "fromNodeSqlite", what, database)
}

export const fromDrizzle = (tx: Api.DrizzleSqliteTransaction): Transaction => {
  const client = memberOf(memberOf(tx, "session"), "client")
  if (kinds.fromDrizzle(tx) && isHandle(client)) return made(client)
  const what = "the `tx` of `db.transaction((tx) => …)` over better-sqlite3"
  throw refusal(kinds, "fromDrizzle", what, tx)
}

const within = (handle: Api.SqliteHandle): Stores.Within => {
  const join = SqliteHandle.within(handle)
  return (operations) => explained(join(operations))
}

const overHandle = (database: Api.SqliteHandle, migrate: boolean | undefined): Store =>
  Stores.made({
    name: "sqlite",
    layer: SqliteHandle.layer({ database, migrate }),
    within: (tx) => {
      const handle = transactions.of(tx)
      if (handle !== undefined) return within(handle)
      throw Stores.noTransaction(
        "`tx` must come from fromBetterSqlite3, fromNodeSqlite or fromDrizzle of sendwright/sqlite."
      )
    },
    migrate: SqliteHandle.migrate(database)
  })

/** Loaded where a file is asked for: a handle of the app's needs no driver. */
const loaded = Stores.drivers(
  () => import("@sendwright/core/sqlite"),
  "sqlite({ file }) needs its driver, as sqlite({ database }) does not",
  "better-sqlite3"
)

const ofFile = (filename: string): Store =>
  Stores.made({
    name: "sqlite",
    layer: Layer.unwrapEffect(Effect.map(loaded, ({ Sqlite }) => Sqlite.layer({ filename }))),
    within: () => {
      throw Stores.noTransaction(
        "sqlite({ file }) has its file alone. Open it yourself, and give `sqlite({ database })`, for transactions of yours."
      )
    },
    migrate: null
  })

export const sqlite = (options: Api.SqliteOptions): Store => {
  if ("file" in options && typeof options.file === "string") return ofFile(options.file)
  if ("database" in options && isHandle(options.database))
    return overHandle(options.database, options.migrate)
  const message = "sqlite takes `{ file }`, or `{ database }` with a handle of better-sqlite3 or node:sqlite."
  throw new SendwrightError("invalid_options", message)
}

export const migrationSql = (after?: number): string => SqliteHandle.migrationSql(after)
