/** The columns of `sendwright_account`. */
import type { Account } from "../../../domain/Account.ts"
import { integer, json, table, text } from "../Columns.ts"

export const accounts = table<Account>({
  id: text("id"),
  name: text("name"),
  currency: text("currency"),
  plan: json("plan"),
  createdAt: integer("created_at"),
  updatedAt: integer("updated_at")
})
