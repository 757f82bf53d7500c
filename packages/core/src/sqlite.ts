/** Stores in an embedded SQLite file: `Sqlite.layer({ filename })` provides all of them. */
export { MigrationError } from "./storage/sqlite/Migrator.ts"
export * as Sqlite from "./storage/sqlite/Sqlite.ts"
