/**
 * Tells whether a worker of the store died lately, or may have: then a process that starts may be one of a crash loop
 * (contract.md §11).
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Time from "../domain/Instant.ts"
import * as Retry from "../domain/Retry.ts"
import { HappeningStore } from "../storage/HappeningStore.ts"
import type { KnownWorker } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Heartbeat } from "./Heartbeat.ts"

/** Of the others that were found first, those that were not heard since, each with its count: they may be dead, or were rescued. */
export const unheard = (
  before: ReadonlyMap<string, number> | undefined,
  others: ReadonlyArray<KnownWorker>
): ReadonlyMap<string, number> => {
  const counts = new Map(others.map(({ beats, worker }) => [worker, beats]))
  return before === undefined
    ? counts
    : new Map([...before].filter(([worker, beats]) => (counts.get(worker) ?? beats) === beats))
}

export const make = (
  heartbeat: Context.Tag.Service<Heartbeat>
): Effect.Effect<Effect.Effect<boolean, StorageError>, never, HappeningStore | JobStore> =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const happenings = yield* HappeningStore
    let silent: ReadonlyMap<string, number> | undefined
    return Effect.gen(function* () {
      const workers = yield* jobs.workers
      const others = workers.filter(({ worker }) => !heartbeat.isHere(worker))
      silent = unheard(silent, others)
      if (silent.size > 0) return true
      const now = yield* Time.now
      const from = Time.before(now, Retry.deathCountsMs)
      const lost = yield* happenings.between({
        types: ["process.lost"],
        from,
        to: Time.after(now, 1),
        limit: 1
      })
      return lost.length > 0
    })
  })
