/** contract.md §10, "Keys and secrets": a store remembers its master keys, and everything can move to another one. */
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { emptyDatabase } from "../../../../test/support/Postgres.ts"
import { place } from "../../src/domain/webhook/Webhook.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { WrongMasterKey } from "../../src/secret/MasterKeys.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as SessionSender from "../../src/sender/SessionSender.ts"
import { KeyringStore } from "../../src/storage/KeyringStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import { Worker } from "../../src/worker/Worker.ts"

const keyOf = (byte: number) => Redacted.make(new Uint8Array(32).fill(byte))

const boxOf = (first: number, ...others: ReadonlyArray<number>) =>
  SecretBox.layer(keyOf(first), ...others.map(keyOf))

const idOf = (byte: number) =>
  Effect.scoped(
    Effect.map(Layer.build(boxOf(byte)), (context) => Context.get(context, SecretBox.SecretBox).inUse())
  )

/** A process with these master keys on the stores that are provided. */
const process = (first: number, ...others: ReadonlyArray<number>) =>
  Effect.map(
    Layer.build(
      Engine.layer().pipe(
        Layer.provide(Sender.layer(Sandbox.make())),
        Layer.provide(RecordingTransport.layer),
        Layer.provideMerge(boxOf(first, ...others)),
        Layer.provide(AddressPolicy.layer([]))
      )
    ),
    (context) => ({
      engine: Context.get(context, Engine.Engine),
      box: Context.get(context, SecretBox.SecretBox),
      worker: Context.get(context, Worker)
    })
  )

/** A session, a webhook with an old secret beside its current one, and an API key. */
const begin = Effect.fnUntraced(function* ({
  engine: { admin }
}: Effect.Effect.Success<ReturnType<typeof process>>) {
  const account = yield* admin.accounts.create({ name: "Shop", currency: "EUR" })
  const session = yield* admin.sessions.create(account.id, { name: "Shop", provider: "sandbox" })
  const { endpoint } = yield* admin.webhooks.create(account.id, { url: "https://shop.example/hook" })
  yield* admin.webhooks.rotate(endpoint.id, {})
  const { key, secretKey } = yield* admin.keys.issue(session.id, { name: "till" })
  return { sessionId: session.id, endpointId: endpoint.id, publicKey: key.publicKey, secretKey }
})

/** True for each sealed text that a box reads, in the order of its place. */
const readable = (box: Context.Tag.Service<SecretBox.SecretBox>) =>
  Effect.gen(function* () {
    const store = yield* KeyringStore
    const page = { limit: 100, after: null }
    const sessions = yield* store.sealed("session", page)
    const webhooks = yield* store.sealed("webhook", page)
    return [...sessions.items, ...webhooks.items].flatMap(({ id, kind, sealed }) =>
      sealed.map((text) =>
        Either.isRight(box.open(kind === "session" ? SessionSender.place(id) : place(id), text))
      )
    )
  })

const quiet = Logger.withMinimumLogLevel(LogLevel.None)

const suite = (name: string, stores: Layer.Layer<Stores | SqlClient, unknown>) =>
  describe(`master keys on ${name}`, () => {
    it.scoped("refuse a process that was not given the one that the store was begun with", () =>
      Effect.gen(function* () {
        yield* process(1)
        const error = yield* Effect.flip(process(2))
        expect(error).toBeInstanceOf(WrongMasterKey)
        expect(error.message).toContain(yield* idOf(1))
        expect(error.message).toMatch(/begun with another master key.*new one first/)
        yield* process(1)
        yield* process(1, 2)
        expect(yield* Effect.flip(process(2))).toBeInstanceOf(WrongMasterKey)
      }).pipe(Effect.provide(stores))
    )

    it.scoped(
      "are added by the first process that begins with a new one, and then all have to be given",
      () =>
        Effect.gen(function* () {
          const [one, two] = [yield* idOf(1), yield* idOf(2)]
          const old = yield* process(1, 2)
          expect(old.box.inUse()).toBe(one)
          expect((yield* process(2, 1)).box.inUse()).toBe(two)
          expect(yield* Effect.flip(process(1))).toMatchObject({ reason: "missing", keys: [two] })
          expect(yield* Effect.flip(process(2))).toMatchObject({ reason: "missing", keys: [one] })
          // Whoever begins now seals with the new one, however it was given them.
          expect((yield* process(1, 2)).box.inUse()).toBe(two)
        }).pipe(Effect.provide(stores))
    )

    it.scoped(
      "must be equal for processes that begin a store together: one of two different ones is refused",
      () =>
        Effect.gen(function* () {
          const exits = yield* Effect.all([Effect.exit(process(1)), Effect.exit(process(2))], {
            concurrency: "unbounded"
          })
          expect(exits.filter(Exit.isSuccess)).toHaveLength(1)
        }).pipe(Effect.provide(stores))
    )

    it.scoped("of a store that was written before it remembered any are those that sealed what it has", () =>
      Effect.gen(function* () {
        const store = yield* KeyringStore
        const sql = yield* SqlClient
        const [one, two] = [yield* idOf(1), yield* idOf(2)]
        yield* begin(yield* process(1))
        yield* sql`DELETE FROM sendwright_master_key`
        expect(yield* Effect.flip(process(2))).toMatchObject({ reason: "missing", keys: [one] })
        yield* process(2, 1)
        expect((yield* store.remembered).map(({ id }) => id)).toEqual([one, two])
      }).pipe(Effect.provide(stores))
    )

    it.scoped(
      "are changed: everything sealed moves at once, an API key with its next use, and the old one ends",
      () =>
        Effect.gen(function* () {
          const [one, two] = [yield* idOf(1), yield* idOf(2)]
          const before = yield* process(1)
          const { publicKey, secretKey } = yield* begin(before)
          const idle = yield* begin(before)
          const during = yield* process(2, 1)
          const after = Context.get(yield* Layer.build(boxOf(2)), SecretBox.SecretBox)
          expect(yield* readable(after)).toEqual([false, false, false, false, false, false])

          yield* TestClock.adjust("1 minute")
          const first = yield* during.engine.admin.secrets.reseal
          expect(first).toMatchObject({
            key: two,
            resealed: { session: 2, webhook: 4 },
            unreadable: { session: 0, webhook: 0 },
            apiKeys: 2,
            olderKeys: [one],
            retired: []
          })
          expect(first.dependents.map(({ apiKey, keys }) => [apiKey.publicKey, apiKey.name, keys])).toEqual([
            [publicKey, "till", [one]],
            [idle.publicKey, "till", [one]]
          ])
          expect(yield* readable(after)).toEqual([true, true, true, true, true, true])

          yield* during.engine.identify({ publicKey, secretKey })
          const second = yield* during.engine.admin.secrets.reseal
          expect(second).toMatchObject({ resealed: { session: 0, webhook: 0 }, apiKeys: 1, olderKeys: [one] })
          expect(yield* Effect.flip(process(2))).toMatchObject({ reason: "missing", keys: [one] })

          yield* during.engine.admin.keys.revoke(idle.publicKey)
          const third = yield* during.engine.admin.secrets.reseal
          expect(third).toMatchObject({ apiKeys: 0, olderKeys: [], retired: [one] })
          const alone = yield* process(2)
          expect((yield* alone.engine.identify({ publicKey, secretKey })).key.publicKey).toBe(publicKey)
          expect(yield* Effect.flip(process(1, 2))).toMatchObject({ reason: "retired", keys: [one] })
        }).pipe(Effect.provide(stores))
    )

    it.scoped("are needed by operators until each used its token once more", () =>
      Effect.gen(function* () {
        const one = yield* idOf(1)
        const { operators } = (yield* process(1)).engine.admin
        const used = yield* operators.create({ name: "used", role: "admin" })
        const idle = yield* operators.create({ name: "idle", role: "read" })
        const { admin } = (yield* process(2, 1)).engine
        yield* TestClock.adjust("1 minute")
        expect(yield* admin.secrets.reseal).toMatchObject({ operators: 2, olderKeys: [one], retired: [] })
        expect(yield* admin.operators.identify(used.token)).toMatchObject({ name: "used", role: "admin" })
        expect(yield* admin.secrets.reseal).toMatchObject({ operators: 1, olderKeys: [one], retired: [] })
        yield* admin.operators.revoke("idle")
        expect(yield* admin.secrets.reseal).toMatchObject({ operators: 0, olderKeys: [], retired: [one] })
        const alone = (yield* process(2)).engine.admin.operators
        expect(yield* alone.identify(used.token)).toMatchObject({ name: "used" })
        for (const token of [
          idle.token,
          `${used.token}x`,
          used.token.replace("used", "idle"),
          "",
          "op_used_"
        ]) {
          expect(yield* Effect.flip(alone.identify(token))).toMatchObject({ _tag: "InvalidCredentials" })
        }
      }).pipe(Effect.provide(stores))
    )

    it.scoped("leave a secret that none of them opens unchanged, and report it", () =>
      Effect.gen(function* () {
        const store = yield* KeyringStore
        const before = yield* process(1)
        const { sessionId } = yield* begin(before)
        const [sealed = ""] =
          (yield* store.sealed("session", { limit: 1, after: null })).items[0]?.sealed ?? []
        const broken = sealed.replace(/.{4}$/, "AAAA")
        yield* store.reseal([{ kind: "session", id: sessionId, from: sealed, to: broken }])
        const during = yield* process(2, 1)
        const told = { resealed: { session: 0, webhook: 2 }, unreadable: { session: 1, webhook: 0 } }
        expect(yield* during.engine.admin.secrets.reseal).toMatchObject(told)
        expect((yield* store.sealed("session", { limit: 1, after: null })).items[0]?.sealed).toEqual([broken])
      }).pipe(Effect.provide(stores))
    )

    it.scoped("do not undo what changed while it was sealed anew", () =>
      Effect.gen(function* () {
        const store = yield* KeyringStore
        const { endpointId, sessionId } = yield* begin(yield* process(1))
        const stale = [
          { kind: "session" as const, id: sessionId, from: "v1.gone.text", to: "v1.late.text" },
          { kind: "webhook" as const, id: endpointId, from: "v1.gone.text", to: "v1.late.text" }
        ]
        expect(yield* store.reseal(stale)).toBe(0)
        expect(yield* readable((yield* process(1)).box)).toEqual([true, true, true])
      }).pipe(Effect.provide(stores))
    )
  })

suite("SQLite", Sqlite.layer({ filename: ":memory:" }))
const postgres = Layer.unwrapScoped(
  Effect.map(emptyDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))
)
suite("PostgreSQL", postgres)

describe("a process on PostgreSQL that runs while another adds a master key", () => {
  it.scoped("seals with the new one soon, when it has it", () =>
    Effect.gen(function* () {
      const old = yield* process(1, 2)
      yield* process(2, 1)
      expect(old.box.inUse()).toBe(yield* idOf(1))
      yield* TestClock.adjust("5 seconds")
      yield* Effect.repeat(Effect.yieldNow(), { until: () => old.box.inUse() !== old.box.keys[0] })
      expect(old.box.inUse()).toBe(yield* idOf(2))
    }).pipe(Effect.provide(postgres))
  )

  it.scoped("is not ready without it, and says which it is", () =>
    Effect.gen(function* () {
      const old = yield* process(1)
      expect(yield* old.engine.readiness).toContainEqual({ name: "keys", fault: null })
      yield* process(2, 1)
      const found = yield* Effect.repeat(
        Effect.zipRight(TestClock.adjust("5 seconds"), old.engine.readiness),
        // Another check may fail before it: these hours pass while the server answers.
        {
          until: (checks) => checks.some(({ fault, name }) => name === "keys" && fault !== null),
          times: 1000
        }
      )
      const fault = `The database asks for a master key that was not given: id ${yield* idOf(2)}.`
      expect(found).toContainEqual({ name: "keys", fault })
    }).pipe(Effect.provide(postgres), quiet)
  )
})
