/**
 * How long a job of 20 takes at a gateway that is well, beside one, two and four that are well for 1.5 s and then hang for
 * 20 s, again and again, with a backlog. Their time-outs are longer than that, so that each attempt keeps its slot. Exits
 * with 1 where the 95th percentile is over 3 s.
 *
 *   npx tsx --conditions=@sendwright/source bench/oscillation.ts [seconds a case]
 */
import { fork } from "node:child_process"
import { once } from "node:events"
import { HttpGateway } from "@sendwright/core"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { hangsMs, wellMs } from "./misbehaviour/Phases.ts"
import { table } from "./misbehaviour/Sessions.ts"
import { engineOver, median, percentile, start, tenant } from "./support.ts"

const seconds = Number(process.argv[2] ?? 75)
const everyMs = 2000
const mostMs = 3000
/** The backlog of a gateway that oscillates, in jobs of 250. */
const waiting = 20

/** The time-outs of the gateways that oscillate, in seconds. */
const cases: ReadonlyArray<ReadonlyArray<number>> = [[], [30], [60], [30, 60], [30, 60, 30, 60]]

const gateways = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = fork(new URL("./misbehaviour/Oscillating.ts", import.meta.url), {
        execArgv: ["--import", "tsx"]
      })
      const [told]: ReadonlyArray<{ readonly port: number }> = await once(child, "message")
      return { child, port: told?.port ?? 0 }
    }),
    ({ child }) => Effect.sync(() => child.kill())
  ),
  ({ port }) => `http://127.0.0.1:${port}`
)

type Tenant = Effect.Effect.Success<ReturnType<typeof tenant>>

const isOver = ({ isDone }: Tenant, jobId: string, lookMs: number) =>
  Effect.repeat(Effect.delay(isDone(jobId), lookMs), { until: (done) => done })

/** Has something to send at any time. */
const busy = (each: Tenant) =>
  Effect.gen(function* () {
    const jobs: Array<string> = []
    for (;;) {
      const before = jobs[jobs.length - waiting]
      if (before !== undefined) yield* isOver(each, before, 100)
      jobs.push((yield* each.queue(`job-${jobs.length}`)).jobId)
    }
  })

const measure = (origin: string, timeouts: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const configOf = (name: number | "well", timeout: number) => ({
      url: `${origin}/${name}/send`,
      secret: "a secret of the gateway",
      timeout_ms: timeout * 1000
    })
    const neighbour = yield* tenant("neighbour", {
      provider: "http",
      config: configOf("well", 30),
      recipients: 20
    })
    yield* start
    for (const [place, timeout] of timeouts.entries()) {
      const shift = Math.round(((wellMs + hangsMs) * place) / timeouts.length)
      const each = yield* tenant(`oscillating-${place}`, {
        provider: "http",
        config: configOf(shift, timeout)
      })
      yield* Effect.fork(busy(each))
    }
    const time = (name: string) =>
      Effect.gen(function* () {
        const began = performance.now()
        const { jobId } = yield* neighbour.queue(name)
        yield* isOver(neighbour, jobId, 10)
        return performance.now() - began
      })
    yield* time("warm")
    const asked: Array<Fiber.Fiber<number, unknown>> = []
    for (let job = 0; job < (seconds * 1000) / everyMs; job += 1) {
      asked.push(yield* Effect.fork(time(`job-${job}`)))
      yield* Effect.sleep(everyMs)
    }
    return yield* Fiber.join(Fiber.all(asked))
  }).pipe(Effect.scoped, Effect.provide(engineOver(HttpGateway.make(), [], { graceMs: 0 })))

const program = Effect.gen(function* () {
  const origin = yield* gateways
  const rows: Array<ReadonlyArray<string>> = []
  let isRight = true
  for (const timeouts of cases) {
    const times = yield* measure(origin, timeouts)
    const p95 = percentile(times, 0.95)
    isRight &&= p95 <= mostMs
    rows.push([
      String(timeouts.length),
      timeouts.map((timeout) => `${timeout} s`).join(", "),
      String(times.length),
      ...[median(times), p95, Math.max(...times)].map((ms) => ms.toFixed(0)),
      p95 <= mostMs ? "yes" : "no"
    ])
    yield* Console.error(rows.at(-1)?.join("  "))
  }
  yield* table(["oscillating", "time-outs", "jobs", "p50 (ms)", "p95 (ms)", "worst (ms)", "right"], rows)
  return isRight
})

process.exit((await Effect.runPromise(Effect.scoped(program))) ? 0 : 1)
