/** The database as doctor sees it, beside whoever works on it: reachable, of this build, writable, with its keys. */
import { existsSync } from "node:fs"
import { Restore, type StorageError } from "@sendwright/core"
import { Diagnosis } from "@sendwright/core/adapter"
import type { Postgres } from "@sendwright/core/postgres"
import type { Content, Inspection, MigrationError, MigrationPlan } from "@sendwright/core/sql"
import * as Effect from "effect/Effect"
import type { Database } from "../../HostConfig.ts"
import * as StartFailure from "../../StartFailure.ts"
import * as Files from "./Files.ts"

type Finding = Diagnosis.Finding

const { failing, ok, warning } = Diagnosis

export interface Looked {
  readonly findings: ReadonlyArray<Finding>
  /** Null where nothing in it could be read. */
  readonly content: Content | null
  /** The database's clock minus this machine's; null where they are one. */
  readonly clockDifference: number | null
}

const nothing = (...findings: ReadonlyArray<Finding>): Looked => ({
  findings,
  content: null,
  clockDifference: null
})

const ofPlan = ({ has, pending }: MigrationPlan.Plan): Finding => {
  if (pending.length > 0)
    return has === 0
      ? ok("migrations", "The database is empty: the first start makes its tables.")
      : warning(
          "migrations",
          `${pending.length} of this build are not there yet.`,
          "The next start applies them; sendwright migrate --plan tells what they take."
        )
  return ok(
    "migrations",
    `The tables are those of this version, by ${has} ${has === 1 ? "migration" : "migrations"}.`
  )
}

const ofHold = ({ quarantine }: Content): Finding =>
  quarantine === null
    ? ok("sending", "The store is not held.")
    : warning("sending", Restore.describe(quarantine), "docs/backup.md, Restoring a backup")

const ofSeen = ({ content, plan }: Inspection): ReadonlyArray<Finding> => [
  ofPlan(plan),
  ...(content === null ? [] : [ofHold(content)])
]

const ofRefusal = (error: MigrationError | StorageError.StorageError): Finding =>
  error._tag === "MigrationError"
    ? failing("migrations", error.message, "docs/upgrade.md, Upgrade")
    : failing(
        "database",
        error.reason ?? StartFailure.causeOf(error),
        "Correct DATABASE_URL, or what it names; without a database nothing works."
      )

/** A long transaction keeps dead rows and a migration waiting. */
const longest = 3_600_000

const ofServer = (server: Postgres.SeenServer["server"]): ReadonlyArray<Finding> => {
  const { connections, maxConnections, oldestTransaction } = server
  const told: ReadonlyArray<readonly [isSo: boolean, Finding]> = [
    [
      server.isReadOnly,
      failing(
        "database",
        "It is a standby, or transactions only read in it.",
        "Name the primary in DATABASE_URL."
      )
    ],
    [
      server.isShared,
      ok(
        "database",
        "A pooler shares its connections between transactions: statements are not prepared. Migrate by the server's own address."
      )
    ],
    [
      server.closedTables.length > 0,
      failing(
        "rights",
        `This role may not read and write ${server.closedTables.slice(0, 3).join(", ")}${server.closedTables.length > 3 ? " …" : ""}.`,
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO the role."
      )
    ],
    [
      !server.mayCreate,
      warning(
        "rights",
        "This role may not make tables, so that it cannot migrate the database.",
        "GRANT CREATE ON SCHEMA … TO the role, or run sendwright migrate as one that may."
      )
    ],
    [
      !server.hasAutovacuum,
      warning("database", "autovacuum is off: dead rows are never given back.", "Set autovacuum = on.")
    ],
    [
      connections >= 0.8 * maxConnections,
      warning(
        "database",
        `${connections} of ${maxConnections} connections are in use.`,
        "Raise max_connections, or end other connections."
      )
    ],
    [
      oldestTransaction > longest,
      warning(
        "database",
        `A transaction is open for ${Diagnosis.inWords(oldestTransaction)}.`,
        "End it (pg_stat_activity shows it): dead rows and migrations wait for it."
      )
    ]
  ]
  return told.flatMap(([isSo, finding]) => (isSo ? [finding] : []))
}

const ofPostgres = (database: Extract<Database, { readonly kind: "postgres" }>) =>
  Effect.gen(function* () {
    const found = yield* Effect.promise(() => import("@sendwright/core/postgres"))
    const seen = yield* found.Postgres.look({ url: database.url })
    const { server } = seen
    const reached = ok(
      "database",
      `PostgreSQL ${server.version}, ${Diagnosis.inBytes(server.bytes)}. How much room its disk has is to be looked up on its machine.`
    )
    return {
      findings: [reached, ...ofServer(server), ...ofSeen(seen)],
      content: seen.content,
      clockDifference: server.clockDifference
    }
  })

const ofSqlite = (filename: string) =>
  Effect.gen(function* () {
    if (filename === ":memory:")
      return nothing(
        warning("database", "It is in memory, and ends with its process.", "Name a file in DATABASE_URL.")
      )
    const files = Effect.all([Files.place(filename)])
    if (!existsSync(filename))
      return nothing(
        ok("database", `${filename} is not there yet: the first start makes it.`),
        ...(yield* files)
      )
    const { Sqlite } = yield* Effect.promise(() => import("@sendwright/core/sqlite"))
    const seen = yield* Sqlite.look(filename)
    const reached = ok(
      "database",
      `${filename}, ${Diagnosis.inBytes(Files.bytesOf(filename))}. ${yield* Files.owned(filename)}`
    )
    return {
      findings: [reached, ...(yield* files), ...ofSeen(seen)],
      content: seen.content,
      clockDifference: null
    }
  })

export const look = (database: Database): Effect.Effect<Looked> =>
  (database.kind === "postgres" ? ofPostgres(database) : ofSqlite(database.filename)).pipe(
    Effect.catchAll((error) => Effect.succeed(nothing(ofRefusal(error))))
  )
