/** A check ends within some seconds, whatever it looks at. */
import { Diagnosis } from "@sendwright/core/adapter"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"

/** In milliseconds. */
export const patience = 5000

/** A check that asks somebody else gives up before its time is over, so that the check leaves nothing open. */
export const connectTimeoutMs = 4500

export const check = <R>(
  name: string,
  finding: Effect.Effect<Diagnosis.Finding, never, R>
): Effect.Effect<Diagnosis.Finding, never, R> =>
  Effect.disconnect(finding).pipe(
    Effect.timeoutTo({
      duration: patience,
      onSuccess: identity<Diagnosis.Finding>,
      onTimeout: () =>
        Diagnosis.failing(
          name,
          `It did not answer within ${patience / 1000} seconds.`,
          "Look whether this machine reaches it, and whether it is overloaded."
        )
    })
  )
