/**
 * A list costs its page, however many rows there are: each statement of each list is explained by the database that runs it.
 * PostgreSQL plans it for all parameters, as it does from the sixth time on, with and without statistics.
 */

import { SqlClient } from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import type { Between } from "../../src/domain/DerivedEvent.ts"
import * as Happening from "../../src/domain/Happening.ts"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as RetryPlan from "../../src/domain/job/RetryPlan.ts"
import * as Timeline from "../../src/domain/job/Timeline.ts"
import type { Page, Paged } from "../../src/domain/Page.ts"
import * as PageOf from "../../src/domain/Page.ts"
import * as Search from "../../src/domain/Search.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import { AuditStore } from "../../src/storage/AuditStore.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { HappeningStore } from "../../src/storage/HappeningStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { OperatorStore } from "../../src/storage/OperatorStore.ts"
import type { Program, Statement } from "../../src/storage/Program.ts"
import { get, script } from "../../src/storage/Program.ts"
import * as PostgresDatabase from "../../src/storage/postgres/Database.ts"
import { migrations as ofPostgres } from "../../src/storage/postgres/Schema.ts"
import { RateCardStore } from "../../src/storage/RateCardStore.ts"
import { RetryPlanStore } from "../../src/storage/RetryPlanStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import { Database } from "../../src/storage/sql/Database.ts"
import * as SqliteDatabase from "../../src/storage/sqlite/Database.ts"
import { migrations as ofSqlite } from "../../src/storage/sqlite/Schema.ts"
import * as SqlStores from "../../src/storage/sqlite/Stores.ts"
import { TemplateStore } from "../../src/storage/TemplateStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { owner } from "../StorageSuite/Setup.ts"

const { now } = Fixtures
const rows = 50_000
const page: Page = { limit: 25, after: null }

/** A statement, and how it was planned. */
type Asked = Statement & { readonly by: "read" | "readPage" }

/** What lists have asked since the last look. */
const asked: Array<Asked> = []

function* recorded<A>(by: Asked["by"], program: Program<A>): Program<A> {
  let step = program.next()
  while (step.done !== true) {
    asked.push({ ...step.value, by })
    step = program.next(yield step.value)
  }
  return step.value
}

const recording = Layer.effect(
  Database,
  Effect.map(Database, (db) => ({
    ...db,
    read: (operation, verb) => db.read(operation, () => recorded("read", verb())),
    readPage: (operation, verb) => db.readPage(operation, () => recorded("readPage", verb()))
  }))
)

/** How a database copies a row, and what of its plan is more than a page. */
interface Explained<R = never> {
  readonly stores: Layer.Layer<Stores | SqlClient | R, unknown>
  readonly series: string
  /** A whole number in so many hexadecimal digits. */
  readonly hex: (number: string, digits: number) => string
  readonly columns: string
  readonly cost: (sql: SqlClient, statement: Asked) => Effect.Effect<number, unknown, R>
}

interface Plan {
  readonly "Relation Name"?: string | undefined
  readonly "Actual Rows": number
  readonly "Actual Loops": number
  readonly "Rows Removed by Filter"?: number | undefined
  readonly Plans?: ReadonlyArray<Plan> | undefined
}

const Plan: Schema.Schema<Plan> = Schema.Struct({
  "Relation Name": Schema.UndefinedOr(Schema.String).pipe(Schema.optional),
  "Actual Rows": Schema.Number,
  "Actual Loops": Schema.Number,
  "Rows Removed by Filter": Schema.UndefinedOr(Schema.Number).pipe(Schema.optional),
  Plans: Schema.UndefinedOr(Schema.Array(Schema.suspend(() => Plan))).pipe(Schema.optional)
})

const explained = Schema.decodeUnknownSync(
  Schema.Struct({ "QUERY PLAN": Schema.Array(Schema.Struct({ Plan })) })
)

/** The rows that a plan has read of tables. */
const readBy = (plan: Plan): number => {
  const each = plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0)
  const own = plan["Relation Name"] === undefined ? 0 : each * plan["Actual Loops"]
  return (plan.Plans ?? []).reduce((sum, child) => sum + readBy(child), own)
}

const literal = (value: unknown): string =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : value === null ? "NULL" : String(value)

const postgres: Explained<Database> = {
  stores: SqlStores.layer.pipe(
    Layer.provide(recording),
    Layer.provideMerge(
      Layer.unwrapScoped(
        Effect.map(migratedDatabase, (url) =>
          PostgresDatabase.layer({ url: Redacted.make(url), migrations: ofPostgres, maxConnections: 2 })
        )
      )
    )
  ),
  series: "generate_series(1, :n) AS copy (n)",
  hex: (number, digits) => `lpad(to_hex(CAST(${number} AS bigint)), ${digits}, '0')`,
  columns:
    "SELECT column_name AS name FROM information_schema.columns WHERE is_identity = 'NO' AND table_name = ",
  // As the store reads its pages.
  cost: (_, { by, parameters, text }) =>
    Effect.flatMap(Database, (db) =>
      db[by]("explain", function* () {
        let place = 0
        const values = parameters.length === 0 ? "" : `(${parameters.map(literal).join(", ")})`
        const explain = `EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) EXECUTE explained${values}`
        yield* script(`PREPARE explained AS ${text.replaceAll("?", () => `$${++place}`)}`)
        const row: unknown = yield* get(explain)
        yield* script("DEALLOCATE explained")
        return explained(row)["QUERY PLAN"].reduce((sum, { Plan }) => sum + readBy(Plan), 0)
      })
    )
}

const sqlite: Explained = {
  stores: SqlStores.layer.pipe(
    Layer.provide(recording),
    Layer.provideMerge(SqliteDatabase.layer({ filename: ":memory:", migrations: ofSqlite }))
  ),
  series:
    "(WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < :n) SELECT n FROM copy) AS copy",
  hex: (number, digits) => `printf('%0${digits}x', ${number})`,
  columns: "SELECT name FROM pragma_table_info(:t) WHERE pk = 0 AND ",
  cost: (sql, { parameters, text }) =>
    Effect.map(
      sql.unsafe<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`, [...parameters]),
      (plan) => {
        const whole = plan.filter(
          ({ detail }) =>
            /^SCAN (sendwright_|failing(?! USING (COVERING )?INDEX))|TEMP B-TREE FOR (ORDER|GROUP)/.test(
              detail
            ) && !/LIMIT/.test(detail)
        )
        return whole.length === 0 ? 0 : rows
      }
    )
}

/** Copies of a table's only row, or of the one that a condition tells, with other values in some of its columns. */
const copy = (
  { columns, series }: Pick<Explained, "columns" | "series">,
  sql: SqlClient,
  table: string,
  changed: Readonly<Record<string, string>>,
  count = rows,
  where = "true"
) =>
  Effect.gen(function* () {
    const found = columns.includes(":t")
      ? `${columns.replace(":t", literal(table))} name <> 'seq'`
      : `${columns}${literal(table)}`
    const names = (yield* sql.unsafe<{ readonly name: string }>(found)).map(({ name }) => name)
    const all = "seq" in changed ? ["seq", ...names.filter((name) => name !== "seq")] : names
    const values = all.map((name) => changed[name] ?? `source.${name}`)
    yield* sql.unsafe(`INSERT INTO ${table} (${all.join(", ")}) SELECT ${values.join(", ")}
      FROM (SELECT * FROM ${table} WHERE ${where} LIMIT 1) AS source CROSS JOIN ${series.replace(":n", String(count))}`)
  })

const prepared = (database: Pick<Explained, "columns" | "hex" | "series">) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const jobs = yield* JobStore
    const webhooks = yield* WebhookStore
    const [big, small, none] = [yield* owner, yield* owner, yield* owner]
    const endpoint = Fixtures.endpoint(big.accountId)
    const quiet = Fixtures.endpoint(small.accountId)
    for (const each of [endpoint, quiet]) yield* webhooks.create(each)
    yield* webhooks.send({
      endpointId: endpoint.id,
      draft: Event.webhookTest(endpoint.id),
      now
    })
    const accepted = { reference: "spring", key: null }
    yield* jobs.accept(Fixtures.send(small, accepted))
    const { jobId } = Fixtures.send(big, accepted)
    yield* jobs.accept({ ...Fixtures.send(big, accepted), jobId })
    yield* sql.unsafe(`UPDATE sendwright_recipient SET status = 'read', sequence = 3, attempts = 1, delivered_at = ${now} + 9,
      read_at = ${now} + 40000, attempted_at = ${now} + 5, updated_at = ${now} + 40100, next_at = NULL
      WHERE seq >= 4096 * (SELECT seq FROM sendwright_job WHERE id = ${literal(jobId)})`)
    const copied = (table: string, changed: Readonly<Record<string, string>>, where?: string) =>
      copy(database, sql, table, changed, rows, where)
    const ofBig = `account = ${literal(big.accountId)}`
    // An id begins with its time.
    const id = `substr(${database.hex(`${now} + copy.n`, 12)}, 1, 8) || '-' || substr(${database.hex(`${now} + copy.n`, 12)}, 9, 4) || '-copy'`
    const named = { request_id: "'request-' || (copy.n % 1000)", idempotency_key: "'key-' || copy.n" }
    yield* copied("sendwright_job", { id, due_at: "NULL", created_at: `${now} + copy.n`, ...named }, ofBig)
    yield* sql.unsafe(`INSERT INTO sendwright_progress (seq, session, priority, status, counts, failures, updated_at, completed_at)
      SELECT seq, session, priority, CASE WHEN seq % 2000 = 3 THEN 'failed' ELSE 'completed' END,
        CASE WHEN seq % 2000 = 3 THEN '{"failed":1}' ELSE '{"sent":1}' END, CASE WHEN seq % 2000 = 3 THEN 1 ELSE 0 END, created_at + 1, created_at + 1
      FROM sendwright_job WHERE id LIKE '%-copy'`)
    // Nine tenths of the recipients are written down in segments, the others came since.
    yield* copied("sendwright_recipient", {
      seq: "(2 + copy.n) * 4096",
      phone: "'34600' || (copy.n % 1000)",
      external_id: "'r' || copy.n",
      provider_id: "'wamid.' || copy.n"
    })
    yield* sql.unsafe(`INSERT INTO sendwright_segment (id, last)
      SELECT copy.n, (2 + copy.n * ${rows / 10}) * 4096 FROM ${database.series.replace(":n", "9")}`)
    yield* sql.unsafe(`INSERT INTO sendwright_segment_key (segment, key, recipient)
      SELECT segment.id, recipient.phone, recipient.seq FROM sendwright_segment AS segment JOIN sendwright_recipient AS recipient
      ON recipient.seq <= segment.last AND recipient.seq > segment.last - ${rows / 10} * 4096`)
    yield* copied("sendwright_event", { id: "'copy-' || copy.n" })
    yield* copied("sendwright_delivery", { id, event: "1 + copy.n" })
    // Of one person who says yes all the time, and of a session to which much happens.
    yield* sql.unsafe(`INSERT INTO sendwright_consent
      (account, person, occurred_at, seq, id, purpose, status, source, recorded_at)
      SELECT ${literal(big.accountId)}, '34600000000', ${now} + copy.n, copy.n, 'copy-' || copy.n, 'all', 'granted', 'platform',
        ${now} + copy.n FROM ${database.series.replace(":n", String(rows))}`)
    yield* sql.unsafe(`INSERT INTO sendwright_happening (at, type, account, session, subject, data)
      SELECT ${now} + copy.n, 'session.unavailable', ${literal(big.accountId)}, ${literal(big.sessionId)}, NULL, '{}'
      FROM ${database.series.replace(":n", String(rows))}`)
    const audit = yield* AuditStore
    yield* audit.append({
      entry: Fixtures.auditEntry({ operator: "ana", target: "first" }),
      retainSince: Time.at(0)
    })
    yield* copied("sendwright_audit", {
      id: "'copy-' || copy.n",
      at: `${now} + copy.n`,
      operator: "'ben'",
      target: "'t-' || copy.n % 9"
    })
    yield* sql.unsafe(`INSERT INTO sendwright_unattributed (id, account, session, kind, text, occurred_at, recorded_at)
      SELECT 'copy-' || copy.n, ${literal(big.accountId)}, ${literal(big.sessionId)}, 'message', 'Hi', ${now}, ${now}
      FROM ${database.series.replace(":n", String(rows))}`)
    yield* sql.unsafe(`INSERT INTO sendwright_consent
        (account, person, occurred_at, seq, id, purpose, status, source, recorded_at)
      SELECT 'copy-' || (copy.n % 100), '34600' || (copy.n % 10000), copy.n, copy.n, 'c', 'direct', 'granted', 'form', ${now}
      FROM ${database.series.replace(":n", String(rows))}`)
    yield* sql.unsafe(`INSERT INTO sendwright_person_link (account, person, other, told, at)
      SELECT 'copy-' || (copy.n % 100), '@ES.' || copy.n || ' p', '34600' || copy.n, 1, ${now}
      FROM ${database.series.replace(":n", String(rows))}`)
    const wanted = { filter: { reference: "spring" }, selection: {} }
    const begun = { expected: { jobs: 1, recipients: 1, isExact: true }, now, operator: null }
    const over = RetryPlan.canceled(RetryPlan.begin(wanted, { ...begun, id: "over" }), now)
    const retries = yield* RetryPlanStore
    yield* retries.add({ plan: over, key: null })
    yield* copied("sendwright_retry_plan", { id: "'copy-' || copy.n" })
    yield* retries.add({ plan: RetryPlan.begin(wanted, { ...begun, id: "running" }), key: null })
    yield* (yield* HappeningStore).note(Happening.ofProcess("process.started", "p", {}, now))
    yield* copied("sendwright_happening", {
      at: `${now} + copy.n`,
      type: "CASE WHEN copy.n % 2 = 0 THEN 'session.available' ELSE 'session.unavailable' END"
    })
    // Every other one refuses.
    yield* sql.unsafe(`INSERT INTO sendwright_consent
        (account, person, occurred_at, seq, id, purpose, status, source, recorded_at)
      SELECT ${literal(big.accountId)}, '346' || copy.n, ${now}, 1, 'copy-' || copy.n, 'all',
        CASE WHEN copy.n % 2 = 0 THEN 'revoked' ELSE 'granted' END, 'copy', ${now} + copy.n
      FROM ${database.series.replace(":n", String(rows))}`)
    yield* copied("sendwright_account", { id: "'copy-' || copy.n" })
    yield* copied("sendwright_session", { id: "'copy-' || copy.n" }, ofBig)
    yield* copied(
      "sendwright_api_key",
      { public_key: "'copy-' || copy.n" },
      `session = ${literal(big.sessionId)}`
    )
    yield* copied("sendwright_endpoint", { id: "'copy-' || copy.n" }, ofBig)
    yield* (yield* OperatorStore).create(Fixtures.operator("ana"))
    yield* copied("sendwright_operator", { name: "'copy-' || copy.n" })
    yield* (yield* RateCardStore).add(Fixtures.rateCard())
    yield* copied("sendwright_rate_card", { id: "'copy-' || copy.n" })
    return { big, small, none, endpoint, quiet, jobId }
  })

type List = (page: Page) => Effect.Effect<Paged<unknown>, unknown>

/** What is read by its time, as a list whose positions are times behind `now`. */
const byTime =
  (read: (between: Between) => Effect.Effect<ReadonlyArray<{ readonly at: Time.Instant }>, unknown>): List =>
  ({ after, limit }) =>
    Effect.map(
      read({
        from: now,
        to: after === null ? Time.at(Number.MAX_SAFE_INTEGER) : Time.after(now, after),
        limit: limit + 1
      }),
      (found) => PageOf.cut(found, limit, ({ at }) => at - now)
    )

/** Every list, of whoever has all of it, a little of it, or nothing. */
const lists = ({ big, endpoint, none, quiet, small }: Effect.Effect.Success<ReturnType<typeof prepared>>) =>
  Effect.gen(function* () {
    const [accounts, keys, sessions] = [yield* AccountStore, yield* ApiKeyStore, yield* SessionStore]
    const [audit, cards, inbound] = [yield* AuditStore, yield* RateCardStore, yield* InboundStore]
    const [jobs, operators, templates] = [yield* JobStore, yield* OperatorStore, yield* TemplateStore]
    const [retries, webhooks] = [yield* RetryPlanStore, yield* WebhookStore]
    const [consents, happenings] = [yield* ConsentStore, yield* HappeningStore]
    const all: Record<string, List> = {
      accounts: (page) => accounts.list(page),
      operators: (page) => operators.list(page),
      "rate cards": (page) => cards.list(page),
      audit: (page) => audit.list({ page }),
      jobs: (page) => jobs.list({ by: {}, kind: "template", page }),
      "jobs of a reference": (page) => jobs.list({ by: {}, kind: "template", reference: "spring", page }),
      "jobs with failures": (page) => jobs.list({ by: {}, kind: "template", has: "failed", page }),
      "jobs of a retry": (page) =>
        jobs.list({
          ...RetryPlan.listed(
            { filter: { completedAfter: now }, selection: {} },
            Time.after(now, rows),
            page
          ),
          reads: undefined
        }),
      "retries of many jobs": (page) => retries.list(page),
      "retries that go on": () => Effect.map(retries.running, (items) => ({ items, next: null })),
      "jobs by their time": byTime((between) =>
        Effect.map(jobs.acceptedBetween(between), ({ items }) => items.map(({ createdAt: at }) => ({ at })))
      ),
      "refusals by their time": byTime((between) =>
        Effect.map(consents.revoked(between), ({ items }) =>
          items.map(({ record }) => ({ at: record.recordedAt }))
        )
      ),
      "acts by their time": byTime(audit.between),
      "happenings by their time": byTime(happenings.between),
      "happenings of a type": byTime((between) =>
        happenings.between({ ...between, types: ["session.available"] })
      ),
      "jobs with what is told beside them": (page) =>
        Effect.tap(jobs.list({ by: {}, kind: "template", page }), ({ items }) => jobs.facts(items)),
      "audit of a target": (page) => audit.list({ page, target: "first" }),
      "audit of an operation": (page) => audit.list({ page, operation: Fixtures.auditEntry().operation }),
      "audit of nobody": (page) => audit.list({ page, operator: "nobody" }),
      "all sessions": (page) => sessions.list({ page }),
      "all endpoints": (page) => webhooks.list({ page }),
      "all deliveries": (page) => webhooks.deliveries({ page }),
      deliveries: (page) => webhooks.deliveries({ endpointId: endpoint.id, page }),
      "deliveries of a quiet endpoint": (page) => webhooks.deliveries({ endpointId: quiet.id, page })
    }
    for (const [name, { accountId, publicKey, sessionId }] of Object.entries({ big, small, none })) {
      Object.assign<typeof all, typeof all>(all, {
        [`jobs of the account ${name}`]: (page) => jobs.list({ by: { accountId }, kind: "template", page }),
        [`jobs of the key ${name}`]: (page) => jobs.list({ by: { publicKey }, kind: "template", page }),
        [`jobs of the session ${name}`]: (page) => jobs.list({ by: { sessionId }, kind: "template", page }),
        [`messages of the account ${name}`]: (page) => jobs.list({ by: { accountId }, kind: "direct", page }),
        [`sessions of ${name}`]: (page) => sessions.list({ accountId, page }),
        [`keys of ${name}`]: (page) => keys.list({ sessionId, page }),
        [`endpoints of ${name}`]: (page) => webhooks.list({ accountId, page }),
        [`templates of ${name}`]: (page) => templates.listApproved({ sessionId, page }),
        [`unattributed of ${name}`]: (page) => inbound.unattributed({ accountId, page })
      })
    }
    return all
  })

const suite = <R>(name: "PostgreSQL" | "SQLite", database: Explained<R>) =>
  it.live(
    `a list of 50,000 rows costs its page, and a filter what it looks at, on ${name}`,
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        if (name === "PostgreSQL") yield* sql.unsafe("ANALYZE")
        const given = yield* prepared(database)
        const { accountId, sessionId } = given.big
        const { publicKey } = given.small
        const [audit, jobs] = [yield* AuditStore, yield* JobStore]
        const [sessions, webhooks] = [yield* SessionStore, yield* WebhookStore]
        const consents = yield* ConsentStore
        const known = yield* lists(given)
        const searched =
          (text: string, publicKey?: string): List =>
          (page) =>
            jobs.search({ sought: Search.meaningsOf(text).jobs, publicKey, page })
        const knowing =
          (query: Parameters<typeof consents.known>[0]): List =>
          () =>
            Effect.map(consents.known(query), (items) => ({ items, next: null }))
        const costs = (list: List, page: Page) =>
          Effect.gen(function* () {
            asked.length = 0
            const { items, next } = yield* list(page)
            const statements = [...asked]
            expect(statements).not.toEqual([])
            const found = yield* Effect.forEach(statements, (statement) => database.cost(sql, statement))
            return { items: items.length, next, most: Math.max(...found), statements: statements.length }
          })
        const expensive: Array<string> = []
        const look = Effect.gen(function* () {
          for (const [list, of] of Object.entries(known)) {
            const { next, most } = yield* costs(of, page)
            // Far from the beginning, too.
            const deep = next === null ? 0 : (yield* costs(of, { limit: 25, after: 20_000 })).most
            // A job has four rows.
            if (Math.max(most, deep) > 26 * 6) expensive.push(`${list}: ${most} and ${deep} rows`)
          }
        })
        yield* look
        if (name === "PostgreSQL") {
          yield* sql.unsafe("ANALYZE")
          yield* look
        }
        expect(expensive).toEqual([])

        const ofAll = { by: {}, kind: "template" } as const
        const ofBig = { by: { accountId }, kind: "template" } as const
        const reference = { by: { publicKey }, kind: "template", reference: "autumn" } as const
        const filters: Record<string, [List, number | null]> = {
          "accepted of an account": [
            byTime((between) =>
              Effect.map(
                jobs.acceptedBetween({ ...between, accountId: given.small.accountId }),
                ({ items }) => items.map(({ createdAt: at }) => ({ at }))
              )
            ),
            null
          ],
          "refusals of an account": [
            byTime((between) =>
              Effect.map(consents.revoked({ ...between, accountId: given.small.accountId }), ({ items }) =>
                items.map(({ record }) => ({ at: record.recordedAt }))
              )
            ),
            null
          ],
          failed: [(page) => jobs.list({ ...ofBig, status: "failed", page }), 25],
          canceled: [(page) => jobs.list({ ...ofBig, status: "canceled", page }), 0],
          "sent early": [(page) => jobs.list({ ...ofBig, createdBefore: Time.after(now, 10), page }), 10],
          "sent late": [(page) => jobs.list({ ...ofBig, createdAfter: Time.after(now, rows - 9), page }), 10],
          "failed of all": [(page) => jobs.list({ ...ofAll, status: "failed", page }), 25],
          "with failures": [(page) => jobs.list({ ...ofAll, has: "failed", page }), 25],
          "with unknown ones": [(page) => jobs.list({ ...ofBig, has: "unknown", page }), 0],
          waiting: [(page) => jobs.list({ ...ofAll, has: "waiting", page }), 2],
          stuck: [(page) => jobs.list({ ...ofAll, stuckSince: Time.after(now, rows), page }), 2],
          "done early": [(page) => jobs.list({ ...ofAll, completedBefore: Time.after(now, 12), page }), 10],
          "done late": [
            (page) => jobs.list({ ...ofAll, completedAfter: Time.after(now, rows - 8), page }),
            10
          ],
          "of no template": [(page) => jobs.list({ ...ofAll, templateId: 77, page }), 0],
          "of a session, failed": [
            (page) => jobs.list({ by: { sessionId }, kind: "template", has: "failed", page }),
            25
          ],
          "the newest of each reference": [
            (page) => jobs.list({ ...ofAll, isNewestOfReference: true, page }),
            2
          ],
          "sessions that are down": [(page) => sessions.list({ isDown: true, page }), 0],
          "endpoints that fail": [(page) => webhooks.list({ isFailing: true, page }), 0],
          "deliveries that arrived": [(page) => webhooks.deliveries({ status: "delivered", page }), 0],
          "deliveries since": [(page) => webhooks.deliveries({ since: Time.after(now, 1), page }), 0],
          "of a reference": [(page) => jobs.list({ ...ofBig, reference: "spring", page }), null],
          "of a reference that the key does not have": [(page) => jobs.list({ ...reference, page }), 0],
          "messages to a phone": [searched("34600123"), rows / 1000],
          "messages to a phone that is spelled": [searched("+34 600 123"), rows / 1000],
          "messages to nobody": [searched("3460000"), 0],
          "messages to a phone, of a key": [searched("34600123", publicKey), 0],
          "of a name": [searched("spring"), null],
          "of a request": [searched("request-77"), rows / 1000],
          "of a request, of another key": [searched("request-77", publicKey), 0],
          "of a request of ours": [searched(Ids.make((count) => new Uint8Array(count)).uuid(now)), 0],
          "of an Idempotency-Key": [searched("key-4711"), 1],
          "of a platform's id": [searched("wamid.4711"), 1],
          "known by a number": [knowing({ phones: ["346004711"], userIds: [] }), 1],
          "known by a platform's id": [knowing({ phones: [], userIds: ["ES.4711"] }), 1],
          "audited, of one by another": [(page) => audit.list({ page, operator: "ben", target: "first" }), 0],
          "audited before": [(page) => audit.list({ page, operator: "ana", to: Time.after(now, 1) }), 1]
        }
        for (const [filter, [list, total]] of Object.entries(filters)) {
          // A row is looked at, its status with it, and where the next read begins.
          const { most } = yield* costs(list, page)
          expect([filter, most <= 2 * PageOf.mostLookedAt + 26]).toEqual([filter, true])
          if (total === null) continue
          let [count, after]: [number, number | null] = [0, null]
          do {
            const found: Paged<unknown> = yield* list({ limit: 7, after })
            // No page is empty while something is left to find.
            expect([filter, found.items.length > 0 || found.next === null]).toEqual([filter, true])
            count += found.items.length
            after = found.next
          } while (after !== null)
          expect([filter, count]).toEqual([filter, total])
        }

        // A message's story costs what it answers, and a look at what its account told at its times.
        const told = (index: number) => () =>
          Effect.map(jobs.timeline({ jobId: given.jobId, index, now: Time.after(now, rows) }), (found) => ({
            items: found === null ? [] : [...new Set(found.cut.map(({ kind }) => kind))],
            next: null
          }))
        const story = yield* costs(told(0), page)
        // Consent, words and webhooks were more than are read.
        expect(story.items).toBe(3)
        expect(story.most).toBeLessThanOrEqual(2 * Timeline.most.ofMoment + 26)
        expect((yield* costs(told(1), page)).items).toBe(0)
      }).pipe(Effect.provide(database.stores)),
    120_000
  )

suite("SQLite", sqlite)
suite("PostgreSQL", postgres)
