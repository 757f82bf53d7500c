/** The hold of a store that was restored: one row, and none while it is not held. */
import * as Happening from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Counts, Reason } from "../../domain/Restore.ts"
import { noCounts, reasons, ways } from "../../domain/Restore.ts"
import type { Program } from "../Program.ts"
import { get, run } from "../Program.ts"
import type { StoredQuarantine } from "../policy/RestoreRows.ts"
import * as Happenings from "./Happenings.ts"
import { instant, integer, json, oneOf, textOrNull } from "./RowReader.ts"

/** Whoever changes it serializes by this name first. */
export const lock = "hold"

/** Selects a row while the store is held. */
export const isQuarantined = "SELECT 1 FROM sendwright_quarantine WHERE id = 1"

const find = "SELECT reason, since, last_job, opened, counts, way FROM sendwright_quarantine WHERE id = 1"

const save = `INSERT INTO sendwright_quarantine (id, reason, since, last_job, opened, counts, way) VALUES (1, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, since = excluded.since, last_job = excluded.last_job,
    opened = excluded.opened, counts = excluded.counts, way = excluded.way`

const reasonOf = oneOf(reasons)
const wayOf = oneOf(ways)

export function* read(): Program<StoredQuarantine | null> {
  const row = yield* get(find)
  if (row === undefined) return null
  return {
    reason: reasonOf(row, "reason"),
    since: instant(row, "since"),
    lastJob: integer(row, "last_job"),
    opened: integer(row, "opened"),
    counts: json<Counts>(row, "counts"),
    way: textOrNull(row, "way") === null ? null : wayOf(row, "way")
  }
}

/** Writes it over one that is there; null ends it. */
export function* write(quarantine: StoredQuarantine | null): Program<void> {
  if (quarantine === null) yield* run("DELETE FROM sendwright_quarantine")
  else {
    const { counts, lastJob, opened, reason, since, way } = quarantine
    yield* run(save, reason, since, lastJob, opened, JSON.stringify(counts), way)
  }
}

/** The place of the last job that there is. */
export function* lastJob(): Program<number> {
  const row = yield* get("SELECT coalesce(max(seq), 0) AS seq FROM sendwright_job")
  return integer(row ?? {}, "seq")
}

/** Holds the store from now on, under {@link lock}: all that is there was open before. */
export function* place(reason: Reason, now: Instant): Program<void> {
  yield* write({ reason, since: now, counts: noCounts, lastJob: yield* lastJob(), opened: 0, way: null })
  yield* Happenings.note([Happening.held({ reason }, now)])
}
