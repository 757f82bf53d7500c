/** What becomes of the texts by which recipients are found, once these are purged or erased (docs/adr/0041). */
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Erasure from "../../src/domain/Erasure.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Search from "../../src/domain/Search.ts"
import { ErasureStore } from "../../src/storage/ErasureStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { beginSegment, now, owner, purgeWalk } from "../StorageSuite/Setup.ts"

const [phone, other] = ["34600000000", "34600000001"]

const names = [{ kind: "phone", text: phone, token: Erasure.tokenOf("aa") }] as const

const databases = {
  SQLite: Sqlite.layer({ filename: ":memory:" }),
  PostgreSQL: Layer.unwrapScoped(
    Effect.map(migratedDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))
  )
}

/** Jobs of two recipients each that have ended, and one that waits; each of the first two is a segment of its own. */
const written = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sql = yield* SqlClient
  const who = yield* owner
  const sent: Array<string> = []
  for (let place = 0; place < 3; place += 1) {
    const command = Fixtures.send(who, { phones: 2, now: Time.after(now, place * Time.day) })
    yield* jobs.accept(command)
    sent.push(command.jobId)
    if (place < 2) yield* jobs.cancel({ jobId: command.jobId, now: Time.after(now, place * Time.day) })
  }
  for (const [place, jobId] of sent.slice(0, 2).entries()) {
    const ofJob = `SELECT seq FROM sendwright_job WHERE id = '${jobId}'`
    yield* sql.unsafe(
      `INSERT INTO sendwright_segment (id, last) SELECT ${place + 1}, seq * 4096 + 4095 FROM (${ofJob}) AS job`
    )
    for (const column of ["phone", "external_id"])
      yield* sql.unsafe(`INSERT INTO sendwright_segment_key (segment, key, recipient)
        SELECT ${place + 1}, ${column}, seq FROM sendwright_recipient WHERE seq / 4096 IN (${ofJob})`)
  }
  return sent
})

/** A slice of the recipients, from behind a place on. */
const erase = (sought: Erasure.Sought, after: string | null = null) =>
  Effect.flatMap(ErasureStore, (store) =>
    store.erase({ erasureId: "erasure-1", part: "recipients", after, sought, now: Time.after(now, 5) })
  )

const segments = Effect.flatMap(SqlClient, (sql) =>
  Effect.map(
    sql.unsafe<{ readonly id: number; readonly n: number }>(`SELECT segment.id, count(found.key) AS n
      FROM sendwright_segment AS segment LEFT JOIN sendwright_segment_key AS found ON found.segment = segment.id
      GROUP BY segment.id ORDER BY segment.id`),
    (rows) => rows.map(({ id, n }) => [Number(id), Number(n)])
  )
)

/** The messages to recipients that have the text as their phone or external id. */
const found = Effect.fnUntraced(function* (text: string) {
  const jobs = yield* JobStore
  const sought = { ...Search.meaningsOf(text).jobs, reference: null, recipients: [text] }
  const { items } = yield* jobs.search({ sought, page: { limit: 10, after: null } })
  return items.map(({ job, recipient }) => [job.id, recipient?.index])
})

const suite = (name: string, layer: Layer.Layer<Stores | SqlClient, unknown>): void => {
  describe(`segments of ${name}`, () => {
    it.effect("go with the last of their recipients; the newest stays, and tells where they ended", () =>
      Effect.gen(function* () {
        const [first = "", second = "", third = ""] = yield* written
        expect(yield* segments).toEqual([
          [1, 4],
          [2, 4]
        ])
        yield* purgeWalk("jobs", Time.after(now, 400 * Time.day))
        expect(yield* segments).toEqual([[2, 4]])
        expect(yield* found(phone)).toEqual([
          [third, 0],
          [second, 0]
        ])
        yield* purgeWalk("jobs", Time.after(now, 401 * Time.day))
        expect(yield* segments).toEqual([[2, 0]])
        expect(yield* found(phone)).toEqual([[third, 0]])
        expect(yield* (yield* JobStore).find(first)).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("keep the texts of another account, which was not looked through", () =>
      Effect.gen(function* () {
        const [mine] = yield* written
        const job = yield* (yield* JobStore).find(mine ?? "")
        const sql = yield* SqlClient
        yield* sql.unsafe(`UPDATE sendwright_job SET account = 'another' WHERE id <> '${mine}'`)
        const sought = { names: { given: names, ofAccounts: {} }, accounts: new Set([job?.accountId ?? ""]) }
        yield* erase(sought)
        expect(yield* segments).toEqual([
          [1, 2],
          [2, 4]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are written without who was erased since they were read", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        for (let job = 0; job < 26; job += 1) yield* jobs.accept(Fixtures.send(who, { phones: 4000 }))
        yield* beginSegment
        // A step for each slice of 5,000.
        let steps = 1
        while (steps < 20 && (yield* jobs.writeSegments)) steps += 1
        const sought = { names: { given: names, ofAccounts: {} }, accounts: null }
        let after: string | null = null
        do {
          const slice: { readonly next: string | null } = yield* erase(sought, after)
          after = slice.next
        } while (after !== null)
        while (yield* jobs.writeSegments) steps += 1
        const sql = yield* SqlClient
        const count = (key: string) =>
          Effect.map(
            sql.unsafe<{ readonly n: number }>(
              `SELECT count(*) AS n FROM sendwright_segment_key WHERE key = '${key}'`
            ),
            ([row]) => Number(row?.n)
          )
        expect([yield* count(phone), yield* count("r0"), yield* count(other)]).toEqual([0, 0, 25])
      }).pipe(Effect.provide(layer))
    )

    it.effect("have no text of a person who was erased, and those of others", () =>
      Effect.gen(function* () {
        const [first, second, third] = yield* written
        const sought = { names: { given: names, ofAccounts: {} }, accounts: null }
        yield* erase(sought)
        expect(yield* segments).toEqual([
          [1, 2],
          [2, 2]
        ])
        expect([yield* found(phone), yield* found("r0")]).toEqual([[], []])
        const others = [third, second, first].map((jobId) => [jobId, 1])
        expect([yield* found(other), yield* found("r1")]).toEqual([others, others])
      }).pipe(Effect.provide(layer))
    )
  })
}

for (const [name, layer] of Object.entries(databases)) suite(name, layer)
