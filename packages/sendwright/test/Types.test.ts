/** The package's types are core's, in other names: what core adds has to be added here. */
import type { EventData as Core } from "@sendwright/core"
import type { Database } from "better-sqlite3"
import type { Kysely, Transaction as Trx } from "kysely"
import type { Pool, PoolClient } from "pg"
import {
  createSendwright,
  type EventData,
  type Handler,
  type Logger,
  memory,
  type Options,
  type Sender,
  type Sendwright,
  type SendwrightError,
  type Session,
  type Store,
  sandbox,
  type Transaction
} from "sendwright"
import {
  type fromKysely,
  type fromPg,
  type PgPool,
  type PrismaTransaction,
  postgres
} from "sendwright/postgres"
import { type fromBetterSqlite3, sqlite } from "sendwright/sqlite"
import { createTestSendwright, type TestSendwright } from "sendwright/testing"
import { expectTypeOf, it } from "vitest"

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

type Dated<Value> = Value extends string ? Date : Value extends object ? Shown<Value> : Value

type Shown<Value> =
  Value extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Shown<Item>>
    : Value extends object
      ? {
          readonly [Name in keyof Value as Name extends string ? Camel<Name> : never]: Name extends
            | `${string}_at`
            | `${string}_since`
            | `${string}_until`
            ? Dated<Value[Name]>
            : Shown<Value[Name]>
        }
      : Value

type CoreData = { readonly [Type in keyof EventData]: Shown<(typeof Core.byType)[Type]["Type"]> }
type Flat<Value> = Value extends Date
  ? Value
  : Value extends object
    ? { [Name in keyof Value]: Flat<Value[Name]> }
    : Value

it("of events", () => {
  expectTypeOf<Exclude<keyof typeof Core.byType, keyof EventData>>().toEqualTypeOf<"recipient.batch">()
  expectTypeOf<Flat<EventData>>().toExtend<Flat<CoreData>>()
  expectTypeOf<Flat<CoreData>>().toExtend<Flat<EventData>>()
})

it("of what an app calls", () => {
  expectTypeOf(createSendwright).toEqualTypeOf<(options: Options) => Promise<Sendwright>>()
  expectTypeOf(memory()).toEqualTypeOf<Store>()
  expectTypeOf(sqlite({ file: "app.db" })).toEqualTypeOf<Store>()
  expectTypeOf(postgres({ url: "postgres://" })).toEqualTypeOf<Store>()
  expectTypeOf(sandbox()).toExtend<Sender>()
  expectTypeOf<Awaited<ReturnType<Session["send"]>>["jobId"]>().toEqualTypeOf<string>()
  expectTypeOf<ReturnType<Session["sendSync"]>>().toEqualTypeOf<Awaited<ReturnType<Session["send"]>>>()
  expectTypeOf<Parameters<Handler<"message.received">>[0]["data"]["from"]>().toEqualTypeOf<string | null>()
  expectTypeOf(createTestSendwright).returns.resolves.toEqualTypeOf<TestSendwright>()
  expectTypeOf<Parameters<Handler<"error">>[0]>().toEqualTypeOf<SendwrightError>()
  expectTypeOf<{ store: Store; senders: [Sender]; secretKeys: [string, string] }>().toExtend<Options>()
  expectTypeOf<{ store: Store; senders: [Sender] }>().not.toExtend<Options>()
  expectTypeOf<Console>().toExtend<Logger>()
  // A promise that nobody awaits is no send in a synchronous transaction.
  expectTypeOf<Parameters<Session["sendSync"]>[1]>().toEqualTypeOf<{ readonly tx: Transaction }>()
})

it("of transactions, which are not taken for one another", () => {
  expectTypeOf<Pool>().toExtend<PgPool>()
  expectTypeOf<PoolClient>().toExtend<Parameters<typeof fromPg>[0]>()
  expectTypeOf<Pool>().not.toExtend<Parameters<typeof fromPg>[0]>()
  expectTypeOf<Pool>().not.toExtend<Parameters<typeof fromKysely>[0]>()
  expectTypeOf<Trx<unknown>>().toExtend<Parameters<typeof fromKysely>[0]>()
  expectTypeOf<Kysely<unknown>>().not.toExtend<Parameters<typeof fromKysely>[0]>()
  expectTypeOf<PrismaTransaction & { $connect(): void }>().not.toExtend<PrismaTransaction>()
  expectTypeOf<Database>().toExtend<Parameters<typeof fromBetterSqlite3>[0]>()
  expectTypeOf<PoolClient>().not.toExtend<Parameters<typeof fromBetterSqlite3>[0]>()
  expectTypeOf<PoolClient>().not.toExtend<Transaction>()
})
