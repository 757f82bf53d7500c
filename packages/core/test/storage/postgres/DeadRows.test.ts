/** Rows that are updated or deleted die, and while any transaction holds a snapshot nothing removes them (docs/adr/0037). */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import Pg from "pg"
import { migratedDatabase } from "../../../../../test/support/Postgres.ts"
import { JobStore, Outcome } from "../../../src/storage/JobStore.ts"
import * as Postgres from "../../../src/storage/postgres/Postgres.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import { owner } from "../../StorageSuite/Setup.ts"

const { now } = Fixtures

const jobsOfRun = 60
const batches = 6

/** Accepts jobs of one recipient, claims them in batches, and records their outcomes. */
const run = Effect.gen(function* () {
  const jobs = yield* JobStore
  const who = yield* owner
  for (let job = 0; job < jobsOfRun; job++) yield* jobs.accept(Fixtures.send(who))
  for (let batch = 0; batch < batches; batch++) {
    const claim = { worker: "worker-1", limit: jobsOfRun / batches }
    const { claimed } = yield* jobs.settleAndClaim({ now, settlements: [], claim })
    const settlements = claimed.map(({ fence, jobId }) => {
      const outcome = Outcome.Accepted({ providerId: null, status: "accepted" })
      return { jobId, fence, index: 0, outcome }
    })
    expect((yield* jobs.settleAndClaim({ now, settlements, claim: null })).settled).toBe(jobsOfRun / batches)
  }
})

it.scopedLive("a job of one recipient leaves a dead row of its recipient alone, and a claim a few", () =>
  Effect.gen(function* () {
    const url = yield* migratedDatabase
    // The end of its connections brings their counts into the statistics.
    yield* Effect.scoped(
      Effect.flatMap(Layer.build(Postgres.layer({ url: Redacted.make(url) })), (stores) =>
        Effect.provide(run, stores)
      )
    )
    const client = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const client = new Pg.Client(url)
        await client.connect()
        return client
      }),
      (client) => Effect.promise(() => client.end())
    )
    const { rows } = yield* Effect.promise(() =>
      client.query<{ readonly name: string; readonly dead: number }>(
        `SELECT relname AS name, (n_tup_upd + n_tup_del)::int AS dead FROM pg_stat_user_tables
         WHERE n_tup_upd + n_tup_del > 0 ORDER BY relname`
      )
    )
    const dead = Object.fromEntries(rows.map(({ dead, name }) => [name, dead]))
    const { sendwright_claim: ofClaims = 0, ...others } = dead
    expect(others).toEqual({ sendwright_recipient: jobsOfRun })
    expect(ofClaims).toBeGreaterThan(0)
    expect(ofClaims).toBeLessThanOrEqual(3 * batches)
  })
)
