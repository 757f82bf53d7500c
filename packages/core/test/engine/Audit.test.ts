/** An act of an operator and its entry in the audit log are one commit, on every store that has commits. */
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { emptyDatabase } from "../../../../test/support/Postgres.ts"
import * as Audit from "../../src/domain/Audit.ts"
import type * as Errors from "../../src/domain/Errors.ts"
import * as Acting from "../../src/engine/Acting.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { AuditStore } from "../../src/storage/AuditStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

const asAna = Acting.as({ operator: "ana", address: "203.0.113.7", requestId: "request-1" })
const page = { limit: 100, after: null }

type Act = Effect.Effect<
  unknown,
  | Errors.ForeignTransaction
  | Errors.InsideTransaction
  | Errors.InvalidRequest
  | Errors.NotFound
  | StorageError
>

/** What becomes of an entry just before it is appended. */
const fault: { meet: Effect.Effect<void, StorageError> } = { meet: Effect.void }

/** The stores, whose audit log meets the fault. */
const faulty = <E>(stores: Layer.Layer<Stores | SqlClient, E>) =>
  Layer.effect(
    AuditStore,
    Effect.map(AuditStore, (audit) => ({
      ...audit,
      append: (command) =>
        Effect.zipRight(
          Effect.suspend(() => fault.meet),
          audit.append(command)
        )
    }))
  ).pipe(Layer.provideMerge(stores))

const engineOver = <E>(stores: Layer.Layer<Stores | SqlClient, E>, auditRetentionMs?: number) =>
  Engine.layer(auditRetentionMs === undefined ? {} : { auditRetentionMs }).pipe(
    Layer.provideMerge(faulty(stores)),
    Layer.provide(RecordingTransport.layer),
    Layer.provide(Sender.layer(Sandbox.make())),
    Layer.provide(SecretBox.layerRandom),
    Layer.provide(AddressPolicy.layer([]))
  )

const suite = (name: string, stores: Layer.Layer<Stores | SqlClient, unknown>) =>
  describe(`an act on ${name}`, () => {
    const layer = engineOver(stores)
    const begun = Effect.gen(function* () {
      const { admin } = yield* Engine.Engine
      fault.meet = Effect.void
      const account = yield* admin.accounts.create({ name: "Shop" })
      const session = yield* admin.sessions.create(account.id, { name: "S", provider: "sandbox" })
      const { key } = yield* admin.keys.issue(session.id, {})
      const log = Effect.map(admin.audit.list({ page }), ({ items }) => items)
      const state = Effect.gen(function* () {
        const found = yield* admin.sessions.find(session.id)
        const keys = yield* admin.keys.list(session.id, page)
        const { name } = yield* admin.accounts.find(account.id)
        return [name, found.state, keys.items.map(({ secrets, status }) => [status, secrets.length])]
      })
      /** One of each kind: recorded by the table, recorded by itself, and with an answer that was shown. */
      const acts: ReadonlyArray<Act> = [
        admin.accounts.change(account.id, { name: "Another" }),
        Effect.zipRight(admin.sessions.disconnect(session.id), admin.sessions.connect(session.id)),
        admin.keys.rotate(key.publicKey, {}),
        admin.keys.revoke(key.publicKey),
        admin.consents.record(account.id, [{ phone: "34600001234", source: "form" }])
      ]
      return { admin, account, acts, log, state }
    })

    it.effect("is not recorded where an embedder names nobody, and is where it does", () =>
      Effect.gen(function* () {
        const { acts, log } = yield* begun
        for (const act of acts.slice(0, 3)) yield* act
        expect(yield* log).toEqual([])
        for (const act of acts) yield* asAna(act)
        const entries = yield* log
        expect(entries).toHaveLength(acts.length + 1)
        expect(entries[0]).toMatchObject({ operator: "ana", address: "203.0.113.7", requestId: "request-1" })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is undone when its entry cannot be written", () =>
      Effect.gen(function* () {
        const { acts, log, state } = yield* begun
        const before = yield* state
        fault.meet = new StorageError({ operation: "disk full", cause: "disk full" })
        for (const act of acts)
          expect(yield* Effect.flip(asAna(act))).toMatchObject({ operation: "disk full" })
        fault.meet = Effect.void
        expect(yield* state).toEqual(before)
        expect(yield* log).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that is interrupted before its commit leaves neither itself nor its entry", () =>
      Effect.gen(function* () {
        const { acts, log, state } = yield* begun
        const before = yield* state
        for (const act of acts) {
          const reached = yield* Deferred.make<void>()
          fault.meet = Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
          const fiber = yield* Effect.fork(asAna(act))
          yield* Deferred.await(reached)
          yield* Fiber.interrupt(fiber)
          fault.meet = Effect.void
        }
        expect(yield* state).toEqual(before)
        expect(yield* log).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that is refused leaves no entry", () =>
      Effect.gen(function* () {
        const { account, admin, log } = yield* begun
        yield* Effect.flip(asAna(admin.accounts.change(account.id, { name: "" })))
        yield* Effect.flip(asAna(admin.accounts.change("nobody", { name: "Shop" })))
        yield* Effect.flip(asAna(admin.jobs.cancel("nobody")))
        expect(yield* log).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("belongs to the embedder's own transaction, and goes with its rollback", () =>
      Effect.gen(function* () {
        const { account, admin, log, state } = yield* begun
        const before = yield* state
        const sql = yield* SqlClient
        const act = asAna(admin.accounts.change(account.id, { name: "Another" }))
        yield* Effect.flip(sql.withTransaction(Effect.zipRight(act, Effect.fail("rolled back"))))
        expect([yield* state, yield* log]).toEqual([before, []])
        yield* sql.withTransaction(act)
        expect(yield* log).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("records the state that the act before it left, even when ten acts run concurrently", () =>
      Effect.gen(function* () {
        const { account, admin, log } = yield* begun
        const change = (n: number) => asAna(admin.accounts.change(account.id, { name: `Shop ${n}` }))
        yield* Effect.all(
          Array.from({ length: 10 }, (_, n) => change(n)),
          { concurrency: "unbounded" }
        )
        const names = (yield* log).map(({ after, before }) => [before?.["name"], after?.["name"]]).reverse()
        expect(names.map(([before]) => before)).toEqual([
          "Shop",
          ...names.slice(0, -1).map(([, after]) => after)
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that queues a delivery has it delivered after its commit", () =>
      Effect.gen(function* () {
        const engine = yield* Engine.Engine
        const { admin, log } = yield* begun
        const account = yield* asAna(admin.accounts.create({ name: "Shop", plan: { minimumWaitMs: 0 } }))
        const { endpoint } = yield* asAna(
          admin.webhooks.create(account.id, { url: "https://shop.example/hook" })
        )
        yield* asAna(admin.webhooks.test(endpoint.id))
        yield* engine.drain
        const { items } = yield* admin.webhooks.deliveries(endpoint.id, page)
        expect(items.map(({ status }) => status)).toEqual(["delivered"])
        expect((yield* log).map(({ operation }) => operation)).toEqual([
          "webhooks.test",
          "webhooks.create",
          "accounts.create"
        ])
      }).pipe(Effect.provide(layer))
    )
  })

describe("the audit log", () => {
  it.effect("shows things by the names that the HTTP API has for them", () =>
    Effect.gen(function* () {
      const { admin } = yield* Engine.Engine
      const { id } = yield* asAna(admin.accounts.create({ name: "Shop", plan: { minimumWaitMs: 5 } }))
      const pacing = { messagesPerSecond: 10, pairIntervalMs: null }
      const keywords = { optOut: ["adiós"] }
      yield* asAna(
        admin.sessions.create(id, { name: "Main", provider: "sandbox", pacing, keywords, retryFor: 60 })
      )
      const { items } = yield* admin.audit.list({ page })
      expect(items.map(({ after }) => after)).toMatchObject([
        {
          pacing: { messages_per_second: 10, pair_interval_ms: null },
          keywords: { opt_out: ["adiós"], opt_in: null },
          retry_for: 60
        },
        { plan: { minimum_wait_ms: 5, requests_per_minute: 600 } }
      ])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("keeps its entries for as long as the engine is told", () =>
    Effect.gen(function* () {
      const { admin } = yield* Engine.Engine
      yield* asAna(admin.accounts.create({ name: "One" }))
      yield* TestClock.adjust("1 hour")
      yield* asAna(admin.accounts.create({ name: "Two" }))
      yield* TestClock.adjust("1 second")
      yield* asAna(admin.accounts.create({ name: "Three" }))
      const { items } = yield* admin.audit.list({ page })
      expect(items.map(({ after }) => after?.["name"])).toEqual(["Three", "Two"])
    }).pipe(Effect.provide(engineOver(Sqlite.layer({ filename: ":memory:" }), 3_600_000)))
  )

  it.effect("shows no secret of a receiver's URL, and only the last four digits of a number in a text", () =>
    Effect.gen(function* () {
      const { admin } = yield* Engine.Engine
      const act = Effect.gen(function* () {
        const account = yield* admin.accounts.create({ name: "Shop of +34 600 001 234" })
        const session = yield* admin.sessions.create(account.id, { name: "34600001234", provider: "sandbox" })
        yield* admin.keys.issue(session.id, { name: "for 34600001234" })
        yield* admin.consents.record(account.id, [{ phone: "34600005678", source: "by 34600001234" }])
        const url = "https://shop.example/hook?token=canary-query"
        const { endpoint } = yield* admin.webhooks.create(account.id, { url })
        yield* admin.webhooks.change(endpoint.id, { description: "calls 34600001234" })
      })
      yield* asAna(act)
      const { items } = yield* admin.audit.list({ page })
      const told = JSON.stringify(items)
      expect(told).not.toMatch(/canary|34600001234|34 600/)
      expect(told).toContain("https://shop.example/hook?…")
      expect(told.match(/…1234/g)?.length).toBeGreaterThanOrEqual(5)
    }).pipe(Effect.provide(engineOver(Sqlite.layer({ filename: ":memory:" }))))
  )
})

describe("a receiver's URL in the audit log", () => {
  it.each([
    ["https://shop.example/hook", "https://shop.example/hook"],
    ["https://shop.example:8443/hook?token=a", "https://shop.example:8443/hook?…"],
    ["https://ana:secret@shop.example/hook#part", "https://shop.example/hook"]
  ])("%s is %s", (url, shown) => {
    expect(Audit.webhook(Fixtures.endpoint("a", { url }))["url"]).toBe(shown)
  })
})

suite("SQLite", Sqlite.layer({ filename: ":memory:" }))
suite(
  "PostgreSQL",
  Layer.unwrapScoped(Effect.map(emptyDatabase, (url) => Postgres.layer({ url: Redacted.make(url) })))
)
