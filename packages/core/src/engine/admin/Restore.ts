/** A store that was restored: it is held, and an operator says what becomes of what was open before. */

import * as Effect from "effect/Effect"
import { InvalidRequest } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import * as Time from "../../domain/Instant.ts"
import type { Counts, Quarantine, Way } from "../../domain/Restore.ts"
import * as Restores from "../../domain/Restore.ts"
import { Signals } from "../../runtime/Signals.ts"
import { RestoreStore } from "../../storage/RestoreStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import * as Recorder from "./Recorder.ts"

export type Command =
  | {
      /** Ends the quarantine: what was open before it becomes `unknown` or `canceled`, or is sent. */
      readonly open: Way
      /** Counts only; the store stays held. */
      readonly dryRun?: boolean | undefined
    }
  | {
      /** Holds the store by hand, where it cannot tell by itself that it was restored. One that is held stays as it is. */
      readonly quarantine: true
    }

export interface Answer {
  /** True when the store is held from now on. */
  readonly isQuarantined: boolean
  readonly dryRun: boolean
  /** The hold that is there, or was; null when there was none, and nothing was done. */
  readonly quarantine: Quarantine | null
  /** The recipients that were open before, by what became of them, or would. */
  readonly counts: Counts
}

export interface Restore {
  /**
   * Opens some jobs at a time: what is interrupted leaves the store held, and goes on when it is repeated. `counts` are those
   * of all that was opened then. A store that is being opened in one way is opened in no other.
   */
  readonly decide: (command: Command) => Effect.Effect<Answer, InvalidRequest | StorageError>
}

const notHeld = (dryRun: boolean): Answer => ({
  isQuarantined: false,
  dryRun,
  quarantine: null,
  counts: Restores.noCounts
})

/** Refuses a way on beside the one that was begun. */
const otherwise = (begun: Way): Effect.Effect<never, InvalidRequest> =>
  Effect.fail(
    new InvalidRequest({
      faults: [
        Fault.make(
          ["open"],
          "invalid_value",
          `The store is being opened with \`${begun}\`, and all of it is opened in one way. Give that one, to go on.`
        )
      ]
    })
  )

export const make = Effect.gen(function* () {
  const store = yield* RestoreStore
  const signals = yield* Signals
  const record = yield* Recorder.make

  const quarantine = Effect.gen(function* () {
    const now = yield* Time.now
    const entry = ({ reason }: Quarantine) => ({ target: null, after: { reason } })
    const quarantine = yield* record({ operation: "restore.hold", entry }, store.place({ now }))
    return { isQuarantined: true, dryRun: false, quarantine, counts: quarantine.counts }
  })

  const count = Effect.fnUntraced(function* (way: Way) {
    let { counts, next } = yield* store.count({ way, after: null })
    while (next !== null) {
      const more = yield* store.count({ way, after: next })
      counts = Restores.add(counts, more.counts)
      next = more.next
    }
    return counts
  })

  const open = Effect.fnUntraced(function* (way: Way, before: Quarantine) {
    for (let opened = false; ; opened = true) {
      const opening = yield* store.open({ way, now: yield* Time.now })
      if (opening.way !== null && opening.way !== way) return yield* otherwise(opening.way)
      if (opening.way === null && !opened) return notHeld(false)
      if (opening.isOver) break
    }
    const entry = (ended: Quarantine | null) => ({
      target: null,
      after: { open: way, counts: ended?.counts ?? null }
    })
    const own = yield* record({ operation: "restore.open", entry }, store.end)
    // Another may have ended it meanwhile, or the database may be found elsewhere again.
    const held = own === null ? yield* store.quarantine : null
    if (held !== null) return { isQuarantined: true, dryRun: false, quarantine: held, counts: held.counts }
    const ended = own ?? before
    yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
    yield* Effect.logWarning("An operator has opened the store that was held", { open: way, ...ended.counts })
    return { isQuarantined: false, dryRun: false, quarantine: ended, counts: ended.counts }
  })

  const restore: Restore = {
    decide: Effect.fnUntraced(function* (command) {
      if ("quarantine" in command) return yield* quarantine
      const { dryRun = false, open: way } = command
      const found = yield* store.quarantine
      if (found === null) return notHeld(dryRun)
      return dryRun
        ? { isQuarantined: true, dryRun, quarantine: found, counts: yield* count(way) }
        : yield* open(way, found)
    })
  }
  return restore
})
