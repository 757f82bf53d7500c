/**
 * For whoever writes a store over a SQL driver of their own (docs/stores.md). An adapter provides `Database`, and
 * `SqliteStores.layer` makes all stores of it. Needs no driver itself.
 */
export { layerSqliteHandle } from "./preset/SqliteHandle.ts"
export * as PostgresMigrations from "./storage/postgres/MigrationSql.ts"
export { Database, type Dialect } from "./storage/sql/Database.ts"
export type { Content, Seen } from "./storage/sql/Look.ts"
export * as MigrationPlan from "./storage/sql/MigrationPlan.ts"
export { MigrationError } from "./storage/sql/Migrations.ts"
export * as Program from "./storage/sql/Program.ts"
export * as SqliteDialect from "./storage/sqlite/Dialect.ts"
export * as SqliteMigrations from "./storage/sqlite/Migrations.ts"
export * as SqliteHandle from "./storage/sqlite/OverHandle.ts"
export * as SqliteSchema from "./storage/sqlite/Schema.ts"
export * as SqliteStores from "./storage/sqlite/Stores.ts"
