/** The columns of `sendwright_api_key`. */
import type { ApiKey } from "../../../domain/account/ApiKey.ts"
import * as ApiKeys from "../../../domain/account/ApiKey.ts"
import { instant, instantOrNull, json, table, text, textOrNull, word } from "../Columns.ts"

export const apiKeys = table<ApiKey>({
  publicKey: text("public_key"),
  sessionId: text("session"),
  name: textOrNull("name"),
  permissions: json("permissions"),
  status: word("status", ApiKeys.statuses),
  secrets: json("secrets"),
  createdAt: instant("created_at"),
  lastUsedAt: instantOrNull("last_used_at")
})
