/** A verb, and what it changes of recipients: to be counted once its commit is made. */
import type { JobChange } from "../JobSteps.ts"
import type { Backend, JobRows, Tx } from "./JobRows.ts"

export interface Counted<A, B extends Backend> {
  readonly answer: A
  readonly steps: ReadonlyArray<JobChange<B["job"]>>
}

/** A verb that is run again begins with nothing. */
export function* counted<A, B extends Backend>(
  rows: JobRows<B>,
  verb: (rows: JobRows<B>) => Tx<A, B>
): Tx<Counted<A, B>, B> {
  const steps: Array<JobChange<B["job"]>> = []
  const answer = yield* verb({
    ...rows,
    saveJobs: function* (changed, now) {
      steps.push(...changed)
      yield* rows.saveJobs(changed, now)
    }
  })
  return { answer, steps }
}
