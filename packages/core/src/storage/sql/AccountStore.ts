/** Accounts, a row each. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Account } from "../../domain/account/Account.ts"
import * as Page from "../../domain/Page.ts"
import { AccountStore } from "../AccountStore.ts"
import type { Program } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { accounts } from "./codec/Account.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import { insertInto } from "./Insert.ts"
import { limited, newestFirst, seq } from "./RowReader.ts"

const insert = insertInto("sendwright_account", accounts.names)

const changeable = accounts.only("name", "currency", "plan", "retention", "caps", "updatedAt")

const update = `UPDATE sendwright_account SET ${changeable.assignments} WHERE id = ?`

const byId = `SELECT ${accounts.list} FROM sendwright_account WHERE id = ?`

export function* findAccount(id: string, statement = byId): Program<Account | null> {
  const row = yield* get(statement, id)
  return row === undefined ? null : accounts.read(row)
}

const toChange = (dialect: Dialect): string => byId + dialect.forUpdate("sendwright_account")

export const layer: Layer.Layer<AccountStore, never, Database> = Layer.effect(
  AccountStore,
  Effect.map(Database, (db) => ({
    create: (account) =>
      db.write("AccountStore.create", function* () {
        yield* run(insert, ...accounts.write(account))
      }),
    find: (id) => db.read("AccountStore.find", () => findAccount(id)),
    list: (page) =>
      db.readPage("AccountStore.list", function* () {
        const rows = yield* all(
          `SELECT seq, ${accounts.list} FROM sendwright_account WHERE seq < ? ORDER BY seq DESC ${limited}`,
          ...newestFirst(page)
        )
        return Page.map(Page.cut(rows, page.limit, seq), accounts.read)
      }),
    change: ({ change, id, now }) =>
      db.write("AccountStore.change", function* () {
        const found = yield* findAccount(id, toChange(db.dialect))
        if (found === null) return null
        const account: Account = { ...found, ...change, updatedAt: now }
        yield* run(update, ...changeable.write(account), id)
        return account
      })
  }))
)
