/**
 * How long a job of 250 recipients takes while another session has 100,000 queued, against the same job alone in the
 * same run. The sender takes 5 ms.
 *
 *   npx tsx --conditions=@sendwright/source bench/fairness.ts
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { engine, median, start, tenant } from "./support.ts"

const backlog = Number(process.argv[2] ?? 400)
const rounds = 5

const program = Effect.gen(function* () {
  const small = yield* tenant("small")
  const big = yield* tenant("big")
  yield* start
  const time = (name: string) =>
    Effect.gen(function* () {
      const began = performance.now()
      const { jobId } = yield* small.queue(name)
      yield* Effect.repeat(Effect.zipRight(Effect.sleep("2 millis"), small.isDone(jobId)), {
        until: (done) => done
      })
      return performance.now() - began
    })
  yield* time("warm")
  const alone: Array<number> = []
  for (let round = 0; round < rounds; round++) alone.push(yield* time(`alone-${round}`))
  let last = ""
  for (let job = 0; job < backlog; job++) last = (yield* big.queue(`big-${job}`)).jobId
  const beside: Array<number> = []
  for (let round = 0; round < rounds; round++) beside.push(yield* time(`beside-${round}`))
  const left = (yield* big.isDone(last))
    ? "and it was through before the end"
    : "which was not through at the end"
  const ratio = median(beside) / median(alone)
  const list = (values: ReadonlyArray<number>) => values.map((ms) => ms.toFixed(0)).join(" ")
  yield* Console.log(
    `alone ${list(alone)} ms; beside ${backlog * 250} recipients, ${left}: ${list(beside)} ms`
  )
  yield* Console.log(`ratio of the medians ${ratio.toFixed(2)}`)
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, engine(5))))
