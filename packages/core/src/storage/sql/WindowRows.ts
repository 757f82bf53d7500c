/** The rows of `sendwright_window`: of each name of a person who wrote to a session, until when it may answer with free text. */
import * as Address from "../../domain/Address.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Key } from "../../domain/Person.ts"
import type { Heard, Window } from "../../domain/session/Window.ts"
import * as Windows from "../../domain/session/Window.ts"
import type { JobChange, JobState } from "../JobSteps.ts"
import type { Program } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { exact, instant, instantOrNull, table } from "./Columns.ts"
import type { Dialect } from "./Database.ts"
import { insertRows } from "./Insert.ts"
import { impersonal, personKey } from "./Personal.ts"
import { flag } from "./RowReader.ts"

interface WindowRow extends Window {
  readonly sessionId: string
  readonly person: Key
}

export const windows = table("sendwright_window", {
  kept: "passing",
  part: "windows",
  goes: true,
  key: ["session", "person"]
})<WindowRow>({
  sessionId: exact("session", impersonal),
  person: exact("person", personKey),
  openUntil: instant("open_until", impersonal),
  freeUntil: instantOrNull("free_until", impersonal),
  closedAt: instantOrNull("closed_at", impersonal),
  asideAt: instantOrNull("aside_at", impersonal)
})

const later = (column: string): string =>
  `${column} = CASE WHEN sendwright_window.${column} > coalesce(excluded.${column}, 0) THEN sendwright_window.${column} ELSE excluded.${column} END`

const insert = insertRows("sendwright_window", windows.names, {
  onConflict: `(session, person) DO UPDATE SET ${["open_until", "free_until", "closed_at", "aside_at"].map(later).join(", ")}`
})

const forget = "DELETE FROM sendwright_window WHERE session = ? AND open_until > 0 AND open_until < ?"
/** Rows of people who wrote nothing themselves. */
const forgetAnswered = "DELETE FROM sendwright_window WHERE session = ? AND open_until = 0 AND aside_at < ?"

/** Closes the windows of those to whom the platform took no free text. */
export function* close(steps: ReadonlyArray<JobChange<JobState>>): Program<void> {
  for (const { changes, state } of steps)
    for (const change of changes) {
      const window = Windows.closedBy(state.job, change)
      if (window === undefined) continue
      const { sessionId } = state.job
      const keys = Address.keysOf(change.after.address).toSorted()
      yield* insert(keys.map((person) => windows.write({ sessionId, person, ...window })))
    }
}

/** The window that was told later stays, in whatever order the windows come. */
export function* open(sessionId: string, opened: ReadonlyMap<Key, Window>, now: Instant): Program<void> {
  if (opened.size === 0) return
  // In one order, as others of the session write the same rows.
  const rows = Array.from(opened, ([person, window]) => ({ sessionId, person, ...window }))
  yield* insert(rows.toSorted((a, b) => (a.person < b.person ? -1 : 1)).map((row) => windows.write(row)))
  const before = Time.before(now, Windows.keptMs)
  yield* run(forget, sessionId, before)
  if (rows.some(({ openUntil }) => openUntil === Windows.never)) yield* run(forgetAnswered, sessionId, before)
}

const ofOthers =
  "SELECT CASE WHEN EXISTS (SELECT 1 FROM sendwright_window WHERE session = ? AND aside_at IS NOT NULL) THEN 1 ELSE 0 END AS is_shared"

const mostOfPerson = 100

/** The windows of a person by the sessions of an account. */
export function* ofAccount({ elements }: Dialect, accountId: string, keys: ReadonlyArray<Key>) {
  const rows = yield* all(
    `SELECT ${windows.of("found")} FROM sendwright_session AS session CROSS JOIN sendwright_window AS found
     WHERE session.account = ? AND found.session = session.id AND ${elements.among("found.person")} LIMIT ${mostOfPerson}`,
    accountId,
    JSON.stringify(keys)
  )
  const found = new Map<string, Window>()
  for (const { person: _, sessionId, ...row } of rows.map(windows.read))
    found.set(sessionId, Windows.later(row, found.get(sessionId)))
  const told: Array<Heard & { readonly sessionId: string }> = []
  for (const [sessionId, window] of found)
    told.push({ sessionId, window, isShared: flag((yield* get(ofOthers, sessionId)) ?? {}, "is_shared") })
  return told
}

/** @param keys all names of the person */
export function* find({ elements }: Dialect, sessionId: string, keys: ReadonlyArray<Key>): Program<Heard> {
  const rows = yield* all(
    `SELECT ${windows.list} FROM sendwright_window WHERE session = ? AND ${elements.among("person")}`,
    sessionId,
    JSON.stringify(keys)
  )
  let window: Window | undefined
  for (const { person: _, sessionId: __, ...row } of rows.map(windows.read))
    window = Windows.later(row, window)
  const known = (yield* get(ofOthers, sessionId)) ?? {}
  return { window: window ?? null, isShared: flag(known, "is_shared") }
}
