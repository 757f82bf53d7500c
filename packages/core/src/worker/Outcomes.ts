/** Counts what commits ended, and says in the log how a job ended in which somebody was lost. */
import * as Effect from "effect/Effect"
import type { Job } from "../domain/job/Job.ts"
import * as Metrics from "../runtime/Metrics.ts"
import type { Endings } from "../storage/Endings.ts"

export type Tell = (ends: Endings) => Effect.Effect<void>

const lost = ({ accountId, content, counts, id: jobId, recipients, sessionId }: Job): Effect.Effect<void> => {
  // The sender of a direct message is answered what became of it.
  if (content.kind === "direct") return Effect.void
  const { failed, unknown } = counts
  const line = `Job ${jobId} ended: of ${recipients} recipient(s) ${failed} failed, and ${unknown} are unknown`
  return Effect.annotateLogs(unknown > 0 ? Effect.logWarning(line) : Effect.logInfo(line), {
    jobId,
    accountId,
    sessionId,
    recipients,
    failed,
    unknown
  })
}

export const make = (): Tell => {
  const count = Metrics.ofOutcomes()
  return ({ jobs, recipients }) => {
    for (const ended of recipients) count(ended.status, ended.code, ended.count)
    return jobs.length === 0 ? Effect.void : Effect.forEach(jobs, lost, { discard: true })
  }
}
