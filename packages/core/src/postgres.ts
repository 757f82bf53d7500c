/** Stores in a PostgreSQL database: `Postgres.layer({ url })` provides all of them. */
export * as Postgres from "./storage/postgres/Postgres.ts"
export { MigrationError } from "./storage/sql/Migrations.ts"
