/** Jobs at a time: they wait apart from their session's order, and cost nothing until they are due (contract.md §14 "Time"). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Instant } from "../../src/domain/Instant.ts"
import * as Time from "../../src/domain/Instant.ts"
import type * as When from "../../src/domain/job/When.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, now, owner, results } from "./Setup.ts"

const untimed: When.Timing = { sendAt: null, expiresAt: null, hours: null, startsAt: now, expiring: null }
const later = (minutes: number): Instant => Time.after(now, minutes * Time.minute)

const accepted = (due: ReadonlyArray<number>, some: Partial<When.Timing> = {}) =>
  Effect.gen(function* () {
    const who = yield* owner
    const jobs = yield* JobStore
    const send = (minutes: ReadonlyArray<number>) => {
      const command = Fixtures.send(who, { phones: minutes.length })
      const startsAt = later(Math.min(...minutes))
      const recipients = command.recipients.map((each, place) => ({
        ...each,
        dueAt: later(minutes[place] ?? 0)
      }))
      return Effect.as(
        jobs.accept({ ...command, recipients, timing: { ...untimed, startsAt, ...some } }),
        command.jobId
      )
    }
    return { ...who, jobs, send, jobId: yield* send(due) }
  })

const claimedAt = (at: Instant) =>
  Effect.map(claim(10, at), (jobs) =>
    jobs.flatMap(({ jobId, recipients }) => recipients.map(({ index }) => [jobId, index]))
  )

export const suite = (layer: Stored): void => {
  describe("a job at a time", () => {
    it.effect("is claimed by nobody before it is due, and holds up nothing of its session", () =>
      Effect.gen(function* () {
        const { accountId, jobId, jobs, publicKey, sessionId } = yield* accepted([10, 20])
        const other = Fixtures.send({ accountId, publicKey, sessionId }, { phones: 1 })
        yield* jobs.accept(other)
        expect(yield* claimedAt(now)).toEqual([[other.jobId, 0]])
        expect(yield* jobs.nextDue(now)).toBe(later(10))
        expect(yield* claimedAt(Time.before(later(10), 1))).toEqual([])
        expect(yield* claimedAt(later(10))).toEqual([[jobId, 0]])
        expect(yield* jobs.nextDue(later(10))).toBe(later(20))
        expect(yield* claimedAt(later(20))).toEqual([[jobId, 1]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is held and let go on as any other", () =>
      Effect.gen(function* () {
        const { jobId, jobs } = yield* accepted([10])
        yield* jobs.hold({ jobId, isHeld: true, now })
        expect(yield* claimedAt(later(10))).toEqual([])
        yield* jobs.hold({ jobId, isHeld: false, now })
        expect(yield* claimedAt(later(9))).toEqual([])
        expect(yield* claimedAt(later(10))).toEqual([[jobId, 0]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells its times and its recipients' own as they were accepted", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const jobs = yield* JobStore
        const command = Fixtures.send(who, { phones: 2 })
        const timing: When.Timing = {
          sendAt: { local: "2026-12-24T09:00", timeZone: "recipient" },
          expiresAt: later(30),
          hours: { from: "09:00", to: "20:00", days: [1, 2], outside: "skip" },
          startsAt: later(1),
          expiring: later(30)
        }
        const own: When.Own = { sendAt: later(2), expiresAt: null, timeZone: "Europe/Madrid" }
        const [first, second] = command.recipients
        if (first === undefined || second === undefined) throw new Error("It has two")
        const recipients = [
          { ...first, dueAt: later(1) },
          { ...second, dueAt: later(2), timing: own }
        ]
        yield* jobs.accept({ ...command, timing, recipients })
        expect((yield* jobs.find(command.jobId))?.timing).toEqual(timing)
        expect((yield* results(command.jobId)).map(({ nextAt, timing }) => [nextAt, timing])).toEqual([
          [later(1), null],
          [later(2), own]
        ])
        const [claimed] = yield* claim(10, later(2))
        expect(claimed?.timing).toEqual(timing)
        expect(claimed?.recipients.map(({ timing }) => timing)).toEqual([null, own])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "is changed in one commit for whom nobody attempted, and not at all where that is refused",
      () =>
        Effect.gen(function* () {
          const { jobId, jobs, send } = yield* accepted([10, 20])
          const other = yield* send([30])
          const timing = { ...untimed, sendAt: later(40), startsAt: later(40), expiring: later(50) }
          const move = (id: string, indexes: ReadonlyArray<number>) =>
            jobs.retime({
              jobId: id,
              now,
              change: () =>
                Either.right({ timing, dueAt: new Map(indexes.map((index) => [index, later(40)])) })
            })
          // The first is under way, and its place in the answer is not the change's to touch.
          yield* claim(1, later(10))
          expect(yield* move(jobId, [1])).toMatchObject({ _tag: "Done", job: { id: jobId, timing } })
          expect((yield* results(jobId)).map(({ nextAt }) => nextAt)).toEqual([null, later(40)])
          expect(yield* claimedAt(later(39))).toEqual([[other, 0]])
          expect(yield* claimedAt(later(40))).toEqual([[jobId, 1]])
          expect(yield* jobs.nextExpiry).toBe(later(50))
          const faults = [{ path: ["send_at"], code: "out_of_range" as const, message: "No." }]
          const before = yield* jobs.find(other)
          const refused = yield* jobs.retime({ jobId: other, now, change: () => Either.left(faults) })
          expect(refused).toEqual({ _tag: "Refused", faults })
          expect(yield* jobs.find(other)).toEqual(before)
          yield* jobs.cancel({ jobId: other, now })
          expect(yield* move(Fixtures.send(yield* owner).jobId, [0])).toBeNull()
        }).pipe(Effect.provide(layer))
    )

    it.effect("leaves one whom the platform may have to the attempt that asks for it, for an hour", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const jobs = yield* JobStore
        const command = Fixtures.send(who, { phones: 1 })
        const { jobId } = command
        const own = { sendAt: null, expiresAt: later(5), timeZone: null }
        const recipients = command.recipients.map((each) => ({ ...each, dueAt: now, timing: own }))
        yield* jobs.accept({ ...command, timing: { ...untimed, expiring: later(5) }, recipients })
        const [claimed] = yield* claim(10, now)
        const outcome = { _tag: "Released", maybeSent: true, at: later(30) } as const
        const settlements = [{ jobId, fence: claimed?.fence ?? 0, index: 0, outcome }]
        yield* jobs.settleAndClaim({ now, settlements, claim: null })
        const became = Effect.map(results(jobId), ([first]) => `${first?.status} ${first?.failure?.code}`)
        yield* jobs.expire({ now: later(5) })
        yield* jobs.expire({ now: later(64) })
        expect(yield* became).toBe("sending undefined")
        const [asking] = yield* claim(10, later(64))
        expect(asking?.recipients.map(({ maybeSent }) => maybeSent)).toEqual([true])
        const unasked = [{ jobId, fence: asking?.fence ?? 0, index: 0, outcome }]
        yield* jobs.settleAndClaim({ now: later(64), settlements: unasked, claim: null })
        yield* jobs.expire({ now: later(65) })
        expect(yield* became).toBe("unknown expired")
      }).pipe(Effect.provide(layer))
    )

    it.effect("ends those who expired whatever keeps them, and tells when the next ones do", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const jobs = yield* JobStore
        const command = Fixtures.send(who, { phones: 4 })
        const own = (minutes: number): When.Own => ({
          sendAt: null,
          expiresAt: later(minutes),
          timeZone: null
        })
        const [first, second, third, fourth] = command.recipients
        if (!first || !second || !third || !fourth) throw new Error("It has four")
        const recipients = [
          { ...first, dueAt: now, timing: own(5) },
          { ...second, dueAt: now, timing: own(5) },
          { ...third, dueAt: later(3), timing: own(5) },
          { ...fourth, dueAt: later(3), timing: own(20) }
        ]
        const timing = { ...untimed, expiring: later(5) }
        const { jobId } = command
        yield* jobs.accept({ ...command, timing, recipients })
        // The platform may have the first, and the second is in flight.
        const [claimed] = yield* claim(10, now)
        const outcome = { _tag: "Released", maybeSent: true, at: later(60) } as const
        const settlements = [{ jobId, fence: claimed?.fence ?? 0, index: 0, outcome }]
        yield* jobs.settleAndClaim({ now, settlements, claim: null })
        yield* jobs.hold({ jobId, isHeld: true, now })
        expect(yield* jobs.nextExpiry).toBe(later(5))
        expect(yield* jobs.expire({ now: Time.before(later(5), 1) })).toBe(0)
        expect(yield* jobs.expire({ now: later(5) })).toBe(1)
        const became = Effect.map(results(jobId), (all) =>
          all.map(({ failure, status }) => `${status} ${failure?.code}`)
        )
        expect(yield* became).toEqual([
          "unknown expired",
          "sending undefined",
          "skipped expired",
          "queued undefined"
        ])
        expect((yield* jobs.find(jobId))?.pauseReason).toBe("client")
        // The one in flight may be given back.
        expect(yield* jobs.expire({ now: later(5) })).toBe(0)
        expect(yield* jobs.nextExpiry).toBe(later(6))
        expect(yield* jobs.expire({ now: later(6) })).toBe(1)
        const again = [
          {
            jobId,
            fence: claimed?.fence ?? 0,
            index: 1,
            outcome: { _tag: "Released", maybeSent: false } as const
          }
        ]
        yield* jobs.settleAndClaim({ now: later(6), settlements: again, claim: null })
        expect(yield* jobs.expire({ now: later(20) })).toBe(1)
        expect(yield* became).toEqual([
          "unknown expired",
          "skipped expired",
          "skipped expired",
          "skipped expired"
        ])
        expect((yield* jobs.find(jobId))?.status).toBe("completed")
        expect(yield* jobs.nextExpiry).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("waits again for a time that an attempt is put off to, at no cost of an attempt", () =>
      Effect.gen(function* () {
        const { jobId, jobs } = yield* accepted([10])
        const [claimed] = yield* claim(10, later(10))
        const outcome = { _tag: "Released", maybeSent: false, at: later(60) } as const
        const settlements = [{ jobId, fence: claimed?.fence ?? 0, index: 0, outcome }]
        yield* jobs.settleAndClaim({ now: later(10), settlements, claim: null })
        expect((yield* results(jobId))[0]).toMatchObject({ status: "queued", attempts: 0, nextAt: later(60) })
        expect(yield* claimedAt(later(59))).toEqual([])
        expect(yield* claimedAt(later(60))).toEqual([[jobId, 0]])
      }).pipe(Effect.provide(layer))
    )
  })
}
