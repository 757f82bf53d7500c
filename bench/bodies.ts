/**
 * What the worst bodies cost: every route that takes one, bodies as long as the limit allows, asked in this process on
 * SQLite. Prints for each route the bodies that keep the event loop longest and take the most CPU, beside a valid send
 * of 250 recipients. Exits with 1 when one is over: 25 ms of the loop at a time, five times the CPU of that send; an
 * accepted body that brings thousands of items, and a hook's of four times the length, is held to the former alone.
 *
 *   node packages/host/dist/bodies.mjs [part of a route's name] [part of a body's], compiled as bench/README.md says
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import type { Taker, Told } from "../test/bodies/Takers.ts"
import * as Takers from "../test/bodies/Takers.ts"
import type { Body } from "../test/bodies/Worst.ts"
import * as Worst from "../test/bodies/Worst.ts"

const [, , onlyRoute = "", onlyBody = ""] = process.argv
const maximumBytes = 1024 * 1024
const maximumHookBytes = 4 * maximumBytes
const longestMs = 25
const mostTimes = 5
/**
 * One that looks bad is asked again, beside valid sends, and the best counts: the machine does other things, too, and is
 * at times half as fast.
 */
const again = 4
const beside = 9
const rows = 3

interface Cost {
  readonly status: number
  readonly cpuMs: number
  /** The longest turn of the loop, in CPU time: other work on the machine stretches it. */
  readonly blockMs: number
}

/** With how often a valid send could be asked instead. */
type Compared = Cost & { readonly times: number }

const usedMs = (): number => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1000
}

const measured = (ask: Effect.Effect<Told>): Effect.Effect<Cost> =>
  Effect.gen(function* () {
    // What the body's making left is not the request's.
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    let blockMs = 0
    let running = true
    let last = usedMs()
    const tick = (): void => {
      const now = usedMs()
      blockMs = Math.max(blockMs, now - last)
      last = now
      if (running) setImmediate(tick)
    }
    setImmediate(tick)
    const before = usedMs()
    const { status } = yield* ask
    const cpuMs = usedMs() - before
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    running = false
    return { status, cpuMs, blockMs }
  })

const better = (one: Compared, other: Compared): Compared => ({
  status: one.status,
  times: Math.min(one.times, other.times),
  cpuMs: Math.min(one.cpuMs, other.cpuMs),
  blockMs: Math.min(one.blockMs, other.blockMs)
})

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const program = Effect.gen(function* () {
  const { ask, send, takers, without } = yield* Takers.make
  for (const name of without) yield* Console.log(`${name} has no example`)

  const sending = takers.find(({ name }) => name === "POST /api/v1/template-messages/send")
  if (sending === undefined) return yield* Effect.dieMessage("There is no send")
  const valid = Buffer.from(JSON.stringify(send(250)))
  const warm: Array<Cost> = []
  for (let turn = 0; turn < 150; turn++) warm.push(yield* measured(ask(sending, valid)))
  const ours = warm.slice(100)
  const unit = median(ours.map(({ cpuMs }) => cpuMs))
  yield* Console.log(
    `A valid send of 250: ${ours[0]?.status}, ${unit.toFixed(2)} ms CPU, longest block ${median(ours.map(({ blockMs }) => blockMs)).toFixed(1)} ms\n`
  )

  const unitNow = Effect.map(
    Effect.replicateEffect(
      Effect.suspend(() => measured(ask(sending, valid))),
      beside
    ),
    (sends) => median(sends.map(({ cpuMs }) => cpuMs))
  )
  const compared = (taker: Taker, { bytes }: Body, unit: number) =>
    Effect.map(
      Effect.suspend(() => measured(ask(taker, bytes()))),
      (cost): Compared => ({ ...cost, times: cost.cpuMs / unit })
    )
  const costOf = (taker: Taker, body: Body) =>
    Effect.gen(function* () {
      let cost = yield* compared(taker, body, unit)
      for (let turn = 0; turn < again; turn++) {
        if (cost.times <= 0.7 * mostTimes && cost.blockMs <= 0.7 * longestMs) break
        cost = better(cost, yield* compared(taker, body, yield* unitNow))
      }
      return cost
    })

  yield* Console.log(line(["body", "status", "CPU ms", "longest block ms", "times a valid send"]))
  yield* Console.log(line(["---", "---", "---", "---", "---"]))
  let over = 0
  for (const taker of takers) {
    if (!taker.name.includes(onlyRoute)) continue
    const costs: Array<Compared & { readonly name: string }> = []
    const most = taker.isHook ? maximumHookBytes : maximumBytes
    for (const body of Worst.bodies(taker.example, most).filter(({ name }) => name.includes(onlyBody)))
      costs.push({ name: body.name, ...(yield* costOf(taker, body)) })
    const isOver = ({ blockMs, status, times }: Compared): boolean =>
      blockMs > longestMs || (!taker.isHook && status >= 300 && times > mostTimes)
    over += costs.filter(isOver).length
    const told = new Set([
      ...costs.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, rows),
      ...costs.toSorted((a, b) => b.blockMs - a.blockMs).slice(0, rows),
      ...costs.filter(isOver)
    ])
    yield* Console.log(`\n${taker.name}: ${costs.length} bodies`)
    for (const cost of told) {
      const { blockMs, cpuMs, name, status } = cost
      const times = `${cost.times.toFixed(1)}${isOver(cost) ? " (over)" : ""}`
      yield* Console.log(line([name, String(status), cpuMs.toFixed(1), blockMs.toFixed(1), times]))
      if (status >= 500) over += 1
    }
  }
  yield* Console.log(`\n${over} over`)
  if (over > 0) process.exitCode = 1
})

const file = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-bodies-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

await Effect.runPromise(
  Effect.scoped(
    Effect.flatMap(file, (folder) => Effect.provide(program, Takers.engine(join(folder, "bodies.db"))))
  ).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
)
