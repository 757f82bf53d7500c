/**
 * Accepting a send: the key, the quota, the minimum wait, and then everything that follows from it. Inside the embedder's
 * transaction nothing is locked that another send needs, so the send is counted and not refused (docs/adr/0031).
 */

import * as Address from "../../domain/Address.ts"
import * as Idempotency from "../../domain/account/Idempotency.ts"
import * as Plan from "../../domain/account/Plan.ts"
import * as Time from "../../domain/Instant.ts"
import * as Claiming from "../../domain/job/Claiming.ts"
import * as Job from "../../domain/job/Job.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import * as Pacing from "../../domain/session/Pacing.ts"
import * as JobSteps from "../JobSteps.ts"
import type { AcceptSend } from "../JobStore.ts"
import { AcceptResult } from "../JobStore.ts"
import type { Program } from "../Program.ts"
import type { AcceptanceFacts, JobRows } from "./JobRows.ts"

/** The refusal of the send; undefined when it is accepted. */
const refusal = (
  { claim, demand, idempotency, isEmbedded, now }: AcceptSend,
  facts: AcceptanceFacts
): AcceptResult | undefined => {
  const { record } = facts
  if (record !== null && idempotency !== null)
    return AcceptResult[Idempotency.decide(record, idempotency.fingerprint)]({ record })
  if (facts.isKeyLocked && idempotency !== null) return AcceptResult.KeyLocked({ key: idempotency.key })
  if (claim !== null && facts.isQuarantined) return AcceptResult.Quarantined()
  const decide = isEmbedded === true ? Plan.decideEmbedded : Plan.decide
  const verdict = decide(demand, facts, now)
  switch (verdict._tag) {
    case "QuotaExhausted":
      return AcceptResult.QuotaExhausted(verdict)
    case "TooSoon":
      return AcceptResult.TooSoon(verdict)
    case "Allowed":
      return undefined
  }
}

/** A message that goes without waiting is counted by its session's pace and phones: what waits keeps its distance. */
function* countSent(rows: JobRows, { now, recipients, sessionId }: AcceptSend): Program<void> {
  const { messagesPerSecond: perSecond, pairIntervalMs: interval } = yield* rows.pacing(sessionId)
  if (perSecond === null && interval === null) return
  yield* rows.lockPacing(sessionId)
  if (perSecond !== null) {
    let arrival = yield* rows.arrival(sessionId)
    for (const _ of recipients) arrival = Pacing.count(arrival, perSecond, now)
    if (arrival !== null) yield* rows.saveArrival(sessionId, arrival)
  }
  if (interval !== null) {
    const phones = new Set(recipients.flatMap(({ address }) => Address.keysOf(address)))
    yield* rows.savePhones(sessionId, [...phones], Time.after(now, interval))
  }
}

/** `JobStore.accept`. */
export function* accept(rows: JobRows, command: AcceptSend): Program<AcceptResult> {
  const {
    accountId,
    claim,
    content,
    demand,
    idempotency,
    isEmbedded: embedded,
    now,
    priority,
    publicKey,
    recipients,
    sessionId
  } = command
  const key = idempotency === null ? null : idempotency.key
  const isEmbedded = embedded === true
  const asksLast = demand.minimumWaitMs > 0
  const query = { publicKey, key, isEmbedded, accountId, sessionId, priority, now, content, asksLast }
  const facts = yield* rows.acceptanceFacts(query)
  const refused = refusal(command, facts)
  if (refused !== undefined) return refused

  const job = Job.newJob({
    ...command,
    recipients: recipients.length,
    requestId: command.requestId ?? null,
    idempotencyKey: key
  })
  // Its commit comes when the embedder likes, or its time later, so it has no place among those that are due in their order.
  // One that is stopped has none either.
  const counted = yield* rows.withBeside(job)
  const stopped = Transitions.stopTogether(counted, now)
  const hasPlace = claim === null && !isEmbedded && job.timing === null && stopped === counted
  const dueAt = hasPlace ? Claiming.firstDueAt(facts.lastDueAt, now) : null
  if (!(yield* rows.insertJob(command, job, dueAt, facts))) {
    const again = refusal(command, yield* rows.acceptanceFacts(query))
    if (again === undefined) throw new Error("A send has the key of one that cannot be found")
    return again
  }
  if (stopped !== counted) {
    const state = { ...(yield* rows.inserted(job)), hasRow: true }
    yield* rows.saveJobs(JobSteps.withJob(state, stopped), now)
  }
  if (claim === null) return AcceptResult.Accepted({ job: stopped, claimed: null })

  const state = yield* rows.inserted(job)
  yield* countSent(rows, command)
  const all = recipients.map((each, index) => Job.newRecipient(each, index, now))
  const step = JobSteps.claim(state, content, all, now, null)
  const [fence = 0] = yield* rows.saveClaims(claim, [{ step, deferred: [] }], [], now)
  return AcceptResult.Accepted({ job: step.state.job, claimed: { ...step.claimed, fence } })
}
