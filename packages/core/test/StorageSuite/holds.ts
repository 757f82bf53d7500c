/** A job that its client or its own failures hold, until the client lets it go on (contract.md §14 "Time"). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Report } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, failure, find, listen, now, owner } from "./Setup.ts"

const accepted = (phones: number) =>
  Effect.gen(function* () {
    const who = yield* owner
    const command = Fixtures.send(who, { phones })
    const jobs = yield* JobStore
    yield* jobs.accept(command)
    const { jobId } = command
    const hold = (isHeld: boolean) => jobs.hold({ jobId, isHeld, now })
    const state = Effect.map(jobs.find(jobId), (job) => [job?.status, job?.pauseReason])
    return { ...who, hold, jobId, jobs, state }
  })

const countOf = (claimed: ReadonlyArray<{ readonly recipients: ReadonlyArray<unknown> }>): number =>
  claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)

/** A send that half of its first four stop, of which each claim is answered as is said. */
const watched = (phones: number, dueAt?: (index: number) => Time.Instant) =>
  Effect.gen(function* () {
    const who = yield* owner
    yield* listen(who.accountId)
    const command = Fixtures.send(who, { phones, stopWhen: { failedPercent: 50, ofFirst: 4, over: "job" } })
    const jobs = yield* JobStore
    const recipients = command.recipients.map((each, index) => ({ ...each, dueAt: dueAt?.(index) ?? now }))
    yield* jobs.accept({ ...command, recipients })
    const { jobId } = command
    const fails = (index: number) => Outcome.Failed({ failure: { ...failure, message: `${index}` } })
    const accepts = (index: number) => Outcome.Accepted({ providerId: `p${index}`, status: "accepted" })
    const step = Effect.fnUntraced(function* (failed: ReadonlyArray<number>, at = now) {
      const claimed = yield* claim(250, at)
      const settlements = claimed.flatMap(({ fence, recipients }) =>
        recipients.map(({ index }) => ({
          jobId,
          fence,
          index,
          outcome: failed.includes(index) ? fails(index) : accepts(index)
        }))
      )
      yield* jobs.settleAndClaim({ now: at, settlements, claim: null })
      return settlements.map(({ index }) => index)
    })
    const report = (index: number): Report => ({
      messageId: Ids.messageId(jobId, index),
      status: "failed",
      at: Time.after(now, 5),
      failure,
      providerId: `p${index}`
    })
    const told = Effect.map(events(Time.after(now, 1000)), (all) =>
      all.flatMap(({ data, type }) => (type === "job.paused" ? [data["pause_reason"]] : []))
    )
    const state = Effect.map(find(jobId), ({ counts, pauseReason, status }) => [
      status,
      pauseReason,
      counts.failed
    ])
    const hold = (isHeld: boolean) => jobs.hold({ jobId, isHeld, now: Time.after(now, 100) })
    return { hold, jobId, jobs, report, state, step, told }
  })

/** Sends of one account and reference, in two sessions, that half of their first four stop together. */
const together = Effect.gen(function* () {
  const who = yield* owner
  const session = Fixtures.session(who.accountId)
  yield* (yield* SessionStore).create(session)
  yield* listen(who.accountId)
  const jobs = yield* JobStore
  const send = (some: Parameters<typeof Fixtures.send>[1] = {}) => {
    const stopWhen = { failedPercent: 50, ofFirst: 4, over: "reference" } as const
    const command = Fixtures.send(who, { phones: 3, reference: "spring", stopWhen, ...some })
    return Effect.as(jobs.accept(command), command.jobId)
  }
  const elsewhere = { sessionId: session.id }
  /** Claims all that may go, of which the first of each of these jobs fails. */
  const step = Effect.fnUntraced(function* (failing: ReadonlyArray<string>) {
    const claimed = yield* claim()
    const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
      recipients.map(({ index }) => ({
        jobId,
        fence,
        index,
        outcome:
          failing.includes(jobId) && index === 0
            ? Outcome.Failed({ failure })
            : Outcome.Accepted({ providerId: `${jobId}-${index}`, status: "accepted" as const })
      }))
    )
    yield* jobs.settleAndClaim({ now, settlements, claim: null })
    return new Set(claimed.map(({ jobId }) => jobId))
  })
  const report = (jobId: string, index: number): Report => ({
    messageId: Ids.messageId(jobId, index),
    status: "failed",
    at: Time.after(now, 5),
    failure,
    providerId: `${jobId}-${index}`
  })
  const state = (jobId: string) => Effect.map(find(jobId), ({ pauseReason, status }) => [status, pauseReason])
  const told = Effect.map(events(Time.after(now, 1000)), (all) =>
    all.flatMap(({ data, type }) => (type === "job.paused" ? [data["job_id"]] : [])).sort()
  )
  return { elsewhere, jobs, report, send, state, step, told }
})

const failing = ["paused", "failing"]

export const suite = (layer: Stored): void => {
  describe("a job that its client holds", () => {
    it.effect("is claimed by nobody until it goes on, and is due for nobody", () =>
      Effect.gen(function* () {
        const { hold, jobs, state } = yield* accepted(3)
        expect((yield* hold(true))?._tag).toBe("Done")
        expect(yield* state).toEqual(["paused", "client"])
        expect(countOf(yield* claim(10))).toBe(0)
        expect(yield* jobs.nextDue(now)).toBeNull()
        yield* hold(true)
        expect(yield* state).toEqual(["paused", "client"])
        yield* hold(false)
        expect(yield* state).toEqual(["queued", null])
        expect(countOf(yield* claim(10))).toBe(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("goes on with what was not attempted", () =>
      Effect.gen(function* () {
        const { hold, state } = yield* accepted(5)
        expect(countOf(yield* claim(2))).toBe(2)
        yield* hold(true)
        expect(countOf(yield* claim(10))).toBe(0)
        yield* hold(false)
        expect(yield* state).toEqual(["processing", null])
        expect(countOf(yield* claim(10))).toBe(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is held whatever becomes of its session", () =>
      Effect.gen(function* () {
        const { hold, sessionId, state } = yield* accepted(2)
        const sessions = yield* SessionStore
        yield* claim(1)
        const change = { id: sessionId, reason: null, now }
        yield* sessions.transition({ ...change, state: "disconnected" })
        expect(yield* state).toEqual(["paused", "session_disconnected"])
        yield* hold(true)
        yield* sessions.transition({ ...change, state: "connected" })
        expect(yield* state).toEqual(["paused", "client"])
        expect(countOf(yield* claim(10))).toBe(0)
        yield* hold(false)
        expect(countOf(yield* claim(10))).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is canceled as any other, and one that has ended is neither held nor let go on", () =>
      Effect.gen(function* () {
        const { hold, jobId, jobs, state } = yield* accepted(2)
        yield* hold(true)
        yield* jobs.cancel({ jobId, now })
        expect(yield* state).toEqual(["canceled", null])
        expect((yield* hold(true))?._tag).toBe("Ended")
        expect((yield* hold(false))?._tag).toBe("Ended")
        expect(yield* state).toEqual(["canceled", null])
        expect(yield* jobs.hold({ jobId: "none", isHeld: true, now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a job that its failures stop", () => {
    it.effect("is paused with no more of them than were asked for, is told once, and goes on unasked", () =>
      Effect.gen(function* () {
        const { hold, jobs, state, step, told } = yield* watched(10)
        const all = Array.from({ length: 10 }, (_, index) => index)
        expect(yield* step(all)).toEqual([0, 1])
        expect(yield* state).toEqual(["paused", "failing", 2])
        expect(yield* told).toEqual(["failing"])
        expect(yield* step(all)).toEqual([])
        expect(yield* jobs.nextDue(now)).toBeNull()
        yield* hold(true)
        expect(yield* state).toEqual(["paused", "failing", 2])
        yield* hold(false)
        expect(yield* state).toEqual(["processing", null, 2])
        expect(yield* step(all, Time.after(now, 200))).toHaveLength(8)
        expect(yield* state).toEqual(["completed", null, 10])
        expect(yield* told).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is not held up by those that succeed, nor stopped by failures behind its first", () =>
      Effect.gen(function* () {
        const { state, step } = yield* watched(10)
        expect(yield* step([0, 5, 6, 7])).toEqual([0, 1])
        expect(yield* step([])).toEqual([2])
        expect(yield* step([])).toEqual([3])
        expect(yield* step([5, 6, 7])).toEqual([4, 5, 6, 7, 8, 9])
        expect(yield* state).toEqual(["completed", null, 4])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is stopped by reports that come later, and by each once", () =>
      Effect.gen(function* () {
        const { hold, jobs, report, state, step, told } = yield* watched(250)
        yield* step([])
        const at = Time.after(now, 10)
        yield* jobs.receive({ now: at, reports: [report(1)] })
        yield* jobs.receive({ now: at, reports: [report(1)] })
        expect(yield* state).toEqual(["processing", null, 1])
        expect(yield* step([], at)).toEqual([2])
        yield* jobs.receive({ now: at, reports: [report(2)] })
        expect(yield* state).toEqual(["paused", "failing", 2])
        yield* jobs.receive({ now: at, reports: [report(2)] })
        expect(yield* told).toEqual(["failing"])
        yield* hold(false)
        yield* jobs.receive({ now: at, reports: [report(0)] })
        expect(yield* state).toEqual(["processing", null, 3])
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts its first outcomes, whichever recipients these are of", () =>
      Effect.gen(function* () {
        const tomorrow = Time.after(now, Time.day)
        const { state, step, told } = yield* watched(10, (index) => (index < 5 ? tomorrow : now))
        expect(yield* step([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])).toEqual([5, 6])
        expect(yield* state).toEqual(["paused", "failing", 2])
        expect(yield* told).toEqual(["failing"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is stopped by a late report of a first outcome, and of no other", () =>
      Effect.gen(function* () {
        const { jobs, report, state, step } = yield* watched(300)
        expect(yield* step([0], now)).toEqual([0, 1])
        expect(yield* step([], Time.after(now, 1))).toEqual([2])
        expect(yield* step([], Time.after(now, 2))).toEqual([3])
        expect(yield* step([], Time.after(now, 3))).toHaveLength(250)
        const late = Time.after(now, 10)
        yield* jobs.receive({ now: late, reports: [report(4), report(5)] })
        expect(yield* state).toEqual(["processing", null, 3])
        yield* jobs.receive({ now: late, reports: [{ ...report(3), status: "sent" }] })
        yield* jobs.receive({ now: Time.after(late, 1), reports: [report(3)] })
        expect(yield* state).toEqual(["paused", "failing", 4])
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts those in flight, of all claims together, and waits for nobody who is tried later", () =>
      Effect.gen(function* () {
        const { jobId, jobs, state } = yield* watched(10)
        const [first] = yield* claim(250)
        expect(first?.recipients).toHaveLength(2)
        expect(countOf(yield* claim(250, now, "worker-2"))).toBe(0)
        const later = Time.after(now, Time.hour)
        const outcome = Outcome.Retry({
          at: later,
          failure: { ...failure, permanent: false },
          maybeSent: false
        })
        const settlement = { jobId, fence: first?.fence ?? 0, index: 0, outcome }
        yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
        const [next] = yield* claim(250)
        expect(next?.recipients.map(({ index }) => index)).toEqual([2])
        yield* jobs.hold({ jobId, isHeld: true, now })
        const failed = [1, 2].map((index) => ({
          jobId,
          fence: (index === 1 ? first : next)?.fence ?? 0,
          index,
          outcome: Outcome.Failed({ failure })
        }))
        yield* jobs.settleAndClaim({ now, settlements: failed, claim: null })
        expect(yield* state).toEqual(["paused", "failing", 2])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("sends of a reference that their failures stop together", () => {
    it.effect("are all paused and told, in every session, also those that wait, and no other send", () =>
      Effect.gen(function* () {
        const { elsewhere, send, state, step, told } = yield* together
        const tomorrow = Time.after(now, Time.day)
        const a = yield* send({ phones: 5 })
        const waits = yield* send({
          ...elsewhere,
          timing: { sendAt: null, expiresAt: null, hours: null, startsAt: tomorrow, expiring: null },
          recipients: [{ address: "34600000009", values: [], market: null, price: null, dueAt: tomorrow }]
        })
        const others = [
          yield* send({ reference: "summer", priority: "low" }),
          yield* send({ stopWhen: { failedPercent: 50, ofFirst: 4, over: "job" }, priority: "low" })
        ]
        expect(yield* step([a])).toContain(a)
        const b = yield* send(elsewhere)
        expect(yield* state(b)).toEqual(["queued", null])
        yield* step([b])
        for (const id of [a, b, waits]) expect(yield* state(id)).toEqual(failing)
        expect(yield* told).toEqual([a, b, waits].sort())
        for (const id of others) expect(yield* state(id)).not.toEqual(failing)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are stopped by outcomes that are written together, and by later reports", () =>
      Effect.gen(function* () {
        const { elsewhere, jobs, report, send, state, step } = yield* together
        const [a, b] = [yield* send(), yield* send()]
        yield* step([a, b])
        for (const id of [a, b]) expect(yield* state(id)).toEqual(failing)
        const late = { reference: "autumn" }
        const [c, d] = [yield* send(late), yield* send({ ...late, ...elsewhere })]
        yield* step([])
        yield* jobs.receive({ now: Time.after(now, 10), reports: [report(c, 0)] })
        expect(yield* state(d)).toEqual(["processing", null])
        yield* jobs.receive({ now: Time.after(now, 10), reports: [report(d, 1)] })
        for (const id of [c, d]) expect(yield* state(id)).toEqual(failing)
      }).pipe(Effect.provide(layer))
    )

    it.effect("stop what is accepted afterwards, and what its client lets go on, until each is resumed", () =>
      Effect.gen(function* () {
        const { elsewhere, jobs, send, state, step, told } = yield* together
        const hold = (jobId: string, isHeld: boolean) => jobs.hold({ jobId, isHeld, now })
        const [a, b] = [yield* send(), yield* send()]
        const held = yield* send(elsewhere)
        yield* hold(held, true)
        yield* step([a, b])
        expect(yield* state(held)).toEqual(["paused", "client"])
        const later = yield* send(elsewhere)
        expect(yield* state(later)).toEqual(failing)
        expect(yield* told).toEqual([a, b, held, later].sort())
        yield* hold(held, false)
        expect(yield* step([])).toEqual(new Set())
        expect(yield* state(held)).toEqual(failing)
        yield* hold(later, false)
        expect(yield* step([later])).toEqual(new Set([later]))
        expect(yield* state(later)).toEqual(["completed", null])
        for (const id of [a, b, held]) expect(yield* state(id)).toEqual(failing)
      }).pipe(Effect.provide(layer))
    )

    it.effect("go on where their first outcomes were well, whatever comes behind them", () =>
      Effect.gen(function* () {
        const { send, state, step } = yield* together
        const [a, b] = [yield* send(), yield* send()]
        yield* step([a])
        const late = yield* send({ phones: 1 })
        expect(yield* step([late])).toEqual(new Set([a, b, late]))
        for (const id of [a, b, late]) expect(yield* state(id)).toEqual(["completed", null])
      }).pipe(Effect.provide(layer))
    )
  })
}
