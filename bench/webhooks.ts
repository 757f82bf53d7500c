/**
 * How long events take to receivers that answer while every twentieth one hangs, drips a byte a second, answers 500 or
 * resets, against the same receivers while none does, in the same run and turn about.
 *
 *   npx tsx --conditions=@sendwright/source bench/webhooks.ts [endpoints] [events] [events per second] [rounds]
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { AddressPolicy, Engine } from "@sendwright/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { engine, median, start } from "./support.ts"
import { type Command, measured, type Report } from "./webhook-paths.ts"

const [endpoints = 1000, events = 100_000, perSecond = 500, rounds = 3] = process.argv.slice(2).map(Number)
const tickMs = 20
const perTick = Math.max(1, Math.round((perSecond * tickMs) / 1000))

const child: Effect.Effect<readonly [ChildProcess, number]> = Effect.promise(async () => {
  const receivers = fork(new URL("./webhook-receivers.ts", import.meta.url), {
    execArgv: ["--import", "tsx"]
  })
  const [told]: ReadonlyArray<{ readonly port: number }> = await once(receivers, "message")
  return [receivers, told?.port ?? 0]
})

const tell = (receivers: ChildProcess, command: Command): Effect.Effect<Report> =>
  Effect.promise(async () => {
    receivers.send(command)
    const [report]: ReadonlyArray<Report> = await once(receivers, "message")
    return report ?? { latencies: [], repeated: 0 }
  })

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

const program = Effect.gen(function* () {
  const [receivers, port] = yield* Effect.acquireRelease(child, ([receivers]) =>
    Effect.sync(() => receivers.kill())
  )
  const { admin } = yield* Engine.Engine
  const account = yield* admin.accounts.create({ name: "bench" })
  const ids = yield* Effect.forEach(Array.from({ length: endpoints }), (_, path) =>
    Effect.map(
      admin.webhooks.create(account.id, {
        url: `http://127.0.0.1:${port}/${path}`,
        events: ["webhook.test"]
      }),
      ({ endpoint }) => endpoint.id
    )
  )
  yield* start

  const run = (deadEvery: number, count: number) =>
    Effect.gen(function* () {
      yield* tell(receivers, { deadEvery })
      let next = 0
      let wanted = 0
      const began = performance.now()
      for (let tick = 1; next < count; tick++) {
        const batch = Array.from(
          { length: Math.min(perTick, count - next) },
          (_, n) => (next + n) % endpoints
        )
        next += batch.length
        wanted += batch.filter(measured).length
        yield* Effect.forEach(batch, (path) => admin.webhooks.test(ids[path] ?? ""), {
          concurrency: "unbounded"
        })
        const wait = began + tick * tickMs - performance.now()
        if (wait > 0) yield* Effect.sleep(wait)
      }
      const seconds = (performance.now() - began) / 1000
      yield* Effect.sleep("2 seconds")
      const { latencies, repeated } = yield* tell(receivers, { deadEvery: 0 })
      const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)]
      yield* Console.log(
        `${deadEvery === 0 ? "all answer " : "5 % are dead"}: ${latencies.length} of ${wanted} arrived, ${repeated} twice; ` +
          `p50 ${p50} ms, p99 ${p99} ms, ${(count / seconds).toFixed(0)} events/s`
      )
      return { p50, p99, lost: wanted - latencies.length, repeated }
    })

  yield* run(0, Math.min(events, 10 * perSecond))
  const each = Math.ceil(events / (2 * rounds))
  const alone: Array<{ readonly p50: number; readonly p99: number; readonly lost: number }> = []
  const among: typeof alone = []
  for (let round = 0; round < rounds; round++) {
    alone.push(yield* run(0, each))
    among.push(yield* run(20, each))
  }
  const ratio = (of: "p50" | "p99") =>
    median(among.map((run) => run[of])) / median(alone.map((run) => run[of]))
  yield* Console.log(`medians, dead to none: p50 ${ratio("p50").toFixed(2)}, p99 ${ratio("p99").toFixed(2)}`)
})

const network = AddressPolicy.parseNetwork("127.0.0.0/8")
await Effect.runPromise(
  Effect.provide(Effect.scoped(program), engine(0, network === undefined ? [] : [network]))
)
process.exit(0)
