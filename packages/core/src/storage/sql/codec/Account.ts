/** The columns of `sendwright_account`. */
import type { Account } from "../../../domain/account/Account.ts"
import * as Plan from "../../../domain/account/Plan.ts"
import { integer, json, table, text } from "../Columns.ts"
import type { Row } from "../Program.ts"

const stored = json<Partial<Plan.Plan>>("plan")
/** A plan of an earlier build lacks the settings that came since: they have their defaults. */
const plan = {
  ...stored,
  read: (row: Row) => ({ ...Plan.defaults, ...stored.read(row) })
}

export const accounts = table<Account>({
  id: text("id"),
  name: text("name"),
  currency: text("currency"),
  plan,
  createdAt: integer("created_at"),
  updatedAt: integer("updated_at")
})
