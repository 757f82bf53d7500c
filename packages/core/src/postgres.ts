/**
 * The engine on PostgreSQL: `layerPostgres({ url, … })`, or over a pool of yours, `layerPostgres({ pool, … })`. `Postgres.layer`
 * provides the stores alone.
 */
export { layerPostgres } from "./preset/Postgres.ts"
export * as Postgres from "./storage/postgres/Postgres.ts"
export { MigrationError } from "./storage/sql/Migrations.ts"
