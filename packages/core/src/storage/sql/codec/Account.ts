/** The columns of `sendwright_account`. */
import type { Account } from "../../../domain/account/Account.ts"
import * as Plan from "../../../domain/account/Plan.ts"
import * as Retention from "../../../domain/Retention.ts"
import { type Column, instant, json, nullable, table, text } from "../Columns.ts"
import type { Row } from "../Program.ts"

const stored = json<Partial<Plan.Plan>>("plan")
/** A plan of an earlier build lacks the settings that came since: they have their defaults. */
const plan = {
  ...stored,
  read: (row: Row) => ({ ...Plan.defaults, ...stored.read(row) })
}

const ownRetention = nullable(json<Retention.RetentionChange>("retention"))

/** The settings that are the defaults are not written; null where all are. */
export const retention: Column<Retention.Retention> = {
  ...ownRetention,
  read: (row) => Retention.changed(Retention.defaults, ownRetention.read(row) ?? undefined),
  write: (all) => ownRetention.write(Retention.own(all))
}

export const accounts = table<Account>({
  id: text("id"),
  name: text("name"),
  currency: text("currency"),
  plan,
  retention,
  createdAt: instant("created_at"),
  updatedAt: instant("updated_at")
})
