/** The ends that a commit brought: recipients, summed by their outcome, and jobs with some that were lost. */
import type { Job } from "../domain/job/Job.ts"
import * as Jobs from "../domain/job/Job.ts"
import * as Recipient from "../domain/job/Recipient.ts"
import type { Change } from "../domain/job/Transitions.ts"

export interface EndedRecipients {
  readonly status: Recipient.Status
  /** The failure's; null where there is none. */
  readonly code: string | null
  readonly count: number
}

export interface Endings {
  readonly recipients: ReadonlyArray<EndedRecipients>
  /** Jobs that ended, some of whose recipients failed or are unknown. */
  readonly jobs: ReadonlyArray<Job>
}

export const nothing: Endings = { recipients: [], jobs: [] }

/** A receipt after an acceptance is no other outcome. */
const isEnd = ({ after, before }: Change): boolean =>
  after.status !== before.status &&
  Recipient.leftDispatch(after.status) &&
  (!Recipient.leftDispatch(before.status) || !Recipient.wasAccepted(after.status))

const isFlawed = ({ counts }: Job): boolean => counts.failed + counts.unknown > 0

export const endingsOf = (
  steps: ReadonlyArray<{ readonly before: Job; readonly after: Job; readonly changes: ReadonlyArray<Change> }>
): Endings => {
  const sums = new Map<string, EndedRecipients>()
  const jobs: Array<Job> = []
  for (const { after: job, before, changes } of steps) {
    for (const change of changes) {
      if (!isEnd(change)) continue
      const { failure, status } = change.after
      const code = failure?.code ?? null
      const name = code === null ? status : `${status} ${code}`
      sums.set(name, { status, code, count: (sums.get(name)?.count ?? 0) + 1 })
    }
    if (!Jobs.hasEnded(before.status) && Jobs.hasEnded(job.status) && isFlawed(job)) jobs.push(job)
  }
  return { recipients: [...sums.values()], jobs }
}
