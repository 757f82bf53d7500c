/** The columns of `sendwright_account`. */
import type { Account } from "../../../domain/account/Account.ts"
import * as Caps from "../../../domain/account/Caps.ts"
import * as Plan from "../../../domain/account/Plan.ts"
import { changed } from "../../../domain/Change.ts"
import * as Retention from "../../../domain/Retention.ts"
import type { Row } from "../../Program.ts"
import { type Column, exact, instant, json, noted, nullable, table, text } from "../Columns.ts"
import { impersonal } from "../Personal.ts"

const stored = json<Partial<Plan.Plan>>("plan", impersonal)
/** A plan of an earlier build lacks the settings that came since: they have their defaults. */
const plan = {
  ...stored,
  read: (row: Row) => ({ ...Plan.defaults, ...stored.read(row) })
}

const ownRetention = nullable(json<Retention.RetentionChange>("retention", impersonal))

/** The settings that are the defaults are not written; null where all are. */
export const retention: Column<Retention.Retention, null> = {
  ...ownRetention,
  read: (row) => changed(Retention.defaults, ownRetention.read(row) ?? undefined),
  write: (all) => ownRetention.write(Retention.own(all))
}

const ownCaps = nullable(json<Caps.CapsChange>("caps", impersonal))

/** Null where there are none. */
const caps: Column<Caps.Caps, null> = {
  ...ownCaps,
  read: (row) => changed(Caps.none, ownCaps.read(row) ?? undefined),
  write: (all) => ownCaps.write(Object.values(all).some((cap) => cap !== null) ? all : null)
}

export const accounts = table("sendwright_account", { kept: "registered" })<Account>({
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  name: text("name", impersonal),
  currency: text("currency", impersonal),
  plan,
  createdAt: instant("created_at", impersonal),
  updatedAt: instant("updated_at", impersonal),
  retention: noted(
    "How long its rows are kept, in JSON: what differs from the defaults; null where nothing does.",
    retention
  ),
  caps: noted("How many messages a person may have, by purpose; null where there is no cap.", caps)
})
