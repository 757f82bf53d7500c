/** The columns of `sendwright_unattributed`. */
import type { Unattributed } from "../../../domain/Unattributed.ts"
import * as Domain from "../../../domain/Unattributed.ts"
import { integer, table, text, textOrNull, word } from "../Columns.ts"

export const unattributedItems = table<Unattributed>({
  id: text("id"),
  accountId: text("account"),
  sessionId: text("session"),
  kind: word("kind", Domain.kinds),
  messageId: textOrNull("message_id"),
  text: text("text"),
  occurredAt: integer("occurred_at"),
  recordedAt: integer("recorded_at")
})
