/**
 * A database that was written before rows were written once (docs/adr/0028): its tables are made by the migrations up to
 * then and filled by hand, and this build finds all of it again.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import { freshDatabase } from "../../../../test/support/Postgres.ts"
import * as Plan from "../../src/domain/account/Plan.ts"
import * as Time from "../../src/domain/Instant.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import * as PostgresMigrator from "../../src/storage/postgres/Migrator.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import { migrations as ofPostgres } from "../../src/storage/postgres/Schema.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import type { Migration } from "../../src/storage/sql/Migrations.ts"
import * as SqliteMigrator from "../../src/storage/sqlite/Migrator.ts"
import { migrations as ofSqlite } from "../../src/storage/sqlite/Schema.ts"
import * as Sqlites from "../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"

const { now } = Fixtures

type Values = Readonly<Record<string, string | number | null>>

/** The database as an earlier build left it, open for this one. */
interface Earlier {
  readonly run: (statement: string) => Promise<unknown>
  /** True where what changes of a job lies in a table of its own. */
  readonly apart: boolean
  readonly stores: Layer.Layer<Stores, unknown>
}

const before = (migrations: ReadonlyArray<Migration>) =>
  migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === "rows written once")
  )

const sqlite: Effect.Effect<Earlier, unknown, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  )
  const filename = join(folder, "earlier.db")
  const run = async (statement: string) => {
    const db = new Sqlite(filename)
    try {
      db.exec(statement)
    } finally {
      db.close()
    }
  }
  const db = new Sqlite(filename)
  yield* SqliteMigrator.migrate(db, before(ofSqlite), now)
  db.close()
  return { run, apart: false, stores: Sqlites.layer({ filename }) }
})

const postgres: Effect.Effect<Earlier, unknown, Scope.Scope> = Effect.gen(function* () {
  const url = yield* freshDatabase
  const outside = async (statement: string) => {
    const client = new Pg.Client(url)
    await client.connect()
    try {
      return await client.query(statement)
    } finally {
      await client.end()
    }
  }
  yield* Effect.promise(() => outside("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))
  yield* PostgresMigrator.migrate({ url: Redacted.make(url) }, before(ofPostgres))
  return { run: outside, apart: true, stores: Postgres.layer({ url: Redacted.make(url) }) }
})

const literal = (value: string | number | null): string =>
  value === null ? "NULL" : typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`

const insert = (table: string, values: Values, identity: boolean): string =>
  `INSERT INTO ${table} (${Object.keys(values).join(", ")})${identity ? " OVERRIDING SYSTEM VALUE" : ""}
   VALUES (${Object.values(values).map(literal).join(", ")});`

const who = { accountId: "account", sessionId: "session", publicKey: "pk_1" }

const idOf = (seq: number): string => `01900000-0000-7000-8000-00000000${seq}000`

const counts = { queued: 0, sending: 0, accepted: 0, sent: 0, delivered: 0, read: 0 }
const otherCounts = { failed: 0, skipped: 0, canceled: 0, unknown: 0 }

/** A job of two with what became of it. */
const job = (seq: number, kind: "template" | "direct", changing: Values) => ({
  staying: {
    seq,
    id: idOf(seq),
    account: who.accountId,
    session: who.sessionId,
    public_key: who.publicKey,
    kind,
    template: kind === "template" ? 1 : null,
    snapshot: kind === "template" ? 1 : 2,
    currency: "EUR",
    idempotency_key: `key-${seq}`,
    fingerprint: "same",
    recipients: 2,
    created_at: now - 100 + seq
  },
  changing: {
    ...counts,
    ...otherCounts,
    status: "processing",
    in_flight: 0,
    next_at: null,
    fence: 1,
    updated_at: now - 50,
    ...changing
  }
})

const recipient = (seq: number, place: number, changing: Values): Values => ({
  seq: seq * 4096 + place,
  phone: `3460000000${place}`,
  variables: JSON.stringify([`Name ${place}`]),
  status: "queued",
  attempts: 0,
  sequence: 0,
  next_at: now - 100 + seq,
  updated_at: now - 100 + seq,
  ...changing
})

const both = (seq: number, changing: Values): ReadonlyArray<Values> => [
  recipient(seq, 0, changing),
  recipient(seq, 1, changing)
]

const ended = { next_at: null, updated_at: now - 50 }
const failure = JSON.stringify({ code: "broken", provider_code: null, message: "It broke.", permanent: true })

const jobs = [
  job(10, "template", { status: "queued", queued: 2, fence: 0, next_at: now - 90, updated_at: now - 90 }),
  job(11, "template", {
    ...{ sending: 2, in_flight: 2, worker: "dead", taken_first: 0, taken_last: 1, taken_at: now - 60 }
  }),
  job(12, "template", { sending: 1, accepted: 1, next_at: now + 500 }),
  job(13, "template", { status: "completed", delivered: 1, failed: 1, completed_at: now - 50 }),
  job(14, "template", { status: "paused", pause_reason: "template_paused", queued: 2, fence: 0 }),
  job(15, "template", { status: "canceled", canceled: 2, completed_at: now - 50 }),
  job(16, "direct", { status: "completed", sent: 2, completed_at: now - 50 })
]

const recipients = [
  ...both(10, {}),
  ...both(11, {}),
  recipient(12, 0, { status: "sending", attempts: 1, sequence: 1, next_at: now + 500, updated_at: now - 50 }),
  recipient(12, 1, { ...ended, status: "accepted", attempts: 1, sequence: 2, provider_id: "p-12" }),
  recipient(13, 0, { ...ended, status: "delivered", attempts: 1, sequence: 3, delivered_at: now - 50 }),
  recipient(13, 1, { ...ended, status: "failed", attempts: 1, sequence: 2, failure }),
  ...both(14, {}),
  ...both(15, { ...ended, status: "canceled", sequence: 1 }),
  ...both(16, { ...ended, status: "sent", attempts: 1, sequence: 2, sent_at: now - 50 })
]

const day = Time.utcDay(now)

const fill = ({ apart, run }: Earlier) =>
  Effect.promise(async () => {
    const content = { kind: "template", templateId: 1, template: Fixtures.template() }
    const snapshots = [content, { kind: "direct", text: "Hello", linkPreview: false }]
    const session = Fixtures.session(who.accountId)
    const statements = [
      insert(
        "sendwright_account",
        { id: who.accountId, name: "A", currency: "EUR", plan: "{}", created_at: now, updated_at: now },
        false
      ),
      insert(
        "sendwright_session",
        {
          id: who.sessionId,
          account: who.accountId,
          name: "S",
          provider: "sandbox",
          config: "{}",
          pacing: JSON.stringify(session.pacing),
          state: "connected",
          created_at: now,
          updated_at: now
        },
        false
      ),
      ...snapshots.map((each, place) =>
        insert(
          "sendwright_snapshot",
          { seq: place + 1, digest: `d${place}`, body: JSON.stringify(each) },
          apart
        )
      ),
      ...jobs.flatMap(({ changing, staying }) =>
        apart
          ? [
              insert("sendwright_job", staying, true),
              insert("sendwright_progress", { seq: staying.seq, session: who.sessionId, ...changing }, false)
            ]
          : [insert("sendwright_job", { ...staying, ...changing }, false)]
      ),
      ...recipients.map((each) => insert("sendwright_recipient", each, false)),
      insert("sendwright_usage", { account: who.accountId, day, template: 12, direct: 2 }, false),
      insert("sendwright_acceptance", { public_key: who.publicKey, accepted_at: now - 84 }, false),
      insert("sendwright_worker", { id: "dead", beats: 3 }, false),
      ...(apart
        ? [
            "SELECT setval(pg_get_serial_sequence('sendwright_job', 'seq'), 16)",
            "SELECT setval(pg_get_serial_sequence('sendwright_snapshot', 'seq'), 2)"
          ]
        : [])
    ]
    await run(statements.join("\n;"))
  })

const look = (jobId: string) =>
  Effect.gen(function* () {
    const store = yield* JobStore
    const job = yield* store.find(jobId)
    const { items } = yield* store.results({ jobId, page: { limit: 10, after: null } })
    return [job?.status, items.map(({ attempts, status }) => `${status} ${attempts}`).join(", ")]
  })

describe.each([
  ["SQLite", sqlite],
  ["PostgreSQL", postgres]
] as const)("a database of %s that was written before rows were written once", (_, opened) => {
  it.scopedLive("has all of its jobs, recipients, keys, quotas and workers, and goes on with them", () =>
    Effect.gen(function* () {
      const earlier = yield* opened
      yield* fill(earlier)
      const stores = yield* Layer.build(earlier.stores)
      yield* Effect.gen(function* () {
        const store = yield* JobStore
        const account = yield* (yield* AccountStore).find(who.accountId)
        // The row's plan lacks every setting.
        expect(account).toMatchObject({ id: who.accountId, plan: Plan.defaults })
        expect((yield* (yield* SessionStore).find(who.sessionId))?.id).toBe(who.sessionId)
        const expected = [
          ["queued", "queued 0, queued 0"],
          ["processing", "sending 1, sending 1"],
          ["processing", "sending 1, accepted 1"],
          ["completed", "delivered 1, failed 1"],
          ["paused", "queued 0, queued 0"],
          ["canceled", "canceled 0, canceled 0"],
          ["completed", "sent 1, sent 1"]
        ]
        expect(yield* Effect.forEach(jobs, ({ staying }) => look(staying.id))).toEqual(expected)
        const list = (kind: "template" | "direct") =>
          store.list({ by: { accountId: who.accountId }, kind, page: { limit: 10, after: null } })
        expect((yield* list("template")).items.map(({ id }) => id)).toEqual(
          [15, 14, 13, 12, 11, 10].map(idOf)
        )
        expect((yield* list("direct")).items.map(({ id }) => id)).toEqual([idOf(16)])

        expect(yield* store.usage({ accountId: who.accountId, day })).toEqual({ template: 12, direct: 2 })
        const demand = { units: 2, dailyLimit: 13, minimumWaitMs: 0 }
        const accept = (some: Parameters<typeof Fixtures.send>[1]) =>
          Effect.map(store.accept(Fixtures.send(who, { phones: 2, ...some })), ({ _tag }) => _tag)
        expect(yield* accept({ demand })).toBe("QuotaExhausted")
        expect(yield* accept({ demand: { ...demand, dailyLimit: null, minimumWaitMs: 85 } })).toBe("TooSoon")
        expect(yield* accept({ key: "key-13" })).toBe("Replayed")
        const fresh = Fixtures.send(who, { phones: 2 })
        expect((yield* store.accept(fresh))._tag).toBe("Accepted")
        expect(yield* store.usage({ accountId: who.accountId, day })).toEqual({ template: 14, direct: 2 })

        expect((yield* store.workers).map(({ beats, worker }) => [worker, beats])).toEqual([["dead", 3]])
        expect(yield* store.rescue({ worker: "dead", now, recoverable: ["sandbox"] })).toBe(2)
        const { claimed } = yield* store.settleAndClaim({
          now: now + 1000,
          settlements: [],
          claim: { worker: "worker-1", limit: 250 }
        })
        expect(claimed.map(({ fence, jobId, recipients }) => [jobId, fence, recipients.length])).toEqual([
          [idOf(10), 1, 2],
          [idOf(11), 2, 2],
          [fresh.jobId, 1, 2],
          [idOf(12), 2, 1]
        ])
        const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
          recipients.map(({ index }) => ({
            ...{ jobId, fence, index },
            outcome: Outcome.Accepted({ providerId: null, status: "accepted" })
          }))
        )
        const { settled } = yield* store.settleAndClaim({ now: now + 1001, settlements, claim: null })
        expect(settled).toBe(7)
        expect(yield* store.nextDue(now + 1002)).toBeNull()
      }).pipe(Effect.provide(stores))
    })
  )
})
