/**
 * A short form of the simulation; `npm run simulate -- --seeds 10000 [--store sqlite]` is for a night.
 * Of the faults that were planted to see how many seeds are needed, reports that take a status back showed in every one,
 * and outcomes that are stored under no fence in one of eight: of those in memory in 10, 14 and 16.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { describe, expect, it } from "vitest"
import * as Postgres from "../../packages/core/src/storage/postgres/Postgres.ts"
import { migratedDatabase } from "../support/Postgres.ts"
import * as Seeds from "../support/Seeds.ts"
import { run } from "./Simulation.ts"
import type { Store } from "./Stores.ts"
import * as Stores from "./Stores.ts"

const postgres = Stores.database(
  Layer.unwrapScoped(Effect.map(migratedDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))),
  24
)

const stores: ReadonlyArray<readonly [name: string, store: Store, seeds: ReadonlyArray<Seeds.Seeds>]> = [
  ["memory", Stores.memory, Seeds.handful(8, 4, 9)],
  ["SQLite", Stores.sqlite, Seeds.handful(2, 1)],
  ["PostgreSQL", postgres, Seeds.handful(1, 1)]
]

describe("an installation of several machines that crash, freeze and lose answers", () => {
  for (const [name, store, seeds] of stores) {
    for (const { from, until } of seeds) {
      it(`keeps every promise over ${name}, by the seeds ${from} to ${until}`, {
        timeout: 600_000
      }, async () => {
        for (let seed = from; seed <= until; seed++) {
          const { messages, simulatedMs } = await run(seed, store)
          expect(messages).toBeGreaterThan(0)
          expect(simulatedMs).toBeGreaterThan(0)
        }
      })
    }
  }

  it("lives the same life again by the same seed, and another by another", async () => {
    const [first, again, other] = [await run(7), await run(7), await run(8)]
    expect(again.digest).toBe(first.digest)
    expect(other.digest).not.toBe(first.digest)
  })
})
