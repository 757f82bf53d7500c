import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Event from "../../domain/Event.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Paging from "../../domain/Page.ts"
import * as Progress from "../../domain/Progress.ts"
import type { Session } from "../../domain/Session.ts"
import * as Sessions from "../../domain/Session.ts"
import { SessionStore } from "../SessionStore.ts"
import * as Events from "./Events.ts"
import type { Database } from "./MemoryDatabase.ts"
import { insert, MemoryDatabase, newestFirst, nextDue, putJob } from "./MemoryDatabase.ts"

/** Running jobs pause with their session, and go on with it. */
const followSession = (db: Database, session: Session, now: Instant): void => {
  for (const row of db.jobs.values()) {
    if (row.job.sessionId !== session.id) continue
    const next = Progress.followSession(row.job, session, now)
    if (next === row.job) continue
    putJob(db, { ...row, job: next, nextDue: nextDue(row, next, now) })
    const draft = Event.jobChanged(next, row.job.status)
    if (draft !== undefined) Events.append(db, session.accountId, [draft], now)
  }
}

export const layer: Layer.Layer<SessionStore, never, MemoryDatabase> = Layer.effect(
  SessionStore,
  Effect.map(MemoryDatabase, (db) => ({
    create: (session) => Effect.sync(() => insert(db, db.sessions, session.id, session)),
    find: (id) => Effect.sync(() => db.sessions.get(id)?.value ?? null),
    list: ({ accountId, page }) =>
      Effect.sync(() => {
        const rows = [...db.sessions.values()].filter(({ value }) => value.accountId === accountId)
        return Paging.map(newestFirst(rows, page), ({ value }) => value)
      }),
    change: ({ change, id, now }) =>
      Effect.sync(() => {
        const row = db.sessions.get(id)
        if (row === undefined) return null
        const session: Session = { ...row.value, ...change, updatedAt: now }
        db.sessions.set(id, { ...row, value: session })
        return session
      }),
    transition: ({ id, now, reason, state }) =>
      Effect.sync(() => {
        const row = db.sessions.get(id)
        if (row === undefined) return null
        if (row.value.state === state && row.value.reason === reason) return row.value
        const connected = state === "connected"
        const session: Session = {
          ...row.value,
          state,
          reason: connected ? null : reason,
          connectedSince: connected ? (row.value.connectedSince ?? now) : null,
          updatedAt: now
        }
        db.sessions.set(id, { ...row, value: session })
        const draft = row.value.state === state ? undefined : Event.sessionChanged(session)
        if (draft !== undefined) Events.append(db, session.accountId, [draft], now)
        followSession(db, session, now)
        return session
      }),
    block: ({ id, now, until }) =>
      Effect.sync(() => {
        const row = db.sessions.get(id)
        if (row === undefined) return null
        const blockedUntil = Math.max(row.value.blockedUntil ?? 0, until)
        const session: Session = { ...row.value, blockedUntil, updatedAt: now }
        db.sessions.set(id, { ...row, value: session })
        followSession(db, session, now)
        return session
      }),
    unblock: ({ now }) =>
      Effect.sync(() => {
        const over = [...db.sessions.values()].filter(({ value }) => Sessions.blockIsOver(value, now))
        for (const row of over) {
          const session: Session = { ...row.value, blockedUntil: null, updatedAt: now }
          db.sessions.set(session.id, { ...row, value: session })
          followSession(db, session, now)
        }
        return over.length
      })
  }))
)
