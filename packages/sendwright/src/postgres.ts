/** Sendwright in PostgreSQL, and in the transactions of the app. Needs `pg` and its Effect drivers beside it. */

import type { Transaction } from "./api/Messages.ts"
import type * as Api from "./api/Postgres.ts"
import type { Store } from "./api/Sendwright.ts"
import * as Migrating from "./inside/Migrating.ts"
import * as PostgresStore from "./inside/PostgresStore.ts"
import * as Transactions from "./inside/PostgresTransactions.ts"

export type * from "./api/Postgres.ts"

/**
 * Everything in a PostgreSQL database.
 *
 * @example
 * ```ts
 * import { Pool } from "pg"
 * import { postgres } from "sendwright/postgres"
 *
 * const url = process.env["DATABASE_URL"] ?? ""
 * const ours = postgres({ url }) // connections of our own; the tables are brought up to date
 * const yours = postgres({ pool: new Pool({ connectionString: url }) }) // never closed, migrated only when told
 * ```
 */
export const postgres: (options: Api.PostgresOptions) => Store = PostgresStore.postgres

/**
 * Brings the tables of a database up to date, on a connection of its own.
 *
 * @example
 * ```ts
 * import { Pool } from "pg"
 * import { migrate } from "sendwright/postgres"
 *
 * await migrate({ pool: new Pool({ connectionString: process.env["DATABASE_URL"] }) })
 * ```
 */
export const migrate: (options: Api.PostgresOptions) => Promise<void> = (options) =>
  Migrating.migrate(PostgresStore.postgres(options))

/**
 * The SQL of {@link migrate}, for who may create tables.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs"
 * import { migrationSql } from "sendwright/postgres"
 *
 * writeFileSync("migrations/sendwright.sql", migrationSql())
 * ```
 */
export const migrationSql: (after?: number) => string = PostgresStore.migrationSql

/**
 * A client of `pg`, after its BEGIN.
 *
 * @example
 * ```ts
 * import type { Pool } from "pg"
 * import type { Send, Session } from "sendwright"
 * import { fromPg } from "sendwright/postgres"
 *
 * export const confirm = async (pool: Pool, session: Session, message: Send) => {
 *   const client = await pool.connect()
 *   try {
 *     await client.query("BEGIN")
 *     await client.query("UPDATE orders SET confirmed = true WHERE id = $1", [message.idempotencyKey])
 *     await session.send(message, { tx: fromPg(client) })
 *     await client.query("COMMIT")
 *   } catch (error) {
 *     await client.query("ROLLBACK")
 *     throw error
 *   } finally {
 *     client.release()
 *   }
 * }
 * ```
 */
export const fromPg: (client: Api.PgClient) => Transaction = Transactions.fromPg

/**
 * The `sql` that `sql.begin` of postgres.js hands over. Await the send inside: nothing of `sql` tells that its transaction has
 * ended.
 *
 * @example
 * ```ts
 * import type { Sql } from "postgres"
 * import type { Send, Session } from "sendwright"
 * import { fromPostgresJs } from "sendwright/postgres"
 *
 * export const confirm = (sql: Sql, session: Session, message: Send) =>
 *   sql.begin(async (sql) => {
 *     await sql`UPDATE orders SET confirmed = true WHERE id = ${message.idempotencyKey}`
 *     await session.send(message, { tx: fromPostgresJs(sql) })
 *   })
 * ```
 */
export const fromPostgresJs: (sql: Api.PostgresJsTransaction) => Transaction = Transactions.fromPostgresJs

/**
 * The `tx` of Drizzle's `db.transaction`, over `pg` or postgres.js.
 *
 * @example
 * ```ts
 * import { sql } from "drizzle-orm"
 * import type { NodePgDatabase } from "drizzle-orm/node-postgres"
 * import type { Send, Session } from "sendwright"
 * import { fromDrizzle } from "sendwright/postgres"
 *
 * export const confirm = (db: NodePgDatabase, session: Session, message: Send) =>
 *   db.transaction(async (tx) => {
 *     await tx.execute(sql`UPDATE orders SET confirmed = true WHERE id = ${message.idempotencyKey}`)
 *     await session.send(message, { tx: fromDrizzle(tx) })
 *   })
 * ```
 */
export const fromDrizzle: (tx: Api.DrizzleTransaction) => Transaction = Transactions.fromDrizzle

/**
 * The `trx` of Kysely's `db.transaction().execute`.
 *
 * @example
 * ```ts
 * import { type Kysely, sql } from "kysely"
 * import type { Send, Session } from "sendwright"
 * import { fromKysely } from "sendwright/postgres"
 *
 * export const confirm = (db: Kysely<unknown>, session: Session, message: Send) =>
 *   db.transaction().execute(async (trx) => {
 *     await sql`UPDATE orders SET confirmed = true WHERE id = ${message.idempotencyKey}`.execute(trx)
 *     await session.send(message, { tx: fromKysely(trx) })
 *   })
 * ```
 */
export const fromKysely: (trx: Api.KyselyTransaction) => Transaction = Transactions.fromKysely

/**
 * The `trx` of Knex's `knex.transaction`.
 *
 * @example
 * ```ts
 * import type { Knex } from "knex"
 * import type { Send, Session } from "sendwright"
 * import { fromKnex } from "sendwright/postgres"
 *
 * export const confirm = (knex: Knex, session: Session, message: Send) =>
 *   knex.transaction(async (trx) => {
 *     await trx("orders").where({ id: message.idempotencyKey }).update({ confirmed: true })
 *     await session.send(message, { tx: fromKnex(trx) })
 *   })
 * ```
 */
export const fromKnex: (trx: Api.KnexTransaction) => Transaction = Transactions.fromKnex

/**
 * The `manager` of TypeORM's `dataSource.transaction`, or a `QueryRunner`.
 *
 * @example
 * ```ts
 * import type { DataSource } from "typeorm"
 * import type { Send, Session } from "sendwright"
 * import { fromTypeorm } from "sendwright/postgres"
 *
 * export const confirm = (dataSource: DataSource, session: Session, message: Send) =>
 *   dataSource.transaction(async (manager) => {
 *     await manager.query("UPDATE orders SET confirmed = true WHERE id = $1", [message.idempotencyKey])
 *     await session.send(message, { tx: fromTypeorm(manager) })
 *   })
 * ```
 */
export const fromTypeorm: (manager: Api.TypeormTransaction) => Transaction = Transactions.fromTypeorm

/**
 * The `tx` of Prisma's `prisma.$transaction(async (tx) => …)`.
 *
 * @example
 * ```ts
 * import type { Send, Session } from "sendwright"
 * import { fromPrisma, type PrismaTransaction } from "sendwright/postgres"
 *
 * interface Client {
 *   $transaction<A>(body: (tx: PrismaTransaction) => Promise<A>): Promise<A>
 * }
 *
 * // `prisma` is your `new PrismaClient({ adapter })`.
 * export const confirm = (prisma: Client, session: Session, message: Send) =>
 *   prisma.$transaction(async (tx) => {
 *     await tx.$queryRawUnsafe("UPDATE orders SET confirmed = true WHERE id = $1", message.idempotencyKey)
 *     await session.send(message, { tx: fromPrisma(tx) })
 *   })
 * ```
 */
export const fromPrisma: (tx: Api.PrismaTransaction) => Transaction = Transactions.fromPrisma
