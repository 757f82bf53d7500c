/** No opt-out is ever lost (contract.md §10 "Consent"), whatever befalls the hook that brings it. */
import { describe, expect, it } from "@effect/vitest"
import { Memory } from "@sendwright/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ConsentStore } from "../../packages/core/src/storage/ConsentStore.ts"
import { HealthStore } from "../../packages/core/src/storage/HealthStore.ts"
import { InboundStore } from "../../packages/core/src/storage/InboundStore.ts"
import { JobStore } from "../../packages/core/src/storage/JobStore.ts"
import * as PostgresDatabase from "../../packages/core/src/storage/postgres/Database.ts"
import { migrations as postgresMigrations } from "../../packages/core/src/storage/postgres/Schema.ts"
import { SessionStore } from "../../packages/core/src/storage/SessionStore.ts"
import type { StorageError } from "../../packages/core/src/storage/StorageError.ts"
import type { Stores } from "../../packages/core/src/storage/Stores.ts"
import * as Accounts from "../../packages/core/src/storage/sql/AccountStore.ts"
import * as ApiKeys from "../../packages/core/src/storage/sql/ApiKeyStore.ts"
import * as Audit from "../../packages/core/src/storage/sql/AuditStore.ts"
import * as Consents from "../../packages/core/src/storage/sql/ConsentStore.ts"
import { Database } from "../../packages/core/src/storage/sql/Database.ts"
import * as Erasures from "../../packages/core/src/storage/sql/ErasureStore.ts"
import * as Happenings from "../../packages/core/src/storage/sql/Happenings.ts"
import * as Inbound from "../../packages/core/src/storage/sql/InboundStore.ts"
import * as Jobs from "../../packages/core/src/storage/sql/JobStore.ts"
import * as Keyring from "../../packages/core/src/storage/sql/KeyringStore.ts"
import * as Operators from "../../packages/core/src/storage/sql/OperatorStore.ts"
import * as RateCards from "../../packages/core/src/storage/sql/RateCardStore.ts"
import * as Restores from "../../packages/core/src/storage/sql/RestoreStore.ts"
import * as Retentions from "../../packages/core/src/storage/sql/RetentionStore.ts"
import * as RetryPlans from "../../packages/core/src/storage/sql/RetryPlanStore.ts"
import * as Sessions from "../../packages/core/src/storage/sql/SessionStore.ts"
import * as Sizes from "../../packages/core/src/storage/sql/SizeStore.ts"
import { transactions } from "../../packages/core/src/storage/sql/Stores.ts"
import * as Templates from "../../packages/core/src/storage/sql/TemplateStore.ts"
import * as Webhooks from "../../packages/core/src/storage/sql/WebhookStore.ts"
import * as SqliteDatabase from "../../packages/core/src/storage/sqlite/Database.ts"
import { migrations as sqliteMigrations } from "../../packages/core/src/storage/sqlite/Schema.ts"
import { rateLimits } from "../../packages/core/src/storage/sqlite/Stores.ts"
import { emptyDatabase } from "../support/Postgres.ts"
import * as Seeds from "../support/Seeds.ts"
import * as Faults from "./Faults.ts"
import * as Matrix from "./Matrix.ts"
import * as Shapes from "./Shapes.ts"

/** The SQL stores over a database whose every step may have a fault. */
const over = <E>(database: Layer.Layer<Database, E>): Layer.Layer<Stores, E | StorageError> =>
  Layer.mergeAll(
    Accounts.layer,
    ApiKeys.layer,
    Audit.layer,
    Consents.layer,
    Erasures.layer,
    Happenings.layer,
    Layer.succeed(HealthStore, { probe: Effect.void }),
    Inbound.layer,
    Jobs.layer,
    Keyring.layer(false),
    Operators.layer,
    RateCards.layer,
    rateLimits,
    Restores.layer,
    Retentions.layer,
    RetryPlans.layer,
    Sessions.layer,
    Sizes.layer,
    Templates.layer,
    transactions,
    Webhooks.layer
  ).pipe(
    Layer.provide(
      Layer.effect(
        Database,
        Effect.map(Database, (db) => ({
          ...db,
          write: (operation, verb, serialized) =>
            Faults.step(operation, (plan) => db.write(operation, Faults.broken(plan, verb), serialized)),
          work: (operation, verb) =>
            Faults.step(operation, (plan) => db.work(operation, Faults.broken(plan, verb))),
          read: (operation, verb) => Faults.step(operation, () => db.read(operation, verb))
        }))
      ).pipe(Layer.provide(database))
    )
  )

/** The same of a store in memory: each of its verbs is a step. */
const guarded = <S extends object>(service: S): S =>
  new Proxy(service, {
    get: (target, name) => {
      const verb: unknown = Reflect.get(target, name)
      if (typeof verb !== "function") return verb
      return (...parameters: ReadonlyArray<unknown>): unknown => {
        const effect: unknown = Reflect.apply(verb, target, parameters)
        return Effect.isEffect(effect)
          ? Faults.step(String(name), () => effect as Effect.Effect<unknown, StorageError>)
          : effect
      }
    }
  })

const memory = Layer.map(Memory.layer, (context) =>
  context.pipe(
    Context.add(ConsentStore, guarded(Context.get(context, ConsentStore))),
    Context.add(InboundStore, guarded(Context.get(context, InboundStore))),
    Context.add(JobStore, guarded(Context.get(context, JobStore))),
    Context.add(SessionStore, guarded(Context.get(context, SessionStore)))
  )
)

const sqlite = over(SqliteDatabase.layer({ filename: ":memory:", migrations: sqliteMigrations }))

const postgres = Layer.unwrapScoped(
  Effect.map(emptyDatabase, (url) =>
    over(PostgresDatabase.layer({ url: Redacted.make(url), migrations: postgresMigrations }))
  )
)

/**
 * Every case with `npm run histories`. Faults that were planted in the hook, in consent at the dispatch and in who is one
 * person showed in memory in each part that was tried.
 */
const isWhole = process.env["CASES"] === "all"
const every = 19
const daily = 1 + (Seeds.day % (every - 1))
const partOf = (...from: ReadonlyArray<number>): Matrix.Part => (isWhole ? Matrix.whole : { every, from })

describe("an opt-out", () => {
  for (const [name, stores, breaks, part, kinds] of [
    ["memory", memory, "each", partOf(0, daily), Faults.kinds.length - 1],
    ["SQLite", sqlite, "each", partOf(0, daily), Faults.kinds.length],
    ["PostgreSQL", postgres, "last", partOf(daily), Faults.kinds.length]
  ] as const) {
    it.live(
      `in every shape, with a fault at ${isWhole ? "every step" : `steps of the day ${Seeds.day}`} of its hook, is followed by no message on ${name}`,
      () =>
        Effect.gen(function* () {
          const told = yield* Matrix.run(stores, { breaks, part })
          expect(told.refused).toEqual([])
          expect(told.sent).toEqual([])
          expect(told.kinds.size).toBe(kinds)
          expect(Shapes.all.length).toBeGreaterThanOrEqual(60)
          expect(told.cases).toBeGreaterThan((isWhole ? 10 : 2) * Shapes.all.length)
        }),
      300_000
    )
  }
})
