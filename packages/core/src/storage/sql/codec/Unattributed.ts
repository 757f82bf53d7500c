/** The columns of `sendwright_unattributed`. */
import type { Unattributed } from "../../../domain/Unattributed.ts"
import * as Domain from "../../../domain/Unattributed.ts"
import { instant, table, text, textOrNull, word } from "../Columns.ts"

export const unattributedItems = table<Unattributed>({
  id: text("id"),
  accountId: text("account"),
  sessionId: text("session"),
  kind: word("kind", Domain.kinds),
  messageId: textOrNull("message_id"),
  text: text("text"),
  occurredAt: instant("occurred_at"),
  recordedAt: instant("recorded_at")
})
