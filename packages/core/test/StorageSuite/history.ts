/**
 * Any history of a store: sends, windows, reports, deaths, disconnections and an operator's words in any order.
 * After each step what is read must agree with itself, and in the end every job can end.
 */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Job from "../../src/domain/job/Job.ts"
import * as Recipient from "../../src/domain/job/Recipient.ts"
import type { RetrySelection } from "../../src/domain/job/RetrySelection.ts"
import type { State } from "../../src/domain/session/Session.ts"
import type { ClaimedJob, Settlement } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { everyLost, failure, find, listen, now, owner, results } from "./Setup.ts"

const outcome = FastCheck.constantFrom<Outcome>(
  Outcome.Accepted({ providerId: "p", status: "accepted" }),
  Outcome.Accepted({ providerId: null, status: "sent" }),
  Outcome.Failed({ failure }),
  Outcome.Unknown({ failure }),
  Outcome.Skipped({ failure }),
  Outcome.Retry({ at: Time.after(now, 3), failure, maybeSent: false }),
  Outcome.Retry({ at: Time.after(now, 3), failure, maybeSent: true }),
  Outcome.Released({ maybeSent: false })
)

const pick = FastCheck.nat(50)

type Step =
  | { readonly do: "accept"; readonly phones: number; readonly own: boolean; readonly session: number }
  | { readonly do: "claim"; readonly limit: number }
  | { readonly do: "settle"; readonly some: ReadonlyArray<readonly [place: number, outcome: Outcome]> }
  | {
      readonly do: "receive"
      readonly job: number
      readonly index: number
      readonly status: Recipient.Reported
    }
  | { readonly do: "rescue"; readonly worker: string; readonly recoverable: boolean }
  | { readonly do: "cancel"; readonly job: number }
  | { readonly do: "retry"; readonly job: number; readonly selection: RetrySelection }
  | { readonly do: "transition"; readonly session: number; readonly state: State }

const often = (weight: number, arbitrary: FastCheck.Arbitrary<Step>) => ({ weight, arbitrary })

const reported = FastCheck.constantFrom<Recipient.Reported>("accepted", "sent", "delivered", "read", "failed")

const step: FastCheck.Arbitrary<Step> = FastCheck.oneof(
  often(
    3,
    FastCheck.tuple(FastCheck.integer({ min: 1, max: 4 }), FastCheck.boolean(), pick).map(
      ([phones, own, session]) => ({ do: "accept", phones, own, session })
    )
  ),
  often(
    6,
    FastCheck.integer({ min: 1, max: 5 }).map((limit) => ({ do: "claim", limit }))
  ),
  often(
    6,
    FastCheck.array(FastCheck.tuple(pick, outcome), { maxLength: 6 }).map((some) => ({ do: "settle", some }))
  ),
  often(
    3,
    FastCheck.tuple(pick, FastCheck.nat(3), reported).map(([job, index, status]) => ({
      do: "receive",
      job,
      index,
      status
    }))
  ),
  often(
    2,
    FastCheck.tuple(FastCheck.constantFrom("w", "own"), FastCheck.boolean()).map(([worker, recoverable]) => ({
      do: "rescue",
      worker,
      recoverable
    }))
  ),
  often(
    1,
    pick.map((job) => ({ do: "cancel", job }))
  ),
  often(
    1,
    FastCheck.tuple(
      pick,
      FastCheck.constantFrom<RetrySelection>(everyLost, { statuses: ["unknown"] }, { codes: ["broken"] })
    ).map(([job, selection]) => ({ do: "retry", job, selection }))
  ),
  often(
    1,
    FastCheck.tuple(pick, FastCheck.constantFrom<State>("connected", "connecting", "disconnected")).map(
      ([session, state]) => ({ do: "transition", session, state })
    )
  )
)

/** An attempt in the hands of a worker. */
interface Attempt {
  readonly jobId: string
  readonly index: number
  readonly fence: number
  readonly worker: string
}

const keyOf = ({ index, jobId }: Pick<Attempt, "jobId" | "index">): string => `${jobId} ${index}`

const at = <A>(items: ReadonlyArray<A>, place: number): A | undefined => items[place % items.length]

const make = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const owners = [yield* owner, yield* owner]
  for (const { accountId } of owners) yield* listen(accountId)

  let time = now
  const ids: Array<string> = []
  const connected = new Set(owners.map(({ sessionId }) => sessionId))
  /** Every attempt there ever was: late and repeated outcomes are drawn from it, too. */
  const attempts: Array<Attempt> = []
  /** Those whose outcome counts. */
  const live = new Map<string, Attempt>()
  const seen = new Map<string, Job.RecipientResult>()
  const canceled = new Set<string>()

  const take = ({ fence, jobId, recipients }: ClaimedJob, worker: string): void => {
    for (const { index } of recipients) {
      const attempt = { jobId, index, fence, worker }
      expect(live.has(keyOf(attempt)), "a recipient is in two hands").toBe(false)
      live.set(keyOf(attempt), attempt)
      attempts.push(attempt)
    }
  }

  const claim = Effect.fnUntraced(function* (limit: number) {
    const { claimed } = yield* jobs.settleAndClaim({
      now: time,
      settlements: [],
      claim: { worker: "w", limit }
    })
    for (const job of claimed) {
      expect(connected.has(job.sessionId)).toBe(true)
      take(job, "w")
    }
    const taken = claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)
    expect(taken).toBeLessThanOrEqual(limit)
    return taken
  })

  const settle = Effect.fnUntraced(function* (settlements: ReadonlyArray<Settlement>) {
    const counting = settlements.filter((each) => {
      const counts = live.get(keyOf(each))?.fence === each.fence
      if (counts) live.delete(keyOf(each))
      return counts
    })
    const { settled } = yield* jobs.settleAndClaim({ now: time, settlements, claim: null })
    expect(settled).toBe(counting.length)
  })

  const rescue = Effect.fnUntraced(function* (dead: string, recoverable: boolean) {
    yield* jobs.rescue({ worker: dead, now: time, recoverable: recoverable ? ["sandbox"] : [] })
    for (const [key, { worker }] of live) if (worker === dead) live.delete(key)
  })

  const run = Effect.fnUntraced(function* (step: Step) {
    time = Time.after(time, 1)
    switch (step.do) {
      case "accept": {
        const who = at(owners, step.session)
        if (who === undefined) return
        const command = Fixtures.send(who, { phones: step.phones, now: time, claim: step.own ? "own" : null })
        const accepted = yield* jobs.accept(command)
        ids.push(command.jobId)
        if (accepted._tag === "Accepted" && accepted.claimed !== null) take(accepted.claimed, "own")
        return
      }
      case "claim":
        yield* claim(step.limit)
        return
      case "settle":
        yield* settle(
          step.some.flatMap(([place, outcome]) => {
            const attempt = at(attempts, place)
            if (attempt === undefined) return []
            const { fence, index, jobId } = attempt
            return [{ jobId, fence, index, outcome }]
          })
        )
        return
      case "receive": {
        const jobId = at(ids, step.job)
        if (jobId === undefined) return
        const { status } = step
        const messageId = Ids.messageId(jobId, step.index)
        const report = {
          messageId,
          status,
          at: time,
          failure: status === "failed" ? failure : null,
          providerId: null
        }
        yield* jobs.receive({ now: time, reports: [report] })
        return
      }
      case "rescue":
        yield* rescue(step.worker, step.recoverable)
        return
      case "cancel":
        yield* jobs.cancel({ jobId: at(ids, step.job) ?? "", now: time })
        return
      case "retry": {
        const jobId = at(ids, step.job) ?? ""
        yield* jobs.retry({ jobId, now: time, selection: step.selection })
        for (const { index, status } of yield* results(jobId)) {
          const key = keyOf({ jobId, index })
          // An attempt that a report overtook is over with it.
          if (status === "queued") live.delete(key)
        }
        return
      }
      case "transition": {
        const id = at(owners, step.session)?.sessionId ?? ""
        yield* sessions.transition({ id, state: step.state, reason: null, now: time })
        if (step.state === "connected") connected.add(id)
        else connected.delete(id)
      }
    }
  })

  /** What is read of each job agrees with itself, and with what was read before. */
  const check = Effect.fnUntraced(function* (step: Step["do"] | "end") {
    for (const jobId of ids) {
      const job = yield* find(jobId)
      const recipients = yield* results(jobId)
      const tally = { ...Recipient.noCounts }
      for (const { status } of recipients) tally[status] += 1
      expect(recipients).toHaveLength(job.recipients)
      expect(job.counts).toEqual(tally)
      expect(Job.hasEnded(job.status)).toBe(tally.queued + tally.sending === 0)
      expect(job.completedAt !== null).toBe(Job.hasEnded(job.status))
      expect(job.pauseReason !== null).toBe(job.status === "paused")
      if (Job.isCanceled(job.status)) canceled.add(jobId)
      expect(Job.isCanceled(job.status), "a canceled job was opened").toBe(canceled.has(jobId))
      for (const recipient of recipients) {
        const key = keyOf({ jobId, index: recipient.index })
        const before = seen.get(key) ?? recipient
        seen.set(key, recipient)
        expect(recipient.updatedAt).toBeLessThanOrEqual(time)
        const fallen = Recipient.rank(recipient.status) < Recipient.rank(before.status)
        const waitsAgain =
          step === "settle" &&
          before.status === "sending" &&
          recipient.status === "queued" &&
          recipient.attempts === 0 &&
          !recipient.maybeSent
        expect(fallen && step !== "retry" && !waitsAgain, "a status was pulled down").toBe(false)
        const steps = recipient.sequence - before.sequence
        expect(recipient.status === before.status ? steps >= 0 : steps > 0, "the sequence did not grow").toBe(
          true
        )
        const inFlight = recipient.status === "sending" && recipient.nextAt === null
        expect(inFlight && !live.has(key), "an attempt that nobody makes").toBe(false)
      }
    }
  })

  /** Everything is connected, dead workers are rescued, and a worker without faults sends what is left. */
  const finish = Effect.gen(function* () {
    time = Time.after(time, 100_000)
    for (const { sessionId } of owners) {
      yield* sessions.transition({ id: sessionId, state: "connected", reason: null, now: time })
      connected.add(sessionId)
    }
    for (const worker of ["w", "own"]) yield* rescue(worker, true)
    // Behind the longest wait of a suspect.
    time = Time.after(time, 1_000_000)
    while ((yield* claim(250)) > 0) {
      time = Time.after(time, 1000)
      const outcome = Outcome.Accepted({ providerId: "end", status: "accepted" })
      yield* settle([...live.values()].map(({ fence, index, jobId }) => ({ jobId, fence, index, outcome })))
    }
    for (const jobId of ids) expect(Job.hasEnded((yield* find(jobId)).status), "a job never ends").toBe(true)
    expect(yield* jobs.nextDue(time)).toBeNull()
  })

  /** The last event of each recipient and job tells what is read of it, and no sequence is told twice. */
  const checkEvents = Effect.gen(function* () {
    const webhooks = yield* WebhookStore
    const claim = Fixtures.deliveryClaim({ worker: "events" })
    const { claimed } = yield* webhooks.settleAndClaim({ now: Time.at(time + 1), settlements: [], claim })
    const told = claimed.map(
      ({
        body
      }): {
        readonly type: string
        readonly created_at: string
        readonly data: {
          readonly job_id?: string
          readonly message_id?: string
          readonly sequence?: number
          readonly status?: string
        }
      } => JSON.parse(body)
    )
    for (const jobId of ids) {
      const { status } = yield* find(jobId)
      const ofJob = told.filter(({ data, type }) => data.job_id === jobId && type.startsWith("job."))
      const last = ofJob
        .map(({ created_at }) => created_at)
        .sort()
        .at(-1)
      expect(ofJob.filter(({ created_at }) => created_at === last).map(({ type }) => type)).toContain(
        `job.${status}`
      )
      for (const recipient of yield* results(jobId)) {
        const messageId = Ids.messageId(jobId, recipient.index)
        const mine = told.filter(({ data }) => data.message_id === messageId).map(({ data }) => data)
        const sequences = mine.map(({ sequence }) => sequence ?? 0)
        expect(new Set(sequences).size).toBe(sequences.length)
        if (recipient.status === "canceled") continue
        const latest = mine.find(({ sequence }) => sequence === Math.max(...sequences))
        expect([latest?.status, latest?.sequence]).toEqual([recipient.status, recipient.sequence])
      }
    }
  })

  return { run, check, finish, checkEvents }
})

export const suite = (layer: Stored): void => {
  describe("any history", () => {
    it.effect.prop(
      "adds up after each step, tells what it did, and can end",
      { steps: FastCheck.array(step, { minLength: 5, maxLength: 40 }) },
      ({ steps }) =>
        Effect.gen(function* () {
          const { check, checkEvents, finish, run } = yield* make
          for (const each of steps) {
            yield* run(each)
            yield* check(each.do)
          }
          yield* finish
          yield* check("end")
          yield* checkEvents
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns: 30 }, timeout: 60_000 }
    )
  })
}
