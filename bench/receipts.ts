/**
 * 10,000 receipts in random order, a fifth of them repeated and a tenth before our own commit of the acceptance, against
 * the same in order: on memory and on SQLite. Exits with 1 when a recipient ends otherwise.
 *
 *   npx tsx --conditions=@sendwright/source bench/receipts.ts [receipts] [seed]
 */
import { Memory, type Stores } from "@sendwright/core"
import { Sqlite } from "@sendwright/core/sqlite"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Receipts from "../test/receipts/Receipts.ts"

const [receipts = 10_000, seed = 1] = process.argv.slice(2).map(Number)
const plan = Receipts.plan(seed, receipts)

const told = (name: string, layer: Layer.Layer<Stores.Stores, unknown>) =>
  Effect.gen(function* () {
    const began = performance.now()
    const { counts, differing } = yield* Receipts.compare(layer, plan)
    const ends = Object.entries(counts).map(([status, count]) => `${count} ${status}`)
    yield* Console.log(
      `${name}: ${plan.shuffled.length} receipts of ${plan.phones.length} messages, seed ${seed}: ${ends.join(", ")}; ` +
        `${differing.length} differ; ${((performance.now() - began) / 1000).toFixed(1)} s for both runs`
    )
    if (differing.length > 0) yield* Console.log(differing.slice(0, 3))
    return differing.length
  })

const program = Effect.gen(function* () {
  const inMemory = yield* told("memory", Memory.layer)
  const onSqlite = yield* told("SQLite", Sqlite.layer({ filename: ":memory:" }))
  return inMemory + onSqlite
})

process.exit((await Effect.runPromise(program)) === 0 ? 0 : 1)
