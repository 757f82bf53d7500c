/**
 * The engine and its loops, as the host runs them. Given: "sqlite" and a file, or "postgres" and a URL. An engine that
 * was stopped takes nothing any more, so each drain has a fresh one over the same stores.
 */
import { Engine, type Stores, Worker } from "@sendwright/core"
import { Postgres } from "@sendwright/core/postgres"
import { Sqlite } from "@sendwright/core/sqlite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import { expose } from "../Child.ts"
import * as Sends from "../Sends.ts"
import { counter, type Embedded, latenciesOf, lead, type OwnQueue, stopwatch } from "./Queue.ts"
import { engine, noOp, tenant } from "./Setup.ts"

const [store, where = ""] = process.argv.slice(2)
/** Sends that are made at once. */
const clients = 32
const sent = counter()
const sender = noOp(sent.hit)

const program = Effect.gen(function* () {
  const stores = yield* Effect.context<Stores.Stores>()
  const { caller, templateId } = yield* tenant
  const run = Runtime.runPromise(yield* Effect.runtime<Stores.Stores | Engine.Engine>())
  let keys = 0

  const send = (recipients: number) =>
    Effect.flatMap(Engine.Engine, (engine) => {
      keys += 1
      const request = Sends.message(templateId, (keys * recipients) % 1000, recipients)
      return engine.send(caller, { idempotencyKey: `${process.pid}-${keys}`, request })
    })

  /** With loops that run meanwhile; ends once what they did is recorded. */
  const withLoops = <A, E>(use: Effect.Effect<A, E, Engine.Engine | Worker.Worker | Scope.Scope>) =>
    Effect.scoped(Effect.provide(use, Layer.provide(engine(sender), Layer.succeedContext(stores))))

  const start = Effect.flatMap(Worker.Worker, (worker) => worker.start)

  expose<OwnQueue & Embedded>({
    fill: (recipients, perJob) =>
      run(
        Effect.forEach(Array.from({ length: recipients / perJob }), () => send(perJob), {
          concurrency: clients,
          discard: true
        })
      ),
    drain: (recipients) =>
      run(
        Effect.gen(function* () {
          let taken = stopwatch()
          yield* withLoops(
            Effect.gen(function* () {
              const done = sent.until(recipients)
              taken = stopwatch()
              yield* start
              yield* Effect.promise(() => done)
            })
          )
          return taken(sent.count())
        })
      ),
    drainAmid: (recipients) =>
      run(
        Effect.gen(function* () {
          const { before, drained } = yield* withLoops(
            Effect.gen(function* () {
              const running = sent.until(lead)
              yield* start
              yield* Effect.promise(() => running)
              const before = sent.count()
              const done = sent.until(recipients)
              const taken = stopwatch()
              yield* Effect.promise(() => done)
              return { before, drained: taken(sent.count()) }
            })
          )
          return { drained, sent: before + sent.count() }
        })
      ),
    latencies: (count) =>
      run(
        withLoops(
          Effect.gen(function* () {
            yield* start
            const runHere = Runtime.runPromise(yield* Effect.runtime<Engine.Engine>())
            return yield* Effect.promise(() => latenciesOf(count, sent, () => runHere(send(1))))
          })
        )
      ),
    commits: (count) =>
      run(
        withLoops(
          Effect.gen(function* () {
            yield* start
            const runHere = Runtime.runPromise(yield* Effect.runtime<Engine.Engine>())
            const app = new Pg.Client(where)
            yield* Effect.promise(() => app.connect())
            const latencies = yield* Effect.promise(() =>
              latenciesOf(
                count,
                sent,
                () => app.query("COMMIT"),
                async () => {
                  await app.query("BEGIN")
                  await runHere(Postgres.within(app)(send(1)))
                }
              )
            )
            yield* Effect.promise(() => app.end())
            return latencies
          })
        )
      )
  })
  yield* Effect.never
})

const stores =
  store === "postgres" ? Postgres.layer({ url: Redacted.make(where) }) : Sqlite.layer({ filename: where })
await Effect.runPromise(Effect.scoped(Effect.provide(program, Layer.provideMerge(engine(sender), stores))))
