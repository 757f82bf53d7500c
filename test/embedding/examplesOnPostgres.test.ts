/** The examples that SQLite and memory run beside their code, on PostgreSQL. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import Pg from "pg"
import { describe } from "vitest"
import { onPostgres } from "../../examples/appointments/calendar.ts"
import * as Appointments from "../../examples/appointments/suite.ts"
import * as Campaign from "../../examples/campaign/suite.ts"
import { postgres } from "../../packages/sendwright/src/postgres.ts"
import { migratedDatabase } from "../support/Postgres.ts"

/** A database of a test's own, and what its app has of it. */
const open = async () => {
  const scope = await Effect.runPromise(Scope.make())
  const pool = new Pg.Pool({
    connectionString: await Effect.runPromise(Scope.extend(migratedDatabase, scope))
  })
  pool.on("error", () => {})
  const close = async () => {
    await pool.end()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  return { pool, store: postgres({ pool }), close }
}

describe("appointments, in transactions of the app's", () =>
  Appointments.suite(async () => {
    const { close, pool, store } = await open()
    return { store, close, calendar: (session) => onPostgres(pool, session) }
  }))

describe("a campaign", () => Campaign.suite(open))
