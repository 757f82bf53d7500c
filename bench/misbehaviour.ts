/**
 * What becomes of messages at a platform that misbehaves, through the real senders over sockets: each must be of the
 * class that the contract says, in time, and leave nothing behind. Then a job of 2,000 over all of it by turns. Exits
 * with 1 when a class is wrong or something is left.
 *
 *   npx tsx --conditions=@sendwright/source bench/misbehaviour.ts [sends a row]
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import type { Sender } from "@sendwright/core"
import { Fixtures } from "@sendwright/core/testing"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Supervisor from "effect/Supervisor"
import * as Jobs from "./misbehaviour/Jobs.ts"
import { configuration, type Provider, providers, senders, table, timeouts } from "./misbehaviour/Sessions.ts"
import type { Told, Way } from "./misbehaviour/Ways.ts"

const sends = Number(process.argv[2] ?? 500)
/** What waits for a time-out: a tenth of them, in whole tens. */
const fewer = Math.ceil(sends / 100) * 10
const concurrency = 64
const mebibyte = 2 ** 20
const allowedGrowth = 50 * mebibyte
/** On a machine that does other things too. */
const lateMs = 2000

// What is expected: by contract.md §9, docs/failures.md and contract.md §W1.6, not by what the senders do.

type Expected = Readonly<Record<string, number>>

const accepted: Expected = { Accepted: 1 }
const ambiguous: Expected = { Ambiguous: 1 }
const rejected: Expected = { Rejected: 1 }
const transient: Expected = { Transient: 1 }
/** It surely never left, or it may have: by whether the reset came before the first byte was written. */
const unsentOrLost: Expected = { "Transient or Ambiguous": 1 }
const after = (seconds: number): Expected => ({ [`Transient, ${seconds} s`]: 1 })

interface Row {
  readonly name: string
  readonly at: Way | { readonly origin: (told: Told) => string }
  readonly count: number
  readonly expected: Readonly<Record<Provider, Expected>>
}

const both = (expected: Expected) => ({ http: expected, whatsapp_cloud: expected })
const row = (name: string, at: Row["at"], expected: Row["expected"], count = sends): Row => ({
  name,
  at,
  count,
  expected
})
const elsewhere = (origin: (told: Told) => string) => ({ origin })

// 2xx is the gateway's yes, whatever is in it. WhatsApp's yes is the id that its receipts come back with.
const yesOfTheGateway = { http: accepted, whatsapp_cloud: ambiguous }

const rows: ReadonlyArray<Row> = [
  row("as it should", "accept", both(accepted)),
  row("100 % 5xx", "fault", both(transient)),
  row("30 % never answered", "hang-sometimes", both({ Accepted: 0.7, Ambiguous: 0.3 }), fewer),
  row("429, Retry-After in seconds", "retry-seconds", both(after(7))),
  row("429, as a date", "retry-date", both(after(60))),
  row("429, as garbage", "retry-garbage", both(transient)),
  row("429, a month", "retry-month", both(after(30 * 24 * 3600))),
  row("a byte every 50 ms", "drip", both(ambiguous), fewer),
  row("an answer of 1 GB", "flood", yesOfTheGateway),
  row("2xx with wrong JSON", "wrong-json", yesOfTheGateway),
  row("404 in HTML", "refuse-in-html", both(rejected)),
  row("headers of 1 MB", "long-headers", both(ambiguous)),
  row(
    "reset before it read",
    elsewhere(({ cutting }) => `http://127.0.0.1:${cutting}`),
    both(unsentOrLost)
  ),
  row("reset before the answer", "reset-before-answer", both(ambiguous)),
  row("reset before the body", "reset-before-body", both(ambiguous)),
  row("reset within the body", "reset-in-body", both(ambiguous)),
  row("reset after the body", "reset-after-body", both(accepted)),
  row(
    "no such host",
    elsewhere(() => `http://${"x".repeat(64)}.invalid`),
    both(transient)
  ),
  row(
    "connection refused",
    elsewhere(() => "http://127.0.0.1:1"),
    both(transient)
  ),
  row(
    "no TLS",
    elsewhere(({ port }) => `https://127.0.0.1:${port}`),
    both(transient)
  )
]

// Measuring

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** After what is garbage has gone, in bytes: what V8 and its buffers hold, and the process. */
const held = Effect.sync(() => {
  collect()
  collect()
  const { external, heapUsed, rss } = process.memoryUsage()
  return { used: heapUsed + external, rss }
})

/** The most that the process had while something ran. */
const peak = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    let most = 0
    const look = () => {
      most = Math.max(most, process.memoryUsage.rss())
    }
    const watch = setInterval(look, 10)
    const result = yield* effect
    clearInterval(watch)
    look()
    return { most, result }
  })

const sockets = Effect.sync(
  () => process.getActiveResourcesInfo().filter((resource) => resource === "TCPSocketWrap").length
)

const signed = (bytes: number): string => `${bytes < 0 ? "" : "+"}${Math.round(bytes / mebibyte)}`

// One row

/** The class, and the wait that the platform asked for: a long one to ten seconds. */
const labelOf = (result: Sender.SendResult): string => {
  if (result._tag !== "Transient" || result.retryAfterMs === null) return result._tag
  const seconds = Math.round(result.retryAfterMs / 1000)
  return `Transient, ${seconds > 30 ? Math.round(seconds / 10) * 10 : seconds} s`
}

const originOf = ({ at }: Pick<Row, "at">, told: Told): string =>
  typeof at === "string" ? `http://127.0.0.1:${told.port}/${at}` : at.origin(told)

const attempt = (provider: Provider, origin: string, count: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sender = yield* senders[provider]
      const given = configuration[provider](origin)
      const config = Either.getOrThrow(sender.configure?.(given) ?? Either.right(given))
      const found = new Map<string, number>()
      let longest = 0
      const send = (index: number) =>
        Effect.gen(function* () {
          const began = performance.now()
          const result = yield* sender.send({
            messageId: `m-${index}`,
            sessionId: "session",
            to: "34600001234",
            userId: null,
            content: { kind: "template", templateId: 1, template: Fixtures.template() },
            values: ["Ana"],
            attempt: 1,
            config
          })
          longest = Math.max(longest, performance.now() - began)
          found.set(labelOf(result), (found.get(labelOf(result)) ?? 0) + 1)
        })
      yield* Effect.forEach(
        Array.from({ length: count }, (_, n) => n),
        send,
        { concurrency, discard: true }
      )
      return { found, longest }
    })
  )

const measure = (provider: Provider, given: Row, told: Told) =>
  Effect.gen(function* () {
    const origin = originOf(given, told)
    const supervisor = yield* Supervisor.track
    const before = yield* held
    const { most, result } = yield* peak(
      Effect.supervised(attempt(provider, origin, given.count), supervisor)
    )
    yield* Effect.sleep("50 millis")
    const now = yield* held
    const left = { sockets: yield* sockets, fibers: (yield* supervisor.value).length }
    const { found, longest } = result
    const expected = Object.entries(given.expected[provider])
    const countOf = (labels: string) =>
      labels.split(" or ").reduce((sum, label) => sum + (found.get(label) ?? 0), 0)
    const faults = [
      ...(expected.every(([labels, share]) => countOf(labels) === share * given.count)
        ? []
        : [`expected ${expected.map(([label, share]) => `${label} ${share * given.count}`).join(", ")}`]),
      ...(longest > timeouts[provider] + lateMs ? ["late"] : []),
      ...(now.used - before.used > allowedGrowth || most - before.rss > allowedGrowth ? ["memory"] : []),
      ...(left.sockets > 0 ? ["sockets left"] : []),
      ...(left.fibers > 0 ? ["fibers left"] : [])
    ]
    const cells = [
      given.name,
      provider,
      String(given.count),
      [...found].map(([label, count]) => (found.size === 1 ? label : `${label} ${count}`)).join(", "),
      `${(longest / 1000).toFixed(1)} of ${timeouts[provider] / 1000}`,
      signed(most - before.rss),
      signed(now.used - before.used),
      `${left.sockets}, ${left.fibers}`,
      faults.length === 0 ? "yes" : faults.join("; ")
    ]
    yield* Console.error(cells.join("  "))
    return { cells, right: faults.length === 0 }
  })

const platform = Effect.acquireRelease(
  Effect.promise(async (): Promise<readonly [ChildProcess, Told]> => {
    const child = fork(new URL("./misbehaviour/platform.ts", import.meta.url), {
      execArgv: ["--import", "tsx"]
    })
    const [told]: ReadonlyArray<Told> = await once(child, "message")
    if (told === undefined) throw new Error("The platform did not start.")
    return [child, told]
  }),
  ([child]) => Effect.sync(() => child.kill())
)

const senderRows = (told: Told) =>
  Effect.gen(function* () {
    // What is compiled and kept once belongs to no row.
    for (const provider of providers) {
      yield* attempt(provider, originOf({ at: "accept" }, told), 2000)
      yield* attempt(provider, originOf({ at: "flood" }, told), 200)
    }
    const measured: Array<{ readonly cells: ReadonlyArray<string>; readonly right: boolean }> = []
    for (const each of rows) {
      for (const provider of providers) measured.push(yield* measure(provider, each, told))
    }
    yield* table(
      [
        "the platform",
        "provider",
        "sends",
        "class",
        "longest (s)",
        "peak (MB)",
        "kept (MB)",
        "left",
        "right"
      ],
      measured.map(({ cells }) => cells)
    )
    return measured.every(({ right }) => right)
  })

const program = Effect.gen(function* () {
  const [child, told] = yield* platform
  const repeated = Effect.promise(async () => {
    child.send("tell")
    const [now]: ReadonlyArray<Told> = await once(child, "message")
    return now?.repeated ?? Number.NaN
  })
  const rowsRight = yield* senderRows(told)
  const supervisor = yield* Supervisor.track
  const before = yield* held
  const jobsRight = yield* Effect.supervised(Jobs.run(told, repeated), supervisor)
  yield* Effect.sleep("50 millis")
  const now = yield* held
  const left = { sockets: yield* sockets, fibers: (yield* supervisor.value).length }
  yield* Console.log(
    `kept ${signed(now.used - before.used)} MB; left ${left.sockets} sockets, ${left.fibers} fibers`
  )
  const clean = now.used - before.used < allowedGrowth && left.sockets === 0 && left.fibers === 0
  return rowsRight && jobsRight && clean
})

process.exit((await Effect.runPromise(Effect.scoped(program))) ? 0 : 1)
