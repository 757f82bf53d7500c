/** A verb, and what it changes of recipients: to be counted once its commit is made. */

import type { JobChange } from "../JobSteps.ts"
import type { Program } from "../Program.ts"
import type { JobRows, StoredJob } from "./JobRows.ts"

export interface Counted<A> {
  readonly answer: A
  readonly steps: ReadonlyArray<JobChange<StoredJob>>
}

/** A verb that is run again begins with nothing. */
export function* counted<A>(rows: JobRows, verb: (rows: JobRows) => Program<A>): Program<Counted<A>> {
  const steps: Array<JobChange<StoredJob>> = []
  const answer = yield* verb({
    ...rows,
    saveJobs: function* (changed, now) {
      steps.push(...changed)
      yield* rows.saveJobs(changed, now)
    }
  })
  return { answer, steps }
}
