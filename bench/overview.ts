/**
 * An overview costs what its bounds allow, however much there is. This fills a store with recipients that wait and others that
 * have ended, and with an hour of numbers of 100 sessions, and tells the processor's time of overviews two seconds apart.
 *
 *   npx tsx --conditions=@sendwright/source bench/overview.ts [waiting] [ended] [recipients of a waiting job] [postgres]
 */
import { AddressPolicy, Engine, SecretBox, Sender, type Stores, UndiciTransport } from "@sendwright/core"
import { Postgres } from "@sendwright/core/postgres"
import { Sqlite } from "@sendwright/core/sqlite"
import SqliteDriver from "better-sqlite3"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import pg from "pg"
import * as PostgresServer from "../test/support/PostgresServer.ts"
import { file, median, sender, tenant } from "./support.ts"

const waiting = Number(process.argv[2] ?? 1_000_000)
const ended = Number(process.argv[3] ?? 1_000_000)
const perJob = Number(process.argv[4] ?? 250)
const isPostgres = process.argv[5] === "postgres"
const sessions = 100
const looks = 15
const endedPerJob = 250

/** The rows, by statements of which each database says some words its own way. */
const statements = (
  {
    numbered,
    pad,
    series
  }: {
    /** The `count` whole numbers from 1 on, as a table of `i`. */
    readonly series: (count: number) => string
    readonly pad: (value: string, width: number) => string
    /** Lets rows say their own numbers. */
    readonly numbered: string
  },
  now: number
) => {
  const id = (part: number, of: string): string => `'01890000-0000-7000-800${part}-' || ${pad(of, 12)}`
  const jobs = (first: number, count: number, each: number, at: string, due: string): string =>
    `INSERT INTO sendwright_job
        (seq, id, account, session, public_key, kind, template, snapshot, currency, fingerprint, recipients, created_at, due_at, priority) ${numbered}
      SELECT ${first} + i, ${id(1, `${first} + i`)}, one.account, ${id(2, `i % ${sessions}`)}, 'pk', 'template', 1, 900000, 'EUR',
        'print', ${each}, ${at}, ${due}, 'normal' FROM ${series(count)} CROSS JOIN (SELECT account FROM sendwright_session LIMIT 1) AS one`
  const recipients = (first: number, count: number, each: number, columns: string, values: string): string =>
    `INSERT INTO sendwright_recipient (seq, phone, variables, attempts, sequence, ${columns})
      SELECT (${first} + (i - 1) / ${each} + 1) * 4096 + (i - 1) % ${each}, ${pad("i", 11)}, '["Ana"]', 0, 0, ${values}
      FROM ${series(count)}`
  const [old, open] = [Math.ceil(ended / endedPerJob), Math.ceil(waiting / perJob)]
  const behind = 1_000_000
  return [
    `INSERT INTO sendwright_snapshot (seq, digest, body) ${numbered} VALUES (900000, 'old', '{}')`,
    `INSERT INTO sendwright_session
        (id, account, name, provider, config, pacing, state, connected_since, created_at, updated_at)
      SELECT ${id(2, "i - 1")}, one.account, 'Session ' || i, 'sandbox', one.config,
        '{"messagesPerSecond":80,"pairIntervalMs":null}', 'connected', ${now}, ${now}, ${now}
      FROM ${series(sessions)} CROSS JOIN (SELECT account, config FROM sendwright_session LIMIT 1) AS one`,
    `INSERT INTO sendwright_busy (session, priority) SELECT ${id(2, "i - 1")}, 'normal' FROM ${series(sessions)}`,
    jobs(0, old, endedPerJob, `${now} - 900000000 + i`, "NULL"),
    `INSERT INTO sendwright_progress (seq, session, priority, status, counts, updated_at, completed_at, failures)
      SELECT i, ${id(2, `i % ${sessions}`)}, 'normal', 'completed', '{"delivered":249,"unknown":1}', ${now} - 5000, ${now} - 5000,
        CASE WHEN i % 4 = 0 THEN 1 ELSE 0 END FROM ${series(old)}`,
    recipients(0, ended, endedPerJob, "status, updated_at", `'delivered', ${now} - 900000000`),
    jobs(behind, open, perJob, `${now} - 600000 + i`, `${now} - 600000 + i`),
    recipients(
      behind,
      waiting,
      perJob,
      "status, updated_at, next_at",
      `'queued', ${now} - 600000, ${now} - 600000`
    ),
    `INSERT INTO sendwright_tally (minute, session, outcome, code, n)
      SELECT ${now - (now % 60_000)} - (i % 60) * 60000, ${id(2, `(i / 60) % ${sessions}`)},
        CASE i / ${60 * sessions} WHEN 0 THEN 'queued' WHEN 1 THEN 'accepted' ELSE 'failed' END,
        CASE i / ${60 * sessions} WHEN 2 THEN 'rejected' ELSE '' END, 100 FROM ${series(3 * 60 * sessions - 1)}`
  ]
}

const fillSqlite = (filename: string, now: number): void => {
  const db = new SqliteDriver(filename)
  const series = (count: number): string =>
    `(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n) AS n`
  const pad = (value: string, width: number): string => `printf('%0${width}d', ${value})`
  db.transaction(() => {
    for (const statement of statements({ series, pad, numbered: "" }, now)) db.prepare(statement).run()
  })()
  db.close()
}

const fillPostgres = async (address: string, now: number): Promise<void> => {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  const series = (count: number): string => `generate_series(1, ${count}::bigint) AS n (i)`
  const pad = (value: string, width: number): string => `lpad((${value})::text, ${width}, '0')`
  const numbered = "OVERRIDING SYSTEM VALUE"
  try {
    for (const statement of statements({ series, pad, numbered }, now)) await client.query(statement)
    await client.query("ANALYZE")
  } finally {
    await client.end()
  }
}

const program = Effect.fnUntraced(function* (fill: (now: number) => Promise<void>) {
  const { admin } = yield* Engine.Engine
  yield* tenant("bench", { recipients: 1 })
  const began = performance.now()
  yield* Effect.promise(() => fill(Date.now()))
  yield* Console.log(`filled in ${Math.round((performance.now() - began) / 1000)} s`)
  const cpus: Array<number> = []
  const times: Array<number> = []
  for (let look = 0; look < looks; look++) {
    const cpu = process.cpuUsage()
    const at = performance.now()
    const found = yield* admin.overview.now
    times.push(performance.now() - at)
    const { system, user } = process.cpuUsage(cpu)
    cpus.push((system + user) / 1000)
    if (look === 0)
      yield* Console.log(
        `${found.waiting.total} wait (exact: ${found.waiting.totalIsExact}), ${found.sessions.length} sessions, ${found.attention.length} items`
      )
    yield* Effect.sleep("2 seconds")
  }
  const told = (values: ReadonlyArray<number>): string =>
    `median ${median(values).toFixed(1)}, first ${values[0]?.toFixed(1)}, greatest ${Math.max(...values).toFixed(1)} ms`
  yield* Console.log(`processor: ${told(cpus)}`)
  yield* Console.log(`time:      ${told(times)}`)
})

const over = <E>(stores: Layer.Layer<Stores.Stores, E>) =>
  Engine.layer().pipe(
    Layer.provideMerge(stores),
    Layer.provide(Sender.layer(sender(0))),
    Layer.provide(UndiciTransport.layer()),
    Layer.provide(AddressPolicy.layer([])),
    Layer.provide(SecretBox.layerRandom)
  )

const onSqlite = Effect.flatMap(file, (filename) =>
  Effect.provide(
    program((now) => Promise.resolve(fillSqlite(filename, now))),
    over(Sqlite.layer({ filename }))
  )
)

const onPostgres = Effect.acquireUseRelease(
  Effect.promise(async () => PostgresServer.start({ port: await PostgresServer.freePort(), durable: false })),
  ({ url }) =>
    Effect.provide(
      program((now) => fillPostgres(url, now)),
      over(Postgres.layer({ url: Redacted.make(url) }))
    ),
  ({ stop }) => Effect.promise(stop)
)

await Effect.runPromise(Effect.scoped(isPostgres ? onPostgres : onSqlite))
