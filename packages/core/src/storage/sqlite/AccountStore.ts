/** Accounts, a row each. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Account } from "../../domain/Account.ts"
import * as Page from "../../domain/Page.ts"
import { AccountStore } from "../AccountStore.ts"
import type { Statements } from "./Database.ts"
import { Database } from "./Database.ts"
import { accountColumns, fromAccount, insertInto, limited, newestFirst, seq, toAccount } from "./Rows.ts"

const insert = insertInto("sendwright_account", accountColumns)

export const findAccount = (sql: Statements, id: string): Account | null => {
  const row = sql.get("SELECT * FROM sendwright_account WHERE id = ?", id)
  return row === undefined ? null : toAccount(row)
}

export const layer: Layer.Layer<AccountStore, never, Database> = Layer.effect(
  AccountStore,
  Effect.map(Database, (db) => ({
    create: (account) =>
      db.write("AccountStore.create", (sql) => {
        sql.run(insert, ...fromAccount(account))
      }),
    find: (id) => db.read("AccountStore.find", (sql) => findAccount(sql, id)),
    list: (page) =>
      db.read("AccountStore.list", (sql) => {
        const rows = sql.all(
          `SELECT * FROM sendwright_account WHERE seq < ? ORDER BY seq DESC ${limited}`,
          ...newestFirst(page)
        )
        return Page.map(Page.cut(rows, page.limit, seq), toAccount)
      }),
    change: ({ change, id, now }) =>
      db.write("AccountStore.change", (sql) => {
        const found = findAccount(sql, id)
        if (found === null) return null
        const account: Account = { ...found, ...change, updatedAt: now }
        sql.run(
          "UPDATE sendwright_account SET name = ?, currency = ?, plan = ?, updated_at = ? WHERE id = ?",
          account.name,
          account.currency,
          JSON.stringify(account.plan),
          now,
          id
        )
        return account
      })
  }))
)
