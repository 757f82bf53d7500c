/** The engine over a SQLite handle of yours, and what migrates a database by your own means. Needs no driver itself. */
export { layerSqliteHandle } from "./preset/SqliteHandle.ts"
export * as PostgresMigrations from "./storage/postgres/MigrationSql.ts"
export type { Content, Inspection } from "./storage/sql/Inspection.ts"
export * as MigrationPlan from "./storage/sql/MigrationPlan.ts"
export { MigrationError } from "./storage/sql/Migrations.ts"
export { everyTable } from "./storage/sql/Schema.ts"
export * as SqliteHandle from "./storage/sqlite/OverHandle.ts"
