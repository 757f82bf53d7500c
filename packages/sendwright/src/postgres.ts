/** Sendwright in PostgreSQL, and in the transactions of the app. Needs `pg` and its Effect drivers beside it. */
import type * as Api from "./api/Postgres.ts"
import type { Store, Transaction } from "./api/Sendwright.ts"
import * as Migrating from "./inside/Migrating.ts"
import * as PostgresStore from "./inside/PostgresStore.ts"
import * as Transactions from "./inside/PostgresTransactions.ts"

export type * from "./api/Postgres.ts"

/**
 * Everything in a PostgreSQL database.
 *
 * @example
 * postgres({ url: process.env.DATABASE_URL })  // connections of our own; the tables are brought up to date
 * postgres({ pool })                           // yours: never closed, and migrated only when told
 */
export const postgres: (options: Api.PostgresOptions) => Store = PostgresStore.postgres

/** Brings the tables of a database up to date, on a connection of its own. */
export const migrate: (options: Api.PostgresOptions) => Promise<void> = (options) =>
  Migrating.migrate(PostgresStore.postgres(options))

/** The SQL of {@link migrate}, for who may create tables. */
export const migrationSql: (after?: number) => string = PostgresStore.migrationSql

/** A client of `pg`, after its BEGIN. */
export const fromPg: (client: Api.PgClient) => Transaction = Transactions.fromPg

/**
 * `sql.begin(async (sql) => { … await session.send(message, { tx: fromPostgresJs(sql) }) })`. Await it inside: nothing of `sql`
 * tells that its transaction has ended.
 */
export const fromPostgresJs: (sql: Api.PostgresJsTransaction) => Transaction = Transactions.fromPostgresJs

/** `db.transaction(async (tx) => { … session.send(message, { tx: fromDrizzle(tx) }) })` */
export const fromDrizzle: (tx: Api.DrizzleTransaction) => Transaction = Transactions.fromDrizzle

/** `db.transaction().execute(async (trx) => { … session.send(message, { tx: fromKysely(trx) }) })` */
export const fromKysely: (trx: Api.KyselyTransaction) => Transaction = Transactions.fromKysely

/** `knex.transaction(async (trx) => { … session.send(message, { tx: fromKnex(trx) }) })` */
export const fromKnex: (trx: Api.KnexTransaction) => Transaction = Transactions.fromKnex

/** `dataSource.transaction(async (manager) => { … session.send(message, { tx: fromTypeorm(manager) }) })` */
export const fromTypeorm: (manager: Api.TypeormTransaction) => Transaction = Transactions.fromTypeorm

/** `prisma.$transaction(async (tx) => { … session.send(message, { tx: fromPrisma(tx) }) })` */
export const fromPrisma: (tx: Api.PrismaTransaction) => Transaction = Transactions.fromPrisma
