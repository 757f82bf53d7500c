/** The columns of `sendwright_operator`. */
import type { Operator } from "../../../domain/Operator.ts"
import * as Operators from "../../../domain/Operator.ts"
import { exact, flag, instant, instantOrNull, json, noted, table, word } from "../Columns.ts"
import { impersonal } from "../Personal.ts"

export const operators = table("sendwright_operator", { kept: "registered" })<Operator>({
  name: exact("name", impersonal, "exact NOT NULL UNIQUE"),
  role: word("role", impersonal, Operators.roles),
  masksPhones: noted(
    "1 where people's numbers are masked in all that it reads.",
    flag("mask_phones", impersonal, "INTEGER NOT NULL DEFAULT 0")
  ),
  status: word("status", impersonal, Operators.statuses),
  secrets: json("secrets", impersonal),
  createdAt: instant("created_at", impersonal),
  lastUsedAt: instantOrNull("last_used_at", impersonal)
})
