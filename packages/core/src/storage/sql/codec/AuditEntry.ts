/** The columns of `sendwright_audit`. */
import type { Entry } from "../../../domain/Audit.ts"
import { instant, json, nullable, table, text, textOrNull } from "../Columns.ts"

export const auditEntries = table<Entry>({
  id: text("id"),
  at: instant("at"),
  operator: text("operator"),
  operation: text("operation"),
  target: textOrNull("target"),
  address: textOrNull("address"),
  requestId: textOrNull("request_id"),
  before: nullable(json("before_act")),
  after: nullable(json("after_act"))
})
