/** What the tables have between two slices of a purge, and the file after it. */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Place } from "../../src/domain/Retention.ts"
import * as Retention from "../../src/domain/Retention.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type { Slice, SliceQuery } from "../../src/storage/RetentionStore.ts"
import { RetentionStore } from "../../src/storage/RetentionStore.ts"
import { SizeStore } from "../../src/storage/SizeStore.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { claim, failure, listen, now, owner } from "../StorageSuite/Setup.ts"

const sqlite = Sqlite.layer({ filename: ":memory:" })
const postgres = Layer.unwrapScoped(
  Effect.map(migratedDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))
)

const direct = (text: string) => ({ kind: "direct", text, linkPreview: false }) as const

/** An attempt of every other recipient is to be repeated at once. */
const outcomeOf = (jobId: string, index: number, attempts: number): Outcome =>
  attempts === 1 && index % 2 === 0
    ? Outcome.Retry({ at: Time.after(now, 100), failure, maybeSent: false })
    : Outcome.Accepted({ providerId: `p-${jobId}-${index}`, status: "sent" })

/** Jobs that have ended, all events delivered; every third of a direct message; and some that wait. */
const filled = Effect.gen(function* () {
  const jobs = yield* JobStore
  const webhooks = yield* WebhookStore
  const who = yield* owner
  yield* listen(who.accountId)
  yield* listen(who.accountId)
  for (let place = 0; place < 24; place += 1) {
    const some = place % 3 === 0 ? { content: direct(`Text ${place % 2}`) } : { phones: 1 + (place % 4) }
    yield* jobs.accept(Fixtures.send(who, { now: Time.after(now, place), ...some }))
  }
  for (;;) {
    const claimed = yield* claim(7, now + 100)
    const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
      recipients.map(({ attempts, index }) => ({
        ...{ jobId, fence, index },
        outcome: outcomeOf(jobId, index, attempts)
      }))
    )
    if (settlements.length === 0) break
    yield* jobs.settleAndClaim({ now: Time.after(now, 100), settlements, claim: null })
  }
  const { claimed } = yield* webhooks.settleAndClaim({
    ...{ now: Time.after(now, 200), settlements: [] },
    claim: Fixtures.deliveryClaim()
  })
  const settlements = claimed.slice(2).map(({ deliveryId, fence }) => ({
    ...{ deliveryId, fence, next: "delivered" as const, disable: null },
    attempt: { at: Time.after(now, 200), status: 200, durationMs: 1, reason: null, excerpt: "" }
  }))
  yield* webhooks.settleAndClaim({ now: Time.after(now, 200), settlements, claim: null })
  for (let place = 0; place < 3; place += 1)
    yield* jobs.accept(Fixtures.send(who, { now: Time.after(now, 300) }))
})

/** Rows that refer to one that is not there, by table. */
const dangling = Effect.gen(function* () {
  const sql = yield* SqlClient
  const count = (table: string, condition: string) =>
    Effect.map(
      sql.unsafe<{ readonly n: number }>(`SELECT count(*) AS n FROM ${table} AS one WHERE ${condition}`),
      ([row]) => Number(row?.n)
    )
  const none = (from: string) => `NOT EXISTS (SELECT 1 FROM ${from})`
  return {
    recipients: yield* count(
      "sendwright_recipient",
      none("sendwright_job AS j WHERE j.seq = one.seq / 4096")
    ),
    progress: yield* count("sendwright_progress", none("sendwright_job AS j WHERE j.seq = one.seq")),
    contents: yield* count("sendwright_job", none("sendwright_snapshot AS s WHERE s.seq = one.snapshot")),
    jobs: yield* count(
      "sendwright_job",
      "recipients <> (SELECT count(*) FROM sendwright_recipient AS r WHERE r.seq / 4096 = one.seq)"
    ),
    earlier: yield* count(
      "sendwright_earlier_attempt",
      none("sendwright_recipient AS r WHERE r.seq = one.recipient")
    ),
    attempts: yield* count("sendwright_attempt", none("sendwright_delivery AS d WHERE d.seq = one.delivery")),
    deliveries: yield* count("sendwright_delivery", none("sendwright_event AS e WHERE e.seq = one.event")),
    events: yield* count("sendwright_event", none("sendwright_delivery AS d WHERE d.event = one.seq"))
  }
})

const nothing = {
  ...{ recipients: 0, progress: 0, contents: 0, jobs: 0, earlier: 0 },
  ...{ attempts: 0, deliveries: 0, events: 0 }
}

const between = (layer: Layer.Layer<Stores | SqlClient, unknown>) =>
  Effect.gen(function* () {
    const store = yield* RetentionStore
    yield* filled
    const sql = yield* SqlClient
    const earlier = sql.unsafe<{ readonly n: number }>("SELECT count(*) AS n FROM sendwright_earlier_attempt")
    expect(Number((yield* earlier)[0]?.n)).toBeGreaterThan(20)
    let rows = 0
    for (const days of [31, 91, 92, 401]) {
      for (const walk of Retention.walkNames) {
        let after: Place | null = null
        do {
          const query: SliceQuery = { walk, after, limit: 3, now: Time.after(now, days * Time.day) }
          const slice: Slice = yield* store.purge(query)
          if (slice._tag === "Busy") return yield* Effect.dieMessage("Nobody else purges.")
          after = slice.next
          rows += slice.shares.reduce((sum, share) => sum + share.rows, 0)
          expect(yield* dangling).toEqual(nothing)
        } while (after !== null)
      }
    }
    expect(rows).toBeGreaterThan(200)
    expect(Number((yield* earlier)[0]?.n)).toBe(0)
    const [left] = yield* sql.unsafe<{ readonly jobs: number; readonly texts: number }>(
      `SELECT (SELECT count(*) FROM sendwright_job) AS jobs,
        (SELECT count(*) FROM sendwright_snapshot WHERE body LIKE '%Text %') AS texts`
    )
    // Those that wait.
    expect([Number(left?.jobs), Number(left?.texts)]).toEqual([3, 0])
  }).pipe(Effect.provide(layer))

describe("between two slices of a purge", () => {
  it.effect("no row of SQLite refers to one that is gone", () => between(sqlite))
  it.effect("no row of PostgreSQL refers to one that is gone", () => between(postgres))
})

describe("a SQLite file", () => {
  it.effect("gives back what a purge has freed, page by page", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "sendwright-purge-"))
      const file = join(folder, "store.db")
      const size = () => statSync(file).size
      yield* Effect.gen(function* () {
        const jobs = yield* JobStore
        const retention = yield* RetentionStore
        const sizes = yield* SizeStore
        const sql = yield* SqlClient
        const who = yield* owner
        for (let place = 0; place < 40; place += 1) {
          const command = Fixtures.send(who, { phones: 250 })
          yield* jobs.accept(command)
          yield* jobs.cancel({ jobId: command.jobId, now })
        }
        yield* jobs.accept(Fixtures.send(who))
        yield* sql.unsafe("PRAGMA wal_checkpoint(TRUNCATE)")
        const before = size()
        expect((yield* sizes.measure).bytes).toBe(before)
        const query = {
          walk: "jobs",
          after: null,
          limit: 100_000,
          now: Time.after(now, 400 * Time.day)
        } as const
        expect(yield* retention.purge(query)).toMatchObject({ shares: [{ rows: 40 * 251 }] })
        expect(yield* sizes.shrink({ pages: 10 })).toMatchObject({ hasMore: true })
        while ((yield* sizes.shrink({ pages: 50 })).hasMore) yield* Effect.void
        yield* sql.unsafe("PRAGMA wal_checkpoint(TRUNCATE)")
        expect(size()).toBeLessThan(before / 2)
        expect((yield* sizes.measure).freeBytes).toBeGreaterThan(0)
      }).pipe(
        Effect.provide(Sqlite.layer({ filename: file })),
        Effect.ensuring(Effect.sync(() => rmSync(folder, { recursive: true })))
      )
    })
  )
})
