/** Retries of many jobs (contract.md §12): a step retries one job and moves its plan on, in one commit. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import type { Plan, Wanted } from "../../src/domain/job/RetryPlan.ts"
import * as RetryPlan from "../../src/domain/job/RetryPlan.ts"
import { AuditStore } from "../../src/storage/AuditStore.ts"
import { ErasureStore } from "../../src/storage/ErasureStore.ts"
import type { Settlement } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { RestoreStore } from "../../src/storage/RestoreStore.ts"
import { RetryPlanStore } from "../../src/storage/RetryPlanStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, failure, find, now, owner, purgeWalk, results } from "./Setup.ts"

const ids = Fixtures.makeIds()

const passing = { ...failure, code: "busy", permanent: false }
const broken = Outcome.Failed({ failure: passing })
const lost = Outcome.Unknown({ failure: { ...passing, code: "outcome_unknown" } })
const gone = Outcome.Failed({ failure })
const taken = Outcome.Accepted({ providerId: null, status: "accepted" })

/** Settles all that is due, one outcome after the other as they are given, and again from the first. */
const settleAll = Effect.fnUntraced(function* (made: ReadonlyArray<Outcome>, at = now) {
  const settlements = (yield* claim(10_000, at)).flatMap(({ fence, jobId, recipients }) =>
    recipients.map(
      ({ index }): Settlement => ({ jobId, fence, index, outcome: made[index % made.length] ?? taken })
    )
  )
  yield* (yield* JobStore).settleAndClaim({ now: at, settlements, claim: null })
  return settlements.length
})

/** Jobs whose recipients end by the outcomes. */
const jobsOf = Effect.fnUntraced(function* (
  who: Owner,
  made: ReadonlyArray<Outcome>,
  some: Parameters<typeof Fixtures.send>[1] & { readonly count?: number } = {}
) {
  const { count = 1, ...rest } = some
  const jobs = yield* JobStore
  const jobIds: Array<string> = []
  for (let index = 0; index < count; index++) {
    const command = Fixtures.send(who, { phones: made.length, ...rest })
    yield* jobs.accept(command)
    jobIds.push(command.jobId)
  }
  yield* settleAll(made)
  return jobIds
})

const begin = Effect.fnUntraced(function* (
  filter: Wanted["filter"],
  selection: Wanted["selection"] = {},
  at = now + 10
) {
  const plan = RetryPlan.begin(
    { filter, selection },
    { expected: { jobs: 0, recipients: 0, isExact: true }, id: ids.uuid(at), now: at, operator: "ana" }
  )
  yield* (yield* RetryPlanStore).add({ plan, key: null })
  return plan
})

/** The next job of a plan, as a worker finds it. */
const next = Effect.fnUntraced(function* (planId: string, at: Time.Instant) {
  const plan = yield* found(planId)
  const page = { limit: 1, after: plan.place }
  const { items, next } = yield* (yield* JobStore).list(RetryPlan.listed(plan, plan.begunAt, page))
  return {
    planId,
    from: plan.place,
    jobId: items[0]?.id ?? null,
    to: next,
    left: [],
    actId: ids.uuid(at),
    now: at
  }
})

const found = Effect.fnUntraced(function* (id: string) {
  return (yield* (yield* RetryPlanStore).find(id)) ?? (yield* Effect.dieMessage("The plan is gone."))
})

/** Carries a plan out; answers it. */
const carryOut = Effect.fnUntraced(function* (planId: string, at = now + 20) {
  const store = yield* RetryPlanStore
  for (let plan: Plan = yield* found(planId); plan.status === "running"; plan = yield* found(planId))
    yield* store.step(yield* next(planId, at))
  return yield* found(planId)
})

const statuses = Effect.fnUntraced(function* (jobId: string) {
  return (yield* results(jobId)).map(({ status }) => status)
})

export const suite = (layer: Stored): void => {
  describe("a retry of many jobs", () => {
    it.effect("takes of each job whom the retry of one job takes, and tells the others apart", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const jobs = yield* jobsOf(who, [taken, broken, lost, gone], { count: 3, reference: "spring" })
        const [other = ""] = yield* jobsOf(who, [broken], { reference: "autumn" })
        const plan = yield* begin({ reference: "spring" })
        const code = (code: string, status: "failed" | "unknown") => [{ code, status, recipients: 3 }]
        const sums = {
          jobs: 3,
          counts: { failed: 3, unknown: 0 },
          codes: code("busy", "failed"),
          unknown: code("outcome_unknown", "unknown"),
          permanent: code("broken", "failed"),
          changed: 0,
          refused: [],
          again: [],
          waiting: [],
          costs: [{ currency: "EUR", total: "0.0300", isComplete: true }]
        }
        const store = yield* RetryPlanStore
        expect(yield* store.count({ jobIds: [...jobs, ids.jobId(now)], selection: {}, now })).toEqual(sums)
        expect(yield* statuses(jobs[0] ?? "")).toEqual(["accepted", "failed", "unknown", "failed"])
        expect(yield* carryOut(plan.id)).toEqual({
          ...plan,
          status: "completed",
          updatedAt: now + 20,
          endedAt: now + 20,
          place: expect.any(Number),
          sums
        })
        for (const job of jobs)
          expect(yield* statuses(job)).toEqual(["accepted", "queued", "unknown", "failed"])
        expect(yield* statuses(other)).toEqual(["failed"])
        const page = { limit: 9, after: null }
        const acts = yield* (yield* AuditStore).list({ target: jobs[1] ?? "", page })
        expect(acts.items).toMatchObject([
          { operator: "ana", at: now + 20, after: { retry_id: plan.id, retried: { failed: 1, unknown: 0 } } }
        ])
        expect(yield* settleAll([taken], now + 30)).toBe(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("takes unknown ones only where the statuses name them, and permanent ones by their code", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const [job = ""] = yield* jobsOf(who, [broken, lost, gone])
        const { accountId } = who
        yield* carryOut((yield* begin({ accountId }, { codes: ["broken"] })).id)
        expect(yield* statuses(job)).toEqual(["failed", "unknown", "queued"])
        const { sums } = yield* carryOut((yield* begin({ accountId }, { statuses: ["unknown"] })).id)
        expect(sums).toMatchObject({ counts: { failed: 0, unknown: 1 }, permanent: [] })
        expect(yield* statuses(job)).toEqual(["failed", "queued", "queued"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("retries nobody twice: the same step again changes nothing, whoever makes it", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const jobs = yield* jobsOf(who, [broken], { count: 2 })
        const store = yield* RetryPlanStore
        const plan = yield* begin({ accountId: who.accountId })
        const step = yield* next(plan.id, Time.after(now, 20))
        expect(yield* Effect.all([store.step(step), store.step(step)], { concurrency: 2 })).toEqual(
          expect.arrayContaining([
            { _tag: "Moved" },
            { _tag: "Stepped", retried: 1, plan: expect.objectContaining({ place: step.to }) }
          ])
        )
        // It fails anew, and at once: a process that begins again where it was finds the other job.
        yield* settleAll([broken], now + 20)
        yield* store.step(step)
        expect((yield* carryOut(plan.id)).sums).toMatchObject({ jobs: 2, counts: { failed: 2 } })
        const retried = yield* Effect.forEach(jobs, results)
        expect(retried.flat().map(({ requeuedAt }) => requeuedAt)).toEqual([now + 20, now + 20])
        expect(yield* settleAll([taken], now + 30)).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("does not take whom somebody retried by hand since it began, nor whoever failed since", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const [byHand = ""] = yield* jobsOf(who, [broken, broken])
        const running = Fixtures.send(who, { phones: 2, now: Time.after(now, 5) })
        yield* jobs.accept(running)
        const plan = yield* begin({ accountId: who.accountId })
        yield* jobs.retry({ jobId: byHand, now: Time.after(now, 12), selection: { phones: ["34600000000"] } })
        yield* settleAll([broken], now + 13)
        const { sums } = yield* carryOut(plan.id)
        expect(sums).toMatchObject({ jobs: 1, counts: { failed: 1 }, changed: 3 })
        expect(yield* statuses(byHand)).toEqual(["failed", "queued"])
        expect(yield* statuses(running.jobId)).toEqual(["failed", "failed"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells who sent again those of whom it finds nobody, when, and by which retry", () =>
      Effect.gen(function* () {
        const [jobs, store] = [yield* JobStore, yield* RetryPlanStore]
        const who = yield* owner
        const [job = "", other = ""] = yield* jobsOf(who, [broken, broken, taken], { count: 2 })
        const at = Time.after(now, 12)
        const act = (operator: string, target: string, retryId?: string) =>
          Effect.flatMap(AuditStore, (audit) =>
            audit.append({
              entry: {
                ...{ id: ids.uuid(at), operator, address: null, requestId: null, at, target, before: null },
                operation: "jobs.retry",
                after: { retry_id: retryId, dry_run: operator === "eve" }
              },
              retainSince: Time.at(0)
            })
          )
        yield* jobs.retry({ jobId: job, now: at, selection: {} })
        yield* act("eve", job)
        yield* act("bob", job)
        const first = { jobs: 1, recipients: 2, jobId: job, at, operator: "bob", retryId: null }
        const again = yield* jobs.retry({ jobId: job, now: Time.after(at, 1), selection: {} })
        expect(again).toMatchObject({ counts: { failed: 0 }, sums: { again: [first] } })
        const one = { jobId: job, now: Time.after(at, 1), selection: { phones: ["34600000001"] } }
        expect(yield* jobs.retry(one)).toMatchObject({ sums: { again: [{ ...first, recipients: 1 }] } })
        const query = { jobIds: [job, other], selection: {}, now: Time.after(at, 1) }
        expect(yield* store.count(query)).toMatchObject({ jobs: 1, counts: { failed: 2 } })
        yield* jobs.retry({ jobId: other, now: at, selection: {} })
        yield* act("ana", other, "plan-1")
        const second = { ...first, jobId: other, operator: "ana", retryId: "plan-1" }
        expect(yield* store.count(query)).toMatchObject({
          jobs: 0,
          again: expect.arrayContaining([first, second])
        })
        const { id } = yield* begin({ accountId: who.accountId })
        yield* store.step({ ...(yield* next(id, Time.after(now, 20))), left: [job, other] })
        const { sums } = yield* found(id)
        // They were sent again after it began.
        expect(sums).toMatchObject({ jobs: 0, changed: 4 })
        expect(RetryPlan.whyNobody(sums)).toContain(
          `2 were sent again by bob at ${Time.format(at)}, and did not fail since.`
        )
        expect(RetryPlan.whyNobody(sums)).toContain("2 were sent again by ana in the retry plan-1 at ")
        // Who fails anew is nobody's of before.
        yield* settleAll([broken], now + 30)
        expect(yield* store.count(query)).toMatchObject({ jobs: 2, again: [] })
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells what a job is refused for, and goes on with the others", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const [first = "", canceled = "", last = ""] = yield* jobsOf(who, [broken, broken], { count: 3 })
        yield* jobs.retry({ jobId: canceled, now, selection: { phones: ["34600000000"] } })
        yield* jobs.cancel({ jobId: canceled, now })
        const plan = yield* carryOut((yield* begin({ accountId: who.accountId })).id)
        expect(plan.sums).toMatchObject({
          jobs: 2,
          counts: { failed: 4 },
          refused: [{ reason: "job_ended", jobs: 1, recipients: 1, jobId: canceled }]
        })
        expect(yield* statuses(first)).toEqual(["queued", "queued"])
        expect(yield* statuses(last)).toEqual(["queued", "queued"])
        expect((yield* find(canceled)).status).toBe("canceled")
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells what waits for a session that may not send", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const [job = ""] = yield* jobsOf(who, [broken, broken])
        const state = { state: "disconnected", reason: "gone" } as const
        yield* (yield* SessionStore).transition({ id: who.sessionId, ...state, now: Time.after(now, 5) })
        const { sums } = yield* carryOut((yield* begin({ sessionId: who.sessionId })).id)
        expect(sums).toMatchObject({
          counts: { failed: 2 },
          waiting: [{ limiter: "session", jobs: 1, recipients: 2, jobId: job }]
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("goes no further once it is canceled, and is canceled once", () =>
      Effect.gen(function* () {
        const store = yield* RetryPlanStore
        const who = yield* owner
        const jobs = yield* jobsOf(who, [broken], { count: 3 })
        const { id } = yield* begin({ accountId: who.accountId })
        yield* store.step(yield* next(id, Time.after(now, 20)))
        const before = yield* next(id, Time.after(now, 21))
        expect(yield* store.cancel({ id, now: Time.after(now, 21) })).toMatchObject({
          status: "canceled",
          endedAt: now + 21,
          sums: { jobs: 1 }
        })
        expect(yield* store.step(before)).toEqual({ _tag: "Moved" })
        expect(yield* store.cancel({ id, now: Time.after(now, 22) })).toMatchObject({ endedAt: now + 21 })
        expect(yield* store.cancel({ id: ids.uuid(now), now })).toBe(null)
        const after = yield* Effect.forEach(jobs, statuses)
        expect(after.flat().toSorted()).toEqual(["failed", "failed", "queued"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is listed newest first, and with those that go on by age", () =>
      Effect.gen(function* () {
        const store = yield* RetryPlanStore
        const plans = [yield* begin({ reference: "a" }), yield* begin({ reference: "b" }), yield* begin({})]
        const names = (some: ReadonlyArray<Plan>) =>
          some.map(({ id }) => plans.findIndex((each) => each.id === id))
        expect(names(yield* store.running)).toEqual([0, 1, 2])
        yield* carryOut(plans[0]?.id ?? "")
        expect(names(yield* store.running)).toEqual([1, 2])
        const page = yield* store.list({ limit: 2, after: null })
        expect(names(page.items)).toEqual([2, 1])
        expect(names((yield* store.list({ limit: 2, after: page.next })).items)).toEqual([0])
        expect(yield* store.find(ids.uuid(now))).toBe(null)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is made once for a key, and a key stands for one request", () =>
      Effect.gen(function* () {
        const store = yield* RetryPlanStore
        const plan = RetryPlan.begin(
          { filter: { reference: "spring" }, selection: { codes: ["busy"] } },
          {
            expected: { jobs: 1, recipients: 2, isExact: false },
            id: ids.uuid(now),
            now,
            operator: null
          }
        )
        const key = { key: "once", fingerprint: "same" }
        expect(yield* store.findByKey(key)).toBe(null)
        const added = yield* Effect.all(
          [1, 2].map((n) => store.add({ plan: { ...plan, id: n === 1 ? plan.id : ids.uuid(now) }, key })),
          { concurrency: 2 }
        )
        expect(added.map(({ _tag }) => _tag).toSorted()).toEqual(["Added", "Replayed"])
        expect(added[0]?.plan).toEqual(added[1]?.plan)
        expect(yield* store.findByKey(key)).toMatchObject({ _tag: "Replayed" })
        expect(yield* store.add({ plan, key: { ...key, fingerprint: "other" } })).toMatchObject({
          _tag: "KeyConflict"
        })
        expect((yield* store.list({ limit: 10, after: null })).items).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("stops while a restored store is held, and ends when what was open before is not sent", () =>
      Effect.gen(function* () {
        const [jobs, restore, store] = [yield* JobStore, yield* RestoreStore, yield* RetryPlanStore]
        const who = yield* owner
        yield* jobsOf(who, [broken], { count: 2 })
        const { id } = yield* begin({ accountId: who.accountId })
        yield* restore.place({ now: Time.after(now, 15) })
        const step = yield* next(id, Time.after(now, 20))
        expect(yield* store.step(step)).toEqual({ _tag: "Busy" })
        while (!(yield* restore.open({ way: "unknown", now: Time.after(now, 20) })).isOver) yield* Effect.void
        yield* restore.end
        expect(yield* found(id)).toMatchObject({ status: "canceled", sums: RetryPlan.none })
        const again = yield* begin({ accountId: who.accountId })
        yield* restore.place({ now: Time.after(now, 25) })
        while (!(yield* restore.open({ way: "send", now: Time.after(now, 26) })).isOver) yield* Effect.void
        yield* restore.end
        expect((yield* carryOut(again.id, now + 30)).sums.jobs).toBe(2)
        expect(
          (yield* jobs.list({ by: {}, kind: "template", has: "failed", page: { limit: 5, after: null } }))
            .items
        ).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is kept as long as the results of its account, and while it goes on", () =>
      Effect.gen(function* () {
        const store = yield* RetryPlanStore
        const { accountId } = yield* owner
        const [done, going] = [yield* begin({ accountId }), yield* begin({ reference: "spring" })]
        yield* carryOut(done.id)
        const year = 401 * 86_400_000
        expect(yield* purgeWalk("retryPlans", Time.after(now, 86_400_000))).toEqual([])
        expect(yield* purgeWalk("retryPlans", Time.after(now, year))).toMatchObject([{ accountId, rows: 1 }])
        expect((yield* store.list({ limit: 9, after: null })).items.map(({ id }) => id)).toEqual([going.id])
        yield* store.cancel({ id: going.id, now })
        expect(yield* purgeWalk("retryPlans", Time.after(now, year))).toEqual([])
        expect((yield* store.list({ limit: 9, after: null })).items).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("names nobody who was erased", () =>
      Effect.gen(function* () {
        const [erasures, store] = [yield* ErasureStore, yield* RetryPlanStore]
        const { id } = yield* begin({ reference: "for +34600001234", templateId: 7 })
        const other = yield* begin({ reference: "spring" })
        const names = [
          { kind: "phone", text: "34600001234", token: "erased:0123456789abcdef01234567" }
        ] as const
        const sought = { names: { given: names, ofAccounts: {} }, accounts: null }
        const { counts } = yield* erasures.erase({
          erasureId: "none",
          part: "retries",
          after: null,
          sought,
          now
        })
        expect(counts.retries).toBe(1)
        const filter = { reference: "for +erased:0123456789abcdef01234567", templateId: 7 }
        expect(yield* store.find(id)).toMatchObject({ filter })
        expect(yield* store.find(other.id)).toEqual(other)
      }).pipe(Effect.provide(layer))
    )
  })
}
