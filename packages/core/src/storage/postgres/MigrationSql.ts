/** The migrations of PostgreSQL as text. Needs no driver. */
import { sqlOf } from "../sql/Migrations.ts"
import { migrations } from "./Schema.ts"

/** The migrations that a database has. */
export const table = `CREATE TABLE IF NOT EXISTS sendwright_migration (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, compatible_from INTEGER NOT NULL,
    applied_at BIGINT NOT NULL
  )`

/**
 * The SQL that `Postgres.migrate` runs, for a role that may create tables where the engine's may not.
 *
 * @param after the last migration that the database has (`SELECT max(id) FROM sendwright_migration`)
 */
export const migrationSql = (after = 0): string =>
  sqlOf(migrations, { table, now: "floor(extract(epoch FROM clock_timestamp()) * 1000)", after })
