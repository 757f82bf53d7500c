/**
 * The engine on SQLite: `layerSqlite({ filename, … })` on a file of its own, `layerSqliteHandle({ database, … })` over a handle
 * of yours. Stores in an embedded SQLite file: `Sqlite.layer({ filename })` provides all of them, `SqliteHandle.layer({ database })` over a
 * handle of yours (also of `@sendwright/core/sql`, which needs no driver).
 */
export { layerSqlite } from "./preset/Sqlite.ts"
export { layerSqliteHandle } from "./preset/SqliteHandle.ts"
export { MigrationError } from "./storage/sql/Migrations.ts"
export * as SqliteHandle from "./storage/sqlite/OverHandle.ts"
export * as Sqlite from "./storage/sqlite/Sqlite.ts"
