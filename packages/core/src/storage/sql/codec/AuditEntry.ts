/** The columns of `sendwright_audit`. */
import type { Entry } from "../../../domain/Audit.ts"
import { exact, exactOrNull, instant, json, nullable, table, text, textOrNull } from "../Columns.ts"
import { impersonal, mention, mentionInJson } from "../Personal.ts"

export const auditEntries = table("sendwright_audit", { kept: "passing", part: "audit" })<Entry>({
  id: text("id", impersonal),
  at: instant("at", impersonal),
  operator: exact("operator", impersonal),
  operation: exact("operation", impersonal),
  target: exactOrNull("target", mention),
  address: textOrNull("address", impersonal),
  requestId: textOrNull("request_id", mention),
  before: nullable(json("before_act", mentionInJson)),
  after: nullable(json("after_act", mentionInJson))
})
