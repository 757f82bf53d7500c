/** The columns of `sendwright_unattributed`. */
import type { Unattributed } from "../../../domain/Unattributed.ts"
import * as Domain from "../../../domain/Unattributed.ts"
import { exact, instant, table, text, textOrNull, word } from "../Columns.ts"
import { impersonal, mention, opaque } from "../Personal.ts"

export const unattributedItems = table("sendwright_unattributed", {
  kept: { walk: "unattributed", at: "recorded_at" },
  part: "texts"
})<Unattributed>({
  id: text("id", impersonal),
  accountId: exact("account", impersonal),
  sessionId: exact("session", impersonal),
  kind: word("kind", impersonal, Domain.kinds),
  messageId: textOrNull("message_id", opaque),
  text: text("text", mention),
  occurredAt: instant("occurred_at", impersonal),
  recordedAt: instant("recorded_at", impersonal)
})
