/** The columns of `sendwright_api_key`. */
import type { ApiKey } from "../../../domain/account/ApiKey.ts"
import * as ApiKeys from "../../../domain/account/ApiKey.ts"
import { exact, instant, instantOrNull, json, table, textOrNull, word } from "../Columns.ts"
import { impersonal } from "../Personal.ts"

export const apiKeys = table("sendwright_api_key", { kept: "registered" })<ApiKey>({
  publicKey: exact("public_key", impersonal, "exact NOT NULL UNIQUE"),
  sessionId: exact("session", impersonal),
  name: textOrNull("name", impersonal),
  permissions: json("permissions", impersonal),
  status: word("status", impersonal, ApiKeys.statuses),
  secrets: json("secrets", impersonal),
  createdAt: instant("created_at", impersonal),
  lastUsedAt: instantOrNull("last_used_at", impersonal)
})
