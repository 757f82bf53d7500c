/** The checks that a process passes before it gets requests and work (contract.md §10, "Keys and secrets"). */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Restore from "../domain/Restore.ts"
import { MasterKeys } from "../secret/MasterKeys.ts"
import { HealthStore } from "../storage/HealthStore.ts"
import { QuarantineWatch } from "../worker/QuarantineWatch.ts"
import { StoreClock } from "../worker/StoreClock.ts"
import { Worker } from "../worker/Worker.ts"

export interface Check {
  readonly name: "storage" | "clock" | "keys" | "dispatch" | "restore"
  /** What is wrong, in plain words without addresses and secrets; null when nothing is. */
  readonly fault: string | null
  /** What an operator has to know of a check without a fault. */
  readonly note?: string | undefined
}

/** The process cannot do something that it must be able to do. */
export class NotReady extends Data.TaggedError("NotReady")<{ readonly checks: ReadonlyArray<Check> }> {
  override get message(): string {
    return `The service is not ready. ${sentence(this.checks)}`
  }
}

/** How long a result is reused. Each probe is a write, and many clients may ask. */
const freshFor = "3 seconds"

/** A store that hangs must not make its probe hang. */
const patience = "2 seconds"

const untimed = "The database has not told its time for more than 5 seconds."

interface Found extends Check {
  /** For the log alone: a driver's message can name addresses. */
  readonly cause?: unknown
}

const sentence = (found: ReadonlyArray<Check>): string =>
  found.flatMap(({ fault, name }) => (fault === null ? [] : [`${name}: ${fault}`])).join(" ")

export const make = Effect.gen(function* () {
  const health = yield* HealthStore
  const keys = yield* MasterKeys
  const worker = yield* Worker
  const clock = yield* StoreClock
  const quarantineWatch = yield* QuarantineWatch

  const storage: Effect.Effect<Found> = Effect.match(health.probe, {
    onFailure: ({ cause, message }): Found => ({ name: "storage", fault: message, cause }),
    onSuccess: (): Found => ({ name: "storage", fault: null })
  }).pipe(
    // A driver may not be interruptible. The check therefore does not wait for the probe's end.
    Effect.disconnect,
    Effect.interruptible,
    Effect.timeoutTo({
      duration: patience,
      onSuccess: (found) => found,
      onTimeout: () => ({ name: "storage", fault: `A small write did not end within ${patience}.` })
    })
  )

  // No fault: what is sent now has to wait, and what comes in has not.
  const restore: Effect.Effect<Found> = Effect.match(quarantineWatch.look, {
    onFailure: (): Found => ({ name: "restore", fault: null }),
    onSuccess: (quarantine): Found => ({
      name: "restore",
      fault: null,
      note: quarantine === null ? undefined : Restore.describe(quarantine)
    })
  }).pipe(
    Effect.disconnect,
    Effect.interruptible,
    Effect.timeoutTo({
      duration: patience,
      onSuccess: (found) => found,
      onTimeout: (): Found => ({ name: "restore", fault: null })
    })
  )

  const checks: ReadonlyArray<Effect.Effect<Found>> = [
    storage,
    Effect.map(clock.health, ({ uncertain }) => ({ name: "clock", fault: uncertain ? untimed : null })),
    Effect.map(keys.fault, (fault) => ({ name: "keys", fault })),
    Effect.map(worker.fault, (fault) => ({ name: "dispatch", fault })),
    restore
  ]

  let wasReady = true
  /** Logs each change between ready and not ready once. */
  const log = (found: ReadonlyArray<Found>): Effect.Effect<void> => {
    const isReady = found.every(({ fault }) => fault === null)
    if (isReady === wasReady) return Effect.void
    wasReady = isReady
    return isReady
      ? Effect.logInfo("Ready again")
      : Effect.logError("Not ready", sentence(found), ...found.flatMap(({ cause }) => cause ?? []))
  }

  const looked = Effect.all(checks, { concurrency: "unbounded" }).pipe(
    Effect.tap(log),
    Effect.map((found): ReadonlyArray<Check> => found.map(({ fault, name, note }) => ({ name, fault, note })))
  )
  // The caller that started the checks may hang up while others wait for the same result.
  return Effect.uninterruptible(yield* Effect.cachedWithTTL(looked, freshFor))
})
