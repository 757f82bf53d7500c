/** Looks up what the attempts of a claim need: senders, and once more the recipients' consent (decisions.md §4). */
import * as Arrays from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Job from "../domain/Job.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import * as Lines from "../sender/Lines.ts"
import type { Senders } from "../sender/Sender.ts"
import { canRecover } from "../sender/Sender.ts"
import { ConsentStore } from "../storage/ConsentStore.ts"
import * as JobSteps from "../storage/JobSteps.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { Circuits } from "./Circuits.ts"
import * as Dispatch from "./Dispatch.ts"

/** One job's recipients in a batch. */
export interface JobOfBatch {
  readonly job: ClaimedJob
  readonly attempts: Dispatch.Attempts
}

/**
 * In the order in which they are attempted. Jobs that cannot be prepared are released; where none can, it fails: then there
 * is nothing to wait for before the next claim.
 */
export type Prepare = (
  claimed: ReadonlyArray<ClaimedJob>,
  keeps: Dispatch.Keeps
) => Effect.Effect<ReadonlyArray<JobOfBatch>, StorageError>

export interface BatchPreparation {
  readonly prepare: Prepare
  /** Nothing of it is attempted: its recipients are due again, at no cost of an attempt. */
  readonly release: (job: ClaimedJob) => JobOfBatch
}

export const make: Effect.Effect<
  BatchPreparation,
  never,
  Circuits | ConsentStore | SecretBox | Senders | SessionStore
> = Effect.gen(function* () {
  const circuits = yield* Circuits
  const consents = yield* ConsentStore
  const sessions = yield* SessionStore
  const resolve = yield* Lines.make

  /** Jobs of one session, account and purpose share the look-ups. */
  const prepareAlike = Effect.fnUntraced(function* (alike: ReadonlyArray<ClaimedJob>, keeps: Dispatch.Keeps) {
    const [first] = alike
    if (first === undefined) return { jobs: [], atRisk: false }
    const { accountId, content, sessionId } = first
    const line = yield* Effect.flatMap(sessions.find(sessionId), resolve)
    const phones = Arrays.flatMap(alike, ({ recipients }) => recipients.map(({ phone }) => phone))
    const refusals = yield* consents.refusals({ accountId, phones, purpose: Job.purpose(content) })
    let next = 0
    const jobs = alike.map((job): JobOfBatch => {
      const offset = next
      next += job.recipients.length
      const circuit = circuits.of(sessionId, job.probe)
      return {
        job,
        attempts: Dispatch.window(line, job, circuit, keeps, (place) => refusals.get(offset + place))
      }
    })
    return { jobs, atRisk: line !== undefined && !canRecover(line.sender) }
  })

  const release = (job: ClaimedJob): JobOfBatch => ({
    job,
    attempts: Dispatch.released(job, circuits.of(job.sessionId, job.probe))
  })

  const prepare: Prepare = Effect.fnUntraced(function* (claimed, keeps) {
    const kindOf = ({ accountId, content, sessionId }: ClaimedJob) =>
      `${sessionId} ${accountId} ${Job.purpose(content)}`
    const batch: Array<JobOfBatch> = []
    const unprepared: Array<JobOfBatch> = []
    let failure: Cause.Cause<StorageError> = Cause.empty
    for (const alike of JobSteps.groupBy(claimed, kindOf).values()) {
      const exit = yield* Effect.exit(prepareAlike(alike, keeps))
      if (Exit.isFailure(exit)) {
        failure = exit.cause
        yield* Effect.logError("A batch could not begin", failure)
        for (const job of alike) unprepared.push(release(job))
        continue
      }
      const prepared = exit.value
      // First those whom a crash would leave unknown, also while they wait behind others.
      if (prepared.atRisk) batch.unshift(...prepared.jobs)
      else batch.push(...prepared.jobs)
    }
    if (batch.length === 0 && unprepared.length > 0) {
      for (const { job } of unprepared) circuits.of(job.sessionId, job.probe).unused()
      return yield* Effect.failCause(failure)
    }
    return [...batch, ...unprepared]
  })

  return { prepare, release }
})
