/** The libraries by which apps have transactions on PostgreSQL, each in the same few words. */
import { sql as drizzleSql } from "drizzle-orm"
import { drizzle } from "drizzle-orm/node-postgres"
import { drizzle as drizzleOverPostgresJs } from "drizzle-orm/postgres-js"
import Knex from "knex"
import { CompiledQuery, Kysely, PostgresDialect } from "kysely"
import Pg from "pg"
import Postgres from "postgres"
import type { Transaction } from "sendwright"
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  fromTypeorm
} from "sendwright/postgres"
import { DataSource } from "typeorm"
import { prismaOver } from "../../../examples/next/lib/prisma.ts"

/** An open transaction: what an adapter makes of it, statements of the app's own, and a savepoint within it. */
export interface Open {
  readonly tx: Transaction
  readonly run: (text: string) => Promise<unknown>
  readonly savepoint: (body: (inner: Transaction) => Promise<void>) => Promise<void>
}

export interface Library {
  /** Commits what the body did, or rolls it back where it throws. */
  readonly transaction: <A>(body: (open: Open) => Promise<A>) => Promise<A>
  readonly close: () => Promise<void>
  /** True where nothing of an open transaction tells that it has ended, and its connection may be in the next one. */
  readonly hidesEnd?: boolean
  /** Breaks the connection of an open transaction, where the server's end of it would break the library. */
  readonly breakOff?: () => Promise<void>
}

const most = 4

const pg = (url: string): Library => {
  const pool = new Pg.Pool({ connectionString: url, max: most })
  pool.on("error", () => {})
  return {
    transaction: async (body) => {
      const client = await pool.connect()
      client.on("error", () => {})
      try {
        await client.query("BEGIN")
        const found = await body({
          tx: fromPg(client),
          run: (text) => client.query(text),
          savepoint: async (inner) => {
            await client.query("SAVEPOINT app")
            try {
              await inner(fromPg(client))
            } catch (error) {
              await client.query("ROLLBACK TO app")
              throw error
            }
          }
        })
        await client.query("COMMIT")
        client.release()
        return found
      } catch (error) {
        const isBroken = await client.query("ROLLBACK").then(
          () => false,
          () => true
        )
        client.release(isBroken)
        throw error
      }
    },
    close: () => pool.end()
  }
}

const postgresJs = (url: string): Library => {
  const sql = Postgres(url, { max: most, onnotice: () => {} })
  return {
    transaction: async (body) => {
      let found: { readonly value: Awaited<ReturnType<typeof body>> } | undefined
      await sql.begin(async (tx) => {
        const value = await body({
          tx: fromPostgresJs(tx),
          run: (text) => tx.unsafe(text),
          savepoint: async (inner) => void (await tx.savepoint((sp) => inner(fromPostgresJs(sp))))
        })
        found = { value }
      })
      if (found === undefined) throw new Error("Nothing was found.")
      return found.value
    },
    close: () => sql.end(),
    hidesEnd: true,
    breakOff: () => sql.end({ timeout: 0 })
  }
}

const drizzleOverPg = (url: string): Library => {
  const pool = new Pg.Pool({ connectionString: url, max: most })
  pool.on("error", () => {})
  pool.on("connect", (client) => client.on("error", () => {}))
  const db = drizzle(pool)
  return {
    transaction: (body) =>
      db.transaction((tx) =>
        body({
          tx: fromDrizzle(tx),
          run: (text) => tx.execute(drizzleSql.raw(text)),
          savepoint: (inner) => tx.transaction((nested) => inner(fromDrizzle(nested)))
        })
      ),
    close: () => pool.end()
  }
}

const drizzleJs = (url: string): Library => {
  const client = Postgres(url, { max: most, onnotice: () => {} })
  const db = drizzleOverPostgresJs(client)
  return {
    transaction: (body) =>
      db.transaction((tx) =>
        body({
          tx: fromDrizzle(tx),
          run: async (text) => tx.execute(drizzleSql.raw(text)),
          savepoint: (inner) => tx.transaction((nested) => inner(fromDrizzle(nested)))
        })
      ),
    close: () => client.end(),
    hidesEnd: true,
    breakOff: () => client.end({ timeout: 0 })
  }
}

const kysely = (url: string): Library => {
  const pool = new Pg.Pool({ connectionString: url, max: most })
  pool.on("error", () => {})
  pool.on("connect", (client) => client.on("error", () => {}))
  const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
  return {
    transaction: (body) =>
      db.transaction().execute((trx) =>
        body({
          tx: fromKysely(trx),
          run: (text) => trx.executeQuery(CompiledQuery.raw(text)),
          savepoint: async (inner) => {
            await trx.executeQuery(CompiledQuery.raw("SAVEPOINT app"))
            try {
              await inner(fromKysely(trx))
            } catch (error) {
              await trx.executeQuery(CompiledQuery.raw("ROLLBACK TO app"))
              throw error
            }
          }
        })
      ),
    close: () => db.destroy()
  }
}

const knex = (url: string): Library => {
  const db = Knex({ client: "pg", connection: url, pool: { min: 0, max: most } })
  return {
    transaction: (body) =>
      db.transaction((trx) =>
        body({
          tx: fromKnex(trx),
          run: async (text) => trx.raw(text),
          savepoint: (inner) => trx.transaction((nested) => inner(fromKnex(nested)))
        })
      ),
    close: () => db.destroy()
  }
}

const typeorm = (url: string): Library => {
  const source = new DataSource({ type: "postgres", url, poolSize: most, logging: false })
  const ready = source.initialize()
  return {
    transaction: async (body) =>
      (await ready).transaction((manager) =>
        body({
          tx: fromTypeorm(manager),
          run: (text) => manager.query(text),
          savepoint: (inner) => manager.transaction((nested) => inner(fromTypeorm(nested)))
        })
      ),
    close: async () => (await ready).destroy()
  }
}

const prisma = (url: string): Library => {
  const client = prismaOver(url, most)
  return {
    transaction: (body) =>
      client.$transaction(
        (tx) =>
          body({
            tx: fromPrisma(tx),
            run: (text) => tx.$executeRawUnsafe(text),
            savepoint: async (inner) => {
              await tx.$executeRawUnsafe("SAVEPOINT app")
              try {
                await inner(fromPrisma(tx))
              } catch (error) {
                await tx.$executeRawUnsafe("ROLLBACK TO app")
                throw error
              }
            }
          }),
        { timeout: 60_000 }
      ),
    close: () => client.$disconnect()
  }
}

export const libraries = {
  pg,
  "postgres.js": postgresJs,
  "Drizzle over pg": drizzleOverPg,
  "Drizzle over postgres.js": drizzleJs,
  Kysely: kysely,
  Knex: knex,
  Prisma: prisma,
  TypeORM: typeorm
} as const satisfies Readonly<Record<string, (url: string) => Library>>
