/**
 * A purge takes something from the service, which this measures: sends that are accepted and drained in the same process on SQLite, in windows with and
 * without a purge of old jobs, events and deliveries by turns.
 *
 *   npx tsx --conditions=@sendwright/source bench/purge.ts [old recipients] [pairs of windows] [share of the time]
 */
import { Sender } from "@sendwright/core"
import { RetentionStore, SizeStore } from "@sendwright/core/storage"
import Sqlite from "better-sqlite3"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Purge from "../packages/core/src/worker/Purge.ts"
import { engineAt, file, median, percentile, start, tenant } from "./support.ts"

const old = Number(process.argv[2] ?? 300_000)
const pairs = Number(process.argv[3] ?? 8)
const windowMs = 3000
const clients = 8
const perJob = 250
const perSend = 25
const day = 86_400_000

let sent = 0

const counting: Sender.Sender = {
  provider: "sandbox",
  deduplicates: true,
  send: () =>
    Effect.sync(() => {
      sent += 1
      return Sender.SendResult.Accepted({ providerId: null, status: "accepted" })
    })
}

/** Jobs that ended 500 days ago, and an event with a delivery and an attempt of 40 days ago for each of their recipients. */
const fill = (filename: string): void => {
  const db = new Sqlite(filename)
  const now = Date.now()
  const found = db.prepare("SELECT id, account FROM sendwright_session LIMIT 1").get()
  const { account, id } = Object(found)
  const jobs = old / perJob
  const numbers = (count: number) =>
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`
  const run = (text: string, ...parameters: ReadonlyArray<unknown>) => db.prepare(text).run(...parameters)
  db.transaction(() => {
    run(
      "INSERT INTO sendwright_snapshot (seq, digest, body) VALUES (1, 'old', ?)",
      JSON.stringify({
        kind: "template",
        templateId: 1,
        template: { name: "a", language: "en", category: "utility" }
      })
    )
    run(
      `INSERT INTO sendwright_endpoint (seq, id, account, url, events, enabled, secrets, created_at, updated_at)
        VALUES (1, 'old', ?, 'https://old.example', '[]', 0, '[]', 0, 0)`,
      account
    )
    run(
      `${numbers(jobs)} INSERT INTO sendwright_job
          (seq, id, account, session, public_key, kind, template, snapshot, currency, idempotency_key, fingerprint, recipients, created_at, priority)
        SELECT i, printf('01890000-0000-7000-8000-%09d000', i), ?, ?, 'pk', 'template', 1, 1, 'EUR', 'key ' || i, 'print', ${perJob},
          ${now - 500 * day} + i, 'normal' FROM n`,
      account,
      id
    )
    run(
      `${numbers(jobs)} INSERT INTO sendwright_progress (seq, session, priority, status, counts, updated_at, completed_at)
        SELECT i, ?, 'normal', 'completed', '{"delivered":${perJob}}', ${now - 500 * day} + i, ${now - 500 * day} + i FROM n`,
      id
    )
    run(
      `${numbers(old)} INSERT INTO sendwright_recipient
          (seq, phone, variables, market, price, status, attempts, sequence, updated_at, provider_id, sent_at, delivered_at)
        SELECT ((i - 1) / ${perJob} + 1) * 4096 + (i - 1) % ${perJob}, printf('346%08d', i), '["Ana","12 May"]', '34', '0.0250',
          'delivered', 1, 3, ${now - 500 * day}, 'wamid.' || hex(randomblob(16)), ${now - 500 * day}, ${now - 500 * day} FROM n`
    )
    run(
      `${numbers(old)} INSERT INTO sendwright_event (seq, id, account, type, body, created_at)
        SELECT i, printf('01890000-0000-7000-8001-%012d', i), ?, 'recipient.delivered', printf('%0600d', i), ${now - 40 * day} FROM n`,
      account
    )
    run(
      `${numbers(old)} INSERT INTO sendwright_delivery (seq, id, endpoint, event, status, attempts, tries, fence, created_at)
        SELECT i, printf('01890000-0000-7000-8002-%012d', i), 1, i, 'delivered', 1, 1, 1, ${now - 40 * day} FROM n`
    )
    run(
      `${numbers(old)} INSERT INTO sendwright_attempt (delivery, number, at, status, duration_ms, excerpt)
        SELECT i, 1, ${now - 40 * day}, 200, 12, '' FROM n`
    )
  })()
  db.close()
}

/** Jobs are accepted for a while, and the window ends once all of them were sent, so that no window leaves its work to the next one. */
interface Window {
  readonly accepted: number
  /** Recipients a second, from the window's begin until the last one was sent. */
  readonly sent: number
  readonly latencies: ReadonlyArray<number>
  /** Microseconds of the processor for each recipient that was accepted or sent: others' load does not touch it. */
  readonly cpu: number
}

const program = Effect.fnUntraced(function* (filename: string) {
  const { queue } = yield* tenant("bench", { recipients: perSend })
  const slices: Array<number> = []
  let rows = 0
  const store = yield* RetentionStore.RetentionStore
  const size = yield* SizeStore.SizeStore
  const before = (yield* size.measure).bytes
  fill(filename)
  const filled = (yield* size.measure).bytes
  const watched: typeof store = {
    ...store,
    purge: (query) =>
      Effect.tap(store.purge(query), (slice) => {
        if (slice._tag === "Busy") return
        slices.push(slice.ms)
        rows += slice.shares.reduce((sum, share) => sum + share.rows, 0)
      })
  }
  const purge = yield* Effect.provideService(Purge.make, RetentionStore.RetentionStore, watched)
  yield* start
  let place = 0
  const window = Effect.gen(function* () {
    const latencies: Array<number> = []
    const [began, sentBefore, cpu] = [performance.now(), sent, process.cpuUsage()]
    const client = Effect.gen(function* () {
      while (performance.now() - began < windowMs) {
        place += 1
        const asked = performance.now()
        yield* queue(`job-${place}`)
        latencies.push(performance.now() - asked)
      }
    })
    yield* Effect.all(
      Array.from({ length: clients }, () => client),
      { concurrency: "unbounded" }
    )
    const due = sentBefore + latencies.length * perSend
    yield* Effect.repeat(Effect.sleep("2 millis"), { until: () => sent >= due })
    const { system, user } = process.cpuUsage(cpu)
    const work = 2 * latencies.length * perSend
    return {
      accepted: latencies.length,
      sent: (sent - sentBefore) / ((performance.now() - began) / 1000),
      latencies,
      cpu: (system + user) / work
    } satisfies Window
  })
  const windows: { readonly without: Array<Window>; readonly with: Array<Window> } = { without: [], with: [] }
  yield* window
  for (let pair = 0; pair < pairs; pair += 1) {
    const purging = Effect.gen(function* () {
      const fiber = yield* Effect.fork(purge.run({ share: Number(process.argv[4] ?? 0.02) }))
      windows.with.push(yield* window)
      yield* Fiber.interrupt(fiber)
    })
    const alone = Effect.map(window, (seen) => windows.without.push(seen))
    yield* Effect.all(pair % 2 === 0 ? [alone, purging] : [purging, alone])
  }
  const of = (some: ReadonlyArray<Window>) => ({
    accepted: median(some.map(({ accepted }) => accepted)),
    sent: median(some.map(({ sent }) => sent)),
    cpu: median(some.map(({ cpu }) => cpu)),
    p50: percentile(
      some.flatMap(({ latencies }) => latencies),
      0.5
    ),
    p99: percentile(
      some.flatMap(({ latencies }) => latencies),
      0.99
    )
  })
  const [without, during] = [of(windows.without), of(windows.with)]
  yield* Console.log(
    JSON.stringify(
      {
        recipients: old,
        fileBytes: [before, filled],
        without,
        with: during,
        ratios: {
          accepted: during.accepted / without.accepted,
          sent: during.sent / without.sent,
          byProcessor: without.cpu / during.cpu,
          p99: during.p99 / without.p99
        },
        purged: rows,
        slices: {
          count: slices.length,
          p50: percentile(slices, 0.5),
          p99: percentile(slices, 0.99),
          max: Math.max(...slices)
        }
      },
      null,
      2
    )
  )
})

await Effect.runPromise(
  Effect.scoped(
    Effect.flatMap(file, (filename) =>
      Effect.provide(Effect.scoped(program(filename)), engineAt(filename, counting))
    )
  )
)
