import * as Effect from "effect/Effect"
import { InvalidRequest } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"

/** Refuses a request that has faults. */
export const refuseIf = (faults: ReadonlyArray<Fault.Fault>): Effect.Effect<void, InvalidRequest> =>
  faults.length === 0
    ? Effect.void
    : Effect.fail(new InvalidRequest({ faults: faults.slice(0, Fault.maximum) }))
