/**
 * Sweeps a store for people who are erased (`domain/Erasure`): part by part, in slices that leave others their turn. What is in
 * flight, or could still be written by a process that had read it before, is found by a later sweep.
 */

import * as Effect from "effect/Effect"
import type { Counts, Names, Sought } from "../domain/Erasure.ts"
import * as Erasure from "../domain/Erasure.ts"
import * as Time from "../domain/Instant.ts"
import * as Either from "../effect/Either.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import * as PersonHash from "../secret/PersonHash.ts"
import { SecretBox } from "../secret/SecretBox.ts"
import { ErasureStore } from "../storage/ErasureStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

export interface Swept {
  readonly erasure: Erasure.Erasure
  /** The rest that is to be done by hand; null when it is nothing. */
  readonly remains: string | null
}

export interface Erasing {
  readonly sweep: (erasure: Erasure.Erasure, names: Names) => Effect.Effect<Swept, StorageError>
  /** Sweeps for the erasures that are due; answers how many. */
  readonly resume: Effect.Effect<number, StorageError>
}

export const soughtOf = (accountId: string | null, names: Names): Sought => ({
  names,
  accounts: accountId === null ? null : new Set([accountId])
})

export const make: Effect.Effect<Erasing, never, ErasureStore | SecretBox> = Effect.gen(function* () {
  const store = yield* ErasureStore
  const box = yield* SecretBox

  const eraseAll = Effect.fnUntraced(function* (erasureId: string, sought: Sought, now: Time.Instant) {
    let counts: Counts = Erasure.noCounts
    for (const part of Erasure.parts) {
      let after: string | null = null
      do {
        yield* EventLoopBudget.yieldIfSpent
        const slice: { readonly counts: Counts; readonly next: string | null } = yield* store.erase({
          erasureId,
          part,
          after,
          sought,
          now
        })
        counts = Erasure.add(counts, slice.counts)
        after = slice.next
      } while (after !== null)
    }
    return counts
  })

  const sweep: Erasing["sweep"] = Effect.fnUntraced(function* (before, names) {
    const now = yield* Time.now
    // Transactions that began after the erasure find nothing that it took.
    const waitsFor = Erasure.stillOpen(before.waitsFor, yield* store.openTransactions)
    if (Erasure.onlyWaits(before, waitsFor)) {
      const erasure: Erasure.Erasure = { ...before, waitsFor, nextAt: Erasure.nextLook(now) }
      yield* store.save({ erasure, marks: [] })
      return { erasure, remains: null }
    }
    const counts = yield* eraseAll(before.id, soughtOf(before.accountId, names), now)
    const erasure: Erasure.Erasure = {
      ...before,
      sweptAt: now,
      nextAt: Erasure.nextSweep(before.begunAt, now, counts.inFlight, waitsFor),
      waitsFor,
      counts: { ...Erasure.add(before.counts, counts), inFlight: counts.inFlight }
    }
    yield* store.save({ erasure, marks: Erasure.marksOf(names, erasure.accountId) })
    return { erasure, remains: yield* store.wipe }
  })

  const resume = Effect.gen(function* () {
    const due = yield* store.due(yield* Time.now)
    let count = 0
    for (const { sealed, ...erasure } of due) {
      const opened = box.open(PersonHash.place(erasure.id), sealed)
      if (Either.isLeft(opened)) {
        yield* Effect.logError(`The erasure ${erasure.id} cannot go on: ${opened.left.message}`)
        continue
      }
      const names: Names = JSON.parse(opened.right)
      yield* sweep(erasure, names)
      count += 1
    }
    return count
  })

  return { sweep, resume }
})
