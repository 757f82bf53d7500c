/** Writes what this process has counted of recipients, once a minute and when it ends. */

import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../domain/Instant.ts"
import { JobStore } from "../storage/JobStore.ts"
import { StoreClock } from "./StoreClock.ts"

const pace = Duration.minutes(1)

/** A store that takes nothing keeps nobody from ending. */
const patience = Duration.seconds(2)

export const layer: Layer.Layer<never, never, JobStore | StoreClock> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const { within } = yield* StoreClock
    const save = Effect.flatMap(Time.now, (now) => jobs.saveTallies({ now })).pipe(
      Effect.catchAllCause((cause) => Effect.logDebug("The numbers of a minute were not written", cause))
    )
    yield* Effect.addFinalizer(() => Effect.timeoutOption(Effect.disconnect(within(save)), patience))
    const next = Effect.zipRight(jobs.counted, Effect.sleep(pace))
    yield* Effect.forkScoped(within(Effect.forever(Effect.zipRight(next, save))))
  })
)
