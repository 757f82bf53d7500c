/** A BEGIN, COMMIT or ROLLBACK that fails is a `StorageError` (contract.md §11), of whichever write and on both databases. */

import { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { vi } from "vitest"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as BreakingPostgres from "../../../../test/support/BreakingPostgres.ts"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Acting from "../../src/engine/Acting.ts"
import * as Acts from "../../src/engine/admin/Acts.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Sqlite3 from "../../src/storage/sqlite/Sqlite.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

/** A database, and what makes the statements fail that begin with one of these words. */
interface Faulty<E> {
  readonly stores: Layer.Layer<Stores | SqlClient, E>
  readonly failAt: (...words: ReadonlyArray<string>) => void
  readonly failed: () => number
}

const postgres = Effect.gen(function* () {
  const database = yield* migratedDatabase
  const way = yield* Effect.acquireRelease(
    Effect.promise(() => BreakingPostgres.open(database)),
    ({ close }) => Effect.promise(close)
  )
  const stores = Postgres.layer({ url: Redacted.make(way.url) })
  return { stores, failAt: way.breakAt, failed: way.broken }
})

/** What the driver shares among its statements. */
const statements: Sqlite.Statement<Array<unknown>> = Object.getPrototypeOf(
  new Sqlite(":memory:").prepare("SELECT 1")
)

/** The driver fails as on a disk that has gone. */
const sqlite = Effect.acquireRelease(
  Effect.sync(() => {
    const { run } = statements
    let failing: ReadonlyArray<string> = []
    let failed = 0
    const spy = vi.spyOn(statements, "run").mockImplementation(function (
      this: typeof statements,
      ...parameters
    ) {
      if (!failing.some((word) => this.source.startsWith(word))) return run.apply(this, parameters)
      failed += 1
      throw new Sqlite.SqliteError("disk I/O error", "SQLITE_IOERR")
    })
    return {
      stores: Sqlite3.layer({ filename: ":memory:" }),
      failAt: (...words: ReadonlyArray<string>) => {
        failing = words
      },
      failed: () => failed,
      spy
    }
  }),
  ({ spy }) => Effect.sync(() => spy.mockRestore())
)

const asAna = Acting.as({ operator: "ana", address: "203.0.113.7", requestId: "request-1" })

const phone = "34600001234"

const template = {
  name: "later",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello." }]
}

type Writes = Readonly<Record<string, Effect.Effect<unknown, { readonly _tag: string }>>>

/** Every operation that writes; those of an operator by their names in the audit log. */
const writes = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { admin } = engine
  const { accountId, caller, templateId } = yield* prepare(engine, [phone])
  const sessionId = caller.session.id
  const { publicKey } = (yield* admin.keys.issue(sessionId, {})).key
  const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
  const send = (idempotencyKey: string) =>
    engine.send(caller, { idempotencyKey, request: { templateId, recipients } })
  const { jobId } = yield* send("first")
  const { endpoint } = yield* admin.webhooks.create(accountId, { url: "https://shop.example/hook" })
  const deliveryId = yield* admin.webhooks.test(endpoint.id)
  yield* admin.operators.create({ name: "ben", role: "admin" })
  const retry = yield* admin.retries.begin({ filter: { accountId }, selection: {} })
  const inbound = yield* InboundStore
  yield* inbound.receive({
    accountId,
    sessionId,
    now: Time.at(0),
    portfolio: "p",
    items: ["1", "2"].map((id) => ({
      id,
      identity: null,
      message: null,
      word: null,
      unattributed: null,
      perhapsRefusal: {
        id: `refusal-${id}`,
        accountId,
        sessionId,
        phone,
        userId: null,
        messageId: id,
        text: "can you stop the order",
        occurredAt: Time.at(0),
        reportedAt: null,
        recordedAt: Time.at(0)
      }
    }))
  })
  const card = { market: "34", prefixes: null, category: "utility", price: "0.01" } as const
  const requests: Writes = {
    send: send("second"),
    sendDirect: engine.sendDirect(caller, {
      idempotencyKey: "direct",
      request: { to: phone, message: "Hi" }
    }),
    pause: engine.pause(caller, jobId),
    cancel: engine.cancel(caller, jobId)
  }
  const acts: Writes = {
    "accounts.create": admin.accounts.create({ name: "Another", currency: "EUR" }),
    "accounts.change": admin.accounts.change(accountId, { name: "Changed" }),
    "sessions.create": admin.sessions.create(accountId, { name: "Second", provider: "sandbox" }),
    "sessions.change": admin.sessions.change(sessionId, { name: "Changed" }),
    "sessions.connect": admin.sessions.connect(sessionId),
    "sessions.disconnect": admin.sessions.disconnect(sessionId),
    "keys.issue": admin.keys.issue(sessionId, {}),
    "keys.rotate": admin.keys.rotate(publicKey, {}),
    "keys.revoke": admin.keys.revoke(publicKey),
    "keys.change": admin.keys.change(publicKey, { name: "Changed" }),
    "templates.importAll": admin.templates.importAll(sessionId, [template]),
    "templates.sync": admin.templates.sync(sessionId),
    "consents.record": admin.consents.record(accountId, [{ phone, source: "test" }]),
    "consents.recordRefusal": admin.consents.recordRefusal("refusal-1"),
    "consents.move": admin.consents.move(accountId, {
      from: phone,
      to: "34600000999",
      reason: "told"
    }),
    "consents.dismissRefusal": admin.consents.dismissRefusal("refusal-2"),
    "webhooks.create": admin.webhooks.create(accountId, { url: "https://shop.example/second" }),
    "webhooks.change": admin.webhooks.change(endpoint.id, { enabled: false }),
    "webhooks.remove": admin.webhooks.remove(endpoint.id),
    "webhooks.rotate": admin.webhooks.rotate(endpoint.id, {}),
    "webhooks.test": admin.webhooks.test(endpoint.id),
    "webhooks.replay": admin.webhooks.replay(deliveryId),
    "webhooks.replaySince": admin.webhooks.replaySince({
      id: endpoint.id,
      since: Time.at(0),
      which: "failed"
    }),
    "rateCards.add": admin.rateCards.add({ currency: "EUR", effectiveFrom: Time.at(0), prices: [card] }),
    "jobs.cancel": admin.jobs.cancel(jobId),
    "jobs.pause": admin.jobs.pause(jobId),
    "jobs.change": admin.jobs.change(jobId, { send_at: "1970-01-02T00:00:00Z" }),
    "jobs.resume": admin.jobs.resume(jobId),
    "jobs.retry": admin.jobs.retry(jobId),
    "retries.begin": admin.retries.begin({ filter: { accountId }, selection: {} }),
    "retries.cancel": admin.retries.cancel(retry.plan?.id ?? ""),
    "restore.decide": admin.restore.decide({ quarantine: true }),
    "secrets.reseal": admin.secrets.reseal,
    "storage.purge": admin.storage.purge(),
    "people.export": admin.people.export({ phone }),
    "people.erase": admin.people.erase({ phone: "34600009999", reason: "asked" }),
    "operators.create": admin.operators.create({ name: "cem", role: "read" }),
    "operators.rotate": admin.operators.rotate("ben", {}),
    "operators.revoke": admin.operators.revoke("ben")
  }
  return { requests, acts }
})

const engineOver = <E>(stores: Layer.Layer<Stores | SqlClient, E>) =>
  Engine.layer().pipe(
    Layer.provideMerge(stores),
    Layer.provide(RecordingTransport.layer),
    Layer.provide(Sender.layer({ ...Sandbox.make(), templates: () => Effect.succeed([]) })),
    Layer.provide(SecretBox.layerRandom),
    Layer.provide(AddressPolicy.layer([]))
  )

const over = <E, A, E1, E2>(
  database: Effect.Effect<Faulty<E>, E1, Scope.Scope>,
  test: (faulty: Faulty<E>) => Effect.Effect<A, E2, Engine.Engine | Stores | SqlClient>
) =>
  Effect.scoped(Effect.flatMap(database, (faulty) => Effect.provide(test(faulty), engineOver(faulty.stores))))

/** The words of a way to fail, and the failure of each write on it. */
const failures = <E>({ failAt, failed }: Faulty<E>, writes: Writes, ...words: ReadonlyArray<string>) =>
  Effect.forEach(Object.entries(writes), ([name, write]) =>
    Effect.gen(function* () {
      const before = failed()
      failAt(...words)
      const exit = yield* Effect.exit(write)
      failAt()
      const error = yield* Effect.flip(exit)
      return [name, error._tag, failed() > before] as const
    })
  )

const each = (writes: Writes) => Object.keys(writes).map((name) => [name, "StorageError", true])

describe.each([
  ["SQLite", sqlite],
  ["PostgreSQL", postgres]
] as const)("on %s", (_, database: Effect.Effect<Faulty<unknown>, never, Scope.Scope>) => {
  it.live.each([
    ["BEGIN", ["BEGIN"]],
    ["COMMIT", ["COMMIT"]],
    ["ROLLBACK, after a statement inside,", ["SAVEPOINT", "ROLLBACK"]]
  ] as const)("every act of an operator whose %s fails is a StorageError", ([, words]) =>
    over(database, (faulty) =>
      Effect.gen(function* () {
        const { acts } = yield* writes
        expect(yield* asAna(failures(faulty, acts, ...words))).toEqual(each(acts))
        yield* asAna(Effect.all(Object.values(acts).slice(0, 2)))
      })
    )
  )

  it.live.each(["BEGIN", "COMMIT"])("every request whose %s fails is a StorageError", (word) =>
    over(database, (faulty) =>
      Effect.gen(function* () {
        const { requests } = yield* writes
        expect(yield* failures(faulty, requests, word)).toEqual(each(requests))
        yield* Effect.all(Object.values(requests))
      })
    )
  )

  it.live.each(["BEGIN", "COMMIT", "ROLLBACK"])(
    "an embedder's transaction whose %s fails is a SqlError, and no defect",
    (word) =>
      over(database, ({ failAt }) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* sql`CREATE TABLE purchase (id TEXT PRIMARY KEY)`
          const purchase = sql`INSERT INTO purchase (id) VALUES ('order-1')`
          const body = word === "ROLLBACK" ? Effect.zipRight(purchase, Effect.fail("declined")) : purchase
          failAt(word)
          expect(yield* Effect.flip(sql.withTransaction(body))).toBeInstanceOf(SqlError)
          failAt()
          expect(yield* sql`SELECT id FROM purchase`).toEqual([])
          yield* sql.withTransaction(purchase)
          expect(yield* sql`SELECT id FROM purchase`).toEqual([{ id: "order-1" }])
        })
      )
  )

  it.live("every act that is recorded is among these", () =>
    over(database, () =>
      Effect.gen(function* () {
        const { acts } = yield* writes
        const recorded = Object.entries(yield* Acts.make).flatMap(([group, operations]) =>
          Object.keys(operations).map((name) => `${group}.${name}`)
        )
        // It adds a card as `add` does.
        const missing = recorded.filter((name) => !(name in acts) && name !== "rateCards.importList")
        expect(missing).toEqual([])
      })
    )
  )
})

it.live("a COMMIT of PostgreSQL that rolled back is a SqlError, and not taken for a commit", () =>
  over(postgres, () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const broken = Effect.ignore(sql`SELECT * FROM nothing`)
      expect(yield* Effect.flip(sql.withTransaction(broken))).toBeInstanceOf(SqlError)
    })
  )
)
