/** The parts of hooks that nobody understood, numbered within their session, so that the oldest are found without a count. */
import type { Instant } from "../../domain/Instant.ts"
import type { UnreadCount } from "../../domain/overview/StoreReadings.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Paging from "../../domain/Page.ts"
import type { UnreadHook } from "../../domain/UnreadHook.ts"
import * as UnreadHooks from "../../domain/UnreadHook.ts"
import type { Program } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { unreadHooks } from "./codec/UnreadHook.ts"
import { insertRows } from "./Insert.ts"
import { instant, integer, integerOrNull, limited, newestFirst, text } from "./RowReader.ts"

const insert = insertRows("sendwright_unread_hook", unreadHooks.names)

const newest = "SELECT max(number) AS number FROM sendwright_unread_hook WHERE session = ?"

const pruneSession = "DELETE FROM sendwright_unread_hook WHERE session = ? AND number <= ?"

const pruneFields = `DELETE FROM sendwright_unread_hook WHERE session = ? AND number IN (
  SELECT number FROM (
    SELECT number, row_number() OVER (PARTITION BY field ORDER BY number DESC) AS place
      FROM sendwright_unread_hook WHERE session = ?
  ) AS unread WHERE place > ${UnreadHooks.maximumOfField})`

const listed = `SELECT ${unreadHooks.list} FROM sendwright_unread_hook
  WHERE session = ? AND number < ? ORDER BY number DESC ${limited}`

/** Within a verb that is serialized by the session. */
export function* retain(sessionId: string, parts: ReadonlyArray<UnreadHook>): Program<void> {
  const row = yield* get(newest, sessionId)
  const last = (row === undefined ? null : integerOrNull(row, "number")) ?? 0
  yield* insert(
    parts.map((part, place) => unreadHooks.write({ ...part, sessionId, number: last + 1 + place }))
  )
  yield* run(pruneSession, sessionId, last + parts.length - UnreadHooks.maximumOfSession)
  yield* run(pruneFields, sessionId, sessionId)
}

export function* list(sessionId: string, page: Page): Program<Paged<UnreadHook>> {
  const [before, limit] = newestFirst(page)
  const rows = yield* all(listed, sessionId, before, limit)
  const found = Paging.cut(rows.map(unreadHooks.read), page.limit, ({ number }) => number)
  return Paging.map(found, ({ number: _, sessionId: __, ...part }) => part)
}

const counted = `SELECT count(*) AS count, min(received_at) AS first_at, min(session) AS session FROM (
    SELECT received_at, session FROM sendwright_unread_hook WHERE received_at >= ? ORDER BY received_at ${limited}
  ) AS unread`

export function* count(since: Instant, most: number): Program<UnreadCount | null> {
  const row = yield* get(counted, since, most)
  return row === undefined || integer(row, "count") === 0
    ? null
    : { count: integer(row, "count"), firstAt: instant(row, "first_at"), sessionId: text(row, "session") }
}
