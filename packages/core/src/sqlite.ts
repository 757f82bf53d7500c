/** Stores in an embedded SQLite file: `Sqlite.layer({ filename })` provides all of them. */
export { MigrationError } from "./storage/sql/Migrations.ts"
export * as Sqlite from "./storage/sqlite/Sqlite.ts"
