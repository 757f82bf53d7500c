/**
 * Which instance of the database a connection has reached (docs/adr/0036). Each new connection is asked before anything else
 * runs over it, since a server does not change under one that is open: a process that outlived the restore of its database
 * notices as one that starts does. Where the database is not the one of before, the store is held in one commit with its new
 * whereabouts.
 */

import Pg from "pg"
import * as Time from "../../domain/Instant.ts"
import type { OnFailover, Reason, Whereabouts } from "../../domain/Restore.ts"
import * as Restore from "../../domain/Restore.ts"
import type { Program, Row } from "../Program.ts"
import { get, run } from "../Program.ts"
import * as QuarantineRows from "../sql/QuarantineRows.ts"
import { real, realOrNull, textOrNull } from "../sql/RowReader.ts"
import * as AdvisoryLock from "./AdvisoryLock.ts"
import type { Prepare } from "./PipelinedConnection.ts"
import { transact } from "./PipelinedConnection.ts"

type Part = "system" | "database" | "relation" | "wal"

/** Each is an expression of text. A provider may keep some from its roles. */
const expressions: Readonly<Record<Part, string>> = {
  system: "(SELECT system_identifier::text FROM pg_control_system())",
  database: "(SELECT oid::text FROM pg_database WHERE datname = current_database())",
  relation: "'sendwright_instance'::regclass::oid::text",
  wal: "CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END"
}
const parts: ReadonlyArray<Part> = ["system", "database", "relation", "wal"]

const select = (some: ReadonlyArray<Part>): string =>
  `SELECT ${some.map((part) => `${expressions[part]} AS ${part}`).join(", ")}`

/** A role that may not ask, or a server that has no such function. */
const isRestricted = (cause: unknown): boolean =>
  cause instanceof Pg.DatabaseError && /^(42501|42883|0A000)$/.test(cause.code ?? "")

/** The name of a file of the write-ahead log begins with its timeline. */
const timelineOf = (wal: string | null): number | null =>
  wal === null ? null : Number.parseInt(wal.slice(0, 8), 16)

const toWhereabouts = (row: Row): Whereabouts => ({
  system: textOrNull(row, "system"),
  database: textOrNull(row, "database"),
  relation: textOrNull(row, "relation"),
  timeline: timelineOf(textOrNull(row, "wal"))
})

const unread = { system: null, database: null, relation: null, wal: null }

/** Reads where a connection has got to, as far as its role may. What is kept from it is asked for once. */
const reader = () => {
  let readable = parts
  const ask = async (client: Pg.Client, some: ReadonlyArray<Part>): Promise<Row> => {
    const { rows } = await client.query<Row>(select(some))
    return { ...unread, ...rows[0] }
  }
  return async (client: Pg.Client): Promise<Whereabouts> => {
    try {
      return toWhereabouts(await ask(client, readable))
    } catch (cause) {
      if (!isRestricted(cause)) throw cause
    }
    let found: Row = unread
    for (const part of readable) {
      try {
        const { [part]: value = null } = await ask(client, [part])
        found = { ...found, [part]: value }
      } catch (cause) {
        if (!isRestricted(cause)) throw cause
        readable = readable.filter((each) => each !== part)
      }
    }
    return toWhereabouts(found)
  }
}

const remembered =
  "SELECT system, database, relation, timeline::float8 AS timeline FROM sendwright_instance WHERE id = 1"

const remember = `INSERT INTO sendwright_instance (id, system, database, relation, timeline) VALUES (1, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET system = excluded.system, database = excluded.database, relation = excluded.relation,
    timeline = excluded.timeline`

const toRemembered = (row: Row): Whereabouts => ({
  system: textOrNull(row, "system"),
  database: textOrNull(row, "database"),
  relation: textOrNull(row, "relation"),
  timeline: realOrNull(row, "timeline")
})

/** True where nothing is to be held, told or remembered: what a role cannot read says nothing. */
const isSame = (last: Whereabouts, { database, relation, system, timeline }: Whereabouts): boolean =>
  (database ?? last.database) === last.database &&
  (relation ?? last.relation) === last.relation &&
  (system ?? last.system) === last.system &&
  (timeline ?? last.timeline) === last.timeline

/** Compares, holds and remembers. Of connections that are opened together each sees what the one before it left. */
function* compare(now: Whereabouts, onFailover: OnFailover): Program<Reason | "moved" | null> {
  yield* AdvisoryLock.serialize(QuarantineRows.lock)
  const row = yield* get(remembered)
  const last = row === undefined ? null : toRemembered(row)
  const found = last === null ? null : Restore.compareWhereabouts(last, now, onFailover)
  if (found !== null && found !== "moved") {
    const time = yield* get("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time")
    yield* QuarantineRows.place(found, Time.at(real(time ?? {}, "time")))
  }
  const { database, relation, system, timeline } = last === null ? now : Restore.learn(last, now)
  yield* run(remember, system, database, relation, timeline)
  return found
}

export interface Options {
  readonly onFailover: OnFailover
  /** Called when a new timeline alone was found. */
  readonly onMoved: (timeline: number | null) => void
}

/** To be run over each new connection. */
export const make = ({ onFailover, onMoved }: Options) => {
  const read = reader()
  return async (client: Pg.Client, prepare: Prepare): Promise<void> => {
    const now = await read(client)
    const [row] = (await client.query<Row>(remembered)).rows
    if (row !== undefined && isSame(toRemembered(row), now)) return
    const found = await transact(client, prepare, () => compare(now, onFailover))
    if (found === "moved") onMoved(now.timeline)
  }
}
