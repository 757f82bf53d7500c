/** What `sendwright/postgres` takes: shapes of other libraries, none of which is imported. */

/** A `Pool` of `pg`. */
export interface PgPool {
  readonly options: object
  readonly totalCount: number
  readonly connect: (...args: ReadonlyArray<never>) => unknown
  readonly query: (...args: ReadonlyArray<never>) => unknown
}

/** Where the database is: an address for connections of our own, or a pool of yours, which is never closed. */
export type PostgresOptions =
  | {
      /** `postgres://user:password@host:port/database` */
      readonly url: string
      readonly maxConnections?: number | undefined
    }
  | {
      readonly pool: PgPool
      /** True to bring the tables up to date here. Otherwise say `migrate`, or run `migrationSql()`. */
      readonly migrate?: boolean | undefined
    }

/**
 * One contract under all adapters: a statement with `$1`, `$2` and so on, each once and in order, and its rows. An error has the
 * SQLSTATE as its `code`, or as that of its `cause`.
 */
export interface Query {
  readonly query: (text: string, values: Array<unknown>) => PromiseLike<Rows | { readonly rows: Rows }>
}
export type Rows = ReadonlyArray<object>

/** A client of `pg` after its BEGIN. */
export interface PgClient {
  /** A pool has one. */
  readonly totalCount?: never
  readonly query: (text: string, values: Array<unknown>) => Promise<{ readonly rows: Array<object> }>
}

/** The `sql` that `sql.begin` of postgres.js hands over. */
export interface PostgresJsTransaction {
  readonly savepoint: (...args: ReadonlyArray<never>) => unknown
  readonly unsafe: (text: string, values?: Array<never>) => PromiseLike<ReadonlyArray<object>>
}

/** The `tx` of Drizzle's `db.transaction`, over `pg` or postgres.js. */
export interface DrizzleTransaction {
  readonly rollback: () => never
  readonly execute: (...args: ReadonlyArray<never>) => unknown
}

/** The `trx` of Kysely's `db.transaction().execute`. */
export interface KyselyTransaction {
  readonly isTransaction: true
  readonly executeQuery: (query: never) => Promise<{ readonly rows: Array<unknown> }>
  readonly withoutPlugins: () => KyselyTransaction
}

/** The `trx` of Knex's `knex.transaction`. */
export interface KnexTransaction {
  readonly isCompleted: () => boolean
  readonly raw: (text: string, values: ReadonlyArray<never>) => PromiseLike<unknown>
}

/** The `tx` of Prisma's `prisma.$transaction(async (tx) => …)`. */
export interface PrismaTransaction {
  /** A client has one. */
  readonly $connect?: never
  readonly $queryRawUnsafe: (text: string, ...values: Array<unknown>) => PromiseLike<unknown>
}

/** The `manager` of TypeORM's `dataSource.transaction`, or a `QueryRunner`. */
export interface TypeormTransaction {
  readonly query: (text: string, values?: Array<unknown>) => Promise<unknown>
}
