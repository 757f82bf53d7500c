/** `sendwright migrate`: brings the configured database to this build's tables, or tells what that would do. */
import { MigrationPlan } from "@sendwright/core/sql"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HostConfig from "../HostConfig.ts"
import * as StartFailure from "../StartFailure.ts"
import { type Refused, told } from "./Refused.ts"

/** A lock in words: PostgreSQL's own, and on SQLite the file's. */
interface Lock {
  readonly migration: number
  readonly table: string
  readonly lock: string
  readonly work: string
  readonly rows: number | null
  readonly about_ms: number | null
}

export interface Plan {
  readonly database: "sqlite" | "postgres"
  readonly has: number
  readonly pending: ReadonlyArray<{
    readonly id: number
    readonly name: string
    readonly compatible_from: number
  }>
  readonly locks: ReadonlyArray<Lock>
  readonly older_processes: string
  readonly way_back: string
}

const refused = (error: StartFailure.StartFailure): Refused => told(StartFailure.reason(error, ""))

const olderOf = (plan: MigrationPlan.Plan, kind: Plan["database"]): string => {
  if (plan.pending.length === 0) return "They go on: nothing changes."
  if (kind === "sqlite") return "The host is stopped first: one process owns the file."
  if (MigrationPlan.isBesideOlder(plan)) return "They go on beside it, and may start again."
  return plan.olderConnections > 0
    ? `They are to be stopped first: ${plan.olderConnections} connections of theirs are open, and the migration is refused while they are.`
    : "They are to be stopped first, and do not start any more."
}

const wayBackOf = (plan: MigrationPlan.Plan, kind: Plan["database"]): string => {
  if (plan.pending.length === 0) return "None is needed."
  if (plan.has === 0) return "The database was empty: drop it."
  const backup =
    kind === "sqlite"
      ? "stop the host, and restore the backup made before (sendwright backup)"
      : "stop all processes, and restore the backup made before (pg_dump)"
  return MigrationPlan.isBesideOlder(plan)
    ? `Start the earlier version again: it works on the migrated database. Else ${backup}.`
    : `The earlier version does not work on the migrated database: ${backup}.`
}

/** The plan in words. */
export const described = (plan: MigrationPlan.Plan, kind: Plan["database"]): Plan => ({
  database: kind,
  has: plan.has,
  pending: plan.pending.map(({ compatibleFrom, id, name }) => ({
    id,
    name,
    compatible_from: compatibleFrom
  })),
  locks: plan.pending.flatMap(({ id, locks }) =>
    locks.map((locked) => ({
      migration: id,
      table: locked.table,
      lock: kind === "sqlite" ? "the file" : locked.lock,
      work: locked.work,
      rows: locked.rows,
      about_ms: MigrationPlan.lasts(locked)
    }))
  ),
  older_processes: olderOf(plan, kind),
  way_back: wayBackOf(plan, kind)
})

const ofSqlite = (filename: string) =>
  Effect.gen(function* () {
    const { Sqlite } = yield* Effect.promise(() => import("@sendwright/core/sqlite"))
    return (yield* Sqlite.look(filename)).plan
  })

const ofPostgres = ({ url }: Extract<HostConfig.Database, { readonly kind: "postgres" }>) =>
  Effect.gen(function* () {
    const { Postgres } = yield* Effect.promise(() => import("@sendwright/core/postgres"))
    return (yield* Postgres.look({ url })).plan
  })

const database = Effect.mapError(HostConfig.database, refused)

/** Tells what {@link perform} would do. Changes nothing. */
export const plan: Effect.Effect<{ readonly ok: true; readonly plan: Plan }, Refused> = Effect.gen(
  function* () {
    const found = yield* database
    const planned = found.kind === "sqlite" ? ofSqlite(found.filename) : ofPostgres(found)
    return { ok: true, plan: described(yield* Effect.mapError(planned, refused), found.kind) } as const
  }
)

/** Migrates it, as the next start would, which also makes the key of a new database. */
export const perform = Effect.gen(function* () {
  const { database: found } = yield* Effect.mapError(HostConfig.load, refused)
  if (found.kind === "postgres") {
    const { Postgres } = yield* Effect.promise(() => import("@sendwright/core/postgres"))
    yield* Effect.mapError(Postgres.migrate({ url: found.url }), refused)
  } else {
    const { Sqlite } = yield* Effect.promise(() => import("@sendwright/core/sqlite"))
    yield* Effect.mapError(Effect.scoped(Layer.build(Sqlite.layer({ filename: found.filename }))), refused)
  }
  return yield* plan
})
