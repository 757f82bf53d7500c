/** Words of processes on their workers, and what is noted of processes that come and go. Written once for all stores. */

import * as Happening from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { SaidProcess, WorkerHeartbeat } from "../JobStore.ts"
import { processOf } from "../JobStore.ts"
import type { Program } from "../Program.ts"
import type { JobRows } from "./JobRows.ts"

type Rows = Pick<JobRows, "forgetWorker" | "note" | "saidOf" | "saveWorker">

/** The first of the workers that said what its process is. */
function* firstSaid(
  rows: Rows,
  workers: ReadonlyArray<string>
): Program<{ readonly worker: string; readonly said: SaidProcess } | null> {
  for (const worker of workers) {
    const said = yield* rows.saidOf(worker)
    if (said !== null) return { worker, said }
  }
  return null
}

/** `JobStore.heartbeat`. */
export function* heartbeat(
  rows: Rows,
  { ended = [], happens, workers, ...said }: WorkerHeartbeat
): Program<void> {
  const { process } = said
  const over = new Set(ended)
  const all = [...workers, ...over]
  const known = happens === undefined || process === undefined ? null : yield* firstSaid(rows, all)
  // In one order, so that no two commits wait for each other.
  for (const worker of all.toSorted())
    if (over.has(worker)) yield* rows.forgetWorker(worker, undefined)
    else yield* rows.saveWorker(worker, said)
  const [first] = all
  const isFirstWord = happens === "process.started" && known === null
  const isLastWord = happens === "process.stopped" && known !== null
  if (process === undefined || first === undefined || !(isFirstWord || isLastWord)) return
  const { role, saidAt, version } = process
  yield* rows.note([Happening.ofProcess(happens, processOf(first), { version, role }, saidAt)])
}

/** Forgets workers that are taken for dead by their counts, and notes the process that was lost with them; answers which were. */
export function* forgetDead(
  rows: Rows,
  workers: ReadonlyArray<string>,
  beats: ReadonlyMap<string, number> | undefined,
  now: Instant
): Program<ReadonlyArray<string>> {
  const lost = yield* firstSaid(rows, workers)
  const forgotten: Array<string> = []
  // In the order in which beats write them.
  for (const worker of workers.toSorted())
    if (yield* rows.forgetWorker(worker, beats?.get(worker))) forgotten.push(worker)
  if (lost !== null && forgotten.includes(lost.worker)) {
    const { role, saidAt, version } = lost.said
    const data = { version, role, seen_at: Time.format(saidAt) }
    yield* rows.note([Happening.ofProcess("process.lost", processOf(lost.worker), data, now)])
  }
  return forgotten
}
