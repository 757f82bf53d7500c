/** The columns of `sendwright_unread_hook`. */
import type { UnreadHook } from "../../../domain/UnreadHook.ts"
import { exact, flag, instant, integer, table, text } from "../Columns.ts"
import { impersonal, within } from "../Personal.ts"

interface UnreadHookRow extends UnreadHook {
  readonly sessionId: string
  readonly number: number
}

export const unreadHooks = table("sendwright_unread_hook", {
  kept: { walk: "unreadHooks" },
  part: "unread",
  goes: true,
  key: ["session", "number"]
})<UnreadHookRow>({
  sessionId: exact("session", impersonal),
  number: integer("number", impersonal),
  id: text("id", impersonal),
  field: text("field", impersonal),
  reason: text("reason", impersonal),
  content: text("content", within),
  isCut: flag("is_cut", impersonal, "long NOT NULL"),
  receivedAt: instant("received_at", impersonal)
})
