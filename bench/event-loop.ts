/**
 * How long the event loop is kept while 100,000 recipients drain on SQLite: a server in the same process answers
 * nothing for that long. Prints the lag beside that of an idle loop in the same run.
 *
 *   npx tsx --conditions=@sendwright/source bench/event-loop.ts
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { engine, start, tenant } from "./support.ts"

const jobs = Number(process.argv[2] ?? 400)

const lag = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const monitor = monitorEventLoopDelay({ resolution: 5 })
    monitor.enable()
    yield* effect
    monitor.disable()
    // Nanoseconds; the monitor's own timer takes 5 ms.
    const ms = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - 5)
    return { p50: ms(monitor.percentile(50)), p99: ms(monitor.percentile(99)), max: ms(monitor.max) }
  })

const told = (name: string, { max, p50, p99 }: { p50: number; p99: number; max: number }) =>
  Console.log(
    `${name.padEnd(10)} p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms`
  )

const program = Effect.gen(function* () {
  const { isDone, queue } = yield* tenant("bench")
  yield* told("idle", yield* lag(Effect.sleep("3 seconds")))
  let last = ""
  for (let job = 0; job < jobs; job++) last = (yield* queue(`job-${job}`)).jobId
  const began = performance.now()
  const drained = yield* lag(
    Effect.gen(function* () {
      yield* start
      yield* Effect.repeat(Effect.zipRight(Effect.sleep("50 millis"), isDone(last)), {
        until: (done) => done
      })
    })
  )
  const seconds = (performance.now() - began) / 1000
  yield* told("draining", drained)
  yield* Console.log(`${jobs * 250} recipients in ${seconds.toFixed(1)} s`)
})

await Effect.runPromise(Effect.scoped(Effect.provide(program, engine(0))))
