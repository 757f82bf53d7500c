/** The workers that have claimed something, with each one's last heartbeat. */
import type { Instant } from "../../domain/Instant.ts"
import type { LivingWorker, SaidProcess } from "../JobStore.ts"
import type { Program, Row } from "../Program.ts"
import { all, changes, get, run } from "../Program.ts"
import type { WorkerWord } from "../policy/JobRows.ts"
import type { Dialect } from "./Database.ts"
import { insertInto } from "./Insert.ts"
import { instant, instantOrNull, integer, integerOrNull, text } from "./RowReader.ts"

const described = ["version", "role", "slots", "started_at", "said_at"]
const written = ["beats", "dispatches_at", ...described]

const said = `${insertInto("sendwright_worker", ["id", ...written])}
  ON CONFLICT (id) DO UPDATE SET ${written.map((name) => `${name} = excluded.${name}`).join(", ")}`

export function* save(worker: string, { beats, dispatchesAt, process }: WorkerWord): Program<void> {
  const { role = null, saidAt = null, slots = null, startedAt = null, version = null } = process ?? {}
  yield* run(said, worker, beats, dispatchesAt, version, role, slots, startedAt, saidAt)
}

const readProcess = (row: Row): SaidProcess => ({
  version: text(row, "version"),
  role: text(row, "role"),
  slots: integer(row, "slots"),
  startedAt: instant(row, "started_at"),
  saidAt: instant(row, "said_at")
})

const processOf = `SELECT ${described.join(", ")} FROM sendwright_worker WHERE id = ? AND said_at IS NOT NULL`

export function* saidOf(worker: string): Program<SaidProcess | null> {
  const row = yield* get(processOf, worker)
  return row === undefined ? null : readProcess(row)
}

const livingWorkers = `SELECT worker.id, ${described.map((name) => `worker.${name}`).join(", ")},
    (SELECT sum(open) FROM sendwright_claim AS claim WHERE claim.worker = worker.id) AS in_flight
  FROM sendwright_worker AS worker WHERE worker.said_at IS NOT NULL ORDER BY worker.started_at, worker.id`

export function* living(): Program<ReadonlyArray<LivingWorker>> {
  return (yield* all(livingWorkers)).map((row) => ({
    worker: text(row, "id"),
    ...readProcess(row),
    inFlight: integerOrNull(row, "in_flight") ?? 0
  }))
}

const silentIn = (table: string): string => `SELECT DISTINCT worker, 0 AS beats FROM ${table}
  WHERE worker IS NOT NULL AND worker NOT IN (SELECT id FROM sendwright_worker)`

/** Each with its last count; 0 when it said nothing yet. */
export function* workers(): Program<ReadonlyArray<{ readonly worker: string; readonly beats: number }>> {
  const found = yield* all(
    `SELECT id AS worker, beats FROM sendwright_worker
     UNION ${silentIn("sendwright_claim")} UNION ${silentIn("sendwright_delivery")}`
  )
  return found.map((row) => ({ worker: text(row, "worker"), beats: integer(row, "beats") }))
}

/** When one of a process that dispatches said last that it lives. */
export function* dispatchesAt(): Program<Instant | null> {
  const row = yield* get("SELECT max(dispatches_at) AS at FROM sendwright_worker")
  return instantOrNull(row ?? {}, "at")
}

const silent = "INSERT INTO sendwright_worker (id, beats) VALUES (?, 0) ON CONFLICT (id) DO NOTHING"

/** Whether it was forgotten: not when its count is another one than `beats`. A beat that comes meanwhile waits. */
export function* forget(worker: string, beats: number | undefined): Program<boolean> {
  if (beats === undefined) {
    yield* run("DELETE FROM sendwright_worker WHERE id = ?", worker)
    return true
  }
  // A row that is not there could not be locked.
  if (beats === 0) yield* run(silent, worker)
  return (yield* changes("DELETE FROM sendwright_worker WHERE id = ? AND beats = ?", worker, beats)) > 0
}

/** True when the worker's count is `beats`. Then a beat that comes meanwhile waits; the count stays, for whoever compares it next. */
export const lock = (dialect: Dialect): ((worker: string, beats: number) => Program<boolean>) => {
  const locked = `SELECT id FROM sendwright_worker WHERE id = ? AND beats = ?${dialect.forUpdate("sendwright_worker")}`
  return function* (worker, beats) {
    // A worker that said nothing has no row to lock, and its count is still 0 when the worker is forgotten.
    if (beats === 0) return yield* forget(worker, beats)
    return (yield* get(locked, worker, beats)) !== undefined
  }
}
