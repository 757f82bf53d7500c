/** The columns of `sendwright_unread_hook`. */
import type { UnreadHook } from "../../../domain/UnreadHook.ts"
import { flag, instant, integer, table, text } from "../Columns.ts"

interface UnreadHookRow extends UnreadHook {
  readonly sessionId: string
  readonly number: number
}

export const unreadHooks = table<UnreadHookRow>({
  sessionId: text("session"),
  number: integer("number"),
  id: text("id"),
  field: text("field"),
  reason: text("reason"),
  content: text("content"),
  isCut: flag("is_cut"),
  receivedAt: instant("received_at")
})
