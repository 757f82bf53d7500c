/** A job whose stored content cannot be read costs only itself, over each SQL store. */
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../../test/support/Postgres.ts"
import { JobStore, unreadableMs } from "../../src/storage/JobStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { now, owner } from "../../src/testing/StorageSuite/Setup.ts"

const suite = (name: string, stores: Layer.Layer<Stores | SqlClient, unknown>) =>
  describe(`a job whose content cannot be read (${name})`, () => {
    it.effect("is put off and told of, and those before and behind it are claimed", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const sql = yield* SqlClient
        const who = yield* owner
        // A process keeps what it has read once.
        const text = `Damaged in ${name}`
        const first = Fixtures.send(who)
        const damaged = Fixtures.send(who, { content: { kind: "direct", text, linkPreview: false } })
        const last = Fixtures.send(who)
        const ofAnother = Fixtures.send(yield* owner)
        for (const command of [damaged, first, last, ofAnother]) yield* jobs.accept(command)
        const body = JSON.stringify(damaged.content)
        yield* sql`UPDATE sendwright_snapshot SET body = '{' WHERE body = ${body}`
        const claim = (at: number) =>
          Effect.map(
            jobs.settleAndClaim({ now: at, settlements: [], claim: { worker: "w", limit: 10 } }),
            ({ claimed, unreadable }) => [
              claimed.map(({ jobId }) => jobId).sort(),
              unreadable.map(({ jobId }) => jobId)
            ]
          )
        const others = [first, last, ofAnother].map(({ jobId }) => jobId).sort()
        expect(yield* claim(now)).toEqual([others, [damaged.jobId]])
        expect(yield* claim(now + 1)).toEqual([[], []])
        expect(yield* jobs.nextDue(now + 1)).toBe(now + unreadableMs)
        // It is looked at again, and sent once it is mended.
        expect(yield* claim(now + unreadableMs)).toEqual([[], [damaged.jobId]])
        yield* sql`UPDATE sendwright_snapshot SET body = ${body} WHERE body = '{'`
        const [mended] = (yield* jobs.settleAndClaim({
          now: now + 2 * unreadableMs,
          settlements: [],
          claim: { worker: "w", limit: 10 }
        })).claimed
        expect(mended).toMatchObject({ jobId: damaged.jobId, content: damaged.content })
      }).pipe(Effect.provide(stores))
    )
  })

suite("SQLite", Sqlite.layer({ filename: ":memory:" }))
suite(
  "PostgreSQL",
  Layer.unwrapScoped(Effect.map(freshDatabase, (url) => Postgres.layer({ url: Redacted.make(url) })))
)
