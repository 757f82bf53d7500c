/** Sessions, a row each, and the jobs that pause and resume with them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import * as Time from "../../domain/Instant.ts"
import type { OwnedSession } from "../../domain/overview/StoreReadings.ts"
import * as Page from "../../domain/Page.ts"
import { meantReasons, type Session } from "../../domain/session/Session.ts"
import type { Program } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import type { SessionRows } from "../policy/SessionRows.ts"
import * as Policy from "../policy/Sessions.ts"
import { SessionStore } from "../SessionStore.ts"
import { accounts } from "./codec/Account.ts"
import { readSession, sessions, toSessionRow, writeSession } from "./codec/Session.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import * as Happenings from "./Happenings.ts"
import * as IndexScan from "./IndexScan.ts"
import { insertInto, insertRows } from "./Insert.ts"
import type { StoredJobs } from "./jobs/Jobs.ts"
import * as Jobs from "./jobs/Jobs.ts"
import * as Order from "./jobs/Order.ts"
import { instantOrNull, integer, limited, newestFirst, seq, text } from "./RowReader.ts"

const insert = insertInto("sendwright_session", sessions.names)

const standing = sessions.only(
  "state",
  "reason",
  "blockedUntil",
  "blockReason",
  "blockCode",
  "repliesBlockedUntil",
  "told",
  "unavailableSince",
  "probeAt",
  "probeInterval",
  "connectedSince",
  "mendedAt",
  "failing",
  "updatedAt"
)

const update = `UPDATE sendwright_session SET ${standing.assignments} WHERE id = ?`

const statusIs = (
  statuses: string
): string => `SELECT job.id FROM sendwright_progress AS progress CROSS JOIN sendwright_job AS job
  WHERE job.seq = progress.seq AND progress.session = ? AND progress.status IN ('queued', 'processing', 'paused')
    AND progress.status IN (${statuses}) ORDER BY job.id`

const pausedJobs = statusIs("'paused'")
const processingJobs = statusIs("'processing'")

// A claim tells of them, as long as they have no row.
const claimedJobs = `SELECT job.id FROM sendwright_claim AS claim CROSS JOIN sendwright_job AS job
  WHERE claim.session = ? AND claim.worker IS NOT NULL AND ${Order.isInRange}
    AND NOT EXISTS (SELECT 1 FROM sendwright_progress AS progress WHERE progress.seq = job.seq)`

const settings = sessions.only(
  "name",
  "pacing",
  "retryForMs",
  "closedMarkets",
  "quietHours",
  "keywords",
  "config",
  "mendedAt",
  "failing",
  "updatedAt"
)

const change = `UPDATE sendwright_session SET ${settings.assignments} WHERE id = ?`

// By `Session.blockIsOver`.
const unblockable = `SELECT ${sessions.list} FROM sendwright_session
  WHERE blocked_until IS NOT NULL AND (blocked_until <= ? OR updated_at > ?) ORDER BY id`

const firstUnblock =
  "SELECT min(blocked_until) AS first_at FROM sendwright_session WHERE blocked_until IS NOT NULL"

const byId = `SELECT ${sessions.list} FROM sendwright_session WHERE id = ?`

/** How the configuration ends by which addresses were written: it is sealed anew with every change. */
const sealedEnd = 24
const endOfConfig = `substr(session.config, length(session.config) - ${sealedEnd - 1})`

const deleteAddresses = "DELETE FROM sendwright_address WHERE session = ?"
const insertAddresses = insertRows("sendwright_address", ["address", "session", "sealed"], {
  onConflict: "(address, session) DO NOTHING"
})

/** Reads a session and locks it. */
export const toChange = (dialect: Dialect): string => byId + dialect.forUpdate("sendwright_session")

export function* findSession(id: string, statement = byId): Program<Session | null> {
  const row = yield* get(statement, id)
  return row === undefined ? null : readSession(row)
}

const isDown = "(state <> 'connected' OR blocked_until IS NOT NULL OR unavailable_since IS NOT NULL)"

/** As `Session.obstacle` and `Session.isMeant` have it, by the index of those that may not send. */
const countDown = `SELECT count(*) AS unavailable, coalesce(sum(CASE
    WHEN state = 'connected' OR (reason IS NOT NULL AND reason NOT IN ('${meantReasons.never}', '${meantReasons.operator}')) THEN 1 ELSE 0
  END), 0) AS missed
  FROM sendwright_session WHERE ${isDown}`

const connected = "SELECT id FROM sendwright_session WHERE state = 'connected' LIMIT 2"

export const rowsOf = (jobs: StoredJobs, dialect: Dialect): SessionRows => {
  const locking = toChange(dialect)
  const toUnblock = unblockable + dialect.skipLocked("sendwright_session")
  return {
    lockJobs: jobs.lock,
    lockJobsInTime: jobs.lockInTime,
    saveJobs: (steps, now) => jobs.save(steps, now),
    lockSession: (id) => findSession(id, locking),
    lockUnblockable: function* (now) {
      return (yield* all(toUnblock, now, Time.latestWritten(now))).map(readSession)
    },
    saveSession: (session) => run(update, ...standing.write(toSessionRow(session)), session.id),
    saveSettings: (session) => run(change, ...settings.write(session), session.id),
    jobsToFollow: function* (id, running) {
      const found = [...(yield* all(pausedJobs, id))]
      if (running) found.push(...(yield* all(processingJobs, id)), ...(yield* all(claimedJobs, id)))
      return found.map((row) => text(row, "id"))
    },
    note: Happenings.note,
    appendEvents: (accountId, drafts, now) => Events.append(jobs.ids, accountId, drafts, now)
  }
}

// By `Session.obstacle`.
const newest = (condition: string): string =>
  `SELECT ${sessions.list} FROM sendwright_session WHERE ${condition} ORDER BY seq DESC ${limited}`
const inNeed = [newest("unavailable_since IS NOT NULL"), newest("blocked_until IS NOT NULL")]
const others = [newest(isDown), newest("true")]

const owner = accounts.only("id", "name", "plan")

/** Looks on in the next place where one has too few. */
const inNeedFirst = ({ elements }: Dialect) => {
  const named = `SELECT ${sessions.list} FROM sendwright_session WHERE ${elements.among("id")}`
  const owners = `SELECT ${owner.list} FROM sendwright_account WHERE ${elements.among("id")}`
  return function* (ids: ReadonlyArray<string>, most: number): Program<ReadonlyArray<OwnedSession>> {
    const found = new Map<string, Session>()
    const add = (some: ReadonlyArray<Session>): void => {
      for (const session of some) if (found.size < most) found.set(session.id, session)
    }
    for (const statement of inNeed) add((yield* all(statement, most)).map(readSession))
    if (ids.length > 0) {
      const rows = yield* all(named, JSON.stringify(ids.slice(0, most)))
      const known = new Map(rows.map(readSession).map((session) => [session.id, session]))
      add(ids.flatMap((id) => known.get(id) ?? []))
    }
    for (const statement of others) if (found.size < most) add((yield* all(statement, most)).map(readSession))
    const shown = [...found.values()]
    const of = [...new Set(shown.map(({ accountId }) => accountId))]
    const known = new Map(
      (yield* all(owners, JSON.stringify(of))).map(owner.read).map((account) => [account.id, account])
    )
    return shown.flatMap((session) => {
      const account = known.get(session.accountId)
      return account === undefined ? [] : [{ session, account }]
    })
  }
}

const walk = (...columns: ReadonlyArray<string>) =>
  IndexScan.make("sendwright_session", `seq, ${sessions.list}`, columns, isDown)
const walks = { account: walk("account"), all: walk() }

export const layer: Layer.Layer<SessionStore, never, Database> = Layer.effect(
  SessionStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    const rows = rowsOf(Jobs.make(db.dialect, ids), db.dialect)
    const locking = toChange(db.dialect)
    const readInNeedFirst = inNeedFirst(db.dialect)
    const { elements } = db.dialect
    const addressed = `SELECT ${sessions.list} FROM sendwright_session
      WHERE id IN (SELECT session FROM sendwright_address WHERE ${elements.among("address")}) ORDER BY id`
    const unaddressed = `SELECT ${sessions.of("session")} FROM sendwright_session AS session
      WHERE ${elements.among("session.provider")} AND session.id > ? AND NOT EXISTS (
        SELECT 1 FROM sendwright_address AS address WHERE address.session = session.id AND address.sealed = ${endOfConfig}
      ) ORDER BY session.id ${limited}`
    return {
      create: (session) =>
        db.write("SessionStore.create", function* () {
          yield* run(insert, ...writeSession(session))
        }),
      find: (id) => db.read("SessionStore.find", () => findSession(id)),
      list: ({ accountId, isDown, page }) =>
        IndexScan.untilFound(
          (page) =>
            db.readPage("SessionStore.list", function* () {
              const [walk, values] = accountId === undefined ? [walks.all, []] : [walks.account, [accountId]]
              const found = yield* IndexScan.pageOf(walk, values, page, isDown === undefined ? undefined : [])
              return Page.map(found, readSession)
            }),
          page
        ),
      inNeedFirst: ({ ids, most }) =>
        db.readPage("SessionStore.inNeedFirst", () => readInNeedFirst(ids, most)),
      ofProvider: ({ page, provider }) =>
        db.readPage("SessionStore.ofProvider", function* () {
          const rows = yield* all(
            `SELECT seq, ${sessions.list} FROM sendwright_session WHERE provider = ? AND seq < ? ORDER BY seq DESC ${limited}`,
            provider,
            ...newestFirst(page)
          )
          return Page.map(Page.cut(rows, page.limit, seq), readSession)
        }),
      change: (command) => db.write("SessionStore.change", () => Policy.set(rows, command)),
      transition: (command) => db.write("SessionStore.transition", () => Policy.transition(rows, command)),
      announce: (command) => db.write("SessionStore.announce", () => Policy.announce(rows, command)),
      block: (command) => db.write("SessionStore.block", () => Policy.block(rows, command)),
      noteEnds: (command) => db.write("SessionStore.noteEnds", () => Policy.noteEnds(rows, command)),
      unblock: ({ now }) => db.write("SessionStore.unblock", () => Policy.unblock(rows, now)),
      nextUnblock: db.read("SessionStore.nextUnblock", function* () {
        return instantOrNull((yield* get(firstUnblock)) ?? {}, "first_at")
      }),
      acquireProbe: (command) =>
        db.write("SessionStore.acquireProbe", () => Policy.acquireProbe(rows, command)),
      address: ({ addresses, config, id }) =>
        db.write("SessionStore.address", function* () {
          const found = yield* findSession(id, locking)
          if (found?.config !== config) return
          yield* run(deleteAddresses, id)
          yield* insertAddresses(addresses.map((address) => [address, id, config.slice(-sealedEnd)]))
        }),
      addressed: ({ addresses }) =>
        db.read("SessionStore.addressed", function* () {
          return (yield* all(addressed, JSON.stringify(addresses))).map(readSession)
        }),
      unaddressed: ({ after, limit, providers }) =>
        db.read("SessionStore.unaddressed", function* () {
          return (yield* all(unaddressed, JSON.stringify(providers), after, limit)).map(readSession)
        }),
      countDown: db.read("SessionStore.countDown", function* () {
        const row = (yield* get(countDown)) ?? { unavailable: 0, missed: 0 }
        return { unavailable: integer(row, "unavailable"), missed: integer(row, "missed") }
      }),
      onlyConnected: db.read("SessionStore.onlyConnected", function* () {
        const [first, second] = yield* all(connected)
        return first === undefined || second !== undefined ? null : text(first, "id")
      })
    }
  })
)
