/** The columns of `sendwright_operator`. */
import type { Operator } from "../../../domain/Operator.ts"
import * as Operators from "../../../domain/Operator.ts"
import { flag, instant, instantOrNull, json, table, text, word } from "../Columns.ts"

export const operators = table<Operator>({
  name: text("name"),
  role: word("role", Operators.roles),
  status: word("status", Operators.statuses),
  masksPhones: flag("mask_phones"),
  secrets: json("secrets"),
  createdAt: instant("created_at"),
  lastUsedAt: instantOrNull("last_used_at")
})
