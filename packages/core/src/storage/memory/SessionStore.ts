import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../domain/Instant.ts"
import * as Paging from "../../domain/Page.ts"
import type { Session } from "../../domain/session/Session.ts"
import * as Sessions from "../../domain/session/Session.ts"
import type { Tx } from "../policy/JobRows.ts"
import type { SessionRows } from "../policy/SessionRows.ts"
import * as Policy from "../policy/Sessions.ts"
import { SessionStore } from "../SessionStore.ts"
import * as Events from "./Events.ts"
import * as Happenings from "./Happenings.ts"
import type { Database } from "./MemoryDatabase.ts"
import { insert, MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"
import * as MemoryJobRows from "./MemoryJobRows.ts"

const perform = <A>(verb: () => Tx<A, MemoryJobRows.Memory>) =>
  Effect.sync(() => MemoryJobRows.perform(verb()))

const byId = (db: Database, isWanted: (session: Session) => boolean): ReadonlyArray<Session> =>
  [...db.sessions.values()]
    .map(({ value }) => value)
    .filter(isWanted)
    .sort((a, b) => (a.id < b.id ? -1 : 1))

export const rowsOf = (db: Database): SessionRows<MemoryJobRows.Memory> => {
  const { lockJobs, lockJobsInTime, saveJobs } = MemoryJobRows.make(db)
  function* save(session: Session): Tx<void, MemoryJobRows.Memory> {
    const row = db.sessions.get(session.id)
    if (row !== undefined) db.sessions.set(session.id, { ...row, value: session })
  }
  return {
    lockJobs,
    lockJobsInTime,
    saveJobs,
    lockSession: function* (id) {
      return db.sessions.get(id)?.value ?? null
    },
    lockUnblockable: function* (now) {
      return byId(db, (session) => Sessions.blockIsOver(session, now))
    },
    saveSession: save,
    saveSettings: save,
    jobsToFollow: function* (sessionId, running) {
      return [...db.jobs.values()].flatMap(({ job }) =>
        job.sessionId === sessionId && (job.status === "paused" || (running && job.status === "processing"))
          ? [job.id]
          : []
      )
    },
    note: function* (happenings) {
      Happenings.note(db, happenings)
    },
    appendEvents: function* (accountId, drafts, now) {
      Events.append(db, accountId, drafts, now)
    }
  }
}

export const layer: Layer.Layer<SessionStore, never, MemoryDatabase> = Layer.effect(
  SessionStore,
  Effect.map(MemoryDatabase, (db) => ({
    create: (session) => Effect.sync(() => insert(db, db.sessions, session.id, session)),
    find: (id) => Effect.sync(() => db.sessions.get(id)?.value ?? null),
    list: ({ accountId, isDown, page }) =>
      Effect.sync(() => {
        const rows = [...db.sessions.values()].filter(
          ({ value }) =>
            (accountId === undefined || value.accountId === accountId) &&
            (isDown === undefined || Sessions.obstacle(value) !== null)
        )
        return Paging.map(newestFirst(rows, page), ({ value }) => value)
      }),
    inNeedFirst: ({ ids, most }) =>
      Effect.sync(() => {
        const all = [...db.sessions.values()]
          .sort((a, b) => b.position - a.position)
          .map(({ value }) => value)
        const ordered = [
          ...all.filter(({ outage }) => outage !== null),
          ...all.filter(({ blockedUntil }) => blockedUntil !== null),
          ...ids.flatMap((id) => db.sessions.get(id)?.value ?? []),
          ...all.filter((session) => Sessions.obstacle(session) !== null),
          ...all
        ]
        return [...new Set(ordered)].slice(0, most).flatMap((session) => {
          const account = db.accounts.get(session.accountId)?.value
          return account === undefined ? [] : [{ session, account }]
        })
      }),
    ofProvider: ({ page, provider }) =>
      Effect.sync(() => {
        const rows = [...db.sessions.values()].filter(({ value }) => value.provider === provider)
        return Paging.map(newestFirst(rows, page), ({ value }) => value)
      }),
    change: (command) => perform(() => Policy.set(rowsOf(db), command)),
    transition: (command) => perform(() => Policy.transition(rowsOf(db), command)),
    announce: (command) => perform(() => Policy.announce(rowsOf(db), command)),
    block: (command) => perform(() => Policy.block(rowsOf(db), command)),
    noteEnds: (command) => perform(() => Policy.noteEnds(rowsOf(db), command)),
    nextUnblock: Effect.sync(() =>
      Time.firstOf(Array.from(db.sessions.values(), ({ value }) => value.blockedUntil))
    ),
    unblock: ({ now }) => perform(() => Policy.unblock(rowsOf(db), now)),
    acquireProbe: (command) => perform(() => Policy.acquireProbe(rowsOf(db), command)),
    address: ({ addresses, config, id }) =>
      Effect.sync(() => {
        if (db.sessions.get(id)?.value.config === config)
          db.addresses.set(id, { config, addresses: new Set(addresses) })
      }),
    addressed: ({ addresses }) =>
      Effect.sync(() =>
        byId(db, ({ id }) => addresses.some((address) => db.addresses.get(id)?.addresses.has(address)))
      ),
    unaddressed: ({ after, limit, providers }) =>
      Effect.sync(() =>
        byId(
          db,
          ({ config, id, provider }) =>
            id > after && providers.includes(provider) && db.addresses.get(id)?.config !== config
        ).slice(0, limit)
      ),
    countDown: Effect.sync(() => {
      const down = [...db.sessions.values()].filter(({ value }) => Sessions.obstacle(value) !== null)
      return { unavailable: down.length, missed: down.filter(({ value }) => !Sessions.isMeant(value)).length }
    }),
    onlyConnected: Effect.sync(() => {
      const [first, second] = [...db.sessions.values()].filter(({ value }) => value.state === "connected")
      return first === undefined || second !== undefined ? null : first.value.id
    })
  }))
)
