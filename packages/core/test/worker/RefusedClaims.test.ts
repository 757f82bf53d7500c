/** What a store refuses to claim costs its session a while, and no other session a claim (contract.md §10). */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { connection, migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { SendResult } from "../../src/sender/Sender.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import { find, owner } from "../StorageSuite/Setup.ts"
import * as ByTestClock from "../storage/postgres/ByTestClock.ts"
import { accepted, acceptOf, embedded, platform } from "./Support.ts"

const busy = SendResult.Transient({
  failure: { code: "provider_rate_limited", provider_code: null, message: "Later.", permanent: false },
  retryAfterMs: null
})

const storesOf = <E>(layer: Layer.Layer<Stores, E>): Layer.Layer<Stores> => Layer.orDie(layer)

const ofClaim = (session: string): string => `NEW.session = '${session}'`

/** Of the first recipient of the session's job, as a claim of its next attempt writes it. */
const ofFirst = (session: string): string =>
  `NEW.fence IS NOT NULL AND NEW.seq IN (SELECT seq * 4096 FROM sendwright_job WHERE session = '${session}')`

const sqlite = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "refused-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  ),
  (folder) => {
    const filename = join(folder, "store.db")
    const execute = (sql: string) =>
      Effect.sync(() => {
        const db = new Database(filename)
        db.exec(sql)
        db.close()
      })
    const refuse = (change: string, condition: string) =>
      execute(
        `CREATE TRIGGER refusing BEFORE ${change} WHEN ${condition} BEGIN SELECT RAISE(ABORT, 'no'); END`
      )
    return {
      stores: storesOf(Sqlite.layer({ filename })),
      refuse: (session: string) => refuse("INSERT ON sendwright_claim", ofClaim(session)),
      refuseFirst: (session: string) => refuse("UPDATE ON sendwright_recipient", ofFirst(session)),
      mend: execute("DROP TRIGGER refusing")
    }
  }
)

const postgres = Effect.gen(function* () {
  const url = yield* migratedDatabase
  const client = yield* connection(url)
  const execute = (sql: string) => Effect.promise(() => client.query(sql))
  const refuse = (change: string, condition: string) =>
    execute(
      `CREATE FUNCTION refusing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF ${condition} THEN RAISE EXCEPTION 'no' USING ERRCODE = 'check_violation'; END IF;
         RETURN NEW;
       END $$;
       CREATE TRIGGER refusing BEFORE ${change} FOR EACH ROW EXECUTE FUNCTION refusing()`
    )
  return {
    stores: storesOf(ByTestClock.over(url)),
    refuse: (session: string) => refuse("INSERT ON sendwright_claim", ofClaim(session)),
    refuseFirst: (session: string) => refuse("UPDATE ON sendwright_recipient", ofFirst(session)),
    mend: execute("DROP FUNCTION refusing CASCADE")
  }
})

const memory = Effect.succeed({
  stores: storesOf(Memory.layer),
  refuse: () => Effect.void,
  refuseFirst: () => Effect.void,
  mend: Effect.void
})

/** A store that takes no claim of a session which would get something of it. */
const refusing = (refused: ReadonlyArray<string>, isMended: () => boolean) =>
  Layer.effect(
    JobStore,
    Effect.map(JobStore, (jobs) => ({
      ...jobs,
      settleAndClaim: Effect.fnUntraced(function* (command: Parameters<typeof jobs.settleAndClaim>[0]) {
        const { claim, now } = command
        let before: number | null = null
        const ready = new Set<string>()
        yield* jobs.nextDue(now, (id) => {
          ready.add(id)
          return false
        })
        for (const id of [...ready].sort()) {
          if (isMended() || claim === null) break
          const isDue = ((yield* jobs.nextDue(now, (each) => each === id)) ?? Number.POSITIVE_INFINITY) <= now
          const room: number = (isDue && claim.room?.({ id, provider: "sandbox" }, before)) || 0
          // The claim may begin with any of them.
          if (isDue) before = 0
          if (room > 0 && refused.includes(id))
            return yield* new StorageError({ operation: "claim", cause: "no", fault: "content" })
        }
        return yield* jobs.settleAndClaim(command)
      })
    }))
  )

const stores = [
  ["memory", memory],
  ["SQLite", sqlite],
  ["PostgreSQL", postgres]
] as const

/** Five sessions with three messages each; the claims of some are refused. */
const given = Effect.fnUntraced(function* (places: ReadonlyArray<number>) {
  const owners = yield* Effect.replicateEffect(owner, 5)
  const sessions = owners.toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1))
  const jobs = yield* Effect.forEach(sessions, (who) => acceptOf(who, 3))
  const statuses = Effect.map(Effect.forEach(jobs, find), (found) =>
    found.map(({ counts }) => counts.accepted)
  )
  return { refused: places.map((place) => sessions[place]?.sessionId ?? ""), statuses }
})

const logging = (logged: Array<string>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ logLevel, message }) => {
      if (logLevel.label === "ERROR") logged.push(String(message))
    })
  )

const expected = (places: ReadonlyArray<number>) =>
  Array.from({ length: 5 }, (_, place) => (places.includes(place) ? 0 : 3))

describe.each(stores)("on %s", (_, made) => {
  for (const places of [[0], [2], [4], [1, 3]])
    it.scoped(`claims that are refused for sessions ${places} cost no other`, () =>
      Effect.gen(function* () {
        const context = yield* Layer.build((yield* made).stores)
        yield* Effect.gen(function* () {
          const { refused, statuses } = yield* given(places)
          const logged: Array<string> = []
          let isMended = false
          const { sender, sent } = platform({ deduplicates: true })
          const layer = Layer.provide(
            embedded(sender),
            refusing(refused, () => isMended)
          )
          const engine = Context.get(yield* Layer.build(layer), Engine.Engine)
          yield* engine.drain.pipe(Effect.provide(logging(logged)))
          expect(yield* statuses).toEqual(expected(places))
          for (const id of refused) expect(logged.filter((line) => line.includes(id))).toHaveLength(1)
          isMended = true
          yield* TestClock.adjust("31 seconds")
          yield* engine.drain
          expect(yield* statuses).toEqual(expected([]))
          expect([sent.length, new Set(sent).size]).toEqual([15, 15])
        }).pipe(Effect.provide(context))
      })
    )
})

describe.each(stores.slice(1))("on %s", (_, made) => {
  it.scoped("a trigger that refuses one session's claims stops no other", () =>
    Effect.gen(function* () {
      const { mend, refuse, stores } = yield* made
      const context = yield* Layer.build(stores)
      yield* Effect.gen(function* () {
        const { refused, statuses } = yield* given([2])
        for (const id of refused) yield* refuse(id)
        const logged: Array<string> = []
        const { sender } = platform({ deduplicates: true })
        const engine = Context.get(yield* Layer.build(embedded(sender)), Engine.Engine)
        yield* engine.drain.pipe(Effect.provide(logging(logged)))
        expect(yield* statuses).toEqual(expected([2]))
        expect(logged.filter((line) => line.includes(refused[0] ?? "?"))).toHaveLength(1)
        yield* mend
        yield* TestClock.adjust("31 seconds")
        yield* engine.drain
        expect(yield* statuses).toEqual(expected([]))
      }).pipe(Effect.provide(context))
    })
  )

  it.scoped("a trigger on the row of one recipient, who is claimed again, stops no other session", () =>
    Effect.gen(function* () {
      const { mend, refuseFirst, stores } = yield* made
      const context = yield* Layer.build(stores)
      yield* Effect.gen(function* () {
        const { refused, statuses } = yield* given([2])
        let isBusy = true
        const { sender, sent } = platform({ deduplicates: true }, () =>
          Effect.succeed(isBusy ? busy : accepted)
        )
        const engine = Context.get(yield* Layer.build(embedded(sender)), Engine.Engine)
        yield* engine.drain
        const first = sent.length
        for (const id of refused) yield* refuseFirst(id)
        isBusy = false
        const logged: Array<string> = []
        yield* Effect.zipRight(TestClock.adjust("10 minutes"), engine.drain).pipe(
          Effect.provide(logging(logged))
        )
        expect(yield* statuses).toEqual(expected([2]))
        expect(logged.filter((line) => line.includes(refused[0] ?? "?")).length).toBeGreaterThan(0)
        yield* mend
        yield* TestClock.adjust("31 seconds")
        yield* engine.drain
        expect(yield* statuses).toEqual(expected([]))
        expect(sent.length - first).toBe(15)
      }).pipe(Effect.provide(context))
    })
  )
})
