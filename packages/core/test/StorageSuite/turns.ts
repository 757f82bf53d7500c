/** Whose turn it is: sessions one after another, and within one the older job. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, now, owner } from "./Setup.ts"

export const suite = (layer: Stored): void => {
  describe("turns", () => {
    it.effect("go round the sessions, more of them than a window has places", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { accountId } = yield* owner
        const expected: Array<string> = []
        for (let each = 0; each < 4; each++) {
          const session = Fixtures.session(accountId)
          const key = Fixtures.apiKey(session.id)
          yield* (yield* SessionStore).create(session)
          yield* (yield* ApiKeyStore).create(key)
          const who = { accountId, sessionId: session.id, publicKey: key.publicKey }
          for (let job = 0; job < 3; job++) yield* jobs.accept(Fixtures.send(who, { phones: 3 }))
          expected.push(session.id)
        }
        for (let round = 0; round < 3; round++) {
          const served: Array<string> = []
          for (let window = 0; window < 4; window++) {
            const claimed = yield* claim(1)
            served.push(...claimed.map(({ sessionId }) => sessionId))
            const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
              recipients.map(({ index }) => {
                const outcome = Outcome.Accepted({ providerId: null, status: "accepted" })
                return { jobId, fence, index, outcome }
              })
            )
            yield* jobs.settleAndClaim({ now, settlements, claim: null })
          }
          expect(served.sort()).toEqual([...expected].sort())
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect("bring no more than each session has room for, which is told what came of the one before", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const other = yield* owner
        for (let job = 0; job < 3; job++) yield* jobs.accept(Fixtures.send(who, { phones: 2 }))
        yield* jobs.accept(Fixtures.send(other, { phones: 4 }))
        const asked: Array<readonly [string, number | null]> = []
        const take = (rooms: Readonly<Record<string, number>>) =>
          Effect.map(
            jobs.settleAndClaim({
              now,
              settlements: [],
              claim: {
                worker: "worker-1",
                limit: 250,
                room: ({ id }, before) => {
                  asked.push([id, before])
                  return rooms[id] ?? 0
                }
              }
            }),
            ({ claimed }) => claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)
          )
        expect(yield* take({ [who.sessionId]: 3 })).toBe(3)
        expect(asked.map(([id]) => id).sort()).toEqual([who.sessionId, other.sessionId].sort())
        const [first, second] = asked
        expect([first?.[1], second?.[1]]).toEqual([null, first?.[0] === who.sessionId ? 3 : 0])
        // Of a job of which some are in hand the rest waits.
        expect(yield* take({ [who.sessionId]: 250, [other.sessionId]: 250 })).toBeGreaterThan(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are the older job's within a session, to its end, also when both are as old", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const accepted = [
          Fixtures.send(who, { phones: 2 }),
          Fixtures.send(who, { phones: 2 }),
          Fixtures.send(who, { phones: 2, now: Time.after(now, 1) })
        ]
        for (const command of accepted) yield* jobs.accept(command)
        const served: Array<string> = []
        for (let window = 0; window < 6; window++) {
          const claimed = yield* claim(1, now + 1)
          for (const { fence, jobId, recipients } of claimed) {
            served.push(jobId)
            const outcome = Outcome.Accepted({ providerId: null, status: "accepted" })
            const settlements = recipients.map(({ index }) => ({ jobId, fence, index, outcome }))
            yield* jobs.settleAndClaim({ now: Time.after(now, 1), settlements, claim: null })
          }
        }
        expect(served).toEqual(accepted.flatMap(({ jobId }) => [jobId, jobId]))
      }).pipe(Effect.provide(layer))
    )
  })
}
