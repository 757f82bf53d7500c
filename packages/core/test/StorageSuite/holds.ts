/** A job that its client holds, until that lets it go on (contract.md §14 "Time"). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, now, owner } from "./Setup.ts"

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
}
